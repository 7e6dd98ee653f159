"""The page as a whole: well-formed, offline, ordered, complete, the same every time, and fast."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import random
import re
import time
import zlib
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dpaudit.core import plots
from dpaudit.core.claims import ApproxDP, Controls, ErrorRate
from dpaudit.core.evidence import Certificate, Estimate
from dpaudit.core.suite import ROLES
from dpaudit.report.file.document import to_text
from dpaudit.report.markdown import markdown_table
from dpaudit.report.notation import signs
from dpaudit.report.roles import STRENGTHS, VERDICTS
from dpaudit.report.rows import attention
from dpaudit.report.terminal import details, result_line, summary
from tests.report.dom import Node, parse
from tests.report.sample import many_rows, page_of, row, sample_report, typed, typed_row

EMPTY: dict[str, Any] = {"schema_version": 6, "results": [], "unchecked": []}


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(sample_report())


@pytest.fixture(scope="module")
def dom(page: str) -> Node:
    return parse(page)


def order(report: dict[str, Any]) -> list[str]:
    """The ids of the claims' table, from top to bottom."""
    return [row.attributes["data-name"] for row in parse(page_of(report)).find("tr", "row")]


def test_the_sample_is_a_report() -> None:
    """The sample fits the report schema, so what these tests render is what a run writes."""
    assert json.loads(to_text(sample_report()))["results"]


def test_tags_balance(dom: Node) -> None:
    """Every element closes in order, no attribute repeats, no block stands inside a paragraph."""
    assert [node.tag for node in dom.children] == ["html"]
    assert [node.tag for node in dom.children[0].children] == ["head", "body"]


@pytest.mark.parametrize(
    "broken", ["<p><div></div></p>", "<b><i></b></i>", "<div>", '<a b="1" b="2"></a>', "<div/>"]
)
def test_the_reader_is_strict(broken: str) -> None:
    """Negative control: the parser of these tests does refuse what is wrong."""
    with pytest.raises(ValueError, match="<"):
        parse(broken)


def test_pictures_are_well_formed(page: str) -> None:
    """Every outermost picture is XML by itself, so that it can be saved as a file."""
    pictures = re.findall(r"<svg(?:(?!<svg).)*?</svg>", page, flags=re.S)
    assert len(pictures) > 40
    for picture in pictures:
        ElementTree.fromstring(picture)


def test_nothing_comes_from_elsewhere(page: str, dom: Node) -> None:
    """No attribute or style of the page can load a resource, and no address stands in it."""
    loading = {"src", "srcset", "data", "action", "formaction", "poster", "background", "xlink:href", "style"}
    for node in dom.walk():
        assert node.tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "use", "image"}
        assert not loading & node.attributes.keys()
        assert node.attributes.get("href", "#").startswith("#")
    style = "".join(dom.find("style")[0].text)
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(r"(https?:)?//[a-z]", page.replace("// ", ""))


