"""Judges of whole answers: against a gold answer, and against the documents that they cite."""

import json

import pytest
from chatserver import scripted, serving

from nuggeteval.cache import Cache
from nuggeteval.chat import Chat, Settings
from nuggeteval.data import Answer, Judgment, Nugget, NuggetBank, Scale, Sentence, Unit
from nuggeteval.errors import DataError, ParameterError
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.judgments import as_judgment_line, read_judgments
from nuggeteval.formats.nuggets import write_bank
from nuggeteval.grounding import SOURCES, cited_documents, judge_sources, sources_bank
from nuggeteval.judges import ANSWER_JUDGES, Item, hash_of_item, make
from nuggeteval.judges.llm import read_own_prompt
from nuggeteval.judges.replay import ReplayJudge
from nuggeteval.judging import judge_units
from nuggeteval.text import hash_of_texts


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def judge_of(server, name, **options):
    return make(name, "responses", (), chat=Chat(Settings("m", base_url=server.url), Cache(None)), **options)


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def judged(path):
    return {(j.topic, j.run): j for j, _ in read_judgments(str(path))}


# --- against a gold answer -------------------------------------------------------------------------

GOLD = lines({"topic": "t1", "text": "In 1932."}, {"topic": "t2", "text": "In 1932."})
QUERIES = "t1\tWhen was it opened?\nt2\tWhen was it closed?\n"
SAID = lines(
    {"run": "A", "topic": "t1", "text": "It was 1932."},
    {"run": "A", "topic": "t2", "text": "It was 1932."},
    {"run": "B", "topic": "t1", "text": "It was  1932."},
)


@pytest.fixture
def llmeval(cli, write, tmp_path):
    """Run the command against a server; (result, server)."""

    def run(answer, *options, gold=GOLD, queries=QUERIES, said=SAID):
        files = (write("gold", gold), write("said", said))
        asked = ("--queries", write("queries", queries)) if queries else ()
        with serving(answer) as server:
            model = ("--model", "m", "--base-url", server.url, "--model-id", "s")
            return cli("judge", *files, "--judge", "llmeval", *asked, *model, "-o", tmp_path / "j", *options), server

    return run


def test_questions_tell_equal_pairs_apart(llmeval, cli, tmp_path):
    """t1 of both runs is one question to the model, t2 has the same texts and another one."""
    result, server = llmeval(scripted({"opened": [{"content": "Yes."}], "closed": [{"content": "no"}]}))
    assert result.code == 0, result.err
    assert len(server.prompts) == 2
    assert all("In 1932." in prompt and "It was 1932." in prompt for prompt in server.prompts)
    found = judged(tmp_path / "j")
    assert {key: j.grade for key, j in found.items()} == {("t1", "A"): 1, ("t2", "A"): 0, ("t1", "B"): 1}
    assert {j.view for j in found.values()} == {"responses"}
    assert found["t1", "A"].texts != found["t2", "A"].texts
    bank = ("--bank", tmp_path / "gold")
    scored = cli("score", "--judgments", tmp_path / "j", *bank, "-m", "Recall_NtR", tmp_path / "said")
    assert scored.out.split() == ["A", "all", "Recall_NtR", "0.5000", "B", "all", "Recall_NtR", "0.5000"]


