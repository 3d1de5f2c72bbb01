"""Judge units against a bank: each distinct pair of texts once, every verdict written at once, resumable."""

from __future__ import annotations

from collections import Counter
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
        estimate: what asking would take, after a dry run.
    """

    pairs: int
    known: int
    asked: int
    failed: int
    ignored: tuple[str, ...]
    estimate: str = ""

    def notes(self, view: str) -> list[str]:
        """What was done, in sentences."""
        asked = f"{self.asked} distinct pairs of texts asked, {self.failed} failed"
        notes = [f"{view}: {self.pairs} pairs, {self.known} already judged, {asked}"]
        if self.estimate:
            notes.append(f"{view}: dry run, nobody was asked; {self.estimate}")
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
    dry_run: bool = False,
) -> Outcome:
    """Judge every unit against every nugget of its topic, and append the judgments to a file.

    What the file already has is not asked again, so that a call that was killed goes on where it was.

    Args:
        units: of one view.
        bank: nuggets with texts.
        judge: who is asked.
        view: what the units are.
        path: the judgments file; made if it is not there.
        progress: called with (verdicts, all of them) after each verdict.
        dry_run: ask nobody; say what would be asked.

    Raises:
        DataError: the file has judgments of this view by another judge, or with other parameters.
        FormatError: the file cannot be read or written.
    """
    units = list(units)
    known, failed_before = _known(path, judge, view)
    votes = int(judge.params.get("votes", 1))
    ignored = dict.fromkeys(unit.topic for unit in units if not bank.nuggets.get(unit.topic))
    waiting: dict[Item, list[tuple[Unit, str]]] = {}
    pairs = 0
    for unit in units:
        for nugget in bank.nuggets.get(unit.topic, ()):
            pairs += 1
            if known.get((unit.topic, unit.id, nugget.id), 0) < votes:
                waiting.setdefault(Item(unit.text, nugget.text), []).append((unit, nugget.id))
    open_pairs = sum(map(len, waiting.values()))
    estimate = str(judge.estimate(list(waiting))) if dry_run and hasattr(judge, "estimate") else ""
    failed = _ask(waiting, judge, view, path, known, progress) if waiting and not dry_run else 0
    return Outcome(pairs, pairs - open_pairs, len(waiting), failed + failed_before, tuple(ignored), estimate)


def _known(path: str, judge: Judge, view: str) -> tuple[Counter[tuple[str, str, str]], int]:
    """Number of votes on each (topic, unit, nugget) that a file already has, and how many of them failed."""
    mend(path)
    if not Path(path).exists() or not Path(path).stat().st_size:
        return Counter(), 0
    mine = [judgment for judgment, _ in read_judgments(path) if judgment.view == view]
    for judgment in mine:
        if judgment.judge != judge.name or dict(judgment.params) != dict(judge.params):
            raise DataError(
                f"{path} has judgments of {view} by {_shown(judgment.judge, judgment.params)}; these would be by "
                f"{_shown(judge.name, judge.params)}: write them to another file"
            )
    return Counter((j.topic, j.unit, j.nugget) for j in mine), sum(j.grade is None for j in mine)


def _shown(name: str, params: Mapping[str, object]) -> str:
    return f"{name} ({', '.join(f'{key} {value}' for key, value in sorted(params.items()))})"


def _ask(
    waiting: Mapping[Item, Sequence[tuple[Unit, str]]],
    judge: Judge,
    view: str,
    path: str,
    known: Mapping[tuple[str, str, str], int],
    progress: Callable[[int, int], None] | None,
) -> int:
    """Ask the judge and write each verdict for all pairs that it is for; the number of failed pairs.

    Votes come in their order, so that a pair with n votes lacks those from n on.
    """
    items = list(waiting)
    failed = 0
    with Path(path).open("a", encoding="utf-8") as file:
        for done, (index, verdict) in enumerate(judge(items), start=1):
            pairs = [
                (unit, nugget)
                for unit, nugget in waiting[items[index]]
                if known.get((unit.topic, unit.id, nugget), 0) <= verdict.vote
            ]
            failed += len(pairs) * (verdict.grade is None)
            _append(file, pairs, verdict, judge, view)
            if progress:
                progress(done, len(items) * int(judge.params.get("votes", 1)))
    return failed


def _append(file: IO[str], pairs: Sequence[tuple[Unit, str]], verdict: Verdict, judge: Judge, view: str) -> None:
    for unit, nugget in pairs:
        judgment = Judgment(
            view, unit.run, unit.topic, unit.id, nugget, judge.name, verdict.score, verdict.grade,
            verdict.reason, verdict.raw, verdict.vote, judge.params,
        )  # fmt: skip
        file.write(as_judgment_line(judgment, judge.scale))
    file.flush()
