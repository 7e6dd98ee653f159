"""The best of a random number of runs: proofs, wrong programs, forged certificates, and the rule itself."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpaudit import Categories, PureDP, Records
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.info import RefusedStepError
from dpaudit.kernel.values.repetitions import repeated_cost
from dpaudit.prover.values.prove import prove_values
from tests.prover.values import random_stopping as programs

DATA = Records(Categories(3), size=20)
#: Each run counts one category with Laplace noise of scale 2.
RUN = 0.5


def factor(rest: float, epsilon: float = RUN) -> float:
    """Return log R(rest), the cost of one power of the generating function."""
    top = math.exp(epsilon)
    return math.log((rest + top) / (1 + rest * top))


BOUNDS = {
    "arg_only": RUN + 3 * math.tanh(RUN / 2),
    "log": RUN + factor(0.1),
    "nb": RUN + 1.5 * factor(0.1),
    "two_selections": 2 * (RUN / 2 + 2 * factor(0.1, RUN / 2)),
}


@pytest.mark.parametrize("program", programs.RIGHT, ids=lambda one: one.__name__)
def test_right_programs_are_proved_with_the_bound_of_their_law(program: Callable[..., Any]) -> None:
    """The derived bound is that of the law, computed here in floats."""
    proof = prove_values(program, PureDP(epsilon=1.5), data=DATA)
    assert proof.verdict == "verified"
    assert proof.bound is not None
    assert float(proof.bound) == pytest.approx(BOUNDS.get(program.__name__, RUN + 2 * factor(0.1)))


def test_every_number_of_records() -> None:
    """The proof does not need a fixed number of records."""
    proof = prove_values(programs.select, PureDP(epsilon=1.5), data=Records(Categories(3)))
    assert proof.verdict == "verified"


@pytest.mark.parametrize("program", programs.WRONG, ids=lambda one: one.__name__)
def test_wrong_programs_are_not_proved(program: Callable[..., Any]) -> None:
    """Programs that show or keep more than the best run, or have half the noise, are not verified."""
    proof = prove_values(program, PureDP(epsilon=1.5), data=DATA, seconds=10)
    assert proof.verdict == "inconclusive"


LAWS: dict[str, tuple[dict[str, str], Callable[[int], float]]] = {
    "geometric": ({"law": "geometric", "chance": "1/4"}, lambda k: 0.25 * 0.75 ** (k - 1) if k else 0.0),
    "logarithmic": (
        {"law": "logarithmic", "p": "3/4"},
        lambda k: -(0.75**k) / (k * math.log(0.25)) if k else 0.0,
    ),
    "negative-binomial": (
        {"law": "negative-binomial", "n": "2", "chance": "1/4"},
        lambda k: (k + 1) * 0.25**2 * 0.75**k,
    ),
    "binomial": (
        {"law": "binomial", "n": "6", "p": "1/3"},
        lambda k: math.comb(6, k) * (1 / 3) ** k * (2 / 3) ** (6 - k) if k <= 6 else 0.0,
    ),
    "poisson": (
        {"law": "poisson", "mean": "3"},
        lambda k: math.exp(-3 + k * math.log(3) - math.lgamma(k + 1)),
    ),
}


def best_of(run: list[float], law: Callable[[int], float]) -> list[float]:
    """Return the probabilities of the best outcome, and of no run at all, by summing over K."""
    below = [sum(run[:z]) for z in range(len(run) + 1)]
    found = [sum(law(k) * (below[z + 1] ** k - below[z] ** k) for k in range(400)) for z in range(len(run))]
    return [*found, law(0)]


@pytest.mark.parametrize("name", LAWS)
def test_the_bound_holds_for_bases_and_is_nearly_attained(name: str) -> None:
    """No base of three outcomes exceeds the bound. The one of the proof comes within 5% of it."""
    law, mass = LAWS[name]
    top, small = math.exp(RUN), 1e-4
    bound = float(repeated_cost(law, Fraction(1, 2)))
    worst = 0.0
    for step in range(1, 40):
        low = step / 40 * (1 - top * small)
        left = [low, top * small, 1 - low - top * small]
        for other in (low / top, low * top, 1 - (1 - low) * top, 1 - (1 - low) / top):
            right = [other, small, 1 - other - small]
            if min(right) > 0 and all(
                abs(math.log(a / b)) <= RUN + 1e-9 for a, b in zip(left, right, strict=True)
            ):
                pairs = zip(best_of(left, mass), best_of(right, mass), strict=True)
                losses = [abs(math.log(a / b)) for a, b in pairs if a > 0 and b > 0]
                worst = max(worst, *losses)
    assert worst <= bound + 1e-9
    centre = top / (1 + top) - top * small / 2
    extreme = [centre, top * small, 1 - centre - top * small]
    mirrored = [1 / (1 + top) - small / 2, small, top / (1 + top) - small / 2]
    attained = math.log(best_of(extreme, mass)[1] / best_of(mirrored, mass)[1])
    assert 0.95 * bound <= attained <= bound * 1.001


@pytest.mark.parametrize(
    ("law", "epsilon"),
    [
        ({"law": "geometric", "chance": "0"}, "1"),
        ({"law": "geometric", "chance": "11/10"}, "1"),
        ({"law": "logarithmic", "p": "1"}, "1"),
        ({"law": "negative-binomial", "n": "-1/2", "chance": "1/2"}, "1"),
        ({"law": "binomial", "n": "5/2", "p": "1/2"}, "1"),
        ({"law": "poisson", "mean": "-1"}, "1"),
        ({"law": "poisson"}, "1"),
        ({"law": "constant", "n": "3"}, "1"),
        ({"law": "geometric", "chance": "1/2"}, "-1"),
        ({"law": "geometric", "chance": "1/2"}, "1001"),
    ],
)
def test_impossible_laws_and_costs_are_refused(law: dict[str, str], epsilon: str) -> None:
    """The rule is refused for parameters outside its statement."""
    with pytest.raises(RefusedStepError):
        repeated_cost(law, Fraction(epsilon))


def proved() -> dict[str, Any]:
    certificate = copy.deepcopy(prove_values(programs.select, PureDP(epsilon=1.5), data=DATA).certificate)
    assert certificate is not None
    check(certificate)
    return certificate


def shown(certificate: dict[str, Any], text: str) -> list[Any]:
    """Return the node of the tree that shows a text."""
    return next(node for node in certificate["tree"] if node[0] == "show" and node[1].startswith(text))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("selected", "selected 1"),
        ("selected", "release 0"),
        ("selected", "anything"),
        ("repeat", "repeat 1 0"),
        ("repeat", "repeat 0 1"),
        ("repeat", "repeat 0"),
        ("repeat", "selected 0"),
        ("draw", "repeat 1 0"),
        ("draw", "reveals the data"),
    ],
)
def test_forged_marks_are_refused(text: str, other: str) -> None:
    """A block that is not closed, not numbered in order, nested, or shows something is refused."""
    forged = proved()
    shown(forged, text)[1] = other
    with pytest.raises(ValuesProofError):
        check(forged)


def test_noise_of_a_run_is_not_used_outside_of_it() -> None:
    """A draw before the block cannot serve all of its runs."""
    forged = proved()
    tree = forged["tree"]
    mark = shown(forged, "repeat")
    first = next(node for node in tree if node[0] == "show" and node[1].startswith("draw"))
    mark[1], first[1] = first[1], mark[1]
    with pytest.raises(ValuesProofError):
        check(forged)


def test_a_smaller_law_has_a_smaller_bound_only_if_it_is_written() -> None:
    """The kernel derives the bound from the law in the certificate, not from a number in it."""
    certificate = proved()
    before = check(certificate).epsilon
    certificate["repetitions"][0]["chance"] = "1/100"
    after = check(certificate).epsilon
    assert before is not None
    assert after is not None
    assert after > before
