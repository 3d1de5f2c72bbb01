"""What the options of the commands that score mean: files, policies, views.

The commands ``score``, ``leaderboard``, ``compare`` and ``report`` take the same ones.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nuggeteval.against import Chosen, answer_files_of, choose, read_inputs, scores_answers
from nuggeteval.boards import Board, read_boards
from nuggeteval.data import ORDERS, VIEWS, Answer, Judgment, NuggetBank, NuggetQrels, Run, Scale, Scores
from nuggeteval.errors import DataError, FormatError, ParameterError, listed
from nuggeteval.files import read_bytes
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.documents import read_documents
from nuggeteval.formats.irds import PREFIX, read_irds_qrels
from nuggeteval.formats.judgments import as_nugget_qrels, read_judgments
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.formats.topics import is_topics, read_statements, read_strata
from nuggeteval.formats.trec import read_qrels, read_run
from nuggeteval.grammar import Measure
from nuggeteval.grounding import sources_bank
from nuggeteval.ids import decode
from nuggeteval.judging import check_texts, unjudged_notes
from nuggeteval.leaderboards import Method
from nuggeteval.measures import TABLE, bind, record_of
from nuggeteval.policies import ADHOC, ON_FAILED, TOPICS, UNDEFINED, Policies
from nuggeteval.responses import evaluate_answers
from nuggeteval.rows import DUPLICATES
from nuggeteval.scoring import Inputs, evaluate, group_by_view, join_measures
from nuggeteval.stats.significance import CORRECTIONS, TESTS
from nuggeteval.text import pieces
from nuggeteval.units import pool_of, runs_of, units_of

__all__ = [
    "Scored",
    "add_ranking_options",
    "add_scoring_options",
    "check_stdin",
    "method_of",
    "names_runs",
    "policies_of",
    "read_as_scores",
    "refuse_scoring",
    "scored",
    "share",
    "whole",
]


_RUN_COLUMNS = 6
_JUDGES = {"LLMEval": "llmeval", "groundedness": "groundedness"}
"""Measure -> the judge that it is named for."""


@dataclass(frozen=True)
class Scored:
    """Scores, and what they were made from.

    Attributes:
        scores: of all runs.
        qrels: view -> the table that runs of that view were scored against.
        bank: declared nuggets, if any.
        answers: where answers were scored from judgments.
        records: judgments with their scale, where answers were scored.
    """

    scores: Scores
    qrels: dict[str, NuggetQrels]
    bank: NuggetBank | None = None
    answers: list[Answer] = field(default_factory=list)
    records: Sequence[tuple[Judgment, Scale]] = ()


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that every command which scores has."""
    add = parser.add_argument
    add("--judgments", metavar="FILE", help="score ANSWERS files from judgments instead of runs against qrels")
    add("-m", "--measure", action="append", metavar="M", help="measures, trec_eval names or nicknames (official)")
    add("-l", "--rel", type=int, metavar="N", help="least grade that counts, where a measure does not say (1)")
    add("--bank", metavar="FILE", help="nugget bank: denominators, importance, weights")
    add("--view", choices=VIEWS, help="what the units are (the measures' own)")
    add("--topics", metavar="WHICH", help="topics to average: qrels, bank, run, or a file of topics, one a line")
    add("-c", dest="topics", action="store_const", const="qrels", help="same as --topics qrels (trec_eval's -c)")
    add("--by", metavar="FILE", help="strata with means of their own: topic<TAB>label, or the topics of iKAT")
    add("--undefined", choices=UNDEFINED, default="skip", help="undefined values: left out of means, or 0")
    add("--on-failed", choices=ON_FAILED, default="zero", help="failed judgments: 0, topic left out, or an error")
    add("--order", choices=ORDERS, default="score", help="rank units by score or by the rank column")
    add("--duplicates", choices=DUPLICATES, default="error", help="repeated records: error, or which to keep")
    add("--adhoc", choices=ADHOC, default="max", help="grade of a unit from those of its nuggets")
    add("-M", "--depth", type=int, metavar="N", help="look at N units of each topic only")
    add("-J", "--judged-only", action="store_true", help="leave unjudged units out of the rankings")
    add("--quiet", action="store_true", help="no progress, warnings or signature on stderr")


