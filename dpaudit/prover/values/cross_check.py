"""Run the real function and the interpreter on the same sample data with the same random numbers.

The interpreter's model of Python is itself an assumption about the program. CPython runs the unmodified
function, the interpreter runs its syntax tree, and both results must be equal bit by bit.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np
import pandas as pd

from dpaudit.coins import Sampler
from dpaudit.coins.base import To
from dpaudit.core.errors import BrokenHarnessError
from dpaudit.core.views import PUBLIC, audience
from dpaudit.prover.symbols import RefusedError
from dpaudit.prover.values.interpreter import Interpreter
from dpaudit.prover.values.operations import content
from dpaudit.prover.values.run import ProgramRaisedError, Record, Run
from dpaudit.prover.values.samples import Worlds
from dpaudit.prover.values.values import Array, Coins, Frame, Generator, Series

__all__ = ["Concrete", "cross_check", "seeded"]


class RecordingCoins(Sampler):
    """Coins that record all values that are released or revealed, with their recipients."""

    def __init__(self, rng: Any) -> None:
        super().__init__(rng)
        self.shown: list[Any] = []

    def observe(self, distribution: Any, *, site: str, to: To = PUBLIC) -> Any:
        """Draw a value and record it."""
        return self._keep(super().observe(distribution, site=site, to=to), to)

    def release(self, value: Any, noise: Any, *, site: str, to: To = PUBLIC) -> Any:
        """Release a value with noise and record it."""
        if noise.event_ndim:
            return super().release(value, noise, site=site, to=to)
        return self._keep(super().release(value, noise, site=site, to=to), to)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        """Record a value without noise."""
        return self._keep(value, to)

    def _keep(self, value: Any, to: To) -> Any:
        self.shown.append((sorted(str(one) for one in audience(to)), value))
        return value


class HeavyTailed:
    """A generator whose noise is occasionally very large, so that rare branches are executed too."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def _size(self) -> float:
        return float(self.rng.choice([1.0, 1.0, 10.0, 100.0]))

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw Laplace noise, sometimes with a much larger scale."""
        return self.rng.laplace(loc, np.multiply(scale, self._size()), size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw normal noise, sometimes with a much larger scale."""
        return self.rng.normal(loc, np.multiply(scale, self._size()), size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rng, name)


class _Walk:
    """A stand-in for the exploration. All values are plain, so nothing is forked or recorded."""

    refused: Any = None

    def _event(self, event: Any) -> None:
        """Ignore the event."""


class Concrete(Run):
    """A run on real data, in which generators return real numbers."""

    def __init__(self, record: Record, generator: Any, until: float) -> None:
        worlds = Worlds(record.s, [])
        super().__init__(record, _Walk(), worlds, {}, False, until)  # type: ignore[arg-type]
        self.generator = generator
        self.before = 0  # count from 0, so that a long exploration does not suppress the check


def cross_check(
    function: FunctionType,
    receiver: tuple[Any, ...],
    arguments: Callable[[], list[Any]],
    kinds: list[str],
    fixed: dict[str, Any],
    record: Record,
    files: frozenset[str],
    seed: int,
    until: float,
) -> None:
    """Compare one run of the function with one run of the interpreter.

    ``receiver`` holds the object of a method. ``kinds`` gives the role of each further argument: ``data``,
    ``rng`` or ``coins``.

    Raises
    ------
    BrokenHarnessError
        The results or the public values differ.
    """
    native = _native(function, receiver, arguments(), kinds, fixed, seed)
    followed = _followed(function, receiver, arguments(), kinds, fixed, record, files, seed, until)
    if followed is None:
        return
    if not _same(native, followed):
        raise BrokenHarnessError(
            f"the interpreter and CPython disagree on {function.__qualname__}: {followed!r:.200} and"
            f" {native!r:.200}. Please report this as a bug of dpaudit.",
            code="E-INTERPRETER-DIFFERS",
        )


