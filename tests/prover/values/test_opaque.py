"""Calls that only compute with released values are not followed, if they have no other effect."""

from __future__ import annotations

import sys
import time
from bisect import insort
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.prover.values.opaque import reason_against
from dpaudit.prover.values.prove import prove_values

DATA = Records(Interval(0, 1), size=6)
SCALES, SEEN = [2.0], []  # type: ignore[var-annotated]
EVEN = 0


def noisy(data: Any, rng: Any, k: int) -> Any:
    return float(data[k] + rng.laplace(0, 1))


def many(data: Any, rng: Any, count: int = 5) -> Any:
    return tuple(noisy(data, rng, k) for k in range(count))


def ranked(values: Any, t: Any) -> Any:
    """Compare all released numbers, in many ways."""
    best, line = 0, []
    for k in range(len(values)):
        insort(line, (-values[k], k))
        for j in range(len(values)):
            for r in range(4):
                if values[j] + r > values[best] - t:
                    best = j
    return best if line[0][0] < 0 else None


class Table:
    """Keeps released numbers, and finds the largest."""

    LIMIT = 3

    def __init__(self, values: Any, *, bonus: float = 0.0) -> None:
        self.values, self.bonus, self.times = list(values), bonus, 0

    @property
    def first(self) -> Any:
        return self.values[0]

    def renew(self, k: int, value: float) -> None:
        self.values[k] = value
        self.times += 1

    def best(self) -> Any:
        return ranked(self.values, self.bonus)

    def both(self) -> Any:
        return self.best(), self.values[0]


# Right programs.


def leader(data: Any, rng: Any) -> Any:
    return int(ranked(many(data, rng), 0))


def leader_as_size(data: Any, rng: Any) -> Any:
    count = min(max(int(ranked(many(data, rng, 4), 0)), 1), 2)
    return data[4 : 4 + count].sum() + rng.laplace(0, 1)


def leader_of_a_list(data: Any, rng: Any) -> Any:
    values = many(data, rng, 4)
    return [data[4], data[5]][int(ranked(values, 0))] + rng.laplace(0, 1)


def maybe_none(data: Any, rng: Any) -> Any:
    found = ranked(many(data, rng), 1.5)
    return "none" if found is None else int(found)


def table(data: Any, rng: Any) -> Any:
    kept = Table(many(data, rng, 4), bonus=0.5)
    found = int(kept.best())
    kept.renew(min(max(found, 0), 3), noisy(data, rng, 4))
    return found, int(kept.best()), float(kept.first), bool(kept.best())


def parts(data: Any, rng: Any) -> Any:
    best, first = Table(many(data, rng)).both()
    return int(best), float(first)


def lazily(values: Any) -> Any:
    yield ranked(values, 0)


def generator(data: Any, rng: Any) -> Any:
    return [int(one) for one in lazily(many(data, rng))]


RIGHT = [generator, leader, leader_as_size, leader_of_a_list, maybe_none, table, parts]


# Wrong programs: each costs more than 1, or has a call that is not what the interpreter computes.


def leader_twice(data: Any, rng: Any) -> Any:
    return int(ranked(many(data, rng), 0)), int(ranked(many(data, rng), 0))


def size_too_large(data: Any, rng: Any) -> Any:
    count = min(max(int(ranked(many(data, rng, 4), 0)), 1), 2)
    return data[3 : 3 + count].sum() + rng.laplace(0, 1)


def same_noise(data: Any, rng: Any) -> Any:
    values = many(data, rng, 4)
    return [data[3], data[5]][int(ranked(values, 0))] + rng.laplace(0, 1)


def half_noise_at_one_answer(data: Any, rng: Any) -> Any:
    found = ranked(many(data, rng, 4), 1.5)
    return data[5] + rng.laplace(0, 0.5 if found is None else 1)


def state_forgotten(data: Any, rng: Any) -> Any:
    kept = Table(many(data, rng, 4))
    before = int(kept.best())
    kept.renew(0, 100.0)
    after = int(kept.best())
    return data[5] + rng.laplace(0, 1 if before == after else 0.5)


def raw_private(data: Any, rng: Any) -> Any:
    return int(ranked(tuple(data[:5]), 0)), int(ranked(many(data, rng), 0))


def private_state(data: Any, rng: Any) -> Any:
    kept = Table(many(data, rng))
    kept.renew(0, data[0])
    return int(kept.best())


