"""Judge units against a bank: each distinct pair of texts once, every verdict written at once, resumable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nuggeteval.data import Judgment, Nugget, NuggetBank, Unit
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
        truncated: pairs that were too long for the judge's model, and lost their end.
    """

    pairs: int
    known: int
    asked: int
    failed: int
    ignored: tuple[str, ...]
    estimate: str = ""
    truncated: int = 0

    def notes(self, view: str) -> list[str]:
        """What was done, in sentences."""
        asked = f"{self.asked} distinct pairs of texts asked, {self.failed} failed"
        notes = [f"{view}: {self.pairs} pairs, {self.known} already judged, {asked}"]
        if self.estimate:
            notes.append(f"{view}: dry run, nobody was asked; {self.estimate}")
        if self.truncated:
            notes.append(f"{view}: {self.truncated} pairs were too long for the model, and lost their end")
        if self.ignored:
            notes.append(f"{view}: topics without a nugget in the bank, ignored: {listed(self.ignored)}")
        return notes


class _Pair(NamedTuple):
    """A unit and a nugget that wait for a verdict, and the file that it goes to."""

    path: str
    unit: Unit
    nugget: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells its judgments from others."""
        return self.path, self.unit.topic, self.unit.id, self.nugget


def judge_units(
    units: Iterable[Unit],
    banks: Mapping[str, NuggetBank],
    judge: Judge,
    view: str,
    progress: Callable[[int, int], None] | None = None,
    dry_run: bool = False,
) -> Outcome:
    """Judge every unit against every nugget of its topic, and append the judgments to a file for each bank.

    What a file already has is not asked again, so that a call that was killed goes on where it was. Of pairs whose
    texts are equal but for white space one is judged, whatever the bank.

    Args:
        units: of one view.
        banks: judgments file (made if it is not there) -> nuggets with texts.
        judge: who is asked.
        view: what the units are.
        progress: called with (verdicts, all of them) after each verdict.
        dry_run: ask nobody; say what would be asked.

    Raises:
        DataError: a file has judgments of this view by another judge, or with other parameters.
        FormatError: a file cannot be read or written.
    """
    units = list(units)
    known: Counter[tuple[str, str, str, str]] = Counter()
    failed_before = 0
    for path in banks:
        found, failed = _known(path, judge, view)
        known.update({(path, *key): votes for key, votes in found.items()})
        failed_before += failed
    votes = int(judge.params.get("votes", 1))
    ignored = dict.fromkeys(unit.topic for unit in units if not any(b.nuggets.get(unit.topic) for b in banks.values()))
    waiting: dict[tuple[str, str], list[_Pair]] = {}
    items: list[Item] = []
    pairs = 0
    for path, unit, nugget in _pairs(units, banks):
        pairs += 1
        pair = _Pair(path, unit, nugget.id)
        if known[pair.key] < votes:
            texts = _squeezed(unit.text), _squeezed(nugget.text)
            if texts not in waiting:
                items.append(Item(unit.text, nugget.text))
            waiting.setdefault(texts, []).append(pair)
    pairs_open = sum(map(len, waiting.values()))
    estimate = str(judge.estimate(items)) if dry_run and hasattr(judge, "estimate") else ""
    work = list(zip(items, waiting.values(), strict=True))
    truncated = -getattr(judge, "truncated", 0)
    failed = failed_before + (_ask(work, judge, view, known, progress) if work and not dry_run else 0)
    truncated += getattr(judge, "truncated", 0)
    return Outcome(pairs, pairs - pairs_open, len(work), failed, tuple(ignored), estimate, truncated)


def _pairs(units: Sequence[Unit], banks: Mapping[str, NuggetBank]) -> Iterator[tuple[str, Unit, Nugget]]:
    for path, bank in banks.items():
        for unit in units:
            for nugget in bank.nuggets.get(unit.topic, ()):
                yield path, unit, nugget


@lru_cache(maxsize=1 << 16)
def _squeezed(text: str) -> str:
    return " ".join(text.split())


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
    work: Sequence[tuple[Item, Sequence[_Pair]]],
    judge: Judge,
    view: str,
    known: Mapping[tuple[str, str, str, str], int],
    progress: Callable[[int, int], None] | None,
) -> int:
    """Ask the judge and write each verdict for all pairs that it is for; the number of failed pairs.

    Votes come in their order, so that a pair with n votes lacks those from n on.
    """
    total = len(work) * int(judge.params.get("votes", 1))
    failed = 0
    with ExitStack() as stack:
        paths = dict.fromkeys(pair.path for _, pairs in work for pair in pairs)
        files = {path: stack.enter_context(Path(path).open("a", encoding="utf-8")) for path in paths}
        for done, (index, verdict) in enumerate(judge([item for item, _ in work]), start=1):
            pairs = [pair for pair in work[index][1] if known.get(pair.key, 0) <= verdict.vote]
            failed += len(pairs) * (verdict.grade is None)
            for pair in pairs:
                files[pair.path].write(_line(pair, verdict, judge, view))
            for path in dict.fromkeys(pair.path for pair in pairs):
                files[path].flush()
            if progress:
                progress(done, total)
    return failed


def _line(pair: _Pair, verdict: Verdict, judge: Judge, view: str) -> str:
    judgment = Judgment(
        view, pair.unit.run, pair.unit.topic, pair.unit.id, pair.nugget, judge.name, verdict.score, verdict.grade,
        verdict.reason, verdict.raw, verdict.vote, judge.params,
    )  # fmt: skip
    return as_judgment_line(judgment, judge.scale)
