"""BERTScore: how well the tokens of two texts match by their contextual embeddings.

Zhang et al., "BERTScore: evaluating text generation with BERT", ICLR 2020; as bert-score 0.3.13 computes it,
without idf.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nuggeteval.errors import ParameterError, listed
from nuggeteval.models import (
    batches_by_length,
    check_folder,
    imported,
    max_tokens,
    name_of,
    on_device,
    pretrained,
    tokens_of_batch,
)
from nuggeteval.rows import BoolArray, FloatArray

__all__ = ["DEFAULT_LAYER", "DEFAULT_MODEL", "BertScorer", "Match"]

DEFAULT_MODEL, DEFAULT_LAYER = "roberta-large", 17
"""What bert-score takes for English, and LongEval-RAG was scored with."""

_WINDOW = 512
_EXTRA = "nli"
_BLANK_FIRST = ("Roberta", "GPT2")


class Match(NamedTuple):
    """Precision, recall and F1 of a candidate and a reference, before any rescaling."""

    precision: float
    recall: float
    f1: float


class _Encoded(NamedTuple):
    """Embeddings of unit length, shape (tokens, size), and which tokens are no special ones, shape (tokens,)."""

    vectors: FloatArray
    counts: BoolArray


class BertScorer:
    """Greedy matching of contextual embeddings.

    Args:
        tokenizer: of transformers.
        model: of transformers, an encoder.
        name: what it is called in records.
        layer: whose output is taken.

    Attributes:
        name, layer: what it is called in records.
        max_tokens: longest sequence that the model takes.
        truncated: texts so far that were longer, and lost their end.

    Raises:
        ParameterError: the model has no such layer, or nothing can pad its batches.
    """

    def __init__(self, tokenizer: Any, model: Any, name: str, layer: int = DEFAULT_LAYER) -> None:
        self.name, self.layer, self.truncated = name, layer, 0
        self.max_tokens = max_tokens(tokenizer, model.config)
        layers = model.config.num_hidden_layers
        if layer > layers:
            raise ParameterError(f"{name}: layer must be at most {layers}, which the model has (got {layer})")
        if tokenizer.pad_token_id is None:
            raise ParameterError(f"{name}: its tokenizer has no padding token")
        self._tokenizer, self._model = tokenizer, _cut(model, layer)

    @classmethod
    def load(
        cls, name_or_path: str = DEFAULT_MODEL, layer: int = DEFAULT_LAYER, device: str | None = None
    ) -> BertScorer:
        """A model from a folder, or by its name on the Hugging Face hub.

        Args:
            name_or_path: a folder with a model and its tokenizer, or a name.
            layer: whose output is taken.
            device: as torch names it; None for a GPU of CUDA where there is one, else the CPU.

        Raises:
            MissingDependencyError: torch or transformers is not installed.
            ParameterError: there is no such model, or it has no such layer.
        """
        check_folder(name_or_path)
        torch, transformers = imported("torch", _EXTRA), imported("transformers", _EXTRA)
        tokenizer = pretrained(transformers.AutoTokenizer, name_or_path)
        model, info = pretrained(transformers.AutoModel, name_or_path, output_loading_info=True)
        # The pooling layer on top is not used, and models made for other tasks come without one.
        missing = sorted(key for key in info["missing_keys"] if "pooler" not in key)
        if missing:
            raise ParameterError(f"{name_or_path}: weights are missing: {listed(missing)}")
        return cls(tokenizer, on_device(model, torch, device), name_of(name_or_path), layer)

    def matches(self, pairs: Sequence[tuple[str, str]], tokens: int | None = None) -> list[Match]:
        """How well candidates match references; 0 where either has no token.

        Each distinct text is encoded once, and kept as long as a pair to come has it.

        Args:
            pairs: (candidate, reference).
            tokens: most tokens of a batch, padding included; None for what suits the device.

        Returns:
            matches in the order of the pairs.
        """
        tokens = tokens or tokens_of_batch(self._model.device.type)
        uses = Counter(text for pair in pairs for text in pair)
        known: dict[str, _Encoded] = {}
        found = []
        for begin in range(0, len(pairs), _WINDOW):
            window = pairs[begin : begin + _WINDOW]
            texts = dict.fromkeys(text for pair in window for text in pair if text not in known)
            known.update(self._encoded(list(texts), tokens))
            for pair in window:
                found.append(_match(*(known[text] for text in pair)))
                for text in pair:
                    uses[text] -= 1
                    if not uses[text]:
                        known.pop(text)
        return found

    def _encoded(self, texts: Sequence[str], tokens: int) -> Iterable[tuple[str, _Encoded]]:
        """Each text with its embeddings."""
        rows = [self._tokenized(text) for text in texts]
        for batch in batches_by_length([len(row) for row in rows], tokens):
            vectors = self._forward([rows[index] for index in batch])
            yield from ((texts[index], each) for index, each in zip(batch, vectors, strict=True))

    def _tokenized(self, text: str) -> list[int]:
        """Numbers of the tokens, no more than the model takes."""
        text = text.strip()
        # A word at the beginning is the same token as within a text; byte-level tokenizers tell them apart.
        if text and type(self._tokenizer).__name__.startswith(_BLANK_FIRST):
            text = f" {text}"
        numbers: list[int] = self._tokenizer(text, verbose=False)["input_ids"]
        if len(numbers) > self.max_tokens:
            self.truncated += 1
            numbers = self._tokenizer(text, truncation=True, max_length=self.max_tokens)["input_ids"]
        return numbers

    def _forward(self, rows: Sequence[list[int]]) -> list[_Encoded]:
        """One batch through the model."""
        torch = imported("torch", _EXTRA)
        columns = {"input_ids": list(rows)}
        inputs = self._tokenizer.pad(columns, return_attention_mask=True, return_tensors="pt", verbose=False)
        with torch.inference_mode():
            output = self._model(**inputs.to(self._model.device), output_hidden_states=True)
            vectors = torch.nn.functional.normalize(output.hidden_states[self.layer], dim=-1).cpu().numpy()
        special = [self._tokenizer.cls_token_id, self._tokenizer.sep_token_id]
        mask = inputs["attention_mask"].cpu().numpy() > 0
        # Of this row's tokens alone: what pads a batch must not decide what matches.
        return [
            _Encoded(mine[real], ~np.isin(row, [number for number in special if number is not None]))
            for mine, real, row in zip(vectors, mask, rows, strict=True)
        ]


def _cut(model: Any, layer: int) -> Any:
    """The model without the layers above, where it is of a make that can be cut; the output is the same."""
    encoder = getattr(model, "encoder", None)
    if encoder is not None and hasattr(encoder, "layer"):
        encoder.layer = encoder.layer[:layer]
    return model.eval()


def _match(candidate: _Encoded, reference: _Encoded) -> Match:
    """The best cosine of each token, averaged over those of the candidate, and over those of the reference.

    Special tokens can be matched, but are in no average, as in bert-score.
    """
    if not candidate.counts.any() or not reference.counts.any():
        return Match(0.0, 0.0, 0.0)
    cosines = candidate.vectors @ reference.vectors.T
    precision = float(cosines.max(axis=1)[candidate.counts].mean())
    recall = float(cosines.max(axis=0)[reference.counts].mean())
    both = precision + recall
    return Match(precision, recall, 2 * precision * recall / both if both else 0.0)
