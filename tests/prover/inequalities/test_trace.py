"""Tracing: a function becomes an expression, or is refused. It never becomes another function."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify.ranges import choices, integers, on, reals
from dpaudit.core.exact_functions import ceil_log2, larger, ln, log2
from dpaudit.kernel.ball import arb, ball
from dpaudit.prover.inequalities.symbols import NotTraceableError
from dpaudit.prover.inequalities.trace import Traced, trace
from dpaudit.suite.worst import Constant

X = on(x=reals(0, 1))


def traced(function: Callable[..., Any], **fixed: Any) -> Traced:
    """The only combination of a function of one real number."""
    (found,) = trace(function, X, fixed=fixed, stated=Constant)
    return found


def only(found: Traced) -> tuple[int, int]:
    """The sides of a function with one path and one inequality."""
    (path,) = found.paths
    (sides,) = path.sides.values()
    return sides


def text(found: Traced, index: int) -> str:
    """A node as a formula."""
    operation, *items = found.nodes[index]
    if operation in ("v", "c"):
        return f"x{items[0]}" if operation == "v" else str(items[0])
    if operation == "pow":
        return f"pow({text(found, items[0])}, {items[1]})"
    return f"{operation}({', '.join(text(found, item) for item in items)})"


def radius(n: Any, scale: Any = Fraction(1, 2)) -> Any:
    """A helper with a default."""
    return (scale * ln(n)).sqrt()


def power(base: Any, exponent: Fraction) -> Any:
    return base**exponent


@functools.cache
def cached(n: Any) -> Any:
    return 2 * n


CONSTANT = Fraction(1, 3)


def test_a_formula_is_recorded_as_it_is_written() -> None:
    """Helpers, defaults, caches, constants of the module and stand-ins."""

    def sides(x: Any) -> Any:
        return radius(x) + CONSTANT, power(larger(ball(cached(x)), arb(1)), Fraction(3, 2))

    found = traced(sides)
    left, right = only(found)
    assert text(found, left) == "+(sqrt(*(1/2, log(x0))), 1/3)"
    assert text(found, right) == "pow(sqrt(max(*(2, x0), 1)), 3)"
    assert found.paths[0].conditions == ()


def test_logarithms_of_base_two_and_their_ceilings() -> None:
    found = traced(lambda x: (log2(x), ceil_log2(x)))
    left, right = only(found)
    assert text(found, left) == "/(log(x0), log(2))"
    assert text(found, right) == "ceil(/(log(x0), log(2)))"


def test_both_sides_of_a_comparison_are_followed() -> None:
    """A branch gives two parts, each with its condition."""
    found = traced(lambda x: (x if x < Fraction(1, 2) else 1 - x, 1))
    assert [(text(found, path.sides[""][0]), path.conditions[0][3]) for path in found.paths] == [
        ("x0", True),
        ("-(1, x0)", False),
    ]


def test_an_error_on_a_path_is_recorded() -> None:
    """The path with the error remains, as an inequality that is false wherever it is reached."""

    def sides(x: Any) -> Any:
        if not x > 0:
            raise ValueError("x must be positive")
        return x, 1

    found = traced(sides)
    assert [(path.raises, path.conditions[0][3]) for path in found.paths] == [
        ("", True),
        ("ValueError", False),
    ]
    assert [text(found, node) for node in found.paths[1].sides[""]] == ["1", "0"]


def test_constants_of_a_chain_are_not_claimed() -> None:
    found = traced(lambda x: {"x <= 1": (x, 1), "the ratio": Constant(x, 1)})
    assert list(found.paths[0].sides) == ["x <= 1"]


def test_discrete_values_are_traced_one_by_one() -> None:
    """Integers up to ``each`` are Python integers, and the others are covered by real numbers."""

    def sides(n: Any, kind: str) -> Any:
        return (sum(range(n)) if kind == "sum" else n), n * n

    def closed(n: Any, kind: str) -> Any:
        return (n if kind == "one" else 2 * n), n * n

    found = list(trace(closed, on(n=integers(1, None, each=2), kind=choices("one", "two"))))
    assert [(one.single, one.real) for one in found] == [
        ({"n": 1, "kind": "one"}, ()),
        ({"n": 1, "kind": "two"}, ()),
        ({"n": 2, "kind": "one"}, ()),
        ({"n": 2, "kind": "two"}, ()),
        ({"kind": "one"}, ("n",)),
        ({"kind": "two"}, ("n",)),
    ]
    assert found[-1].values == {"n": "real", "kind": "value two"}
    with pytest.raises(NotTraceableError, match="whole number"):
        list(trace(sides, on(n=integers(1, None, each=2), kind=choices("sum"))))


def test_a_condition_is_recorded_for_every_part() -> None:
    over = on(x=reals(0, 1), y=reals(0, 1)).where(lambda x, y: x <= y)
    (found,) = trace(lambda x, y: (x, y), over)
    assert found.given == ((0, 1, False, True),)
    bad = on(x=reals(0, 1)).where(lambda x: x > 0 and x < 1)
    with pytest.raises(NotTraceableError, match="must not branch"):
        list(trace(lambda x: (x, 1), bad))


def test_terms_between_the_sides_give_links() -> None:
    over = X.through(lambda x: x + 1)
    (found,) = trace(lambda x: (x, x + 2), over)
    links = {name: [text(found, node) for node in both] for name, both in found.paths[0].sides.items()}
    assert links == {"link 1 of 2": ["x0", "+(x0, 1)"], "link 2 of 2": ["+(x0, 1)", "+(x0, 2)"]}


STATE: list[int] = []
COUNTER = {"calls": 0}


def _swallows(x: Any) -> Any:
    try:
        return (0, 1) if x == x else (0, 2)
    except Exception:
        return 0, 1


def _imports(x: Any) -> Any:
    import random

    return random.random() * x, 1


def _keeps_state(x: Any) -> Any:
    STATE.append(1)
    return x, 1


def _reads_state(x: Any) -> Any:
    return x, COUNTER["calls"]


def _stores(x: Any) -> Any:
    box = [0]
    box[0] = x
    return box[0], 1


def _mutable_default(x: Any, seen: list[int] = []) -> Any:  # noqa: B006
    return x, len(seen)


def _private(x: Any) -> Any:
    return x, 1 if x._index == 0 else 0


def _formatted(x: Any) -> Any:
    return x, len("{._index}".format(x))  # noqa: UP032


def _compared_conditions(x: Any) -> Any:
    return x, 2 if (x < 1) == True else 0  # noqa: E712


def _text_of_condition(x: Any) -> Any:
    return x, len(f"{x < 1}")


def _closure_counter() -> Callable[..., Any]:
    count = 0

    def sides(x: Any) -> Any:
        nonlocal count
        count += 1
        return x, count

    return sides


def _wrapped() -> Callable[..., Any]:
    def plain(x: Any) -> Any:
        return x, 1

    @functools.wraps(plain)
    def other(*args: Any, **given: Any) -> Any:
        left, right = plain(*args, **given)
        return 2 * left, right

    return other


class _Number:
    def __call__(self, x: Any) -> Any:
        return x, 1


@pytest.mark.parametrize(
    "function",
    [
        _swallows,
        _imports,
        _keeps_state,
        _reads_state,
        _stores,
        _mutable_default,
        _private,
        _formatted,
        _compared_conditions,
        _text_of_condition,
        _closure_counter(),
        _Number(),
        lambda x: (0.1 * x, 1),
        lambda x: (x, 1) if type(x) is Fraction else (0, 1),
        lambda x: (x, 1) if isinstance(x, Fraction) else (0, 1),
        lambda x: (x, 1) if x == 0 else (0, 1),
        lambda x: (x, 1) if x is CONSTANT else (0, 1),
        lambda x: (x, 1) if x in (0, 1) else (0, 1),
        lambda x: (x, 1) if x else (0, 1),
        lambda x: (x, {x: 1}),
        lambda x: (x // 1, 1),
        lambda x: (x % 1, 1),
        lambda x: (int(x), 1),
        lambda x: (round(x), 1),
        lambda x: (float(x), 1),
        lambda x: (math.sqrt(x), 1),
        lambda x: (math.log(x), 1),
        lambda x: (id(x), 1),
        lambda x: (hash(x), 1),
        lambda x: (len(str(x)), 1),
        lambda x: (getattr(x, "numerator", 0), 1),
        lambda x: (arb(x, 1), 1),
        lambda x: (arb("0.1") * x, 1),
        lambda x: (Fraction(1 / 3) * x, 1),
        lambda x: (math.pi * x, 1),
        lambda x: x,
        lambda x: (x, True),
        lambda x: (min(x, 1, key=abs), 1),
        lambda x: (sum(STATE) + x, 1),
        lambda x: (_mutable_default(x)[1], 1),
    ],
)
def test_what_is_no_formula_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(NotTraceableError):
        traced(function)


def test_a_refusal_names_line_and_function() -> None:
    with pytest.raises(NotTraceableError, match=r"line \d+ of _swallows"):
        traced(_swallows)


def test_a_wrapper_is_traced_with_what_it_adds() -> None:
    """``functools.wraps`` hides the wrapper behind the function's name, but the wrapper is what runs."""
    found = traced(_wrapped())
    assert text(found, only(found)[0]) == "*(2, x0)"


def test_names_do_not_choose_the_stand_in() -> None:
    """A helper that is called ``ball`` or ``min`` is itself."""

    def outer() -> Callable[..., Any]:
        def ball(x: Any) -> Any:
            return x + 1

        def min(first: Any, second: Any) -> Any:
            return second

        return lambda x: (ball(x), min(x, 7))

    found = traced(outer())
    left, right = only(found)
    assert (text(found, left), text(found, right)) == ("+(x0, 1)", "7")


def test_many_comparisons_are_refused() -> None:
    with pytest.raises(NotTraceableError, match="comparisons"):
        traced(lambda x: (sum(1 if x < k else 0 for k in range(30)), 30))
