"""Evidence of every form is shown, and long evidence is cut with a count."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify.witnesses.mixture import Draw, End, Event, See, mixture_body
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import encode_value
from dpaudit.core.views import PUBLIC, View
from dpaudit.distributions.continuous import Laplace
from dpaudit.report.exhibits import MAX_NODES, MAX_SITES, Exhibit, TreeNode, exhibit
from tests.report.dom import Node, parse
from tests.report.sample import leaf, page_of, site, transcript, typed_row


def nodes(tree: TreeNode) -> Iterator[TreeNode]:
    yield tree
    for premise in tree.premises:
        yield from nodes(premise)


def certificate(tree: dict[str, Any], **fields: Any) -> dict[str, Any]:
    base = {"evidence": "certificate", "quantity": "epsilon", "bound": "1/2", "tree": tree, "assumptions": []}
    return base | fields


def shown_of(evidence: dict[str, Any]) -> Exhibit:
    """What the page shows of evidence in JSON."""
    (item,) = typed_row({"evidence": [evidence]}).evidence
    return exhibit(item)


def test_rules_keep_their_order_and_numbers() -> None:
    """A certificate's tree shows rules, parameters and premises in the kernel's order."""
    tree = {
        "rule": "sequential",
        "parameters": {"times": ["2", "1"]},
        "premises": [leaf("a", s="1/3"), leaf("b")],
    }
    shown = shown_of(certificate(tree))
    assert shown.headline == "ε ≤ 1/2"
    assert [n.rule for n in nodes(shown.trees[0])] == ["sequential", "a", "b"]
    assert shown.trees[0].parameters == (("times", "[2, 1]"),)
    assert shown.trees[0].premises[0].parameters == (("s", "1/3"),)


def test_proved_and_accounted_differ() -> None:
    """A certificate without assumptions is called proved, one with assumptions is not."""
    assert shown_of(certificate(leaf("a"))).description.startswith("Proved")
    assumed = shown_of(certificate(leaf("a"), assumptions=["one release per record"]))
    assert assumed.description.startswith("Accounted")
    assert assumed.assumptions == ("one release per record",)


def test_wide_and_deep_trees_are_cut_with_a_count() -> None:
    """The page shows a bounded part of any tree, with the number of premises left out."""
    wide = shown_of(certificate(leaf("top") | {"premises": [leaf("a")] * 5000})).trees[0]
    assert len(list(nodes(wide))) == MAX_NODES
    assert wide.left_out + len(wide.premises) == 5000
    deep = leaf("bottom")
    for _ in range(400):
        deep = leaf("step") | {"premises": [deep]}
    cut = list(nodes(shown_of(certificate(deep)).trees[0]))
    assert len(cut) < 40
    assert cut[-1].left_out == 1


def witness_of(sites: list[dict[str, Any]]) -> dict[str, Any]:
    return transcript(Fraction(1), sites, "a pair").to_json()


def test_long_witnesses_show_the_sites_that_count() -> None:
    """The 40 of 200 sites with the largest losses are shown in the run's order, and the rest is counted."""
    one, other = Laplace(scale=1).to_json(), Laplace(scale=2).to_json()
    sites = [site(f"s{i}", one, other, float(i % 7)) for i in range(200)]
    shown = shown_of(witness_of(sites))
    assert len(shown.sites) == MAX_SITES
    assert shown.left_out == "160 more sites in the JSON report."
    # log 2 - x/2 is largest in size at x = 6, then at x = 5: 28 and 12 of these.
    assert {line.value for line in shown.sites} == {"5", "6"}
    order = [int(line.site[1:]) for line in shown.sites]
    assert order == sorted(order)


@pytest.mark.parametrize("value", [0.25, -3.0, 40.0])
def test_losses_are_recomputed(value: float) -> None:
    """The loss of a site is the log-ratio of its two distributions at its value."""
    (line,) = shown_of(
        witness_of([site("s", Laplace(scale=1).to_json(), Laplace(scale=2).to_json(), value)])
    ).sites
    assert float(line.loss.replace("−", "-")) == pytest.approx(math.log(2) - abs(value) / 2, rel=1e-5)


@pytest.mark.parametrize(
    "distribution", [{"law": "unheard of"}, {"law": "laplace"}, {"law": "laplace", "scale": "-1"}, 3, None]
)
def test_distributions_that_cannot_be_read_have_no_loss(distribution: Any) -> None:
    """A site with an unknown or broken distribution is shown without a number, and breaks nothing."""
    broken = site("s", {"law": "laplace", "scale": "1"}, distribution, 1.0)
    (line,) = shown_of(witness_of([broken])).sites
    assert line.loss == "–"


def test_sessions_of_a_channel_are_one_line() -> None:
    """An interactive channel shows its kernel, queries and outcomes on both inputs."""
    session = {
        "site": "sparse vector",
        "to": ["public"],
        "kernel": {"kernel": "above-threshold", "scale": "2"},
        "kernel_neighbour": {"kernel": "above-threshold", "scale": "2"},
        "queries": [{"int": "1"}, {"int": "2"}],
        "queries_neighbour": [{"int": "2"}, {"int": "3"}],
        "outcomes": [False, True],
    }
    (line,) = shown_of(witness_of([session])).sites
    assert line.distribution.endswith("asked [1, 2]")
    assert line.neighbour.endswith("asked [2, 3]")
    assert line.value == "[no, yes]"


