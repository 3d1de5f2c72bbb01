"""Make reports/ from qrels/ and runs/: ``make reports``. A test rebuilds them and compares bytes."""

from __future__ import annotations

import sys
from pathlib import Path

from nuggeteval.cli import main as nuggeteval

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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
