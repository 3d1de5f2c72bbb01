"""Two runs in detail: topics won and lost, effect size, a test, and the nuggets that only one of them has."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nuggeteval.data import Scores
from nuggeteval.errors import DataError, listed
from nuggeteval.leaderboards import BETTER, WORSE
from nuggeteval.measures import direction_of
from nuggeteval.reports import Table, shown, shown_p
from nuggeteval.rows import FloatArray
from nuggeteval.stats.significance import CORRECTIONS, Paired, correct, describe, differences_of, paired

__all__ = [
    "Comparison",
    "Contest",
    "Only",
    "build_comparison",
    "comparison_lines",
    "comparison_tables",
    "nuggets_of_one",
]


class Contest(NamedTuple):
    """Two runs in one measure.

    Attributes:
        measure: its name.
        means: of both runs, over the topics that both have; of all topics for pooled measures, which are not tested.
        wins, losses, ties: topics in which the first run is better, worse, equal.
        paired: difference, effect size and test over the topics that both have.
        p: corrected for the number of measures; None where undefined.
        lower: less is better.
        gaps: (topic, value of the first, of the second), largest difference first.
    """

    measure: str
    means: tuple[float | None, float | None]
    wins: int
    losses: int
    ties: int
    paired: Paired
    p: float | None
    lower: bool
    gaps: tuple[tuple[str, float, float], ...]


class Only(NamedTuple):
    """A nugget that one run shows and the other does not."""

    topic: str
    nugget: str
    text: str
    run: str
    unit: str
    rank: int


@dataclass(frozen=True)
class Comparison:
    """All that was found about two runs."""

    runs: tuple[str, str]
    contests: tuple[Contest, ...]
    test: str
    alpha: float
    only: tuple[Only, ...] = ()
    shared: int = 0
    missed: int = 0
    depth: int | None = None
    signature: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple)


def build_comparison(
    scores: Scores,
    test: str = "t",
    correction: str = "holm",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 42,
    lower: Iterable[str] = (),
) -> Comparison:
    """Compare the two runs of a table of scores.

    Args:
        scores: of two runs.
        test: ``t``, ``wilcoxon`` or ``randomisation``.
        correction: for the number of measures.
        alpha: a corrected p below it is marked.
        resamples, seed: of the randomisation test.
        lower: measures of which less is better, beside those whose record says so.

    Raises:
        DataError: other than two runs; no topic that both have.
        ParameterError: an unknown test or correction.
    """
    if len(scores.runs) != 2:
        raise DataError(f"two runs are compared (got {len(scores.runs)}: {listed(scores.runs)})")
    kept = [m for m, name in enumerate(scores.measures) if name not in scores.summed]
    down = frozenset({*lower, *(name for name in scores.measures if direction_of(name) is False)})
    results = [_contest(scores, m, test, resamples, seed, down) for m in kept]
    if not any(result.paired.number for result in results):
        raise DataError(f"{scores.runs[0]} and {scores.runs[1]} have no topic in common")
    p = correct([math.nan if r.paired.p is None else r.paired.p for r in results], correction)
    contests = tuple(
        result._replace(p=None if math.isnan(value) else float(value)) for result, value in zip(results, p, strict=True)
    )
    topics = max(result.paired.number for result in results)
    several = f", {CORRECTIONS[correction][0]} over {len(contests)} measures" if len(contests) > 1 else ""
    return Comparison(
        (scores.runs[0], scores.runs[1]),
        contests,
        f"{describe(test, topics, resamples, seed)}{several}",
        alpha,
        signature=scores.signature,
        notes=scores.notes,
    )


def _contest(scores: Scores, measure: int, test: str, resamples: int, seed: int, lower: frozenset[str]) -> Contest:
    name = scores.measures[measure]
    table = np.where(scores.present[:, :, measure], scores.values[:, :, measure], np.nan)
    both = ~np.isnan(table).any(axis=0)
    ahead = differences_of(table[0], table[1])[both] * (-1.0 if name in lower else 1.0)
    result = paired(table[0], table[1], test, resamples, seed)
    if name in scores.weights:
        means = [scores.value(run, name) for run in scores.runs]
        difference = math.nan if None in means else float(means[0] or 0) - float(means[1] or 0)
        result = Paired(result.number, difference, None, None, None)
    else:
        means = [float(row[both].mean()) if both.any() else None for row in table]
    return Contest(
        name,
        (means[0], means[1]),
        int((ahead > 0).sum()),
        int((ahead < 0).sum()),
        int((ahead == 0).sum()),
        result,
        None,
        name in lower,
        _gaps(scores.topics, table),
    )


def _gaps(topics: Sequence[str], table: FloatArray) -> tuple[tuple[str, float, float], ...]:
    gap = np.abs(differences_of(table[0], table[1]))
    order = sorted((t for t in range(len(topics)) if gap[t] > 0), key=lambda t: -gap[t])
    return tuple((topics[t], float(table[0, t]), float(table[1, t])) for t in order)


def nuggets_of_one(
    comparison: Comparison,
    carried: Sequence[Mapping[tuple[str, str], tuple[int, str]]],
    texts: Mapping[tuple[str, str], str],
    depth: int | None = None,
) -> Comparison:
    """The same comparison with the nuggets that only one of the runs shows.

    Args:
        comparison: of two runs.
        carried: (topic, nugget) -> (rank, unit) of each run.
        texts: (topic, nugget) -> text, of all declared nuggets.
        depth: ranks that were looked at; None for all.
    """
    only = [
        Only(*key, texts[key], run, mine[key][1], mine[key][0])
        for run, mine, other in zip(comparison.runs, carried, reversed(carried), strict=True)
        for key in texts
        if key in mine and key not in other
    ]
    shared = sum(key in carried[0] and key in carried[1] for key in texts)
    missed = len(texts) - shared - len(only)
    return replace(comparison, only=tuple(only), shared=shared, missed=missed, depth=depth)


def comparison_tables(found: Comparison, places: int = 4, gaps: int = 5) -> list[Table]:
    """Measures, biggest differences and nuggets as tables.

    Args:
        found: what to show.
        places: decimals.
        gaps: number of topics with the biggest differences, for each measure.
    """
    first, second = found.runs
    tables = [_measures_table(found, places)]
    for contest in found.contests if gaps else ():
        rows = [
            [topic, f"{a:.{places}f}", f"{b:.{places}f}", f"{a - b:+.{places}f}"] for topic, a, b in contest.gaps[:gaps]
        ]
        if rows:
            title = f"{contest.measure}: biggest differences"
            tables.append(Table(["topic", first, second, "difference"], rows, title=title))
    return [*tables, *_nugget_tables(found)]


def _nugget_tables(found: Comparison) -> list[Table]:
    """The nuggets that only one run has, and how many both or none have."""
    if not (found.only or found.shared or found.missed):
        return []
    first, second = found.runs
    within = f" in the first {found.depth} ranks" if found.depth else ""
    tables = []
    for run, other in ((first, second), (second, first)):
        rows = [[o.topic, o.nugget, o.unit, str(o.rank), o.text] for o in found.only if o.run == run]
        if rows:
            title = f"{len(rows)} nuggets that {run} has{within} and {other} lacks"
            tables.append(Table(["topic", "nugget", "carried by", "rank", "text"], rows, words=5, title=title))
    counts = Table(
        ["nuggets", "number"],
        [
            ["both have", str(found.shared)],
            *([f"only {run} has", str(sum(o.run == run for o in found.only))] for run in found.runs),
            ["neither has", str(found.missed)],
        ],
        title=f"Nuggets{within}",
    )
    return [counts, *tables]


def _measures_table(found: Comparison, places: int) -> Table:
    first, second = found.runs
    header = ["measure", first, second, "difference", "effect size", "wins", "losses", "ties", "p"]
    rows = []
    for contest in found.contests:
        p = shown_p(contest.p)
        mark = ""
        if contest.p is not None and contest.p < found.alpha:
            better = (contest.paired.difference > 0) != contest.lower
            mark = f" {BETTER if better else WORSE}"
        result = contest.paired
        rows.append(
            [
                contest.measure,
                *(shown(mean, places) for mean in contest.means),
                "undefined" if math.isnan(result.difference) else f"{result.difference:+.{places}f}",
                shown(result.effect, 2),
                *map(str, contest[2:5]),
                p + mark,
            ]
        )
    numbers = sorted({contest.paired.number for contest in found.contests})
    notes = [
        f"means, wins and losses of {first} over the {' to '.join(map(str, numbers))} topics that both runs have",
        f"p: {found.test}; marked below {found.alpha:g}. Effect size: mean difference in standard deviations (d_z)",
    ]
    return Table(header, rows, title=f"{first} against {second}", notes=tuple(notes))


def comparison_lines(found: Comparison) -> Iterator[str]:
    """Lines of JSON: a record for each measure, then for each nugget that only one run has."""
    for contest in found.contests:
        record = {
            "runs": list(found.runs),
            **{key: value for key, value in contest._asdict().items() if key not in ("paired", "gaps")},
            "topics": contest.paired.number,
            "difference": None if math.isnan(contest.paired.difference) else contest.paired.difference,
            "effect_size": contest.paired.effect,
            "statistic": contest.paired.statistic,
            "p_uncorrected": contest.paired.p,
            "test": found.test,
            "differences": [{"topic": topic, "values": [a, b]} for topic, a, b in contest.gaps],
            "signature": found.signature,
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"
    for only in found.only:
        yield json.dumps({"only": only._asdict()}, ensure_ascii=False) + "\n"
