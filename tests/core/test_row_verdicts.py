"""Rows that hold cells: how the verdicts of cells become the row's, and what shares the error level."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify import build
from dpaudit.core.claims import (
    Accounting,
    ApproxDP,
    Claim,
    Controls,
    ErrorRate,
    LowerBound,
    Ordering,
    PureDP,
    RenyiDP,
    claim_from_json,
)
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.evidence import Certificate, Evidence
from dpaudit.core.row_verdicts import as_expected, judge_row, quantity_of
from dpaudit.core.suite import ROLES, Cell, Outcome, Row
from dpaudit.core.verdicts import Judgement
from dpaudit.run.finding import finding_of
from tests.core.test_judge import ERROR, PURE, estimate, proof, witness
from tests.errors import raises

ALPHA = 0.01
CONTROLS = Controls(text="each broken program is refuted")
GRID = "the error is at most 1"


def error(value: float, *, level: float = 0.0, claim: Claim = ERROR) -> Evidence:
    """The error at one setting, computed (or sampled, where it errs with ``level``), or what else ``claim``
    is about."""
    return estimate(value, value, error=level, covers=True, quantity=quantity_of(claim))


def cell(name: str, *evidence: Evidence, claim: Claim = ERROR, **more: Any) -> Cell:
    return Cell(name=name, claim=claim, evidence=evidence, **more)


def naming(*cells: Cell) -> Controls:
    return Controls(text="each broken program is refuted", cells=tuple((c.name, c.expect) for c in cells))


def row(
    claim: Claim, *cells: Cell, own: Sequence[Evidence] = (), unmet: Sequence[str] = ()
) -> tuple[str, str, Judgement]:
    """Verdict, strength and judgement of a row."""
    judged = judge_row(claim, own, cells, unmet=unmet, alpha=ALPHA).whole.judgement
    return judged.verdict.value, judged.strength.value, judged


# The row's verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, 0.25], ("verified", "tested")),
        ([0.5, None], ("inconclusive", "none")),
        ([0.5, None, 2.0], ("refuted", "tested")),
    ],
)
def test_the_worst_cell_decides(values: list[float | None], expected: tuple[str, str]) -> None:
    """Refuted before inconclusive before verified; a cell without evidence is inconclusive."""
    cells = [
        cell(f"n = {place}", *([] if value is None else [error(value)])) for place, value in enumerate(values)
    ]
    verdict, strength, judged = row(ERROR, *cells)
    assert (verdict, strength) == expected
    assert len(judged.reasons) == 1


def test_a_crashed_cell_crashes_the_row() -> None:
    """A contradiction in one cell crashes the row, whatever the verdicts of the other cells."""
    broken = cell("broken", witness("3/2"), proof("1/2"), claim=PURE)
    verdict, _, judged = row(PURE, cell("refuted", witness(2), claim=PURE), broken)
    assert (verdict, judged.broken, judged.reasons[0]) == ("crashed", True, "crashed in 1 of 2 cells: broken")
    assert judged.reasons[1].startswith("broken: contradiction: lower bound 1.5 above upper bound 0.5")


def test_a_cell_with_an_error_crashes_the_row_and_keeps_the_others() -> None:
    """Neither another refuted cell nor ``deciding=False`` hides a cell with an error."""
    for deciding in (True, False):
        fallen = cell("n = 0", deciding=deciding, error="ZeroDivisionError: division by zero")
        judged = judge_row(ERROR, [error(0.5)], [cell("n = 1", error(2)), fallen], unmet=[], alpha=ALPHA)
        assert [part.judgement.verdict for part in judged.cells] == ["refuted", "crashed"]
        assert (judged.whole.judgement.verdict, judged.whole.judgement.upper) == ("crashed", Fraction(1, 2))
        assert "n = 0: ZeroDivisionError: division by zero" in judged.whole.judgement.reasons


def test_a_cell_that_raised_has_no_evidence() -> None:
    """A cell with both an error and evidence is refused."""
    with raises(InvalidParameterError, code="E-CELL-ERROR"):
        cell("n = 0", error(2), error="ZeroDivisionError")


def test_a_row_that_holds_is_as_strong_as_its_weakest_part() -> None:
    """One cell under an assumption makes the row consistent, and the reasons name both."""
    cells = [cell("a", proof(1), claim=PURE), cell("b", proof(1, "the program is it"), claim=PURE)]
    assert row(PURE, *cells[:1])[:2] == ("verified", "proved")
    verdict, strength, judged = row(PURE, *cells)
    assert (verdict, strength) == ("consistent", "accounted")
    assert judged.reasons == (
        "consistent in 1 of 2 cells: b",
        "b: not proved: the certificate assumes 'the program is it'",
    )
    assert row(PURE, *cells[:1], own=[proof(1, "the program is it")])[:2] == ("consistent", "accounted")


def test_a_refuted_row_is_as_strong_as_its_strongest_refutation() -> None:
    """A witness in one cell outweighs an estimate in another, and both cells are named."""
    cells = [cell("a", estimate(1.5, error=0.005), claim=PURE), cell("b", witness(2), claim=PURE)]
    verdict, strength, judged = row(PURE, *cells)
    assert (verdict, strength) == ("refuted", "witness")
    assert judged.reasons == ("refuted in all 2 cells: a, b",)


def test_a_cell_that_does_not_decide_leaves_the_row_alone() -> None:
    """The proof's accounting stands under the row; its refutation is not that of the claim."""
    accounting = Accounting(epsilon=1, declared="one sum")
    under = cell("accounting", witness(3), claim=accounting, deciding=False)
    assert row(PURE, under, own=[proof(1)])[:2] == ("verified", "proved")
    assert row(PURE, under)[:2] == ("inconclusive", "none")


