"""The checker of decision sequences: sound on an event that can be integrated, and strict with its input."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from audits.private_online_learning.hybrid_decisions import decision_event
from dpaudit.certify.witnesses.window_event import window_event_bound, window_event_loss
from dpaudit.core.errors import CertificateError, DpauditError

#: Two arms, four rounds: arm 1 waits in rounds 3 and 4, in round 4 with a larger bonus than arm 2's.
SMALL: dict[str, Any] = {
    "unit": "1",
    "path": [[1, 1], [2, 3]],
    "rewards": [["0"], ["0", "0", "0"]],
    "replaced": [1, 1, "1"],
    "sums": [[["1/a"]], [["2/a"], ["2/b"], ["2/c"]]],
    "scales": {"1/a": "1", "2/a": "1", "2/b": "1", "2/c": "1"},
    "bonus": [
        {"order": 0, "factor": "2500", "count": 1, "level": 0, "log": 0},
        {"order": 1, "factor": "100", "count": 1, "level": 0, "log": 0},
    ],
    "shift": {"1/a": "1"},
    "box": {"half_width": "3/10", "centre": {"1/a": ["-151/10", "-293/100"]}},
    "tails": [{"noise": "1/a", "chernoff": {"rows": {"4/1": "9/5"}, "extra": ["9/5"]}}],
}


def small_probability(u: float, reward: float) -> float:
    """P(arm 2 wins rounds 3 and 4) by quadrature over arm 1's noise, in units of 1/u."""
    gap = (1 - math.sqrt(0.5)) * (50 + 10 * u)

    def density(a: float) -> float:
        first, second = laplace.sf(a + u * reward), laplace.sf(2 * (a + u * reward + gap))
        return float(laplace.pdf(a) * first * second)

    edges = [-gap - u - 60, -gap - u, -gap, -u, 0.0, 40.0]
    pieces = [quad(density, low, high, epsabs=0, epsrel=1e-11, limit=200)[0] for low, high in pairwise(edges)]
    return math.fsum(pieces)


@pytest.mark.parametrize("u", [0.01, 0.1, 1.0, 4.0])
def test_bounds_hold_for_an_event_that_can_be_integrated(u: float) -> None:
    """Loss and probability are bounded from below, the loss closely, against one-dimensional quadrature."""
    found = window_event_loss(SMALL)
    before, after = small_probability(u, 0.0), small_probability(u, 1.0)
    loss = math.log(before / after)
    assert 0.9 * u < float(found.loss) * u <= loss * (1 + 1e-9)
    assert loss <= u * (1 + 1e-9)
    assert found.constant + found.slope * u <= math.log(before)


def test_bound_is_the_loss_at_the_file_s_epsilon() -> None:
    """The bound scales with the parameter in the file, which must be positive and exact."""
    loss = window_event_loss(SMALL).loss
    assert window_event_bound({**SMALL, "epsilon": "1/4"}) == loss / 4
    for wrong in ("0", "-1", 0.5):
        with pytest.raises(DpauditError):
            window_event_bound({**SMALL, "epsilon": wrong})


def tampered(name: str) -> dict[str, Any]:
    """The witness with one thing changed."""
    body = copy.deepcopy(decision_event())
    chernoff = body["tails"][1]["chernoff"]
    transport = body["tails"][0]["transport"]
    row, name_of = next(iter(chernoff["rows"])), "1/Y1:0:0"
    changes: dict[str, Callable[[], Any]] = {
        "a larger shift": lambda: body["shift"].update({name_of: "2"}),
        "another pull replaced": lambda: body["replaced"].__setitem__(1, 3),
        "a pull before the first": lambda: body["replaced"].__setitem__(1, -1),
        "a reward above 1": lambda: body["replaced"].__setitem__(2, "2"),
        "another path": lambda: body["path"].__setitem__(2, [1, 2]),
        "arm 2 first": lambda: body["path"].reverse(),
        "no noise of arm 2": lambda: body["sums"].__setitem__(1, [[] for _ in body["sums"][1]]),
        "a shared noise": lambda: body["sums"][1][0].__setitem__(0, "1/Z0"),
        "a scale of 0": lambda: body["scales"].update({name_of: "0"}),
        "no bonus": lambda: body.update(bonus=[]),
        "a box elsewhere": lambda: body["box"]["centre"].update({name_of: ["0", "0"]}),
        "a wide box": lambda: body["box"].update(half_width="3"),
        "a negative multiplier": lambda: chernoff["rows"].update({row: "-1"}),
        "multipliers beyond the rate": lambda: chernoff["rows"].update({row: "1000"}),
        "no multipliers": lambda: chernoff.update(rows={}),
        "a multiplier too few": lambda: chernoff.update(extra=[]),
        "a missing tail": lambda: body["tails"].pop(),
        "a tail twice": lambda: body["tails"].append(body["tails"][1]),
        "a transport that changes a sum": lambda: transport["move"].pop("1/Y2:0:0"),
        "a transport without an escape": lambda: transport["escapes"].pop("1/Y2:0:0"),
        "a short transport": lambda: transport.update(length=["40", "1"]),
        "a negative transport": lambda: transport.update(length=["-40", "17/4"]),
        "a missing field": lambda: body.pop("unit"),
        "a float": lambda: body.update(unit=0.5),
    }
    if not name:
        return dict.fromkeys(changes)
    changes[name]()
    return body


@pytest.mark.parametrize("name", list(tampered("")))
def test_checker_refuses_a_tampered_witness(name: str) -> None:
    """Every step of the proof is checked: a witness with one thing wrong is refused."""
    with pytest.raises(CertificateError):
        window_event_loss(tampered(name))


def test_weaker_proof_gives_a_weaker_bound() -> None:
    """The bound is computed, not copied: with a shorter transport the same event is certified for less."""
    body = copy.deepcopy(decision_event())
    body["tails"][0]["transport"]["length"] = ["10", "17/4"]
    weaker, full = window_event_loss(body), window_event_loss(decision_event())
    assert Fraction(14, 10) < weaker.loss < full.loss - Fraction(1, 1000)