def add_ranking_options(parser: argparse.ArgumentParser) -> None:
    """The options that say how runs are ranked and compared."""
    add = parser.add_argument
    add("--sort", metavar="M", help="measure that orders the runs (the first with a direction)")
    add("--lower", metavar="M", action="append", default=[], help="a measure of which less is better")
    add("--test", choices=(*TESTS, "none"), default="t", help="paired test of each run with the best (t)")
    add("--correction", choices=tuple(CORRECTIONS), default="holm", help="for the number of runs (holm)")
    add("--baseline", metavar="RUN", help="compare with this run instead of the best")
    add("--alpha", type=share, default=0.05, metavar="X", help="a p below it is marked (0.05)")
    add("--resamples", type=whole(1), default=1_000, metavar="N", help="of topics and assignments (1000)")
    add("--seed", type=whole(0), default=42, metavar="N", help="of every random choice (42)")
    add("--groups", metavar="FILE", help="run<TAB>group: automatic, manual, ...; or teams")


def method_of(options: argparse.Namespace) -> Method:
    """How the options say that runs are compared."""
    return Method(
        sort=options.sort,
        lower=frozenset(options.lower),
        test=None if options.test == "none" else options.test,
        correction=options.correction,
        baseline=options.baseline,
        alpha=options.alpha,
        resamples=options.resamples,
        seed=options.seed,
    )


def policies_of(options: argparse.Namespace) -> Policies:
    """The policies that the options name.

    Raises:
        FormatError: ``--topics`` is neither a policy nor a file.
    """
    return Policies(
        topics=_topics(options.topics),
        undefined=options.undefined,
        on_failed=options.on_failed,
        rel=options.rel,
        adhoc=options.adhoc,
        order=options.order,
        depth=options.depth,
        judged_only=options.judged_only,
        view=options.view,
    )


def check_stdin(files: Sequence[str | None]) -> None:
    """Refuse to read stdin twice.

    Raises:
        ParameterError: it is named twice.
    """
    if list(files).count("-") > 1:
        raise ParameterError("-: stdin can be read once only: for the qrels or for one run")


def whole(low: int, high: int = 2**32 - 1) -> Callable[[str], int]:
    """The type of an option that is an integer from ``low`` to ``high``."""

    def parse(text: str) -> int:
        number = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
        if number is None or not low <= number <= high:
            raise argparse.ArgumentTypeError(f"must be an integer from {low} to {high} (got {text})")
        return number

    return parse