def test_own_evidence_and_cells_both_count() -> None:
    """A row whose own evidence verifies it is refuted by a cell, and shows its own bounds."""
    cells = [cell("n = 9", error(3.0)), cell("n = 8", error(0.25)), cell("n = 7", error(0.125))]
    verdict, _, judged = row(ERROR, *cells, own=[error(0.5)])
    assert (verdict, judged.reasons) == ("refuted", ("refuted in 1 of 3 cells: n = 9",))
    assert (judged.lower, judged.upper) == (Fraction(1, 2), Fraction(1, 2))


# What a row is about


def test_cells_at_other_settings_do_not_verify_a_claim_in_exact_numbers() -> None:
    """1-DP is not verified by a cell that claims 5-DP; with one about 1-DP beside it, it is."""
    weak = cell("other", proof(5), claim=PureDP(epsilon=5))
    verdict, _, judged = row(PURE, weak)
    assert verdict == "inconclusive"
    assert "own claim" in judged.reasons[0]
    assert row(PURE, weak, cell("same", proof(1), claim=PURE))[0] == "verified"
    assert row(PURE, weak, own=[proof(1)])[0] == "verified"
    false = cell("other", witness(6), claim=PureDP(epsilon=5))
    assert row(PURE, false, own=[proof(1)])[0] == "refuted"


def test_only_privacy_decides_about_privacy() -> None:
    """Cells with another claim cannot decide a privacy row, but may be listed with ``deciding=False``."""
    own = cell("own", proof(1), claim=PURE)
    for value in (0.5, 2.0):
        other = {"name": "error", "claim": ERROR, "evidence": [error(value)]}
        with raises(InvalidParameterError, code="E-CELL-SUBJECT"):
            row(PURE, own, Cell(**other))
        assert row(PURE, own, Cell(**other, deciding=False))[:2] == ("verified", "proved")


def test_a_lower_bound_is_not_verified_by_its_cells() -> None:
    """What no simulation verifies, cells that a simulation would verify do not either."""
    claim = LowerBound(text="at least 1", claimed=1)
    above = cell("above", error(2, claim=claim), claim=claim)
    verdict, _, judged = row(claim, above)
    assert (verdict, judged.verdict.value) == ("inconclusive", "inconclusive")


