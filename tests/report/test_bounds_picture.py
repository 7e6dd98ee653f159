"""The picture of a row's bounds: to scale, with the right ends open."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.core.verdicts import MAX_FLOAT
from dpaudit.report.bounds import bounds_picture, bounds_scale
from tests.report.dom import Node, parse


def per_cent(text: str) -> float:
    assert text.endswith("%")
    return float(text[:-1])


def draw(
    lower: float | None,
    claimed: float | None,
    upper: float | None,
    *,
    at_least: bool = False,
    small: bool = False,
) -> Node:
    return parse(bounds_picture(lower=lower, claimed=claimed, upper=upper, at_least=at_least, small=small))


def ends(dom: Node) -> tuple[float, float, float]:
    """Where the attack ends, the claim stands and the certificate begins, in per cent."""
    attack = max(
        per_cent(r.attributes["x"]) + per_cent(r.attributes["width"]) for r in dom.find("rect", "attack")
    )
    certificate = min(per_cent(r.attributes["x"]) for r in dom.find("rect", "certificate"))
    return attack, per_cent(dom.find("line", "claimed")[0].attributes["x1"]), certificate


def share(a: float, b: float, c: float) -> float:
    return (b - a) / (c - a)


def test_linear_picture_is_to_scale() -> None:
    """Distances on the line are proportional to differences, and 0 lies at its left end."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        lower, claimed, upper = sorted(rng.uniform(1.0, 9.0, size=3))
        for small in (False, True):
            at = ends(draw(lower, claimed, upper, small=small))
            assert share(*at) == pytest.approx(share(lower, claimed, upper), abs=0.01)
            assert share(1.5, at[0], at[2]) == pytest.approx(lower / upper, abs=1e-3)


