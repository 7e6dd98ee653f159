"""Claimed numbers beyond the floats are exact numbers like any other: in a run, its report, its check, its
page."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest

from dpaudit.core.claims import Ordering, PureDP, claim_from_json
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import exact_str, in_figures
from dpaudit.core.row_verdicts import claimed_of
from dpaudit.report.notation import _in_powers, show_exact
from tests.cli.suites import VERIFIED, by_id, invoke, run, write_suite
from tests.report.sample import page_of

FAR = 10**401

FAR_ROWS = f"""
from dpaudit.suite import Measured, evidence

for name, limit in (("far", {FAR}), ("farther below", -{FAR})):
    @evidence(suite, name, "here", at_most=limit, quantity="n")
    def four(run):
        \"\"\"Four is at most a number\"\"\"
        return Measured(low=4, high=4)
"""


def test_a_row_with_a_far_number_runs_beside_the_others(tmp_path: Path) -> None:
    """4 is at most 10^401 and not at most its negative; verify judges both again, the page shows it."""
    suite = write_suite(tmp_path / "audits" / "tiny.py", FAR_ROWS, VERIFIED)
    result, report = run(suite)
    rows = by_id(report)
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "far": "verified",
        "farther below": "refuted",
        "fine": "verified",
    }
    assert rows["far"]["claimed"] is None
    assert rows["far"]["claim"]["claimed_exact"] == str(FAR)
    assert result.exit_code == 1  # the second one was expected to hold
    checked = invoke("verify", "-v", tmp_path / "audits" / "dpaudit-report.json")
    assert checked.exit_code == 0, checked.output
    page = page_of(report)
    assert "10⁴⁰¹" in page
    assert "claimed ∞" not in page


@pytest.mark.parametrize("number", [FAR, -FAR, Fraction(1, FAR), Fraction(10**310, 3)])
def test_a_claim_with_such_a_number_survives_its_file(number: Fraction | int) -> None:
    """The float beside it is finite, the exact string is the claim."""
    claim = Ordering(text="far", quantity_name="n", claimed=number)
    data = claim.to_json()
    assert math.isfinite(data["claimed"])
    assert claim_from_json(data) == claim
    with pytest.raises(InvalidParameterError, match="the file was edited"):
        claim_from_json(data | {"claimed": 0.5})


def test_figures_of_any_size() -> None:
    """By the float's own format where there is one, by the decimal logarithm where there is none."""
    for number in (Fraction(1, 3), Fraction(0), Fraction(-5, 2), Fraction(10**20)):
        assert in_figures(number) == f"{float(number):.6g}"
    for number, text in ((Fraction(FAR), "1e+401"), (Fraction(-2 * FAR, 3), "-6.66667e+400")):
        assert in_figures(number) == text
        size = math.log10(abs(number.numerator)) - math.log10(number.denominator)
        mantissa, power = text.split("e")
        assert math.log10(abs(float(mantissa))) + int(power) == pytest.approx(size, abs=1e-5)
    assert in_figures(Fraction(1, FAR)) == "1e-401"
    assert show_exact(str(FAR)) == "≈ 10⁴⁰¹"
    assert show_exact(str(-FAR)) == "≈ −10⁴⁰¹"
    assert _in_powers("1e-401") == "10⁻⁴⁰¹"
    assert _in_powers("-1.5e+401") == "−1.5×10⁴⁰¹"


def test_only_a_number_among_the_floats_is_shown_as_one() -> None:
    """The largest float stands for infinity in a report: no claimed number may look like that."""
    assert claimed_of(PureDP(epsilon=FAR)) is None
    assert claimed_of(PureDP(epsilon="0.5")) == 0.5
    assert claimed_of(PureDP(epsilon=10**300)) == pytest.approx(1e300)


def test_more_digits_than_python_writes_are_refused_by_name() -> None:
    """The error names the limit and the number."""
    with pytest.raises(InvalidParameterError, match=r"at most \d+ digits, got one near 1e\+5000"):
        exact_str(Fraction(10**5000))
