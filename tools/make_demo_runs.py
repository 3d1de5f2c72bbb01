"""Make runs/demo-*.run, runs/lancer-*.run, runs/bm25.run and runs/rag-*.jsonl from qrels/: ``make runs``.

Four rankings of all 40 documents for each topic (demo-ideal: of those that carry a nugget):

- demo-tfidf: sum over the words of the request of tf * idf, over the length of the document vector;
- demo-keyword: how often the words of the title stand in the document;
- demo-shuffled: the order of a hash of topic and document;
- demo-ideal: the greedy ideal ranking that alpha-nDCG divides by, at rel 3.

And reranked candidates of demo-keyword, by the lexical judge, without a language model:

- lancer-sum: two sub-questions of the request, ratings summed;
- lancer-oracle-sum, lancer-oracle-soft-cov: the gold nuggets as sub-questions, two aggregations;
- lancer-bound: the best reranking of the same candidates, given the qrels at rel 3.

bm25.run is a first stage, and its ten best documents are the candidates of rag-*.jsonl: answers of variants of the
LongEval pipeline, made of sentences of the documents without a language model. In rag.judgments.jsonl the lexical judge
says which nuggets they carry.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nuggeteval import Run, read_qrels, write_run
from nuggeteval.cli import main as nuggeteval
from nuggeteval.measures.novelty import ALPHA, greedy_ideal

ROOT = Path(__file__).resolve().parent.parent
Ranking = dict[str, float]


def read_jsonl(name: str) -> list[dict[str, str]]:
    """The records of a file of the collection."""
    return [json.loads(line) for line in (ROOT / "qrels" / name).read_text(encoding="utf-8").splitlines()]


def words(text: str) -> list[str]:
    """Lower-cased words, a plural s cut off."""
    return [word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", text.lower())]


def tfidf(topic: dict[str, str], texts: dict[str, Counter[str]]) -> Ranking:
    """Cosine of the request and the document, up to a factor that all documents share."""
    frequency = Counter(word for counts in texts.values() for word in counts)
    idf = {word: math.log(len(texts) / count) for word, count in frequency.items()}
    request = set(words(f"{topic['title']} {topic['problem_statement']}")) & set(idf)
    scores = {}
    for document, counts in texts.items():
        length = math.sqrt(math.fsum((count * idf[word]) ** 2 for word, count in counts.items()))
        scores[document] = math.fsum(counts[word] * idf[word] ** 2 for word in sorted(request)) / length
    return scores


def keyword(topic: dict[str, str], texts: dict[str, Counter[str]]) -> Ranking:
    """Occurrences of words of four letters and more of the title; many documents tie."""
    title = {word for word in words(topic["title"]) if len(word) > 3}
    return {document: float(sum(counts[word] for word in title)) for document, counts in texts.items()}


def shuffled(topic: dict[str, str], texts: dict[str, Counter[str]]) -> Ranking:
    """No order at all, but always the same."""
    digest = {document: hashlib.sha256(f"{topic['topic']} {document}".encode()).hexdigest() for document in texts}
    order = sorted(texts, key=digest.__getitem__)
    return {document: float(len(order) - rank) for rank, document in enumerate(order)}


def ideal() -> dict[str, Ranking]:
    """The greedy ideal ranking of every topic."""
    qrels = read_qrels(str(ROOT / "qrels" / "demo.qrels"))
    units, gains = greedy_ideal(qrels, ALPHA, rel=3, weight=np.ones(len(qrels.nugget_ids)), depth=None)
    rankings: dict[str, Ranking] = {}
    for unit, topic, rank in zip(units, gains.topic, gains.rank, strict=True):
        rankings.setdefault(qrels.topics[topic], {})[qrels.unit_ids[unit]] = 1.0 / float(rank)
    return rankings


def main() -> None:
    """Write the four runs."""
    documents = read_jsonl("demo.documents.jsonl")
    texts = {entry["id"]: Counter(words(f"{entry['title']} {entry['text']}")) for entry in documents}
    topics = read_jsonl("demo.topics.jsonl")
    systems: dict[str, Callable[[dict[str, str], dict[str, Counter[str]]], Ranking]] = {
        "tfidf": tfidf,
        "keyword": keyword,
        "shuffled": shuffled,
    }
    runs = {name: {topic["topic"]: score(topic, texts) for topic in topics} for name, score in systems.items()}
    for name, rankings in {**runs, "ideal": ideal()}.items():
        rounded = {t: {d: round(score, 6) for d, score in ranking.items()} for t, ranking in rankings.items()}
        write_run(Run.of(rounded, f"demo-{name}"), str(ROOT / "runs" / f"demo-{name}.run"))


TEXTS = ["--run=runs/demo-keyword.run", "--documents", "qrels/demo.documents.jsonl", "--judge=lexical", "--quiet"]
ORACLE = ["lancer", *TEXTS, "--oracle=qrels/demo.bank.jsonl"]
RERANKED: dict[str, list[str]] = {
    "lancer-sum": ["lancer", *TEXTS, "--queries=qrels/demo.topics.jsonl"],
    "lancer-oracle-sum": ORACLE,
    "lancer-oracle-soft-cov": [*ORACLE, "--aggregate=soft-cov"],
    "lancer-bound": ["ideal", "--run=runs/demo-keyword.run", "--qrels=qrels/demo.qrels", "--rel=3"],
}
"""Run -> the generator that makes it, and its options."""


def rerank(folder: Path) -> None:
    """Write the reranked runs and the trace of the first."""
    with tempfile.TemporaryDirectory() as name:
        for run, (generator, *options) in RERANKED.items():
            words = [option.replace("qrels/", f"{ROOT}/qrels/").replace("runs/", f"{ROOT}/runs/") for option in options]
            kept = [f"--keep={name}/{run}"] if generator == "lancer" else []
            trace = [f"--trace={folder}/lancer-sum.trace.jsonl"] if run == "lancer-sum" else []
            command = ["generate", generator, *words, *kept, *trace, f"--tag={run}", "-o", str(folder / f"{run}.run")]
            if nuggeteval(command):
                raise SystemExit(f"{run} could not be made")


QUERIES = "--queries=qrels/demo.topics.jsonl"
DOCUMENTS = ["--documents", "qrels/demo.documents.jsonl"]
ANSWERED: dict[str, list[str]] = {
    "rag-default": ["--variant=default"],
    "rag-concat": ["--variant=concat-baseline"],
    "rag-bm25": ["--variant=single-query-bm25"],
    "rag-no-rerank": ["--variant=rrf-no-rerank"],
    "rag-titles": ["--variant=titles"],
    "rag-whole": ["--variant=whole-documents"],
}
"""Answers -> the options of the pipeline; rag-whole is the reference side, every candidate whole as evidence."""


def answer(folder: Path) -> None:
    """Write the first stage, the answers from its ten best documents, and what the lexical judge says of them."""
    first = f"{folder}/bm25.run"
    call("generate", "bm25", QUERIES, *DOCUMENTS, "--quiet", f"-o{first}")
    for run, options in ANSWERED.items():
        made = [f"--candidates={first}", "--depth=10", *options, f"--tag={run}", "--team=demo", "--quiet"]
        call("generate", "rag", QUERIES, *DOCUMENTS, *made, f"-o{folder}/{run}.jsonl")
    judgments = folder / "rag.judgments.jsonl"
    judgments.unlink(missing_ok=True)
    answers = [f"{folder}/{run}.jsonl" for run in ANSWERED]
    call("judge", "qrels/demo.bank.jsonl", *answers, "--judge=lexical", "--quiet", f"-o{judgments}")


def call(*words: str) -> None:
    """A command on files of the checkout."""
    if nuggeteval([word.replace("qrels/", f"{ROOT}/qrels/") for word in words]):
        raise SystemExit(f"nuggeteval {' '.join(words)} failed")


if __name__ == "__main__":
    main()
    rerank(ROOT / "runs")
    answer(ROOT / "runs")