def private_branch(data: Any, rng: Any) -> Any:
    values = many(data, rng)
    x = 0
    if data[5] > 0.5:
        x = int(ranked(values, 0))
    return x


def private_branch_on_state(data: Any, rng: Any) -> Any:
    kept = Table(many(data, rng))
    if data[5] > 0.5:
        kept.renew(0, 5.0)
    return int(kept.best())


def raw_result(data: Any, rng: Any) -> Any:
    return ranked(many(data, rng), 0)


def writes_global(values: Any) -> Any:
    SCALES[0] = 0.01
    return ranked(values, 0)


def changes_scale(data: Any, rng: Any) -> Any:
    found = int(writes_global(many(data, rng)))
    return found, data[5] + rng.laplace(0, SCALES[0])


def appends_to_global(values: Any) -> Any:
    SEEN.append(values)
    return ranked(values, 0) + len(SEEN)


def keeps_in_global(data: Any, rng: Any) -> Any:
    return int(appends_to_global(many(data, rng)))


def through_alias(values: Any) -> Any:
    scales = SCALES
    scales[0] = 0.01
    return ranked(values, 0)


def changes_scale_by_alias(data: Any, rng: Any) -> Any:
    found = int(through_alias(many(data, rng)))
    return found, data[5] + rng.laplace(0, SCALES[0])


def declares_global(values: Any) -> Any:
    global EVEN
    EVEN += 1
    return ranked(values, EVEN)


def counts_calls(data: Any, rng: Any) -> Any:
    return int(declares_global(many(data, rng)))


def keeps_in_default(values: Any, seen: Any = []) -> Any:  # noqa: B006
    seen.append(values)
    return ranked(values, len(seen))


def default_state(data: Any, rng: Any) -> Any:
    return int(keeps_in_default(many(data, rng)))


def keeps_in_function(values: Any) -> Any:
    keeps_in_function.times = 1  # type: ignore[attr-defined]
    return ranked(values, 0)


def function_state(data: Any, rng: Any) -> Any:
    return int(keeps_in_function(many(data, rng)))


class Shared:
    seen: list[Any] = []  # noqa: RUF012

    def __init__(self, values: Any) -> None:
        self.values = values

    def best(self) -> Any:
        self.seen.append(1)
        return ranked(self.values, len(self.seen))


def class_state(data: Any, rng: Any) -> Any:
    return int(Shared(many(data, rng)).best())


class Counting:
    times = 0

    def __init__(self, values: Any) -> None:
        self.values = values

    def best(self) -> Any:
        Counting.times += 1
        return ranked(self.values, Counting.times)


def class_counter(data: Any, rng: Any) -> Any:
    return int(Counting(many(data, rng)).best())


class Dear:
    def __init__(self, values: Any) -> None:
        self.values = values

    def __eq__(self, other: Any) -> bool:
        return bool(ranked(self.values, 0))

    def __hash__(self) -> int:
        return 1

    def best(self) -> Any:
        return self if ranked(self.values, 0) else 0


def object_as_result(data: Any, rng: Any) -> Any:
    return Dear(many(data, rng)).best() == 1


def draws_again(values: Any) -> Any:
    return ranked(values, np.random.default_rng(1).random())


def seeded(data: Any, rng: Any) -> Any:
    return int(draws_again(many(data, rng)))


def sets_seed(values: Any) -> Any:
    np.random.seed(0)  # noqa: NPY002
    return ranked(values, 0)


def noise_of_a_seed(data: Any) -> Any:
    values = tuple(float(data[k] + np.random.laplace(0, 1)) for k in range(5))  # noqa: NPY002
    return int(sets_seed(values)), data[5] + np.random.laplace(0, 1)  # noqa: NPY002


def looks_at_clock(values: Any) -> Any:
    return ranked(values, time.time())


def timed(data: Any, rng: Any) -> Any:
    return int(looks_at_clock(many(data, rng)))


def looks_at_frames(values: Any) -> Any:
    return ranked(values, sys._getframe(1).f_locals["data"][0])


def frames(data: Any, rng: Any) -> Any:
    return int(looks_at_frames(many(data, rng)))


def by_name(values: Any) -> Any:
    return ranked(values, eval("1"))


def evaluated(data: Any, rng: Any) -> Any:
    return int(by_name(many(data, rng)))


class OwnError(Exception):
    pass


def raises_own(values: Any) -> Any:
    if ranked(values, 0) == 2:
        raise OwnError
    return 1


def caught(data: Any, rng: Any) -> Any:
    try:
        found = int(raises_own(many(data, rng)))
    except OwnError:
        return data[5]
    return found


