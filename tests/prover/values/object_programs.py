"""Programs written with classes, generators and exceptions: right ones, and wrong or hostile ones."""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dpaudit import PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.core.exact import positive
from dpaudit.core.views import SERVER
from dpaudit.distributions import Laplace

CLAIM = PureDP(epsilon=1)
DATA = Records(Interval(0, 1), size=6)
RIGHT: list[Any] = []
WRONG: list[Any] = []


def right(program: Any) -> Any:
    """Add a private program."""
    RIGHT.append(program)
    return program


def wrong(program: Any) -> Any:
    """Add a program that is not private, or that a proof must not follow."""
    WRONG.append(program)
    return program


class Sum(Protocol):
    """Any noisy sum."""

    def __call__(self, data: Any, rng: Any) -> Any:
        """Return the noisy sum."""


@dataclass(frozen=True, kw_only=True)
class NoisySum:
    """A noisy sum with a scale."""

    scale: float = 1.0
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise ValueError("scale must be positive")

    def __call__(self, data: Any, rng: Any) -> Any:
        return data.sum() + rng.laplace(scale=self.scale)

    def twice(self, data: Any, rng: Any) -> Any:
        return self(data, rng), self(data, rng)


RIGHT.append(NoisySum())
WRONG.append(NoisySum(scale=0.5))
RIGHT.append(NoisySum(scale=2).twice)
WRONG.append(NoisySum().twice)


class Counter:
    """A running total with a property, a class constant, and the three kinds of methods."""

    factor = 1
    seen: list[Any] = []

    def __init__(self, start: Any = 0) -> None:
        self.total, self.parts = start, []

    def add(self, value: Any) -> Counter:
        self.total += value
        self.parts.append(value)
        return self

    @property
    def doubled(self) -> Any:
        return 2 * self.total * self.factor

    @functools.cached_property
    def cached(self) -> Any:
        return self.total * 1

    @classmethod
    def empty(cls) -> Counter:
        return cls()

    @staticmethod
    def scale(sensitivity: int) -> int:
        return sensitivity

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, key: int) -> Any:
        return self.parts[key]


@right
def running_total(data, rng):
    counter = Counter.empty()
    for k in range(6):
        counter.add(data[k])
    assert len(counter) == 6
    return counter.doubled + rng.laplace(scale=Counter.scale(2))


@wrong
def running_total_with_half_the_scale(data, rng):
    counter = Counter.empty()
    for k in range(6):
        counter.add(data[k])
    return counter.doubled + rng.laplace(scale=Counter.scale(1))


@wrong
def raw_entry_by_getitem(data, rng):
    return Counter().add(data[0])[0]


@right
def cached_value_before_the_change(data, rng):
    counter = Counter()
    if counter.cached == 0:
        counter.total = data.sum()
    return counter.cached, counter.total + rng.laplace()


@wrong
def cached_value_of_the_data(data, rng):
    counter = Counter(data.sum())
    first = counter.cached
    counter.total = 0
    return counter.cached + 0 * first


class Base(ABC):
    """A mechanism with a hook."""

    def __init__(self, data: Any) -> None:
        self.data = data

    @abstractmethod
    def statistic(self) -> Any:
        """Return what is released."""

    def run(self, rng: Any) -> Any:
        return self.statistic() + rng.laplace(scale=self.sensitivity())

    def sensitivity(self) -> float:
        return 1.0


class Mean(Base):
    """The mean, by ``super()``."""

    def __init__(self, data: Any, size: int) -> None:
        super().__init__(data)
        self.size = size

    def statistic(self) -> Any:
        return self.data.sum() / self.size

    def sensitivity(self) -> float:
        return super().sensitivity() / self.size


class WrongMean(Mean):
    """The mean with too little noise."""

    def sensitivity(self) -> float:
        return super().sensitivity() / 2


@right
def inherited(data, rng):
    return Mean(data, 6).run(rng)


@wrong
def inherited_with_too_little_noise(data, rng):
    return WrongMean(data, 6).run(rng)


def batches(data: Any, size: int) -> Iterator[Any]:
    for start in range(0, 6, size):
        yield data[start : start + size].sum()


@right
def generator_of_batches(data, rng):
    return [total + rng.laplace() for total in batches(data, 2)]


@wrong
def generator_without_noise(data, rng):
    return list(batches(data, 2))


