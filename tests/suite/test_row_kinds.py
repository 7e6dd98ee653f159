"""Rows of expected values, of evidence with a grid, of programs and of controls claim what they compute."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import Ordering, PureDP
from dpaudit.core.errors import InvalidParameterError, UndecidedError
from dpaudit.core.evidence import Evidence
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.plots import Plot
from dpaudit.core.plots import table as plot_of_rows
from dpaudit.core.suite import Group, Row, Run
from dpaudit.distributions import Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.run.finding import finding_of
from dpaudit.suite import (
    Control,
    Expression,
    Grid,
    Measured,
    Sides,
    average,
    broken,
    controls,
    evidence,
    expected,
    false_inequality,
    largest,
    leaf,
    listed,
    over,
    privacy,
    program_control,
    step,
)
from dpaudit.suite.mutants import scaled, without
from dpaudit.suite.regret.intervals import Interval
from tests.errors import raises

RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")


def found(row: Row, run: Run = RUN) -> dict[str, Any]:
    return finding_of(row.claim, row.evaluate(run), alpha=run.alpha)


def verdicts(row: Row) -> dict[str, str]:
    return {cell["name"]: cell["verdict"] for cell in found(row)["cells"]}


# Expected values


def known(name: str, mean: float, *, seen: list[float] | None = None, width: float = 0.1) -> Expression:
    """An expectation that is known, within ``width``; the level it is asked for goes into ``seen``."""

    def bounding(run: Run, alpha: float) -> Interval:
        if seen is not None:
            seen.append(alpha)
        return Interval(mean - width, mean + width, mean)

    return leaf(name, bounding, label=name)


def test_the_leaves_share_the_level_each_counted_once() -> None:
    """Three different leaves over two points, one of them used three times: a third of the level each."""
    rows, seen = Group(), list[float]()

    @expected(rows, "E", "here", at_most=4, over=over(k=(2, 3)))
    def ratio(k: int) -> Expression:
        """A ratio"""
        one = known("one", 1.0, seen=seen)
        return known(f"top {k}", float(k), seen=seen) / one * (one / one)

    result = found(rows.rows[0])
    assert seen == [RUN.alpha / 3] * 3
    assert result["evidence"][0]["confidence"] == 1 - RUN.alpha


def test_the_worst_point_decides_in_both_directions() -> None:
    """The largest value for an upper claim, the smallest for a lower one, which runs can only refute."""
    rows = Group()

    def value(k: int) -> Expression:
        """k, known within a tenth"""
        return known(f"k = {k}", float(k))

    expected(rows, "most", "", at_most="3.05", over=over(k=(2, 3)))(value)
    expected(rows, "least", "", at_least=1, claim="lower-bound", over=over(k=(2, 3)))(value)
    expected(rows, "more", "", at_least="2.2", claim="lower-bound", over=over(k=(2, 3)))(value)
    upper, lower, more = (found(row) for row in rows.rows)
    assert (upper["verdict"], upper["lower"], upper["upper"]) == ("inconclusive", 2.9, 3.1)
    assert (lower["verdict"], lower["lower"], lower["upper"]) == ("inconclusive", 1.9, 2.1)
    assert more["verdict"] == "refuted"
    assert rows.rows[1].kind == "lower-bound"


def test_means_and_largest_are_of_all_parts() -> None:
    """The mean of 1 and 3 is 2, the largest 3, with their widths."""
    parts = [known("a", 1.0), known("b", 3.0)]
    leaves = {item: item.bounding(RUN, 0.1) for part in parts for item in part.leaves()}
    mean = average(parts).value(leaves)
    assert (mean.low, mean.high, mean.mean) == pytest.approx((1.9, 2.1, 2.0), rel=1e-14)
    assert mean.low < 1.9  # rounded outward
    assert mean.high > 2.1
    assert largest(parts).value(leaves) == Interval(2.9, 3.1, 3.0)


def test_a_ratio_with_a_denominator_that_may_be_zero_has_no_upper_end() -> None:
    """The row is not verified by it; a denominator of 0 is an error."""
    rows = Group()

    @expected(rows, "Z", "here", at_most=100)
    def ratio() -> Expression:
        """Over nothing"""
        return known("one", 1.0) / known("small", 0.05, width=0.05)

    result = found(rows.rows[0])
    assert (result["verdict"], result["upper"]) == ("inconclusive", None)
    with raises(UndecidedError, code="E-RATIO-SIGN"):
        (known("one", 1.0) / 0).value({known("one", 1.0): Interval(0.9, 1.1, 1.0)})  # type: ignore[dict-item]


def test_a_claim_has_one_number() -> None:
    """Both ends, or none, or a lower bound with an upper number, is refused."""
    for options in ({}, {"at_most": 1, "at_least": 1}, {"at_most": 1, "claim": "lower-bound"}):
        with raises(InvalidParameterError, code="E-CLAIM-NUMBER"):
            expected(Group(), "X", "here", **options)  # type: ignore[arg-type]


# Evidence


def claim_at(limit: int) -> Ordering:
    return Ordering(text=f"at most {limit}", quantity_name="n", claimed=limit)


def test_every_point_of_a_grid_is_a_cell_with_its_own_claim() -> None:
    """One false cell refutes the row, and is named."""
    rows = Group()

    @evidence(
        rows,
        "C",
        "here",
        claim=claim_at,
        over=listed("limit", 3, 5),
        expect=lambda limit: "refuted" if limit < 4 else "verified",
    )
    def four(run: Run, limit: int) -> Measured:
        """Four is at most each limit"""
        return Measured(low=4, high=4)

    row = rows.rows[0]
    result = found(row)
    assert (row.expect, result["verdict"]) == ("refuted", "refuted")
    assert verdicts(row) == {"limit = 3": "refuted", "limit = 5": "verified"}
    assert "limit = 3" in " ".join(result["reasons"])


def test_inexact_cells_share_the_level() -> None:
    """Two simulated cells: each is stated at half the row's level, so both count."""
    rows, levels = Group(), list[float]()

    @evidence(rows, "S", "here", claim=claim_at, over=over(limit=(3, 5)))
    def simulated(run: Run, limit: int) -> Measured:
        """Small"""
        levels.append(run.alpha)
        return Measured(low=1, high=2, exact=False, method="simulation")

    assert found(rows.rows[0])["verdict"] == "verified"
    assert levels == [RUN.alpha / 2] * 2


