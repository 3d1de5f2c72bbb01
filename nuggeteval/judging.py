"""Judge pairs of texts, such as those of units and a bank: each distinct pair once, resumable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, NamedTuple

from nuggeteval.data import Judgment, Nugget, NuggetBank, Unit
from nuggeteval.errors import DataError, FormatError, ParameterError, listed
from nuggeteval.formats.judgments import as_judgment_line, open_judgments
from nuggeteval.judges import PAIR_DIGITS, Item, Judge, Verdict, hash_of_item
from nuggeteval.text import hash_of_texts, squeezed

__all__ = [
    "Outcome",
    "Pair",
    "check_texts",
    "judge_pairs",
    "judge_units",
    "unjudged_notes",
]


@dataclass(frozen=True)
class Outcome:
    """What a call of :func:`judge_pairs` did.

    Attributes:
        pairs: pairs of unit and nugget.
        known: of them, those that the file already had.
        asked: distinct pairs of texts that the judge was asked.
        failed: pairs that have no grade, those in the file included.
        ignored: topics of units that the bank has no nugget for.
        estimate: what asking would take, after a dry run.
        truncated: pairs that were too long for the judge's model, and lost their end.
        dry_run: whether nobody was asked.
        remarks: what else a reader of the judgments should know.
    """

    pairs: int
    known: int
    asked: int
    failed: int
    ignored: tuple[str, ...]
    estimate: str = ""
    truncated: int = 0
    dry_run: bool = False
    remarks: tuple[str, ...] = ()

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
        return [*notes, *(f"{view}: {remark}" for remark in self.remarks)]


class Pair(NamedTuple):
    """A unit and a nugget that wait for a verdict, and the file that it goes to.

    Attributes:
        path: of the file.
        unit, nugget: with their texts.
        question: what the unit answers, for the judges that are shown it.
        settled: the verdict where nobody need be asked.
    """

    path: str
    unit: Unit
    nugget: Nugget
    question: str = ""
    settled: Verdict | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells its judgments from others."""
        return self.path, self.unit.topic, self.unit.id, self.nugget.id

    @property
    def item(self) -> Item:
        """What a judge is shown of it."""
        return Item(self.unit.text, self.nugget.text, self.question)

    @property
    def texts(self) -> Item:
        """Its texts, whatever their white space."""
        return Item(*map(squeezed, self.item))


_Known = Mapping[tuple[str, str, str, str], Collection[int]]
"""Key of a pair -> the votes that its file already has."""


