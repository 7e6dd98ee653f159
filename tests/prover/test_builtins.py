"""Test that builtins, distributions and ``math`` are recognised as objects, and that interrupts pass
through."""

from __future__ import annotations

import builtins
import functools
import math
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.distributions import Bernoulli, Categorical, Laplace
from dpaudit.prover import EVERY, EachMoves, OneReplaced, Symbols, prove
from dpaudit.prover.reading import BUILTINS, require_readable
from dpaudit.prover.symbols import RefusedError
from tests.errors import raises


def proved(program: Callable[..., Any], *, bits: bool = False, size: Any = 2) -> Any:
    data = Symbols(size, low=0, high=1, integers=True) if bits else Symbols(size)
    return prove(program, PureDP(epsilon=1), data=data, adjacency=OneReplaced() if bits else EachMoves())


def takes_the_maximum(coins: Any, data: Any) -> None:
    coins.release(max(data[0], 0), Laplace(scale=1), site="shown")


def rounds_down(coins: Any, data: Any) -> None:
    coins.release(data[0] + math.floor(1.5), Laplace(scale=1), site="shown")


def test_ordinary_builtins_are_read() -> None:
    """Each allowed name is the interpreter's builtin, and programs that use builtins are verified."""
    for name in BUILTINS:
        scope: dict[str, Any] = {"__builtins__": vars(builtins)}
        exec(f"def program(coins, data):\n    return {name}\n", scope)
        require_readable(scope["program"])
    assert proved(takes_the_maximum).verdict == "verified"
    assert proved(rounds_down).verdict == "verified"


def like_max(*values: Any) -> Any:
    return 0


like_max.__name__ = "max"
FakeMax = type("max", (), {"__module__": "builtins", "__new__": lambda cls, *values: 0})


@pytest.mark.parametrize(
    "other",
    [like_max, min, FakeMax, functools.partial(max, 0), None],
    ids=["function", "another builtin", "class", "partial", "None"],
)
def test_a_replaced_builtin_is_refused(monkeypatch: pytest.MonkeyPatch, other: Any) -> None:
    """A replaced builtin is refused, whatever its name and origin."""
    with monkeypatch.context() as patched:
        patched.setattr(builtins, "max", other)
        with raises(RefusedError, code="E-CODE-BUILTIN", match="max"):
            require_readable(takes_the_maximum)
    require_readable(takes_the_maximum)


def test_a_replaced_function_of_math_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replaced function of ``math`` is refused."""
    with monkeypatch.context() as patched:
        patched.setattr(math, "floor", lambda value: 0)
        with raises(RefusedError, code="E-CODE-MODULE", match="math"):
            require_readable(rounds_down)
    require_readable(rounds_down)


def test_an_empty_cell_is_refused() -> None:
    """A name of the enclosing function without a value gives no verdict and a reason."""

    def program(coins: Any, data: Any) -> None:
        coins.release(data[0] * later, Laplace(scale=1), site="shown")

    proof = proved(program)
    assert (proof.verdict, proof.bound) == ("inconclusive", None)
    assert "program" in proof.reason
    later = 1
    assert later == 1
    assert proved(program).verdict == "verified"


def while_one(coins: Any, data: Any) -> None:
    while coins.draw(Bernoulli(p="1/2"), site="again") == 1:
        pass


def while_zero(coins: Any, data: Any) -> None:
    while coins.draw(Bernoulli(p="1/2"), site="again") == 0:
        pass


def while_in_the_middle(coins: Any, data: Any) -> None:
    while coins.draw(Categorical(weights=[1, 1, 1, 1]), site="again") == 2:
        pass


def while_different(coins: Any, data: Any) -> None:
    while coins.draw(Bernoulli(p="1/2"), site="a") != coins.draw(Bernoulli(p="1/2"), site="b"):
        pass


def while_after_a_coin(coins: Any, data: Any) -> None:
    if coins.draw(Bernoulli(p="1/2"), site="first") == 0:
        while coins.draw(Bernoulli(p="1/2"), site="again") == 1:
            pass


def while_not_above(coins: Any, data: Any) -> None:
    noise = coins.draw(Laplace(scale=1), site="noise")
    while not noise > data[0]:
        noise = coins.draw(Laplace(scale=1), site="noise")


def while_at_each_record(coins: Any, data: Any) -> None:
    for _ in data:
        while coins.draw(Bernoulli(p="1/2"), site="again") == 1:
            pass


LOOPS = (
    *(while_one, while_zero, while_in_the_middle, while_different, while_after_a_coin, while_not_above),
    while_at_each_record,
)


@pytest.mark.parametrize("program", LOOPS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("bits", [False, True])
def test_a_loop_without_a_bound_is_refused_soon(
    monkeypatch: pytest.MonkeyPatch, program: Any, bits: bool
) -> None:
    """An unbounded loop is refused after at most 30 runs of the program."""
    from dpaudit.prover import explore

    runs = []
    once = explore._run_once

    def counted(*arguments: Any) -> None:
        runs.append(1)
        once(*arguments)

    monkeypatch.setattr(explore, "_run_once", counted)
    proof = proved(program, bits=bits)
    assert (proof.verdict, proof.bound) == ("inconclusive", None)
    assert len(runs) <= 30


def test_a_loop_without_a_bound_in_a_step_is_refused() -> None:
    """An unbounded loop in a step is refused for every size."""
    assert proved(while_at_each_record, size=EVERY).verdict == "inconclusive"


class LateError(Exception):
    """The exception of a timer."""


def late(signum: int, frame: Any) -> None:
    raise LateError


def late_by_another(signum: int, frame: Any) -> None:
    signal.signal(signum, signal.SIG_DFL)
    late(signum, frame)


class Timer:
    def __call__(self, signum: int, frame: Any) -> None:
        raise LateError

    def method(self, signum: int, frame: Any) -> None:
        raise LateError


@pytest.fixture
def alarm() -> Iterator[Callable[[Any], None]]:
    """Install a handler and trigger it soon. Undo both afterwards."""
    before = signal.getsignal(signal.SIGALRM)

    def soon(handler: Any) -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)

    yield soon
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def takes_long(coins: Any, data: Any) -> None:
    for _ in range(300):
        for _ in range(1500):
            pass
    coins.release(data[0], Laplace(scale=1), site="shown")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers on this system")
@pytest.mark.timeout(60, method="thread")
@pytest.mark.parametrize(
    "handler",
    [late, late_by_another, Timer(), Timer().method, functools.partial(late)],
    ids=["function", "that uninstalls itself", "object", "method", "partial"],
)
@pytest.mark.parametrize("bits", [False, True])
def test_a_timer_is_not_the_program(alarm: Callable[[Any], None], handler: Any, bits: bool) -> None:
    """An exception of a signal handler leaves ``prove`` unchanged."""
    alarm(handler)
    with pytest.raises(LateError):
        proved(takes_long, bits=bits)


def test_a_crash_of_the_program_is_its_own() -> None:
    """An exception of the program gives no verdict."""

    def program(coins: Any, data: Any) -> None:
        coins.reveal("end", site="shown")
        if data[0] > 0:
            raise ValueError

    for bits in (False, True):
        proof = proved(program, bits=bits)
        assert (proof.verdict, proof.bound) == ("inconclusive", None)
        assert "ValueError" in proof.reason
