"""Axioms of retrieval as preferences between answers: TFC1, as LongEval-RAG 2026 took it from ir_axioms.

Fang, Tao and Zhai, "A formal study of information retrieval heuristics", SIGIR 2004 (TFC1: more query
terms are better).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from nuggeteval.data import Answer
from nuggeteval.measures import Record, probability
from nuggeteval.references import AnswerInputs
from nuggeteval.text import STOP_WORDS, pieces, stem_of, words

__all__ = ["RECORDS", "preference", "term_share"]


def _terms(text: str) -> list[str]:
    """The stems of the words that are no stop words, with repetitions; of Han and Kana each character."""
    return [stem_of(word) for piece in pieces(text) for word in words(piece) if word not in STOP_WORDS]


def term_share(query: str, text: str) -> float:
    """Sum over the terms of the query, with repetitions, of the share of the words of the text that they are.

    0 for a text without words.
    """
    terms = _terms(text)
    count = Counter(terms)
    return sum(count[term] for term in _terms(query)) / len(terms) if terms else 0.0


def preference(first: float, second: float, margin: float) -> int:
    """1 where the first is larger, -1 where the second is, 0 within the margin of the larger of both."""
    return 0 if math.isclose(first, second, rel_tol=margin) else 1 if first > second else -1


def _preferred(shares: Sequence[float], margin: float) -> list[float]:
    """For each of a pool, answers that it is preferred to less answers preferred to it, over the size of the pool."""
    return [sum(preference(mine, other, margin) for other in shares) / len(shares) for mine in shares]


def tfc1(answers: Mapping[str, Answer], inputs: AnswerInputs, margin: float) -> Mapping[str, float]:
    """Preferences of the answer to a topic over those of all runs of the pool, by topic, in (-1, 1)."""
    queries = inputs.queries or {}

    def compute() -> dict[str, dict[str, float]]:
        return {
            topic: _values(query, inputs.pool.get(topic, {}), inputs.runs, margin) for topic, query in queries.items()
        }

    values = inputs.memo(("TFC1", margin), compute)
    # A run that does not answer is an empty response of the pool, with a value of its own.
    runs = {answer.run for answer in answers.values()}
    return {topic: mine[run] for topic, mine in values.items() for run in runs}


def _values(query: str, pool: Mapping[str, Answer], runs: Sequence[str], margin: float) -> dict[str, float]:
    shares = [term_share(query, pool[run].text) if run in pool else 0.0 for run in runs]
    return dict(zip(runs, _preferred(shares, margin), strict=True))


def _stamp(inputs: AnswerInputs, margin: float) -> str:
    return f"TFC1 pool {len(inputs.runs)} runs" + ("" if margin == _MARGIN else f", margin {margin}")


def _remarks(_: Mapping[str, Answer], inputs: AnswerInputs, margin: float) -> Iterator[str]:
    del margin
    yield f"TFC1 depends on the pool, the {len(inputs.runs)} runs scored here: with other runs all values change"


_MARGIN = 0.1

RECORDS: dict[str, Record] = {
    "TFC1": Record(
        tfc1,
        "(answers of the pool that the answer is preferred to - answers preferred to it) / answers of the pool, itself "
        "among them. The pool are the answers of all runs scored together, a missing one being empty. Preferred is "
        "the larger sum over query terms of count / length, unless both are within the margin. Our own words, stems "
        "and stop words: not comparable with the published values, whose pool is not public.",
        "Fang, Tao and Zhai, SIGIR 2004; LongEval-RAG at CLEF 2026 (ir_axioms)",
        {"margin": probability(_MARGIN, "relative difference below which there is no preference")},
        views=("answers",),
        needs=("answers", "queries"),
        remarks=_remarks,
        stamp=_stamp,
    )
}
