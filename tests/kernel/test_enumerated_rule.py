"""The rule ``enumerated``: bounds by hand, tables that it refuses, and the largest that it takes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify.proof import Proof, accepted
from dpaudit.core.claims import Accounting, Adversary, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP, Unit
from dpaudit.core.errors import CertificateError
from dpaudit.kernel import kernel_t0
from dpaudit.kernel.ball import precision
from dpaudit.kernel.check import context_of, examine

#: What claims speak about here unless they say otherwise.
DOMAIN = PureDP(epsilon=1).domain
HALF, QUARTER = ["1/2", "1/2"], ["1/4", "3/4"]


def proof(lower: Any, upper: Any = None, neighbours: Any = (("0", "1"),), *, domain: str = DOMAIN) -> Proof:
    """A proof with these tables; exact ones if ``upper`` is left out."""
    parameters = {
        "lower": lower,
        "upper": lower if upper is None else upper,
        "neighbours": [list(pair) for pair in neighbours],
        "domain": domain,
        "program": "by hand",
    }
    return accepted("enumerated", parameters)


def bound(made: Proof, claim: Any) -> float:
    return float(made.certify(claim).bound)


def test_bounds_are_those_of_the_worse_direction() -> None:
    """1/2, 1/2 against 1/4, 3/4: every number by hand, in both directions."""
    made = proof([HALF, QUARTER])
    assert bound(made, PureDP(epsilon=1)) == pytest.approx(math.log(2), rel=1e-14)
    assert bound(made, ApproxDP(epsilon=0, delta=1)) == pytest.approx(0.25, rel=1e-14)
    forth, back = 0.25 / 0.25 + 0.25 / 0.75, 0.0625 / 0.5 + 0.5625 / 0.5
    expected = math.log(max(forth, back))
    assert bound(made, RenyiDP(order=2, epsilon=1)) == pytest.approx(expected, rel=1e-14)
    with pytest.raises(CertificateError, match="mu"):
        made.certify(GaussianDP(mu=1))


def test_enclosures_count_with_their_worse_ends() -> None:
    """Upper ends of one row over lower ends of the other."""
    made = proof([["1/2", "1/4"], ["1/8", "3/4"]], [["3/4", "1/2"], ["1/4", "7/8"]])
    assert bound(made, PureDP(epsilon=1)) == pytest.approx(math.log(6), rel=1e-14)  # 3/4 over 1/8
    assert bound(made, ApproxDP(epsilon=0, delta=1)) == pytest.approx(5 / 8, rel=1e-14)  # also 7/8 - 1/4


def test_only_listed_neighbours_count() -> None:
    """Three inputs in a row: the ends differ most, and are no neighbours."""
    rows = [["1/2", "1/2"], ["1/4", "3/4"], ["1/8", "7/8"]]
    near = proof(rows, neighbours=(("0", "1"), ("1", "2")))
    far = proof(rows, neighbours=(("0", "1"), ("1", "2"), ("0", "2")))
    assert bound(near, PureDP(epsilon=1)) == pytest.approx(math.log(2), rel=1e-14)
    assert bound(far, PureDP(epsilon=1)) == pytest.approx(math.log(4), rel=1e-14)


def test_an_outcome_of_one_side_has_a_delta_only() -> None:
    """No epsilon and no divergence; and what is impossible on both sides counts nowhere."""
    made = proof([["1/100", "99/100", "0"], ["0", "1", "0"]])
    assert bound(made, ApproxDP(epsilon=5, delta=1)) == pytest.approx(0.01, rel=1e-14)
    for claim in (PureDP(epsilon=1), RenyiDP(order=2, epsilon=1)):
        with pytest.raises(CertificateError):
            made.certify(claim)
    both = proof([["1/2", "1/2", "0"], ["1/4", "3/4", "0"]])
    assert bound(both, PureDP(epsilon=1)) == pytest.approx(math.log(2), rel=1e-14)


def test_equal_rows_lose_nothing() -> None:
    """Bounds of exactly 0."""
    made = proof([HALF, HALF])
    for claim in (PureDP(epsilon=1), ApproxDP(epsilon=0, delta=1)):
        assert made.certify(claim).bound == 0


def test_a_bound_is_the_same_at_any_working_precision() -> None:
    """Whoever checks it starts with another precision than whoever made it."""
    claim, made = ApproxDP(epsilon="1/3", delta=1), proof([["2/3", "1/3"], ["1/3", "2/3"]])
    bounds = set()
    for bits in (53, 64, 192, 300):
        with precision(bits):
            bounds.add(made.certify(claim).bound)
    assert len(bounds) == 1


def test_what_is_enumerated_is_an_assumption() -> None:
    """The certificate is never proved, and says which data sets it is about."""
    certificate = proof([HALF, QUARTER], domain="these two").certify(PureDP(epsilon=1, domain="these two"))
    assert certificate.strength == "accounted"
    assert "these two" in certificate.assumptions[0]


OTHER_CLAIMS: dict[str, Claim] = {
    "domain must be the one that was enumerated": PureDP(epsilon=1, domain=f"{DOMAIN} or more"),
    "fixed in advance, got the adversary 'adaptive'": PureDP(epsilon=1, adversary=Adversary.ADAPTIVE),
    "everybody must take part": PureDP(epsilon=1, participation="all but one user"),
    "that was enumerated, .* got ''": Accounting(epsilon=1, declared="one release"),
}


@pytest.mark.parametrize("why", OTHER_CLAIMS)
def test_a_claim_about_other_data_is_refused(why: str) -> None:
    """Neither made nor believed: a certificate that was moved to such a claim, root and all, is refused."""
    claim, made = OTHER_CLAIMS[why], proof([HALF, QUARTER])
    with pytest.raises(CertificateError, match=why):
        made.certify(claim)
    good = made.certify(PureDP(epsilon=1)).to_json()
    assert examine(good, PureDP(epsilon=1)).tier == "T1"
    good["tree"]["parameters"] = context_of(claim.to_json())
    with pytest.raises(CertificateError, match=why):
        examine(good, claim)


@pytest.mark.parametrize("wrap", ["post-processing", "sequential", "group"])
def test_a_rule_above_does_not_hide_what_the_claim_speaks_about(wrap: str) -> None:
    """Premises are held against the same domain, at any depth."""
    parameters = {
        "post-processing": {"function": "a sum"},
        "sequential": {"times": ["2"]},
        "group": {"events": "2", "declared": "two"},
    }[wrap]
    unit = Unit.USER if wrap == "group" else Unit.EVENT
    made = accepted(wrap, parameters, [proof([HALF, QUARTER])])
    assert made.certify(PureDP(epsilon=1, unit=unit)).bound >= Fraction(69, 100)
    with pytest.raises(CertificateError, match="domain must be"):
        made.certify(PureDP(epsilon=1, unit=unit, domain="any integer"))


def weighted(*rows: Any, neighbours: Any = (("0", "1"),), **more: Any) -> Proof:
    """A proof by weights, each a list of coefficients and exponents."""
    pairs = [list(pair) for pair in neighbours]
    words = {"domain": DOMAIN, "program": "by hand"}
    return accepted("enumerated", {"weights": [*rows], "neighbours": pairs, **words, **more})


#: e : 1, 1 : e and 1 : 1, and e + 1/e against 1: weights of two outcomes.
FIRST, SECOND = [[["1", "1"]], [["1", "0"]]], [[["1", "0"]], [["1", "1"]]]
EVEN, SUM = [[["1", "5"]], [["1", "5"]]], [[["1", "1"], ["1", "-1"]], [["1", "0"]]]


def test_weights_give_a_rational_epsilon_exactly() -> None:
    """e/(1+e) against 1/(1+e): epsilon 1, as this number, and delta and divergence by hand."""
    made, e = weighted(FIRST, SECOND), math.e
    assert made.certify(PureDP(epsilon=1)).bound == 1
    assert bound(made, ApproxDP(epsilon=0, delta=1)) == pytest.approx((e - 1) / (1 + e), rel=1e-14)
    assert made.certify(ApproxDP(epsilon=1, delta=1)).bound == 0
    expected = math.log((e**2 + 1 / e) / (1 + e))
    assert bound(made, RenyiDP(order=2, epsilon=1)) == pytest.approx(expected, rel=1e-14)


def test_weights_between_listed_neighbours_only() -> None:
    """Two steps of which neither is rational: each is enclosed, and the larger counts, not their sum."""
    e = math.e
    one = abs(math.log(e / (1 + e) / 0.5)), abs(math.log(1 / (1 + e) / 0.5))
    far = weighted(FIRST, EVEN, SECOND, neighbours=(("0", "1"), ("1", "2")))
    assert bound(far, PureDP(epsilon=1)) == pytest.approx(max(one), rel=1e-14)
    near = weighted(FIRST, EVEN, SECOND, neighbours=(("0", "1"), ("1", "2"), ("2", "0")))
    assert near.certify(PureDP(epsilon=1)).bound == 1
    made = weighted(SUM, EVEN)
    total = e + 1 / e + 1
    expected = max(abs(math.log((total - 1) / total / 0.5)), abs(math.log(1 / total / 0.5)))
    assert bound(made, PureDP(epsilon=1)) == pytest.approx(expected, rel=1e-14)


def test_weights_that_are_zero() -> None:
    """Of one side only: no epsilon; of both, or of a data set without a neighbour: they count nowhere."""
    gone = [[["1", "0"], ["-1", "0"]], [["1", "0"]]]
    with pytest.raises(CertificateError, match="must bound epsilon"):
        weighted(FIRST, gone).certify(PureDP(epsilon=1))
    assert bound(weighted(FIRST, gone), ApproxDP(epsilon=0, delta=1)) == pytest.approx(math.e / (1 + math.e))
    more = weighted(*([*row, []] for row in (FIRST, SECOND)))
    assert more.certify(PureDP(epsilon=1)).bound == 1
    assert weighted(FIRST, SECOND, gone).certify(PureDP(epsilon=1)).bound == 1


@pytest.mark.parametrize(("left", "right"), [(FIRST, SECOND), (FIRST, EVEN), (SUM, EVEN)])
def test_a_bound_by_weights_is_the_same_at_any_working_precision(left: Any, right: Any) -> None:
    """Rational or not, in this rule and in ``finite``: whoever checks it may use another precision."""
    for make in (weighted, lambda *rows: accepted("finite", {"weights": [*rows]})):
        for claim in (PureDP(epsilon=1), ApproxDP(epsilon="1/3", delta=1)):
            bounds = set()
            for bits in (53, 64, 192, 300):
                with precision(bits):
                    bounds.add(make(left, right).certify(claim).bound)
            assert len(bounds) == 1


def terms(count: int) -> list[list[str]]:
    return [["1", f"{k}/10"] for k in range(count)]


WEIGHTS_REFUSED: dict[str, tuple[Any, str]] = {
    "tables besides": (lambda: weighted(FIRST, SECOND, upper=[HALF, HALF]), "known to the rule"),
    "a negative weight": (lambda: weighted(FIRST, [[["-1", "0"]], [["1", "0"]]]), "0 or more"),
    "no weight": (lambda: weighted(FIRST, [[], []]), "not all of them 0"),
    "ragged rows": (lambda: weighted(FIRST, [[["1", "0"]]]), "equal length"),
    "another row": (lambda: weighted(FIRST, SECOND, neighbours=(("0", "2"),)), "from 0 to 1"),
    "too many inputs": (lambda: weighted(*[FIRST] * 65), "at most 64"),
    "too many outcomes": (lambda: weighted(*[[[["1", "0"]]] * 257] * 2), "1 to 256 outputs"),
    "too many terms": (lambda: weighted(*[[terms(1001), terms(1000)]] * 2), "at most 2000 terms"),
    "too many log-ratios": (
        lambda: weighted(*[[[["1", "0"]]] * 256] * 2, neighbours=(("0", "1"),) * 196),
        "at most 100000 log-ratios",
    ),
    "too many in all": (lambda: weighted(*[[terms(1000), terms(1000)]] * 11), "at most 20000 terms"),
}


@pytest.mark.parametrize("name", WEIGHTS_REFUSED)
def test_weights_that_are_refused(name: str) -> None:
    """Each malformed table is refused with its own reason."""
    make, why = WEIGHTS_REFUSED[name]
    with pytest.raises(CertificateError, match=why):
        make()


def flat(rows: int, outcomes: int) -> list[list[str]]:
    return [[str(Fraction(1, outcomes))] * outcomes for _ in range(rows)]


REFUSED: dict[str, tuple[Any, str]] = {
    "lower above upper": (lambda: proof([HALF, HALF], [["1/4", "1"], HALF]), "each row"),
    "above one": (lambda: proof([HALF, HALF], [["2", "1"], HALF]), "each row"),
    "below zero": (lambda: proof([["-1/2", "1"], HALF], [["1/2", "1"], HALF]), "each row"),
    "no distribution above": (lambda: proof([["3/4", "1/2"], HALF]), "each row"),
    "no distribution below": (lambda: proof([["1/4", "1/2"], HALF]), "each row"),
    "other shapes": (lambda: proof([HALF, HALF], [HALF]), "one shape"),
    "ragged rows": (lambda: proof([HALF, ["1"]]), "one shape"),
    "rows that are no lists": (lambda: proof(["1/2", "1/2"]), "rows of"),
    "no rows": (lambda: proof([]), "rows of"),
    "an empty row": (lambda: proof([[], []]), "rows of"),
    "no neighbours": (lambda: proof([HALF, HALF], neighbours=()), "list a pair"),
    "an input beside itself": (lambda: proof([HALF, HALF], neighbours=(("1", "1"),)), "two datasets"),
    "an input that is none": (lambda: proof([HALF, HALF], neighbours=(("0", "2"),)), "from 0 to 1"),
    "an input below none": (lambda: proof([HALF, HALF], neighbours=(("-1", "1"),)), "from 0 to 1"),
    "three neighbours": (lambda: proof([HALF] * 3, neighbours=(("0", "1", "2"),)), "pairs of rows"),
    "too many outcomes": (lambda: proof(flat(2, 1001)), "rows of 1 to 1000"),
    "too many inputs": (lambda: proof(flat(201, 1)), "at most 200"),
    "too many entries": (lambda: proof(flat(21, 1000)), "at most 20000 entries"),
    "too many pairs": (lambda: proof([HALF, HALF], neighbours=(("0", "1"),) * 2001), "at most 2000"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_are_refused(name: str) -> None:
    """Each malformed table is refused with its own reason."""
    make, why = REFUSED[name]
    with pytest.raises(CertificateError, match=why):
        make()


def test_the_largest_tables_are_taken() -> None:
    """1000 outcomes, 200 inputs, 20 000 entries, 2000 pairs: each limit is itself within."""
    for rows, outcomes in ((2, 1000), (200, 1), (20, 1000)):
        assert proof(flat(rows, outcomes)).certify(PureDP(epsilon=1)).bound == Fraction(0)
    many = proof([HALF, QUARTER], neighbours=(("0", "1"),) * 2000)
    assert bound(many, PureDP(epsilon=1)) == pytest.approx(math.log(2), rel=1e-14)


def test_the_first_tier_says_which_one_it_needs() -> None:
    """Rational arithmetic alone does not know the rule, and names the tier that does."""
    claim = PureDP(epsilon=1)
    certificate = proof([HALF, QUARTER]).certify(claim).to_json()
    with pytest.raises(kernel_t0.BeyondTierError, match="the rule enumerated needs tier T1") as caught:
        kernel_t0.check(certificate, claim.to_json())
    assert caught.value.tier == "T1"
