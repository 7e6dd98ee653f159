"""The joint change of (x x^T, r x), which a linear bandit releases: 9/2 for |x| <= 1 and |r| <= 1."""

# ruff: noqa: E501 (tables with one case in each line)

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from audits.classics.rows import joint_bandits
from dpaudit.core.claims import GaussianDP
from dpaudit.core.data import Anything, Records
from dpaudit.distributions import Gaussian
from dpaudit.kernel.values import arrays, elementwise, steps
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import ONE, Poly
from dpaudit.kernel.values.steps import RULES
from dpaudit.prover.values.prove import prove_values

ROW = Records(Anything(), width=5, size=2)


def unit(vector: Any) -> Any:
    return vector / np.maximum(1, np.linalg.norm(vector))


def first(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, x).ravel(), r * x])


def reversed_parts(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([x * r, np.outer(x, x).reshape(4)])


def larger_reward(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -3, 3)
    return np.concatenate([np.outer(x, x).ravel(), r * x])


def longer(row: Any) -> Any:
    x, r = 2 * unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, x).ravel(), r * x])


def doubled_square(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([(2 * np.outer(x, x)).ravel(), r * x])


def doubled_after(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([2 * np.outer(x, x).ravel(), r * x])


def shifted_square(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, x).ravel() + 3 * r, r * x])


def doubled_vector(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, x).ravel(), 2 * (r * x)])


def vector_and_more(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, x).ravel(), r * x + 5 * x])


def other_vector(row: Any) -> Any:
    x, y, r = unit(row[:2]), 3 * unit(row[2:4]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, x).ravel(), r * y])


def other_square(row: Any) -> Any:
    x, y, r = unit(row[:2]), 3 * unit(row[2:4]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(y, y).ravel(), r * x])


def two_vectors(row: Any) -> Any:
    x, y, r = unit(row[:2]), 3 * unit(row[2:4]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, y).ravel(), r * x])


def three_parts(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, x).ravel(), r * x, 4 * x])


def twice_scaled(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, x).ravel(), 3 * r * x])


def scaled_vector_of_scaled(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([np.outer(x, x).ravel(), r * (2 * x)])


def negated(row: Any) -> Any:
    x, r = unit(row[:2]), np.clip(row[4], -1, 1)
    return np.concatenate([-np.outer(x, x).ravel(), -(r * x)])


def sum_of_squares(row: Any) -> Any:
    x, y, r = unit(row[:2]), unit(row[2:4]), np.clip(row[4], -1, 1)
    return np.concatenate([(np.outer(x, x) + np.outer(y, y)).ravel(), r * x])


PROGRAMS = [
    first, reversed_parts, larger_reward, longer, doubled_square, doubled_after, shifted_square, doubled_vector,
    vector_and_more, other_vector, other_square, two_vectors, three_parts, twice_scaled, scaled_vector_of_scaled,
    negated, sum_of_squares,
]  # fmt: skip


def largest_change(statistics: Any) -> float:
    """Return the largest squared change on a grid of angles and extreme rewards."""
    rows = [
        [a * math.cos(s), a * math.sin(s), b * math.cos(t), b * math.sin(t), 9 * r]
        for s in np.arange(12) * math.pi / 6
        for t in (0, math.pi, s)
        for a, b in ((1, 1), (1, 0))
        for r in (-1, 1)
    ]
    values = np.array([statistics(np.array(row)) for row in rows])
    return float(((values[:, None] - values[None]) ** 2).sum(axis=2).max())


@pytest.mark.parametrize("statistics", PROGRAMS)
def test_the_bound_covers_every_change(statistics: Any) -> None:
    """The proved mu is at least the largest change that is found, also where the joint rule must not apply."""

    def program(coins: Any, data: Any) -> Any:
        return coins.release(statistics(data[0]), Gaussian(variance=1), site="s")

    found = prove_values(program, GaussianDP(mu=100), data=ROW)
    assert found.bound is not None, found.reason
    assert float(found.bound) ** 2 >= largest_change(statistics) * (1 - 1e-9)


@pytest.mark.parametrize("statistics", [first, reversed_parts])
def test_the_bound_is_attained(statistics: Any) -> None:
    """The squared change is exactly 9/2, at 120 degrees."""

    def program(coins: Any, data: Any) -> Any:
        return coins.release(statistics(data[0]), Gaussian(variance="9/2"), site="s")

    assert largest_change(statistics) == pytest.approx(4.5)
    assert prove_values(program, GaussianDP(mu=1), data=ROW).verdict == "verified"
    assert prove_values(program, GaussianDP(mu="99/100"), data=ROW).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("module", "op", "old", "new"),
    [
        (arrays, "columns", "times(Fraction(1, 2), m, m, m, m)", "times(0, m)"),
        (arrays, "columns", "if x == node:", "if True:"),
        (arrays, "columns", "times(2, b, b), times(2, m, m, b)", "times(2, b, b), times(1, m, m, b)"),
        (elementwise, "mul", '"scaled": (node, magnitude(s, v))', '"scaled": (node, ONE)'),
        (arrays, "outer", '"square": (ids[0], a.norm2)', '"square": (ids[0], ONE)'),
    ],
)
def test_mutants_are_found(module: Any, op: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A joint bound without one of its terms, or for another vector, is below a change that exists."""
    source = inspect.getsource(module)
    assert old in source
    space: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(old, new, 1), "mutant", "exec"), space)
    rules = space["ARRAYS"] if module is arrays else space["ELEMENTWISE"]
    monkeypatch.setitem(steps.RULES, op, rules[op])

    def all_programs() -> None:
        for statistics in PROGRAMS:
            test_the_bound_covers_every_change(statistics)

    with pytest.raises(AssertionError):
        all_programs()


def test_only_a_reshape_keeps_a_square() -> None:
    """No rule passes the facts of x x^T and r x on to a result with other values (a cast of floats has the same)."""
    facts = {"square": (0, ONE), "scaled": (0, ONE)}
    derived, kept = set(), set()
    for name, rule in RULES.items():
        for shape in ((2,), (2, 2), (4,), ()):
            info = Info(
                shape=shape,
                low=-ONE,
                high=ONE,
                change=ONE,
                change1=Poly.of(4),
                change2=Poly.of(4),
                facts=facts,
            )
            for params in (
                {},
                {"axes": (0,), "p": "2", "keep": False},
                {"kind": "f", "python": False},
                {"shape": (4,), "records": 0},
            ):
                for operands in ([info], [info, info]):
                    try:
                        found = rule(Setting(), tuple(range(len(operands))), operands, params)
                    except (
                        RefusedStepError,
                        ArithmeticError,
                        LookupError,
                        TypeError,
                        ValueError,
                        AttributeError,
                    ):
                        continue
                    derived.add(name)
                    if "square" in found.facts:
                        kept.add(name)
                    assert "square" not in found.facts or name in ("reshape", "outer", "cast"), name
                    assert found.facts.get("scaled") != (0, ONE) or name in ("mul", "cast"), name
    assert kept == {"reshape", "cast"}
    assert len(derived) > 30


def test_the_rows_of_the_classics() -> None:
    """The bandit with noise for 9/2 is proved, and its controls are not with the same data."""
    claim = joint_bandits.right().claim
    assert prove_values(joint_bandits.right().program, claim, data=joint_bandits.ROWS).verdict == "verified"
    for control in (joint_bandits.four(), joint_bandits.leak()):
        assert prove_values(control.program, claim, data=joint_bandits.ROWS).verdict == "inconclusive"
