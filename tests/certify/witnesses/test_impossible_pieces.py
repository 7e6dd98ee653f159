"""Products of coordinates some of whose pieces one side never shows, against sums of exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from dpaudit.certify.witnesses.release import release_bound
from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, RenyiDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import PUBLIC, View
from dpaudit.distributions import Binomial

VIEW = View.of(PUBLIC)


def masses(trials: int, places: int) -> list[tuple[Fraction, Fraction]]:
    """Bin(trials, 1/2) at 0 and at 1, on the points 0, ..., places - 1: 0 is impossible on one side, and
    trials + 1 on the other."""

    def at(k: int) -> Fraction:
        return Fraction(math.comb(trials, k), 2**trials) if 0 <= k <= trials else Fraction(0)

    return [(at(k), at(k - 1)) for k in range(places)]


def body(trials: int, coordinates: int, places: int, order: str | None = None) -> dict[str, Any]:
    noise = Binomial(trials=trials, p="1/2")
    distributions = [noise.shift(np.full(coordinates, value)) for value in (0, 1)]
    parts = [{"coordinate": i, "points": ["0", str(places - 1)], "cuts": None} for i in range(coordinates)]
    site = {
        "site": "s",
        "to": ["public"],
        "law": distributions[0].to_json(),
        "law_neighbour": distributions[1].to_json(),
    }
    return {"site": site, "parts": parts, "order": order}


def product(trials: int, coordinates: int, places: int) -> list[tuple[Fraction, Fraction]]:
    rows = itertools.product(masses(trials, places), repeat=coordinates)
    return [
        (math.prod(p for p, _ in row), math.prod(q for _, q in row))  # type: ignore[misc]
        for row in rows
    ]


@pytest.mark.parametrize("places", [4, 3, 7], ids=["all", "without the last", "with points nobody shows"])
@pytest.mark.parametrize("coordinates", [1, 2, 3])
def test_delta_of_a_product_counts_what_one_side_never_shows(coordinates: int, places: int) -> None:
    """At ε = 0 delta is the sum of all gains; a point impossible on both sides, as (0, 3) is, adds none."""
    pieces = product(2, coordinates, places)
    assert any(p == q == 0 for p, q in pieces) is (places == 7 or (places == 4 and coordinates > 1))
    truth = sum((p - q for p, q in pieces if p > q), Fraction(0))
    found = release_bound(body(2, coordinates, places), ApproxDP(epsilon=0, delta=0), VIEW)
    assert found is not None
    assert truth * (1 - Fraction(1, 10**12)) <= found <= truth


@pytest.mark.parametrize("coordinates", [1, 2, 3])
def test_a_pure_bound_is_infinite_by_the_impossible_piece_alone(coordinates: int) -> None:
    """The point 0 comes on one side only; without it the largest ratio is that of the remaining points."""
    assert release_bound(body(2, coordinates, 4), PureDP(epsilon=1), VIEW) is None
    possible = body(2, coordinates, 2)
    for part in possible["parts"]:
        part["points"] = ["1", "2"]
    found = release_bound(possible, PureDP(epsilon=1), VIEW)
    assert float(found or 0) == pytest.approx(coordinates * math.log(2), rel=1e-12)


def test_a_renyi_bound_leaves_the_impossible_pieces_out() -> None:
    """Each coordinate adds the logarithm of the sum over what both sides show; where there is nothing of the
    kind the witness is refused."""
    total = sum(float(p) ** 2 / float(q) for p, q in masses(2, 4) if p and q)
    found = release_bound(body(2, 3, 4, "2"), RenyiDP(order=2, epsilon=1), VIEW)
    assert float(found or 0) == pytest.approx(max(3 * math.log(total), 0.0), rel=1e-12)
    apart = body(2, 2, 4, "2")
    for part in apart["parts"]:
        part["points"] = ["0", "0"]
    with pytest.raises(CertificateError, match="possible on both sides"):
        release_bound(apart, RenyiDP(order=2, epsilon=1), VIEW)


def test_a_merged_product_has_no_larger_delta() -> None:
    """Twenty points a coordinate and three coordinates are more than are kept: the bound stays below the
    exact one, and within a two-hundredth of it."""
    found = release_bound(body(18, 3, 20), ApproxDP(epsilon="1/2", delta=0), VIEW)
    assert found is not None
    truth = sum(max(0.0, float(p) - math.exp(0.5) * float(q)) for p, q in product(18, 3, 20))
    assert truth * (1 - 5e-3) <= float(found) <= truth * (1 + 1e-9)


def test_a_merged_product_has_no_larger_gap() -> None:
    """The same for Gaussian DP: between the gap of events up to 99.9 %, and that of all events."""
    found = release_bound(body(18, 3, 20), GaussianDP(mu=1), VIEW)
    assert found is not None
    gaps = gaps_of_events(product(18, 3, 20))
    inner = max(gap for chance, gap in gaps if chance < 0.999)
    assert inner * (1 - 5e-3) <= float(found) <= max(gap for _, gap in gaps) * (1 + 1e-9)


def gaps_of_events(pieces: list[tuple[Fraction, Fraction]]) -> list[tuple[float, float]]:
    """The differences of normal quantiles over the events of largest ratio, with the first probability."""
    rows = [pair for pair in pieces if pair != (0, 0)]
    rows.sort(key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=True)
    p = q = Fraction(0)
    found = []
    for left, right in rows[:-1]:
        p, q = p + left, q + right
        if q > 0 and p < 1:  # both from the end on which they are small
            found.append((float(p), quantile(p) - quantile(q)))
    return found


def quantile(chance: Fraction) -> float:
    low = chance < Fraction(1, 2)
    value = float(ndtri(float(chance if low else 1 - chance)))
    return value if low else -value
