"""Answers and reference texts by what models of language make of them: BERTScore, and equivalence of answers (BEM).

Zhang et al., ICLR 2020; Bulian et al., EMNLP 2022. A model is a folder, or a name on the Hugging Face hub. All pairs of
all runs are scored at once, when the first run is, so that texts which occur twice are read once.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from nuggeteval.data import Answer
from nuggeteval.errors import DataError, FormatError, ParameterError, listed
from nuggeteval.files import read_bytes
from nuggeteval.ids import decode
from nuggeteval.measures import Param, Record, integer, text
from nuggeteval.models.bertscore import DEFAULT_LAYER, DEFAULT_MODEL, BertScorer, Match
from nuggeteval.models.pairs import EquivalenceModel
from nuggeteval.references import AnswerInputs

__all__ = ["RECORDS", "read_baseline"]

_FIELDS = ["LAYER", "P", "R", "F"]


class _Scored(NamedTuple):
    """What all runs share: values of texts (answer, reference, question), and what to say of the model."""

    values: Mapping[tuple[str, ...], Match]
    model: str
    truncated: int


_NONE = Match(0.0, 0.0, 0.0)


def read_baseline(path: str, layer: int) -> Match:
    """What unrelated texts score: the row of a layer in a file of bert-score, ``LAYER,P,R,F``.

    Raises:
        FormatError: another file, or one without the layer.
    """
    rows = csv.DictReader(decode(read_bytes(path)).splitlines())
    if rows.fieldnames != _FIELDS:
        raise FormatError(path, f"expected lines of {','.join(_FIELDS)}, that one first", 1)
    for row in rows:
        try:
            number, *values = (float(row[name]) for name in _FIELDS)
        except (TypeError, ValueError):
            raise FormatError(path, "expected four numbers, separated by commas", rows.line_num) from None
        if number == layer:
            return Match(*values)
    raise FormatError(path, f"no line for layer {layer}")


def _rescaled(match: Match, baseline: Match | None) -> Match:
    """A match on the scale where unrelated texts have 0; no match at all stays 0."""
    if baseline is None or match == _NONE:
        return match
    return Match(*((value - base) / (1 - base) for value, base in zip(match, baseline, strict=True)))


def _pairs(inputs: AnswerInputs) -> list[tuple[str, str]]:
    """(answer, reference) of all runs, each once, topic by topic."""
    gold = inputs.gold or {}
    found = (
        (answer.text, reference)
        for topic, references in gold.items()
        for answer in inputs.pool.get(topic, {}).values()
        for reference in references
    )
    return list(dict.fromkeys(found))


def _bertscored(inputs: AnswerInputs, model: str, layer: int, baseline: str | None) -> _Scored:
    def compute() -> _Scored:
        base = None if baseline is None else read_baseline(baseline, layer)
        scorer = BertScorer.load(model, layer)
        pairs = _pairs(inputs)
        matches = [_rescaled(match, base) for match in scorer.matches(pairs)]
        digest = "" if baseline is None else f", baseline sha256:{sha256(read_bytes(baseline)).hexdigest()[:8]}"
        name = f"BERTScore {scorer.name}, layer {layer}{digest}"
        return _Scored(dict(zip(pairs, matches, strict=True)), name, scorer.truncated)

    return inputs.memo(("bertscore", model, layer, baseline), compute)


def _bertscore(field: str) -> Callable[..., Mapping[str, float]]:
    def kernel(
        answers: Mapping[str, Answer], inputs: AnswerInputs, model: str, layer: int, baseline: str | None
    ) -> Mapping[str, float]:
        values = _bertscored(inputs, model, layer, baseline).values
        return {
            topic: max(getattr(values[answers[topic].text, reference], field) for reference in references)
            for topic, references in (inputs.gold or {}).items()
            if references and topic in answers
        }

    return kernel


def _truncated(number: int) -> Iterator[str]:
    if number:
        yield f"{number} texts were too long for the model, and lost their end"


def _bertscore_remarks(
    _: Mapping[str, Answer], inputs: AnswerInputs, model: str, layer: int, baseline: str | None
) -> Iterator[str]:
    scored = _bertscored(inputs, model, layer, baseline)
    yield from (f"{scored.model}: {remark}" for remark in _truncated(scored.truncated))


def _bertscore_stamp(inputs: AnswerInputs, model: str, layer: int, baseline: str | None) -> str:
    return _bertscored(inputs, model, layer, baseline).model


def _equivalent(inputs: AnswerInputs, model: str | None) -> _Scored:
    """Equivalence of every answer and reference that are not blank, given the question."""

    def compute() -> _Scored:
        if model is None:
            raise ParameterError("BEM: model must be given: BEM(model='FOLDER'), or a name on the Hugging Face hub")
        gold, queries = inputs.gold or {}, inputs.queries or {}
        unknown = [topic for topic in gold if topic not in queries]
        if unknown:
            raise DataError(f"BEM: topics with a gold answer and no query: {listed(unknown)}")
        triples = dict.fromkeys(
            (answer.text, reference, queries[topic])
            for topic, references in gold.items()
            for answer in inputs.pool.get(topic, {}).values()
            for reference in references
            if answer.text.strip() and reference.strip()
        )
        loaded = EquivalenceModel.load(model)
        found = [Match(value, value, value) for value in loaded.equivalence(list(triples))]
        return _Scored(dict(zip(triples, found, strict=True)), f"BEM {loaded.name}", loaded.truncated)

    return inputs.memo(("bem", model), compute)


def equivalence(answers: Mapping[str, Answer], inputs: AnswerInputs, model: str | None) -> Mapping[str, float]:
    """How probably an answer says what a reference says, by topic; of several references the best."""
    values = _equivalent(inputs, model).values
    queries = inputs.queries or {}
    return {
        topic: max(values.get((answers[topic].text, r, queries[topic]), _NONE).f1 for r in references)
        for topic, references in (inputs.gold or {}).items()
        if references and topic in answers
    }


def _bem_remarks(_: Mapping[str, Answer], inputs: AnswerInputs, model: str | None) -> Iterator[str]:
    scored = _equivalent(inputs, model)
    yield from (f"{scored.model}: {remark}" for remark in _truncated(scored.truncated))


def _bem_stamp(inputs: AnswerInputs, model: str | None) -> str:
    return _equivalent(inputs, model).model


_ZHANG = 'Zhang et al., "BERTScore: evaluating text generation with BERT", ICLR 2020'
_PARAMS: dict[str, Param] = {
    "model": text(DEFAULT_MODEL, "a folder, or a name on the Hugging Face hub"),
    "layer": integer(DEFAULT_LAYER, "whose output is taken"),
    "baseline": text(None, "bert-score's file of what unrelated texts score (LAYER,P,R,F), to rescale by"),
}


def _bertscore_record(field: str, what: str) -> Record:
    return Record(
        _bertscore(field),
        f"{what}, by the cosine of contextual embeddings; of several references the best. Special tokens are in no "
        "average, idf is off; rescaled to (x - b) / (1 - b) where a baseline is given; 0 for an empty or missing "
        "answer.",
        _ZHANG,
        _PARAMS,
        views=("answers",),
        needs=("answers", "gold"),
        remarks=_bertscore_remarks,
        stamp=_bertscore_stamp,
    )


RECORDS: dict[str, Record] = {
    "BERTScore_P": _bertscore_record(
        "precision", "mean over the tokens of the answer of the best match in the reference"
    ),
    "BERTScore_R": _bertscore_record("recall", "mean over the tokens of the reference of the best match in the answer"),
    "BERTScore_F1": _bertscore_record("f1", "harmonic mean of BERTScore_P and BERTScore_R"),
    "BEM": Record(
        equivalence,
        "probability that the answer is equivalent to a reference, given the question: the softmax at label 1 of a "
        "classifier of (answer, reference, question); of several references the best; 0 for an empty or missing "
        "answer.",
        'Bulian et al., "Tomayto, tomahto: beyond token-level answer equivalence", EMNLP 2022',
        {"model": text(None, "a folder, or a name on the Hugging Face hub; it must be given")},
        views=("answers",),
        needs=("answers", "gold", "queries"),
        remarks=_bem_remarks,
        stamp=_bem_stamp,
    ),
}
