"""Test the checker of Gaussian releases: its derived bound, and refusals of forged certificates."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import GaussianDP, ZeroConcentratedDP
from dpaudit.distributions import Gaussian
from dpaudit.kernel import claim_t0, finite_t0, gaussian_t0, kernel_t0, program_t0, step_t0
from dpaudit.prover import EachMoves, OneReplaced, Symbols, prove

DATA = Symbols(2, low=0, high=1)


def chooses(coins: Any, data: Any) -> None:
    seen = coins.release(data[0] - 3, Gaussian(sigma=2), site="first")
    if seen > 0:
        coins.release(data[1] + seen, Gaussian(sigma=1), site="second")
    else:
        coins.release(2 * data[0] - data[1], Gaussian(sigma="1/2"), site="second")
        coins.reveal(2 * seen - 3, site="seen")


def one_sum(coins: Any, data: Any) -> None:
    coins.release(sum(data), Gaussian(sigma=2), site="sum")


def certificate(program: Any = chooses, claim: Any = None, adjacency: Any = None) -> dict[str, Any]:
    stated = claim or ZeroConcentratedDP(rho=19)
    found = prove(program, stated, data=DATA, adjacency=adjacency or OneReplaced())
    assert found.verdict == "verified"
    assert found.certificate is not None
    return found.certificate


def test_what_is_derived() -> None:
    """The most expensive path costs 1/8 + 2^2 / (2/4), although the paths have different releases."""
    checked = gaussian_t0.check(certificate())
    assert (checked.rho, checked.mu_squared, checked.paths) == (Fraction(65, 8), Fraction(65, 4), 2)
    assert checked.holds
    same = gaussian_t0.check(certificate(one_sum, GaussianDP(mu="1/2")))
    assert (same.rho, same.mu_squared, same.quantity) == (Fraction(1, 8), Fraction(1, 4), "mu")


def nodes(written: dict[str, Any], kind: str) -> list[Any]:
    return [node for node in written["tree"] if node[0] == kind]


def _insert(written: dict[str, Any], node: list[Any]) -> None:
    """Insert a first node above the old root, which becomes node 1."""
    moved = json.loads(json.dumps(written["tree"]))
    for old in moved:
        if old[0] == "fork":
            old[2] = [child + 1 for child in old[2]]
        elif old[0] != "end":
            old[-1] += 1
    written["tree"] = [node, *moved]


def _again(written: dict[str, Any]) -> None:
    """Let both answers lead to one node."""
    [fork] = nodes(written, "fork")
    fork[2][1] = fork[2][0]


def _circle(written: dict[str, Any]) -> None:
    nodes(written, "release")[1][-1] = 0


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "another kind": lambda c: c.update(proof="program, own regions"),
    "claims epsilon": lambda c: c.update(claim={"epsilon": "9"}),
    "claims two": lambda c: c.update(claim={"rho": "19", "mu": "9"}),
    "claims nothing": lambda c: c.update(claim={}),
    "a float claim": lambda c: c.update(claim={"rho": 9.0}),
    "a negative claim": lambda c: c.update(claim={"rho": "-1"}),
    "a Laplace release": lambda c: nodes(c, "release")[0].__setitem__(2, "laplace"),
    "no distribution": lambda c: nodes(c, "release")[0].__setitem__(2, None),
    "variance 0": lambda c: nodes(c, "release")[0].__setitem__(3, "0"),
    "a negative variance": lambda c: nodes(c, "release")[0].__setitem__(3, "-4"),
    "a float variance": lambda c: nodes(c, "release")[0].__setitem__(3, 4.0),
    "a variance over 0": lambda c: nodes(c, "release")[0].__setitem__(3, "1/0"),
    "a release without a variance": lambda c: nodes(c, "release")[0].pop(3),
    "a comparison of data": lambda c: _insert(c, ["compare", {"x0": "1"}, True, 1, 1]),
    "an empty branch": lambda c: _insert(c, ["empty", {}]),
    "a hidden draw": lambda c: _insert(c, ["draw", "laplace", "1", 1]),
    "a hidden coin": lambda c: _insert(c, ["finite", ["1"], [1]]),
    "a record shown": lambda c: _insert(c, ["form", {"x0": "1"}, 1]),
    "a record shown beside an outcome": lambda c: _insert(c, ["form", {"p0": "1", "x1": "1/9"}, 1]),
    "a symbol of noise": lambda c: nodes(c, "release")[0][1].update({"n0": "1"}),
    "a symbol of no data": lambda c: nodes(c, "release")[0][1].update({"x2": "1"}),
    "a public name with more": lambda c: nodes(c, "release")[0][1].update({"p0 ": "1"}),
    "a float factor": lambda c: nodes(c, "release")[0][1].update({"x0": 1}),
    "a form that is a list": lambda c: nodes(c, "release")[0].__setitem__(1, [["x0", "1"]]),
    "a question without answers": lambda c: nodes(c, "fork")[0].__setitem__(2, []),
    "a question that is no text": lambda c: nodes(c, "fork")[0].__setitem__(1, 3),
    "one node for two answers": _again,
    "one answer twice": lambda c: nodes(c, "fork")[0][2].append(nodes(c, "fork")[0][2][0]),
    "an answer left out": lambda c: nodes(c, "fork")[0][2].pop(),
    "a circle": _circle,
    "a child outside": lambda c: nodes(c, "release")[-1].__setitem__(-1, 99),
    "a child that is True": lambda c: nodes(c, "release")[0].__setitem__(-1, True),
    "a node on no path": lambda c: c["tree"].append(["end"]),
    "an end with more": lambda c: nodes(c, "end")[0].append(0),
    "an empty node": lambda c: c["tree"].__setitem__(-1, []),
    "no tree": lambda c: c.update(tree=[]),
    "no record": lambda c: c["data"].update(size=0),
    "a size that is True": lambda c: c["data"].update(size=True),
    "every size": lambda c: c["data"].update(size="every"),
    "too many numbers": lambda c: c["data"].update(size=10**6),
    "an empty domain": lambda c: c["data"].update(low="1"),
    "integers in halves": lambda c: c["data"].update(integers=True, high="3/2"),
    "a smaller change": lambda c: c["adjacency"].update(by="1/2"),
    "no change": lambda c: c["adjacency"].update(by="0", at_most=True),
    "an unknown adjacency": lambda c: c["adjacency"].update(kind="add-remove"),
    "a wider domain": lambda c: c["data"].update(high="2"),
    "no domain": lambda c: c["data"].update(low=None, high=None),
    "each moves, whichever way": lambda c: c["adjacency"].update(kind="each-moves"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_certificate_is_refused(name: str) -> None:
    """The checker refuses each edit with its own error."""
    written = copy.deepcopy(certificate())
    FORGED[name](written)
    assert json.dumps(written) != json.dumps(certificate()), "nothing was forged"
    with pytest.raises(gaussian_t0.GaussianProofError):
        gaussian_t0.check(written)


def test_what_is_said_of_other_data_is_derived_again() -> None:
    """Edits that describe another program or other neighbours change rho."""
    other = certificate(adjacency=EachMoves())
    assert gaussian_t0.check(other).rho == Fraction(1, 8) + Fraction(3**2 * 4, 2)
    other["adjacency"]["one_way"] = True
    assert gaussian_t0.check(other).rho == Fraction(1, 8) + Fraction(2**2 * 4, 2)
    other = certificate()
    [dear] = [node for node in nodes(other, "release") if node[3] == "1/4"]
    dear[3] = "1"
    assert gaussian_t0.check(other).rho == Fraction(1, 8) + Fraction(2**2, 2)


def test_no_certificate_passes_as_one_of_another_kind() -> None:
    """The four checkers refuse certificates of other kinds, whatever kind they state."""
    written = certificate()
    checkers: list[tuple[Any, type[Exception]]] = [
        (program_t0.check, program_t0.ProgramProofError),
        (finite_t0.check, finite_t0.FiniteProofError),
        (step_t0.check, step_t0.StepProofError),
    ]
    kinds = ("program, own regions", "program, exact distributions", "program, generic step")
    for (check, error), kind in zip(checkers, kinds, strict=True):
        for forged in (written, {**written, "proof": kind}, {**written, "proof": kind, "cells": []}):
            forged = {**forged, "claim": {"epsilon": "100", "rho": "19"}}
            with pytest.raises(error):
                check(forged)


def test_random_edits_end_in_a_refusal_or_a_bound() -> None:
    """Each of 200 random edits is refused, or both paths are still checked."""
    rng = random.Random(7)
    refused = 0
    for _ in range(200):
        written = copy.deepcopy(certificate_once())
        node = rng.choice(written["tree"])
        i = rng.randrange(len(node))
        node[i] = rng.choice((None, True, -1, 0, 10**9, "", "1/2", "gaussian", [], {}, [[]], {"x0": "5"}))
        try:
            checked = gaussian_t0.check(written)
        except gaussian_t0.GaussianProofError:
            refused += 1
            continue
        assert (checked.paths, checked.rho >= 0) == (2, True)
    assert refused > 150


KEPT: dict[str, Any] = {}


def certificate_once() -> dict[str, Any]:
    if not KEPT:
        KEPT.update(certificate())
    return KEPT


def alone(file: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run a copy of ``gaussian_t0.py`` on a file, outside the package."""
    script = tmp_path / "gaussian_t0.py"
    for module in (gaussian_t0, claim_t0, kernel_t0):
        (tmp_path / Path(str(module.__file__)).name).write_text(Path(str(module.__file__)).read_text())
    return subprocess.run(
        [sys.executable, "-I", "-S", str(script), str(file)], capture_output=True, text=True, check=False
    )


def test_the_checker_runs_alone(tmp_path: Path) -> None:
    """The standalone checker exits with 0 for a proof, 1 for a smaller claim, 2 for invalid JSON."""
    file = tmp_path / "certificate.json"
    written = certificate()
    file.write_text(json.dumps(written))
    done = alone(file, tmp_path)
    first = done.stdout.splitlines()[0]
    assert (done.returncode, first) == (0, "proves rho <= 19: rho 65/8, mu^2 65/4 from 2 paths")
    for claim, words in (({"rho": "8"}, "does not prove rho"), ({"mu": "4"}, "does not prove mu")):
        file.write_text(json.dumps({**written, "claim": claim}))
        assert gaussian_t0.main([str(file)]) == 1
        assert words in alone(file, tmp_path).stdout
    file.write_text(json.dumps(written).replace('"claim"', '"claim": {}, "claim"'))
    assert gaussian_t0.main([str(file)]) == 1
    file.write_text("{")
    assert gaussian_t0.main([str(file)]) == 2
    assert gaussian_t0.main([]) == 2