def _native(
    function: FunctionType,
    receiver: tuple[Any, ...],
    data: list[Any],
    kinds: list[str],
    fixed: dict[str, Any],
    seed: int,
) -> Any:
    generator = _generator(kinds, seed)
    given = [value if kind == "data" else generator for kind, value in zip(kinds, data, strict=True)]
    with seeded(seed, generator, function.__globals__):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                found = function(*receiver, *given, **fixed)
                found = list(found) if isinstance(found, GeneratorType) else found
        except Exception as error:
            found = ("raised", type(error).__name__)
    return found, getattr(generator, "shown", [])


def _generator(kinds: list[str], seed: int) -> Any:
    """Return coins or a generator. Odd seeds give heavy-tailed noise."""
    if "coins" in kinds:
        return RecordingCoins(np.random.default_rng(seed))
    return HeavyTailed(seed) if seed % 2 else np.random.default_rng(seed)


@contextlib.contextmanager
def seeded(seed: int, generator: Any = None, names: dict[str, Any] | None = None) -> Iterator[None]:
    """Seed numpy's global generator, and let ``default_rng()`` return ``generator`` if it is given.

    ``names`` are the globals of the program's file, in which aliases of ``default_rng`` are replaced too.
    """
    # Programs that call numpy.random.laplace use the legacy global generator.
    before, make = np.random.get_state(), np.random.default_rng  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    known = [name for name, value in (names or {}).items() if value is make]
    if generator is not None and names is not None:
        np.random.default_rng = constant = _Constant(generator)  # type: ignore[assignment]
        names.update(dict.fromkeys(known, constant))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.default_rng = make
        if names is not None:
            names.update(dict.fromkeys(known, make))
        np.random.set_state(before)  # noqa: NPY002


class _Constant:
    """A replacement for ``default_rng`` that always returns the same generator."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __call__(self) -> Any:
        return self.generator


def _followed(
    function: FunctionType,
    receiver: tuple[Any, ...],
    data: list[Any],
    kinds: list[str],
    fixed: dict[str, Any],
    record: Record,
    files: frozenset[str],
    seed: int,
    until: float,
) -> Any:
    generator = _generator(kinds, seed)
    run = Concrete(record, generator, until)
    interpreter = Interpreter(run, files)
    with seeded(seed):
        try:
            followed = interpreter.function(function)
            inside = {name: interpreter.enter(value, name) for name, value in fixed.items()}
            given = [interpreter.enter(one, "the program") for one in receiver]
            given += [_inside(kind, value) for kind, value in zip(kinds, data, strict=True)]
            found = _outside(interpreter.run_program(followed, given, inside))
        except ProgramRaisedError as raised:
            found = ("raised", type(raised.error).__name__)
        except RefusedError:
            return None  # refused on real data, though not on private values: nothing to compare
    return found, getattr(generator, "shown", [])


def _inside(kind: str, value: Any) -> Any:
    if kind != "data":
        return Generator() if kind == "rng" else Coins()
    if isinstance(value, dict):
        return {name: Array(column, shared=True) for name, column in value.items()}
    if isinstance(value, pd.DataFrame):
        return Frame({name: Array(value[name].to_numpy(), shared=True) for name in value.columns})
    return Array(value, shared=True) if isinstance(value, np.ndarray) else value


def _outside(value: Any) -> Any:
    """Convert a value of the interpreter to the value that the program would return."""
    inner = content(value)
    if isinstance(inner, Series):
        return _outside(inner.value)
    if isinstance(inner, list | tuple):
        make = getattr(inner, "_make", type(inner))  # a named tuple, such as the result of np.linalg.eigh
        return make(_outside(item) for item in inner)
    if isinstance(inner, dict):
        return {key: _outside(item) for key, item in inner.items()}
    return inner


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, pd.Series):
        return _same(left.to_numpy(), right)
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