X = Ordering(text="x is at most 1", quantity_name="x", claimed=1)


def at_most(number: float, name: str = "x", text: str = "another setting") -> Ordering:
    return Ordering(text=text, quantity_name=name, claimed=number)


def test_a_weaker_statement_does_not_verify_a_row() -> None:
    """``x <= 100`` is no evidence for ``x <= 1``; ``x <= 1/2`` is, and ``x <= 1`` in other words."""
    for number, expected in ((100, "inconclusive"), (1, "verified"), (0.5, "verified")):
        claim = at_most(number)
        assert row(X, cell("a", error(0.25, claim=claim), claim=claim))[0] == expected
    weak, same = at_most(100), at_most(1)
    both = [cell("a", error(9, claim=weak), claim=weak), cell("b", error(0.5, claim=same), claim=same)]
    assert row(X, *both)[0] == "inconclusive"
    assert row(X, *both, cell("own", error(0.5, claim=X), claim=X))[0] == "verified"


def test_a_weaker_lower_end_does_not_either() -> None:
    """Of "at least" the smaller number is the weaker one; such a row is refuted, never verified."""
    claim = LowerBound(text="at least 1", quantity_name="x", claimed=1)
    less = LowerBound(text="at least 1/2", quantity_name="x", claimed=0.5)
    assert row(claim, cell("a", error(2, claim=less), claim=less))[0] == "inconclusive"
    assert row(claim, cell("a", error(0.25, claim=less), claim=less))[0] == "refuted"


def test_statements_without_a_quantity_must_be_equal() -> None:
    """Where the words alone say what is at most 1, other words are another claim."""
    other = ErrorRate(text="the error of another program is at most 1", claimed=1)
    assert row(ERROR, cell("a", error(0.5), claim=other))[0] == "inconclusive"
    assert row(ERROR, cell("a", error(0.5), claim=other), cell("b", error(0.5)))[0] == "verified"


def test_a_deciding_cell_has_the_subject_of_its_row() -> None:
    """A cell with another type of claim or another quantity cannot decide, only be listed."""
    for claim, item in ((PURE, proof(1)), (at_most(9, "y"), error(3, claim=at_most(9, "y")))):
        for own in ([], [error(0.5, claim=X)]):
            with raises(InvalidParameterError, code="E-CELL-SUBJECT"):
                row(X, cell("other", item, claim=claim), own=own)
            expected = "verified" if own else "inconclusive"
            assert row(X, cell("other", item, claim=claim, deciding=False), own=own)[0] == expected


@pytest.mark.parametrize("deciding", [True, False])
def test_a_refutation_of_the_rows_own_claim_is_never_passed_over(deciding: bool) -> None:
    """Under the row or not: what refutes its very claim refutes it, a crash crashes it."""
    false = cell("false", error(3, claim=X), claim=X, deciding=deciding)
    true = cell("true", error(0.5, claim=X), claim=X)
    verdict, _, judged = row(X, true, false)
    assert (verdict, judged.reasons[-1]) == ("refuted", "refuted in 1 of 2 cells: false")
    assert row(X, false, own=[error(0.5, claim=X)])[0] == "refuted"
    broken = cell("broken", witness("3/2"), proof("1/2"), claim=PURE, deciding=deciding)
    assert row(PURE, broken, own=[proof(1)])[0] == "crashed"
    assert row(X, cell("open", claim=X, deciding=False), own=[error(0.5, claim=X)])[0] == "verified"


def test_a_row_without_a_number_is_not_verified_by_its_cells() -> None:
    """A statement that leaves out its number is held against none, in its cells either."""
    bare = Ordering(text="x is at most 1")
    assert row(bare, cell("a", error(0.5, claim=X), claim=X))[0] == "inconclusive"


