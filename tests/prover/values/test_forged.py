"""Certificates that leave out the cost of private values, or use noise twice."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.prover.values.prove import prove_values

PAIRS = Records(Interval(0, 1), size=3, width=2)


def proved(program: Any) -> dict[str, Any]:
    proof = prove_values(program, PureDP(epsilon=9), data=PAIRS)
    assert proof.verdict == "verified"
    certificate = copy.deepcopy(proof.certificate)
    assert certificate is not None
    check(certificate)
    return certificate


def larger(data: Any, rng: Any) -> Any:
    sums, noise = data.sum(axis=0), rng.exponential(8, 2)
    return 1 if sums[1] + noise[1] > sums[0] + noise[0] else 0


def largest(data: Any, rng: Any) -> Any:
    return np.argmax(data.sum(axis=0) + rng.laplace(0, 4, 2))


def one_entry(data: Any, rng: Any) -> Any:
    return data.sum(axis=0)[0] + rng.laplace(0, 4, 2)[1]


COMPARED: list[Any] = [["compare", {"x2": "1", "": "-1"}, False, 1, 2], ["end"], ["end"]]


@pytest.mark.parametrize(
    ("tree", "cells"),
    [
        (COMPARED, 2),
        ([["form", {"x2": "1"}, 1], ["end"]], 1),
        ([["compare", {"x2": "1", "": "-9"}, True, 1, 3], ["form", {"x2": "1"}, 2], ["end"], ["end"]], 2),
    ],
)
@pytest.mark.parametrize("shifted", [False, True])
def test_private_values_without_noise_are_refused(tree: Any, cells: int, shifted: bool) -> None:
    """A private comparison and a shown private value need noise, also on a path that draws none."""
    forged = {**proved(larger), "draws": [], "releases": [], "tree": tree}
    shifts: Any = {"shifts": {change: [] for change in ("-1", "1")}} if shifted else {}
    forged["cells"] = [{"paths": [k], **shifts} for k in range(cells)]
    with pytest.raises(ValuesProofError):
        check(forged)


def test_a_release_in_the_tree_without_hidden_noise_is_charged() -> None:
    """Releases of the tree have a cost on each path."""
    forged = {**proved(larger), "draws": [], "releases": []}
    unmoved = ["compare", {"x2": "0", "": "-9"}, True, 1, 3]  # a constant, but it names the symbol
    forged["tree"] = [unmoved, ["release", {"x2": "1"}, "laplace", "1/100", 2], ["end"], ["end"]]
    forged["cells"] = [{"paths": [k], "shifts": {"-1": [], "0": [], "1": []}} for k in range(2)]
    assert check(forged).epsilon == 100


@pytest.mark.parametrize("text", ["hidden 0 0", "hidden 0 2"])
def test_a_hidden_symbol_is_its_own_entry(text: str) -> None:
    """Two symbols of one entry are not independent, and there is no entry beyond the shape."""
    forged = proved(larger)
    [place] = [node for node in forged["tree"] if node[:2] == ["show", "hidden 0 1"]]
    place[1] = text
    with pytest.raises(ValuesProofError, match=r"one noise draw is used twice|must be an entry of its draw"):
        check(forged)


def test_an_argmax_uses_its_whole_draw() -> None:
    """An argmax that names one entry of its noise would leave the others to another release."""
    forged = proved(largest)
    [release] = forged["releases"]
    release["entry"] = 0
    other = next(one for one in proved(one_entry)["releases"] if one["law"] == "laplace")
    forged["nodes"] = [*forged["nodes"], ["pick", [1], {"shape": [], "inside": False, "places": [0]}]]
    forged["releases"].append({**other, "node": len(forged["nodes"]) - 1, "draw": 0, "entry": 1})
    [shown] = [node for node in forged["tree"] if node[0] == "show" and node[1].startswith("public")]
    shown[1] = "release 1"
    with pytest.raises(ValuesProofError, match="whole draw"):
        check(forged)


def test_noise_of_an_argmax_has_a_scale() -> None:
    """Noise with named parameters has no scale, and is not taken for noise of scale 1."""
    forged = proved(largest)
    forged["draws"][0][1] = {"scale": "1/100"}
    with pytest.raises(ValuesProofError, match="whole draw"):
        check(forged)
    assert check(proved(largest)).epsilon == Fraction(1, 2)
