"""Test that numbers accept every operation that symbols accept, with the same result."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpaudit.prover.symbols import Private, Public, Symbolic
from tests.prover.expressions import differences, statements

#: Special methods of Python that no operation on a value uses.
MACHINERY = {"__module__", "__doc__", "__slots__", "__init__", "__copy__", "__deepcopy__"}
MACHINERY |= {"__annotations__", "__getattr__", "__setattr__", "__delattr__"}


@pytest.mark.timeout(120)
def test_symbols_and_numbers_agree() -> None:
    """None of 45,000 random statements that symbols accept crashes or differs on numbers."""
    count, accepted, found = differences(statements(45_000, seed=1))
    assert count == 45_000
    assert accepted > 3_000
    assert found == []


@pytest.mark.parametrize("kind", [Symbolic, Private, Public])
def test_a_symbol_has_only_the_methods_of_numbers(kind: type) -> None:
    """A symbol has no method of a container, a function or a buffer, not even one that refuses."""
    own = {name for base in kind.__mro__[:-1] for name in vars(base) if name.startswith("__")}
    of_numbers = {name for number in (int, float, Fraction, complex) for name in dir(number)}
    assert own - of_numbers - MACHINERY == set()


def _refuses(self: Any, *_: Any) -> Any:
    return self._follower.refuse("a mutant's method was called")


MISTAKES: list[tuple[type, str, Any]] = [
    (Symbolic, "__getitem__", _refuses),
    (Private, "__abs__", lambda self: self),
    (Private, "__rsub__", lambda self, other: self - other),
    (Private, "__le__", lambda self, other: self < other),
    (Private, "__index__", lambda self: 0),
    (Private, "__bool__", lambda self: True),
    (Private, "__format__", lambda self, spec: "0"),
    (Private, "__iter__", lambda self: iter(())),
    (Private, "__rmod__", lambda self, other: other),
    (Public, "__rsub__", lambda self, other: self - other),
    (Public, "__abs__", lambda self: self),
    (Public, "__gt__", lambda self, other: self < other),
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("kind", "name", "method"), MISTAKES, ids=[f"{kind.__name__}{name}" for kind, name, _ in MISTAKES]
)
def test_mistakes_are_found(monkeypatch: pytest.MonkeyPatch, kind: type, name: str, method: Any) -> None:
    """One wrong method of a symbol makes some statement differ."""
    monkeypatch.setattr(kind, name, method, raising=False)
    _, _, found = differences(statements(15_000, seed=1), enough=1)
    assert found
