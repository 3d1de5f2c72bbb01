"""Nugget-based evaluation of retrieval and RAG in the manner of trec_eval.

>>> from nuggeteval import Inputs, NuggetQrels, Run, evaluate
>>> qrels = NuggetQrels.of([("t1", "n1", "d1", 1), ("t1", "n2", "d2", 1)])
>>> scores = evaluate("Cov@1", Inputs(qrels, [Run.of({"t1": {"d1": 2.0, "d2": 1.0}})]))
>>> scores.value("run", "Cov@1")
0.5

Names are imported when they are first used, so that ``import nuggeteval`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nuggeteval.version import __version__

if TYPE_CHECKING:
    from nuggeteval.boards import read_board, read_boards
    from nuggeteval.bridge import register
    from nuggeteval.data import Answer, Leaderboard, Nugget, NuggetBank, NuggetQrels, Run, Scores
    from nuggeteval.errors import (
        DataError,
        FormatError,
        JudgeError,
        MissingDependencyError,
        NuggetEvalError,
        ParameterError,
        UnknownNameError,
    )
    from nuggeteval.formats.answers import read_answers, write_answers
    from nuggeteval.formats.gold import read_gold
    from nuggeteval.formats.nuggets import read_bank, write_bank
    from nuggeteval.formats.scores import read_scores, write_scores
    from nuggeteval.formats.trec import read_qrels, read_run, write_qrels, write_run
    from nuggeteval.grammar import Measure
    from nuggeteval.grammar import parse as parse_measure
    from nuggeteval.policies import Policies
    from nuggeteval.references import AnswerInputs
    from nuggeteval.responses import evaluate_answers
    from nuggeteval.scoring import Inputs, evaluate
    from nuggeteval.stats.correlation import kendall_tau_b, rbo, spearman_rho, tau_ap_b
    from nuggeteval.validate import Problem, problems

__all__ = [
    "Answer",
    "AnswerInputs",
    "DataError",
    "FormatError",
    "Inputs",
    "JudgeError",
    "Leaderboard",
    "Measure",
    "MissingDependencyError",
    "Nugget",
    "NuggetBank",
    "NuggetEvalError",
    "NuggetQrels",
    "ParameterError",
    "Policies",
    "Problem",
    "Run",
    "Scores",
    "UnknownNameError",
    "__version__",
    "evaluate",
    "evaluate_answers",
    "kendall_tau_b",
    "parse_measure",
    "problems",
    "rbo",
    "read_answers",
    "read_bank",
    "read_board",
    "read_boards",
    "read_gold",
    "read_qrels",
    "read_run",
    "read_scores",
    "register",
    "spearman_rho",
    "tau_ap_b",
    "write_answers",
    "write_bank",
    "write_qrels",
    "write_run",
    "write_scores",
]

_PUBLIC = {
    "Answer": "data",
    "AnswerInputs": "references",
    "DataError": "errors",
    "FormatError": "errors",
    "Inputs": "scoring",
    "JudgeError": "errors",
    "Leaderboard": "data",
    "Measure": "grammar",
    "MissingDependencyError": "errors",
    "Nugget": "data",
    "NuggetBank": "data",
    "NuggetEvalError": "errors",
    "NuggetQrels": "data",
    "ParameterError": "errors",
    "Policies": "policies",
    "Problem": "validate",
    "Run": "data",
    "Scores": "data",
    "UnknownNameError": "errors",
    "evaluate": "scoring",
    "evaluate_answers": "responses",
    "kendall_tau_b": "stats.correlation",
    "parse_measure": "grammar:parse",
    "problems": "validate",
    "rbo": "stats.correlation",
    "read_answers": "formats.answers",
    "read_bank": "formats.nuggets",
    "read_board": "boards",
    "read_boards": "boards",
    "read_gold": "formats.gold",
    "read_qrels": "formats.trec",
    "read_run": "formats.trec",
    "read_scores": "formats.scores",
    "register": "bridge",
    "spearman_rho": "stats.correlation",
    "tau_ap_b": "stats.correlation",
    "write_answers": "formats.answers",
    "write_bank": "formats.nuggets",
    "write_qrels": "formats.trec",
    "write_run": "formats.trec",
    "write_scores": "formats.scores",
}
"""Name -> module, or ``module:attribute``, that it is imported from when it is first used."""


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nuggeteval' has no attribute {name!r}")
    from nuggeteval.registry import load

    module, _, attribute = _PUBLIC[name].partition(":")
    value = load(f"nuggeteval.{module}:{attribute or name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