def test_another_cell_never_improves_a_verdict() -> None:
    """Whatever the row has, a further deciding cell leaves its verdict or makes it worse, in any order."""
    worse = ["crashed", "refuted", "inconclusive", "verified"]
    kinds: list[list[Evidence]] = [[], [error(0.5)], [error(2.0)], [estimate(None, 0.75, quantity="error")]]
    rng = random.Random(8)
    for _ in range(300):
        cells = [cell(f"{place}", *rng.choice(kinds)) for place in range(rng.randint(1, 5))]
        own = rng.choice(kinds[1:])
        before, after = row(ERROR, *cells[:-1], own=own), row(ERROR, *cells, own=own)
        assert worse.index(after[0]) <= worse.index(before[0])
        rng.shuffle(cells)
        assert row(ERROR, *cells, own=own)[:2] == after[:2]


def test_the_rows_obstacles_hold_for_the_certificates_of_its_cells() -> None:
    """What stands between the program and a certificate is not left out by moving the certificate."""
    verdict, _, judged = row(PURE, cell("a", proof(1), claim=PURE), unmet=["a branch was not visited"])
    assert verdict == "inconclusive"
    assert judged.reasons[0] == "a branch was not visited"
    mixed = [cell("a", proof(1, quantity="error")), cell("b", error(0.5))]
    assert row(ERROR, *mixed)[0] == "verified"
    assert row(ERROR, *mixed, unmet=["a branch was not visited"])[0] == "inconclusive"
    assert row(ERROR, cell("b", error(0.5)), unmet=["a branch was not visited"])[0] == "verified"


def test_a_row_shows_the_bounds_of_its_worst_cell() -> None:
    """Of verified cells the largest upper bound, of refuted ones the largest lower bound."""
    verified = row(ERROR, cell("a", error(0.25)), cell("b", error(0.75)), cell("c", error(0.5)))[2]
    assert (verified.upper, verified.slack) == (Fraction(3, 4), float(Fraction(4, 3)))
    refuted = row(ERROR, cell("a", error(1.5)), cell("b", error(1.25)), cell("c", error(0.5)))[2]
    assert refuted.lower == Fraction(3, 2)


def test_the_worst_cell_of_a_lower_bound_is_the_smallest() -> None:
    """Where the claim is "at least", the refuted row shows the smallest upper bound."""
    claim = LowerBound(text="at least 1", claimed=1)
    values = (0.75, 0.25, 0.5)
    cells = [cell(f"n = {value}", error(value, claim=claim), claim=claim) for value in values]
    verdict, _, judged = row(claim, *cells)
    assert (verdict, judged.upper) == ("refuted", Fraction(1, 4))


def test_the_worst_is_furthest_from_its_own_claim() -> None:
    """By ratio where all claims are positive, otherwise by difference; a cell that claims another number is
    the worst all the same, and the row shows nothing."""

    def at(claimed: float, value: float) -> Cell:
        claim = ErrorRate(text=GRID, claimed=claimed)
        return cell(f"{claimed}: {value}", error(value), claim=claim)

    assert row(ERROR, at(1, 0.5), at(8, 3.0))[2].upper == Fraction(1, 2)
    assert row(ERROR, at(1, 0.25), at(8, 3.0))[2].upper is None
    zero = ErrorRate(text=GRID, claimed=0)
    assert row(zero, at(0, -0.5), at(8, 3.0))[2].upper == Fraction(-1, 2)
    assert row(zero, at(0, -6), at(8, 3.0))[2].upper is None


def test_a_reason_names_five_cells_and_counts_the_others() -> None:
    """Up to five names are all said; of seven the last two are counted."""
    cells = [cell(f"n = {place}", error(2.0)) for place in range(7)]
    first = "n = 0, n = 1, n = 2, n = 3, n = 4"
    assert row(ERROR, *cells[:5])[2].reasons == (f"refuted in all 5 cells: {first}",)
    assert row(ERROR, *cells)[2].reasons == (f"refuted in all 7 cells: {first} and 2 more",)
    assert row(ERROR, cells[0])[2].reasons == ("refuted in 1 of 1 cell: n = 0",)
    assert row(PURE, cell("a", proof(1), claim=PURE))[2].reasons == ("proved in 1 of 1 cell",)