def test_logarithmic_picture_is_to_scale() -> None:
    """Numbers that differ by more than a factor of 30 lie on a logarithmic line."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        logs = np.sort(rng.uniform(-12.0, -4.0, size=3)) + np.arange(3)
        at = ends(draw(*(float(10**e) for e in logs)))
        assert share(*at) == pytest.approx(share(*logs), abs=1e-3)


def test_ticks_are_on_the_same_scale() -> None:
    """The numbers under the line stand where the line has them."""
    dom = draw(1.499, 1.0, 1.5)
    ticks = {float(t.words()): per_cent(t.attributes["x"]) for t in dom.find("text", "tick")}
    assert {0.0, 1.0} <= ticks.keys()
    attack, claimed, certificate = ends(dom)
    assert claimed == pytest.approx(ticks[1.0], abs=1e-6)
    assert attack == pytest.approx(ticks[0.0] + 1.499 * (ticks[1.0] - ticks[0.0]), abs=0.01)
    assert certificate == pytest.approx(ticks[0.0] + 1.5 * (ticks[1.0] - ticks[0.0]), abs=0.01)


def test_violation_is_the_attack_beyond_the_claim() -> None:
    """The strong part of the attack runs from the claim to the lower bound, and is absent below the claim."""
    dom = draw(1.499, 1.0, 1.5)
    (beyond,) = dom.find("rect", "attack beyond")
    attack, claimed, _ = ends(dom)
    assert per_cent(beyond.attributes["x"]) == pytest.approx(claimed, abs=1e-3)
    assert per_cent(beyond.attributes["x"]) + per_cent(beyond.attributes["width"]) == pytest.approx(attack)
    assert not draw(0.9, 1.0, 1.5).find("rect", "beyond")


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("lower", [2.0, math.inf])
def test_an_attack_beyond_the_certificate_is_not_painted_over(lower: float, small: bool) -> None:
    """Crossing bars each have half of the height, and the picture describes the crossing."""
    dom = draw(lower, 1.0, 1.0, small=small)
    rows: dict[str, set[tuple[float, float]]] = {}
    for kind in ("attack", "certificate"):
        bars = dom.find("rect", kind)
        rows[kind] = {(float(r.attributes["y"]), float(r.attributes["height"])) for r in bars}
    ((above, height),), ((below, other),) = rows["attack"], rows["certificate"]
    assert above + height <= below
    assert height == other > 0
    assert dom.find("rect", "attack beyond")
    assert "beyond the certificate" in dom.find("svg", "crossed")[0].attributes["aria-label"]
    tight = draw(1.0, 1.0, 1.0, small=small)
    assert not tight.find("svg", "crossed")
    assert (
        tight.find("rect", "attack")[0].attributes["y"]
        == tight.find("rect", "certificate")[0].attributes["y"]
    )


def test_at_least_turns_the_violation_round() -> None:
    """For a lower-bound claim the violation is the certificate below it; a high lower bound is none."""
    dom = draw(0.1, 1.0, 0.42, at_least=True)
    (beyond,) = dom.find("rect", "beyond")
    assert "certificate" in beyond.attributes["class"]
    assert per_cent(beyond.attributes["x"]) + per_cent(beyond.attributes["width"]) == pytest.approx(
        ends(dom)[1]
    )
    assert not draw(2.0, 1.0, 3.0, at_least=True).find("rect", "beyond")


@pytest.mark.parametrize("infinity", [math.inf, MAX_FLOAT])
def test_infinite_attack_is_an_arrow_to_the_end(infinity: float) -> None:
    """An infinite lower bound, also as the largest float, covers the line up to its end and reads ∞."""
    dom = draw(infinity, 0.5, None)
    attack = max(
        per_cent(r.attributes["x"]) + per_cent(r.attributes["width"]) for r in dom.find("rect", "attack")
    )
    assert attack > 98
    assert "≥ ∞" in [t.words() for t in dom.find("text", "mark")]
    (head,) = dom.find("svg", "attack beyond")
    assert per_cent(head.attributes["x"]) > 98


@pytest.mark.parametrize("nothing", [None, math.inf, MAX_FLOAT])
def test_no_certificate_draws_no_bar(nothing: float | None) -> None:
    """A missing or infinite upper bound says nothing: the line stays open to the right."""
    dom = draw(0.25, 0.5, nothing)
    assert not dom.find("rect", "certificate")
    assert "no upper bound" in dom.find("svg", "bounds")[0].attributes["aria-label"]


def test_missing_attack_draws_no_bar() -> None:
    """A missing lower bound leaves the line open to the left; 0 is a bound, and is labelled."""
    dom = draw(None, 1.0, 0.5)
    assert not dom.find("rect", "attack")
    assert "≥ 0" in [t.words() for t in draw(0.0, 1.0, 0.5).find("text", "attack")]


def test_only_infinity() -> None:
    """A leak without a claimed number is still an arrow."""
    assert draw(math.inf, None, None).find("rect", "attack")


def test_nothing_to_draw() -> None:
    """Without any number there is no picture and no scale."""
    assert bounds_picture(lower=None, claimed=None, upper=None) == ""
    assert bounds_picture(lower=None, claimed=None, upper=math.inf) == ""
    assert bounds_scale(lower=None, claimed=None, upper=MAX_FLOAT) is None


@pytest.mark.parametrize(
    "numbers",
    [
        (-31.0, 0.0, -12.5),
        (0.0, 0.0, 0.0),
        (5e-324, 1.0, 1e300),
        (1.0, 1.0, 1.0),
        (-1e300, 0.0, 1e300),
        (1.0, 1.0000000001, 1.0000000002),
        (0.0, 1e-6, 1e-3),
    ],
)
def test_extreme_numbers_stay_on_the_line_and_in_order(numbers: tuple[float, float, float]) -> None:
    """Negative, equal, zero, tiny and huge numbers lie between 0 and 100 per cent, in their order."""
    dom = draw(*numbers)
    at = ends(dom)
    assert all(0.0 <= x <= 100.0 for x in at)
    order = sorted(range(3), key=lambda i: numbers[i])
    assert [at[i] for i in order] == sorted(at)


def test_labels_keep_inside() -> None:
    """Labels near an end are anchored inward, so that they are not cut off."""
    for numbers in ((0.001, 1.0, 0.9), (0.98, 1.0, 0.99), (1e-9, 1e-3, 1.0)):
        for label in draw(*numbers).find("text", "mark"):
            x, anchor = per_cent(label.attributes["x"]), label.attributes["text-anchor"]
            assert x >= 14 or anchor == "start"
            assert x <= 86 or anchor == "end"
