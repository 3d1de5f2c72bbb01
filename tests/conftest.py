"""What all tests share: the command line in process, and the reference material beside the checkout."""

import os
from collections import namedtuple
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from nuggeteval.cli import main

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
settings.load_profile("house")

Result = namedtuple("Result", "code out err")


@pytest.fixture
def cli(capsys):
    """Run the command line in process; (exit code, stdout, stderr)."""

    def run(*arguments):
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Result(code, out, err)

    return run


@pytest.fixture
def shared():
    """The folder of reference material: absent is a reason to skip, but a failure in CI."""
    if not (SHARED / "data").is_dir():
        if os.environ.get("CI"):
            pytest.fail("CI is set and ../shared is missing")
        pytest.skip("the reference material (../shared) is not here")
    return SHARED


@pytest.fixture
def write(tmp_path):
    """Write a small file and return its path as text."""

    def write_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        return str(path)

    return write_file
