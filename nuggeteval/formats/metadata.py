"""What made a run, in the form of ir-metadata (Breuer et al., SIGIR 2022; www.ir-metadata.org)."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

from nuggeteval.files import write_text
from nuggeteval.version import __version__

__all__ = ["write_ir_metadata"]


def write_ir_metadata(path: str, tag: str, team: str, method: Mapping[str, Any], data: Iterable[str]) -> None:
    """Write the YAML file that goes with a run.

    Args:
        path: where to.
        tag, team: of the run.
        method: how the run was made: everything that its configuration says.
        data: names of what it was made from.

    Raises:
        FormatError: the file cannot be written.
    """
    import yaml

    record = {
        "tag": tag,
        "actor": {"team": team},
        "research goal": {"description": "Answers from the candidates of each query alone (LongEval-RAG, CLEF 2026)."},
        "platform": {
            "operating system": {"kernel": platform.system()},
            "software": {
                "libraries": [f"python=={platform.python_version()}", f"nuggeteval=={__version__}", *_libraries()]
            },
        },
        "implementation": {"source": {"repository": "nuggeteval"}},
        "data": {"test_collection": {"source": list(data)}, "training data": None},
        "method": dict(method),
    }
    write_text(path, yaml.safe_dump(record, sort_keys=False, allow_unicode=True, width=100))


def _libraries() -> list[str]:
    """What is loaded of the packages that make runs, with their versions."""
    names = ("numpy", "bm25s", "onnxruntime", "torch", "transformers", "openai")
    return [f"{name}=={metadata.version(name)}" for name in names if name in sys.modules]