def test_bounds_that_do_not_cover_the_claim_do_not_verify() -> None:
    """An upper end on a part of what is claimed only describes."""
    rows = Group()

    @evidence(rows, "P", "here", claim=claim_at(5))
    def part(run: Run) -> Measured:
        """A part"""
        return Measured(low=1, high=2, covers=False)

    assert found(rows.rows[0])["verdict"] == "inconclusive"


# Programs


def noisy_sum(scale: Fraction) -> Any:
    def program(coins: Coins, data: Any) -> float:
        return float(coins.release(float(np.sum(data)), Laplace(scale=scale), site="sum"))

    return program


def audit_at(epsilon: Fraction, scale: Fraction) -> PrivacyAudit:
    return PrivacyAudit(
        domain=Values(0, 1),
        claim=PureDP(epsilon=epsilon),
        program=noisy_sum(scale),
        neighbours=lambda run: [Neighbours("one record", np.array([0.0, 1.0]), np.array([1.0, 1.0]))],
        sites=[Site("sum", mechanism=laplace_mechanism(sensitivity=1, scale=scale))],
    )


def test_one_declaration_gives_certificate_and_accounting() -> None:
    """A program with a site and its mechanism: consistent, and so is the accounting, a cell from the same
    replays."""
    rows = Group()

    @privacy(rows, "P", "here")
    def right() -> PrivacyAudit:
        """A noisy sum is 1-DP

        a record is in one sum
        """
        return audit_at(Fraction(1), Fraction(1))

    result = found(rows.rows[0])
    assert (result["verdict"], result["strength"], result["upper"]) == ("consistent", "accounted", 1.0)
    assert verdicts(rows.rows[0]) == {"accounting": "consistent"}
    assert result["reasons"][0].startswith("not proved: the certificate assumes")
    assert any(note.startswith("no proof of the program: ") for note in result["notes"])
    assert result["evidence"][0]["tree"]["premises"][0]["premises"][0]["parameters"]["declared"] == (
        "a record is in one sum"
    )


def test_a_claim_and_its_accounting_may_come_out_apart() -> None:
    """Half the noise: the claim is refuted, what the proof declares holds, and the row is about the claim."""
    rows = Group()

    @privacy(rows, "P", "here", expect="refuted")  # the accounting has an expectation of its own
    def half() -> PrivacyAudit:
        """Half the noise is 1-DP"""
        return audit_at(Fraction(1), Fraction(1, 2))

    result = found(rows.rows[0])
    assert result["verdict"] == "refuted"
    assert [(cell["expect"], cell["verdict"]) for cell in result["cells"]] == [("consistent", "consistent")]