def test_the_measures_that_are_named_for_these_judges(llmeval, grounded, cli, tmp_path):
    llmeval(scripted({"opened": [{"content": "Yes."}], "closed": [{"content": "no"}]}))
    arguments = ("score", "--judgments", tmp_path / "j", tmp_path / "said")
    scored = cli(*arguments, "--bank", tmp_path / "gold", "-m", "LLMEval,Recall_NtR")
    assert scored.out.split()[::4] == ["A", "A", "B", "B"]
    assert scored.out.split()[3::4] == ["0.5000"] * 4
    assert "--bank FILE" in cli(*arguments, "-m", "LLMEval").err
    wrong = cli(*arguments, "-m", "groundedness")
    assert (wrong.code, wrong.out) == (1, "")
    assert "groundedness takes judgments of the groundedness judge" in wrong.err
    assert "has those of llmeval" in wrong.err
    (tmp_path / "j").unlink()
    grounded(scripted({"S1": [{"content": "Yes"}], "half": [{"content": "No"}]}))
    common = ("score", "--judgments", tmp_path / "j", tmp_path / "answers.jsonl")
    # No bank is needed: A is grounded in one of two topics, B and C do not answer t2.
    scored = cli(*common, "-m", "groundedness")
    assert scored.out.split() == [
        w for run, v in zip("ABC", ("0.5000", "0.0000", "0.0000"), strict=True) for w in (run, "all", "groundedness", v)
    ]
    qrels = tmp_path / "qrels"
    qrels.write_text("t1 0 d1 1\nt2 0 d1 1\n")
    scored = cli(*common, "-m", "groundedness,P_cited", "--qrels", qrels)
    assert scored.out.split()[:8] == ["A", "all", "groundedness", "0.5000", "A", "all", "P_cited", "0.5000"]


def test_what_was_judged_is_not_asked_again_but_other_questions_are_refused(llmeval, tmp_path):
    llmeval(lambda _: {"content": "yes"})
    before = (tmp_path / "j").read_bytes()
    again, server = llmeval(lambda _: {"content": "no"})
    assert (again.code, server.prompts, (tmp_path / "j").read_bytes()) == (0, [], before)
    assert "3 pairs, 3 already judged" in again.err
    other, server = llmeval(lambda _: {"content": "no"}, queries="t1\tWho?\nt2\tWhen was it closed?\n")
    assert (other.code, server.prompts) == (1, [])
    assert "the question, or unit 'A'" in other.err
    assert "of topic 't1' had another text when it was judged" in other.err


def test_the_cache_a_dry_run_votes_and_a_prompt(llmeval, write, tmp_path):
    cache = ("--cache", tmp_path / "cache")
    dry, server = llmeval(lambda _: {"content": "yes"}, "--dry-run", *cache)
    assert (dry.code, server.prompts, (tmp_path / "j").exists()) == (0, [], False)
    assert "2 calls, about" in dry.err
    llmeval(lambda _: {"content": "yes"}, *cache)
    (tmp_path / "j").unlink()
    _, server = llmeval(lambda _: {"content": "no"}, *cache)
    assert server.prompts == []
    assert {j.grade for j in judged(tmp_path / "j").values()} == {1}
    (tmp_path / "j").unlink()
    own = write("own", "{question}|{nugget}|{unit}")
    result, server = llmeval(lambda _: {"content": "yes"}, "--prompt", own, "--votes", "3")
    assert result.code == 0, result.err
    assert sorted(set(server.prompts)) == [
        "When was it closed?|In 1932.|It was 1932.",
        "When was it opened?|In 1932.|It was 1932.",
    ]
    assert len(server.prompts) == 6
    assert len(read_judgments(str(tmp_path / "j"))) == 9
    lacking, _ = llmeval(lambda _: {"content": "yes"}, "--prompt", write("own", "{unit} {nugget}"))
    assert (lacking.code, "the llmeval judge lacks {question}" in lacking.err) == (2, True)


