"""``prove_inequality``: what is true is proved on its whole range, and what is false never."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify.ranges import Range, choices, integers, on, reals
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact_functions import larger, ln, log2
from dpaudit.kernel.ball import arb, ball
from dpaudit.kernel.inequalities.check import check_inequality
from dpaudit.prover.inequalities import agreement, lift, prove, search
from dpaudit.prover.inequalities.prove import prove_inequality

Sides = Callable[..., Any]
POSITIVE = reals(0, None, "()")
UNIT = reals(0, 1)

TRUE: dict[str, tuple[Sides, Range]] = {
    "1 + x <= e^x": (lambda x: (1 + x, ball(x).exp()), on(x=reals(None, None)).cut(x="0")),
    "x <= sinh x": (lambda x: (ball(x), ball(x).sinh()), on(x=reals(0, 20))),
    "cosh x <= exp(x^2/2)": (lambda x: (ball(x).cosh(), ball(x * x / 2).exp()), on(x=reals(None, None))),
    "log(1 + x) <= x": (lambda x: (ball(1 + x).log(), ball(x)), on(x=reals(0, None))),
    "2 tanh(x/2) <= x": (lambda x: (2 * ball(x / 2).tanh(), ball(x)), on(x=reals(0, 20))),
    "x(1-x) <= 1/4": (lambda x: (x * (1 - x), Fraction(1, 4)), on(x=UNIT).cut(x="1/2")),
    "a branch": (lambda x: (x if x < 1 else 1 / x, 2), on(x=reals(0, 5))),
    "a larger": (lambda x: (ball(x), larger(ball(x), arb(1))), on(x=POSITIVE)),
    "a sum, one by one": (lambda n: (sum(range(n)), n * n), on(n=integers(1, 9, each=9))),
    "integers without end": (lambda n: (ball(n).log(), n), on(n=integers(1, None, each=3))),
    "a choice": (lambda kind, x: (x if kind == "a" else x * x, 1), on(kind=choices("a", "b"), x=UNIT)),
    "an unreached error": (lambda x: (_checked(x), 2), on(x=UNIT)),
    "given": (lambda x, y: (x, y), on(x=UNIT, y=UNIT).where(lambda x, y: x + Fraction(1, 10) < y)),
    "a chain": (lambda x: (x, x + 2), on(x=reals(None, None)).through(lambda x: x + 1)),
}


def _checked(x: Any) -> Any:
    if not 0 <= x <= 1:
        raise ValueError("x must be in [0, 1]")
    return x


TINY: Any = Fraction(1, 10**12)

FALSE: dict[str, tuple[Sides, Range]] = {
    "by 1e-12 everywhere": (lambda x: (x + TINY, x), on(x=UNIT)),
    "by 1e-12 at the end": (lambda x: (x + TINY * x, x), on(x=UNIT)),
    "1 + x + x^2/2 <= e^x below 0": (lambda x: (1 + x + x * x / 2, ball(x).exp()), on(x=reals(-1, 1))),
    "the constant of Hoeffding": (
        lambda x: (ball(x).cosh(), ball(499 * x * x / 1000).exp()),
        on(x=reals(-2, 2)),
    ),
    "at one point": (lambda x: (1 - (x - Fraction(1, 3)) ** 2, 1 - TINY), on(x=UNIT)),
    "at the open end only in the limit": (lambda x: (1 + TINY, 1 + x), on(x=reals(0, 1, "(]"))),
    "at infinity": (lambda x: (ball(x).sqrt(), 1000 + ball(x).log()), on(x=reals(1, None))),
    "far away": (lambda x: (ball(x).log(), 40), on(x=reals(1, None))),
    "negative": (lambda x: (x, x * x), on(x=UNIT)),
    "between the points of a grid": (lambda x: (x * (1 - x) * (2 * x - 1), 0), on(x=UNIT)),
    "on a curve": (lambda x, y: (2 * x * y - TINY, x * x + y * y - 2 * TINY), on(x=UNIT, y=UNIT)),
    "in a corner": (lambda x, y: (x + y, Fraction(199, 100)), on(x=UNIT, y=UNIT)),
    "strict at an end": (lambda x: (1 if x < 1 else 2, 1), on(x=UNIT)),
    "one integer": (lambda n: (n if n == 7 else 0, 1), on(n=integers(1, 9, each=9))),
    "from some integer on": (lambda n: (ball(n).sqrt(), 10), on(n=integers(1, None, each=5))),
    "one choice": (lambda kind, x: (x if kind == "a" else 2 * x, 1), on(kind=choices("a", "b"), x=UNIT)),
    "the smaller instead": (lambda x: (ball(x).max(1), ball(x).min(1)), on(x=UNIT)),
    "log2 for log": (lambda x: (log2(x), ln(x)), on(x=reals(2, 3))),
    "one of two": (lambda x: {"x <= 1": (x, 1), "x <= 1/2": (x, Fraction(1, 2))}, on(x=UNIT)),
    "an error is reached": (lambda x: (_checked(x), 2), on(x=reals(0, 2))),
    "a pole": (lambda x: (-1 / ball(x), 0), on(x=reals(-1, 1))),
    "a root of less than 0": (lambda x: (0, ball(x).sqrt()), on(x=reals(-1, 1))),
    "a logarithm of 0": (lambda x: (ball(x).log(), 0), on(x=UNIT)),
    "0/0": (lambda x: (x / x, 1), on(x=UNIT)),
    "exp(log)": (lambda x: (ball(x).log().exp(), ball(x)), on(x=reals(-1, 1))),
    "a root squared": (lambda x: (ball(x).sqrt() ** 2, ball(x)), on(x=reals(-1, 1))),
    "outside atanh": (lambda x: (0, ball(x).atanh()), on(x=UNIT)),
    "half a link": (lambda x: (x, x + 1), on(x=UNIT).through(lambda x: x + 2)),
    "given that does not help": (
        lambda x, y: (x, y),
        on(x=UNIT, y=UNIT).where(lambda x, y: x < y + TINY),
    ),
    "floor": (lambda x: (ball(x), ball(x).floor()), on(x=UNIT)),
    "rounding": (lambda x: (ball(x) + 1 - 1, ball(x) - ball(TINY**3)), on(x=UNIT)),
    "a negative power": (lambda x: (ball(x) ** -2, 1), on(x=reals(Fraction(1, 2), 2))),
    "the variance of Skellam noise": (lambda s: (ball(s).exp() - 1, s), on(s=POSITIVE)),
    "amplification without the factor": (
        lambda q, e: ((1 + q * (ball(e).exp() - 1)).log(), q * ball(e)),
        on(q=reals(0, 1, "(]"), e=reals(0, 1, "(]")),
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_a_true_inequality_is_proved(name: str) -> None:
    function, over = TRUE[name]
    found = prove_inequality(function, over=over, seconds=20)
    assert found.verdict == "proved", str(found)
    assert check_inequality(found.evidence).boxes > 0


@pytest.mark.parametrize("name", FALSE)
def test_a_false_inequality_is_never_proved(name: str) -> None:
    function, over = FALSE[name]
    assert prove_inequality(function, over=over, seconds=1, boxes=2000).verdict in ("false", "undecided")


@pytest.mark.parametrize("name", FALSE)
def test_a_false_inequality_is_never_proved_without_the_refuter(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search stops at a false point, which could hide that a method would prove the box."""
    monkeypatch.setattr(search._Search, "_false_at", lambda self, box: None)
    function, over = FALSE[name]
    assert prove_inequality(function, over=over, seconds=1, boxes=2000).verdict in ("false", "undecided")


