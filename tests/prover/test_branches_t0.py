"""Test the checker of programs that branch on data: its derived bound, and refusals of forged
certificates."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import PureDP, ZeroConcentratedDP
from dpaudit.distributions import Gaussian, Laplace
from dpaudit.kernel import branches_t0, claim_t0, finite_t0, gaussian_t0, kernel_t0, program_t0, step_t0
from dpaudit.kernel.program_t0 import ProgramProofError
from dpaudit.prover import EachMoves, OneReplaced, Symbols, prove

DATA = Symbols(2, low=-2, high=3)


def asks_and_clips(coins: Any, data: Any) -> None:
    """Release a value that changes by 3, then by an outcome a value that changes by 2 or its double."""
    seen = coins.release(max(data[0], 0), Laplace(scale=6), site="first")
    if seen > 1:
        coins.reveal("above", site="shown")
        coins.release(min(data[0], 0), Laplace(scale=4), site="second")
    else:
        coins.release(2 * min(data[0], 0), Laplace(scale=4), site="second")


def clips(coins: Any, data: Any) -> None:
    coins.release(max(data[0], 0) + max(data[1], 0), Gaussian(sigma=3), site="first")


@cache
def written() -> str:
    found = prove(asks_and_clips, PureDP(epsilon=9), data=DATA, adjacency=OneReplaced())
    assert found.verdict == "verified"
    return json.dumps(found.certificate)


def certificate() -> dict[str, Any]:
    return dict(json.loads(written()))


def test_what_is_derived() -> None:
    """The bound is the cost of the most expensive pair, with each release at its largest distance."""
    checked = branches_t0.check(certificate())
    assert (checked.quantity, checked.epsilon, checked.rho) == ("epsilon", Fraction(3, 6) + 1, None)
    found = prove(clips, ZeroConcentratedDP(rho=1), data=DATA, adjacency=OneReplaced())
    assert found.certificate is not None
    gaussian = branches_t0.check(found.certificate)
    assert (gaussian.rho, gaussian.mu_squared, gaussian.epsilon) == (Fraction(9, 18), 1, None)


def nodes(written: dict[str, Any], kind: str) -> list[Any]:
    return [node for node in written["tree"] if node[0] == kind]


def bounded(written: dict[str, Any]) -> list[str]:
    """Return the pairs whose releases are bounded."""
    return [key for key, pair in written["pairs"].items() if isinstance(pair, list)]


def apart(written: dict[str, Any]) -> list[str]:
    return [key for key, pair in written["pairs"].items() if isinstance(pair, dict)]


def _cheaper(written: dict[str, Any]) -> None:
    """Halve each multiplier, which gives a smaller constant and leaves symbols."""
    for key in bounded(written):
        for one in written["pairs"][key]:
            for weights in one:
                weights.update({name: str(Fraction(value) / 2) for name, value in weights.items()})


def _weights(written: dict[str, Any]) -> dict[str, str]:
    """Return nonempty multipliers of a bounded pair."""
    each = (weights for key in bounded(written) for one in written["pairs"][key] for weights in one)
    return next(weights for weights in each if weights)


def _negative(written: dict[str, Any]) -> None:
    weights = _weights(written)
    weights[next(iter(weights))] = "-1"


def _insert(written: dict[str, Any], node: list[Any]) -> None:
    """Insert a first node above the old root, which becomes node 1."""
    moved = written["tree"]
    for old in moved:
        if old[0] == "fork":
            old[2] = [child + 1 for child in old[2]]
        elif old[0] == "compare":
            old[3:] = [child + 1 for child in old[3:]]
        elif old[0] not in ("end", "empty"):
            old[-1] += 1
    written["tree"] = [node, *moved]


def _all_apart(written: dict[str, Any]) -> None:
    """Mark every pair as excluded, by the multipliers of a pair that is excluded."""
    true = written["pairs"][apart(written)[0]]
    written["pairs"] = dict.fromkeys(written["pairs"], true)


def _one_question(written: dict[str, Any]) -> None:
    """Exchange the answers of one node, so that its pairs show different things."""
    nodes(written, "fork")[0][2].reverse()


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "another kind": lambda c: c.update(proof="program, own regions"),
    "claims rho": lambda c: c.update(claim={"rho": "9"}),
    "claims mu": lambda c: c.update(claim={"mu": "9"}),
    "claims both": lambda c: c.update(claim={"epsilon": "9", "rho": "9"}),
    "a float claim": lambda c: c.update(claim={"epsilon": 9.0}),
    "a pair left out": lambda c: c["pairs"].pop(bounded(c)[0]),
    "a pair apart left out": lambda c: c["pairs"].pop(apart(c)[0]),
    "all pairs apart": _all_apart,
    "apart by nothing": lambda c: c["pairs"].update({bounded(c)[0]: {}}),
    "bounded by nothing": lambda c: _weights(c).clear(),
    "a release left out": lambda c: c["pairs"][bounded(c)[0]].pop(),
    "a sign left out": lambda c: c["pairs"][bounded(c)[0]][0].pop(),
    "multipliers halved": _cheaper,
    "a negative multiplier": _negative,
    "a multiplier of no row": lambda c: _weights(c).update({"p9": "1"}),
    "a float multiplier": lambda c: _weights(c).update(dict.fromkeys(_weights(c), 1.0)),
    "Gaussian noise": lambda c: nodes(c, "release")[0].__setitem__(2, "gaussian"),
    "discrete noise": lambda c: nodes(c, "release")[0].__setitem__(2, "discrete-laplace"),
    "scale 0": lambda c: nodes(c, "release")[0].__setitem__(3, "0"),
    "one scale another": lambda c: nodes(c, "release")[-1].__setitem__(3, "3"),
    "one word another": lambda c: nodes(c, "show")[-1].__setitem__(1, "str:else"),
    "a hidden draw": lambda c: _insert(c, ["draw", "laplace", "1", 1]),
    "a hidden coin": lambda c: _insert(c, ["finite", ["1"], [1]]),
    "a record shown": lambda c: _insert(c, ["form", {"x0": "1"}, 1]),
    "a symbol of noise": lambda c: nodes(c, "release")[0][1].update({"n0": "1"}),
    "a change as a symbol": lambda c: nodes(c, "release")[0][1].update({"dx0": "1"}),
    "a branch cut off": lambda c: c["tree"].__setitem__(c["tree"][0][3], ["empty", {"0": "1"}]),
    "answers exchanged": _one_question,
    "another question": lambda c: nodes(c, "fork")[0].__setitem__(1, "o0 > int:2"),
    "a question that is no text": lambda c: nodes(c, "fork")[0].__setitem__(1, None),
    "an answer left out": lambda c: nodes(c, "fork")[0][2].pop(),
    "no answers": lambda c: nodes(c, "fork")[0].__setitem__(2, []),
    "a wider domain": lambda c: c["data"].update(high="4"),
    "no domain": lambda c: c["data"].update(low=None, high=None),
    "a change beyond": lambda c: c["adjacency"].update(by="1/2"),
    "more numbers": lambda c: c["data"].update(size=3),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_certificate_is_refused(name: str) -> None:
    """The checker refuses each edit with its own error."""
    forged = certificate()
    FORGED[name](forged)
    assert json.dumps(forged) != written(), "nothing was forged"
    with pytest.raises(ProgramProofError):
        branches_t0.check(forged)


def test_random_edits_never_make_it_cheaper() -> None:
    """Of 300 edits of multipliers, each is refused or derives at least the true bound."""
    rng, refused = random.Random(3), 0
    for _ in range(300):
        forged = certificate()
        pair = forged["pairs"][rng.choice(list(forged["pairs"]))]
        tables = [pair] if isinstance(pair, dict) else [weights for one in pair for weights in one]
        table = rng.choice(tables)
        name = rng.choice([*table, "0", "p0", "q0", "dx0<", "dx0>", "x0<'", "x0>"])
        table[name] = rng.choice(("1/2", "2", "1", "7/3", "0", "-1"))
        try:
            assert branches_t0.check(forged).cost >= Fraction(5, 4)
        except ProgramProofError:
            refused += 1
    assert refused > 200


def test_no_certificate_passes_as_one_of_another_kind() -> None:
    """The checkers of programs refuse certificates of other kinds, whatever kind they state."""
    checkers: list[tuple[Any, type[Exception], str]] = [
        (program_t0.check, ProgramProofError, "program, own regions"),
        (finite_t0.check, finite_t0.FiniteProofError, "program, exact distributions"),
        (step_t0.check, step_t0.StepProofError, "program, generic step"),
        (gaussian_t0.check, gaussian_t0.GaussianProofError, "program, Gaussian releases"),
    ]
    for check, error, kind in checkers:
        for forged in (certificate(), {**certificate(), "proof": kind}):
            with pytest.raises(error):
                check(forged)
    own = prove(clips, ZeroConcentratedDP(rho=1), data=DATA, adjacency=OneReplaced()).certificate
    assert own is not None
    for claim in ({"epsilon": "1"}, {"epsilon": "100"}):
        with pytest.raises(ProgramProofError):
            branches_t0.check({**copy.deepcopy(own), "claim": claim})


def test_the_checker_runs_alone(tmp_path: Path) -> None:
    """The standalone checker exits with 0 for a proof, 1 for a smaller claim, 2 for invalid JSON."""
    for module in (branches_t0, program_t0, claim_t0, kernel_t0):
        source = Path(str(module.__file__))
        (tmp_path / source.name).write_text(source.read_text())
    file = tmp_path / "certificate.json"
    file.write_text(written())
    command = [sys.executable, "-I", "-S", str(tmp_path / "branches_t0.py"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    first = done.stdout.splitlines()[0]
    assert (done.returncode, first) == (0, "proves epsilon <= 9: epsilon 3/2 from 6 paths")
    file.write_text(json.dumps({**certificate(), "claim": {"epsilon": "1"}}))
    assert branches_t0.main([str(file)]) == 1
    file.write_text("{")
    assert branches_t0.main([str(file)]) == 2


def test_no_branch_no_pairs() -> None:
    """A program without branches keeps its randomness alignment certificate."""

    def plain(coins: Any, data: Any) -> None:
        coins.release(data[0], Laplace(scale=1), site="a")

    found = prove(plain, PureDP(epsilon=1), data=Symbols(1), adjacency=EachMoves())
    assert found.certificate is not None
    assert found.certificate["proof"] == "program, own regions"
