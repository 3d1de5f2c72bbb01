"""Make reports/ from qrels/ and runs/, and docs/measures.md: ``make reports``. A test compares bytes."""

from __future__ import annotations

import sys
from pathlib import Path

from nuggeteval.cli import main as nuggeteval
from nuggeteval.measures import ALIASES, NICKNAMES, TABLE, TREC_NAMES, record_of

ROOT = Path(__file__).resolve().parent.parent
BANK = "qrels/demo.bank.jsonl"

REPORTS: dict[str, tuple[str, str, str, list[str]]] = {
    "leaderboard.md": ("official", "qrels/demo.qrels", "demo-*.run", ["--rel=3", "--format=markdown"]),
    "leaderboard.tsv": ("official", "qrels/demo.qrels", "demo-*.run", ["--rel=3", "--format=tsv"]),
    "per-topic.tsv": ("official", "qrels/demo.qrels", "demo-*.run", ["--rel=3", "--format=tsv", "--by-topic"]),
    "answers-ntn.md": (
        "Precision_NtN Recall_NtN F1_NtN",
        "qrels/demo.nuggets.qrels",
        "answers-*.nuggets.run",
        ["--format=markdown", "--by-topic"],
    ),
    "answers-ntr.md": (
        "Recall_NtR(rel=2) autonuggetizer",
        "qrels/demo.responses.qrels",
        "answers-*.responses.run",
        ["--format=markdown", "--by-topic"],
    ),
}
"""File -> (measures, qrels, runs, options)."""


def main(folder: str) -> int:
    """Write every report into a folder."""
    codes = []
    for name, (measures, qrels, pattern, options) in REPORTS.items():
        runs = sorted(str(path) for path in (ROOT / "runs").glob(pattern))
        arguments = ["score", "-m", measures, "--bank", str(ROOT / BANK), *options, "-o", str(Path(folder) / name)]
        codes.append(nuggeteval([*arguments, str(ROOT / qrels), *runs]))
    return max(codes)


def measures_page() -> str:
    """docs/measures.md, from the records."""
    lines = [
        "# Measures",
        "",
        "Made from the records in `nuggeteval/measures/` by `make reports`. `@k` is required, `[@k]` optional; b(i,n)",
        "is 1 where the unit at rank i carries nugget n at a grade of at least `rel`. Units: what a unit must be, for",
        "measures that care. `nuggeteval measures NAME` says what each parameter means.",
        "",
        "| measure | definition | parameters | units | source |",
        "|---|---|---|---|---|",
    ]
    for name in TABLE:
        record = record_of(name)
        at = {"required": "@k", "optional": "[@k]", "none": ""}[record.cutoff]
        params, views = ", ".join(record.params), ", ".join(record.views)
        cells = [f"`{name}{at}`", record.definition, params, views, record.citation]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    lines += ["", "## Nicknames", "", "| nickname | measures |", "|---|---|"]
    lines += [f"| `{nickname}` | {', '.join(names)} |" for nickname, names in NICKNAMES.items()]
    lines += ["", "## Other names", "", "| name | measure |", "|---|---|"]
    lines += [f"| `{alias}` | `{name}` |" for alias, name in ALIASES.items()]
    lines += [f"| `{trec}` (trec_eval) | `{name}` |" for trec, (name, _) in TREC_NAMES.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "measures.md").write_text(measures_page(), encoding="utf-8")
    sys.exit(main(sys.argv[1]))
