"""Make reports/ from qrels/ and runs/, and docs/measures.md: ``make reports``. A test compares bytes."""

from __future__ import annotations

import sys
from pathlib import Path

from nuggeteval.cli import main as nuggeteval
from nuggeteval.measures import ALIASES, NICKNAMES, TABLE, TREC_NAMES, record_of

ROOT = Path(__file__).resolve().parent.parent
DEMO = ["--rel=3", "--bank=qrels/demo.bank.jsonl", "qrels/demo.qrels", "runs/demo-*.run"]
NTN = ["-mPrecision_NtN,Recall_NtN,F1_NtN", "--bank=qrels/demo.bank.jsonl", "qrels/demo.nuggets.qrels"]
NTR = ["-mRecall_NtR(rel=2)", "-mautonuggetizer", "--bank=qrels/demo.bank.jsonl", "qrels/demo.responses.qrels"]
TEXTS = ["--documents=qrels/demo.documents.jsonl", "--queries=qrels/demo.topics.jsonl"]
TRACE = "--trace=runs/lancer-sum.trace.jsonl"
SCORES = "{}/per-topic.tsv"
RAG = [
    "-mRecall_NtR,avg_score,P_cited(rel=2),R_cited(rel=2),citation_recall,citation_precision,citation_jaccard",
    "-mROUGE_1,ROUGE_2,ROUGE_L,TFC1",
    *("--bank=qrels/demo.bank.jsonl", "--gold=qrels/demo.gold.jsonl", "--qrels=qrels/demo.documents.qrels"),
    *("--queries=qrels/demo.topics.jsonl", "--reference-run=runs/rag-whole.jsonl"),
]
MEASURES = "--measures=AP,nDCG@5,alpha_nDCG@10,Cov@10"

REPORTS: dict[str, list[str]] = {
    "per-topic.tsv": ["score", "--format=tsv", "--by-topic", *DEMO],
    "leaderboard.md": ["leaderboard", "--format=markdown", *DEMO],
    "leaderboard.tsv": ["leaderboard", "--format=tsv", *DEMO],
    "leaderboard.html": ["leaderboard", "--format=html", *DEMO],
    "correlation.md": ["correlate", "--format=markdown", MEASURES, SCORES],
    "correlation.tsv": ["correlate", "--format=tsv", MEASURES, SCORES],
    "correlation.html": ["correlate", "--format=html", MEASURES, SCORES],
    "report.html": ["report", "--title=The demonstration collection", TRACE, *TEXTS, *DEMO, "runs/lancer-*.run"],
    "lancer.md": ["leaderboard", "--format=markdown", "-m", "lancer", *DEMO, "runs/lancer-*.run"],
    "answers-ntn.md": ["score", "--format=markdown", "--by-topic", *NTN, "runs/answers-*.nuggets.run"],
    "answers-ntr.md": ["score", "--format=markdown", "--by-topic", *NTR, "runs/answers-*.responses.run"],
    "rag.md": ["leaderboard", "--format=markdown", "--judgments=runs/rag.judgments.jsonl", *RAG, "runs/rag-*.jsonl"],
    "ikat2024-correlations.md": ["correlate", "--claims", "--format=markdown", "published:ikat2024"],
}
"""File -> the command that makes it; later ones read what earlier ones wrote."""


def main(folder: str) -> int:
    """Write every report into a folder."""
    codes = []
    for name, arguments in REPORTS.items():
        words = [path for word in arguments for path in _expanded(word.format(folder))]
        codes.append(nuggeteval([*words, "--out", str(Path(folder) / name)]))
    return max(codes)


def _expanded(word: str) -> list[str]:
    """A word of a command: patterns and paths of the checkout in full, options as they are."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    if not value.startswith(("qrels/", "runs/")):
        return [word]
    paths = sorted(str(path) for path in ROOT.glob(value))
    return [f"{option}{equals}{path}" for path in paths]


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
