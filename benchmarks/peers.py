"""CPU time of nuggeteval beside its peers, in one run on one machine: only the ratios mean anything.

    python benchmarks/peers.py [--rounds 5] [--scale 1.0]

Every tool is a process of its own that reads the same files and prints the same means; user plus
system time, the least of several interleaved rounds. Data are made from a seed. Needs pyndeval.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

# Installed packages have compiled bytecode; a checkout has it from its second start on, unless told not to.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ADHOC = ("nDCG@5", "P@20", "R@1000", "AP")
NOVELTY = ("alpha_nDCG@20", "StRecall@20")

PYTREC_EVAL = """
import sys, pytrec_eval
qrels_path, *runs = sys.argv[1:]
qrels = pytrec_eval.parse_qrel(open(qrels_path))
names = {'ndcg_cut_5', 'P_20', 'recall_1000', 'map'}
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {'ndcg_cut.5', 'P.20', 'recall.1000', 'map'})
for path in runs:
    results = evaluator.evaluate(pytrec_eval.parse_run(open(path)))
    print(path, {name: sum(r[name] for r in results.values()) / len(qrels) for name in sorted(names)})
"""

IR_MEASURES = """
import sys, ir_measures
measures, qrels_path, *runs = sys.argv[1:]
measures = [ir_measures.parse_measure(name) for name in measures.split()]
evaluator = ir_measures.evaluator(measures, list(ir_measures.read_trec_qrels(qrels_path)))
for path in runs:
    print(path, evaluator.calc_aggregate(ir_measures.read_trec_run(path)))
"""

PYNDEVAL_PREPARE = """
import sys, pyndeval
rows = [line.split() for line in open(sys.argv[1])]
qrels = [pyndeval.SubtopicQrel(t, n, d, int(g)) for t, n, d, g in rows]
evaluator = pyndeval.RelevanceEvaluator(qrels, ['alpha-nDCG@20'])
run = [pyndeval.ScoredDoc(t, d, float(s)) for t, _, d, _, s, _ in (line.split() for line in open(sys.argv[2]))]
print(sum(1 for _ in evaluator.evaluate(run)))
"""


def docid(rng: random.Random) -> str:
    """An id as long as those of ClueWeb22."""
    a, b, c, d = (rng.randrange(size) for size in (10**4, 10**2, 10**5, 9))
    return f"clueweb22-en{a:04d}-{b:02d}-{c:05d}:{d}"


def write_leaderboard(folder: Path, runs: int, topics: int, depth: int, nuggets: int) -> tuple[Path, Path, list[Path]]:
    """Qrels with 200 judged documents a topic, nugget qrels with 20 rows each, and runs over them."""
    rng = random.Random(42)
    pool = {topic: list({docid(rng) for _ in range(3 * depth)}) for topic in range(topics)}
    adhoc, nugget = folder / "adhoc.qrels", folder / "nugget.qrels"
    judged = {topic: pool[topic][:200] for topic in pool}
    adhoc.write_text("".join(f"{t} 0 {d} {rng.choice((0, 0, 0, 1, 1, 2, 3))}\n" for t in judged for d in judged[t]))
    nugget.write_text(
        "".join(f"{t} {n} {d} {int(rng.random() < 0.2)}\n" for t in judged for d in judged[t] for n in range(nuggets))
    )
    paths = []
    for index in range(runs):
        lines = []
        for topic, documents in pool.items():
            ranking = rng.sample(documents, depth)
            for rank, document in enumerate(ranking, start=1):
                lines.append(
                    f"{topic} Q0 {document} {rank} {30 - rank * 0.02 - rng.random() * 0.0099:.4f} run{index}\n"
                )
        paths.append(folder / f"run{index}.run")
        paths[-1].write_text("".join(lines))
    return adhoc, nugget, paths


def write_unique_nuggets(folder: Path, topics: int) -> tuple[Path, Path]:
    """Nugget ids that no two topics share: what banks of RAG tracks look like."""
    rng = random.Random(7)
    qrels, run = folder / f"unique{topics}.qrels", folder / f"unique{topics}.run"
    with qrels.open("w") as q, run.open("w") as r:
        for topic in range(topics):
            documents = [docid(rng) for _ in range(50)]
            q.writelines(f"{topic} {topic}-n{rng.randrange(10)}{d % 2} {doc} 1\n" for d, doc in enumerate(documents))
            r.writelines(f"{topic} Q0 {doc} {d} {50 - d}.5 r\n" for d, doc in enumerate(documents))
    return qrels, run


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(title: str, commands: dict[str, list[str]], rounds: int) -> None:
    """Print the least CPU time of every command, and its ratio to the first."""
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(rounds):
        for name, command in commands.items():
            best[name] = min(best[name], cpu_seconds(command))
    ours = next(iter(best.values()))
    print(f"\n{title}")
    for name, seconds in best.items():
        print(f"  {name:<34} {seconds:8.3f} s   {seconds / ours:6.2f} x")


def main() -> None:
    """Make the data, time everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--depth", type=int, default=1000)
    options = parser.parse_args()
    python = sys.executable
    ours = [python, "-m", "nuggeteval", "score"]
    print(f"{platform.python_implementation()} {platform.python_version()}, CPU seconds, least of {options.rounds}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        adhoc, nugget, runs = write_leaderboard(folder, options.runs, options.topics, options.depth, 20)
        files = [str(path) for path in runs]
        shape = f"{options.runs} runs x {options.topics} topics x {options.depth}"
        compare(
            f"LB: {shape}: {', '.join(ADHOC)}",
            {
                "nuggeteval": [*ours, "-m", ",".join(ADHOC), str(adhoc), *files],
                "pytrec_eval (parse, evaluate)": [python, "-c", PYTREC_EVAL, str(adhoc), *files],
                "ir_measures (one evaluator)": [python, "-c", IR_MEASURES, " ".join(ADHOC), str(adhoc), *files],
            },
            options.rounds,
        )
        compare(
            f"LB: {shape}: {', '.join(NOVELTY)}",
            {
                "nuggeteval": [*ours, "-m", ",".join(NOVELTY), str(nugget), *files],
                "ir_measures (one evaluator)": [python, "-c", IR_MEASURES, " ".join(NOVELTY), str(nugget), *files],
            },
            max(1, options.rounds // 2),
        )
        commands = {}
        for topics in (2000, 1000, 500, 250):
            qrels, run = map(str, write_unique_nuggets(folder, topics))
            commands[f"nuggeteval, {topics} topics"] = [*ours, "-m", "alpha_nDCG@20", qrels, run]
            if topics <= 500:
                commands[f"pyndeval, {topics} topics"] = [python, "-c", PYNDEVAL_PREPARE, qrels, run]
        compare("topic-unique nugget ids: alpha_nDCG@20", commands, max(1, options.rounds // 2))
        small = folder / "small.run"
        small.write_text("".join(runs[0].read_text().splitlines(keepends=True)[:1000]))
        compare(
            "start-up",
            {
                "python -c 'import numpy'": [python, "-c", "import numpy"],
                "nuggeteval --version": [python, "-m", "nuggeteval", "--version"],
                "score, 1000 lines": [*ours, str(nugget.with_name("small.qrels")), str(small)],
                "python -c pass": [python, "-c", "pass"],
            }
            if _write_small_qrels(adhoc, nugget.with_name("small.qrels"))
            else {},
            4 * options.rounds,
        )


def _write_small_qrels(adhoc: Path, small: Path) -> bool:
    small.write_text("".join(line for line in adhoc.open() if line.startswith("0 ")))
    return True


if __name__ == "__main__":
    main()
