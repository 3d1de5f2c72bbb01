"""How a judge agrees with people: label by label, run by run, topic by topic, and in the order of the runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nuggeteval.errors import DataError
from nuggeteval.reports import Table, shown
from nuggeteval.stats.agreement import Agreement, agreement
from nuggeteval.stats.correlation import P, kendall_p, kendall_tau_b, spearman_rho, undefined_reason

__all__ = [
    "AgreementReport",
    "Key",
    "Order",
    "agreement_lines",
    "agreement_tables",
    "build_agreement",
    "disagreement_table",
]

Key = tuple[str, str, str]
"""(run, topic, nugget)."""

_CELLS = {(1, 1): "yes/yes", (1, 0): "yes/no", (0, 1): "no/yes", (0, 0): "no/no"}


class Order(NamedTuple):
    """The runs by their share of yes, for people and for the judge.

    Attributes:
        shares: run -> (share for people, for the judge).
        tau_b, rho: None where undefined.
        p: of tau_b.
        reason: why undefined, where it is.
    """

    shares: Mapping[str, tuple[float, float]]
    tau_b: float | None
    rho: float | None
    p: P | None
    reason: str


@dataclass(frozen=True)
class AgreementReport:
    """What was found.

    Attributes:
        whole: over all items.
        runs, topics: for each of them.
        order: of the runs; None with a single run.
        disagreements: items on which they differ, with both labels.
        unjudged: labelled items that the judge did not judge.
        tied: items on which as many people say yes as no; left out.
    """

    whole: Agreement
    runs: Mapping[str, Agreement]
    topics: Mapping[str, Agreement]
    order: Order | None
    disagreements: Sequence[tuple[Key, int, int]]
    unjudged: int
    tied: int


def build_agreement(people: Mapping[Key, int], judge: Mapping[Key, int], tied: int = 0) -> AgreementReport:
    """Compare a judge with people on the items that both have labelled.

    Args:
        people: above 0 is yes.
        judge: above 0 is yes.
        tied: number of items that were left out because people are divided.

    Raises:
        DataError: no item in common.
    """
    common = [key for key in people if key in judge]
    if not common:
        example, other = next(iter(people), "none"), next(iter(judge), "none")
        raise DataError(f"labels and judgments have nothing in common: {example} against {other} (run, topic, nugget)")
    first, second = ({key: int(labels[key] > 0) for key in common} for labels in (people, judge))

    def over(keys: Sequence[Key]) -> Agreement:
        return agreement([first[key] for key in keys], [second[key] for key in keys])

    runs = {run: [key for key in common if key[0] == run] for run in sorted({key[0] for key in common})}
    topics = {topic: [key for key in common if key[1] == topic] for topic in sorted({key[1] for key in common})}
    return AgreementReport(
        over(common),
        {run: over(keys) for run, keys in runs.items()},
        {topic: over(keys) for topic, keys in topics.items()},
        _order(runs, first, second),
        [(key, people[key], judge[key]) for key in common if first[key] != second[key]],
        len(people) - len(common),
        tied,
    )


def _order(runs: Mapping[str, Sequence[Key]], people: Mapping[Key, int], judge: Mapping[Key, int]) -> Order | None:
    if len(runs) < 2:
        return None
    shares = {
        run: (sum(people[key] for key in keys) / len(keys), sum(judge[key] for key in keys) / len(keys))
        for run, keys in runs.items()
    }
    x, y = zip(*shares.values(), strict=True)
    return Order(shares, kendall_tau_b(x, y), spearman_rho(x, y), kendall_p(x, y), undefined_reason(x, y))


def agreement_tables(report: AgreementReport, by_topic: bool = False, places: int = 4) -> list[Table]:
    """The report as tables: all items, run by run, and topic by topic.

    Args:
        report: what to show.
        by_topic: a row for every topic too.
        places: decimals.
    """
    header = ["run", "items", "accuracy", "kappa", "AC1", "alpha", "majority", "precision", "recall", *_CELLS.values()]
    rows = [_row("all", report.whole, places), *(_row(run, found, places) for run, found in report.runs.items())]
    notes = [
        "yes/no: people say yes, the judge says no; precision and recall of the judge's yes",
        "majority: accuracy of always saying what people say most; alpha: Krippendorff's, nominal",
        f"{report.unjudged} labelled items are not judged; {report.tied} ties among annotators are left out",
    ]
    tables = [Table(header, rows, title="The judge beside people", notes=tuple(notes))]
    if by_topic:
        rows = [_row(topic, found, places) for topic, found in report.topics.items()]
        tables.append(Table(["topic", *header[1:]], rows, title="Topic by topic"))
    if report.order:
        tables.append(_order_table(report.order, places))
    return tables


def _row(name: str, found: Agreement, places: int) -> list[str]:
    numbers = [found.accuracy, found.kappa, found.ac1, found.alpha, found.majority, found.precision(1), found.recall(1)]
    counts = [str(found.confusion.get(cell, 0)) for cell in _CELLS]
    return [name, str(found.number), *(shown(number, places) for number in numbers), *counts]


def _order_table(order: Order, places: int) -> Table:
    rows = sorted(order.shares.items(), key=lambda item: -item[1][0])
    p = "" if order.p is None else f" (p {order.p.value:.3g}, {order.p.method})"
    value = f"tau-b {shown(order.tau_b, places)}{p}, rho {shown(order.rho, places)} over {len(rows)} runs"
    return Table(
        ["run", "people", "judge"],
        [[run, f"{people:.{places}f}", f"{judge:.{places}f}"] for run, (people, judge) in rows],
        title="Order of the runs by their share of yes",
        notes=(f"{value}{f'; undefined: {order.reason}' if order.reason else ''}",),
    )


def agreement_lines(report: AgreementReport, texts: Mapping[Key, tuple[str, str]]) -> Iterator[str]:
    """Lines of JSON: all, each run, each topic, the order of the runs, then each disagreement.

    Args:
        report: what to write.
        texts: (run, topic, nugget) -> (text of the nugget, of the response), where they are known.
    """
    named: list[tuple[str, str, Agreement]] = [("all", "", report.whole)]
    named += [("run", run, found) for run, found in report.runs.items()]
    named += [("topic", topic, found) for topic, found in report.topics.items()]
    for kind, name, found in named:
        record: dict[str, Any] = {kind: name or True}
        counts = {_CELLS[cell]: found.confusion.get(cell, 0) for cell in _CELLS}
        values = {key: value for key, value in found._asdict().items() if key != "confusion"}
        values |= {"precision": found.precision(1), "recall": found.recall(1)}
        yield json.dumps({**record, **values, **counts}, ensure_ascii=False) + "\n"
    if report.order:
        order = {**report.order._asdict(), "p": report.order.p and report.order.p._asdict()}
        yield json.dumps({"order_of_runs": order}, ensure_ascii=False) + "\n"
    for key, people, judge in report.disagreements:
        nugget, response = texts.get(key, ("", ""))
        record = {**dict(zip(("run", "topic", "nugget"), key, strict=True)), "people": people, "judge": judge}
        yield json.dumps({"disagreement": {**record, "text": nugget, "response": response}}, ensure_ascii=False) + "\n"


def disagreement_table(report: AgreementReport, texts: Mapping[Key, tuple[str, str]]) -> Table:
    """Every item on which they differ, with its texts where they are known."""
    rows = [[*key, str(people), str(judge), *texts.get(key, ("", ""))] for key, people, judge in report.disagreements]
    header = ["run", "topic", "nugget", "people", "judge", "text of the nugget", "response"]
    if not any(row[5] or row[6] for row in rows):
        header, rows = header[:5], [row[:5] for row in rows]
    return Table(header, rows, words=len(header), title=f"{len(rows)} disagreements")
