"""Turn the evidence of a row into what the page shows: trees of rules, a table of sites, facts.

The report is not trusted, and the schema leaves the bodies of certificates and witnesses open. A part of a
body that is missing or has an unexpected type is left out or described, and is never an error. Long witnesses
and wide trees are cut with a note on how much is left out. The JSON report has everything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.certify.inequalities import expressions
from dpaudit.certify.witnesses.transcript import WitnessSession, WitnessSite
from dpaudit.core.errors import DpauditError
from dpaudit.report.file.parts import BodyRecord, EstimateRecord, EvidenceRecord
from dpaudit.report.notation import PROBABILITIES, describe, show, show_bound, symbol, words

__all__ = ["Exhibit", "SiteLine", "TreeNode", "exhibit"]

MAX_SITES = 40
#: Losses are computed for at most this many sites of one witness. Only the first sites of a longer one count.
MAX_LOSSES = 1000
MAX_NODES = 300
MAX_TREE_DEPTH = 24
MAX_EVENTS = 8
#: The largest number of events or sites that the sentence on an event names.
MAX_WORDS = 3
#: The largest number of values of one event that it names with their sites.
MAX_SHOWN = 12

Fact = tuple[str, str]


@dataclass(frozen=True)
class TreeNode:
    """One application of a rule, or one step of a mixture. ``left_out`` nodes below it are not shown."""

    rule: str
    parameters: tuple[Fact, ...] = ()
    premises: tuple[TreeNode, ...] = ()
    left_out: int = 0


@dataclass(frozen=True)
class TreeLine:
    """One line of a tree, indented by ``depth`` steps. ``note`` says what is left out."""

    depth: int
    rule: str
    parameters: tuple[Fact, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class SiteLine:
    """One site of a witness: both distributions, the value, and its contribution to the privacy loss."""

    site: str
    distribution: str
    neighbour: str
    value: str
    loss: str


@dataclass(frozen=True)
class Exhibit:
    """One piece of evidence: a certificate, a proof of a program, a witness or an estimate.

    Unused parts are empty. ``event`` describes what the adversary of a witness sees. A computation is an
    estimate at confidence 1, without samples.
    """

    kind: str
    headline: str
    facts: tuple[Fact, ...] = ()
    description: str = ""
    event: str = ""
    assumptions: tuple[str, ...] = ()
    trees: tuple[TreeNode, ...] = ()
    sites: tuple[SiteLine, ...] = ()
    left_out: str = ""
    details: tuple[Fact, ...] = ()

    @property
    def tree(self) -> list[TreeLine]:
        """All trees, line by line."""
        return [line for node in self.trees for line in _tree_lines(node, 0)]


def _tree_lines(node: TreeNode, depth: int) -> Iterator[TreeLine]:
    yield TreeLine(depth, node.rule, node.parameters)
    for premise in node.premises:
        yield from _tree_lines(premise, depth + 1)
    if node.left_out:
        yield TreeLine(depth + 1, "", note=f"and {node.left_out} more in the JSON report")


def exhibit(item: EvidenceRecord) -> Exhibit:
    """Return what the page shows of one piece of evidence."""
    if isinstance(item, EstimateRecord):
        return _estimate(item)
    return {
        "certificate": _certificate,
        "program proof": _program,
        "inequality proof": _inequality,
        "witness": _witness,
    }[item.kind](item)


def _certificate(item: BodyRecord) -> Exhibit:
    strength = "Accounted: it holds under its assumptions."
    tree = _Trees().rule(item.body)
    return Exhibit(
        kind="certificate",
        headline=f"{symbol(item.quantity)} ≤ {show_bound(item.bound, toward='up')}",
        description=strength if item.assumptions else "Proved without assumptions.",
        assumptions=tuple(map(describe, item.assumptions)),
        trees=() if tree is None else (tree,),
    )


def _program(item: BodyRecord) -> Exhibit:
    """Show the scope, assumptions and size of a program's proof. Only the JSON report has its tree."""
    names = {
        "tree": "decisions and draws",
        "cells": "cells",
        "nodes": "recorded steps",
        "releases": "releases",
        "channels": "channels",
        "repetitions": "loops with a random number of runs",
    }
    return Exhibit(
        kind="program proof",
        headline=f"{symbol(item.quantity)} ≤ {show_bound(item.bound, toward='up')}",
        description=f"Proved for {describe(item.scope)}. The proof does not cover other data.",
        facts=tuple(
            (words, describe(len(_listed(item.body.get(name)))))
            for name, words in names.items()
            if name in item.body or name in ("tree", "cells")
        ),
        assumptions=tuple(map(describe, item.assumptions)),
    )


def _inequality(item: BodyRecord) -> Exhibit:
    """Show the inequality, its range and its assumptions. Only the JSON report has the boxes."""
    try:
        stated = expressions(item.body)
    except (DpauditError, KeyError, TypeError, IndexError, AttributeError):
        stated = ()
    return Exhibit(
        kind="proof of an inequality",
        headline=f"{symbol(item.quantity)} ≤ {show_bound(item.bound, toward='up')}",
        description=f"Proved for {describe(item.scope)}.",
        facts=tuple(("inequality", describe(text)) for text in stated),
        assumptions=tuple(map(describe, item.assumptions)),
    )