def share(text: str) -> float:
    """The type of an option that is a number in (0, 1)."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"must be in (0, 1) (got {text})")
    return number


_DEFAULTS = {
    "judgments": None, "rel": None, "bank": None, "view": None, "topics": None, "undefined": "skip",
    "on_failed": "zero", "order": "score", "duplicates": "error", "adhoc": "max", "depth": None, "judged_only": False,
    "documents": None,
}  # fmt: skip


def refuse_scoring(options: argparse.Namespace) -> None:
    """Refuse options that say how runs are scored where scores are read.

    Raises:
        ParameterError: naming them.
    """
    flags = {"rel": "-l", "topics": "--topics", "depth": "-M", "judged_only": "-J"}
    given = [key for key, value in _DEFAULTS.items() if getattr(options, key, value) != value]
    if given:
        named = ", ".join(flags.get(key, f"--{key.replace('_', '-')}") for key in given)
        raise ParameterError(f"{named}: for scoring runs against qrels; these files are read as scores")


def read_as_scores(files: Sequence[str]) -> Board:
    """Read files of scores; where the first may be qrels whose runs are none, say so.

    Raises:
        NuggetEvalError: as :func:`nuggeteval.boards.read_boards`.
    """
    try:
        return read_boards(files)
    except FormatError as error:
        if len(files) > 1 and error.path == files[0]:
            hint = f"; and {files[1]} is no TREC run (six columns), as one after qrels is"
            raise FormatError(error.path, f"{error.message}{hint}", error.line) from error
        raise


def names_runs(options: argparse.Namespace, files: Sequence[str]) -> bool:
    """Whether files are qrels and runs, or answers, to be scored, rather than scores."""
    if scores_answers(options) or options.view == "statements" or files[0].startswith(PREFIX):
        return True
    if len(files) < 2 or any(name.startswith("published:") for name in files):
        return False
    if files[1] == "-":
        return True
    lines = (line.split() for line in read_bytes(files[1]).splitlines())
    first = next((fields for fields in lines if fields and not fields[0].startswith(b"#")), [])
    return len(first) == _RUN_COLUMNS


def scored(
    options: argparse.Namespace,
    first: str,
    rest: Sequence[str],
    progress: Callable[[Run], None] | None = None,
    official: str = "official",
) -> Scored:
    """Score what the options name.

    Args:
        options: those of :func:`add_scoring_options`.
        first: qrels; the first file of answers where answers are scored.
        rest: runs, or more answers.
        progress: called with each run once it is scored.
        official: the measures where none is named, unless answers are scored.

    Raises:
        NuggetEvalError: as the readers and :func:`nuggeteval.scoring.evaluate` do.
    """
    bank = read_bank(options.bank) if options.bank else None
    policies = policies_of(options)
    if scores_answers(options, measures=True):
        found = _scored_answers(options, [first, *rest], bank, policies)
    elif options.view == "statements" and is_topics(first):
        found = _scored_statements(options, first, rest, policies)
    else:
        found = _scored_runs(options, first, rest, bank, progress, official)
    return replace(found, scores=found.scores.with_strata(read_strata(options.by))) if options.by else found


def _scored_runs(
    options: argparse.Namespace,
    first: str,
    paths: Sequence[str],
    bank: NuggetBank | None,
    progress: Callable[[Run], None] | None,
    official: str,
) -> Scored:
    """Runs against qrels."""
    qrels = _read_qrels(first, options.duplicates)
    chosen = choose(options.measure or [official], options, answers=False)
    policies = policies_of(options)
    runs: Iterable[Run] = _runs(paths, options.duplicates)
    lengths = None
    if any(_needs_documents(measure) for measure in chosen.units):
        runs = list(runs)
        lengths = _lengths(options, qrels, runs, chosen.units)
    scores = evaluate(chosen.units, Inputs(qrels, runs, bank, lengths), policies, progress)
    view = policies.view or qrels.view or "documents"
    scores = replace(scores, notes=(*chosen.notes, *scores.notes))
    return Scored(scores, {view: qrels if bank is None else qrels.with_bank(bank)}, bank)


def _needs_documents(measure: Measure) -> bool:
    return measure.name in TABLE and "documents" in record_of(measure.name).needs


def _lengths(
    options: argparse.Namespace, qrels: NuggetQrels, runs: Sequence[Run], measures: Iterable[Measure]
) -> dict[str, int]:
    """Words of the documents that matter: the first of each run, to the deepest cutoff, and all that carry nuggets."""
    cutoffs = [bind(measure).arguments["cutoff"] for measure in measures if _needs_documents(measure)]
    # Of the judged units alone, the first of a run can stand anywhere.
    depth = None if None in cutoffs or options.judged_only else max(cutoffs)
    wanted = {unit for units in pool_of(runs, depth).values() for unit in units}
    wanted.update(qrels.unit_ids[unit] for unit in qrels.unit[qrels.grade > 0].tolist())
    paths = [options.documents] if isinstance(options.documents, str) else options.documents
    return {unit: len(pieces(text)) for unit, text in read_documents(paths, wanted).items()}


def _scored_answers(
    options: argparse.Namespace, paths: Sequence[str], bank: NuggetBank | None, policies: Policies
) -> Scored:
    """The measures of answers: against reference texts and documents, and from judgments."""
    default = "longeval" if any(answer_files_of(options)) else "cone"
    chosen = choose(options.measure or [default], options, answers=True)
    answers = read_answers(list(paths))
    if chosen.units and bank is None:
        bank = _without_bank(chosen.units, answers)
    parts = [evaluate_answers(chosen.answers, answers, read_inputs(options), policies)] if chosen.answers else []
    if bank is None or not chosen.units:
        found = Scored(join_measures(parts), {}, bank, answers)
    else:
        found = _scored_judgments(options, chosen, answers, bank, policies)
        found = replace(found, scores=join_measures([*parts, found.scores]))
    return replace(found, scores=_as_asked(found.scores, chosen))


def _without_bank(measures: Iterable[Measure], answers: Iterable[Answer]) -> NuggetBank:
    """The bank of measures that need none of the user: that of what answers cite.

    Raises:
        ParameterError: a measure that needs one.
    """
    if all(measure.name in _JUDGES and "sources" in record_of(measure.name).needs for measure in measures):
        return sources_bank(answers)
    raise ParameterError("judgments are scored against a bank, which says what there is to find: --bank FILE")


def _check_judges(measures: Iterable[Measure], judgments: Iterable[Judgment], path: str) -> None:
    """Refuse to call the verdicts of one judge by the name of another.

    Raises:
        DataError: a measure that is named for a judge, and judgments of others.
    """
    judges = {judgment.judge for judgment in judgments}
    for measure in measures:
        wanted = _JUDGES.get(measure.name)
        if wanted and judges != {wanted}:
            theirs = listed(sorted(judges))
            raise DataError(f"{measure} takes judgments of the {wanted} judge; {path} has those of {theirs}")


def _as_asked(scores: Scores, chosen: Chosen) -> Scores:
    """Scores with their measures in the order in which they were asked for."""
    return replace(scores.of_measures(chosen.names), notes=(*chosen.notes, *scores.notes))


def _scored_judgments(
    options: argparse.Namespace, chosen: Chosen, answers: list[Answer], bank: NuggetBank, policies: Policies
) -> Scored:
    """The measures of answers from judgments, each measure on the view that it takes."""
    records = read_judgments(options.judgments)
    by_view = group_by_view(chosen.units, {judgment.view for judgment, _ in records}, options.view)
    parts, tables = [], {}
    for view, measures in by_view.items():
        qrels = as_nugget_qrels(records, view, options.judgments)
        judged = [judgment for judgment, _ in records if judgment.view == view]
        units = list(units_of(answers, view))
        check_texts(judged, units, bank, options.judgments)
        _check_judges(measures, judged, options.judgments)
        qrels = replace(qrels, notes=(*qrels.notes, *unjudged_notes(judged, units, bank, options.judgments)))
        parts.append(evaluate(measures, Inputs(qrels, runs_of(answers, view), bank), replace(policies, view=view)))
        tables[view] = qrels.with_bank(bank)
    return Scored(join_measures(parts), tables, bank, answers, records)


def _scored_statements(options: argparse.Namespace, topics: str, paths: Sequence[str], policies: Policies) -> Scored:
    """The statements about the user that answers name, against those that the turns of the topics build on.

    Without ``--topics`` the turns that build on none, whose recall is undefined, are left out.
    """
    qrels = read_statements(topics)
    personal = sorted({qrels.topics[topic] for topic in qrels.unit_topic[qrels.unit[qrels.grade > 0]]})
    answers = read_answers(list(paths))
    inputs = Inputs(qrels, runs_of(answers, "statements"))
    measures = options.measure or ["SetP", "SetR", "SetF"]
    scores = evaluate(measures, inputs, replace(policies, topics=policies.topics or personal))
    return Scored(scores, {"statements": qrels}, None, answers)


def _read_qrels(path: str, duplicates: str) -> NuggetQrels:
    return read_irds_qrels(path, duplicates) if path.startswith(PREFIX) else read_qrels(path, duplicates)


def _runs(paths: Sequence[str], duplicates: str) -> Iterator[Run]:
    """One run at a time, so that only what is judged stays in memory."""
    for path in paths:
        yield read_run(path, duplicates)


def _topics(which: str | None) -> str | list[str] | None:
    if which is None or which in TOPICS:
        return which
    if not Path(which).exists():
        raise FormatError(which, f"no such file; --topics takes {', '.join(TOPICS)} or a file of topics")
    return [decode(line.split()[0]) for line in read_bytes(which).splitlines() if line.split()]
