"""The house rules: who may import whom, which packages have one door, what an import costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nuggeteval
from nuggeteval import cli, measures
from nuggeteval.registry import load

PACKAGE = Path(nuggeteval.__file__).parent

RANKS = {
    "errors": 0, "version": 0,
    "rows": 1, "registry": 1, "grammar": 1,
    "ids": 2, "cache": 2,
    "data": 3, "batch": 3, "files": 3,
    "columns": 4, "records": 4, "policies": 4,
    "text": 4, "stats": 4, "published": 4, "chat": 4, "replies": 4, "models": 4,
    "formats": 5, "idf": 5, "comparisons": 5,
    "ranking": 6, "ratings": 6, "references": 6,
    "measures": 7, "judges": 7,
    "bridge": 8, "notes": 8, "validate": 8, "extract": 8, "dedup": 8, "boards": 8, "aggregation": 8,
    "leaderboards": 9, "metaevaluation": 9, "scoring": 9, "responses": 9, "units": 9, "judging": 9, "rag": 9, "panel": 9,
    "turns": 10, "generators": 10, "grounding": 10, "against": 10,
    "reports": 11, "stages": 11,
    "options": 12, "overview": 12, "pipeline": 12,
    "cli": 13,
    "__init__": 14, "__main__": 14,
}  # fmt: skip
"""Room -> rank. A module imports rooms of a strictly lower rank, and its own rack's ``__init__``."""


DOORS = {
    "ir_measures": {"bridge"},
    "pytrec_eval": {"bridge"},
    "bm25s": {"rag.retrieval"},
    "scipy": {"stats.correlation", "stats.cover", "stats.graph", "stats.significance"},
    "krippendorff": {"stats.agreement"},
    "tabulate": {"reports"},
    "yaml": {"formats.metadata"},
    "jinja2": {"reports.page"},
    "matplotlib": {"reports.figures"},
    "openai": {"chat"},
    "transformers": {"models.pairs", "models.encoders", "models.bertscore"},
    "onnxruntime": {"models.encoders"},
    "ir_datasets": {"formats.irds"},
    "zstandard": {"files"},
    "snowballstemmer": {"text"},
    "nltk": {"measures.rouge"},
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def imported(path):
    """(module, whether at the top of the file) for everything that a module imports, by name or lazily."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module, id(node) in top


def room(module):
    return module.split(".")[0]


def test_every_room_has_a_rank():
    assert {room(name_of(path)) for path in MODULES} == set(RANKS)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_down(path):
    mine = name_of(path)
    for module, _ in imported(path):
        if module == "nuggeteval":
            assert RANKS[room(mine)] > RANKS["cli"], f"{mine} imports the package itself"
        if not module.startswith("nuggeteval."):
            continue
        theirs = module.removeprefix("nuggeteval.")
        own_rack = room(theirs) == room(mine) and (theirs == room(mine) or mine == room(mine))
        lower = RANKS[room(theirs)] < RANKS[room(mine)]
        assert lower or own_rack, f"{mine} imports {theirs}"


def test_lazy_strings_go_down_too():
    for name, module in measures.TABLE.items():
        assert name in load(f"nuggeteval.measures.{module}:RECORDS")
        assert RANKS[room(f"measures.{module}")] == RANKS["measures"]
    for module, _ in cli.COMMANDS.values():
        assert room(module.removeprefix("nuggeteval.")) == "cli"
        assert callable(load(f"{module}:run"))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_one_door_for_every_package(path):
    mine = name_of(path)
    for module, at_top in imported(path):
        package = module.split(".")[0]
        if package in DOORS:
            assert mine in DOORS[package], f"{mine} imports {package}"
            assert not at_top, f"{mine} imports {package} before it is needed"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_command_line_prints_and_nothing_exits_or_asserts(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Assert)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert room(name_of(path)) == "cli"
        if isinstance(node, ast.Attribute) and node.attr == "exit":
            assert name_of(path) == "__main__"


def test_public_names():
    assert nuggeteval.__all__ == sorted(nuggeteval.__all__, key=lambda name: (name.lower(), name)) or sorted(
        nuggeteval.__all__
    ) == sorted(set(nuggeteval.__all__))
    for name in nuggeteval.__all__:
        assert getattr(nuggeteval, name) is not None
    assert set(nuggeteval._PUBLIC) == set(nuggeteval.__all__) - {"__version__"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nuggeteval.nothing


def modules_after(code):
    out = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(out.stdout.splitlines()[-1].split())


def test_import_and_version_need_no_numpy():
    assert "numpy" not in modules_after("import nuggeteval")
    code = "from nuggeteval.cli import main\ntry: main(['--version'])\nexcept SystemExit: pass\nx=1"
    assert "numpy" not in modules_after(code)


def test_a_small_score_imports_nothing_heavy(write):
    qrels, run = write("q", "t n d 1\n"), write("r", "t Q0 d 1 1 x\n")
    loaded = modules_after(f"from nuggeteval.cli import main; main([{qrels!r}, {run!r}])")
    assert not loaded & {
        "scipy",
        "ir_measures",
        "pytrec_eval",
        "ir_datasets",
        "openai",
        "tabulate",
        "numpy.ma",
        "pandas",
    }
