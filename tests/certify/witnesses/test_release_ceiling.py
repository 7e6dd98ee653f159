"""Releases after other outcomes: the largest ratio gives up only what the whole product gives up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpaudit.certify.witnesses import release
from dpaudit.core.claims import ApproxDP
from dpaudit.core.exact import exact
from dpaudit.core.views import PUBLIC, View
from dpaudit.distributions import Binomial, Shifted
from dpaudit.kernel.ball import ball, lower_short


@pytest.mark.parametrize("epsilon", ["0", "1/100", "1/10", "1/2", "1", "3", "6"])
@pytest.mark.parametrize("there", [Fraction(1, 3), Fraction(1, 5)])
def test_a_bound_is_that_of_the_whole_product(
    monkeypatch: pytest.MonkeyPatch, epsilon: str, there: Fraction
) -> None:
    """The bound on delta is the sum over all pieces; where it is 0 for certain, no product is formed."""
    base = Binomial(trials=60, p="1/4")
    distribution, other = (Shifted(base, np.array(offset)) for offset in ([0, 2], [1, 0]))
    parts = [{"coordinate": i, "points": ["10", "30"], "cuts": None} for i in (0, 1)]
    site = {"site": "s", "to": ["public"], "law": distribution.to_json(), "law_neighbour": other.to_json()}
    masses = (ball(Fraction(1, 3)), ball(there))
    pieces = release._product([release.pieces_of(distribution, other, part) for part in parts])
    weight = ball(exact(epsilon)).exp()
    gains = [masses[0] * p - weight * masses[1] * q for p, q in pieces]
    expected = max(lower_short(sum((gain for gain in gains if gain > 0), arb(0))), Fraction(0))
    formed: list[int] = []
    product = release._product
    monkeypatch.setattr(release, "_product", lambda found: formed.append(1) or product(found))
    release._product_of.cache_clear()
    claim = ApproxDP(epsilon=epsilon, delta="1/10", view=View.of(PUBLIC))
    body = {"site": site, "parts": parts, "order": None}
    assert release.release_after(masses, body, claim, View.of(PUBLIC)) == expected
    assert bool(formed) is (expected > 0)