def asks(data: Any) -> Any:
    answers = []
    for start in (0, 3):
        answers.append((yield data[start : start + 3].sum()))
    return answers


def delegates(data: Any) -> Any:
    found = yield from asks(data)
    return tuple(found)


@right
def coroutine(data, rng):
    asked = delegates(data)
    query = next(asked)
    try:
        while True:
            query = asked.send(query + rng.laplace())
    except StopIteration as end:
        return end.value
    finally:
        asked.close()


@wrong
def coroutine_that_gets_the_raw_answer(data, rng):
    asked = delegates(data)
    query = next(asked)
    try:
        while True:
            query = asked.send(query)
    except StopIteration as end:
        return end.value
    finally:
        asked.close()


@right
def generator_program(data, rng):
    for total in batches(data, 3):
        yield total + rng.laplace()


@wrong
def generator_that_changes_what_it_yielded(data, rng):
    found = [data.sum() + rng.laplace()]
    yield found
    found.append(data.sum())


class Overflow(Exception):
    """A noisy value is too large."""


@right
def own_exception(data, rng):
    try:
        value = data.sum() + rng.laplace()
        if value > 10:
            raise Overflow("too large")
    except Overflow:
        return 10.0
    else:
        return value


@wrong
def own_exception_on_raw_data(data, rng):
    try:
        if data.sum() > 3:
            raise Overflow("too large")
    except Overflow:
        return 1
    return 0


@wrong
def own_exception_whose_handler_returns_the_data(data, rng):
    value = data.sum() + rng.laplace()
    try:
        if value > 10:
            raise Overflow("too large")
    except Overflow:
        return data.sum()
    return value


@wrong
def private_value_in_an_exception(data, rng):
    raise Overflow(f"the sum is {data.sum()}")


@wrong
def private_value_as_an_argument_of_an_exception(data, rng):
    raise Overflow(data.sum())


@wrong
def private_value_in_a_stop_iteration(data, rng):
    def inner():
        yield 1
        return data.sum()

    generator = inner()
    next(generator)
    next(generator)


@wrong
def private_value_in_a_caught_stop_iteration(data, rng):
    def inner():
        yield 1
        return data.sum()

    generator = inner()
    next(generator)
    try:
        next(generator)
    except StopIteration as stop:
        return stop.value


@wrong
def division_by_an_outcome_is_caught(coins, data):
    k = int(coins.release(0, Laplace(scale=1), site="k"))
    try:
        1 / k
    except ZeroDivisionError:
        return data.sum()
    return k


@wrong
def every_exception_is_caught(data, rng):
    k = round(float(rng.laplace()))
    try:
        1 / k
    except Exception:
        return data.sum()
    return k


@wrong
def bare_except(data, rng):
    k = round(float(rng.laplace()))
    try:
        1 / k
    except:  # noqa: E722
        return data.sum()
    return k


@wrong
def finally_after_a_hidden_exception(data, rng):
    k, failed = round(float(rng.laplace())), True
    try:
        1 / k
        failed = False
    finally:
        if failed:
            print(data.sum())
    return k


class Closer:
    """An object whose close() prints the data."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def close(self) -> None:
        print(self.data.sum())


@wrong
def finally_with_another_close(data, rng):
    closer, k = Closer(data), round(float(rng.laplace()))
    try:
        1 / k
    finally:
        closer.close()
    return k


class Remembers:
    """State between runs."""

    def __init__(self) -> None:
        self.last = 0.0
        self.history: list[Any] = []
        self.array = np.zeros(2)

    def __call__(self, data: Any, rng: Any) -> Any:
        found = self.last + rng.laplace()
        self.last = data.sum()
        return found

    def appends(self, data: Any, rng: Any) -> Any:
        self.history.append(data.sum())
        return rng.laplace()

    def writes(self, data: Any, rng: Any) -> Any:
        self.array[0] = data.sum()
        return rng.laplace()


WRONG += [Remembers(), Remembers().appends, Remembers().writes]
MEMORY = Remembers()


@wrong
def state_in_a_global_object(data, rng):
    MEMORY.last = data.sum()
    return rng.laplace()


@wrong
def state_in_a_class(data, rng):
    Counter.factor = data.sum()
    return rng.laplace()


@wrong
def state_in_a_list_of_a_class(data, rng):
    Counter().seen.append(data.sum())
    return rng.laplace()


@wrong
def state_in_a_default(data, rng, kept=Remembers()):
    kept.history += [data.sum()]
    return rng.laplace()


class Magic:
    """Attributes on demand."""

    def __getattr__(self, name: str) -> Any:
        return 0.01


class Deleted:
    """A finaliser that prints."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __del__(self) -> None:
        print(self.data)


