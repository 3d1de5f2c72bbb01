"""Judge units against a bank: each distinct pair of texts once, every verdict written at once, resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from nuggeteval.data import Judgment, NuggetBank, Unit
from nuggeteval.errors import DataError, listed
from nuggeteval.formats.judgments import as_judgment_line, mend, read_judgments
from nuggeteval.judges import Item, Judge, Verdict

__all__ = ["Outcome", "judge_units"]


@dataclass(frozen=True)
class Outcome:
    """What a call of :func:`judge_units` did.

    Attributes:
        pairs: pairs of unit and nugget.
        known: of them, those that the file already had.
        asked: distinct pairs of texts that the judge was asked.
        failed: pairs that have no grade, those in the file included.
        ignored: topics of units that the bank has no nugget for.
    """

    pairs: int
    known: int
    asked: int
    failed: int
    ignored: tuple[str, ...]

    def notes(self, view: str) -> list[str]:
        """What was done, in sentences."""
        asked = f"{self.asked} distinct pairs of texts asked, {self.failed} failed"
        notes = [f"{view}: {self.pairs} pairs, {self.known} already judged, {asked}"]
        if self.ignored:
            notes.append(f"{view}: topics without a nugget in the bank, ignored: {listed(self.ignored)}")
        return notes


def judge_units(
    units: Iterable[Unit],
    bank: NuggetBank,
    judge: Judge,
    view: str,
    path: str,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Judge every unit against every nugget of its topic, and append the judgments to a file.

    What the file already has is not asked again, so that a call that was killed goes on where it was.

    Args:
        units: of one view.
        bank: nuggets with texts.
        judge: who is asked.
        view: what the units are.
        path: the judgments file; made if it is not there.
        progress: called with (pairs of texts judged, all of them) after each verdict.

    Raises:
        DataError: the file has judgments of this view by another judge, or with other parameters.
        FormatError: the file cannot be read or written.
    """
    units = list(units)
    known, failed_before = _known(path, judge, view)
    ignored = dict.fromkeys(unit.topic for unit in units if not bank.nuggets.get(unit.topic))
    waiting: dict[Item, list[tuple[Unit, str]]] = {}
    pairs = 0
    for unit in units:
        for nugget in bank.nuggets.get(unit.topic, ()):
            pairs += 1
            if (unit.topic, unit.id, nugget.id) not in known:
                waiting.setdefault(Item(unit.text, nugget.text), []).append((unit, nugget.id))
    failed = _ask(waiting, judge, view, path, progress) if waiting else 0
    open_pairs = sum(map(len, waiting.values()))
    return Outcome(pairs, pairs - open_pairs, len(waiting), failed + failed_before, tuple(ignored))


def _known(path: str, judge: Judge, view: str) -> tuple[set[tuple[str, str, str]], int]:
    """(topic, unit, nugget) of the judgments that a file already has, and how many of them failed."""
    if not Path(path).exists():
        return set(), 0
    mend(path)
    if not Path(path).stat().st_size:
        return set(), 0
    mine = [judgment for judgment, _ in read_judgments(path) if judgment.view == view]
    for judgment in mine:
        if judgment.judge != judge.name or dict(judgment.params) != dict(judge.params):
            raise DataError(
                f"{path} has judgments of {view} by {_shown(judgment.judge, judgment.params)}; these would be by "
                f"{_shown(judge.name, judge.params)}: write them to another file"
            )
    return {(j.topic, j.unit, j.nugget) for j in mine}, sum(j.grade is None for j in mine)


def _shown(name: str, params: Mapping[str, object]) -> str:
    return f"{name} ({', '.join(f'{key} {value}' for key, value in sorted(params.items()))})"


def _ask(
    waiting: Mapping[Item, Sequence[tuple[Unit, str]]],
    judge: Judge,
    view: str,
    path: str,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Ask the judge and write each verdict for all pairs that it is for; the number of failed pairs."""
    items = list(waiting)
    failed = 0
    with Path(path).open("a", encoding="utf-8") as file:
        for done, (index, verdict) in enumerate(judge(items), start=1):
            pairs = waiting[items[index]]
            failed += len(pairs) * (verdict.grade is None)
            _append(file, pairs, verdict, judge, view)
            if progress:
                progress(done, len(items))
    return failed


def _append(file: IO[str], pairs: Sequence[tuple[Unit, str]], verdict: Verdict, judge: Judge, view: str) -> None:
    for unit, nugget in pairs:
        judgment = Judgment(
            view, unit.run, unit.topic, unit.id, nugget, judge.name, verdict.score, verdict.grade,
            verdict.reason, verdict.raw, params=judge.params,
        )  # fmt: skip
        file.write(as_judgment_line(judgment, judge.scale))
    file.flush()