def test_a_quantity_is_that_of_the_words_where_there_are_some() -> None:
    """A statement may name its quantity; otherwise it is that of its kind."""
    assert quantity_of(ErrorRate(text=GRID, quantity_name="relative error")) == "relative error"
    assert (quantity_of(ERROR), quantity_of(PURE)) == ("error", "epsilon")


def test_a_row_shows_no_bounds_of_another_number() -> None:
    """Bounds beside a claimed number that is not theirs would mislead: there are none."""
    claim = at_most(0.75)
    _, _, judged = row(X, cell("a", error(0.5, claim=claim), claim=claim))
    assert (judged.verdict.value, judged.lower, judged.upper, judged.slack) == ("verified", *[None] * 3)


def test_of_equally_bad_cells_the_row_shows_the_one_about_its_own_number() -> None:
    """Two proofs that reach their claims exactly: the row's bound is the one beside its claimed number."""
    cells = [cell(name, proof(bound), claim=PureDP(epsilon=bound)) for name, bound in (("a", 4), ("b", 1))]
    for order in (cells, cells[::-1]):
        assert row(PURE, *order)[2].upper == 1


def test_a_row_shows_no_delta_of_another_epsilon() -> None:
    """Only cells at the row's own epsilon give its bound on delta, however bad the others are; without such a
    cell the row shows none. The same for other orders of a divergence and for other views."""

    def at(name: str, value: float, **parameters: Any) -> Cell:
        claim = ApproxDP(delta="1/1000000", **parameters)
        return cell(name, estimate(value, error=0, quantity="delta"), claim=claim)

    own = ApproxDP(epsilon=1, delta="1/1000000")
    cells = [at("a", 0.125, epsilon=1), at("b", 0.5, epsilon="1/10"), at("c", 0.25, epsilon=1, domain="bits")]
    cells.append(at("d", 0.75, epsilon=1, unit="user"))
    for order in (cells, cells[::-1]):
        verdict, _, judged = row(own, *order)
        assert (verdict, judged.lower) == ("refuted", Fraction(1, 4))
    assert row(own, cells[1], cells[3])[2].lower is None
    orders = [RenyiDP(order=order, epsilon=1) for order in (2, 4)]
    pair = [cell(f"order {c.order}", proof(1, quantity="renyi epsilon"), claim=c) for c in orders]
    assert row(orders[0], *pair)[2].upper == 1
    assert row(orders[0], pair[1])[2].upper is None


def test_two_cells_must_not_have_one_name() -> None:
    """Names that look the same (in compatibility characters, in Greek capitals) count as one name."""
    for names in (("n = 2", "n = 2"), ("n²", "n2"), ("A = 2", "Α = 2")):
        with raises(InvalidParameterError, code="E-CELL-TWICE"):
            row(ERROR, *(cell(name, error(0.5)) for name in names))


# The error level


def test_all_estimates_of_a_row_and_its_cells_share_its_error_level() -> None:
    """Two cells at confidence 1 - alpha err too often together: neither decides; at 1 - alpha/2 both do."""
    for level, verdict in ((ALPHA, "inconclusive"), (ALPHA / 2, "refuted")):
        cells = [cell(name, error(1.5, level=level)) for name in ("a", "b")]
        judged = judge_row(ERROR, [], cells, unmet=[], alpha=ALPHA)
        assert judged.whole.judgement.verdict.value == verdict
        assert {item.judgement.verdict.value for item in judged.cells} == {verdict}
    alone = judge_row(ERROR, [], [cell("a", error(1.5, level=ALPHA))], unmet=[], alpha=ALPHA)
    assert alone.whole.judgement.verdict.value == "refuted"


def test_an_estimate_that_does_not_decide_costs_all_the_same() -> None:
    """A cell under the row spends the row's level too: it was looked at."""
    under = cell("under", error(0.5, level=ALPHA), deciding=False)
    assert row(ERROR, under, own=[error(1.5, level=ALPHA)])[0] == "inconclusive"