def test_the_policy_admits_only_what_the_page_carries(dom: Node) -> None:
    """The content policy names the hashes of the page's one script and one style sheet, and nothing else."""
    (meta,) = [n for n in dom.find("meta") if n.attributes.get("http-equiv") == "Content-Security-Policy"]
    digests = []
    for tag in ("style", "script"):
        (node,) = dom.find(tag)
        digest = hashlib.sha256("".join(node.text).encode()).digest()
        digests.append(f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'")
    assert meta.attributes["content"].startswith("default-src 'none'; " + "; ".join(digests))
    assert "unsafe" not in meta.attributes["content"]


def test_links_lead_to_claims(dom: Node) -> None:
    """Anchors are unique, and every link of the page leads to one."""
    anchors = [node.attributes["id"] for node in dom.walk() if "id" in node.attributes]
    assert (
        len(anchors) == len(set(anchors)) == 24
    )  # the rows, two claims, what nobody can check, the glossary
    targets = {node.attributes["href"][1:] for node in dom.find("a")} - {"top", "glossary"}
    assert targets <= set(anchors)
    assert len(targets) == 19


def test_equal_ids_get_anchors_of_their_own() -> None:
    """Equal ids of two papers get different anchors, and no id takes an anchor of the page itself."""
    report = sample_report()
    report["results"] = [dict(report["results"][0], paper=paper) for paper in ("A", "B", "C")]
    found = parse(page_of(report)).find("details", "claim")
    assert [node.attributes["id"] for node in found] == ["Thm-1", "Thm-1-2", "Thm-1-3"]
    names = ("claim.1", "claim.1/x", "Pack.1", "lines.1", "glossary")
    report["results"] = [dict(report["results"][0], id=name) for name in names]
    page = parse(page_of(report))
    anchors = [n.attributes["id"] for n in page.walk() if "id" in n.attributes]
    assert len({anchor.lower() for anchor in anchors}) == len(anchors) == 6 + 1


def test_what_needs_attention_comes_first() -> None:
    """Rows are ordered by crash, expectation, role, verdict and strength."""
    expected = [
        *["Alg 4", "Alg 2", "Lemma 12", "Lemma 13", "Thm 7/controls", "Fact 3", "Thm 7", "Thm 8"],
        *["Thm 1", "Fact 1", "Fig 1", "Thm 2", "Lemma 5", "Prop 6", "Thm 1/accounting", "Cor 5", "Prop 4"],
        *["Thm 7/lost", "Thm 7/repaired"],
    ]
    report = sample_report()
    assert order(report) == expected
    random.Random(3).shuffle(report["results"])
    assert order(report) == expected


def test_order_of_one_row_each() -> None:
    """The sort key puts every verdict and strength in its place, and numbers in ids by value."""

    def result(
        name: str, verdict: str, strength: str = "none", *, expected: bool = True, accepted: bool = True
    ) -> dict[str, Any]:
        return {
            "id": name,
            "paper": "",
            "verdict": verdict,
            "strength": strength,
            "expect": verdict if expected else "inconclusive",
            "as_expected": expected,
            "accepted": accepted,
        }

    rows = [
        result("a", "crashed", expected=False),
        result("b", "refuted", "witness", expected=False),
        result("c", "verified", "proved", expected=False),
        result("d", "verified", "tested", accepted=False),
        result("e", "refuted", "witness"),
        result("f", "inconclusive"),
        result("g", "consistent", "accounted"),
        result("h", "verified", "tested"),
        result("i 2", "verified", "proved"),
        result("i 10", "verified", "proved"),
    ]
    shuffled = random.Random(5).sample(rows, len(rows))
    assert [row.id for row in sorted(map(typed_row, shuffled), key=attention)] == [
        "a",
        "b",
        "c",
        "d",
        "e",
        "f",
        "g",
        "h",
        "i 2",
        "i 10",
    ]


def test_headlines_count_each_role_alone(dom: Node) -> None:
    """The headline counts stated claims only, other roles have lines, and the banner unexpected rows."""
    assert dom.find("h2", "headline")[0].words() == "Stated claims: 15"
    counts = [int(item.find("b")[0].words()) for item in dom.find("ul", "totals")[0].children]
    assert counts == [7, 1, 2, 4, 1, 2]
    lines = {
        line.find("th")[0].words(): line for line in dom.find("table", "roles")[0].find("tbody")[0].children
    }
    others = {name: [cell.words() for cell in line.find("td")] for name, line in lines.items()}
    assert others == {  # rows, verified, consistent, inconclusive, refuted, crashed
        "Proof steps": ["1", "1", "·", "·", "·", "·"],
        "Repairs": ["1", "1", "·", "·", "·", "·"],
        "What-ifs": ["1", "·", "·", "·", "1", "·"],
        "Controls": ["1", "·", "·", "1", "·", "·"],
    }
    assert sum(counts[:5]) + len(others) == len(dom.find("tr", "row"))
    assert dom.find("p", "banner")[0].words() == "5 of 19 rows are not as expected."


def false_table(dom: Node, paper: str = "") -> list[list[str]]:
    """Return the false rows of a paper (or of all): id, by how much, and repairs that hold."""
    lines = []
    for section in dom.find("section", "findings"):
        if not paper or paper in section.find("h2")[0].words():
            for line in section.find("table", "false"):
                for row in line.find("tbody")[0].children:
                    what, much, mends = row.children
                    holds = [node.find("a")[0].words() for node in mends.find("span", "holds")]
                    lines.append([what.find("a")[0].words(), much.words(), *holds])
    return lines


def test_findings_come_first(dom: Node) -> None:
    """Each paper's findings come before the table: what it states, what is false, and repairs that hold."""
    (main,) = dom.find("main")
    assert [n.attributes["class"] for n in main.children[:2]] == ["findings", "findings"]
    online = next(n for n in main.children if "Online Learning" in n.find("h2")[0].words())
    assert "10 stated claims and 1 proof step." in online.words()
    assert "1 more cannot be checked by computation." in online.words()
    came = [item.words() for item in online.find("ul", "came")[0].children]
    assert came[0].startswith("Stated claims hold: 3 (3 tested)")
    assert "Stated claims consistent: 1 (1 accounted)" in came
    assert "Proof steps hold: 1 (1 proved)" in came
    found = {line[0]: line[1:] for line in false_table(dom)}
    assert list(found) == ["Alg 2", "Fact 3", "Thm 7", "Thm 8"]
    assert [name for name, line in found.items() if len(line) > 1] == ["Thm 7"]
    assert found["Thm 7"][1:] == ["Thm 7/repaired"]
    claims = {r["id"]: r for r in sample_report()["results"]}
    for name, line in found.items():
        assert f"claimed {'≥' if claims[name]['claim']['type'] == 'lower-bound' else '≤'}" in line[0]


def test_a_refuted_what_if_is_no_falsehood(dom: Node) -> None:
    """A refuted what-if is shown as outside the stated conditions, and never as false."""
    outside = dom.find("details", "outside")[0]
    assert "outside the stated conditions, false: messages that may be lost" in outside.find("li")[0].words()
    section = next(n for n in dom.find("details", "claim") if n.attributes["id"] == "Thm-7-lost")
    assert section.find("span", "chip")[0].words().startswith("does not extend")
    assert "False" not in section.words()


def test_false_steps_stand_under_a_heading_of_their_own() -> None:
    """False claims are open, false steps folded, and each repair belongs to its own row."""
    report = sample_report()
    (refuted,) = [row for row in report["results"] if row["id"] == "Thm 7"]
    (mended,) = [row for row in report["results"] if row["id"] == "Thm 7/repaired"]
    report["results"] = [
        *(dict(refuted, id=name) for name in ("B/large", "B", "A/second", "A/first")),
        *(dict(refuted, id=name, role="step") for name in ("B/step", "C")),
        *(dict(mended, id=name) for name in ("B/large/repaired", "B/other/repaired")),
        dict(mended, id="B/repaired", verdict="inconclusive"),
        dict(refuted, id="B", paper="another"),
    ]
    dom = parse(page_of(report))
    section, _ = dom.find("section", "findings")
    claims, steps = section.find("table", "false")
    heads = [table.find("th")[0].words() for table in (claims, steps)]
    assert heads == ["Stated claims that are false", "Proof steps that are false"]
    assert steps.parent is not None
    assert steps.parent.parent is not None
    assert steps.parent.parent.tag == "details"
    links = [[a.words() for a in row.find("a")] for row in claims.find("tbody")[0].children]
    assert links == [["A/first"], ["A/second"], ["B", "B/repaired"], ["B/large", "B/large/repaired"]]
    assert "(inconclusive)" in claims.words()
    assert len(claims.find("span", "holds")) == 1
    assert [line[0] for line in false_table(dom, "another")] == ["B"]


def test_what_needs_somebody_is_at_the_top(dom: Node) -> None:
    """Rows that crashed or were not accepted are listed first, with reasons."""
    (section,) = dom.find("header")[0].find("section", "urgent")
    listed = [item.find("a")[0].words() for item in section.find("li")]
    refused = [r["id"] for r in sample_report()["results"] if not r["accepted"]]
    assert sorted(listed) == sorted(refused)
    calm = sample_report()
    calm["results"] = [r for r in calm["results"] if r["accepted"]]
    assert parse(page_of(calm)).find("section", "urgent") == []


def test_a_claim_is_one_block(dom: Node) -> None:
    """A claim with several rows is one unit: its claim is open, its repair beside it, other roles folded."""
    groups = {n.find("b", "claim-id")[0].words(): n for n in dom.find("details", "group")}
    assert groups.keys() == {"Thm 1", "Thm 7"}
    group = groups["Thm 7"]
    assert "open" in group.attributes
    inside = {
        where: [n.attributes["id"] for n in group.find("div", where)[0].find("details", "claim")]
        for where in ("main", "beside")
    }
    assert inside == {"main": ["Thm-7"], "beside": ["Thm-7-repaired"]}
    assert "open" in group.find("div", "main")[0].find("details", "claim")[0].attributes
    folds = [(n.find("summary")[0].words(), "open" in n.attributes) for n in group.find("details", "fold")]
    assert folds == [("What-ifs: 1 does not extend", False), ("Controls: 1 inconclusive", True)]
    alone = next(n for n in dom.find("details", "unit") if n.attributes["id"] == "Prop-4")
    assert "claim" in alone.attributes["class"].split()
    assert "open" not in alone.attributes


def test_cells_are_one_table(dom: Node) -> None:
    """Each cell is a line with claimed number, bounds and verdict, and folded evidence."""
    section = next(n for n in dom.find("details", "claim") if n.attributes["id"] == "Thm-7-repaired")
    lines = section.find("tr", "cell")
    assert [line.find("th")[0].words() for line in lines] == [
        *["ε = 1", "ε = 1/5", "ε = 4"],
        "accounting does not decide",
    ]
    assert [line.find("td")[0].words() for line in lines] == ["ε ≤ 1", "ε ≤ 0.2", "ε ≤ 4", "ε ≤ 1"]
    assert all(line.find("span", "chip")[0].words() == "verifiedproved" for line in lines)
    assert [len(n.find("div", "exhibit")) for n in section.find("tr", "behind")] == [1, 1, 1, 1]
    controls = next(n for n in dom.find("details", "claim") if n.attributes["id"] == "Thm-7-controls")
    assert [n.words() for n in controls.find("table", "cells")[0].find("span", "badge")] == [
        "expected refuted"
    ]


def test_the_padding_of_a_cell_stops_at_the_tables_inside(dom: Node) -> None:
    """A witness folded below a cell has a table of its own, whose columns keep their distance."""
    style = "".join(dom.find("style")[0].text)
    assert ".cells tr.behind > td {" in style
    assert ".behind td {" not in style


def test_a_large_slack_is_shown_as_more_than_a_thousand() -> None:
    """The exact size of a slack above 1000 is left out of the table; a smaller one is shown."""
    report = sample_report()
    row = next(r for r in report["results"] if r["id"] == "Thm 1")
    for slack, shown in ((1000.5, ">1000×"), (3.25e14, ">1000×"), (1000.0, "1,000×"), (2.5, "2.5×")):
        report["results"] = [dict(row, slack=slack)]
        line = parse(page_of(report)).find("tr", "row")[0]
        assert line.find("td", "slack")[0].words() == shown


def test_every_claim_says_all_it_has(dom: Node) -> None:
    """For each result the section holds its sentence, verdict, reasons, notes, evidence, plots, command."""
    sections = {node.find("b")[0].words(): node for node in dom.find("details", "claim")}
    for result in sample_report()["results"]:
        section = sections[result["id"]]
        text = section.words()
        verdict = "does not extend" if result["role"] == "what-if" else result["verdict"]
        said = [signs(result["title"]), signs(result["claim"]["in_words"]), verdict, result["reproduce"]]
        for wanted in [*said, *result["notes"], *result["reasons"]]:
            assert " ".join(wanted.split()) in text
        parts = [result, *result["cells"]]
        assert len(section.find("div", "exhibit")) == sum(len(part["evidence"]) for part in parts)
        for cell in result["cells"]:
            for wanted in (cell["name"], cell["claim"]["in_words"], *cell["notes"], *cell["reasons"]):
                assert " ".join(wanted.split()) in text
        assert len(section.find("figure")) == len(result["plots"])
        assert section.find("code")[-1].words() == result["reproduce"]


def test_evidence_can_be_read(dom: Node) -> None:
    """A certificate shows its rules and assumptions, a witness its sites, an estimate its scope."""
    certificate = dom.find("div", "exhibit certificate")
    shown = next(n for n in certificate if "accounted" in n.words())
    assert [n.words() for n in shown.find("span", "rule-name")] == ["accounted", "laplace"]
    assert "scale = 2" in shown.words()
    assert "array sum at most 1" in shown.find("ul", "lines")[0].words()
    sites = dom.find("table", "sites")
    assert "epoch 1" in "".join(n.words() for n in sites)
    assert any("laplace(scale = 5/2)" in n.words() for n in sites)
    leak = next(n for n in dom.find("div", "exhibit witness") if "leak" in n.words())
    facts = [(d.find("dt")[0].words(), d.find("dd")[0].words()) for d in leak.find("dl")[1].children]
    assert {("on one input", "17"), ("on its neighbour", "18")} <= set(facts)
    assert any("5 instances, 4 values of ε" in n.words() for n in dom.find("div", "exhibit estimate"))


def test_a_computation_is_no_estimate_and_no_certificate() -> None:
    """A computation without samples is labelled as one, and shows the worst value and the claim."""
    claim = ErrorRate(text="the ratio is at most 1", claimed=1, quantity_name="ratio")

    def shown(kind: str, lower: float, upper: float, confidence: float = 1.0) -> str:
        found = Estimate(
            quantity="ratio",
            lower=lower,
            upper=upper,
            confidence=confidence,
            samples=3,
            method="ball arithmetic",
            scope="n = 1, 2, 3",
            covers_claim=True,
        )
        report = sample_report() | {"results": [row("X", "a ratio", kind, claim, [found], view="")]}
        return parse(page_of(report)).find("details", "claim")[0].words()

    for kind in ("structure", "tail"):
        for upper, verdict in ((0.5, "verified"), (2.0, "refuted")):
            text = shown(kind, upper, upper)
            assert f"{verdict} / tested" in text
            for words in ("from below", "from above", "points3", "computation"):
                assert words in text
            assert not re.search("certificate|attack|samples|estimate", text)
    assert "The worst value is 2, but the claim is at most 1." in shown("tail", 2, 2)
    assert "The worst value is at least 2, but the claim is at most 1." in shown("tail", 2, 3)
    sampled = shown("tail", 2, 3, confidence=0.99999)
    assert "samples3" in sampled
    assert "computed" not in sampled
    assert "False at this run's significance level: an estimate" in sampled


def test_a_refutation_by_computation_is_called_so_in_every_format() -> None:
    """Every format calls a certain refutation a computation, and one below confidence 1 an estimate."""
    for confidence, word in ((1.0, "computation"), (1 - 1e-7, "estimate")):
        found = Estimate(
            quantity="delta",
            lower=0.25,
            upper=None,
            confidence=confidence,
            samples=10**6,
            seed=1,
            method="bounds in balls",
            scope="one pair",
        )
        claim = ApproxDP(epsilon="1", delta="1/1000")
        result = row("X", "a bound", "privacy", claim, [found], view="public")
        assert result["strength"] == result["evidence"][0]["evidence"] == word
        report = sample_report() | {"results": [result | {"suite": "audits/online.py"}]}
        page = parse(page_of(report)).find("details", "claim")[0].words()
        assert f"refuted / {word}" in page
        assert ("at this run's significance level" in page) == (word == "estimate")
        assert f"**refuted / {word} (expected verified)**" in markdown_table(typed(report))
        assert f"refuted / {word}" in result_line(typed_row(result)).plain


def test_site_losses_are_those_of_the_distributions(dom: Node) -> None:
    """The loss of a site is log p(value) - log p'(value) of its two distributions."""
    row = next(
        r
        for n in dom.find("table", "sites")
        for r in n.find("tr")
        if r.find("td") and r.find("td")[0].words() == "epoch 0"
    )
    # log(1/2 e^{-1/8}) - log(1/4 e^{-1/16}) = log 2 - 1/16
    assert float(row.find("td")[-1].words()) == pytest.approx(np.log(2) - 1 / 16, abs=1e-5)


def test_unchecked_claims_are_listed(dom: Node) -> None:
    """Claims that no computation can check are on the page with reasons."""
    text = dom.find("section", "unchecked")[0].words()
    for item in sample_report()["unchecked"]:
        assert item["id"] in text
        assert item["reason"] in text


def test_stamps_are_shown(dom: Node) -> None:
    """Versions, hashes, seed and times of the run are on the page, as identifiers, not as rounded numbers."""
    text = dom.find("details", "stamps")[0].words()
    for wanted in ("2026-03-02T09:07:41+00:00", "0.7.1", "5d5d5d", "ababab", "2026", "0.015"):
        assert wanted in text


def test_the_header_says_what_was_run(dom: Node) -> None:
    """The header shows papers, profile, seed and significance level."""
    text = " ".join(n.words() for n in dom.find("header")[0].find("p"))
    for wanted in ("Sums in the shuffle model", "profile full", "seed 2026", "significance level 0.015"):
        assert wanted in text


def test_long_lists_of_reasons_are_folded() -> None:
    """Six reasons are shown, and the others are folded."""
    report = sample_report()
    reasons = [f"reason number {i}" for i in range(20)]
    report["results"] = [dict(report["results"][0], reasons=reasons)]
    section = parse(page_of(report)).find("details", "claim")[0]
    folded = next(n for n in section.find("details", "more") if n.find("summary")[0].words() == "14 more")
    assert [n.words() for n in folded.find("li")] == reasons[6:]


def test_script_is_for_comfort_only(dom: Node) -> None:
    """Without the script nothing is missing: only filters, copy buttons and their note are hidden."""
    hidden = {(n.tag, n.attributes.get("class")) for n in dom.walk() if "hidden" in n.attributes}
    assert hidden == {("div", "filters"), ("p", "none"), ("button", "copy")}


def test_empty_report() -> None:
    """A report without results is a page that says so."""
    dom = parse(page_of(EMPTY))
    assert "no results" in dom.find("p", "banner")[0].words()
    assert not dom.find("table", "verdicts")


def test_interrupted_run_is_announced() -> None:
    """A partial report says that it is partial."""
    dom = parse(page_of(sample_report() | {"complete": False}))
    assert "interrupted" in " ".join(n.words() for n in dom.find("p", "banner"))


def test_what_the_schema_leaves_open_is_shown() -> None:
    """Odd plots and bodies of evidence give a row with a sentence for each plot, and no error."""
    odd = {
        "id": "odd",
        "claim": {"constants": [1, ["a"], ["b", "1/2"]], "view": {"principals": ["x"], "complement": True}},
        "evidence": [
            {
                "evidence": "certificate",
                "quantity": "",
                "bound": "",
                "tree": {"premises": 3},
                "assumptions": [],
            },
            witness(sites=3, events=[1, {"values": 2}], leak=[]),
            witness(sites=[{"site": 1, "kernel": 2}], leak={"recorded": 1}),
        ],
        "plots": [{}, {"kind": "pie"}, {"kind": "bars", "labels": 3}],
    }
    dom = parse(page_of({"results": [{"id": "bare"}, odd]}))
    assert len(dom.find("tr", "row")) == 2
    assert len(dom.find("p", "problem")) == 3


def witness(**body: Any) -> dict[str, Any]:
    """A witness with this body."""
    texts = dict.fromkeys(("quantity", "form", "origin", "description"), "x")
    return {"evidence": "witness", "bound": None, "body": body, **texts}


def test_equal_reports_give_equal_bytes(page: str) -> None:
    """The page depends on the report alone."""
    assert page_of(sample_report()) == page
    assert page_of(json.loads(json.dumps(sample_report()))) == page


def test_rendering_leaves_the_report_alone() -> None:
    """The report is read, never changed."""
    report = sample_report()
    page_of(report)
    assert report == sample_report()


def unpacked(page: str) -> tuple[dict[str, str], list[str]]:
    """Return the markup of each unit by its anchor, and all lines of the table, once unpacked."""
    dom = parse(page)
    packs = {
        node.attributes["id"]: json.loads(zlib.decompress(base64.b64decode("".join(node.text))))
        for node in dom.find("script", "pack")
    }
    units = {
        node.attributes["id"]: packs[node.attributes["data-pack"]][int(node.attributes["data-part"])]
        for node in dom.find("details", "unit")
        if "data-pack" in node.attributes
    }
    (table,) = dom.find("table", "verdicts")
    shown = re.findall(r'<tr class="row".*?</tr>', page, flags=re.S)
    more = [line for name in table.attributes.get("data-more", "").split() for line in packs[name]]
    return units, [*shown, *more]


def test_packed_pages_hold_what_plain_pages_hold() -> None:
    """An unpacked page has the same claims and table lines as a plain page."""
    report = many_rows(260)
    plain, packed = page_of(report, inline=10**9), page_of(report, inline=0)
    units, lines = unpacked(packed)
    assert unpacked(plain) == ({}, [line.strip() for line in lines])
    assert len(lines) == 260
    assert len(packed) < 0.5 * len(plain)
    in_plain, in_packed = parse(plain), parse(packed)
    whole = {node.attributes["id"]: node for node in in_plain.find("details", "unit")}
    assert units.keys() == whole.keys()
    for anchor, markup in list(units.items())[::7]:
        assert parse(markup).words() in whole[anchor].words()
        assert len(list(parse(markup).walk())) > 20
    for css in ("findings", "urgent"):
        found = [[n.words() for n in dom.find("section", css)] for dom in (in_plain, in_packed)]
        assert found[0] == found[1] != []
    assert [n.words() for n in in_packed.find("noscript")] != []
    assert not any("open" in n.attributes for n in in_packed.find("details", "unit"))


def test_the_anchors_of_packed_rows_are_known() -> None:
    """Every row's anchor is named by the unit that holds it, so that a link into a packed page finds it."""
    packed = page_of(sample_report(), inline=0)
    dom = parse(packed)
    units, _ = unpacked(packed)
    for node in dom.find("details", "unit"):
        inside = [n.attributes["id"] for n in parse(units[node.attributes["id"]]).find("details", "claim")]
        assert node.attributes["data-has"].split() == (inside or [node.attributes["id"]])
    known = {name for node in dom.find("details", "unit") for name in node.attributes["data-has"].split()}
    assert known == {row.attributes["data-at"] for row in dom.find("tr", "row")}


def test_five_hundred_rows_in_seconds() -> None:
    """A report of 500 rows renders within 10 seconds of processor time (it takes about 1) and below 5 MB."""
    report = many_rows(500)
    start = time.process_time()
    page = page_of(report)
    assert time.process_time() - start < 10
    assert len(page.encode()) < 5_000_000
    _, lines = unpacked(page)
    assert len(lines) == 500


def test_rows_of_noisy_plots_stay_small() -> None:
    """Rows with two plots of four noisy lines of 600 points with bands take 30 kB each: 100 make 3 MB."""
    rng = np.random.default_rng(11)
    x = np.arange(600)
    lines = []
    for i in range(4):
        y = np.cumsum(rng.normal(size=x.size)) + 100 * i
        band = {"low": y - 5 - rng.random(x.size), "high": y + 5}
        lines.append(plots.series(name=f"learner {i}", x=x, y=y, **band))
    plot = plots.curves(title="regret", series=lines, x_title="T", y_title="regret")
    report = many_rows(15)
    for result in report["results"]:
        result["plots"] = [plot, plot]
    assert len(page_of(report).encode()) < 15 * 30_000


def test_a_repair_stands_beside_what_it_repairs_alone() -> None:
    """A repair is linked to the row it mends, and to no other row of the claim."""
    report = sample_report()
    by_id = {result["id"]: result for result in report["results"]}
    false, repair, true = by_id["Thm 7"], by_id["Thm 7/repaired"], by_id["Prop 4"]
    names = ["A", "A/b", "A/c", "A/d"]
    rows = [true | {"id": "A"}, false | {"id": "A/b"}, false | {"id": "A/c"}, true | {"id": "A/d"}]
    rows = [row | {"paper": repair["paper"]} for row in rows]
    dom = parse(page_of(report | {"results": [*rows, repair | {"id": "A/c/repaired"}]}))
    assert [(line[0], line[2:]) for line in false_table(dom)] == [("A/b", []), ("A/c", ["A/c/repaired"])]
    main = {n.find("b")[0].words(): n for n in dom.find("div", "main")[0].find("details", "claim")}
    assert [name for name in names if "open" in main[name].attributes] == ["A", "A/b", "A/c"]


# Refuted cells that do not decide


def _with_refuted_cell(**changes: Any) -> dict[str, Any]:
    """A verified row of the sample, with a refuted cell that does not decide, expected as it came out."""
    report = sample_report()
    row = next(r for r in report["results"] if r["verdict"] == "verified" and r["role"] == "printed")
    cell = next(c for r in report["results"] for c in r["cells"] if c["verdict"] == "refuted")
    cells = [cell | {"name": "beside", "deciding": False, "expect": "refuted"}]
    return report | {"results": [row | {"id": "A", "cells": cells, "as_expected": True} | changes]}


def test_a_refuted_cell_is_never_hidden() -> None:
    """The page, the terminal and Markdown show a refuted cell that does not decide its row."""
    report = _with_refuted_cell()
    dom = parse(page_of(report))
    (section,) = dom.find("section", "under")
    assert section.find("a")[0].attributes["href"] == "#A"
    assert "beside" in section.words()
    (row,) = dom.find("tr", "row")
    (claim,) = dom.find("details", "claim")
    for place in (row, claim.find("summary")[0]):
        assert [badge.words() for badge in place.find("span", "badge under")] == ["1 cell refuted"]
    assert any("Refuted in 1 cell that does not decide the row" in p.words() for p in claim.find("p"))
    (result,) = report["results"]
    assert "refuted in beside" in result_line(typed_row(result)).plain
    assert "Refuted under A, which is verified: beside" in details(typed(report)).plain
    suites = [report["suites"][0] | _suite_of(result)]
    assert "; refuted in beside" in markdown_table(typed(report | {"suites": suites}))


def _suite_of(result: dict[str, Any]) -> dict[str, Any]:
    return {"suite": result["suite"], "paper": result["paper"]}


def test_what_no_refuted_cell_stands_under_says_nothing() -> None:
    """Refuted rows and controls have no notice of refuted cells."""
    assert parse(page_of(_with_refuted_cell(verdict="refuted"))).find("section", "under") == []
    assert parse(page_of(_with_refuted_cell(cells=[]))).find("section", "under") == []
    controls = _with_refuted_cell(claim=Controls(text="all").to_json())
    assert parse(page_of(controls)).find("span", "badge under") == []


def test_one_sign_for_at_most() -> None:
    """``<=`` between spaces is shown as one sign in titles and claims only."""
    report = _with_refuted_cell(title="a <= b <=c", notes=["x <= y"])
    page = parse(page_of(report)).words()
    assert "a ≤ b <=c" in page
    assert "x <= y" in page


def test_the_glossary_is_reached_from_the_verdicts() -> None:
    """The glossary has every verdict, strength and role, and two links lead to it."""
    dom = parse(page_of(sample_report()))
    (glossary,) = [node for node in dom.walk() if node.attributes.get("id") == "glossary"]
    for word in (*VERDICTS, *STRENGTHS[1:], *ROLES, "lower", "upper"):
        assert word in glossary.words(), word
    assert len([link for link in dom.find("a") if link.attributes.get("href") == "#glossary"]) == 2


def privacy_row(upper: str, rule: str = "binomial", *, verdict: str = "") -> dict[str, Any]:
    """A row about delta = 1e-3 that a certificate with this rule bounds by ``upper``."""
    claim = ApproxDP(epsilon="1", delta="1/1000")
    tree = {"rule": rule, "parameters": {}, "premises": []}
    held = Certificate(quantity="delta", bound=Fraction(upper), tree=tree)
    found = row("Thm 9", "sums", "privacy", claim, [held])
    return {**found, "verdict": verdict or found["verdict"]}


def shown_slack(result: dict[str, Any]) -> tuple[str, str, str]:
    """Return the slack in the page's table, in the row's section, and at the end of a run."""
    report = {**sample_report(), "results": [result]}
    page = parse(page_of(report))
    end = [line for line in summary(typed(report)).plain.splitlines() if "half the claimed value" in line]
    said = page.find("details", "claim")[0].words()
    return page.find("td", "slack")[0].words(), said, "\n".join(end)


def test_slack_names_the_number_that_is_smaller() -> None:
    """A bound of 1e-5 on a claimed delta of 1e-3 is shown as 100 times smaller."""
    cell, said, end = shown_slack(privacy_row("1/100000"))
    assert cell == "100×"
    assert "room by a factor of 100" in said
    assert end.startswith("1 claim has ")
    assert end.endswith(": Thm 9 (delta at least 100 times smaller).")


def test_the_end_of_a_run_names_the_largest_slack() -> None:
    """One line counts the rows with slack, and names the row with the most."""
    powers = (1, 4, 2, 5, 3)
    rows = [{**privacy_row(f"1/{1000 * 10**n}"), "id": f"row {n}"} for n in powers]
    lines = summary(typed({**sample_report(), "results": rows})).plain.splitlines()
    (line,) = [line for line in lines if "half the claimed value" in line]
    assert line.startswith("5 claims have ")
    assert "such as row 5 (delta at least 100,000 times smaller)" in line


@pytest.mark.parametrize("verdict", ["inconclusive", "refuted", "crashed"])
def test_slack_is_for_verified_rows_alone(verdict: str) -> None:
    """The same bounds under another verdict show no slack anywhere."""
    cell, said, end = shown_slack(privacy_row("1/100000", verdict=verdict))
    assert (cell, end) == ("–", "")
    assert "leaves room" not in said


@pytest.mark.parametrize("rule", ["binomial-vectors", "vector-noise"])
def test_the_share_that_a_proof_leaves_out_is_no_slack(rule: str) -> None:
    """Rules that leave out a share of delta show no slack, at the top or below other rules."""
    result = privacy_row("1/1000000", rule)
    below = copy.deepcopy(result)
    [item] = below["evidence"]
    item["tree"] = {"rule": "sequential", "parameters": {}, "premises": [item["tree"]]}
    for found in (result, below):
        cell, said, end = shown_slack(found)
        assert (cell, end) == ("–", "")
        assert "leaves room" not in said


def test_bounds_that_only_the_cells_have_are_not_called_missing() -> None:
    """A row whose cells have the bounds refers to them and draws no picture."""
    found = next(r for r in sample_report()["results"] if r["id"] == "Lemma 5")
    bare = {**found, **dict.fromkeys(("lower", "upper", "lower_exact", "upper_exact", "slack"))}
    hollow = {**bare, "cells": [{**cell, "lower": None, "upper": None} for cell in bare["cells"]]}
    for result, refers in ((bare, True), (found, False), (hollow, False)):
        page = parse(page_of({**sample_report(), "results": [result]}))
        section = page.find("details", "claim")[0].words()
        assert ("see the cells" in section) is refers
        assert (page.find("td", "high")[0].words() == "see cells") is refers
        assert ("bounds: see the cells" in result_line(typed_row(result)).plain) is refers
        assert ("no upper bound" in page_of({**sample_report(), "results": [result]})) is (result is hollow)
