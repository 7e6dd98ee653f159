"""Branches that a constant of a program decides prevent no verdict, and what may change is not a constant."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, record
from dpaudit.core.claims import PureDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.distributions import Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.coverage import Watch
from dpaudit.replay.domains import Interval
from dpaudit.replay.privacy import privacy_outcome

NOISE = Laplace(scale=1)
Program = Callable[[Coins, Any], Any]


def missing(program: Any, *, data: float = 0.0) -> list[str]:
    """Return the places that a run on these data did not reach, without the file."""
    watch = Watch(program)
    record(watch.program, data, rng=np.random.default_rng(0))
    return [where.partition(":")[2].partition(" ")[2] or "line" for where, _ in watch.missing()]


def released(coins: Coins, data: Any) -> float:
    return float(coins.release(float(np.sum(data)), NOISE, site="sum"))


# Honest programs: each has a branch, or lines, that its constant rules out


def by_flag(noisy: bool = True) -> Program:
    def program(coins: Coins, data: Any) -> float:
        if noisy:
            return released(coins, data)
        return float(np.sum(data))

    return program


def by_word(variant: str = "printed") -> Program:
    def program(coins: Coins, data: Any) -> float:
        if variant == "repaired":
            data = data * 2
        elif variant in ("lost", "late"):
            return float(np.sum(data))
        return released(coins, data)

    return program


def by_none(limit: int | None = None) -> Program:
    def program(coins: Coins, data: Any) -> float:
        if limit is not None and data > limit:
            data = limit
        return released(coins, data)

    return program


def by_expression(noisy: bool = True, rounds: int = 3) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        shift = 0.0 if noisy and not rounds < 2 else float(data)
        return released(coins, shift)

    return program


def by_refusal(rounds: int = 3) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        if not rounds > 0:
            raise ValueError(rounds)
        return released(coins, data)

    return program


def by_tuple(pair: tuple[int, str] = (1, "a")) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        return released(coins, data) if pair == (1, "a") else data

    return program


def inside(noisy: bool = True) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        def one(value: float) -> float:
            return released(coins, value) if noisy else value

        return sum(one(value) for value in [data] if noisy)

    return program


def never_made(noisy: bool = True) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        if not noisy:

            def plain(value: float) -> float:
                return value * 2

            return plain(data)
        return released(coins, data)

    return program


def generator(noisy: bool = True) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        yield released(coins, data)
        if not noisy:
            yield data

    return program


def in_a_loop(noisy: bool = True) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        while True:
            try:
                if noisy:
                    return released(coins, data)
            finally:
                data = 0.0

    return program


HELPER = by_flag()


def calls_a_helper(coins: Coins, data: Any) -> Any:
    return HELPER(coins, data)


def by_default(coins: Coins, data: Any, noisy: bool = True) -> float:
    if not noisy:
        return float(data)
    return released(coins, data)


def by_keyword(coins: Coins, data: Any, *, noisy: bool) -> float:
    return released(coins, data) if noisy else float(data)


HONEST: dict[str, Any] = {
    "flag": by_flag(),
    "word": by_word(),
    "None": by_none(),
    "expression": by_expression(),
    "refusal": by_refusal(),
    "tuple": by_tuple(),
    "inner functions": inside(),
    "a function that is never made": never_made(),
    "generator": generator(),
    "loop": in_a_loop(),
    "helper": calls_a_helper,
    "default argument": by_default,
    "partial": partial(by_keyword, noisy=True),
}


@pytest.mark.parametrize("program", HONEST.values(), ids=list(HONEST))
def test_what_a_constant_rules_out_is_not_missing(program: Any) -> None:
    """One run reaches everything that any data can reach."""
    assert missing(program) == []


def test_a_right_program_with_a_constant_is_verified() -> None:
    """A program with a constant is verified, although a sibling with another constant is alive."""
    sibling = by_flag(False)
    data = Neighbours("0 to 1", np.array([0.0, 0.0]), np.array([1.0, 0.0]))
    proof = laplace_mechanism(sensitivity=1, scale=1)
    for program, verdict in ((by_flag(), VerdictKind.CONSISTENT), (sibling, VerdictKind.REFUTED)):
        audit = PrivacyAudit(
            claim=PureDP(epsilon=1),
            program=program,
            neighbours=lambda run: [data],
            sites=[Site("sum", mechanism=proof)],
            domain=Interval(0, 1),
        )
        found = privacy_outcome(audit, Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
        judged = judge(audit.claim, list(found.evidence), unmet=list(found.unmet))
        assert judged.verdict is verdict, found.unmet


# Wrong programs: in each, data that were not tried take the other branch


def branch_on_data(noisy: bool = True) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        if noisy and data < 5:
            return released(coins, data)
        return data

    return program


def shadowed(noisy: bool = True) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        return [released(coins, data) if noisy else data for noisy in [data < 5]]

    return program


def rebound(noisy: bool = True) -> Program:
    def flip(to: bool) -> None:
        nonlocal noisy
        noisy = to

    def program(coins: Coins, data: Any) -> Any:
        flip(bool(data < 5))
        result = released(coins, data) if noisy else data
        flip(True)
        return result

    return program


def rebound_by_its_maker() -> Program:
    def steps() -> Iterator[Any]:
        noisy = True

        def program(coins: Coins, data: Any) -> Any:
            [next(maker) for _ in range(int(data > 5))]
            result = released(coins, data) if noisy else data
            [next(maker) for _ in range(int(data > 5))]
            return result

        yield program
        while True:
            noisy = not noisy
            yield None

    maker = steps()
    made: Program = next(maker)
    return made


def cell_written(noisy: bool = True) -> Program:
    cells: list[Any] = []

    def program(coins: Coins, data: Any) -> Any:
        cells[0].cell_contents = bool(data < 5)
        result = released(coins, data) if noisy else data
        cells[0].cell_contents = True
        return result

    cells.append(next(cell for cell in program.__closure__ or () if cell.cell_contents is noisy))
    return program


def mutable(noisy: list[bool]) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        noisy[0] = bool(data < 5)
        return released(coins, data) if noisy[0] else data

    return program


class Sly(int):
    """A number that equals another value but behaves differently."""

    value = 0.0

    def __eq__(self, other: object) -> bool:
        return Sly.value < 5

    __hash__ = int.__hash__


def subclass(number: int = Sly(1)) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        Sly.value = data
        return released(coins, data) if number == 1 else data

    return program


def first_of(table: Any) -> Program:
    """Choose by data between two functions with the same code and different constants."""
    chosen = by_flag()

    def program(coins: Coins, data: Any) -> Any:
        return (chosen, *table)[int(data > 5)](coins, data)

    return program


SECOND = by_flag(False)
OBJECTS = np.array([SECOND], dtype=object)


class Holder:
    other = staticmethod(SECOND)


def from_an_attribute(coins: Coins, data: Any) -> Any:
    return (HELPER, Holder.other)[int(data > 5)](coins, data)


def from_a_weak_reference(reference: Any) -> Program:
    def program(coins: Coins, data: Any) -> Any:
        return (HELPER, reference())[int(data > 5)](coins, data)

    return program


def from_an_array(coins: Coins, data: Any) -> Any:
    return (HELPER, OBJECTS[0])[int(data > 5)](coins, data)


def from_a_library(coins: Coins, data: Any) -> Any:
    return (HELPER, np.kept)[int(data > 5)](coins, data)  # type: ignore[attr-defined]


VARIABLE: ContextVar[Any] = ContextVar("variable")


def from_a_context(coins: Coins, data: Any) -> Any:
    return (HELPER, VARIABLE.get())[int(data > 5)](coins, data)


def from_its_maker(coins: Coins, data: Any) -> Any:
    return (HELPER, by_flag(bool(data < 5)))[int(data > 5)](coins, data)


def from_the_globals(coins: Coins, data: Any) -> Any:
    return (HELPER, globals()["SEC" + "OND"])[int(data > 5)](coins, data)


def from_a_getter(coins: Coins, data: Any) -> Any:
    return (HELPER, operator.attrgetter("oth" + "er")(Holder))[int(data > 5)](coins, data)


def calls_itself(coins: Coins, data: Any, noisy: bool = True) -> Any:
    return (released, calls_itself)[int(data > 5)](coins, data, *[False] * int(data > 5)) if noisy else data


def default_rebound(coins: Coins, data: Any, noisy: bool = True) -> Any:
    noisy = bool(data < 5)
    return released(coins, data) if noisy else data


def default_of_a_helper(coins: Coins, data: Any) -> Any:
    def one(value: float, noisy: bool = True) -> float:
        return released(coins, value) if noisy else value

    return one(data, *[False] * int(data > 5))


def merged(noisy: bool = True, word: str = "a") -> Program:
    def program(coins: Coins, data: Any) -> Any:
        small = (bool(data < 5) if word == "a" else noisy) or coins.reveal(float(data), site="data")
        return released(coins, data) + small

    return program


def matched(word: str = "a") -> Program:
    def program(coins: Coins, data: Any) -> Any:
        match (word, "b")[int(data > 5)]:
            case "a":
                return released(coins, data)
        return data

    return program


def made_in_the_run(coins: Coins, data: Any) -> Any:
    def make(noisy: bool) -> Callable[[float], float]:
        def one(value: float) -> float:
            return released(coins, value) if noisy else value

        return one

    return make(bool(data < 5))(data)


@lru_cache
def cached(noisy: bool) -> Program:
    return by_flag(noisy)


def from_a_cache(coins: Coins, data: Any) -> Any:
    return cached(bool(data < 5))(coins, data)


WRONG: dict[str, Any] = {
    "branch on data": branch_on_data(),
    "shadowed name": shadowed(),
    "nonlocal": rebound(),
    "maker that goes on": rebound_by_its_maker(),
    "written cell": cell_written(),
    "mutable value": mutable([True]),
    "subclass of int": subclass(),
    "table in a closure": first_of([SECOND]),
    "attribute of a class": from_an_attribute,
    "weak reference": from_a_weak_reference(weakref.ref(SECOND)),
    "array of objects": from_an_array,
    "attribute of a library": from_a_library,
    "context variable": from_a_context,
    "maker called in the run": from_its_maker,
    "globals": from_the_globals,
    "attrgetter": from_a_getter,
    "recursion": calls_itself,
    "default that is rebound": default_rebound,
    "default of a helper": default_of_a_helper,
    "value of two branches": merged(),
    "match": matched(),
    "maker inside": made_in_the_run,
    "cache": from_a_cache,
}


@pytest.mark.parametrize("program", WRONG.values(), ids=list(WRONG))
def test_what_may_change_is_no_constant(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch for data above 5 is missing after a run on 0, as in any program."""
    monkeypatch.setattr(np, "kept", SECOND, raising=False)
    VARIABLE.set(SECOND)
    assert missing(program) != []


def test_a_constant_that_changed_is_none() -> None:
    """A cell that changed between the first run and the last one rules nothing out."""
    program: Any = by_flag()
    watch = Watch(program)
    record(watch.program, 0.0, rng=np.random.default_rng(0))
    program.__closure__[0].cell_contents = 1
    assert watch.missing() != []