def test_settings_are_cells() -> None:
    """A program at two epsilons: two cells, each with its accounting under it."""
    rows = Group()

    @privacy(rows, "P", "here", over=over(epsilon="1 2"))
    def both(epsilon: Fraction) -> PrivacyAudit:
        """A noisy sum is ε-DP"""
        return audit_at(epsilon, 1 / epsilon)

    cells = found(rows.rows[0])["cells"]
    assert [(cell["name"], cell["claim"]["epsilon"], cell["deciding"]) for cell in cells] == [
        ("ε = 1", 1.0, True),
        ("ε = 1: accounting", 1.0, False),
        ("ε = 2", 2.0, True),
        ("ε = 2: accounting", 2.0, False),
    ]
    assert found(rows.rows[0])["verdict"] == "consistent"


@pytest.mark.parametrize("grid", [None, over(epsilon="1 2")])
def test_pictures_of_one_s_own_stand_beside_the_replays(grid: Grid | None) -> None:
    """Each point of the grid draws its own, after what the replays draw."""
    rows = Group()

    def drawn(run: Run, epsilon: Fraction) -> list[Plot]:
        return [plot_of_rows(title=f"at {epsilon}", columns=["ε"], rows=[[float(epsilon)]])]

    fixed = {} if grid else {"epsilon": Fraction(3)}

    @privacy(rows, "P", "here", over=grid, plots=drawn, **fixed)
    def sum_at(epsilon: Fraction) -> PrivacyAudit:
        """A noisy sum is ε-DP"""
        return audit_at(epsilon, 1 / epsilon)

    titles = [plot["title"] for plot in rows.rows[0].evaluate(RUN).plots]
    wanted = ["at 1", "at 2"] if grid else ["at 3"]
    assert titles[-len(wanted) :] == wanted
    assert len(titles) == 2 * len(wanted)


# Controls


def table(*, spared: bool) -> Mapping[str, Control]:
    """Mistakes are caught"""
    audit = audit_at(Fraction(1), Fraction(1))
    mistakes = {
        "half the noise": broken(audit, scaled("1/2")),
        "no noise": broken(audit, without("sum")),
        "correct": program_control(audit, expect="consistent"),
    }
    return {**mistakes, "twice the noise": broken(audit, scaled(2))} if spared else mistakes


@pytest.mark.parametrize(("spared", "verdict"), [(False, "verified"), (True, "inconclusive")])
def test_controls_hold_only_if_every_cell_is_as_expected(spared: bool, verdict: str) -> None:
    """A mutant that is harmless is not caught, and the table says so."""
    rows = Group()
    controls(rows, "M", "here", spared=spared)(table)
    result = found(rows.rows[0])
    assert (rows.rows[0].role, result["verdict"]) == ("control", verdict)
    assert verdicts(rows.rows[0])["half the noise"] == "refuted"
    assert ("twice the noise" in " ".join(result["reasons"])) == spared


def test_evidence_of_a_cell_is_checked_against_its_own_claim() -> None:
    """A certificate of epsilon 2 in a cell that claims 1 refutes nothing and verifies nothing."""
    rows = Group()
    proof = laplace_mechanism(sensitivity=1, scale="1/2")

    def certified(run: Run) -> list[Evidence]:
        return [proof.certify(PureDP(epsilon=1))]

    @controls(rows, "M", "here")
    def weak() -> Mapping[str, Control]:
        """A weak certificate"""
        return {"weak": Control(claim=PureDP(epsilon=1), evaluate=certified, expect="inconclusive")}

    assert found(rows.rows[0])["verdict"] == "verified"


def test_an_inequality_known_to_be_false_must_fail_somewhere() -> None:
    """2 <= k fails at k = 1 with the ratio 2; over larger k alone nothing is refuted."""
    for values, verdict in (((1, 2), "verified"), ((2, 3), "inconclusive")):
        rows = Group()

        @step(over=over(k=values))
        def at_least_two(k: int) -> Sides:
            """2 <= k"""
            return 2, k

        @controls(rows, "M", "here")
        def wrong(item: Any = at_least_two) -> Mapping[str, Control]:
            """2 is not the smallest"""
            return {"two": false_inequality(item)}

        result = found(rows.rows[0])
        assert (result["verdict"], result["cells"][0]["upper"]) == (verdict, 2 / min(values))
