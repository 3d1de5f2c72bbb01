PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check coverage runs reports benchmark clean

# Set up and score the demonstration runs.
demo: .venv/demo
	$(BIN)/nuggeteval --rel 3 --bank qrels/demo.bank.jsonl --format text qrels/demo.qrels runs/demo-*.run

# Set up and run all checks and tests.
test: .venv/dev check
	$(BIN)/python -m pytest

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

coverage: .venv/dev
	$(BIN)/python -m pytest --cov --cov-report=term-missing

# Rebuild runs/demo-*.run, lancer-*.run, bm25.run and rag-* from the texts and judgments in qrels/.
runs: .venv/demo
	$(BIN)/python tools/make_demo_runs.py

# Rebuild reports/ from qrels/ and runs/.
reports: .venv/dev
	$(BIN)/python tools/make_reports.py reports

benchmark: .venv/dev
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/nli.py
	$(BIN)/python benchmarks/rankings.py --report
	$(BIN)/python benchmarks/lancer.py

clean:
	rm -rf .venv build dist *.egg-info .coverage

.venv/demo: setup.cfg pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/dev: .venv/demo
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@
