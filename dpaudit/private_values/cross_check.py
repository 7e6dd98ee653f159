"""Run the real function and the interpreter side by side on sample data, with the same random numbers.

The interpreter's reading of Python is itself a claim about the program. Here CPython runs the unmodified
function on real data, the interpreter runs its tree on the same data and the same generator, and what they
return must be equal, bit by bit.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from fractions import Fraction
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from dpaudit.coins import Sampler
from dpaudit.errors import BrokenHarnessError
from dpaudit.private_values.interpreter import Interpreter
from dpaudit.private_values.operations import content
from dpaudit.private_values.run import ProgramRaisedError, Record, Run
from dpaudit.private_values.samples import Worlds
from dpaudit.private_values.values import Array, Coins, Generator
from dpaudit.prover.symbols import RefusedError

__all__ = ["Concrete", "cross_check"]


class _Walk:
    """What a run asks of the exploration, where all values are plain: nothing is forked or recorded."""

    refused: Any = None

    def _event(self, event: Any) -> None:
        """Nothing is recorded."""


class Concrete(Run):
    """A run on real data: generators give real numbers."""

    def __init__(self, record: Record, generator: Any, until: float) -> None:
        worlds = Worlds(record.s, [])
        super().__init__(record, _Walk(), worlds, {}, False, until)  # type: ignore[arg-type]
        self.generator = generator


def cross_check(
    function: FunctionType,
    arguments: Callable[[], list[Any]],
    kinds: list[str],
    fixed: dict[str, Any],
    record: Record,
    files: frozenset[str],
    seed: int,
    until: float,
) -> None:
    """Compare one run of the function with one of the interpreter.

    ``kinds`` says of each argument whether it is the data, a generator (``rng``) or ``coins``. Raises
    ``BrokenHarnessError`` where the two differ.
    """
    native = _native(function, arguments(), kinds, fixed, seed)
    followed, foreign = _followed(function, arguments(), kinds, fixed, record, files, seed, until)
    if foreign or followed is None:
        return  # the program has a generator of its own, whose numbers cannot be repeated
    if not _same(native, followed):
        raise BrokenHarnessError(
            f"the interpreter and CPython disagree on {function.__qualname__}: {followed!r:.200} and"
            f" {native!r:.200}. Please report this as a bug of dpaudit."
        )


def _native(
    function: FunctionType, data: list[Any], kinds: list[str], fixed: dict[str, Any], seed: int
) -> Any:
    given = [_real(kind, value, seed) for kind, value in zip(kinds, data, strict=True)]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            found = function(*given, **fixed)
            return list(found) if isinstance(found, GeneratorType) else found
    except Exception as error:
        return ("raised", type(error).__name__)


def _real(kind: str, value: Any, seed: int) -> Any:
    if kind == "data":
        return value
    generator = np.random.default_rng(seed)
    return generator if kind == "rng" else Sampler(generator)


def _followed(
    function: FunctionType,
    data: list[Any],
    kinds: list[str],
    fixed: dict[str, Any],
    record: Record,
    files: frozenset[str],
    seed: int,
    until: float,
) -> tuple[Any, bool]:
    generator = np.random.default_rng(seed)
    run = Concrete(record, Sampler(generator) if "coins" in kinds else generator, until)
    interpreter = Interpreter(run, files)
    try:
        followed = interpreter.function(function)
        inside = {name: interpreter.enter(value, name) for name, value in fixed.items()}
        given = [_inside(kind, value) for kind, value in zip(kinds, data, strict=True)]
        found = interpreter.run_program(followed, given, inside)
        return _outside(found), run.foreign
    except ProgramRaisedError as raised:
        return ("raised", type(raised.error).__name__), run.foreign
    except RefusedError:
        return None, True  # followed on private values, not on real ones: nothing to compare


def _inside(kind: str, value: Any) -> Any:
    if kind != "data":
        return Generator() if kind == "rng" else Coins()
    if isinstance(value, dict):
        return {name: Array(column, shared=True) for name, column in value.items()}
    return Array(value, shared=True) if isinstance(value, np.ndarray) else value


def _outside(value: Any) -> Any:
    """A value of the interpreter as the program would return it."""
    inner = content(value)
    if isinstance(inner, list | tuple):
        return type(inner)(_outside(item) for item in inner)
    if isinstance(inner, dict):
        return {key: _outside(item) for key, item in inner.items()}
    return inner


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, list | tuple) and type(left) is type(right):
        return len(left) == len(right) and all(_same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, np.ndarray | np.generic | float | int | Fraction) and isinstance(
        right, np.ndarray | np.generic | float | int | Fraction
    ):
        a, b = np.asarray(left), np.asarray(right)
        if a.dtype == object or b.dtype == object:
            return bool(left == right)
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
        )
    return type(left) is type(right) and bool(left == right)