def test_mixtures_show_hidden_draws_and_what_follows() -> None:
    """A mixture's events are trees of hidden draws, output values, and whether the path is in the event."""
    distribution = Laplace(scale=2)
    seen = See(site="answer", to=frozenset([PUBLIC]), distribution=distribution, then=End(reached=True))
    drawn = Draw(site="rounding", distribution=distribution, branches=[(0, seen), (1, End(reached=False))])
    body = mixture_body([Event(values=[0.5], recorded=drawn, neighbour=seen)], view=View.of(PUBLIC))
    found = Witness(
        quantity="delta", bound=Fraction(1, 8), form="mixture", body=body, origin="enumerated", description=""
    )
    shown = shown_of(found.to_json())
    assert shown.headline == "δ ≥ 1/8"
    assert [node.rule for node in nodes(shown.trees[0])] == [
        "event",
        "on the recorded input",
        "hidden draw: rounding",
        "drawn",
        "output: answer",
        "in the event",
        "drawn",
        "not in the event",
        "on the neighbour",
        "output: answer",
        "in the event",
    ]


def test_leaks_show_both_inputs() -> None:
    """A leak has an infinite loss, and the values on both inputs are shown."""
    leak = {"what": "value", "recorded": encode_value(3), "neighbour": encode_value(None)}
    body = {"view": {"principals": ["public"], "complement": False}, "sites": [], "leak": leak}
    found = Witness(
        quantity="epsilon", bound=None, form="leak", body=body, origin="sampled", description="size"
    )
    shown = shown_of(found.to_json())
    assert shown.headline == "ε ≥ ∞"
    assert shown.details == (("leak of", "value"), ("on one input", "3"), ("on its neighbour", "–"))


def test_every_form_is_rendered() -> None:
    """Evidence of every form gives a page of balanced tags."""
    deep = certificate(leaf("top") | {"premises": [leaf("a")] * 500})
    long = witness_of(
        [site(f"s{i}", Laplace(scale=1).to_json(), Laplace(scale=2).to_json(), 1.0) for i in range(60)]
    )
    page = parse(page_of({"results": [{"id": "x", "evidence": [deep, long]}]}))
    assert len(page.find("div", "exhibit")) == 2
    assert "201 more in the JSON report" in page.words()
    assert "20 more sites in the JSON report." in page.words()


def _mixture(outcomes: int) -> dict[str, Any]:
    """Return a witness with output 'sum' = 1 after one of ``outcomes`` hidden draws."""
    end: dict[str, Any] = {"see": "sum", "law": {"law": "laplace", "scale": "1"}, "then": {"end": True}}
    branches = [{"value": {"int": str(i)}, "then": end} for i in range(outcomes)]
    tree = {"draw": "coin", "law": {"law": "bernoulli", "p": "1/2"}, "branches": branches}
    events = [{"values": [{"int": "1"}], "recorded": tree, "neighbour": tree}]
    body = {"view": None, "events": events}
    return {"evidence": "witness", "quantity": "epsilon", "bound": "1", "form": "mixture", "body": body} | {
        "origin": "forced",
        "description": "",
    }


def _page_of(evidence: dict[str, Any]) -> Node:
    result = {"id": "A", "evidence": [evidence], "verdict": "refuted"}
    return parse(page_of({"results": [result]}))


def test_a_tree_is_folded_at_ten_lines() -> None:
    """Ten lines of a tree are open and the others folded, each at its depth."""
    found = shown_of(_mixture(6))
    assert len(found.tree) == len(list(nodes(found.trees[0]))) == 41
    (shown,) = _page_of(_mixture(6)).find("div", "exhibit")
    (first, rest) = shown.find("ul", "tree")
    assert [len(part.find("li")) for part in (first, rest)] == [10, 31]
    assert [line.attributes["class"] for line in first.find("li")][:5] == [f"in-{i}" for i in range(5)]
    fold = rest.parent
    assert fold is not None
    assert fold.find("summary")[0].words() == "31 more lines of the tree"
    assert "open" not in fold.attributes
    (short,) = _page_of(certificate(leaf("a"))).find("ul", "tree")
    assert len(short.find("li")) == 1
    deepest = shown_of(certificate(_chain(60))).tree
    style = "".join(_page_of(certificate(leaf("a"))).find("style")[0].text)
    assert all(f".in-{line.depth} {{" in style for line in deepest[1:])


def _chain(length: int) -> dict[str, Any]:
    tree = leaf("a")
    for _ in range(length):
        tree = leaf("b") | {"premises": [tree]}
    return tree


def test_events_are_described() -> None:
    """A mixture's event names its sites, a transcript the values, and a leak both inputs."""
    assert shown_of(_mixture(2)).event == "the output is sum = 1"
    (shown,) = _page_of(_mixture(2)).find("p", "event")
    assert "the output is sum = 1" in shown.words()
    bare = _mixture(1)
    bare["body"]["events"][0]["values"] = []
    assert shown_of(bare).event == ""
    sites = [{"site": f"s{i}", "value": {"int": str(i)}} for i in range(5)]
    event = shown_of(bare | {"form": "transcript", "body": {"sites": sites}}).event
    assert event == "the values are s0 = 0, s1 = 1, s2 = 2 and 2 more"
    leak = {"what": "value", "site": "sum", "recorded": {"int": "3"}, "neighbour": {"int": "4"}}
    event = shown_of(bare | {"form": "leak", "body": {"leak": leak}}).event
    assert event == "value at sum is 3, which never occurs on the neighbour: there it is 4"
    assert shown_of(bare | {"form": "divergence", "body": {"a": 1}}).event == ""
    for odd in (7, [3], [{"values": 3, "recorded": {"branches": [4]}}], [{"values": [1], "recorded": "x"}]):
        assert isinstance(shown_of(bare | {"body": {"events": odd}}).event, str)
