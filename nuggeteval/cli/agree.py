"""nuggeteval agree LABELS... JUDGMENTS: how a judge agrees with people."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence

from nuggeteval.cli import write_lines
from nuggeteval.errors import DataError
from nuggeteval.files import read_bytes
from nuggeteval.formats.judgments import grade_of_votes, read_judgments, votes_by_cell
from nuggeteval.formats.labels import Labels, read_aliases, read_labels
from nuggeteval.stats.agreement import agreement

__all__ = ["add_arguments", "run"]

_EXAMPLES = """
examples:
  nuggeteval agree human-labels.txt judgments.jsonl --aliases aliases.tsv
  nuggeteval agree annotator1.txt annotator2.txt annotator3.txt judgments.jsonl --disagreements

Labels: batch_topic_turn_nugget_run<TAB>0|1, or judgments of responses. Of several annotators the majority counts; a
tie is left out and counted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s LABELS... JUDGMENTS"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("labels", metavar="LABELS", nargs="+", help="labels of people; last, the judgments of the judge")
    add("--aliases", metavar="FILE", help="TSV with a header: name of a run in the labels, in the judgments")
    add("--disagreements", action="store_true", help="list every item on which they differ")


def run(options: argparse.Namespace) -> int:
    """Compare the judge with the majority."""
    aliases = read_aliases(options.aliases) if options.aliases else {}
    *people, judge = [_read(path, aliases) for path in options.labels]
    if not people:
        raise DataError("agreement needs labels and judgments: two files at least")
    truth, tied = _majority(people)
    common = [key for key in truth if key in judge]
    if not common:
        example, other = next(iter(truth), "none"), next(iter(judge), "none")
        raise DataError(f"labels and judgments have nothing in common: {example} against {other} (run, topic, nugget)")
    write_lines(_report(truth, judge, common, tied, options.disagreements), None)
    return 0


def _read(path: str, aliases: dict[str, str]) -> Labels:
    """Labels from a label file, or whether the majority of judgments of a response says yes."""
    if not read_bytes(path).lstrip().startswith(b"{"):
        return read_labels(path, aliases)
    judged = [(judgment, scale) for judgment, scale in read_judgments(path) if judgment.view == "responses"]
    least = {(judgment.run, judgment.topic, judgment.nugget): scale.rel for judgment, scale in judged}
    found: Labels = {}
    for votes in votes_by_cell((judgment for judgment, _ in judged), path).values():
        grade, key = grade_of_votes(votes), (votes[0].run, votes[0].topic, votes[0].nugget)
        if grade is not None:
            found[key] = int(grade >= least[key])
    return found


def _majority(people: Sequence[Labels]) -> tuple[Labels, int]:
    """The label that most annotators give to each item, and the number of ties."""
    votes: dict[tuple[str, str, str], Counter[int]] = {}
    for labels in people:
        for key, label in labels.items():
            votes.setdefault(key, Counter())[label] += 1
    ranked = {key: count.most_common(2) for key, count in votes.items()}
    clear = {key: top[0][0] for key, top in ranked.items() if len(top) == 1 or top[0][1] > top[1][1]}
    return clear, len(votes) - len(clear)


def _report(
    truth: Labels, judge: Labels, common: Sequence[tuple[str, str, str]], tied: int, every: bool
) -> Iterator[str]:
    """The lines of the report: all items, then run by run."""
    yield "yes/no: people say yes, the judge says no\n"
    yield _row("run", "items", "accuracy", "kappa", "yes/yes", "yes/no", "no/yes", "no/no")
    for name in ("all", *sorted({run for run, _, _ in common})):
        keys = [key for key in common if name in ("all", key[0])]
        result = agreement([int(truth[key] > 0) for key in keys], [int(judge[key] > 0) for key in keys])
        cells = [str(result.confusion.get(cell, 0)) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
        kappa = "undefined" if result.kappa is None else f"{result.kappa:.4f}"
        yield _row(name, str(result.number), f"{result.accuracy:.4f}", kappa, *cells)
    yield f"\n{len(truth) - len(common)} labelled items are not judged; {tied} ties among annotators are left out\n"
    for key in common if every else ():
        if (truth[key] > 0) != (judge[key] > 0):
            yield f"{key[0]}\t{key[1]}\t{key[2]}\tpeople {truth[key]}\tjudge {judge[key]}\n"


def _row(*cells: str) -> str:
    return f"{cells[0]:<40} " + " ".join(f"{cell:>9}" for cell in cells[1:]) + "\n"