def stops(values: Any) -> Any:
    return next(iter(())) if ranked(values, 0) == 2 else 1  # type: ignore[call-overload]


def caught_stop(data: Any, rng: Any) -> Any:
    try:
        found = int(stops(many(data, rng)))
    except StopIteration:
        return data[5]
    return found


def caught_type_error(data: Any, rng: Any) -> Any:
    try:
        found = int(ranked(many(data, rng), 1.5))
    except TypeError:
        return data[5]
    return found


def changes_argument(values: Any) -> Any:
    values[0] = 0.01
    return ranked(values, 0)


def changed_list(data: Any, rng: Any) -> Any:
    scales = [1.0, 2.0, 3.0, noisy(data, rng, 0), noisy(data, rng, 1)]
    found = int(changes_argument(scales))
    return found, data[5] + rng.laplace(0, scales[0])


def changed_array(data: Any, rng: Any) -> Any:
    scales = np.array([1.0, 2.0, 3.0, noisy(data, rng, 0), noisy(data, rng, 1)])
    found = int(changes_argument(scales))
    return found, data[5] + rng.laplace(0, scales[0])


def changes_number(x: Any, values: Any) -> Any:
    x += 5
    return ranked(values, x)


def changed_number(data: Any, rng: Any) -> Any:
    values = many(data, rng)
    x = np.copy(values[0])
    less = x < 0
    found = int(changes_number(x, values))
    return found, data[5] + rng.laplace(0, 1 if (x < 0) == less else 0.5)


def kept_iterator(values: Any) -> Any:
    return zip([1, ranked(values, 0)], [2, 3], strict=True)


def read_twice(data: Any, rng: Any) -> Any:
    found = kept_iterator(many(data, rng))
    first = 2 in found
    return data[5] + rng.laplace(0, 1 if first == (2 in found) else 0.1)


@cache
def remembered(values: Any) -> Any:
    return ranked(values, 0)


def cached(data: Any, rng: Any) -> Any:
    return int(remembered(many(data, rng)))


def through_closure(data: Any, rng: Any) -> Any:
    def look(values: Any) -> Any:
        return ranked(values, data[5])

    return int(look(many(data, rng)))


def with_generator(values: Any, rng: Any) -> Any:
    return ranked(values, rng.laplace(0, 1))


def passes_generator(data: Any, rng: Any) -> Any:
    return int(with_generator(many(data, rng), rng)), data[5]


def passes_method(data: Any, rng: Any) -> Any:
    return int(ranked((data.sum, *many(data, rng)), 0))


def attribute_of_result(data: Any, rng: Any) -> Any:
    return Table(many(data, rng)).both().count(1)


def in_place(data: Any, rng: Any) -> Any:
    found = Table(many(data, rng)).both()
    found += (data[5],)
    return int(found[0])


def stores_private(data: Any, rng: Any) -> Any:
    kept = Table(many(data, rng))
    kept.bonus = data[5]
    return int(kept.best())


def hides_global(values: Any) -> Any:
    found = [SCALES + 0 for SCALES in values]
    SCALES[0] = 0.01
    return ranked(found, 0)


def changes_scale_by_comprehension(data: Any, rng: Any) -> Any:
    found = int(hides_global(many(data, rng)))
    return found, data[5] + rng.laplace(0, SCALES[0])


def sign_of(values: Any) -> Any:
    return 1 / max(abs(ranked(values, 0)), 1) + np.sqrt(values[0] * values[1])


def signed_zero(data: Any, rng: Any) -> Any:
    above = data[0] + rng.laplace(0, 1) > 0
    others = tuple(noisy(data, rng, k) for k in range(1, 5))
    return float(sign_of(((0.0 if above else -0.0), *others))), data[0] + rng.laplace(0, 1)


def identity(values: Any) -> Any:
    return 1 if values[0] is values[1] else ranked(values, 0)


def compares_identity(data: Any, rng: Any) -> Any:
    return int(identity(many(data, rng)))


def writes_file(values: Any) -> Any:
    np.array(values).tofile("released")
    return ranked(values, 0)


def files(data: Any, rng: Any) -> Any:
    return int(writes_file(many(data, rng)))


def shouts(values: Any) -> Any:
    print(values)  # noqa: T201
    return ranked(values, 0)


class Based(Table):
    pass


def with_base(data: Any, rng: Any) -> Any:
    kept = Based(many(data, rng))
    return int(kept.best()), data[0] + rng.laplace(0, 1)


