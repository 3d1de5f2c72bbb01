"""The demonstration collection keeps its promises; the documentation prints what the program prints."""

import json
import re
import shlex
import sys
from collections import Counter

import pytest
from conftest import ROOT

from nuggeteval import problems, read_bank, read_qrels, read_run

QRELS, RUNS = ROOT / "qrels", ROOT / "runs"
SYSTEMS = ("good", "off-topic", "terse")
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]


def jsonl(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows(name):
    return [line.split() for line in (QRELS / name).read_text().splitlines()]


@pytest.fixture(scope="module")
def documents():
    return {entry["id"]: entry["text"] for entry in jsonl(QRELS / "demo.documents.jsonl")}


@pytest.fixture(scope="module")
def bank():
    return read_bank(str(QRELS / "demo.bank.jsonl")).nuggets


def test_four_topics_of_ten_documents(documents, bank):
    topics = [entry["topic"] for entry in jsonl(QRELS / "demo.topics.jsonl")]
    assert len(topics) == 4
    assert Counter(name.rpartition("-")[0] for name in documents) == dict.fromkeys(topics, 10)
    assert all(80 <= len(text.split()) <= 150 for text in documents.values())
    assert set(bank) == set(topics)
    for nuggets in bank.values():
        assert 6 <= len(nuggets) <= 8
        assert {nugget.importance for nugget in nuggets} == {"vital", "okay"}


def test_every_nugget_is_judged_with_every_document_of_its_topic(documents, bank):
    judged = [(topic, nugget, unit) for topic, nugget, unit, _ in rows("demo.qrels")]
    expected = [(t, n.id, d) for t, ns in bank.items() for n in ns for d in documents if d.startswith(f"{t}-")]
    assert sorted(judged) == sorted(expected)
    assert {row[3] for row in rows("demo.qrels")} == set("012345")


def test_every_grade_of_3_or_more_rests_on_a_span_of_the_document(documents):
    graded = {tuple(row[:3]): row[3] for row in rows("demo.qrels") if int(row[3]) >= 3}
    lines = (QRELS / "demo.spans.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == ["topic", "nugget", "document", "grade", "span"]
    spans = {}
    for line in lines[1:]:
        topic, nugget, document, grade, span = line.split("\t")
        assert span in documents[document], line
        assert len(span.split()) >= 3
        spans[topic, nugget, document] = grade
    assert spans == graded


@pytest.mark.parametrize("system", SYSTEMS)
def test_units_are_those_of_the_answers(system):
    answers = {a["metadata"]["narrative_id"]: a for a in jsonl(RUNS / f"answers-{system}.jsonl")}
    clipped = {entry["topic"]: entry["nuggets"] for entry in jsonl(RUNS / f"answers-{system}.nuggets.jsonl")}
    units = {view: Counter() for view in ("responses", "nuggets", "sentences")}
    for view, count in units.items():
        run = read_run(str(RUNS / f"answers-{system}.{view}.run"))
        assert run.name == system
        count.update(run.topics[topic] for topic in run.topic)
    assert units["responses"] == dict.fromkeys(answers, 1)
    assert units["sentences"] == {topic: len(answer["answer"]) for topic, answer in answers.items()}
    assert units["nuggets"] == {topic: len(texts) for topic, texts in clipped.items() if texts}
    for topic, answer in answers.items():
        assert all(any(n in s["text"] for s in answer["answer"]) for n in clipped[topic])
        assert all(0 <= c < len(answer["references"]) for s in answer["answer"] for c in s["citations"])


def test_the_three_views_agree():
    carried = {
        view: {tuple(row[:3]) for row in rows(f"demo.{view}.qrels") if row[3] != "0"}
        for view in ("nuggets", "sentences")
    }
    full = {tuple(row[:3]) for row in rows("demo.responses.qrels") if row[3] == "2"}

    def of_responses(cells):
        return {(topic, nugget, unit.partition("/")[0]) for topic, nugget, unit in cells}

    assert of_responses(carried["sentences"]) == full
    assert of_responses(carried["nuggets"]) <= full


@pytest.mark.parametrize("kind", ["qrels", "bank", "run"])
def test_nothing_is_wrong_with_any_file(kind):
    paths = {"qrels": QRELS.glob("*.qrels"), "bank": QRELS.glob("*.bank.jsonl"), "run": RUNS.glob("*.run")}[kind]
    for path in paths:
        assert [p for p in problems(kind, str(path)) if p.level == "error"] == []


def test_the_ideal_run_is_ideal(cli):
    result = cli("-l", "3", "-m", "alpha_nDCG,alpha_nDCG@3,StRecall", QRELS / "demo.qrels", RUNS / "demo-ideal.run")
    assert re.findall(r"[\d.]+$", result.out, re.MULTILINE) == ["1.0000"] * 3


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield __import__
    for name in ("make_demo_runs", "make_reports"):
        sys.modules.pop(name, None)


def test_the_runs_are_made_by_the_tool(tool, monkeypatch, tmp_path):
    make = tool("make_demo_runs")
    (tmp_path / "runs").mkdir()
    (tmp_path / "qrels").symlink_to(QRELS)
    monkeypatch.setattr(make, "ROOT", tmp_path)
    make.main()
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == sorted(p.name for p in RUNS.glob("demo-*"))
    for path in (tmp_path / "runs").iterdir():
        assert path.read_bytes() == (RUNS / path.name).read_bytes(), path.name


def test_the_reranked_runs_are_made_by_the_tool(tool, tmp_path):
    tool("make_demo_runs").rerank(tmp_path)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(path.name for path in RUNS.glob("lancer-*"))
    for name in made:
        assert (tmp_path / name).read_bytes() == (RUNS / name).read_bytes(), name


def test_the_answers_are_made_by_the_tool(tool, tmp_path):
    tool("make_demo_runs").answer(tmp_path)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(["bm25.run", *(path.name for path in RUNS.glob("rag*"))])
    for name in made:
        assert (tmp_path / name).read_bytes() == (RUNS / name).read_bytes(), name


def test_the_reports_are_what_the_program_makes(tool, tmp_path):
    make = tool("make_reports")
    assert make.main(str(tmp_path)) == 0
    assert sorted(path.name for path in (ROOT / "reports").iterdir()) == sorted(make.REPORTS)
    for path in tmp_path.iterdir():
        made, kept = path.read_text(encoding="utf-8"), (ROOT / "reports" / path.name).read_text(encoding="utf-8")
        assert without_figures(made) == without_figures(kept), path.name


def without_figures(page):
    """A page, and the words of its figures instead of their curves: another matplotlib draws other ones."""
    return re.sub(
        r"<svg.*?</svg>", lambda svg: " ".join(re.findall(r">([^<>]+)</text>", svg[0])), page, flags=re.DOTALL
    )


def test_the_page_of_measures_is_made_of_their_records(tool):
    page = tool("make_reports").measures_page()
    assert (ROOT / "docs" / "measures.md").read_text(encoding="utf-8") == page


def expand(word):
    """A pattern of the shell, or the word itself."""
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(word)) if "*" in word else [word]


def console_blocks():
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield pytest.param(command, output, id=f"{page}: {command[:60]}")


@pytest.mark.parametrize(("command", "output"), list(console_blocks()))
def test_the_documentation_prints_what_the_program_prints(command, output, cli, monkeypatch):
    monkeypatch.chdir(ROOT)
    program, *words = shlex.split(command)
    assert program == "nuggeteval"
    arguments = [path for word in words for path in (expand(word))]
    assert cli(*arguments).out == output


def test_the_python_example_of_the_readme(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(code, {})
    mean, topic, signature = capsys.readouterr().out.splitlines()
    assert mean.startswith("0.9226")
    assert topic == "1.0"
    assert signature.startswith("nuggeteval")


def test_links_in_the_documentation_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8")):
            assert ((ROOT / page).parent / target).exists(), (page, target)


def test_the_simple_topic_has_a_pattern_that_can_be_worked_by_hand():
    qrels = read_qrels(str(QRELS / "demo.qrels"))
    carried = [(u, n) for t, n, u, g in rows("demo.qrels") if t == "sourdough" and int(g) >= 3]
    assert len(carried) == 13
    assert max(Counter(unit for unit, _ in carried).values()) == 3
    assert qrels.scale.top == 5