def judge_units(
    units: Iterable[Unit],
    banks: Mapping[str, NuggetBank],
    judge: Judge,
    view: str,
    progress: Callable[[int, int], None] | None = None,
    dry_run: bool = False,
    questions: Mapping[str, str] | None = None,
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
        questions: topic -> what was asked, for a judge that is shown it.

    Raises:
        DataError: a file has judgments of this view by another judge, with other parameters or of other texts; no
            topic in common; a topic without the question that the judge is shown.
        ParameterError: questions for a judge that is shown none, or none for one that is.
        FormatError: a file cannot be read or written, or is none of judgments.
    """
    units = list(units)
    ignored = dict.fromkeys(unit.topic for unit in units if not any(b.nuggets.get(unit.topic) for b in banks.values()))
    pairs = list(_pairs(units, banks, questions or {}))
    if units and not pairs and set(ignored) >= {unit.topic for unit in units}:
        names = ", ".join(bank.name for bank in banks.values())
        raise DataError(f"no topic in common: {names} and answers to {listed(list(ignored))}")
    _check_questions(judge, questions, pairs)
    return replace(judge_pairs(pairs, list(banks), judge, view, progress, dry_run), ignored=tuple(ignored))


def _check_questions(judge: Judge, questions: Mapping[str, str] | None, pairs: Iterable[Pair]) -> None:
    needed = getattr(judge, "needs_question", False)
    if needed and questions is None:
        raise ParameterError(f"the {judge.name} judge is shown what was asked: it needs questions")
    if questions is None:
        return
    if not needed:
        raise ParameterError(f"the {judge.name} judge is not shown what was asked: it takes no questions")
    lacking = dict.fromkeys(pair.unit.topic for pair in pairs if not pair.question.strip())
    if lacking:
        raise DataError(f"{len(lacking)} topics have no question: {listed(list(lacking))}")


def _pairs(units: Sequence[Unit], banks: Mapping[str, NuggetBank], questions: Mapping[str, str]) -> Iterator[Pair]:
    for path, bank in banks.items():
        for unit in units:
            for nugget in bank.nuggets.get(unit.topic, ()):
                yield Pair(path, unit, nugget, questions.get(unit.topic, ""))


def judge_pairs(
    pairs: Sequence[Pair],
    paths: Sequence[str],
    judge: Judge,
    view: str,
    progress: Callable[[int, int], None] | None,
    dry_run: bool,
) -> Outcome:
    """Write the verdict on every pair that its file does not have yet; each distinct item is asked about once.

    Args:
        pairs: of one view.
        paths: the judgments files that they go to, made if they are not there.
        judge: who is asked.
        view: what the units are.
        progress: called with (verdicts, all of them) after each verdict.
        dry_run: ask nobody; say what would be asked.

    Raises:
        DataError, FormatError: as :func:`judge_units`.
    """
    judged = {path: _known(path, judge, view, not dry_run) for path in paths}
    _check_judged(judged, pairs)
    known: dict[tuple[str, str, str, str], set[int]] = {}
    for path, judgments in judged.items():
        for judgment in judgments:
            known.setdefault((path, judgment.topic, judgment.unit, judgment.nugget), set()).add(judgment.vote)
    failed = sum(judgment.grade is None for judgments in judged.values() for judgment in judgments)
    votes = int(judge.params.get("votes", 1))
    waiting: dict[Item, list[Pair]] = {}
    settled: list[tuple[Pair, Verdict]] = []
    for pair in pairs:
        if len(known.get(pair.key, ())) >= votes:
            continue
        if pair.settled is None:
            waiting.setdefault(pair.texts, []).append(pair)
        else:
            settled += [(pair, pair.settled._replace(vote=vote)) for vote in range(votes)]
    work = [(members[0].item, members) for members in waiting.values()]
    estimate = ""
    if dry_run and hasattr(judge, "estimate"):
        estimate = str(judge.estimate([item for item, _ in work]))
    truncated = -getattr(judge, "truncated", 0)
    if not dry_run and (work or settled):
        failed += _write(settled, work, judge, view, known, progress)
    truncated += getattr(judge, "truncated", 0)
    left = len({pair.key for pair, _ in settled}) + sum(map(len, waiting.values()))
    return Outcome(len(pairs), len(pairs) - left, len(work), failed, (), estimate, truncated, dry_run)


def _check_judged(judged: Mapping[str, Iterable[Judgment]], pairs: Sequence[Pair]) -> None:
    """Refuse judgments of other texts than those that their pairs have now.

    Raises:
        DataError: naming the first of them.
    """
    if not any(judged.values()):
        return
    items = {pair.key: pair.item for pair in pairs}
    for path, judgments in judged.items():
        for judgment in judgments:
            item = items.get((path, judgment.topic, judgment.unit, judgment.nugget))
            if judgment.texts and item and judgment.texts != hash_of_item(item):
                raise DataError(_other_text(judgment, path, bool(item.question)))


def _other_text(judgment: Judgment, name: str, asked: bool = False) -> str:
    question = "the question, or " if asked else ""
    return (
        f"{name}: {question}unit {judgment.unit!r} or nugget {judgment.nugget!r} of topic {judgment.topic!r} had "
        "another text when it was judged: write to another file or folder"
    )


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
        # Scores know no questions; what was asked is the business of whoever judges.
        if unit and nugget and judgment.texts and judgment.texts[:PAIR_DIGITS] != hash_of_texts(unit, nugget):
            raise DataError(_other_text(judgment, name))


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


def _write(
    settled: Sequence[tuple[Pair, Verdict]],
    work: Sequence[tuple[Item, Sequence[Pair]]],
    judge: Judge,
    view: str,
    known: _Known,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Write what is settled, ask the judge the rest and write each verdict as it comes; the number of failed pairs."""
    votes = int(judge.params.get("votes", 1))
    failed = 0
    with ExitStack() as stack:
        paths = dict.fromkeys([pair.path for pair, _ in settled] + [pair.path for _, pairs in work for pair in pairs])
        files = {path: stack.enter_context(_append_to(path)) for path in paths}
        for pair, verdict in settled:
            failed += _append([pair], verdict, files, judge, view, known)
        for done, (index, verdict) in enumerate(judge([item for item, _ in work]) if work else (), start=1):
            failed += _append(work[index][1], verdict, files, judge, view, known)
            if progress:
                progress(done, len(work) * votes)
    return failed


def _append(
    pairs: Sequence[Pair], verdict: Verdict, files: Mapping[str, IO[str]], judge: Judge, view: str, known: _Known
) -> int:
    """Write one verdict for all pairs that lack its vote; the number of them that it fails."""
    lacking = [pair for pair in pairs if verdict.vote not in known.get(pair.key, ())]
    texts = hash_of_item(pairs[0].item)
    for pair in lacking:
        files[pair.path].write(_line(pair, texts, verdict, judge, view))
    for path in dict.fromkeys(pair.path for pair in lacking):
        files[path].flush()
    return len(lacking) * (verdict.grade is None)


def _append_to(path: str) -> IO[str]:
    try:
        return Path(path).open("a", encoding="utf-8")
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror or error}") from error


def _line(pair: Pair, texts: str, verdict: Verdict, judge: Judge, view: str) -> str:
    judgment = Judgment(
        view, pair.unit.run, pair.unit.topic, pair.unit.id, pair.nugget.id, judge.name, verdict.score, verdict.grade,
        verdict.reason, verdict.raw, verdict.vote, judge.params, texts,
    )  # fmt: skip
    return as_judgment_line(judgment, judge.scale)