def test_the_confidence_of_a_row_is_that_of_its_deciding_estimates_together() -> None:
    """Three at 1 - alpha/3 hold together with 1 - alpha; where a witness decides it is 1."""
    cells = [cell(name, error(1.5, level=ALPHA / 3)) for name in "abc"]
    judged = judge_row(ERROR, [], cells, unmet=[], alpha=ALPHA)
    assert judged.whole.confidence == pytest.approx(1 - ALPHA)
    assert judged.cells[0].confidence == pytest.approx(1 - ALPHA / 3)
    both = [cell("a", witness(2), claim=PURE), cell("b", estimate(1.5, error=ALPHA), claim=PURE)]
    assert judge_row(PURE, [], both, unmet=[], alpha=ALPHA).whole.confidence == 1


# Controls


def test_controls_are_verified_where_each_comes_out_as_it_should() -> None:
    """A broken program refuted and a correct one not: tested; one that is not caught: inconclusive, named."""
    caught = cell("no noise", witness(2), claim=PURE, expect="refuted")
    right = cell("as printed", proof(1), claim=PURE)
    missed = cell("half the noise", proof(1), claim=PURE, expect="refuted")
    assert row(naming(caught, right), caught, right)[:2] == ("verified", "tested")
    verdict, _, judged = row(naming(caught, right, missed), caught, right, missed)
    assert (verdict, judged.upper) == ("inconclusive", 1)
    assert judged.reasons == ("half the noise: verified, expected refuted",)


def test_the_claim_names_its_controls() -> None:
    """A control that is renamed, left out, added, moved, or expected to come out otherwise is refused."""
    caught = cell("no noise", witness(2), claim=PURE, expect="refuted")
    right = cell("as printed", proof(1), claim=PURE)
    claim = naming(caught, right)
    assert claim_from_json(claim.to_json()) == claim
    assert "no noise (refuted), as printed (verified)" in claim.in_words()
    flipped = cell("no noise", proof(1), claim=PURE)
    renamed = cell("noise", witness(2), claim=PURE, expect="refuted")
    for cells in ([flipped, right], [renamed, right], [right], [caught, right, flipped], [right, caught]):
        with raises(InvalidParameterError, code="E-CONTROLS-CELLS"):
            row(claim, *cells[:2], *(cell("more", proof(1), claim=PURE) for _ in cells[2:]))


def test_controls_without_cells_or_with_a_crash_show_nothing() -> None:
    """A row without controls is inconclusive, and a crashed control crashes the row."""
    assert row(CONTROLS)[0] == "inconclusive"
    broken = cell("x", witness("3/2"), proof("1/2"), claim=PURE, expect="refuted")
    assert row(naming(broken), broken)[0] == "crashed"
    right = cell("y", proof(1), claim=PURE)
    assert row(naming(right), right, unmet=["not looked at"])[0] == "inconclusive"
    with raises(InvalidParameterError, code="E-CONTROLS-EVIDENCE"):
        row(naming(right), right, own=[error(0)])


def test_only_a_control_may_claim_about_controls() -> None:
    """Only a row with the role "control" may have a Controls claim, which must claim 0."""
    for role in ROLES:
        options: dict[str, Any] = {"id": "x", "title": "", "kind": "structure", "role": role}
        options |= {"claim": CONTROLS, "evaluate": lambda run: Outcome([])}
        if role == "control":
            assert Row(**options).role == role
            continue
        with raises(InvalidParameterError, code="E-CONTROLS-ROLE", match="'control'"):
            Row(**options)
    with raises(InvalidParameterError, code="E-CELL-CLAIM"):
        cell("nested", claim=CONTROLS)
    with raises(InvalidParameterError, code="E-CONTROLS-CLAIMED"):
        Controls(text="most are", claimed=1)


# From a row function to the report