class _Trees:
    """Reader of the trees of one exhibit. A common limit on nodes keeps the page finite for any file."""

    def __init__(self) -> None:
        self.left = MAX_NODES

    def rule(self, data: object, depth: int = 0) -> TreeNode | None:
        """Return a rule application with its premises, or ``None`` once the limit is reached."""
        if not isinstance(data, Mapping) or not self._take(depth):
            return None
        premises = _listed(data.get("premises"))
        nodes = [node for p in premises if (node := self.rule(p, depth + 1)) is not None]
        parameters = data.get("parameters")
        facts = _facts(parameters) if isinstance(parameters, Mapping) else ()
        extra = _facts(data, leave=("rule", "parameters", "premises"))
        return TreeNode(describe(data.get("rule")), facts + extra, tuple(nodes), len(premises) - len(nodes))

    def event(self, data: object) -> TreeNode | None:
        """Return one event of a mixture: the output values, and how either input can produce them."""
        if not isinstance(data, Mapping) or not self._take(0):
            return None
        sides = [
            TreeNode(name, premises=() if below is None else (below,))
            for name, key in (("on the recorded input", "recorded"), ("on the neighbour", "neighbour"))
            for below in [self.step(data.get(key), 2)]
        ]
        return TreeNode("event", (("output", describe(data.get("values"))),), tuple(sides))

    def step(self, data: object, depth: int) -> TreeNode | None:
        """Return a step of a mixture's tree: a hidden draw, an output value, or the end of a path."""
        if not isinstance(data, Mapping) or not self._take(depth):
            return None
        if "end" in data:
            return TreeNode("in the event" if data["end"] is True else "not in the event")
        distribution = (("distribution", describe(data.get("law"))),)
        if "see" in data:
            below = self.step(data.get("then"), depth + 1)
            return TreeNode(
                f"output: {describe(data['see'])}", distribution, () if below is None else (below,)
            )
        branches = [b for b in _listed(data.get("branches")) if isinstance(b, Mapping)]
        nodes = []
        for branch in branches:
            below = self.step(branch.get("then"), depth + 1)
            if below is not None:
                nodes.append(TreeNode("drawn", (("value", describe(branch.get("value"))),), (below,)))
        return TreeNode(
            f"hidden draw: {describe(data.get('draw'))}",
            distribution,
            tuple(nodes),
            len(branches) - len(nodes),
        )

    def _take(self, depth: int) -> bool:
        self.left -= 1
        return self.left >= 0 and depth <= MAX_TREE_DEPTH


def _witness(item: BodyRecord) -> Exhibit:
    body = item.body
    sites = [site for site in _listed(body.get("sites")) if isinstance(site, Mapping)]
    events = _listed(body.get("events"))
    trees = _Trees()
    lines = _site_lines(sites)
    reached = "∞" if item.bound is None else show_bound(item.bound, toward="down")
    return Exhibit(
        kind="witness",
        headline=f"{symbol(item.quantity)} ≥ {reached}",
        facts=(
            ("form", describe(item.form)),
            ("origin", describe(item.origin)),
            ("adversary's view", describe(body.get("view"))),
        ),
        description=item.description,
        event=_event_in_words(body, sites, events),
        trees=tuple(node for e in events[:MAX_EVENTS] if (node := trees.event(e)) is not None),
        sites=tuple(lines),
        left_out=_cut_note(len(sites) - len(lines), "site") or _cut_note(len(events) - MAX_EVENTS, "event"),
        details=_leak(body.get("leak")) + _facts(body, leave=("sites", "events", "leak", "view")),
    )


def _event_in_words(
    body: Mapping[str, Any], sites: Sequence[Mapping[str, Any]], events: Sequence[object]
) -> str:
    """Describe what the adversary sees on one input more often than on its neighbour.

    This is the output of a mixture's event, the leak, or the values at the sites. The text is empty for a
    witness about two distributions alone.
    """
    shown = [e for e in events if isinstance(e, Mapping) and e.get("values")]
    if shown:
        seen = ", or ".join(_shown_in_words(e) for e in shown[:MAX_WORDS])
        return f"the output is {seen}{_and_more(len(shown))}"
    leak = body.get("leak")
    if isinstance(leak, Mapping) and "recorded" in leak:
        here, there = describe(leak["recorded"]), describe(leak.get("neighbour"))
        place = f" at {describe(leak['site'])}" if leak.get("site") else ""
        what = f"{describe(leak.get('what'))}{place}"
        return f"{what} is {here}, which never occurs on the neighbour: there it is {there}"
    values = [
        f"{describe(site.get('site'))} = {describe(site.get('value', site.get('outcomes')))}"
        for site in sites[:MAX_WORDS]
    ]
    return f"the values are {', '.join(values)}{_and_more(len(sites))}" if values else ""


