"""CPU time of leaderboards and correlations of the size of a large track.

    python benchmarks/rankings.py [--report]

Leaderboard: 100 runs x 300 topics x 5 measures with randomised Tukey, B = 1,000. Correlation: 60 runs x 100 topics,
1,000 resamples, leave-one-run-out, pairwise tests. Each is a process of its own, start-up and reading included; user
plus system seconds. Beside them, in the same run, what a plain loop over scipy takes for the resamples alone. With
--report also the size and the time of an HTML report of 100 runs x 300 topics x 20 nuggets.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PLAIN_LOOP = """
import sys
import numpy as np
from scipy.stats import kendalltau, spearmanr
tables = np.load(sys.argv[1])
random = np.random.RandomState(42)
taus = []
for _ in range(1000):
    picks = random.randint(0, tables.shape[2], tables.shape[2])
    x, y = (table[:, picks].mean(axis=1) for table in tables)
    taus.append((kendalltau(x, y).statistic, spearmanr(x, y).statistic))
print(np.quantile(taus, [0.025, 0.975], axis=0))
"""


def cpu_of(*command: str) -> float:
    """User plus system seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_scores(path: Path, values: np.ndarray) -> None:
    """A wide table of values, shape (runs, topics, measures)."""
    runs, topics, measures = values.shape
    lines = ["\t".join(("run", "topic", *(f"M{m}" for m in range(measures))))]
    lines += [
        "\t".join((f"run{r}", f"topic{t}", *(f"{value:.6f}" for value in values[r, t])))
        for r in range(runs)
        for t in range(topics)
    ]
    path.write_text("\n".join(lines) + "\n")


def random_values(runs: int, topics: int, measures: int, seed: int) -> np.ndarray:
    """Runs of rising quality with noise by topic."""
    random = np.random.RandomState(seed)
    quality = np.linspace(0.2, 0.7, runs)[:, None, None]
    return np.clip(quality + 0.2 * random.randn(runs, topics, measures), 0, 1)


def write_collection(folder: Path, runs: int, topics: int, nuggets: int) -> list[str]:
    """Nugget qrels, a bank and runs; the arguments that score them."""
    random = np.random.RandomState(1)
    documents = 60
    with (folder / "qrels").open("w") as qrels, (folder / "bank.jsonl").open("w") as bank:
        for t in range(topics):
            entries = ", ".join(f'{{"id": "n{n}", "text": "{"fact " * 12}{n}"}}' for n in range(nuggets))
            bank.write(f'{{"topic": "t{t}", "nuggets": [{entries}]}}\n')
            for n in range(nuggets):
                for d in random.choice(documents, 4, replace=False):
                    qrels.write(f"t{t} n{n} clueweb22-en00{t % 90:02d}-{d:05d}:3 1\n")
    paths = []
    for r in range(runs):
        paths.append(str(folder / f"run{r}"))
        with Path(paths[-1]).open("w") as run:
            for t in range(topics):
                for place, d in enumerate(random.permutation(documents)[:30]):
                    run.write(f"t{t} Q0 clueweb22-en00{t % 90:02d}-{d:05d}:3 {place + 1} {30 - place} run{r}\n")
    return ["--bank", str(folder / "bank.jsonl"), str(folder / "qrels"), *paths]


def main() -> None:
    """Print CPU seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="the HTML report too")
    options = parser.parse_args()
    program = [sys.executable, "-m", "nuggeteval"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_scores(folder / "board.tsv", random_values(100, 300, 5, 1))
        seconds = cpu_of(*program, "leaderboard", "--test", "tukey", str(folder / "board.tsv"))
        print(f"leaderboard, 100 runs x 300 topics x 5 measures, Tukey B = 1,000: {seconds:.2f} CPU s")
        tables = [random_values(60, 100, 1, seed) for seed in (1, 2)]
        for table, side in zip(tables, "ab", strict=True):
            write_scores(folder / f"{side}.tsv", table)
        np.save(folder / "tables.npy", np.array([table[:, :, 0] for table in tables]))
        ours = cpu_of(*program, "correlate", *(str(folder / f"{side}.tsv") for side in "ab"))
        theirs = cpu_of(sys.executable, "-c", PLAIN_LOOP, str(folder / "tables.npy"))
        print(f"correlate, 60 runs x 100 topics, 1,000 resamples: {ours:.2f} CPU s")
        print(f"the resamples alone in a loop over scipy: {theirs:.2f} CPU s, ratio {theirs / ours:.2f}")
        if options.report:
            arguments = write_collection(folder, 100, 300, 20)
            page = folder / "report.html"
            measures = "alpha_nDCG@10,Cov@10,nDCG@5,AP,P@10"
            seconds = cpu_of(*program, "report", "-m", measures, *arguments, "-o", str(page))
            size = page.stat().st_size / 1e6
            print(f"report, 100 runs x 300 topics x 20 nuggets x 5 measures: {seconds:.1f} CPU s, {size:.1f} MB")


if __name__ == "__main__":
    main()
