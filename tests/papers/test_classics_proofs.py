"""Wrong versions of the classics' proved programs have no proof of their claims."""

from __future__ import annotations

import pytest

from audits.classics.rows.descent import LONG, NUMBERS, sgd
from dpaudit.prover.values.prove import prove_values


@pytest.mark.parametrize(("rate", "number"), [("1/50", 200), ("1/100", 220)], ids=["denser", "longer"])
def test_more_sampling_or_more_steps_are_not_proved(rate: str, number: int) -> None:
    """DP-SGD at twice the rate, or with a tenth more steps, has more than the claimed delta."""
    assert prove_values(sgd(rate, number=number), LONG, data=NUMBERS).verdict != "verified"
