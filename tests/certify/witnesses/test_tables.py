"""Tables of probabilities as witnesses: what they bound, by hand; and tables that must be refused."""

from __future__ import annotations

import copy
import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.certify.witnesses.tables import Interval, Outcome, tables_witness
from dpaudit.core.claims import (
    Accounting,
    ApproxDP,
    GaussianDP,
    Model,
    PrivacyClaim,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.core.errors import CertificateError, DpauditError
from dpaudit.core.evidence import Witness, evidence_from_json
from dpaudit.core.views import SERVER, View

PURE = PureDP(epsilon=1)


def point(value: str) -> Interval:
    return Fraction(value), Fraction(value)


def written(claim: PrivacyClaim, *rows: tuple[str, str], left_out: tuple[str, str] = ("0", "0")) -> Witness:
    """A witness with these probabilities on either input, through JSON and back."""
    outcomes = [
        Outcome(values=[k], recorded=point(here), neighbour=point(there))
        for k, (here, there) in enumerate(rows)
    ]
    made = tables_witness(
        claim,
        outcomes,
        inputs=(0, 1),
        description="two tables",
        left_out=(Fraction(left_out[0]), Fraction(left_out[1])),
        orders=[Fraction(2), Fraction(3)],
    )
    again = evidence_from_json(json.loads(json.dumps(made.to_json())))
    assert isinstance(again, Witness)
    assert recompute(again, claim) == made.bound
    return again


def test_epsilon_is_the_largest_ratio_in_either_direction() -> None:
    """3/4 against 1/4; and 1/8 against 7/8 read the other way."""
    assert float(written(PURE, ("3/4", "1/4"), ("1/4", "3/4")).bound or 0) == pytest.approx(math.log(3))
    swapped = written(PURE, ("1/2", "7/8"), ("1/2", "1/8"))
    assert float(swapped.bound or 0) == pytest.approx(math.log(4))
    backward = written(PURE, ("1/8", "1/2"), ("7/8", "1/2"))
    assert float(backward.bound or 0) == pytest.approx(math.log(4))
    assert backward.description.endswith("(swapped)")
    assert backward.body["inputs"]["recorded"] == swapped.body["inputs"]["neighbour"]


def test_equal_tables_show_nothing() -> None:
    """Bounds of 0, for every notion."""
    for claim in (
        PURE,
        ApproxDP(epsilon=0, delta="1/2"),
        RenyiDP(order=2, epsilon=1),
        ZeroConcentratedDP(rho=1),
        GaussianDP(mu=1),
    ):
        assert written(claim, ("1/3", "1/3"), ("2/3", "2/3")).bound == 0


def test_an_outcome_of_one_side_only_is_infinite() -> None:
    """For all notions but (epsilon, delta), where it counts with its probability."""
    rows = (("1/100", "0"), ("99/100", "1"))
    for claim in (PURE, RenyiDP(order=2, epsilon=1), ZeroConcentratedDP(rho=1), GaussianDP(mu=1)):
        assert written(claim, *rows).bound is None
    delta = written(ApproxDP(epsilon=9, delta="1/2"), *rows).bound
    assert float(delta or 0) == pytest.approx(0.01, rel=1e-14)


def test_mass_left_out_counts_for_the_neighbour() -> None:
    """An absent outcome may be in the mass left out: the ratio is 1/2 over 1/100, once for delta."""
    rows = (("1/2", "0"), ("1/2", "99/100"))
    witness = written(PURE, *rows, left_out=("0", "1/100"))
    assert float(witness.bound or 0) == pytest.approx(math.log(50))
    delta = written(ApproxDP(epsilon=1, delta="1/2"), *rows, left_out=("0", "1/100"))
    assert float(delta.bound or 0) == pytest.approx(0.5 - math.e / 100)
    renyi = written(RenyiDP(order=2, epsilon=1), *rows, left_out=("0", "1/100"))
    assert float(renyi.bound or 0) == pytest.approx(math.log(0.25 / 0.01 + 0.25 / 1.0))
    mu = written(GaussianDP(mu=1), *rows, left_out=("0", "1/100"))
    assert float(mu.bound or 0) == pytest.approx(2.3263478740408408)  # Phi^-1(1/2) - Phi^-1(1/100)


def test_a_zcdp_claim_is_held_against_the_better_order() -> None:
    """Orders 2 and 3, each divided by itself."""
    witness = written(ZeroConcentratedDP(rho=1), ("3/4", "1/4"), ("1/4", "3/4"))
    by_order = {
        a: math.log(0.75**a * 0.25 ** (1 - a) + 0.25**a * 0.75 ** (1 - a)) / (a - 1) / a for a in (2, 3)
    }
    best = max(by_order, key=by_order.__getitem__)
    assert witness.body["order"] == str(best)
    assert float(witness.bound or 0) == pytest.approx(by_order[best])


def test_enclosures_count_with_their_worse_ends() -> None:
    """p from below, q from above; and both ends are in the file."""
    wide = [
        Outcome(
            values=[0],
            recorded=(Fraction(7, 10), Fraction(4, 5)),
            neighbour=(Fraction(1, 5), Fraction(3, 10)),
        ),
        Outcome(
            values=[1],
            recorded=(Fraction(1, 5), Fraction(3, 10)),
            neighbour=(Fraction(7, 10), Fraction(4, 5)),
        ),
    ]
    witness = tables_witness(PURE, wide, inputs=(0, 1), description="wide")
    assert float(witness.bound or 0) == pytest.approx(math.log(7 / 3))


def test_mu_of_a_gaussian_cut_into_intervals_is_nearly_its_shift() -> None:
    """N(0, 1) against N(1, 1) in 60 cells: below 1, and above 0.999."""

    def cells(shift: float) -> list[Fraction]:
        cut = [-math.inf, *(-3 + i / 8 for i in range(60)), math.inf]
        chance = [0.5 * (1 + math.erf((x - shift) / math.sqrt(2))) for x in cut]
        return [Fraction(b - a) for a, b in itertools.pairwise(chance)]

    slack = Fraction(1, 10**15)
    outcomes = [
        Outcome(
            values=[k],
            recorded=(max(p - slack, Fraction(0)), p + slack),
            neighbour=(max(q - slack, Fraction(0)), q + slack),
        )
        for k, (p, q) in enumerate(zip(cells(0), cells(1), strict=True))
    ]
    witness = tables_witness(GaussianDP(mu=1), outcomes, inputs=(0, 1), description="cells")
    assert 0.999 < float(witness.bound or 0) < 1


def changed(edit: Any, claim: PrivacyClaim = PURE) -> Witness:
    witness = written(claim, ("3/4", "1/4"), ("1/4", "3/4"))
    body = copy.deepcopy(witness.body)
    edit(body)
    return replace(witness, body=body)


REFUSED: dict[str, tuple[Any, str]] = {
    "probabilities above 1 together": (
        lambda b: b["outcomes"][1].update(recorded=["1/2", "1/2"]),
        "add up to 1",
    ),
    "probabilities below 1 together": (
        lambda b: b["outcomes"][1].update(neighbour=["1/2", "1/2"]),
        "add up to 1",
    ),
    "an outcome twice": (lambda b: b["outcomes"][1].update(values=b["outcomes"][0]["values"]), "distinct"),
    "ends in the wrong order": (lambda b: b["outcomes"][0].update(recorded=["3/4", "1/2"]), "in order"),
    "one end": (lambda b: b["outcomes"][0].update(recorded=["3/4"]), "two ends"),
    "a negative probability": (lambda b: b["outcomes"][0].update(recorded=["-1", "3/4"]), "in \\[0, 1\\]"),
    "no outcomes": (lambda b: b.update(outcomes=[]), "outcomes"),
    "one mass left out": (lambda b: b.update(left_out=["0"]), "two masses"),
    "half an outcome merged": (lambda b: b["outcomes"][0].update(merged="1/2"), "positive integer"),
    "a field more": (lambda b: b.update(note="x"), "must have the fields"),
    "a field less": (lambda b: b.pop("left_out"), "must have the fields"),
    "a field of an outcome less": (lambda b: b["outcomes"][0].pop("merged"), "four fields"),
    "the same inputs": (lambda b: b["inputs"].update(recorded=b["inputs"]["neighbour"]), "must differ"),
    "an order for a pure claim": (lambda b: b.update(order="2"), "order"),
    "values that are no list": (lambda b: b["outcomes"][0].update(values={"int": "0"}), "list of values"),
    "a spelling of its own": (lambda b: b["outcomes"][0].update(values=[{"int": "00"}]), "as dpaudit writes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_broken_tables_are_refused(name: str) -> None:
    """Each malformed table is refused with its own reason."""
    edit, why = REFUSED[name]
    with pytest.raises(DpauditError, match=why):
        recompute(changed(edit), PURE)


def test_a_bound_above_the_tables_is_refused() -> None:
    """Also an infinite one, and a better table does not hide it."""
    witness = written(PURE, ("3/4", "1/4"), ("1/4", "3/4"))
    for bound in (Fraction(11, 10), None):
        with pytest.raises(CertificateError, match="claims too much"):
            recompute(replace(witness, bound=bound), PURE)


def test_other_claims_and_views_are_refused() -> None:
    """A float program, an accounting, another view, an order outside of the domain, no order at all."""
    witness = written(PURE, ("3/4", "1/4"), ("1/4", "3/4"))
    with pytest.raises(CertificateError, match="ideal"):
        recompute(witness, PureDP(epsilon=1, model=Model.AS_RUN))
    with pytest.raises(CertificateError, match="view"):
        recompute(witness, PureDP(epsilon=1, view=View.of(SERVER)))
    everything = copy.deepcopy(witness.body) | {"view": {"principals": [], "complement": True}}
    with pytest.raises(CertificateError, match="privacy claim about ideal distributions"):
        recompute(replace(witness, body=everything), Accounting(epsilon=1, declared="x"))
    rho = ZeroConcentratedDP(rho=1)
    for order in ("1", "10001"):
        forged = changed(lambda body, order=order: body.update(order=order), rho)
        with pytest.raises(CertificateError, match="order"):
            recompute(forged, rho)
    with pytest.raises(CertificateError, match="at some order"):
        tables_witness(
            rho,
            [Outcome(values=[0], recorded=point("1"), neighbour=point("1"))],
            inputs=(0, 1),
            description="none",
            orders=[],
        )
