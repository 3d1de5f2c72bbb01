"""Ten variants in one call against one call each: what is shared in the LongEval pipeline, as a ratio of CPU time.

    python benchmarks/rag.py [--queries FILE --documents FILE]

Without files a collection is made up: 20 queries with ten candidates of 300 sentences each. A made-up encoder stands in
for the model, so that what is compared is the work of the pipeline itself; with ``--model`` it is the one of the extra
``embedded``.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

import numpy as np

from nuggeteval.data import Document
from nuggeteval.formats.candidates import read_candidates
from nuggeteval.formats.documents import read_collection
from nuggeteval.formats.topics import read_queries
from nuggeteval.generators.variants import VARIANTS
from nuggeteval.models.encoders import SentenceEncoder
from nuggeteval.pipeline import Topic
from nuggeteval.pipeline.running import gather_all
from nuggeteval.rows import FloatArray
from nuggeteval.stages import Tools


def made_up(queries: int = 20, documents: int = 10, sentences: int = 300) -> list[Topic]:
    """Texts of random words."""
    rng = random.Random(42)
    words = [f"word{number}" for number in range(5000)]

    def sentence() -> str:
        return " ".join(rng.choices(words, k=18)).capitalize() + "."

    return [
        Topic(
            f"q{q}",
            " ".join(rng.choices(words, k=10)),
            [
                Document(f"q{q}d{d}", " ".join(sentence() for _ in range(sentences)), "Some title", str(2000 + d))
                for d in range(documents)
            ],
        )
        for q in range(queries)
    ]


def read(queries: str, documents: str) -> list[Topic]:
    """Topics from files."""
    candidates = read_candidates(queries)
    found = read_collection([documents], {one for names in candidates.values() for one in names})
    return [Topic(t, text, [found[one] for one in candidates[t]]) for t, text in read_queries(queries).items()]


def tools(model: bool) -> Tools:
    """A fresh encoder, since one remembers what it was asked."""
    if model:
        return Tools(SentenceEncoder.load().vectors, {"cross-encoder": lambda _, texts: [0.0] * len(texts)})
    known: dict[str, FloatArray] = {}

    def encode(texts: Sequence[str]) -> FloatArray:
        for text in texts:
            if text not in known:
                vector = np.random.default_rng(len(known)).normal(size=384)
                known[text] = vector / np.linalg.norm(vector)
        return np.array([known[text] for text in texts])

    return Tools(encode, {"cross-encoder": lambda _, texts: [0.0] * len(texts)})


def main() -> None:
    """Print the CPU seconds of both ways, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries")
    parser.add_argument("--documents")
    parser.add_argument("--model", action="store_true")
    options = parser.parse_args()
    topics = read(options.queries, options.documents) if options.queries else made_up()
    gather_all(topics[:1], VARIANTS, tools(options.model))
    start = time.process_time()
    together = gather_all(topics, VARIANTS, tools(options.model))
    middle = time.process_time()
    apart = {}
    for name, variant in VARIANTS.items():
        apart |= gather_all(topics, {name: variant}, tools(options.model))
    end = time.process_time()
    if together != apart:
        raise SystemExit("the two ways differ")
    seconds = middle - start, end - middle
    print(f"one call {seconds[0]:.1f} s, ten calls {seconds[1]:.1f} s, ratio {seconds[1] / seconds[0]:.1f}")


if __name__ == "__main__":
    main()
