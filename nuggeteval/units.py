"""What is judged: answers as units of a view, and units as a run.

Units of the view ``responses`` are called ``RUN``, those of ``nuggets`` and ``sentences``
``RUN/n1``, ``RUN/s1`` and so on, in the order of the answer. Documents keep their own ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nuggeteval.data import Answer, Run, Unit, unit_of_run
from nuggeteval.errors import ParameterError
from nuggeteval.extract import by_sentence

__all__ = ["ANSWER_VIEWS", "document_units", "pool_of", "runs_of", "units_of"]

ANSWER_VIEWS = ("responses", "nuggets", "sentences")
"""Views whose units come from answers."""


def units_of(answers: Iterable[Answer], view: str) -> Iterator[Unit]:
    """The units of answers; texts that are blank are no units.

    Args:
        answers: of any number of runs.
        view: ``responses``, ``nuggets`` (extracted ones; sentences where nobody extracted any) or ``sentences``.

    Raises:
        ParameterError: another view.
    """
    if view not in ANSWER_VIEWS:
        raise ParameterError(f"units of answers must be one of {', '.join(ANSWER_VIEWS)} (got {view!r})")
    for answer in answers:
        run = unit_of_run(answer.run)
        for suffix, text in _texts(answer, view):
            if text.strip():
                yield Unit(answer.run, answer.topic, f"{run}{suffix}", text)


def _texts(answer: Answer, view: str) -> Iterator[tuple[str, str]]:
    """(suffix of the id, text) of the units of one answer."""
    if view == "responses":
        yield "", answer.text
    elif view == "nuggets":
        texts = answer.nuggets if answer.nuggets is not None else by_sentence(answer)
        yield from ((f"/n{number}", text) for number, text in enumerate(texts, start=1))
    else:
        yield from ((f"/s{number}", text) for number, text in enumerate(by_sentence(answer), start=1))


def runs_of(answers: Sequence[Answer], view: str) -> Iterator[Run]:
    """One run of units for each run that has answers, in their order.

    Units of the view ``statements`` are the statements that the answers name, under their own ids.

    Raises:
        ParameterError: another view than these and those of :data:`ANSWER_VIEWS`.
    """
    by_run: dict[str, dict[str, dict[str, float]]] = {answer.run: {} for answer in answers}
    named = ((a.run, a.topic, statement) for a in answers for statement in a.statements)
    units = named if view == "statements" else ((unit.run, unit.topic, unit.id) for unit in units_of(answers, view))
    for name, topic, unit_id in units:
        ranking = by_run[name].setdefault(topic, {})
        ranking[unit_id] = -float(len(ranking))
    for name, rankings in by_run.items():
        yield Run.of(rankings, name)


def pool_of(runs: Iterable[Run], depth: int | None = None) -> dict[str, list[str]]:
    """What is pooled: topic -> documents that a run has among its first ``depth`` (all), each once.

    Raises:
        ParameterError: a depth below 1.
    """
    if depth is not None and depth < 1:
        raise ParameterError(f"depth must be at least 1 (got {depth})")
    pool: dict[str, dict[str, None]] = {}
    for run in runs:
        taken: Counter[int] = Counter()
        records, _ = run.ordered()
        for topic, unit in zip(run.topic[records].tolist(), run.units.take(records), strict=True):
            taken[topic] += 1
            if depth is None or taken[topic] <= depth:
                pool.setdefault(run.topics[topic], {})[unit] = None
    return {topic: list(units) for topic, units in pool.items()}


def document_units(pool: Mapping[str, Sequence[str]], texts: Mapping[str, str]) -> Iterator[Unit]:
    """The pooled documents that have a text, as units of no run."""
    for topic, documents in pool.items():
        for document in documents:
            if texts.get(document, "").strip():
                yield Unit("", topic, document, texts[document])