@pytest.mark.parametrize(
    "name", ["by 1e-12 everywhere", "at infinity", "on a curve", "one integer", "one choice", "one of two"]
)
def test_a_false_inequality_is_refuted_at_a_point(name: str) -> None:
    """The function itself is false at that point, which lies in the range."""
    function, over = FALSE[name]
    found = prove_inequality(function, over=over, seconds=5)
    assert found.verdict == "false"
    assert over.holds(found.at)
    assert agreement.is_false(function, found.at)


def test_a_point_between_integers_refutes_nothing() -> None:
    """n (3 - n) <= 2 is false at 3/2 only."""
    found = prove_inequality(lambda n: (n * (3 - n), 2), over=on(n=integers(1, 2)), seconds=2)
    assert (found.verdict, found.at) == ("undecided", {})
    assert prove_inequality(lambda n: (n * (3 - n), 2), over=on(n=integers(1, 2, each=2))).verdict == "proved"


def test_an_error_in_the_range_is_named() -> None:
    function, over = FALSE["an error is reached"]
    found = prove_inequality(function, over=over, seconds=2)
    assert found.verdict == "undecided"
    assert "raises ValueError" in found.why


def test_an_undecided_search_names_its_box() -> None:
    found = prove_inequality(
        lambda x: (x * (1 - x) * (x - 2) ** 2, Fraction(5, 8)), over=on(x=reals(0, 1)), boxes=1
    )
    assert found.verdict == "undecided"
    assert set(found.box) == {"x"}


def test_a_stand_in_that_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """If log2 were traced as ln, the function at numbers would show it."""
    stand_ins = lift._stand_ins

    def wrong(table: Any) -> Any:
        return [
            (known, (lambda value: lift._log(table, value)) if known is log2 else made)
            for known, made in stand_ins(table)
        ]

    monkeypatch.setattr(lift, "_stand_ins", wrong)
    found = prove_inequality(lambda x: (log2(x), 2 * ball(x)), over=on(x=reals(2, 3)))
    assert found.verdict == "not traceable"
    assert "differ at" in found.why


def test_a_grid_is_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference at a single point, which random points miss."""
    monkeypatch.setattr(agreement, "POINTS", 1)
    hidden = {"at": Fraction(1, 7)}
    real = agreement.called_sides

    def called(function: Any, point: Any) -> Any:
        return {"": (5, 1)} if point["x"] == hidden["at"] else real(function, point)

    monkeypatch.setattr(agreement, "called_sides", called)
    over = on(x=reals(0, 1))
    assert prove_inequality(lambda x: (x, 2), over=over).verdict == "proved"
    found = prove_inequality(lambda x: (x, 2), over=over, grid=[{"x": Fraction(1, 7)}])
    assert found.verdict == "not traceable"


def test_what_is_no_formula_is_reported_with_its_line() -> None:
    found = prove_inequality(lambda x: (float(x), 1), over=on(x=reals(0, 1)))
    assert found.verdict == "not traceable"
    assert "float" in found.why


@pytest.mark.parametrize("given", [{"seconds": 0}, {"boxes": 0}, {"cuts": {"y": "1"}}])
def test_parameters_are_checked(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        prove_inequality(lambda x: (x, 1), over=on(x=reals(0, 1)), **given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: reals(0, 1, "[["),
        lambda: reals(1, 0),
        lambda: reals(1, 1),
        lambda: integers(2, 1),
        lambda: integers(1, None, each=10**6),
        lambda: choices(),
        lambda: choices(1, "1"),
        lambda: on(x=(0, 1)),  # type: ignore[arg-type]
        lambda: on(n=integers(1, 2)).cut(n="1"),
    ],
)
def test_ranges_are_checked(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidParameterError):
        make()


def test_the_module_keeps_its_budget() -> None:
    assert (prove.SECONDS, prove.BOXES) == (60.0, 20_000)