class Meta(type):
    """A metaclass."""

    def __call__(cls, *arguments: Any) -> Any:
        return arguments[0]


class Made(metaclass=Meta):
    """An object that is made by its metaclass."""


class Descriptor:
    """A descriptor."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return 0.01


class Described:
    """An object with a descriptor."""

    scale = Descriptor()


class Bases:
    """A class that changes its subclasses."""

    def __init_subclass__(cls) -> None:
        cls.scale = 0.01


class Changed(Bases):
    """A class whose scale is not what its text says."""

    scale = 1.0


class Dishonest:
    """A number of its own."""

    def __add__(self, other: Any) -> Any:
        return 0


class Setter:
    """A setter with a side effect on a class."""

    kept: list[Any] = []

    @property
    def value(self) -> Any:
        return 1

    @value.setter
    def value(self, value: Any) -> None:
        Setter.kept.append(value)


class Dunder:
    """A class made by __new__."""

    def __new__(cls, data: Any) -> Any:
        return data


@wrong
def attribute_on_demand(data, rng):
    return data.sum() + rng.laplace(scale=Magic().scale)


@wrong
def finaliser(data, rng):
    Deleted(data)
    return rng.laplace()


@wrong
def metaclass(data, rng):
    return Made(data.sum())


@wrong
def descriptor(data, rng):
    return data.sum() + rng.laplace(scale=Described().scale)


@wrong
def changed_by_its_base(data, rng):
    return data.sum() + rng.laplace(scale=Changed.scale)


@wrong
def dishonest_sum(data, rng):
    return data.sum() + rng.laplace() + Dishonest()


@wrong
def setter_with_a_side_effect(data, rng):
    Setter().value = data.sum()
    return rng.laplace()


@wrong
def made_by_new(data, rng):
    return Dunder(data.sum())


@wrong
def an_object_is_returned(data, rng):
    return Counter(data.sum())


@wrong
def a_generator_is_returned(data, rng):
    return batches(data, 2)


@wrong
def an_object_in_a_list_is_returned(data, rng):
    return [Counter(data.sum())]


class Patched:
    """A class of which a method was replaced after its definition."""

    def scale(self) -> float:
        return 1.0


Patched.scale = lambda self: 0.01  # type: ignore[method-assign]


@wrong
def patched_method(data, rng):
    return data.sum() + rng.laplace(scale=Patched().scale())


@dataclass
class PatchedInit:
    """A dataclass of which __init__ was replaced."""

    scale: float


exec("def __init__(self, scale):\n    self.scale = 0.01")
PatchedInit.__init__ = locals()["__init__"]  # type: ignore[method-assign]


@wrong
def patched_init_of_a_dataclass(data, rng):
    return data.sum() + rng.laplace(scale=PatchedInit(1.0).scale)


@dataclass
class OtherDefault:
    """A dataclass whose default was changed in the class alone."""

    scale: float = 0.01


OtherDefault.scale = 1.0


@wrong
def default_of_a_dataclass(data, rng):
    return data.sum() + rng.laplace(scale=OtherDefault().scale)


@dataclass
class FactoryState:
    """A dataclass with one list for all instances."""

    kept: Any = field(default_factory=lambda: SHARED)


SHARED: list[Any] = []


@wrong
def factory_with_a_shared_list(data, rng):
    FactoryState().kept.append(data.sum())
    return rng.laplace()


class Slotted:
    """Attributes in slots."""

    __slots__ = ("scale", "total")

    def __init__(self, total: Any) -> None:
        self.total, self.scale = total, 1.0


@right
def slots(data, rng):
    held = Slotted(data.sum())
    return held.total + rng.laplace(scale=held.scale)


@wrong
def store_outside_of_the_slots(data, rng):
    held = Slotted(data.sum())
    held.other = 1
    return held.total


@right
def aliased_array(data, rng):
    first, second = Counter(np.zeros(2)), Counter()
    second.total = first.total
    second.total[0] = data.sum()
    return first.total[0] + rng.laplace()


@wrong
def aliased_array_is_shown(data, rng):
    first, second = Counter(np.zeros(2)), Counter()
    second.total = first.total
    second.total[0] = data.sum()
    return first.total


@right
def augmented_attribute(data, rng):
    counter = Counter(np.zeros(2))
    other = counter.total
    counter.total += 1
    return other[0] + data.sum() + rng.laplace()


@wrong
def augmented_attribute_with_the_data(data, rng):
    counter, alias = Counter([]), []
    counter.total = alias
    counter.total += [data.sum()]
    return alias


@right
def release_to_the_server(coins, data):
    return coins.release(data.sum(), Laplace(scale=1), site="s", to=SERVER) > 2


@right
def raw_to_the_server_only(coins, data):
    coins.reveal(data.sum(), site="s", to=SERVER)
    return 1


@right
def identity(data, rng):
    first, second = Counter(), Counter()
    same = first is first and first is not second and True is True and isinstance(first, Counter)
    return data.sum() + rng.laplace(scale=1.0 if same and not isinstance(data, Counter) else 0.01)


@wrong
def identity_of_another(data, rng):
    first, second = Counter(), Counter()
    return data.sum() + rng.laplace(scale=1.0 if first is second else 0.01)


@right
def range_check(data, rng):
    if not np.all((data >= 0) & (data <= 1)):
        raise ValueError("data must be in [0, 1]")
    return data.sum() + rng.laplace()


@wrong
def tighter_range_check(data, rng):
    if not np.all((data >= 0) & (data < 1)):
        raise ValueError("data must be in [0, 1)")
    return rng.laplace()


@wrong
def iterator_used_again_after_break(data, rng):
    def leaks(items):
        for _ in items:
            break
        for _ in items:
            return data.sum()
        return 0

    return leaks(k for k in range(3))


@wrong
def stop_iteration_in_a_map(data, rng):
    def raises(k):
        if k == 1:
            raise StopIteration
        return k

    return data.sum() * len(list(map(raises, range(3)))) + rng.laplace()


@wrong
def stop_iteration_in_a_generator(data, rng):
    def generator():
        yield 1
        raise StopIteration

    try:
        for _ in generator():
            pass
    except StopIteration:
        return 0
    return data.sum()


@wrong
def long_texts_of_exceptions_differ(coins, data):
    noise = coins.draw(Laplace(scale=1), site="n")
    if data.sum() + noise > 3:
        raise ValueError("x" * 600 + "a")
    if data.sum() * 2 + noise > 3:
        raise ValueError("x" * 600 + "b")
    raise ValueError("x" * 600 + "c")


@right
def exception_ends_the_run(data, rng):
    value = data.sum() + rng.laplace()
    if value > 3:
        raise Overflow("too large") from None
    return value


def closes() -> Any:
    try:
        yield 1
    finally:
        print("closed")


@wrong
def finally_of_a_generator(data, rng):
    generator = closes()
    next(generator)
    return rng.laplace()


@right
def next_with_default(data, rng):
    empty = next((k for k in range(3) if k > 5), 7)
    return data.sum() + rng.laplace(scale=1 if empty == 7 else 0.01)


class Interactive:
    """Two generators that call each other."""

    def __init__(self) -> None:
        self.limit = 1

    def ask(self, data: Any) -> Any:
        while True:
            self.limit = yield data.sum() * self.limit


@right
def generator_with_state_of_an_object(data, rng):
    held = Interactive()
    asked = held.ask(data)
    first = next(asked) + rng.laplace(scale=2)
    second = asked.send(2) + rng.laplace(scale=4)
    return first, second, held.limit


@wrong
def generator_with_larger_state(data, rng):
    held = Interactive()
    asked = held.ask(data)
    first = next(asked) + rng.laplace(scale=2)
    second = asked.send(3) + rng.laplace(scale=4)
    return first, second, held.limit


@wrong
def handler_of_a_class_that_changes(data, rng):
    k, kind = round(float(rng.laplace())), Overflow
    try:
        kind = Exception
        1 / k
        kind = Overflow
    except kind:
        return data.sum()
    return k


@wrong
def finally_of_a_name_that_changes(data, rng):
    k, held = round(float(rng.laplace())), batches(data, 3)
    generator = held
    try:
        generator = Closer(data)
        1 / k
        generator = held
    finally:
        generator.close()
    return k


@wrong
def finally_of_a_name_that_an_inner_function_changes(data, rng):
    k, held = round(float(rng.laplace())), batches(data, 3)
    generator = held

    def change(value):
        nonlocal generator
        generator = value

    try:
        change(Closer(data))
        1 / k
        change(held)
    finally:
        generator.close()
    return k


class Sneaky(property):
    """A property with another value."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return 0.01


