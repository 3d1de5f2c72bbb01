"""Judge units against a bank: each distinct pair of texts once, every verdict written at once, resumable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from nuggeteval.data import Judgment, Nugget, NuggetBank, Unit
from nuggeteval.errors import DataError, FormatError, listed
from nuggeteval.formats.judgments import as_judgment_line, open_judgments
from nuggeteval.judges import Item, Judge, Verdict
from nuggeteval.text import hash_of_texts, squeezed

__all__ = ["Outcome", "check_texts", "judge_units", "unjudged_notes"]


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
        dry_run: whether nobody was asked.
    """

    pairs: int
    known: int
    asked: int
    failed: int
    ignored: tuple[str, ...]
    estimate: str = ""
    truncated: int = 0
    dry_run: bool = False

    def notes(self, view: str) -> list[str]:
        """What was done, in sentences."""
        asked = f"{self.asked} distinct pairs of texts {'to ask' if self.dry_run else 'asked'}, {self.failed} failed"
        notes = [f"{view}: {self.pairs} pairs, {self.known} already judged, {asked}"]
        if self.dry_run:
            notes.append(f"{view}: dry run, nobody was asked{f'; {self.estimate}' if self.estimate else ''}")
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
        DataError: a file has judgments of this view by another judge, with other parameters or of other texts; no
            topic in common.
        FormatError: a file cannot be read or written, or is none of judgments.
    """
    units = list(units)
    judged = {path: _known(path, judge, view, not dry_run) for path in banks}
    for path, judgments in judged.items():
        check_texts(judgments, units, banks[path], path)
    known: dict[tuple[str, str, str, str], set[int]] = {}
    for path, judgments in judged.items():
        for judgment in judgments:
            known.setdefault((path, judgment.topic, judgment.unit, judgment.nugget), set()).add(judgment.vote)
    failed_before = sum(judgment.grade is None for judgments in judged.values() for judgment in judgments)
    votes = int(judge.params.get("votes", 1))
    ignored = dict.fromkeys(unit.topic for unit in units if not any(b.nuggets.get(unit.topic) for b in banks.values()))
    waiting: dict[tuple[str, str], list[_Pair]] = {}
    items: list[Item] = []
    pairs = 0
    for path, unit, nugget in _pairs(units, banks):
        pairs += 1
        pair = _Pair(path, unit, nugget.id)
        if len(known.get(pair.key, ())) < votes:
            texts = squeezed(unit.text), squeezed(nugget.text)
            if texts not in waiting:
                items.append(Item(unit.text, nugget.text))
            waiting.setdefault(texts, []).append(pair)
    if units and not pairs and set(ignored) >= {unit.topic for unit in units}:
        names = ", ".join(bank.name for bank in banks.values())
        raise DataError(f"no topic in common: {names} and answers to {listed(list(ignored))}")
    pairs_open = sum(map(len, waiting.values()))
    estimate = str(judge.estimate(items)) if dry_run and hasattr(judge, "estimate") else ""
    work = list(zip(items, waiting.values(), strict=True))
    truncated = -getattr(judge, "truncated", 0)
    failed = failed_before + (_ask(work, judge, view, known, progress) if work and not dry_run else 0)
    truncated += getattr(judge, "truncated", 0)
    return Outcome(pairs, pairs - pairs_open, len(work), failed, tuple(ignored), estimate, truncated, dry_run)


def _pairs(units: Sequence[Unit], banks: Mapping[str, NuggetBank]) -> Iterator[tuple[str, Unit, Nugget]]:
    for path, bank in banks.items():
        for unit in units:
            for nugget in bank.nuggets.get(unit.topic, ()):
                yield path, unit, nugget


def check_texts(judgments: Iterable[Judgment], units: Iterable[Unit], bank: NuggetBank, name: str) -> None:
    """Refuse judgments of other texts than those that units and nuggets have now.

    Raises:
        DataError: naming the first of them.
    """
    unit_texts = {(unit.topic, unit.id): unit.text for unit in units}
    nugget_texts = {(topic, nugget.id): nugget.text for topic, entries in bank.nuggets.items() for nugget in entries}
    for judgment in judgments:
        unit = unit_texts.get((judgment.topic, judgment.unit))
        nugget = nugget_texts.get((judgment.topic, judgment.nugget))
        if judgment.texts and unit and nugget and judgment.texts != hash_of_texts(unit, nugget):
            raise DataError(
                f"{name}: unit {judgment.unit!r} or nugget {judgment.nugget!r} of topic {judgment.topic!r} had another "
                "text when it was judged: write to another file or folder"
            )


def unjudged_notes(judgments: Iterable[Judgment], units: Iterable[Unit], bank: NuggetBank, name: str) -> list[str]:
    """How many pairs of each run have no judgment, and therefore count 0."""
    judged = {(judgment.topic, judgment.unit, judgment.nugget) for judgment in judgments}
    pairs: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    for unit in units:
        for nugget in bank.nuggets.get(unit.topic, ()):
            pairs[unit.run] += 1
            missing[unit.run] += (unit.topic, unit.id, nugget.id) not in judged
    return [
        f"{run}: {count} of {pairs[run]} pairs of unit and nugget have no judgment in {name} and count 0"
        for run, count in missing.items()
        if count
    ]


def _known(path: str, judge: Judge, view: str, write: bool) -> list[Judgment]:
    """The judgments of a view that a file already has."""
    mine = [judgment for judgment, _ in open_judgments(path, write) if judgment.view == view]
    for judgment in mine:
        if judgment.judge != judge.name or dict(judgment.params) != dict(judge.params):
            raise DataError(
                f"{path} has judgments of {view} by {_shown(judgment.judge, judgment.params)}; these would be by "
                f"{_shown(judge.name, judge.params)}: write them to another file"
            )
    return mine


def _shown(name: str, params: Mapping[str, object]) -> str:
    return f"{name} ({', '.join(f'{key} {value}' for key, value in sorted(params.items()))})"


def _ask(
    work: Sequence[tuple[Item, Sequence[_Pair]]],
    judge: Judge,
    view: str,
    known: Mapping[tuple[str, str, str, str], Collection[int]],
    progress: Callable[[int, int], None] | None,
) -> int:
    """Ask the judge and write each verdict for all pairs that lack its vote; the number of failed pairs."""
    total = len(work) * int(judge.params.get("votes", 1))
    failed = 0
    with ExitStack() as stack:
        paths = dict.fromkeys(pair.path for _, pairs in work for pair in pairs)
        files = {path: stack.enter_context(_append_to(path)) for path in paths}
        for done, (index, verdict) in enumerate(judge([item for item, _ in work]), start=1):
            pairs = [pair for pair in work[index][1] if verdict.vote not in known.get(pair.key, ())]
            texts = hash_of_texts(*work[index][0])
            failed += len(pairs) * (verdict.grade is None)
            for pair in pairs:
                files[pair.path].write(_line(pair, texts, verdict, judge, view))
            for path in dict.fromkeys(pair.path for pair in pairs):
                files[path].flush()
            if progress:
                progress(done, total)
    return failed


def _append_to(path: str) -> IO[str]:
    try:
        return Path(path).open("a", encoding="utf-8")
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror or error}") from error


def _line(pair: _Pair, texts: str, verdict: Verdict, judge: Judge, view: str) -> str:
    judgment = Judgment(
        view, pair.unit.run, pair.unit.topic, pair.unit.id, pair.nugget, judge.name, verdict.score, verdict.grade,
        verdict.reason, verdict.raw, verdict.vote, judge.params, texts,
    )  # fmt: skip
    return as_judgment_line(judgment, judge.scale)