def test_a_batch_goes_out_and_comes_in(llmeval, write, tmp_path):
    cache = ("--cache", tmp_path / "cache")
    out, server = llmeval(lambda _: {"content": "yes"}, *cache, "--batch-out", tmp_path / "batch")
    assert (out.code, server.prompts) == (0, [])
    asked = [json.loads(line) for line in (tmp_path / "batch").read_text().splitlines()]
    body = {"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]}
    done = [{"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}} for line in asked]
    back, server = llmeval(lambda _: {"content": "no"}, *cache, "--batch-in", write("done", lines(*done)))
    assert (back.code, server.prompts) == (0, [])
    assert [j.grade for j in judged(tmp_path / "j").values()] == [1, 1, 1]


def test_questions_are_for_this_judge_and_needed_by_it(llmeval, cli, write, tmp_path):
    without, server = llmeval(lambda _: {"content": "yes"}, queries="")
    assert (without.code, server.prompts) == (2, [])
    assert "the llmeval judge is shown what was asked: --queries FILE" in without.err
    lacking, _ = llmeval(lambda _: {"content": "yes"}, queries="t1\tWhen?\n")
    assert (lacking.code, "1 topics have no question: t2" in lacking.err) == (1, True)
    gold, said, queries = write("gold", GOLD), write("said", SAID), write("queries", QUERIES)
    for judge in ("lexical", "yesno", "replay", "groundedness"):
        refused = cli("judge", gold, said, "--judge", judge, "--queries", queries, "-o", tmp_path / "j")
        assert (refused.code, f"the {judge} judge is not shown what was asked" in refused.err) == (2, True)
    for judge in ("lexical", "yesno", "replay"):
        refused = cli("judge", gold, said, "--judge", judge, "--words", "3", "-o", tmp_path / "j")
        assert (refused.code, "--words is for groundedness" in refused.err) == (2, True)
    nobody = cli("judge", gold, said, "--judge", "llmeval", "--queries", queries, "-o", tmp_path / "j")
    assert (nobody.code, "--model NAME" in nobody.err) == (2, True)
    assert not (tmp_path / "j").exists()


def test_the_library_wants_questions_too(tmp_path):
    units = [Unit("A", "t", "A", "x")]
    bank = {str(tmp_path / "j"): NuggetBank("b", {"t": (Nugget("1", "one"),)})}
    with serving(lambda _: {"content": "yes"}) as server:
        with pytest.raises(ParameterError, match="it needs questions"):
            judge_units(units, bank, judge_of(server, "llmeval"), "responses")
        with pytest.raises(ParameterError, match="takes no questions"):
            judge_units(units, bank, judge_of(server, "yesno"), "responses", questions={"t": "q"})
        with pytest.raises(DataError, match="1 topics have no question: t"):
            judge_units(units, bank, judge_of(server, "llmeval"), "responses", questions={"t": " "})
    assert server.prompts == []


def test_views_numbers_and_names():
    with serving(lambda _: {"content": "yes"}) as server:
        for name in ANSWER_JUDGES:
            with pytest.raises(ParameterError, match="judges whole responses, no sentences"):
                make(name, "sentences", (), chat=Chat(Settings("m", base_url=server.url)))
            with pytest.raises(ParameterError, match="one nugget at a time"):
                judge_of(server, name, per_call=2)
            assert judge_of(server, name).name == name
            assert judge_of(server, name).scale == Scale(1)
        with pytest.raises(ParameterError, match="words are for groundedness"):
            judge_of(server, "llmeval", words=3)
        with pytest.raises(ParameterError, match="words must be at least 1"):
            judge_of(server, "groundedness", words=0)
        assert judge_of(server, "groundedness").params["words"] == 300


def test_answers_and_dedup_do_not_have_these_judges(cli, write, tmp_path):
    gold, said = write("gold", GOLD), write("said", SAID)
    for judge in ANSWER_JUDGES:
        assert "invalid choice" in cli("answers", gold, said, "--judge", judge, "-o", tmp_path / "o").err


def test_hashes_of_items():
    assert hash_of_item(Item("a  b", "c")) == hash_of_texts("a b", "c")
    asked = hash_of_item(Item("a b", "c", "who?"))
    assert asked.startswith(hash_of_texts("a b", "c"))
    assert len({asked, hash_of_item(Item("a b", "c", "when?")), hash_of_item(Item("a b", "c"))}) == 3
    assert hash_of_item(Item("a b", "c", "who? ")) == asked


def test_replayed_verdicts_of_several_questions_are_nobodys():
    def judgment(topic, item, grade):
        return Judgment("responses", "A", topic, "A", "1", "llmeval", None, grade, texts=hash_of_item(item)), Scale(1)

    known = [
        judgment("t", Item("x", "n", "who?"), 1),
        judgment("u", Item("x", "n", "when?"), 0),
        judgment("v", Item("y", "n", "who?"), 1),
    ]
    verdicts = dict(ReplayJudge(known, "j")([Item("x", "n"), Item("y", "n"), Item("z", "n")]))
    assert [verdicts[index].grade for index in range(3)] == [None, 1, None]
    assert verdicts[0].reason == "judged under several questions"


# --- against the documents that are cited -----------------------------------------------------------

DOCUMENTS = lines(
    {"id": "d1", "text": "one two three four"}, {"id": "d2", "text": "five six"}, {"id": "d3", "text": "  "}
)


def cited(run, topic, *sentences, references=("d1", "d2", "d3", "d9")):
    entries = [{"text": text, "citations": list(documents)} for text, *documents in sentences]
    return {"run_id": run, "topic_id": topic, "references": list(references), "answer": entries}


ANSWERS = lines(
    cited("A", "t1", ("S1", "d2"), ("S2", "d1", "d2")),
    cited("B", "t1", ("nothing cited here",)),
    cited("C", "t1", ("its source is gone", "d9"), ("blank", "d3")),
    cited("A", "t2", ("half of it is gone", "d1", "d9")),
)


@pytest.fixture
def grounded(cli, write, tmp_path):
    def run(answer, *options, documents=DOCUMENTS, answers=ANSWERS):
        files = (write("documents.jsonl", documents), write("answers.jsonl", answers))
        with serving(answer) as server:
            model = ("--model", "m", "--base-url", server.url, "--model-id", "s")
            arguments = ("judge", *files, "--judge", "groundedness", *model, "-o", tmp_path / "j", *options)
            return cli(*arguments), server

    return run


def test_yes_is_grounded_and_grade_1(grounded, tmp_path):
    """The direction: the prompt asks whether everything is in the passages, so yes is 1 and the mean a share."""
    assert "Is everything that the response says in the passages?" in read_own_prompt("groundedness")
    result, server = grounded(scripted({"S1": [{"content": "Yes"}], "half": [{"content": "No"}]}))
    assert result.code == 0, result.err
    found = {key: (j.grade, j.reason, j.raw) for key, j in judged(tmp_path / "j").items()}
    assert found == {
        ("t1", "A"): (1, "", "Yes"),
        ("t1", "B"): (0, "", ""),
        ("t1", "C"): (None, "no text of any document that is cited", ""),
        ("t2", "A"): (0, "", "No"),
    }
    assert {(j.view, j.unit, j.nugget) for j in judged(tmp_path / "j").values()} == {
        ("responses", run, SOURCES) for run in "ABC"
    }
    assert len(server.prompts) == 2
    first = next(prompt for prompt in server.prompts if "S1" in prompt)
    # In the order of first citation.
    assert "[1] five six\n\n[2] one two three four" in first
    assert "1 of 4 answers cite nothing, and are not grounded (grade 0)" in result.err
    assert "2 of 4 cited documents have no text: d9, d3" in result.err
    assert "1 of 4 answers have no text of any document that they cite, and fail" in result.err
    assert "2 distinct pairs of texts asked, 1 failed" in result.err


def test_groundedness_is_scored_as_judgments_are(grounded, cli, tmp_path):
    grounded(scripted({"S1": [{"content": "Yes"}], "half": [{"content": "No"}]}))
    bank = sources_bank(read_answers(str(tmp_path / "answers.jsonl")))
    assert bank.nuggets == {"t1": (Nugget("sources", ""),), "t2": (Nugget("sources", ""),)}
    write_bank(bank, str(tmp_path / "bank"))
    common = ("score", "--judgments", tmp_path / "j", "--bank", tmp_path / "bank", tmp_path / "answers.jsonl")
    scored = cli(*common, "-m", "Recall_NtR,num_failed")
    values = {tuple(line.split("\t")[::2]): line.split("\t")[3] for line in scored.out.splitlines()}
    means = {run: float(values[run, "Recall_NtR"]) for run in "ABC"}
    # B and C do not answer t2; C's failed judgment counts 0, as anywhere.
    assert means == {"A": 0.5, "B": 0.0, "C": 0.0}
    refused = cli(*common, "-m", "Recall_NtR", "--on-failed", "error")
    assert (refused.code, "1 judgments failed" in refused.err) == (1, True)


def test_groundedness_is_resumed_and_other_documents_are_refused(grounded, tmp_path):
    grounded(lambda _: {"content": "yes"})
    before = (tmp_path / "j").read_bytes()
    again, server = grounded(lambda _: {"content": "no"})
    assert (again.code, server.prompts, (tmp_path / "j").read_bytes()) == (0, [], before)
    assert "4 pairs, 4 already judged, 0 distinct pairs of texts asked, 1 failed" in again.err
    (tmp_path / "j").write_bytes(before[: before.index(b"\n") + 1])
    grounded(lambda _: {"content": "yes"})
    assert sorted((tmp_path / "j").read_bytes().splitlines()) == sorted(before.splitlines())
    for documents in (DOCUMENTS.replace("five", "fünf"), DOCUMENTS + lines({"id": "d9", "text": "found"})):
        other, server = grounded(lambda _: {"content": "yes"}, documents=documents)
        assert (other.code, server.prompts) == (1, [])
        assert "had another text when it was judged" in other.err
    other, _ = grounded(lambda _: {"content": "yes"}, "--words", "2")
    assert (other.code, "these would be by groundedness" in other.err) == (1, True)


def test_words_votes_dry_run_and_views(grounded, tmp_path):
    dry, server = grounded(lambda _: {"content": "yes"}, "--dry-run", "--votes", "2")
    assert (dry.code, server.prompts, (tmp_path / "j").exists()) == (0, [], False)
    assert "4 calls, about" in dry.err
    result, server = grounded(lambda _: {"content": "yes"}, "--words", "2", "--votes", "2")
    assert result.code == 0, result.err
    assert all("one two" in prompt and "three" not in prompt for prompt in server.prompts)
    # Two votes for each of the answers, asked or not.
    assert len(read_judgments(str(tmp_path / "j"))) == 8
    again, server = grounded(lambda _: {"content": "yes"}, "--words", "2", "--votes", "2")
    assert server.prompts == []
    assert "4 already judged" in again.err
    for wrong in (("--view", "sentences"), ("--view", "documents"), ("--pool", "x"), ("--threshold", "0.5")):
        assert grounded(lambda _: {"content": "yes"}, *wrong)[0].code == 2


def test_equal_answers_with_equal_sources_are_asked_about_once(grounded, tmp_path):
    answers = lines(
        cited("A", "t1", ("same", "d1")), cited("B", "t1", ("same", "d1")), cited("C", "t1", ("same", "d2"))
    )
    _, server = grounded(lambda prompt: {"content": "yes" if "five" in prompt else "no"}, answers=answers)
    assert len(server.prompts) == 2
    assert {run: j.grade for (_, run), j in judged(tmp_path / "j").items()} == {"A": 0, "B": 0, "C": 1}


def test_what_an_answer_cites():
    sentences = (Sentence("a", ("d2", "d1")), Sentence("b", ("d1", "d3")))
    assert cited_documents(Answer("A", "t", "a b", sentences, references=("d9",))) == ("d2", "d1", "d3")
    assert cited_documents(Answer("A", "t", "a", (Sentence("a"),), references=("d9",))) == ()
    # A text alone says nothing of where it cites what.
    assert cited_documents(Answer("A", "t", "a", references=("d9", "d1", "d9"))) == ("d9", "d1")


def test_blank_answers_are_not_judged(tmp_path):
    answers = [Answer("A", "t", " ", references=("d",)), Answer("A/B c", "t", "x", references=("d",))]
    with serving(lambda _: {"content": "yes"}) as server:
        outcome = judge_sources(answers, {"d": "text"}, judge_of(server, "groundedness"), str(tmp_path / "j"))
    assert (outcome.pairs, outcome.asked, outcome.remarks) == (1, 1, ())
    [judgment] = [j for j, _ in read_judgments(str(tmp_path / "j"))]
    assert (judgment.run, judgment.unit) == ("A/B c", "A%2FB%20c")
    assert list(sources_bank(answers).nuggets) == ["t"]


def test_judgments_of_groundedness_are_lines_like_all_others(grounded, tmp_path):
    grounded(lambda _: {"content": "yes"})
    for judgment, scale in read_judgments(str(tmp_path / "j")):
        assert (judgment.grade is None) == bool(judgment.reason)
        assert as_judgment_line(judgment, scale) in (tmp_path / "j").read_text()
