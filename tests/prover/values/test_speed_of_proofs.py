"""Fast forms of large constants and long explorations give the same bounds as the plain forms."""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks.proof_programs import PROGRAMS
from dpaudit import Interval, PureDP, Records
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.info import Constants, Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import Poly
from dpaudit.kernel.values.steps import derive
from dpaudit.prover.values import prove as proving
from dpaudit.prover.values.prove import ValuesProof, prove_values
from dpaudit.prover.values.run import FEW_ENTRIES

MATRIX = np.round(np.random.default_rng(7).normal(size=(1000, 1000)), 3)


def product(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 10).sum(axis=0) @ MATRIX + rng.laplace(scale=10 * 1000 * 1000, size=1000)


def too_little_noise(data: Any, rng: Any) -> Any:
    return np.clip(data, 0, 10).sum(axis=0) @ MATRIX + rng.laplace(scale=10, size=1000)


ROWS = Records(Interval(0, 10), width=1000)


@pytest.fixture(scope="module")
def proved() -> ValuesProof:
    return prove_values(product, PureDP(epsilon=1), data=ROWS)


def test_a_matrix_of_a_million_entries_is_verified(proved: ValuesProof) -> None:
    """The bound equals the checked bound: at most the largest row L1 norm times the change of the sum."""
    row = Fraction(int(np.rint(np.abs(MATRIX) * 1000).sum(axis=1).max()), 1000)
    assert proved.verdict == "verified"
    assert proved.bound is not None
    assert 0 < proved.bound <= row * 10_000 / 10_000_000
    assert check(proved.certificate).epsilon == proved.bound


def test_both_forms_of_constants_have_the_same_bounds() -> None:
    """A matrix of exact strings and a matrix of integers over one denominator give equal bounds."""
    s, entries = Setting(), MATRIX[:30, :40].ravel().tolist()
    whole = " ".join(str(int(Fraction(repr(x)) * 1000)) for x in entries)
    forms: list[Any] = [[str(Fraction(repr(x))) for x in entries], {"numerators": whole, "over": 1000}]
    found = []
    for values in forms:
        params = {"values": values, "shape": (30, 40), "kind": "f", "python": False}
        matrix = derive(s, "const", (), [], params)
        vector = Info(
            shape=(40,),
            low=Poly.of(0),
            high=Poly.of(9),
            change=Poly.of(2),
            change1=Poly.of(3),
            change2=Poly.of(5),
        )
        made = derive(s, "matrix", (0, 1), [matrix, vector], {"vector": False, "over": False})
        found.append((replace(matrix, values=None), made))
    assert found[0] == found[1]


def test_a_matrix_of_a_million_entries_with_too_little_noise_is_not_verified() -> None:
    """The same product with a hundredth of the noise has a bound above the claim."""
    assert prove_values(too_little_noise, PureDP(epsilon=1), data=ROWS).verdict == "inconclusive"


NUMBERS: dict[str, list[float]] = {
    "decimals": [0.1, -0.25, 3.0, 1234.5678],
    "all digits": [1 / 3, -2 / 7, 123456.78901234567, -0.0],
    "exponents": [1e-7, 2.5e-9, 1e22, -1.7976931348623157e8],
    "whole": [0.0, 2.0**53, 2.0**60, -9e15],
    "sums": [0.1 + 0.2, 0.3, 0.7, 2.675],
    "fifteen digits": [0.123456789012345, 999999999999999.0, 1e-15, 4.35],
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_large_array_holds_the_decimals_that_it_prints_as(kind: str) -> None:
    """Integers over one denominator equal the decimals of ``repr`` in every entry."""
    values = np.tile(NUMBERS[kind], FEW_ENTRIES)

    def program(data: Any, rng: Any) -> Any:
        return np.clip(data, 0, 1).sum() * values + rng.laplace(scale=1e30, size=len(values))

    proof = prove_values(program, PureDP(epsilon=1), data=Records(Interval(0, 1)))
    assert proof.record is not None
    [written] = [p["values"] for op, _, p in proof.record["nodes"] if op == "const" and len(p["shape"]) == 1]
    known = Constants.read(written)
    found = [known.number(n) for n in known.numerators[: len(NUMBERS[kind])]]
    assert found == [Fraction(repr(x)) for x in NUMBERS[kind]]


@pytest.mark.parametrize(
    "written",
    [
        {"numerators": "1_0 2", "over": 1},
        {"numerators": "5-3 2", "over": 1},
        {"numerators": "1  2", "over": 1},
        {"numerators": "1 2 ", "over": 1},
        {"numerators": "\u0661 2", "over": 1},
        {"numerators": "1e3 2", "over": 1},
        {"numerators": "1 2", "over": 0},
        {"numerators": "1 2", "over": -1},
        {"numerators": "1 2", "over": True},
        {"numerators": "1 2", "over": "1"},
        {"numerators": "1 2", "over": 1, "more": 1},
        {"numerators": ["1", "2"], "over": 1},
        {"numerators": "1 2 3", "over": 1},
        {"over": 1},
    ],
)
def test_malformed_constants_are_refused(written: Any) -> None:
    """Numerators must be integers separated by single spaces, one per entry, over a positive integer."""
    params = {"values": written, "shape": (2,), "kind": "f", "python": False}
    with pytest.raises(
        (RefusedStepError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
    ):
        derive(Setting(), "const", (), [], params)


def test_malformed_constants_are_refused_by_the_check(proved: ValuesProof) -> None:
    """The checker raises ValuesProofError for a malformed constant."""
    assert proved.certificate is not None
    certificate = copy.deepcopy(proved.certificate)
    [const] = [node for node in certificate["nodes"] if node[0] == "const" and len(node[2]["shape"]) == 2]
    const[2]["values"]["numerators"] = const[2]["values"]["numerators"].replace(" ", "_", 1)
    with pytest.raises(ValuesProofError):
        check(certificate)


#: Programs that need hidden noise, do not verify, verify without it, or have several releases per path.
ORDERS = ("svt", "svt_w3", "svt_gap_threshold", "noisy_max_loop", "noisy_max", "two_looks", "bandit_w1")
BRANCHING = [one for one in PROGRAMS if one.list == "ordinary" and one.name in ORDERS]


@pytest.mark.parametrize("program", BRANCHING, ids=lambda one: one.name)
def test_the_order_of_attempts_changes_no_verdict_and_no_bound(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deferring an attempt whose first path is too expensive does not change the result."""
    data = next(iter(program.sizes.values()))
    found = prove_values(program.function, program.claim, data=data)
    monkeypatch.setattr(proving._Attempt, "_defer_if_too_expensive", lambda self, path: None)
    plain = prove_values(program.function, program.claim, data=data)
    assert (found.verdict, found.bound, found.reason) == (plain.verdict, plain.bound, plain.reason)
    assert found.certificate == plain.certificate


def test_steps_are_counted_over_all_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit on steps applies to the whole exploration, so the verdict does not depend on speed."""
    [svt] = [one for one in PROGRAMS if one.name == "svt_long"]
    data = next(iter(svt.sizes.values()))
    monkeypatch.setattr("dpaudit.prover.values.run.MAX_STEPS", 1_000)
    assert prove_values(svt.function, svt.claim, data=data).verdict == "inconclusive"
    monkeypatch.setattr("dpaudit.prover.values.run.MAX_STEPS", 1_000_000)
    assert prove_values(svt.function, svt.claim, data=data, seconds=1e6).verdict == "verified"