KEPT = Table((1.0, 2.0))


def keeps_object(data: Any, rng: Any) -> Any:
    found = int(Table(many(data, rng)).best())
    KEPT.renew(0, 3.0)
    return found


REFUSED = [
    writes_global, appends_to_global, through_alias, declares_global, keeps_in_default, keeps_in_function,
    Shared, Counting, Dear, draws_again, sets_seed, looks_at_clock, looks_at_frames, by_name, raises_own,
    stops, lazily, hides_global, identity, writes_file, shouts, Based,
]  # fmt: skip
ACCEPTED = [ranked, Table, changes_argument, changes_number, kept_iterator]

WRONG = [
    changes_scale_by_comprehension, signed_zero, compares_identity, files, with_base, keeps_object,
    leader_twice, size_too_large, same_noise, half_noise_at_one_answer, state_forgotten, raw_private,
    private_state, private_branch, private_branch_on_state, raw_result, changes_scale, keeps_in_global,
    changes_scale_by_alias, counts_calls, default_state, function_state, class_state, class_counter,
    object_as_result, seeded, noise_of_a_seed, timed, frames, evaluated, caught, caught_stop,
    caught_type_error, changed_list, changed_array, changed_number, read_twice, cached,
    through_closure, passes_generator, passes_method, attribute_of_result, in_place, stores_private,
]  # fmt: skip


def copied_number(data: Any, rng: Any) -> Any:
    x = np.copy(data[0] + rng.laplace(0, 1))
    y = x
    before = y < 0
    x += 5
    return data[5] + rng.laplace(0, 1 if (y < 0) == before else 0.5)


def drawn_number(data: Any, rng: Any) -> Any:
    x = rng.laplace(0, 1, size=())
    y = x
    before = y < 0
    x += 5
    return data[5] + rng.laplace(0, 1 if (y < 0) == before else 0.5)


def private_number(data: Any, rng: Any) -> Any:
    x = np.asarray(data[0] * 1.0)
    y = x
    x += 100 * data[1]
    return y + rng.laplace(0, 1)


def chosen_number(data: Any, rng: Any) -> Any:
    x = np.where(data[0] > 0.5, data[0], 0.5)
    y = x
    x += 100 * data[1]
    return y + rng.laplace(0, 1)


@pytest.mark.parametrize("program", [copied_number, drawn_number, private_number, chosen_number])
def test_an_array_without_dimensions_is_not_taken_for_a_number(program: Callable[..., Any]) -> None:
    """``x += 1`` changes an array without dimensions in place, also under its other names."""
    assert prove_values(program, PureDP(epsilon=1), data=DATA).verdict == "inconclusive"


@pytest.mark.parametrize("program", RIGHT, ids=lambda one: one.__name__)
def test_a_function_of_released_values_need_not_be_followed(program: Callable[..., Any]) -> None:
    """Right programs with an opaque call are verified at the exact cost."""
    found = prove_values(program, PureDP(epsilon=1), data=DATA, seconds=20)
    assert (found.verdict, found.bound) == ("verified", 1), found.reason


@pytest.mark.parametrize("program", WRONG, ids=lambda one: one.__name__)
def test_a_call_with_other_effects_is_not_verified(program: Callable[..., Any]) -> None:
    """Wrong programs, and calls with an effect besides their result, are not verified."""
    found = prove_values(program, PureDP(epsilon=1), data=DATA, seconds=20)
    assert found.verdict == "inconclusive"


@pytest.mark.parametrize("real", REFUSED, ids=lambda one: one.__name__)
def test_code_with_side_effects_is_followed(real: Any) -> None:
    """Functions and classes that could do more than compute must be followed."""
    assert reason_against(real, frozenset([__file__])) != ""


@pytest.mark.parametrize("real", ACCEPTED, ids=lambda one: one.__name__)
def test_code_that_only_computes_need_not_be_followed(real: Any) -> None:
    """Functions that only use, or change, their own arguments need not be followed."""
    assert reason_against(real, frozenset([__file__])) == ""


def test_a_patched_function_is_read_as_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that was replaced by one with a side effect is not opaque."""
    module = sys.modules[__name__]
    assert reason_against(ranked, frozenset([__file__])) == ""
    monkeypatch.setattr(module, "ranked", writes_global)
    assert reason_against(Table, frozenset([__file__])) != ""
    assert reason_against(writes_global, frozenset([__file__])) != ""
