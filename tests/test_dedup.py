"""De-duplication and statistics of banks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteval import Nugget, NuggetBank, ParameterError
from nuggeteval.data import Scale
from nuggeteval.dedup import deduplicate, pairs_to_judge
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.judges import Verdict


class Entails:
    """Says yes to listed (premise, hypothesis) texts."""

    name, scale = "stub", Scale(1)

    def __init__(self, pairs):
        self.params, self.pairs, self.asked = {}, set(pairs), []

    def __call__(self, items):
        for index, item in enumerate(items):
            self.asked.append(item)
            yield index, Verdict(None, int((item.unit, item.nugget) in self.pairs))


def bank_of(*texts):
    return NuggetBank("bank", {"t": tuple(Nugget(f"g{number}", text) for number, text in enumerate(texts, start=1))})


def kept(bank, pairs, rule="components", keep="lowest"):
    return [nugget.id for nugget in deduplicate(bank, Entails(pairs), rule, keep).nuggets["t"]]


def test_NU01_of_nuggets_that_entail_each_other_one_stays():
    bank = bank_of("snake plants need little water", "snake plants are drought tolerant", "they like indirect light")
    a, b = (nugget.text for nugget in bank.nuggets["t"][:2])
    mutual = [(a, b), (b, a)]
    assert kept(bank, mutual) == ["g1", "g3"]
    assert kept(bank, mutual, keep="longest") == ["g2", "g3"]
    assert kept(bank, mutual, "greedy") == ["g1", "g3"]
    assert kept(bank, mutual, "literal") == ["g3"]


def test_the_richer_nugget_stays():
    bank = bank_of("short", "long and rich")
    assert kept(bank, [("long and rich", "short")]) == ["g2"]
    assert kept(bank, [("long and rich", "short")], "greedy") == ["g2"]


def test_a_cycle_that_something_outside_entails_goes_as_a_whole():
    # d entails a; a, b, c entail each other in a ring.
    assert kept(bank_of(*"abcd"), [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]) == ["g4"]


def test_equal_texts_are_one_text_and_are_not_judged():
    bank = bank_of("Opened in 1932.", "opened  in 1932", "eight lanes", "Opened in 1932.")
    judge = Entails([])
    assert [n.id for n in deduplicate(bank, judge).nuggets["t"]] == ["g1", "g3"]
    assert len(judge.asked) == 2
    assert len(list(pairs_to_judge(bank))) == 2


def test_ids_are_ordered_by_their_numbers():
    nuggets = tuple(Nugget(name, "same") for name in ("10", "9", "2"))
    [left] = deduplicate(NuggetBank("b", {"t": nuggets}), Entails([])).nuggets["t"]
    assert left.id == "2"


def test_impossible_rules():
    with pytest.raises(ParameterError, match="rule must be one of components, greedy, literal"):
        kept(bank_of("a"), [], "all")
    with pytest.raises(ParameterError, match="keep must be one of lowest, longest"):
        kept(bank_of("a"), [], keep="best")


TEXTS = "abcdef"
GRAPHS = st.sets(st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)).filter(lambda pair: pair[0] != pair[1]))


def reachable(pairs, start):
    found, stack = set(), [start]
    while stack:
        node = stack.pop()
        for a, b in pairs:
            if a == node and b not in found:
                found.add(b)
                stack.append(b)
    return found


@given(GRAPHS, st.permutations(range(len(TEXTS))))
def test_components_equal_their_definition_in_any_order(pairs, order):
    names = {text: f"g{number}" for number, text in enumerate(TEXTS, start=1)}
    reach = {text: reachable(pairs, text) for text in TEXTS}
    expected = []
    for text in TEXTS:
        ring = {other for other in TEXTS if other == text or (other in reach[text] and text in reach[other])}
        entailed = any(a not in ring and b in ring for a, b in pairs)
        if not entailed and text == min(ring):
            expected.append(names[text])
    shuffled = NuggetBank("b", {"t": tuple(Nugget(names[TEXTS[place]], TEXTS[place]) for place in order)})
    found = kept(shuffled, pairs)
    assert sorted(found) == expected
    assert found
    greedy = kept(shuffled, pairs, "greedy")
    assert greedy
    assert sorted(greedy) == sorted(kept(bank_of(*TEXTS), pairs, "greedy"))


def test_the_commands(cli, write, tmp_path):
    bank = write(
        "b.jsonl",
        '{"topic": "t", "nuggets": [{"id": "1", "text": "Pumps move heat.", "importance": "vital"}, {"id": "2", "text": "pumps move heat"}, {"id": "3", "text": "Cold air holds heat too"}]}',
    )
    result = cli("dedup", bank, "-o", tmp_path / "d.jsonl")
    assert result.code == 0
    assert [n.id for n in read_bank(str(tmp_path / "d.jsonl")).nuggets["t"]] == ["1", "3"]
    assert "2 of 3 nuggets stay, by lexical" in result.err
    assert "2 pairs of texts to judge" in cli("dedup", bank, "--dry-run", "-o", tmp_path / "e").err
    shown = cli("nuggets", bank, tmp_path / "d.jsonl", "-q").out
    assert "words a nugget                     3.67" in shown
    assert "vital                                 1" in shown
    assert "t\t3\t3.67" in shown
    assert "exact                                 2" in shown


def test_counts_of_the_papers_table_2_and_section_6_1(cli, shared):
    folder = shared / "data/ikat2024"
    human, llm = (
        folder / "human_resources/gold_nuggets_human.json",
        folder / "automatic_resources/gold_nuggets_llm.json",
    )
    out = cli("nuggets", human, llm).out
    rows = {line[:28].strip(): line[28:].strip() for line in out.splitlines()}
    assert (rows["nuggets"], rows["topics with a nugget"], rows["words a nugget"]) == ("2279", "78", "32.37")
    # The paper: 144 exact overlaps. Containment either way, the exact ones among it, was measured as 4,157.
    assert rows["exact"] == "144"
    assert int(rows["exact"]) + int(rows["partial"]) == 4157
    assert int(rows["new"]) == 6680 - 4157