def test_a_cells_evidence_must_hold_for_the_cells_claim() -> None:
    """A certificate for another claim, or one that claims too much, is refused in a cell too."""
    good = build.laplace_mechanism(sensitivity=1, scale=1).certify(PURE)
    found = finding_of(PURE, Outcome([], cells=[cell("a", good, claim=PURE)]), alpha=ALPHA)
    assert (found["verdict"], found["strength"], found["cells"][0]["upper"]) == ("verified", "proved", 1.0)
    less = Certificate(quantity="epsilon", bound=Fraction(1, 2), tree=good.tree)
    for evidence, claim in ((less, PURE), (good, PureDP(epsilon=1, domain="an integer")), (witness(2), PURE)):
        with raises(MechanismError, code="E-EVIDENCE-INVALID", match="cell a"):
            finding_of(claim, Outcome([], cells=[cell("a", evidence, claim=claim)]), alpha=ALPHA)


def test_cells_of_another_type_or_name_are_refused() -> None:
    """The cells of an outcome must be Cells with plain names and a known expectation."""
    for wrong in ([{"name": "a"}], [None], {"a": 1}):
        with pytest.raises(MechanismError):
            finding_of(ERROR, Outcome([error(0.5)], cells=wrong), alpha=ALPHA)  # type: ignore[arg-type]
    for name in ("", " a", "a\nb", "a\u202eb", "x" * 201, 3):
        with raises(InvalidParameterError, code="E-CELL-NAME"):
            Cell(name=name, claim=ERROR, evidence=[])  # type: ignore[arg-type]
    with raises(InvalidParameterError, code="E-EXPECT-UNKNOWN"):
        cell("a", expect="crashed")


@pytest.mark.parametrize("name", ["n\u0430me", "n = 2\ufe0f", "n = \u0662", "n\u034f", "\u3164", "n\u200d"])
def test_a_cells_name_must_be_visible_and_unmistakable(name: str) -> None:
    """Letters and digits of other scripts, and invisible marks, are refused."""
    with raises(InvalidParameterError, code="E-CELL-NAME"):
        cell(name)


@pytest.mark.parametrize("name", ["ε = 1/2, K² ≤ 10", "x̂ᵢ − μ̄_1, ⌈log₂ m⌉", "ℓ = ½, Δ′ = 3", "ℝ, ∞, é, µ"])
def test_a_cells_name_may_have_mathematics(name: str) -> None:
    """The letters and signs that papers use are accepted."""
    assert cell(name).name == name


def test_more_samples_than_the_estimates_have_are_refused() -> None:
    """Estimates count their samples; a search without a result, or replays behind a proof, do not."""
    counted = cell("a", error(0.5), samples=11)
    for outcome in (Outcome([error(0.5)], samples=11), Outcome([], cells=[counted])):
        with raises(MechanismError, code="E-SAMPLES-COUNT", match=r"10.*11"):
            finding_of(ERROR, outcome, alpha=ALPHA)
    assert finding_of(ERROR, Outcome([error(0.5)], samples=10), alpha=ALPHA)["samples"] == 10
    assert finding_of(ERROR, Outcome([], samples=10**6), alpha=ALPHA)["samples"] == 10**6
    with raises(MechanismError, code="E-SAMPLES-COUNT"):
        finding_of(PURE, Outcome([], samples=10**16), alpha=ALPHA)


def test_samples_of_cells_are_the_rows_unless_it_says_so() -> None:
    """A row that states no samples has those of its estimates and of its cells."""
    cells = [cell("a", error(0.5)), cell("b", error(0.5), samples=7)]
    assert finding_of(ERROR, Outcome([error(0.5)], cells=cells), alpha=ALPHA)["samples"] == 10 + 10 + 7
    assert finding_of(ERROR, Outcome([], samples=3, cells=cells), alpha=ALPHA)["samples"] == 3


def test_a_row_is_as_expected_where_its_cells_are() -> None:
    """The row's own verdict is not enough: each cell has an expectation of its own."""
    cells = [cell("a", error(2.0), expect="refuted"), cell("b", error(0.5))]
    found = finding_of(ERROR, Outcome([], cells=cells), alpha=ALPHA) | {"expect": "refuted"}
    assert as_expected(found)
    found["cells"][1]["expect"] = "refuted"
    assert not as_expected(found)
    assert not as_expected(found | {"expect": "verified", "cells": []})