def _shown_in_words(event: Mapping[str, Any]) -> str:
    """Return the values of an event, with the names of their sites if a path of its tree names as many."""
    values, names, node = event["values"], [], event.get("recorded")
    while isinstance(node, Mapping) and "end" not in node:
        if "see" in node:
            names.append(describe(node["see"]))
            node = node.get("then")
        else:
            branches = _listed(node.get("branches"))
            node = branches[0].get("then") if branches and isinstance(branches[0], Mapping) else None
    if not isinstance(values, list) or len(names) != len(values) or len(values) > MAX_SHOWN:
        return describe(values)
    return ", ".join(f"{name} = {describe(value)}" for name, value in zip(names, values, strict=True))


def _and_more(number: int) -> str:
    return f" and {number - MAX_WORDS} more" if number > MAX_WORDS else ""


def _cut_note(number: int, what: str) -> str:
    return f"{number} more {what}{'s' if number > 1 else ''} in the JSON report." if number > 0 else ""


def _leak(data: object) -> tuple[Fact, ...]:
    if not isinstance(data, Mapping):
        return ()
    names = {"what": "leak of", "recorded": "on one input", "neighbour": "on its neighbour", "to": "to"}
    return tuple((names.get(str(key), words(key)), describe(value)) for key, value in data.items())


def _site_lines(sites: list[Mapping[str, Any]]) -> list[SiteLine]:
    """Return all sites if they are few, else the sites with the largest losses in the order of the run."""
    examined = sites[:MAX_LOSSES]
    losses = [_loss(site) for site in examined]
    ranked = sorted(range(len(examined)), key=lambda i: (-abs(losses[i] or 0.0), i))
    return [_site(examined[i], losses[i]) for i in sorted(ranked[:MAX_SITES])]


def _site(data: Mapping[str, Any], loss: float | None) -> SiteLine:
    if "kernel" in data:  # a channel session: its answers have one joint distribution
        return SiteLine(
            site=describe(data.get("site")),
            distribution=_session_words(data, "kernel", "queries"),
            neighbour=_session_words(data, "kernel_neighbour", "queries_neighbour"),
            value=describe(data.get("outcomes")),
            loss=show(loss, digits=6),
        )
    return SiteLine(
        site=describe(data.get("site")),
        distribution=describe(data.get("law")),
        neighbour=describe(data.get("law_neighbour")),
        value=describe(data.get("value")),
        loss=show(loss, digits=6),
    )


def _session_words(data: Mapping[str, Any], kernel: str, queries: str) -> str:
    return f"{describe(data.get(kernel))} asked {describe(data.get(queries))}"


def _loss(data: Mapping[str, Any]) -> float | None:
    """Return a site's contribution to the privacy loss as a float, or ``None`` if it cannot be computed.

    This is for display only. The verdict rests on the same number in ball arithmetic (``dpaudit verify``).
    """
    try:
        with np.errstate(all="ignore"):
            if "kernel" in data:
                session = WitnessSession.from_json(dict(data))
                here = session.kernel.log_joint(tuple(session.queries), tuple(session.outcomes))
                there = session.kernel_neighbour.log_joint(
                    tuple(session.queries_neighbour), tuple(session.outcomes)
                )
            else:
                site = WitnessSite.from_json(dict(data))
                here, there = site.distribution.logp(site.value), site.distribution_neighbour.logp(site.value)
            loss = float(np.sum(np.asarray(here) - np.asarray(there)))
    except Exception:  # an edited file may raise anything, and the site is then shown without a number
        return None
    return None if math.isnan(loss) else loss


def _estimate(item: EstimateRecord) -> Exhibit:
    quantity, small = symbol(item.quantity), item.quantity in PROBABILITIES
    low = f"{show(item.lower, digits=6, toward='down', below_one=small)} ≤ " if item.lower is not None else ""
    high = f" ≤ {show(item.upper, digits=6, toward='up')}" if item.upper is not None else ""
    sure = "exact on its scope" if item.exact else show(item.confidence, digits=10, toward="down")
    facts = [("confidence", sure)]
    if item.samples or not item.exact:  # a closed form has no points to count
        facts.append(("points" if item.exact else "samples", show(item.samples, digits=15)))
    facts += [
        ("method", describe(item.method)),
        ("scope", describe(item.scope)),
        ("covers the claim", describe(item.covers_claim)),
    ]
    if item.seed is not None:
        facts.append(("seed", str(item.seed)))
    return Exhibit(
        kind=item.kind,
        headline=f"{low}{quantity}{high}" if low or high else f"{quantity}: no bound on either side",
        facts=tuple(facts),
        details=_facts(item.details),
    )


def _facts(data: Mapping[str, Any], *, leave: Sequence[str] = ()) -> tuple[Fact, ...]:
    return tuple((words(key), describe(value)) for key, value in data.items() if key not in leave)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
