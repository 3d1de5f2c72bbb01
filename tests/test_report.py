"""The report as a whole: what is on the page comes from the files."""

import json
import re

import pytest
from conftest import ROOT

DEMO = ("--rel", "3", "--bank", ROOT / "qrels/demo.bank.jsonl", ROOT / "qrels/demo.qrels")
RUNS = sorted((ROOT / "runs").glob("demo-*.run"))


def embedded(page):
    """The data that a page carries."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture
def report(cli, tmp_path):
    def make(*arguments):
        out = tmp_path / "report.html"
        result = cli("report", *arguments, "-o", out)
        assert result.code == 0, result.err
        return out.read_text(encoding="utf-8"), result

    return make


@pytest.fixture
def built(monkeypatch, cli, tmp_path):
    """The plain data that the command builds for the page."""
    import nuggeteval.cli.report as module

    def make(*arguments):
        kept = []
        monkeypatch.setattr(module, "render_page", lambda data: kept.append(data) or "page")
        result = cli("report", *arguments, "-o", tmp_path / "x.html")
        assert result.code == 0, result.err
        return kept[0]

    return make


def test_the_page_is_whole_and_carries_its_data(report):
    page, result = report(*DEMO, *RUNS, "--title", "Demo & more")
    assert page.lower().startswith("<!doctype html>")
    assert "Demo &amp; more" in page
    assert not re.search(r'(src|href)="https?:', page)
    assert "warning: demo-keyword: 13 groups of tied scores" in result.err
    data = embedded(page)
    assert [run["name"] for run in data["runs"]] == ["demo-ideal", "demo-keyword", "demo-shuffled", "demo-tfidf"]
    assert re.search(r"nuggeteval 0\.1\.0\|runs 4\|topics 4", page)


def test_the_same_command_makes_the_same_page(report):
    assert report(*DEMO, *RUNS)[0] == report(*DEMO, *RUNS)[0]


def test_the_first_rank_of_each_nugget_is_that_of_the_run(built):
    data = built(
        *DEMO, *RUNS, "--documents", ROOT / "qrels/demo.documents.jsonl", "--queries", ROOT / "qrels/demo.topics.jsonl"
    )
    carries = {
        (topic, nugget, document)
        for topic, nugget, document, grade in (
            line.split() for line in (ROOT / "qrels/demo.qrels").read_text().splitlines()
        )
        if int(grade) >= 3
    }
    entries = [json.loads(line) for line in (ROOT / "qrels/demo.documents.jsonl").read_text().splitlines()]
    texts, titles = ({entry["id"]: entry.get(key, "") for entry in entries} for key in ("text", "title"))
    seen = {}
    for r, path in enumerate(RUNS):
        ranking = {}
        for line in path.read_text().splitlines():
            topic, _, document, _, score, _ = line.split()
            ranking.setdefault(topic, []).append((-float(score), tuple(-b for b in document.encode()), document))
        for entry in data["coverage"]["topics"]:
            topic = data["topics"][entry["topic"]]["id"]
            documents = [d for *_, d in sorted(ranking[topic])]
            for nugget, cell in zip(entry["nuggets"], entry["cells"][r], strict=True):
                first = next((i for i, d in enumerate(documents, 1) if (topic, nugget["id"], d) in carries), 0)
                if first:
                    unit = entry["units"][cell[1]]
                    assert (cell[0], unit) == (first, documents[first - 1])
                    sentence = entry["texts"][cell[1]].removesuffix(" ...")
                    assert sentence in f"{titles[unit]}\n{texts[unit]}", sentence
                    seen[topic, nugget["id"], unit] = sentence
                else:
                    assert cell == 0
    assert all(topic["title"] for topic in data["topics"])
    spans = [line.split("\t") for line in (ROOT / "qrels/demo.spans.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    marked = [(seen[t, n, d], span) for t, n, d, _, span in spans if (t, n, d) in seen]
    # Those who judged the demonstration marked the words that carry a nugget: most sentences shown have some of them.
    found = [
        any(" ".join(three) in sentence for three in zip(*(span.split()[n:] for n in range(3)), strict=False))
        for sentence, span in marked
    ]
    assert sum(found) / len(found) > 0.6


def test_answers_show_the_sentence_that_carries_a_nugget(built, cli, tmp_path):
    bank = ROOT / "qrels/demo.bank.jsonl"
    answers = [ROOT / f"runs/answers-{name}.jsonl" for name in ("good", "off-topic", "terse")]
    for view in ("responses", "nuggets", "sentences"):
        assert cli("judge", bank, *answers, "--view", view, "-o", tmp_path / "j.jsonl", "--quiet").code == 0
    data = built("--judgments", tmp_path / "j.jsonl", "--bank", bank, *answers)
    assert [run["name"] for run in data["runs"]] == ["good", "off-topic", "terse"]
    assert data["coverage"]["ranked"] is False
    sentences = {
        sentence["text"] for line in answers[0].read_text().splitlines() for sentence in json.loads(line)["answer"]
    }
    shown = [entry["texts"][cell[1]] for entry in data["coverage"]["topics"] for cell in entry["cells"][0] if cell != 0]
    assert shown
    assert all(any(text in sentence or sentence in text for sentence in sentences) for text in shown)


def test_strata_groups_truth_and_tests_are_on_the_page(built, write):
    strata = write("strata", "sourdough\tfood\ntides\tearth\nheat-pumps\tearth\nbroad-street\tearth\n")
    groups = write("groups", "demo-ideal\tmanual\ndemo-tfidf\tautomatic\n")
    truth = write(
        "truth.tsv", "run\tCov@10\ndemo-ideal\t1\ndemo-keyword\t.5\ndemo-tfidf\t.7\ndemo-shuffled\t.1\nother\t0\n"
    )
    data = built(
        *DEMO, *RUNS, "--by", strata, "--groups", groups, "--truth", truth, "--test", "tukey", "--resamples", "99"
    )
    assert [board["label"] for board in data["boards"]] == ["all", "earth", "food"]
    assert [run["group"] for run in data["runs"]] == ["manual", "", "", "automatic"]
    (table,) = data["correlations"]
    assert table["title"] == "truth Cov@10 against scores Cov@10"
    assert "left out: other (missing in scores Cov@10)" in table["caption"]
    assert [figure["id"] for figure in data["figures"]] == ["scatter-0", "matrix"]
    assert all(figure["svg"].startswith("<svg") for figure in data["figures"])
    assert {pair["correction"] for pair in data["pairwise"]} == {"family-wise"}
    p = data["pairwise"][0]["p"]
    assert p[0][0] is None
    assert p[0][1] == p[1][0] >= 1 / 100


def test_values_are_those_of_score(built, cli):
    data = built(*DEMO, *RUNS, "-m", "Cov@10")
    rows = [
        line.split("\t")
        for line in cli("-q", "-n", "-m", "Cov@10", "--format", "tsv", *DEMO, *RUNS).out.splitlines()[1:]
    ]
    expected = {(run, topic): round(float(value), 4) for run, topic, _, value in rows}
    found = {
        (run["name"], topic["id"]): data["values"][0][r][t]
        for r, run in enumerate(data["runs"])
        for t, topic in enumerate(data["topics"])
    }
    assert found == expected


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([ROOT / "qrels/demo.qrels"], 2, "there is no run"),
        ([*DEMO, *RUNS, "--at", "0"], 2, "--at: must be an integer from 1"),
        ([*DEMO, *RUNS, "--truth", "published:longeval2026"], 1, "no measure in common"),
    ],
)
def test_bad_input_is_named(arguments, code, message, cli, tmp_path):
    result = cli("report", *arguments, "-o", tmp_path / "report.html")
    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert not (tmp_path / "report.html").exists()
