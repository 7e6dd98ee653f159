"""A thousand random valid certificates are accepted; a thousand corrupted ones are all refused.

Trees are built so that every corrupted number matters: all costs are positive and all compositions strictly
increasing, so a larger sensitivity, count or depth, or a smaller scale, makes the stated bound false.
Independent of the kernel, the pure bound is recomputed by a plain recursion.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.build import Proof
from dpaudit.certify.sites import Site
from dpaudit.core.claims import (
    Accounting,
    Adjacency,
    ApproxDP,
    Claim,
    GaussianDP,
    PureDP,
    RenyiDP,
    Unit,
    ZeroConcentratedDP,
)
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import SERVER, View
from dpaudit.kernel import check as kernel

Rng = np.random.Generator
BATCHES = 20
PER_BATCH = 50


def rational(rng: Rng, *, below: int = 20) -> Fraction:
    return Fraction(int(rng.integers(1, 100)), int(rng.integers(1, below)))


def leaf(rng: Rng) -> Proof:
    """A mechanism with a pure bound that falls in its scale."""
    kind = int(rng.integers(5))
    if kind == 0:
        return build.laplace_mechanism(sensitivity=rational(rng), scale=rational(rng))
    if kind == 1:
        return build.discrete_laplace_mechanism(sensitivity=int(rng.integers(1, 9)), scale=rational(rng))
    if kind == 2:
        moved = ("one_coordinate", "monotone", "general")[rng.integers(3)]
        noise = ("laplace", "gumbel", "exponential")[rng.integers(3)]
        return build.report_noisy_max(
            sensitivity=rational(rng), scale=rational(rng), range=moved, noise=noise
        )  # type: ignore[arg-type]
    if kind == 3:
        return build.above_threshold(
            sensitivity=rational(rng),
            threshold_scale=rational(rng),
            query_scale=rational(rng),
            answers=int(rng.integers(1, 5)),
        )
    return build.laplace_mechanism(
        sensitivity=build.BoundedSum(Fraction(-1, 3), rational(rng)), scale=rational(rng)
    )


def tree(rng: Rng, depth: int) -> Proof:
    """A composition of mechanisms in which every part counts."""
    if depth == 0:
        return leaf(rng)
    kind = int(rng.integers(4))
    parts = [tree(rng, depth - 1) for _ in range(int(rng.integers(1, 4)))]
    counts = [int(rng.integers(1, 6)) for _ in parts]
    if kind == 0:
        return build.compose_sequential(parts, times=counts)
    if kind == 1:
        classes = [
            Site(f"class {i}", touches=n, mechanism=p)
            for i, (p, n) in enumerate(zip(parts, counts, strict=True))
        ]
        return build.accounted(classes, declared="each record enters once")
    if kind == 2:
        return build.tree_mechanism(parts[0], levels=counts[0], declared="static tree")
    return build.post_processing(parts[0], function="argmax")


def expected(node: dict[str, Any], *, replaced: bool) -> Fraction:
    """The pure bound by a plain recursion over the JSON tree: a second reading of the rules."""
    p, parts = node["parameters"], [expected(premise, replaced=replaced) for premise in node["premises"]]
    if node["rule"] == "sequential":
        return sum((int(n) * e for n, e in zip(p["times"], parts, strict=True)), Fraction(0))
    if node["rule"] == "accounted":
        return sum((int(n) * e for n, e in zip(p["touches"], parts, strict=True)), Fraction(0))
    if node["rule"] == "tree":
        return int(p["levels"]) * parts[0]
    if node["rule"] == "post-processing":
        return parts[0]
    moved = p["sensitivity"]
    if not isinstance(moved, dict):
        size = Fraction(moved)
    elif replaced:
        size = Fraction(moved["upper"]) - Fraction(moved["lower"])
    else:
        size = max(abs(Fraction(moved["upper"])), abs(Fraction(moved["lower"])))
    if node["rule"] == "above-threshold":
        return size / Fraction(p["threshold_scale"]) + 2 * int(p["answers"]) * size / Fraction(
            p["query_scale"]
        )
    return (2 if p.get("range") == "general" else 1) * size / Fraction(p["scale"])


def claim_for(rng: Rng) -> Claim:
    """A claim whose bound every part of a tree enters strictly."""
    context: dict[str, Any] = {"view": View.of(SERVER), "adjacency": Adjacency.ADD_REMOVE}
    options: list[Claim] = [
        PureDP(epsilon=1, **context),
        Accounting(epsilon=1, declared="as listed"),
        ZeroConcentratedDP(rho=1, **context),
        RenyiDP(order=rational(rng) + 1, epsilon=1, **context),
    ]
    return options[rng.integers(len(options))]


def certificate(rng: Rng) -> tuple[dict[str, Any], Claim]:
    """A random certificate as JSON, with its claim. An accounting is read for one replaced record, under
    which no selection is monotone: then the claim is a pure one.
    """
    proof, claim = tree(rng, int(rng.integers(0, 4))), claim_for(rng)
    try:
        made = proof.certify(claim)
    except CertificateError:
        claim = PureDP(epsilon=1, adjacency=Adjacency.ADD_REMOVE)
        made = proof.certify(claim)
    return json.loads(json.dumps(made.to_json())), claim


@pytest.mark.parametrize("batch", range(BATCHES))
def test_valid_certificates_are_accepted(batch: int) -> None:
    """Fifty random certificates each: accepted, and for pure claims with exactly the bound of the plain
    recursion.
    """
    rng = np.random.default_rng([batch, 1])
    for _ in range(PER_BATCH):
        data, claim = certificate(rng)
        assert kernel.check(data, claim) <= Fraction(data["bound"])
        if isinstance(claim, PureDP | Accounting):
            replaced = isinstance(claim, Accounting)
            assert Fraction(data["bound"]) == expected(data["tree"]["premises"][0], replaced=replaced)


Corruption = Callable[[Rng, dict[str, Any], Claim], tuple[dict[str, Any], Claim]]


def nodes(tree: dict[str, Any]) -> list[dict[str, Any]]:
    return [tree] + [node for premise in tree["premises"] for node in nodes(premise)]


def some(rng: Rng, items: list[Any]) -> Any:
    return items[int(rng.integers(len(items)))]


def tighten(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """A bound below the truth, by a part in a million or more."""
    data["bound"] = str(Fraction(data["bound"]) * (1 - Fraction(1, 10 ** int(rng.integers(1, 7)))))
    return data, claim


def shrink_noise(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """A smaller scale somewhere."""
    places = [
        (n["parameters"], key)
        for n in nodes(data["tree"]["premises"][0])
        for key in n["parameters"]
        if key.endswith("scale")
    ]
    where, key = some(rng, places)
    where[key] = str(Fraction(where[key]) * Fraction(99, 100))
    return data, claim


def widen_query(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """A larger sensitivity somewhere (an integer step, which integer noise accepts)."""
    places = [n["parameters"] for n in nodes(data["tree"]["premises"][0]) if "sensitivity" in n["parameters"]]
    where = some(rng, places)
    if isinstance(where["sensitivity"], dict):
        where["sensitivity"]["upper"] = str(Fraction(where["sensitivity"]["upper"]) + 1)
    else:
        where["sensitivity"] = str(Fraction(where["sensitivity"]) + 1)
    return data, claim


def touch_more(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """One touch, run, level or answer more; where there is none, an unknown rule."""
    places = [
        (n["parameters"], key)
        for n in nodes(data["tree"]["premises"][0])
        for key in ("touches", "times", "levels", "answers")
        if key in n["parameters"]
    ]
    if not places:
        return rename(rng, data, claim)
    where, key = some(rng, places)
    if isinstance(where[key], list):
        i = int(rng.integers(len(where[key])))
        where[key][i] = str(int(where[key][i]) + 1)
    else:
        where[key] = str(int(where[key]) + 1)
    return data, claim


def rename(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """A rule that the kernel does not know."""
    some(rng, nodes(data["tree"]["premises"][0]))["rule"] = some(
        rng, ["eval", "", "LAPLACE", "claim", "__import__"]
    )
    return data, claim


def generalise(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """A wider range of changes in a selection; where there is none, a noise that it does not know."""
    narrow = [
        n
        for n in nodes(data["tree"]["premises"][0])
        if n["rule"] == "noisy-max" and n["parameters"]["range"] != "general"
    ]
    if not narrow:
        return extra(rng, data, claim)
    some(rng, narrow)["parameters"]["range"] = "general"
    return data, claim


def extra(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """A parameter that the rule does not read."""
    some(rng, nodes(data["tree"]["premises"][0]))["parameters"]["discount"] = "1/2"
    return data, claim


def drop_premise(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """A composition that lost a part; a mechanism that gained one."""
    node = some(rng, nodes(data["tree"]["premises"][0]))
    if node["premises"]:
        node["premises"].pop()
    else:
        node["premises"].append(copy.deepcopy(node))
    return data, claim


def malform(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """A number that is no exact number, or a field of another type."""
    node = some(rng, [n for n in nodes(data["tree"]["premises"][0]) if not n["premises"]])
    key = some(rng, sorted(key for key in node["parameters"] if key.endswith("scale")))
    node["parameters"][key] = some(
        rng, [0.5, None, [], "inf", "nan", "-1", "0", "1/0", "1e99999", "2 * 3", True, {"float": "0x1p0"}]
    )
    return data, claim


def other_assumptions(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """An assumption dropped, or one added."""
    if data["assumptions"]:
        data["assumptions"].pop()
    else:
        data["assumptions"].append("the data are public")
    return data, claim


def other_claim(rng: Rng, data: dict[str, Any], claim: Claim) -> tuple[dict[str, Any], Claim]:
    """The same certificate for another kind of neighbours, unit, participation, view or quantity."""
    others: list[Claim] = [
        PureDP(epsilon=1, adjacency=Adjacency.REPLACE_ONE, view=View.of(SERVER)),
        PureDP(epsilon=1, unit=Unit.USER),
        PureDP(epsilon=1, participation="two thirds"),
        GaussianDP(mu=1),
        ApproxDP(epsilon=0, delta="1/10"),
        Accounting(epsilon=1, declared="something else"),
    ]
    return data, some(rng, others)


CORRUPTIONS: list[Corruption] = [
    tighten,
    shrink_noise,
    widen_query,
    touch_more,
    rename,
    generalise,
    extra,
    drop_premise,
    malform,
    other_assumptions,
    other_claim,
]


@pytest.mark.parametrize("batch", range(BATCHES))
def test_corrupted_certificates_are_refused(batch: int) -> None:
    """Fifty random certificates each, corrupted in one random way: all refused."""
    rng = np.random.default_rng([batch, 2])
    for _ in range(PER_BATCH):
        data, claim = certificate(rng)
        corrupt = some(rng, CORRUPTIONS)
        changed, other = corrupt(rng, copy.deepcopy(data), claim)
        assert changed != data or other != claim, corrupt.__name__
        with pytest.raises(CertificateError):
            kernel.check(changed, other)
