"""The HTML report in a real browser: what it shows, that it works by mouse and keyboard, and that nothing leaks."""

import copy
import json
import os
import random
import re
import shutil
import sys
from html import unescape

import pytest
from conftest import ROOT

from nuggeteval.errors import MissingDependencyError
from nuggeteval.reports.page import render_page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = '</script><img src=x onerror="window.harmed = 1"><b>&amp;\'\u2028'
BOARD = "#board-table tbody tr:visible"
HEAT = "#heat-table tbody tr"
MATRIX = "#nugget-table tbody tr"
TRACE = "#trace-table tbody tr"
SVG = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="1200pt" height="300pt" viewBox="0 0 1200 300" xmlns="http://www.w3.org/2000/svg">
<metadata>drawn today</metadata><defs><style type="text/css">*{stroke-linejoin: round}</style></defs>
<!-- a comment --><defs><path id="m1" d="M 0 0 L 0 9" style="stroke: #000000"/><clipPath id="p1"><rect width="900" height="300"/></clipPath></defs>
<g id="figure_1" clip-path="url(#p1)"><use xlink:href="#m1" x="50" y="30"/></g></svg>
"""

EXAMPLE = {
    "title": "Evaluation of four runs",
    "version": "0.1.0",
    "signature": "nuggeteval|rel:3|topics:4",
    "warnings": ["run delta lacks topic 3"],
    "measures": [
        {
            "name": "gain",
            "definition": "Gain by nuggets.",
            "citation": "Doe 2001",
            "higher": True,
            "summed": False,
            "places": 4,
        },
        {
            "name": "cost",
            "definition": "Cost of reading.",
            "citation": "Roe 2002",
            "higher": False,
            "summed": True,
            "places": 2,
        },
        {
            "name": "share",
            "definition": "Share of length.",
            "citation": "Poe 2003",
            "higher": None,
            "summed": False,
            "places": 2,
        },
    ],
    "runs": [
        {"name": "alpha", "group": "one"},
        {"name": "beta", "group": "two"},
        {"name": "gamma", "group": "one"},
        {"name": "delta", "group": "two"},
    ],
    "topics": [
        {"id": "1", "title": "tides"},
        {"id": "2/b #", "title": ""},
        {"id": "3", "title": "bread"},
        {"id": "4", "title": "bare"},
    ],
    "sort": 0,
    "values": [
        [[0.5, 0.25, None, 0.1], [0.9, 0.5, 0.8, 0.2], [0.7, 0.45, 0.6, 0], [0.2, 0.0, "", 0.123]],
        [[3, 3, 3, 3], [1, 1, 1, 1], [2, 2, 2, 2], [4, 4, "", 4]],
        [[0.5, 0.5, 0.5, 0.5], [0.1, 0.1, 0.1, 0.1], [0.3, 0.3, 0.3, 0.3], [0.2, 0.2, "", 0.2]],
    ],
    "coverage": {
        "caption": "First unit that carries a nugget.",
        "ranked": True,
        "topics": [
            {
                "topic": 0,
                "nuggets": [
                    {"id": "n1", "text": "The moon pulls.", "importance": "vital"},
                    {"id": "n2", "text": "Springs are high.", "importance": "okay"},
                    {"id": "n3", "text": "Neaps are low.", "importance": "okay"},
                ],
                "units": ["doc7", "doc9"],
                "texts": ["Tides follow the moon.", ""],
                "cells": [[[1, 0], 0, 0], [[2, 1], [40, 0], 0], [[3, 0], 0, 0], [0, 0, 0]],
            },
            {
                "topic": 1,
                "nuggets": [{"id": "k1", "text": "Only one nugget.", "importance": ""}],
                "units": ["doc1"],
                "texts": [],
                "cells": [[0], [[1, 0]], [[1, 0]], [0]],
            },
            {
                "topic": 2,
                "nuggets": [{"id": "b1", "text": "Yeast rises.", "importance": "vital"}],
                "units": [],
                "texts": [],
                "cells": [[0], [0], [0], [0]],
            },
        ],
    },
    "pairwise": [
        {
            "measure": 0,
            "test": "randomization",
            "correction": "Holm",
            "alpha": 0.05,
            "p": [[None, 0.01, 0.2, None], [0.01, None, 0.3, None], [0.2, 0.3, None, None], [None, None, None, None]],
        }
    ],
    "figures": [
        {"id": "a", "title": "First figure", "caption": "What it shows.", "svg": SVG},
        {"id": "b", "title": "Second figure", "caption": "", "svg": SVG},
    ],
    "correlations": [
        {"title": "Kendall's tau", "caption": "All topics.", "header": ["", "gain"], "rows": [["gain", "1.000"]]}
    ],
    "traces": {
        "run": "beta",
        "caption": "Sub-questions and how each document answers them.",
        "topics": [
            {
                "topic": 0,
                "questions": [
                    {"id": "q1", "text": "What pulls the sea?"},
                    {"id": "q2", "text": "When is it highest?"},
                    {"id": "q3", "text": "Who measures it?"},
                ],
                "gold": [
                    {"id": "n1", "text": "The moon pulls.", "question": "q1"},
                    {"id": "n2", "text": "Springs are high.", "question": "q2"},
                    {"id": "n3", "text": "Neaps are low.", "question": ""},
                ],
                "rows": [
                    {"rank": 1, "unit": "doc7", "ratings": [2, 5, None], "adds": ["q2"]},
                    {"rank": 2, "unit": "doc9", "ratings": [4, 3, 0], "adds": ["q1", "q3"]},
                    {"rank": 10, "unit": "doc2", "ratings": [1, None, 0], "adds": []},
                ],
            },
            {
                "topic": 2,
                "questions": [{"id": "r1", "text": "What raises bread?"}],
                "gold": [{"id": "b1", "text": "Yeast rises.", "question": ""}],
                "rows": [],
            },
            {
                "topic": 3,
                "questions": [{"id": "s1", "text": "What is bare?"}],
                "gold": [],
                "rows": [{"rank": 1, "unit": "doc5", "ratings": [None], "adds": ["s1"]}],
            },
        ],
    },
}


def board(label, topics, values):
    """A board with these values by run and measure; cells of runs that are best have the rank 1."""
    columns = [[value for value in column if value is not None] for column in zip(*values, strict=True)]
    best = [max(columns[0]), min(columns[1]), max(columns[2])]
    cells = [
        [
            {
                "value": value,
                "rank": "-" if value is None else "1" if value == best[measure] else "2=",
                "low": None if value is None else value - 0.01,
                "high": None if value is None else value + 0.01,
                "mark": "▲" if value == 0.7 else "",
                "meaning": "better than alpha" if value == 0.7 else "",
            }
            for measure, value in enumerate(row)
        ]
        for row in values
    ]
    rows = [{"run": run, "cells": row} for run, row in enumerate(cells)]
    return {"label": label, "topics": topics, "rows": rows, "notes": [f"note of {label}"]}


EXAMPLE["boards"] = [
    board("all", 4, [[0.5, 3, 0.5], [0.7, 1, 0.1], [0.6, 2, 0.3], [None, 4, 0.2]]),
    board("hard", 2, [[0.4, 3, 0.5], [0.1, 1, 0.1], [0.2, 2, 0.3], [0.3, 4, 0.2]]),
]


def large(runs, topics, nuggets, units):
    """A report of this size, filled at random."""
    chance = random.Random(7)
    names = [f"measure {number}" for number in range(5)]
    values = [[[round(chance.random(), 4) for _ in range(topics)] for _ in range(runs)] for _ in names]
    means = [[sum(row) / topics for row in rows] for rows in values]
    cell = {"rank": "1", "low": 0.1, "high": 0.9, "mark": "", "meaning": ""}
    sentence = "A sentence of some hundred and twenty characters that a unit of a run says about number {} of the topic number {}, so to say."
    first = [
        [
            [[chance.randint(1, 100), chance.randrange(units)] if chance.random() < 0.4 else 0 for _ in range(nuggets)]
            for _ in range(runs)
        ]
        for _ in range(topics)
    ]
    covered = [
        {
            "topic": topic,
            "nuggets": [
                {"id": f"{topic}-{nugget}", "text": sentence.format(nugget, topic), "importance": "vital"}
                for nugget in range(nuggets)
            ],
            "units": [f"document-{topic}-{unit}" for unit in range(units)],
            "texts": [sentence.format(unit, -topic) for unit in range(units)],
            "cells": cells,
        }
        for topic, cells in enumerate(first)
    ]
    rows = [
        {"run": run, "cells": [{**cell, "value": means[measure][run]} for measure in range(5)]} for run in range(runs)
    ]
    return {
        **EXAMPLE,
        "measures": [{**EXAMPLE["measures"][0], "name": name} for name in names],
        "runs": [{"name": f"run {run}", "group": ""} for run in range(runs)],
        "topics": [{"id": str(topic), "title": ""} for topic in range(topics)],
        "boards": [{"label": "all", "topics": topics, "rows": rows, "notes": []}],
        "values": values,
        "coverage": {"caption": "", "ranked": True, "topics": covered},
        "pairwise": [],
    }


def unavailable(what):
    if os.environ.get("CI"):
        pytest.fail(f"CI is set and {what}")
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        unavailable("there is no Chromium here")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("playwright is not installed")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=SWITCHES)
        yield started
        started.close()


@pytest.fixture(scope="module")
def windows(browser):
    """Windows by size and colour scheme, each with what its pages said, asked for and threw; a new one takes long."""
    found = {}

    def window(width, height, scheme):
        if (width, height, scheme) not in found:
            page, noise = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme), []
            page.set_default_timeout(5000)
            page.on("console", lambda message: noise.append(message.text))
            page.on("pageerror", lambda error: noise.append(str(error)))
            page.on("request", lambda request: noise.append(request.url))
            found[width, height, scheme] = page, noise
        return found[width, height, scheme]

    return window


@pytest.fixture
def show(windows, tmp_path):
    """Open a report from a file; whatever the page says, asks for or throws fails the test."""
    shown = []

    def show_page(data=EXAMPLE, address="", width=1300, height=900, color_scheme="light", made=None):
        path = made or tmp_path / "report.html"
        if made is None:
            path.write_text(render_page(data), encoding="utf-8")
        page, noise = windows(width, height, color_scheme)
        noise.clear()
        page.mouse.move(0, 0)
        page.emulate_media(media="null")
        page.goto(path.as_uri() + address)
        shown.append((page, noise, path.as_uri()))
        return page

    yield show_page
    for page, noise, own in shown:
        page.evaluate("undefined")
        assert [line for line in noise if line.partition("#")[0] != own] == []


@pytest.fixture
def data():
    return copy.deepcopy(EXAMPLE)


def eventually(page, probe):
    """Wait for what the page does after it has painted; the policy of the page forbids wait_for_function."""
    for _ in range(50):
        if probe():
            return
        page.wait_for_timeout(40)
    pytest.fail("it never came")


def texts(page, selector):
    return page.locator(selector).all_inner_texts()


def expect_texts(page, selector, expected):
    eventually(page, lambda: texts(page, selector) == expected)


def expect_text(page, selector, expected):
    eventually(page, lambda: expected in page.locator(selector).inner_text())


def ranking(page):
    return page.locator(f"{BOARD} th").all_inner_texts()


def header(page, name):
    return page.locator("#board-table thead button", has_text=name)


def near(page, section):
    """Scroll to a section and wait until it is drawn."""
    page.evaluate(
        """section => {
        document.getElementById(section).scrollIntoView();
        return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
        }""",
        section,
    )


def toggle(page, summary):
    """Open or close by keyboard: what is drawn on the way there may push the line from under a pointer."""
    page.locator(summary).press("Enter")


def open_trace(page, topic=None):
    """Show how the run was made, on the first topic or on this one."""
    near(page, "nuggets")
    if topic is not None:
        page.locator("#topic").select_option(topic)
    toggle(page, "#trace > summary")
    near(page, "trace")


def heat_cell(page, run, topic):
    near(page, "topics")
    row = page.locator(HEAT).filter(has=page.get_by_text(run, exact=True))
    return row.locator("td").nth(topic)


def embedded(page_text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page_text, re.DOTALL)[1])


# ---- The text of the page ----


def test_the_same_data_gives_the_same_page(data):
    text = render_page(data)
    assert text == render_page(EXAMPLE)
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</html>\n")


def test_a_missing_jinja2_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match=r"needs jinja2: pip install 'nuggeteval\[report\]'"):
        render_page(EXAMPLE)


def test_values_are_packed_in_few_signs():
    assert embedded(render_page(EXAMPLE))["values"][0] == [".5,.25,-,.1", ".9,.5,.8,.2", ".7,.45,.6,0", ".2,0,,.123"]


def test_first_places_are_packed_to_base_36():
    first, second, third = embedded(render_page(EXAMPLE))["coverage"]["topics"]
    assert first["cells"] == "2,,,5,28,,6,,,,,"
    assert (second["cells"], third["cells"]) == (",1,1,", ",,,")


def test_ratings_are_packed_as_digits():
    text = render_page(EXAMPLE)
    assert embedded(text)["traces"][0]["rows"] == [[1, "doc7", "25+-"], [2, "doc9", "4+30+"], [10, "doc2", "1-0"]]


def test_a_rating_for_every_question_is_needed(data):
    data["traces"]["topics"][0]["rows"][0]["ratings"].pop()
    with pytest.raises(ValueError, match="argument 2 is longer"):
        render_page(data)


def test_traces_of_fifty_topics_by_a_hundred_ranks_stay_small(data):
    chance = random.Random(7)
    sentence = "A question or a nugget of some eighty characters about the topic number {}, say."
    asked = [f"q{number}" for number in range(1, 16)]
    data["traces"]["topics"] = [
        {
            "topic": topic,
            "questions": [{"id": one, "text": sentence.format(topic)} for one in asked],
            "gold": [{"id": f"n{one}", "text": sentence.format(topic), "question": "q1"} for one in range(20)],
            "rows": [
                {
                    "rank": rank,
                    "unit": f"shard_{topic:02}_{rank:06}_passage",
                    "ratings": [chance.choice([None, 0, 1, 2, 3, 4, 5]) for _ in asked],
                    "adds": chance.sample(asked, 2),
                }
                for rank in range(1, 101)
            ],
        }
        for topic in range(50)
    ]
    assert len(render_page(data).encode()) < 1_000_000


def test_the_embedded_data_cannot_end_its_element(data):
    data["runs"][0]["name"] = HOSTILE
    text = render_page(data)
    assert embedded(text)["runs"][0]["name"] == HOSTILE
    assert HOSTILE not in text


def test_titles_are_escaped(data):
    data["title"] = data["signature"] = HOSTILE
    text = render_page(data)
    assert "<img" not in text
    assert unescape(re.search(r"<h1>(.*?)</h1>", text, re.DOTALL)[1]) == HOSTILE


def test_ids_of_drawings_are_unique():
    text = render_page(EXAMPLE)
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert {"f1-m1", "f2-m1"} <= set(ids)
    assert text.count('href="#f2-m1"') == text.count("url(#f2-p1)") == 1


def test_drawings_come_without_prolog_metadata_and_comments():
    text = render_page(EXAMPLE)
    assert "<?xml" not in text
    assert "drawn today" not in text
    assert "a comment" not in text
    assert "#drawing-1 *{stroke-linejoin" in text


# ---- The head ----


def test_the_page_needs_nothing_and_says_nothing(show):
    page = show()
    for section in ("leaderboard", "topics", "nuggets", "figures", "correlations", "pairwise", "details"):
        near(page, section)
    assert page.title() == "Evaluation of four runs"


def test_a_policy_forbids_everything_but_what_stands_in_the_page(show):
    policy = show().locator("meta[http-equiv]").get_attribute("content")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:")


def test_the_head_has_summary_signature_and_warnings(show):
    page = show()
    assert page.locator(".summary").inner_text() == "4 runs · 4 topics · gain, cost, share"
    assert page.locator("#signature").inner_text() == "nuggeteval|rel:3|topics:4"
    assert page.get_by_text("run delta lacks topic 3").is_visible()


def test_the_signature_can_be_copied(show):
    page = show()
    page.locator("#copy").click()
    eventually(page, lambda: page.locator("#copied").inner_text())
    assert page.evaluate("getSelection().toString()") == "nuggeteval|rel:3|topics:4"


@pytest.mark.parametrize(("scheme", "dark"), [("light", "false"), ("dark", "true")])
def test_the_theme_follows_the_system_until_it_is_switched(show, scheme, dark):
    page = show(color_scheme=scheme)
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(paper)
    assert (before != "rgb(255, 255, 255)") == (scheme == "dark")
    assert page.locator("#theme").get_attribute("aria-pressed") == dark
    page.locator("#theme").click()
    assert (page.evaluate(paper) == "rgb(255, 255, 255)") == (scheme == "dark")
    assert page.locator("#theme").get_attribute("aria-pressed") != dark
    page.locator("#theme").click()
    assert page.evaluate(paper) == before


# ---- The leaderboard ----


def test_the_best_run_comes_first(show):
    page = show()
    assert ranking(page) == ["beta", "gamma", "alpha", "delta"]
    assert page.locator(f"{BOARD} td.rank").all_inner_texts() == ["1", "2=", "2=", "-"]
    assert page.locator("#board-table th[aria-sort]").all_inner_texts() == ["gain ↑"]


def test_a_cell_has_value_interval_and_mark(show):
    page = show()
    cells = page.locator("#board-table tbody tr").first.locator("td.score")
    assert cells.first.locator(".value").inner_text() == "0.7000"
    assert cells.first.locator("small").inner_text() == "[0.6900, 0.7100]"
    assert cells.first.locator(".mark").text_content() == "▲ better than alpha "
    assert cells.nth(1).locator(".value").inner_text() == "1"
    assert "▲ better than alpha" in page.locator("#board-notes").inner_text()


@pytest.mark.parametrize(
    ("name", "first", "second", "aria"),
    [
        ("gain", "alpha gamma beta delta", "beta gamma alpha delta", ["ascending", "descending"]),
        ("cost", "beta gamma alpha delta", "delta alpha gamma beta", ["ascending", "descending"]),
        ("share", "alpha gamma delta beta", "beta delta gamma alpha", ["descending", "ascending"]),
        ("Run", "alpha beta delta gamma", "gamma delta beta alpha", ["ascending", "descending"]),
    ],
)
@pytest.mark.parametrize("key", [None, "Enter"])
def test_a_header_sorts_best_first_and_then_reverses_with_undefined_last(show, name, first, second, aria, key):
    page = show()
    button = header(page, name)
    for order, direction in zip((first, second), aria, strict=True):
        button.press(key) if key else button.click()
        assert " ".join(ranking(page)) == order
        assert page.locator("#board-table th[aria-sort]").get_attribute("aria-sort") == direction


def test_the_rank_follows_the_sorted_measure(show):
    page = show()
    header(page, "share").click()
    assert page.locator(f"{BOARD} td.rank").first.inner_text() == "1"
    assert "ranked by share" in page.locator("#board-status").inner_text()


def test_runs_are_found_by_name_or_group(show):
    page = show()
    page.locator("#find-run").fill("ALPH")
    assert ranking(page) == ["alpha"]
    assert page.locator("#board-status").inner_text().startswith("1 of 4 runs")
    page.locator("#find-run").fill("two")
    assert ranking(page) == ["beta", "delta"]


def test_a_group_can_be_chosen(show):
    page = show()
    page.locator("#group").select_option("one")
    assert ranking(page) == ["gamma", "alpha"]
    page.locator("#group").select_option("all")
    assert len(ranking(page)) == 4


def test_without_groups_there_is_no_column_for_them(show, data):
    for run in data["runs"]:
        run["group"] = ""
    page = show(data)
    assert header(page, "Group").count() == 0
    assert not page.locator("#group").is_visible()


def test_a_stratum_can_be_chosen(show):
    page = show()
    page.locator("#board").select_option("hard")
    assert ranking(page) == ["alpha", "delta", "gamma", "beta"]
    assert "on 2 topics" in page.locator("#board-status").inner_text()
    assert "note of hard" in page.locator("#board-notes").inner_text()


@pytest.mark.parametrize("act", ["hover", "focus"])
def test_a_header_tells_the_definition_of_its_measure(show, act):
    page = show()
    getattr(header(page, "cost"), act)()
    assert page.locator("#tip").inner_text() == "Cost of reading. Lower is better."
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


# ---- The heat map ----


def test_the_heat_map_follows_the_order_of_the_leaderboard(show):
    page = show()
    near(page, "topics")
    assert texts(page, f"{HEAT} th") == ["beta", "gamma", "alpha", "delta"]
    header(page, "Run").click()
    near(page, "topics")
    expect_texts(page, f"{HEAT} th", ["alpha", "beta", "delta", "gamma"])


def test_cells_follow_their_runs_and_measure(show):
    page = show()
    near(page, "topics")
    assert texts(page, HEAT)[0] == "beta\t0.90\t0.50\t0.80\t0.20"
    page.locator("#heat-measure").select_option("cost")
    eventually(page, lambda: texts(page, HEAT)[0] == "beta\t1\t1\t1\t1")
    page.locator("#heat-numbers").uncheck()
    eventually(page, lambda: texts(page, HEAT)[0] == "beta\t\t\t\t")
    header(page, "Run").click()
    near(page, "topics")
    eventually(page, lambda: heat_cell(page, "alpha", 0).get_attribute("aria-label") == "3")


def test_a_redrawn_table_is_still_one_stop_of_the_tab_key(show):
    page = show()
    near(page, "topics")
    page.locator("#heat-table thead button").last.focus()
    page.locator("#heat-measure").select_option("cost")
    eventually(page, lambda: page.locator("#heat-table [tabindex='0']").count() == 1)
    assert page.locator("#heat-table tbody [tabindex='0'], #heat-table .lit").count() == 1


def test_undefined_and_absent_values_differ(show):
    page = show()
    undefined, absent = heat_cell(page, "alpha", 2), heat_cell(page, "delta", 2)
    assert (undefined.get_attribute("class"), undefined.get_attribute("aria-label")) == ("undefined", "undefined")
    assert (absent.get_attribute("class"), absent.inner_text()) == ("absent", "")


def test_a_cell_of_the_heat_map_is_read_out(show):
    page = show()
    heat_cell(page, "beta", 0).hover()
    assert page.locator("#heat-status").inner_text() == "beta, topic 1 (tides), gain 0.9000"
    assert page.locator("#tip").inner_text() == "beta, topic 1 (tides), gain 0.9000"


def test_the_heat_map_shows_another_measure(show):
    page = show()
    near(page, "topics")
    page.locator("#heat-measure").select_option("cost")
    heat_cell(page, "alpha", 0).hover()
    assert page.locator("#heat-status").inner_text() == "alpha, topic 1 (tides), cost 3"


def test_the_hardest_topics_come_first_on_request(show):
    page = show()
    near(page, "topics")
    page.locator("#hardest").check()
    assert texts(page, "#heat-table thead button") == ["4", "2/b #", "1", "3"]


def test_columns_can_be_filtered(show):
    page = show()
    near(page, "topics")
    page.locator("#find-column").fill("b")
    expect_texts(page, "#heat-table thead button", ["2/b #", "3", "4"])
    page.locator("#find-column").fill("no such topic")
    expect_texts(page, "#heat-table thead button", [])


def test_a_click_opens_the_topic(show):
    page = show()
    heat_cell(page, "gamma", 1).click()
    expect_text(page, "#topic-title", "Topic 2/b #")
    assert page.evaluate("document.activeElement.innerText") == "gamma"
    assert page.url.endswith("#topic=2%2Fb%20%23")


def test_arrow_keys_move_in_the_heat_map_and_enter_opens_the_topic(show):
    page = show()
    heat_cell(page, "beta", 0).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    assert page.locator("#heat-status").inner_text() == "gamma, topic 3 (bread), gain 0.6000"
    page.keyboard.press("Enter")
    expect_text(page, "#topic-title", "Topic 3 (bread)")


@pytest.mark.parametrize("act", ["click", "press"])
def test_the_header_of_a_topic_opens_it(show, act):
    page = show()
    near(page, "topics")
    button = page.locator("#heat-table thead button").nth(2)
    button.click() if act == "click" else button.press("Enter")
    expect_text(page, "#topic-title", "Topic 3 (bread)")
    assert page.evaluate("document.activeElement.id") == "topic-title"


def test_home_and_end_go_to_the_edges(show):
    page = show()
    heat_cell(page, "beta", 0).focus()
    page.keyboard.press("Control+End")
    assert page.locator("#heat-status").inner_text() == "delta, topic 4 (bare), gain 0.1230"
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.innerText") == "delta"
    page.keyboard.press("PageUp")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.innerText") == "4"


def test_a_topic_without_nuggets_says_so(show):
    page = show()
    heat_cell(page, "alpha", 3).click()
    expect_text(page, "#topic-title", "No nuggets are known for topic 4 (bare)")
    page.locator("#next").click()
    expect_text(page, "#topic-title", "Topic ")


# ---- The nuggets of a topic ----


def test_the_matrix_has_the_rank_of_every_first_place(show):
    page = show()
    near(page, "nuggets")
    assert texts(page, MATRIX) == ["beta\t2\t2\t40\t", "gamma\t1\t3\t\t", "alpha\t1\t1\t\t", "delta\t0\t\t\t"]
    assert texts(page, "#nugget-table thead .count") == ["", "3", "1", "0"]


def test_without_ranks_the_matrix_has_dots(show, data):
    data["coverage"]["ranked"] = False
    page = show(data)
    near(page, "nuggets")
    assert texts(page, MATRIX)[0] == "beta\t2\t●\t●\t"
    page.locator(MATRIX).first.locator("td").nth(1).hover()
    assert "Rank" not in page.locator("#nugget-panel").inner_text()


@pytest.mark.parametrize("act", ["pointer", "keyboard"])
def test_a_cell_tells_nugget_run_unit_rank_and_sentence(show, act):
    page = show()
    near(page, "nuggets")
    if act == "pointer":
        page.locator(MATRIX).first.locator("td").nth(2).hover()
    else:
        page.locator("#nugget-table [tabindex='0']").press("ArrowRight")
        page.keyboard.press("ArrowRight")
    panel = page.locator("#nugget-panel")
    assert panel.locator("b").inner_text() == "n2"
    assert panel.locator(".badge").inner_text() == "okay"
    assert panel.locator(".nugget").inner_text() == "Springs are high."
    assert panel.locator("dd").all_inner_texts() == ["beta", "doc7", "40"]
    assert panel.locator("blockquote").inner_text() == "Tides follow the moon."
    assert panel.get_attribute("aria-live") == "polite"


def test_a_cell_without_the_nugget_or_a_sentence_says_just_that(show):
    page = show()
    near(page, "nuggets")
    page.locator(MATRIX).last.locator("td").nth(1).hover()
    assert page.locator("#nugget-panel dd").all_inner_texts() == ["delta", "not found"]
    page.locator(MATRIX).first.locator("td").nth(1).hover()
    assert page.locator("#nugget-panel dd").all_inner_texts() == ["beta", "doc9", "2"]
    assert page.locator("#nugget-panel blockquote").count() == 0


def test_the_header_of_a_nugget_tells_who_finds_it(show):
    page = show()
    near(page, "nuggets")
    page.locator("#nugget-table thead button").first.focus()
    assert page.locator("#nugget-panel dt").all_inner_texts() == ["Found by 3 of 4", "Missed by 1"]
    assert page.locator("#nugget-panel dd").all_inner_texts() == ["beta, gamma, alpha", "delta"]


def test_the_header_of_a_run_tells_how_many_it_finds(show):
    page = show()
    near(page, "nuggets")
    page.locator(f"{MATRIX} th").first.hover()
    assert page.locator("#nugget-panel dd").all_inner_texts() == ["2 of 3", "1 of 1"]


def test_nuggets_that_every_run_misses_or_one_finds_are_named(show):
    page = show()
    near(page, "nuggets")
    chips = page.locator("#nugget-chips button")
    assert chips.all_inner_texts() == ["n2 found by one run only (beta)", "n3 missed by every run"]
    chips.last.click()
    assert page.locator("#nugget-panel .nugget").inner_text() == "Neaps are low."


def test_the_list_has_every_nugget(show):
    page = show()
    near(page, "nuggets")
    toggle(page, "#nugget-list summary")
    assert texts(page, "#nugget-list tbody tr") == [
        "n1\tvital\t3 of 4 runs\tThe moon pulls.",
        "n2\tokay\tfound by one run only (beta)\tSprings are high.",
        "n3\tokay\tmissed by every run\tNeaps are low.",
    ]


def test_columns_sort_by_the_number_of_runs(show):
    page = show()
    near(page, "nuggets")
    page.locator("#nugget-order").select_option("found by fewest runs first")
    assert texts(page, "#nugget-table thead .label")[1:] == ["n3", "n2", "n1"]
    page.locator(MATRIX).first.locator("td").nth(3).hover()
    assert page.locator("#nugget-panel b").inner_text() == "n1"


def test_topics_are_walked_with_previous_and_next(show):
    page = show()
    near(page, "nuggets")
    assert page.locator("#previous").get_attribute("aria-disabled") == "true"
    page.locator("#next").click()
    page.locator("#next").press("Enter")
    expect_text(page, "#topic-title", "Topic 3 (bread)")
    assert page.locator("#next").get_attribute("aria-disabled") == "true"
    page.locator("#next").click(force=True)
    expect_text(page, "#topic-title", "Topic 3 (bread)")
    page.locator("#previous").click()
    expect_text(page, "#topic-title", "Topic 2/b #")


def test_a_topic_is_found_by_the_text_of_its_nuggets(show):
    page = show()
    near(page, "nuggets")
    page.locator("#find-topic").fill("yeast")
    expect_texts(page, "#topic option", ["3 (bread): 1 nugget, 1 missed by every run"])
    page.locator("#find-topic").press("Enter")
    expect_text(page, "#topic-title", "Topic 3 (bread)")


def test_a_topic_is_chosen_from_the_list(show):
    page = show()
    near(page, "nuggets")
    page.locator("#topic").select_option(index=1)
    expect_text(page, "#topic-title", "Topic 2/b #")
    assert page.locator("#nugget-table thead button").all_inner_texts() == ["k1"]


def test_the_address_opens_a_topic(show):
    page = show(address="#topic=2%2Fb%20%23")
    expect_text(page, "#topic-title", "Topic 2/b #")
    page.evaluate("location.hash = '#topic=3'")
    expect_text(page, "#topic-title", "Topic 3 (bread)")
    assert page.locator("#topic").input_value() == "2"


@pytest.mark.parametrize("address", ["#topic=none", "#topic=%E0%A4%A", "#nowhere"])
def test_an_address_that_names_nothing_does_nothing(show, address):
    page = show(address=address)
    near(page, "nuggets")
    expect_text(page, "#topic-title", "Topic 1 (tides)")


# ---- How a run was made ----


def test_how_a_run_was_made_is_folded_below_the_matrix(show):
    page = show()
    near(page, "nuggets")
    assert page.locator("#trace > summary").inner_text() == "How beta was made"
    assert not page.locator("#trace-table").is_visible()
    toggle(page, "#trace > summary")
    assert page.locator("#trace-table").is_visible()
    assert page.locator("#trace .caption").inner_text() == "Sub-questions and how each document answers them."
    assert page.locator("#trace").bounding_box()["y"] > page.locator("#nugget-table").bounding_box()["y"]


def test_only_the_trace_of_the_open_topic_is_shown(show):
    page = show()
    open_trace(page)
    assert texts(page, "#trace-questions li")[0] == "q1 What pulls the sea?"
    page.locator("#next").click()
    expect_text(page, "#topic-title", "Topic 2/b #")
    assert not page.locator("#trace").is_visible()
    page.locator("#next").click()
    expect_texts(page, "#trace-questions li", ["r1 What raises bread?"])
    assert page.locator("#trace-ratings").is_hidden()
    page.locator("#topic").select_option("0")
    assert len(texts(page, "#trace-questions li")) == len(texts(page, TRACE)) == 3


def test_a_topic_without_nuggets_may_have_a_trace(show):
    page = show()
    heat_cell(page, "alpha", 3).click()
    expect_text(page, "#topic-title", "No nuggets are known for topic 4 (bare)")
    toggle(page, "#trace > summary")
    assert texts(page, "#trace-questions li") == ["s1 What is bare?"]
    assert page.locator("#trace-gold").is_hidden()
    assert texts(page, TRACE) == ["1 doc5\t–"]


def test_gold_nuggets_stand_beside_their_sub_question(show):
    page = show()
    open_trace(page)
    assert texts(page, "#trace-gold tbody tr") == [
        "n1\tThe moon pulls.\tq1 What pulls the sea?",
        "n2\tSprings are high.\tq2 When is it highest?",
        "n3\tNeaps are low.\tno sub-question",
    ]
    assert texts(page, "#trace-gold .badge") == ["no sub-question"]


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        (["", "q1", ""], "2 of 3 gold nuggets have no sub-question"),
        (["q3", "q1", "q1"], "0 of 3 gold nuggets have no sub-question"),
        ([""], "1 of 1 gold nugget has no sub-question"),
    ],
)
def test_gold_nuggets_without_a_sub_question_are_counted(show, data, questions, words):
    data["traces"]["topics"][0]["gold"] = [{"id": "n", "text": "", "question": question} for question in questions]
    page = show(data)
    open_trace(page)
    assert page.locator("#trace-gold .reading").inner_text() == words
    assert page.locator("#trace-gold .badge").count() == questions.count("")


def test_the_ratings_stand_by_rank_and_question(show):
    page = show()
    open_trace(page)
    assert texts(page, "#trace-table thead button") == ["q1", "q2", "q3"]
    assert texts(page, TRACE) == ["1 doc7\t2\t5\t–", "2 doc9\t4\t3\t0", "10 doc2\t1\t–\t0"]
    kinds = page.locator(f"{TRACE} td").evaluate_all("all => all.map(one => one.className)")
    assert kinds == ["q4", "q10 adds", "unrated", "q8 adds", "q6", "q0 adds", "q2", "unrated", "q0"]


def test_what_a_rank_adds_is_marked_for_eyes_and_ears(show):
    page = show()
    open_trace(page)
    labels = page.locator(f"{TRACE} td").evaluate_all("all => all.map(one => one.ariaLabel)")
    assert labels == [None, "5, adds", "not rated", "4, adds", None, "0, adds", None, "not rated", None]
    rings = page.locator(f"{TRACE} td").evaluate_all(
        "all => all.map(one => getComputedStyle(one).boxShadow !== 'none')"
    )
    assert rings == [label is not None and label.endswith("adds") for label in labels]


def test_the_keyboard_reads_a_trace(show):
    page = show()
    near(page, "nuggets")
    page.locator("#nugget-list > summary").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    near(page, "trace")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "Gold nuggets beside the nearest sub-question"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    said = [page.locator("#trace-status").inner_text()]
    for key in ("ArrowRight", "ArrowUp", "ArrowDown", "Home", "PageDown"):
        page.keyboard.press(key)
        said.append(page.locator("#trace-status").inner_text())
    assert said == [
        "Rank 1, doc7, q2 (When is it highest?): 5, adds",
        "Rank 1, doc7, q3 (Who measures it?): not rated",
        "q3: Who measures it?",
        "Rank 1, doc7, q3 (Who measures it?): not rated",
        "Rank 1, doc7: adds q2",
        "Rank 10, doc2: adds nothing",
    ]
    assert page.locator("#tip").inner_text() == said[-1]
    assert page.locator("#trace-table [tabindex='0']").count() == 1


def test_the_pointer_reads_a_trace(show):
    page = show()
    open_trace(page)
    page.locator(f"{TRACE} td.adds").nth(1).hover()
    assert page.locator("#trace-status").inner_text() == "Rank 2, doc9, q1 (What pulls the sea?): 4, adds"


@pytest.mark.parametrize("traces", [..., None, {"run": "beta", "caption": "", "topics": []}])
def test_without_traces_there_is_nothing_of_them(show, data, traces):
    data["traces"] = traces
    if traces is ...:
        del data["traces"]
    page = show(data)
    near(page, "nuggets")
    page.locator("#next").click()
    expect_text(page, "#topic-title", "Topic 2/b #")
    assert page.locator("[id^=trace]").count() == 0
    assert page.get_by_text("was made").count() == 0


def test_without_nuggets_traces_have_no_place(show, data):
    data["coverage"] = None
    assert show(data).locator("[id^=trace]").count() == 0


# ---- The other sections ----


def test_drawings_scale_to_the_page(show):
    page = show(width=500)
    near(page, "figures")
    box = page.locator("#figure-a svg").bounding_box()
    assert box["width"] < 500
    assert box["width"] / box["height"] == pytest.approx(4, rel=0.05)


def test_drawings_lie_on_white_in_the_dark(show):
    page = show(color_scheme="dark")
    near(page, "figures")
    assert (
        page.locator(".card").first.evaluate("card => getComputedStyle(card).backgroundColor") == "rgb(255, 255, 255)"
    )


def test_correlations_are_shown_as_they_come(show):
    page = show()
    near(page, "correlations")
    assert texts(page, "#correlations tr") == ["\tgain", "gain\t1.000"]


def test_pairs_have_signs_and_their_test_is_named(show):
    page = show()
    near(page, "pairwise")
    rows = texts(page, "#pair-table tbody tr")
    assert rows == ["beta\t\t·\t▲\t", "gamma\t·\t\t·\t", "alpha\t▼\t·\t\t", "delta\t\t\t\t"]
    assert page.locator("#pair-caption").inner_text() == "gain: randomization; correction: Holm; alpha = 0.05."


def test_a_pair_tells_its_p_value(show):
    page = show()
    near(page, "pairwise")
    page.locator("#pair-table tbody tr").first.locator("td").nth(2).hover()
    assert page.locator("#pair-status").inner_text() == "beta significantly better than alpha, p = 0.0100"


def test_of_a_measure_that_falls_the_lower_run_is_better(show, data):
    data["measures"][0]["higher"] = False
    page = show(data)
    near(page, "pairwise")
    assert texts(page, "#pair-table tbody tr")[0] == "alpha\t\t·\t▲\t"


def test_of_a_measure_without_a_direction_no_run_is_better(show, data):
    data["measures"][0]["higher"] = None
    page = show(data)
    near(page, "pairwise")
    page.locator("#pair-table td.worse").hover()
    assert page.locator("#pair-status").inner_text() == "alpha significantly lower than beta, p = 0.0100"


def test_runs_of_one_mean_that_a_test_tells_apart_are_different(show, data):
    data["boards"][0]["rows"][1]["cells"][0]["value"] = 0.5
    page = show(data)
    near(page, "pairwise")
    assert page.locator("#pair-table td", has_text="≠").count() == 2


def test_measures_are_defined_with_their_sources(show):
    page = show()
    near(page, "details")
    assert texts(page, "#details tbody tr")[1] == "cost\tCost of reading.\tlower\tRoe 2002"


def test_sections_without_data_are_absent(show, data):
    data.update(coverage=None, pairwise=[], figures=[], correlations=[], warnings=[], signature="", values=[])
    page = show(data)
    assert page.locator("details.section").evaluate_all("all => all.map(one => one.id)") == ["leaderboard", "details"]
    assert texts(page, "nav a") == ["Leaderboard", "Details"]
    assert page.locator(".warnings, .signature").count() == 0


def test_a_report_of_nothing_is_a_page(show, data):
    data.update(
        coverage=None,
        pairwise=[],
        figures=[],
        correlations=[],
        warnings=[],
        values=[],
        boards=[],
        runs=[],
        topics=[],
        measures=[],
    )
    page = show(data)
    assert page.locator(".summary").inner_text() == "0 runs · 0 topics"


def test_without_nuggets_the_heat_map_still_reads(show, data):
    data["coverage"] = None
    page = show(data)
    heat_cell(page, "beta", 0).click()
    assert page.locator("#heat-status").inner_text() == "beta, topic 1 (tides), gain 0.9000"


def test_links_open_closed_sections(show):
    page = show()
    toggle(page, "#details > summary")
    assert not page.get_by_text("Doe 2001").is_visible()
    page.locator("nav a", has_text="Details").click()
    assert page.get_by_text("Doe 2001").is_visible()


# ---- For everybody ----


def test_nothing_in_the_data_becomes_markup(show, data):
    for run in data["runs"]:
        run.update(name=HOSTILE, group=HOSTILE)
    for topic in data["topics"]:
        topic["title"] = HOSTILE
    for topic in data["coverage"]["topics"]:
        topic["units"], topic["texts"] = [HOSTILE] * 2, [HOSTILE] * 2
        for nugget in topic["nuggets"]:
            nugget.update(id=HOSTILE, text=HOSTILE, importance=HOSTILE)
    for measure in data["measures"]:
        measure.update(name=HOSTILE, definition=HOSTILE, citation=HOSTILE)
    for table in data["boards"]:
        table.update(label=HOSTILE, notes=[HOSTILE])
        for row in table["rows"]:
            for cell in row["cells"]:
                cell.update(mark="▲", meaning=HOSTILE)
    data["coverage"]["caption"] = data["title"] = HOSTILE
    data["warnings"] = [HOSTILE]
    data["pairwise"][0].update(test=HOSTILE, correction=HOSTILE)
    data["figures"][0].update(id=HOSTILE, title=HOSTILE, caption=HOSTILE)
    data["correlations"] = [{"title": HOSTILE, "caption": HOSTILE, "header": [HOSTILE], "rows": [[HOSTILE]]}]
    page = show(data)
    for section in ("topics", "nuggets", "pairwise"):
        near(page, section)
        page.locator(f"#{section} tbody td").nth(1).hover()
    page.locator("#board-table thead button").last.hover()
    assert page.locator("img, main b b, script").count() == 2
    assert page.evaluate("window.harmed") is None
    assert page.locator(f"{BOARD} th").first.text_content() == HOSTILE
    assert page.locator("#nugget-panel .nugget").text_content() == HOSTILE


def test_nothing_in_a_trace_becomes_markup(show, data):
    traces = data["traces"]
    traces.update(run=HOSTILE, caption=HOSTILE)
    trace = traces["topics"][0]
    trace["questions"] = [{"id": HOSTILE, "text": HOSTILE}]
    trace["gold"] = [{"id": HOSTILE, "text": HOSTILE, "question": HOSTILE}]
    trace["rows"] = [{"rank": 1, "unit": HOSTILE, "ratings": [3], "adds": [HOSTILE]}]
    assert HOSTILE not in render_page(data)
    page = show(data)
    open_trace(page)
    page.locator(f"{TRACE} td").hover()
    assert page.locator("#trace-status").text_content() == f"Rank 1, {HOSTILE}, {HOSTILE} ({HOSTILE}): 3, adds"
    assert page.locator("#trace > summary").text_content() == f"How {HOSTILE} was made"
    assert page.locator("#trace .caption").text_content() == HOSTILE
    assert page.locator("#trace-questions li").text_content() == f"{HOSTILE} {HOSTILE}"
    assert page.locator("#trace-gold tbody td").all_text_contents() == [HOSTILE, f"{HOSTILE} {HOSTILE}"]
    assert page.locator(f"{TRACE} th").text_content() == f"1 {HOSTILE}"
    assert page.locator("#trace img").count() == 0
    assert page.evaluate("window.harmed") is None


def test_the_tab_key_reaches_everything_and_is_never_trapped(show):
    page = show()
    page.evaluate("document.getElementById('trace').open = true")
    page.evaluate("window.seen = new Set(); undefined")
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body || window.seen.has(document.activeElement)"):
            break
        ringed = page.evaluate(
            "() => { window.seen.add(document.activeElement); return getComputedStyle(document.activeElement).outlineStyle; }"
        )
        assert ringed == "solid"
    else:
        pytest.fail("the focus never left the page")
    missed = page.evaluate(
        """() => [...document.querySelectorAll('a, button, select, input, summary, [tabindex="0"]')]
        .filter((one) => one.tabIndex >= 0 && one.checkVisibility() && !window.seen.has(one)).map((one) => one.outerHTML)"""
    )
    assert missed == []
    tables = page.evaluate("[...window.seen].map(one => one.closest('table')?.id).filter(Boolean)")
    assert {
        name: tables.count(name) for name in ("heat-table", "nugget-table", "trace-table", "pair-table")
    } == dict.fromkeys(("heat-table", "nugget-table", "trace-table", "pair-table"), 1)
    assert tables.count("board-table") == 5


def test_every_control_has_a_name(show):
    nameless = show().evaluate(
        """() => [...document.querySelectorAll('button, select, input, [role=region]')]
        .filter((one) => !(one.matches('button') && one.innerText.trim()) && !one.labels?.length && !one.ariaLabel)
        .filter((one) => one.checkVisibility()).map((one) => one.outerHTML)"""
    )
    assert nameless == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_on_every_colour(show, scheme):
    page = show(color_scheme=scheme)
    for section in ("topics", "nuggets", "pairwise"):
        near(page, section)
    open_trace(page)
    faint = page.evaluate(
        """() => {
        const brush = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
        const shade = (colour) => {
          brush.fillStyle = colour;
          brush.fillRect(0, 0, 1, 1);
          const [r, g, b] = [...brush.getImageData(0, 0, 1, 1).data].map((part) => part / 255)
            .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ground = (one) => {
          const { backgroundColor, backgroundImage } = getComputedStyle(one);
          return backgroundColor === 'rgba(0, 0, 0, 0)' && one.parentElement ? ground(one.parentElement) : backgroundColor;
        };
        const contrast = (one) => {
          const [dark, pale] = [shade(getComputedStyle(one).color), shade(ground(one))].sort((a, b) => a - b);
          return (pale + 0.05) / (dark + 0.05);
        };
        const steps = Array.from({ length: 11 }, (_, step) => {
          const cell = document.createElement('td');
          cell.className = `q${step}`;
          document.querySelector('#heat-table tbody tr').append(cell);
          cell.append('0.5');
          return cell;
        });
        const worded = [...document.querySelectorAll('body :not(script, style, svg *, option)')]
          .filter((one) => one.checkVisibility() && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
        return [...steps, ...worded].filter((one) => contrast(one) < 4.5).map((one) => `${one.className} ${one.outerHTML} ${contrast(one)}`);
        }"""
    )
    assert faint == []


def test_a_narrow_window_does_not_scroll_sideways(show):
    page = show(width=400, height=800)
    open_trace(page)
    for section in ("leaderboard", "topics", "nuggets", "trace", "figures", "pairwise", "details"):
        near(page, section)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 400
    cut = page.evaluate(
        """() => [...document.querySelectorAll('body *')]
        .filter((one) => one.checkVisibility() && !one.closest('.skip, .unseen, svg') && !one.parentElement.closest('.scroller, .card'))
        .filter((one) => one.getBoundingClientRect().right > 400).map((one) => one.outerHTML)"""
    )
    assert cut == []


def test_paper_has_the_tables_whole_and_no_controls(show):
    page = show()
    toggle(page, "#details > summary")
    page.emulate_media(media="print")
    eventually(page, lambda: page.locator("details:not([open])").count() == 0)
    assert page.locator(".controls:visible, nav:visible, .control:visible, #nugget-panel:visible").count() == 0
    assert page.locator("#heat-table:visible, #nugget-table:visible, #pair-table:visible, svg:visible").count() == 5
    assert page.locator("#trace-table:visible, #trace > summary:visible").count() == 2
    assert (
        page.locator("#nugget-list, #trace").get_by_text("The moon pulls.").all_inner_texts() == ["The moon pulls."] * 2
    )
    overflow = page.locator(".scroller").evaluate_all("all => all.map(one => getComputedStyle(one).overflow)")
    assert set(overflow) == {"visible"}
    page.emulate_media(media="screen")
    eventually(page, lambda: page.locator("#details:not([open])").count() == 1)


def test_paper_is_white_in_the_dark(show):
    page = show(color_scheme="dark")
    page.locator("#theme").click()
    page.locator("#theme").click()
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_hundred_runs_on_three_hundred_topics_stay_usable(show):
    data = large(runs=100, topics=300, nuggets=20, units=60)
    assert len(render_page(data).encode()) < 15_000_000
    page = show(data)
    header(page, "measure 3").click()
    best = max(range(100), key=lambda run: sum(data["values"][3][run]))
    assert ranking(page)[0] == f"run {best}"
    assert not page.locator("#heat-table").is_visible()
    toggle(page, "#topics > summary")
    page.locator(HEAT).first.locator("td").nth(5).click()
    expect_text(page, "#topic-title", "Topic 5")
    assert page.locator(f"{MATRIX} td").count() == 100 * 21
    assert page.evaluate("document.activeElement.innerText") == f"run {best}"


def test_the_report_of_the_demonstration_works(show):
    page = show(made=ROOT / "reports" / "report.html", address="#topic=tides")
    assert len(ranking(page)) == 8
    assert ranking(page)[-1] == "demo-shuffled"
    header(page, "nDCG@5").click()
    eventually(page, lambda: ranking(page)[0] == "lancer-oracle-soft-cov")
    expect_text(page, "#nuggets", "Topic tides")
    assert len(texts(page, MATRIX)) >= 8
    assert "How lancer-sum.trace (sum) was made" in page.locator("#nuggets").inner_text()
    assert page.locator("svg").count() == 1