class HasSneaky:
    """A class with a property that is none."""

    @Sneaky
    def scale(self) -> float:
        return 1.0


@wrong
def subclass_of_property(data, rng):
    return data.sum() + rng.laplace(scale=HasSneaky().scale)


class Aliased:
    """Two names of one slot."""

    __slots__ = ("scale", "total")

    def __init__(self) -> None:
        self.scale = 1.0


Aliased.other = Aliased.scale  # type: ignore[attr-defined]


@wrong
def two_names_of_one_slot(data, rng):
    held = Aliased()
    held.other = 0.01
    return data.sum() + rng.laplace(scale=held.scale)


@dataclass
class WithoutPostInit:
    """A dataclass without __post_init__."""

    scale: float = 0.01


class WithPostInit(WithoutPostInit):
    """A class whose __post_init__ is never called."""

    def __post_init__(self) -> None:
        self.scale = 1.0


@wrong
def post_init_that_is_not_called(data, rng):
    return data.sum() + rng.laplace(scale=WithPostInit().scale)


class StopWithValue(StopIteration):
    """A StopIteration of the program."""


@wrong
def value_of_another_stop_iteration(data, rng):
    try:
        raise StopWithValue("x")
    except StopIteration as stop:
        if stop.value is None:
            return data.sum() + rng.laplace()
    return data.sum()


