"""The corpus of forged reports, first part: forged evidence. ``careful`` ones make anew, by the judge's own
code, all that follows from it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpaudit.certify import build
from dpaudit.certify.witnesses.mixture import End, Event, See, mixture_body
from dpaudit.core.claims import ApproxDP, PureDP
from dpaudit.core.evidence import Witness
from dpaudit.core.views import PUBLIC
from dpaudit.distributions import Laplace, PointMass
from tests.cli.forged import remade

__all__ = ["EVIDENCE", "ONE", "Edit", "Forgery", "Rows", "at_site", "on", "proof_of", "within"]

Rows = dict[str, dict[str, Any]]
#: (report, its rows by id, a second real report) -> the forged text, or anything else where the report itself
#: was edited.
Edit = Callable[[dict[str, Any], Rows, dict[str, Any]], object]
#: An edit, and the word of ``CANNOT_KNOW`` under which ``verify`` alone lets it through; empty where it
#: refuses.
Forgery = tuple[Edit, str]


def on(row_id: str, **fields: Any) -> Edit:
    """Set fields of one row, and nothing that follows from them."""
    return lambda report, rows, other: rows[row_id].update(fields)


def within(row_id: str, change: Callable[[dict[str, Any]], object]) -> Edit:
    """Change the first piece of evidence of one row, and nothing else."""

    def edit(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
        change(rows[row_id]["evidence"][0])

    return edit


def careful(row_id: str, change: Callable[[dict[str, Any]], object]) -> Edit:
    """Change the first piece of evidence, and make anew all that follows from it."""

    def edit(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
        evidence = copy.deepcopy(rows[row_id]["evidence"])
        change(evidence[0])
        remade(report, row_id, evidence=evidence)

    return edit


def proof_of(claim: Any, scale: Any, **sizes: Any) -> dict[str, Any]:
    made = build.laplace_mechanism(sensitivity=1, scale=scale).certify(claim)
    return dict(json.loads(json.dumps(made.to_json()))) | sizes


ONE = PureDP(epsilon=1, domain="0 or 1")


def deepened(item: dict[str, Any]) -> None:
    tree = item["tree"]["premises"][0]
    for _ in range(200):
        tree = {"rule": "sequential", "parameters": {"times": ["1"]}, "premises": [tree]}
    item["tree"]["premises"] = [tree]


def at_site(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda item: change(item["body"]["sites"][0])


def _leak(recorded: Any, neighbour: Any) -> Edit:
    """Let the leak show these two encoded values."""
    return within("leak", lambda e: e["body"]["leak"].update(recorded=recorded, neighbour=neighbour))


def _certain_thrice(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
    """Three events, each of them certain by a distribution of its own."""
    claim = ApproxDP(epsilon=1, delta="1/10", domain="0 or 1")
    to, never = frozenset([PUBLIC]), End(reached=False)
    events = [
        Event(
            values=[k],
            recorded=See(site="s", to=to, distribution=PointMass(k), then=End(reached=True)),
            neighbour=never,
        )
        for k in range(3)
    ]
    about = {"quantity": "delta", "bound": Fraction(3), "origin": "enumerated", "description": "0 against 1"}
    made = Witness(**about, form="mixture", body=mixture_body(events, view=claim.view)).to_json()
    rows["witness"].update(
        claim=json.loads(json.dumps(claim.to_json())),
        evidence=[json.loads(json.dumps(made))],
        quantity="delta",
        claimed=0.1,
        lower=3.0,
        lower_exact="3",
        reasons=[],
    )


NEIGHBOUR = Laplace(scale=1).shift(-5.0).to_json()


EVIDENCE: dict[str, Forgery] = {
    # A certificate
    "a certificate's bound lowered": (within("proved", lambda e: e.update(bound="1/2")), ""),
    "a certificate's bound lowered, all made anew": (
        lambda report, rows, other: rows["proved"].update(
            evidence=[rows["proved"]["evidence"][0] | {"bound": "1/2"}],
            upper=0.5,
            upper_exact="1/2",
            slack=2.0,
        ),
        "",
    ),
    "a certificate's bound raised": (
        careful("proved", lambda e: e.update(bound="9/8")),
        "trees",  # a weaker statement than the program's, and a true one
    ),
    "a certificate's scale raised": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="2")),
        "trees",
    ),
    "a certificate of twice the noise, all made anew": (
        lambda report, rows, other: remade(report, "proved", evidence=[proof_of(ONE, 2)]),
        "trees",
    ),
    "a certificate's scale lowered": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="1/2")),
        "",
    ),
    "an assumption dropped": (within("accounted", lambda e: e.update(assumptions=[])), ""),
    "an assumption dropped and the strength raised": (
        lambda report, rows, other: rows["accounted"].update(
            evidence=[rows["accounted"]["evidence"][0] | {"assumptions": []}], strength="proved"
        ),
        "",
    ),
    "the accounting cut out of the tree, all made anew": (
        lambda report, rows, other: remade(report, "accounted", evidence=[proof_of(ONE, 2)]),
        "trees",
    ),
    "an assumption reworded": (within("accounted", lambda e: e["assumptions"].append("nothing")), ""),
    "a certificate for another claim": (
        within("proved", lambda e: e.update(proof_of(PureDP(epsilon=1, domain="a real number"), 1))),
        "",
    ),
    "a certificate for another quantity": (
        within("proved", lambda e: e.update(proof_of(ApproxDP(epsilon=1, delta="1/2"), 1))),
        "",
    ),
    "an unknown rule": (within("proved", lambda e: e["tree"]["premises"][0].update(rule="trust-me")), ""),
    "an unknown parameter": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(note="safe")),
        "",
    ),
    "a tree that is too deep": (within("proved", deepened), ""),
    "a huge number": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="1" + "0" * 19_000)),
        "",
    ),
    "an exponent beyond reason": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="1e99999")),
        "",
    ),
    "a negative scale": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="-1")),
        "",
    ),
    "a certificate as a witness": (within("proved", lambda e: e.update(evidence="witness")), ""),
    "a certificate taken away": (on("proved", evidence=[]), ""),
    "an unmet condition taken away": (on("open", obstacles=[]), ""),
    "an unmet condition taken away, all made anew": (
        lambda report, rows, other: remade(report, "open", obstacles=[], expect="verified"),
        "texts",
    ),
    # A witness
    "a witness's bound raised": (within("witness", lambda e: e.update(bound="5/2")), ""),
    "a witness's bound made infinite": (within("witness", lambda e: e.update(bound=None)), ""),
    "a witness's bound lowered, all made anew": (
        lambda report, rows, other: remade(
            report,
            "witness",
            evidence=[rows["witness"]["evidence"][0] | {"bound": "1/2"}],
            expect="inconclusive",
        ),
        "texts",
    ),
    "a witness's value moved": (
        within("witness", at_site(lambda s: s.update(value={"float": (1.0).hex()}))),
        "",
    ),
    "a witness's distribution swapped": (
        within("witness", at_site(lambda s: s.update(law=s["law_neighbour"], law_neighbour=s["law"]))),
        "",
    ),
    "a witness's distribution made worse, all made anew": (
        careful("witness", at_site(lambda s: s.update(law_neighbour=NEIGHBOUR))),
        "distributions",
    ),
    "a distribution that is a command": (
        within("witness", at_site(lambda s: s.update(law={"law": "os.system"}))),
        "",
    ),
    "a witness for another view": (within("witness", lambda e: e["body"].update(view=["server"])), ""),
    "a site that the view does not see": (within("witness", at_site(lambda s: s.update(to=["nobody"]))), ""),
    "a witness without its inputs": (within("witness", lambda e: e["body"].pop("inputs")), ""),
    "a witness with one input": (within("witness", lambda e: e["body"]["inputs"].pop("neighbour")), ""),
    "a witness with one input twice": (
        within("witness", lambda e: e["body"]["inputs"].update(recorded=e["body"]["inputs"]["neighbour"])),
        "",
    ),
    "a witness with other inputs": (
        within("witness", lambda e: e["body"]["inputs"].update(recorded=[{"int": "7"}])),
        "inputs",
    ),
    "a witness that was forced called sampled": (within("witness", lambda e: e.update(origin="dreamt")), ""),
    "a witness described otherwise": (
        within("witness", lambda e: e.update(description="1000 against 0")),
        "texts",
    ),
    "a witness without words": (within("witness", lambda e: e.update(description="")), ""),
    "a witness with more to say": (within("witness", lambda e: e["body"].update(remark="certain")), ""),
    "a leak without sites": (within("leak", lambda e: e["body"].pop("sites")), ""),
    "a leak without its site": (within("leak", lambda e: e["body"]["leak"].pop("site")), ""),
    "a leak of the same value": (
        within("leak", lambda e: e["body"]["leak"].update(recorded=e["body"]["leak"]["neighbour"])),
        "",
    ),
    "a leak of one integer spelled twice": (_leak({"int": "1"}, {"int": "01"}), ""),
    "a leak of one integer with a sign": (_leak({"int": "0"}, {"int": "-0"}), ""),
    "a leak of one float spelled twice": (
        _leak({"float": "0x1.0000000000000p+0"}, {"float": "0x1p0"}),
        "",
    ),
    "a leak of one fraction spelled twice": (_leak({"fraction": "1/2"}, {"fraction": "2/4"}), ""),
    "a leak of one array spelled twice": (
        _leak(
            {"array": "<f8", "shape": [1], "data": [{"float": (1.0).hex()}]},
            {"array": "<f8", "shape": [1], "data": [{"int": "1"}]},
        ),
        "",
    ),
    "a leak of one dict in two orders": (
        _leak({"dict": [["a", "x"], ["b", "y"]]}, {"dict": [["b", "y"], ["a", "x"]]}),
        "",
    ),
    "a leak of one dict with a key twice": (
        _leak({"dict": [["a", "x"]]}, {"dict": [["a", "y"], ["a", "x"]]}),
        "",
    ),
    "a witness with one input spelled twice": (
        within(
            "witness",
            lambda e: e["body"]["inputs"].update(recorded=[{"int": "1"}], neighbour=[{"int": "+1"}]),
        ),
        "",
    ),
    "a witness with one input in two orders": (
        within(
            "witness",
            lambda e: e["body"]["inputs"].update(
                recorded={"dict": [["a", "x"], ["b", "y"]]}, neighbour={"dict": [["b", "y"], ["a", "x"]]}
            ),
        ),
        "",
    ),
    "a leak of another value": (
        within("leak", lambda e: e["body"]["leak"].update(recorded={"int": "5"})),
        "distributions",
    ),
    "a leak to the server": (within("leak", lambda e: e["body"]["leak"].update(to=["server"])), ""),
    "a witness swapped for a leak": (
        lambda report, rows, other: rows["witness"].update(evidence=rows["leak"]["evidence"]),
        "",
    ),
    "a witness swapped for a leak, all made anew": (
        lambda report, rows, other: remade(report, "witness", evidence=rows["leak"]["evidence"]),
        "distributions",
    ),
    "a witness against a proved claim": (
        lambda report, rows, other: rows["proved"]["evidence"].extend(rows["witness"]["evidence"]),
        "",
    ),
    "a mixture whose events have probability 3, all made anew": (_certain_thrice, ""),
    # An estimate
    "an estimate's bound lowered": (within("sampled", lambda e: e.update(upper=0.3)), ""),
    "an estimate's bound lowered, all made anew": (
        careful("sampled", lambda e: e.update(upper=0.3)),
        "estimate",
    ),
    "an invented estimate": (
        careful("sampled", lambda e: e.update(samples=10**9, method="a better one", scope="all of it")),
        "estimate",
    ),
    "an estimate without a seed": (within("sampled", lambda e: e.update(seed=None)), ""),
    "an estimate without samples": (within("sampled", lambda e: e.update(samples=0)), ""),
    "an estimate without a method": (within("sampled", lambda e: e.update(method="")), ""),
    "an estimate whose bounds cross": (within("sampled", lambda e: e.update(lower=0.6)), ""),
    "an estimate more certain than certain": (within("sampled", lambda e: e.update(confidence=2)), ""),
    "an estimate at confidence 0": (within("sampled", lambda e: e.update(confidence=0)), ""),
    "an estimate that knows more than its samples": (
        lambda report, rows, other: rows["witness"].update(
            evidence=[
                rows["sampled"]["evidence"][0]
                | {"quantity": "epsilon", "lower": 40.0, "upper": None, "samples": 3}
            ]
        ),
        "",
    ),
    "an estimate that verifies privacy": (
        lambda report, rows, other: rows["proved"].update(
            evidence=[rows["sampled"]["evidence"][0] | {"quantity": "epsilon"}], strength="tested"
        ),
        "",
    ),
}
