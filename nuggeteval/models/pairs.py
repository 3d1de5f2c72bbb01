"""Classifiers of pairs of texts: entailment, relevance by a cross-encoder, equivalence of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nuggeteval.errors import ParameterError
from nuggeteval.models import (
    batches_by_length,
    check_folder,
    imported,
    max_tokens,
    name_of,
    on_device,
    pretrained,
    pretrained_whole,
    tokens_of_batch,
)

__all__ = ["DEFAULT_NLI", "CrossEncoder", "EquivalenceModel", "NliModel"]

DEFAULT_NLI = "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli"
"""The model of CONE-RAG (github.com/irlabamsterdam/CONE-RAG)."""

_WINDOW = 4096


class PairModel:
    """What classifiers of pairs share.

    Args:
        tokenizer: of transformers, for pairs of texts.
        model: of transformers, for sequence classification.
        name: what it is called in records.

    Attributes:
        name: what it is called in records.
        max_tokens: longest sequence that the model takes.
        truncated: pairs so far that were longer, and lost the end of the longer text.

    Raises:
        ParameterError: nothing can pad its batches, or it is a classifier of another kind.
    """

    extra = "nli"

    def __init__(self, tokenizer: Any, model: Any, name: str) -> None:
        self.name = name
        self.truncated = 0
        self.max_tokens = max_tokens(tokenizer, model.config)
        self._tokenizer, self._model = tokenizer, model.eval()
        self.check(model.config, name)
        if tokenizer.pad_token_id is None:
            raise ParameterError(f"{name}: its tokenizer has no padding token")

    @classmethod
    def check(cls, config: Any, name: str) -> None:
        """Refuse the configuration of a model of another kind.

        Raises:
            ParameterError: it is one.
        """

    @classmethod
    def load(cls, name_or_path: str, device: str | None = None) -> Any:
        """A model from a folder, or by its name on the Hugging Face hub.

        Args:
            name_or_path: a folder with a model and its tokenizer, or a name.
            device: as torch names it; None for a GPU of CUDA where there is one, else the CPU.

        Raises:
            MissingDependencyError: torch or transformers is not installed.
            ParameterError: there is no such model, or it is one of another kind.
        """
        check_folder(name_or_path)
        torch, transformers = imported("torch", cls.extra), imported("transformers", cls.extra)
        # The configuration is small: a model of another kind is refused before its weights are fetched.
        cls.check(pretrained(transformers.AutoConfig, name_or_path), name_or_path)
        tokenizer = pretrained(transformers.AutoTokenizer, name_or_path)
        model = pretrained_whole(transformers.AutoModelForSequenceClassification, name_or_path)
        return cls(tokenizer, on_device(model, torch, device), name_of(name_or_path))

    def logits(self, pairs: Sequence[tuple[str, str]], tokens: int | None = None) -> Iterator[tuple[int, list[float]]]:
        """What the model says of pairs, batch by batch, longest pairs first.

        Args:
            pairs: two texts each.
            tokens: most tokens of a batch, padding included; None for what suits the device.

        Yields:
            Index of a pair, and its logits.
        """
        tokens = tokens or tokens_of_batch(self._model.device.type)
        for begin in range(0, len(pairs), _WINDOW):
            rows = self._tokenized(pairs[begin : begin + _WINDOW])
            for batch in batches_by_length([len(row["input_ids"]) for row in rows], tokens):
                found = self._forward([rows[index] for index in batch])
                yield from zip((begin + index for index in batch), found, strict=True)

    def _tokenized(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, list[int]]]:
        """Inputs of the model for each pair, none longer than it takes."""
        first, second = map(list, zip(*pairs, strict=True))
        table = self._tokenizer(first, second, verbose=False)
        rows = [{name: values[index] for name, values in table.items()} for index in range(len(pairs))]
        for index, row in enumerate(rows):
            if len(row["input_ids"]) > self.max_tokens:
                self.truncated += 1
                rows[index] = dict(self._tokenizer(*pairs[index], truncation=True, max_length=self.max_tokens))
        return rows

    def _forward(self, rows: Sequence[dict[str, list[int]]]) -> list[list[float]]:
        """One batch through the model."""
        torch = imported("torch", self.extra)
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        inputs = self._tokenizer.pad(columns, return_attention_mask=True, return_tensors="pt", verbose=False)
        with torch.inference_mode():
            found: list[list[float]] = self._output(self._model(**inputs.to(self._model.device)).logits).tolist()
        return found

    def _output(self, logits: Any) -> Any:
        """What becomes of the logits of a batch."""
        return logits


class NliModel(PairModel):
    """Natural language inference: how probable it is that a premise entails a hypothesis.

    A label of the model is called entailment.
    """

    @classmethod
    def load(cls, name_or_path: str = DEFAULT_NLI, device: str | None = None) -> NliModel:
        """As for any classifier of pairs; :data:`DEFAULT_NLI` by default."""
        model: NliModel = super().load(name_or_path, device)
        return model

    @classmethod
    def check(cls, config: Any, name: str) -> None:
        """Refuse a model that has no label for entailment."""
        _entailment_index(config.id2label, name)

    def entailment(self, pairs: Sequence[tuple[str, str]], tokens: int | None = None) -> Iterator[tuple[int, float]]:
        """The probability that the premise entails the hypothesis, batch by batch, longest pairs first.

        Args:
            pairs: (premise, hypothesis).
            tokens: most tokens of a batch, padding included; None for what suits the device.

        Yields:
            Index of a pair, and the softmax of the logits at the label entailment, in [0, 1].
        """
        place = _entailment_index(self._model.config.id2label, self.name)
        for index, probabilities in self.logits(pairs, tokens):
            yield index, probabilities[place]

    def _output(self, logits: Any) -> Any:
        return logits.softmax(dim=-1)


def _entailment_index(labels: dict[int, str], name: str) -> int:
    for index, label in labels.items():
        if str(label).casefold() == "entailment":
            return int(index)
    raise ParameterError(
        f"{name}: a label of the model must be entailment (got {', '.join(map(str, labels.values()))})"
    )


class CrossEncoder(PairModel):
    """Relevance of texts to a query; such models have one label, whose logit is the score."""

    extra = "minilm"

    @classmethod
    def check(cls, config: Any, name: str) -> None:
        """Refuse a model that has several labels."""
        if len(config.id2label) != 1:
            raise ParameterError(f"{name}: a cross-encoder has one label (this one has {len(config.id2label)})")

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The scores of texts for a query, in their order."""
        found = dict(self.logits([(query, text) for text in texts])) if texts else {}
        return [found[index][0] for index in range(len(texts))]


class EquivalenceModel(PairModel):
    """Whether an answer says what a reference says, given the question (BEM: Bulian et al. 2022)."""

    @classmethod
    def check(cls, config: Any, name: str) -> None:
        """Refuse a model that has other than two labels."""
        if len(config.id2label) != 2:
            raise ParameterError(f"{name}: a model of equivalence has two labels (this one has {len(config.id2label)})")

    def equivalence(self, triples: Sequence[tuple[str, str, str]]) -> list[float]:
        """The softmax at label 1 of (candidate, reference, question), in [0, 1], in their order."""
        separator = self._tokenizer.sep_token or ""
        pairs = [(one, f"{reference} {separator} {question}".strip()) for one, reference, question in triples]
        found = dict(self.logits(pairs)) if pairs else {}
        return [found[index][1] for index in range(len(pairs))]

    def _output(self, logits: Any) -> Any:
        return logits.softmax(dim=-1)