@wrong
def handler_of_a_base_class(data, rng):
    try:
        raise Overflow("x")
    except ValueError:
        return 0
    return data.sum()


@wrong
def assertion_is_caught(data, rng):
    try:
        assert data.sum() > 3
    except AssertionError:
        return 0
    return 1


@wrong
def loop_variable_shadows_an_attribute(data, rng):
    counter = Counter()
    for counter.total in data:
        pass
    return counter.total


@wrong
def attribute_by_a_comprehension(data, rng):
    counters = [Counter(data[k]) for k in range(6)]
    return [counter.total for counter in counters]


@wrong
def one_noise_for_two_objects(data, rng):
    noise = rng.laplace()
    first, second = Counter(noise), Counter(noise)
    return data.sum() + first.total, 2 * data.sum() + second.total


@wrong
def generator_kept_in_a_global_object(data, rng):
    MEMORY.last = batches(data, 2)
    return rng.laplace()


KEPT = batches(np.zeros(6), 2)


@wrong
def generator_from_outside(data, rng):
    return data.sum() * next(KEPT) + rng.laplace()


@right
def unpacking_into_attributes(data, rng):
    counter = Counter()
    counter.total, counter.parts = data.sum(), [1]
    return counter.total + rng.laplace()


@right
def yield_from_in_a_program(data, rng):
    yield from (total + rng.laplace() for total in batches(data, 3))


@right
def two_generators_in_turn(data, rng):
    first, second = batches(data, 3), batches(1 - data, 3)
    return [a + b + rng.laplace(scale=2) for a, b in zip(first, second, strict=True)]


@right
def iterators(data, rng):
    totals = batches(data, 2)
    noisy = [total + rng.laplace() for total, _ in zip(itertools.islice(totals, 2), itertools.count())]
    for k, pair in enumerate(itertools.pairwise(itertools.chain([1, 2], itertools.repeat(3, 2)))):
        assert pair == [(1, 2), (2, 3), (3, 3)][k]
    return noisy, list(itertools.product([1], repeat=2)), list(itertools.accumulate(noisy))


@wrong
def iterators_without_noise(data, rng):
    return list(itertools.islice(batches(data, 2), 2))


@wrong
def what_islice_leaves(data, rng):
    totals = batches(data, 2)
    for total in itertools.islice(totals, 2):
        total + rng.laplace()
    return next(totals)


@wrong
def endless_list(data, rng):
    return list(itertools.count())


@wrong
def private_selectors(data, rng):
    return len(list(itertools.compress(range(6), data > 0.5)))


@right
def exact_numbers(data, rng):
    return data.sum() + rng.laplace(scale=float(1 / positive("1", name="epsilon")))


@wrong
def exact_number_that_is_too_large(data, rng):
    return data.sum() + rng.laplace(scale=float(1 / positive("2", name="epsilon")))


@wrong
def exact_private_number(data, rng):
    return positive(data.sum(), name="epsilon")
