"""One-hot rows, slices at quotients of the number of records, running sums, and loops over records."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit import Anything, Ball, Interval, OneHot, PureDP, Records, Table
from dpaudit.core.claims import Unit
from dpaudit.core.data import sample_pair
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import DiscreteLaplace
from dpaudit.kernel.values.check import check
from dpaudit.kernel.values.info import at_or_before, disjoint, union
from dpaudit.prover.values.prove import prove_values

UNIT = Records(Interval(0, 1))
TWO = Records(Interval(0, 1), at_least=2)
FREE = Records(Anything())
HOT = Records(OneHot(5))
RIGHT: list[tuple[Callable[..., Any], Records, str]] = []
WRONG: list[tuple[Callable[..., Any], Records, str]] = []


def right(data: Records, *adjacencies: str) -> Callable[..., Any]:
    """Register a program that is 1-DP for the data and the adjacencies (replace-one)."""
    return _register(RIGHT, data, adjacencies)


def wrong(data: Records, *adjacencies: str) -> Callable[..., Any]:
    """Register a program that is not 1-DP, or that must not be followed."""
    return _register(WRONG, data, adjacencies)


def _register(table: list[Any], data: Records, adjacencies: tuple[str, ...]) -> Callable[..., Any]:
    def keep(function: Any) -> Any:
        table.extend((function, data, adjacency) for adjacency in adjacencies or ("replace-one",))
        return function

    return keep


# One-hot rows: a sum of them changes by 2 if a record is replaced, and by 1 if one is added or zeroed.


@right(HOT)
@wrong(Records(Interval(0, 1), width=5))
def histogram(data, rng):
    return data.sum(axis=0) + rng.laplace(scale=2, size=5)


@right(HOT, "add-remove", "zero-out")
@right(Records(OneHot(5), size=7), "add-remove", "zero-out")
@wrong(HOT)
def histogram_of_one(data, rng):
    return data.sum(axis=0) + rng.laplace(scale=1, size=5)


@right(HOT)
def histogram_mean(data, rng):
    return data.mean(axis=0) + rng.laplace(scale=2 / len(data), size=5)


@wrong(HOT, "add-remove")
def twice(data, rng):
    return 2 * data.sum(axis=0) + rng.laplace(scale=1, size=5)


@right(HOT)
def vote(data, rng):
    return np.argmax(data.sum(axis=0) + rng.laplace(scale=2, size=5))


@wrong(HOT)
def vote_w(data, rng):
    return np.argmax(data.sum(axis=0) + rng.laplace(scale=1, size=5))


@right(Records(Ball(1, 3, norm=math.inf)))
def cube(data, rng):
    return data.sum(axis=0) + rng.laplace(scale=6, size=3)


@wrong(Records(Ball(1, 3, norm=math.inf)))
def cube_w(data, rng):
    return data.sum(axis=0) + rng.laplace(scale=2, size=3)


# Slices.


@right(UNIT, "replace-one", "zero-out")
@wrong(UNIT, "add-remove")
def halves(d, rng):
    h = len(d) // 2
    return d[:h].sum() + rng.laplace(scale=1), d[h:].sum() + rng.laplace(scale=1)


@right(UNIT)
def thirds(d, rng):
    n = len(d)
    parts = [d[: n // 3], d[n // 3 : 2 * n // 3], d[2 * n // 3 :]]
    return [part.sum() + rng.laplace(scale=1) for part in parts]


@right(UNIT)
def from_the_end(d, rng):
    n = len(d)
    return d[: n - n // 2].sum() + rng.laplace(scale=1), d[n - n // 2 :].sum() + rng.laplace(scale=1)


@right(Records(Interval(5, 10)))
def clipped_before(d, rng):
    h = len(d) // 2
    return np.clip(d, 6, 10)[:h].sum() + rng.laplace(scale=4), d[h:].sum() + rng.laplace(scale=5)


@right(TWO)
@wrong(UNIT)
def mean_of_half(d, rng):
    h = len(d) // 2
    return d[:h].mean() + rng.laplace(scale=1 / h)


@right(UNIT)
def filtered_halves(d, rng):
    h = len(d) // 2
    a = d[:h]
    return (
        len(a[a > 0.5]) + rng.laplace(scale=1),
        np.count_nonzero(d[h:] > 0.2) + rng.laplace(scale=1),
        len(a),
    )


@right(UNIT)
def histograms_of_halves(d, rng):
    h = len(d) // 2
    counts = [np.histogram(part, bins=4, range=(0, 1))[0] for part in (d[:h], d[h:])]
    return [count + rng.laplace(scale=2, size=4) for count in counts]


@right(UNIT)
def running(d, rng):
    n = len(d)
    return np.cumsum(d) + rng.laplace(scale=n, size=n)


@wrong(Records(Interval(-1, 1)))
def running_w(d, rng):
    n = len(d)
    return np.cumsum(d) + rng.laplace(scale=n, size=n)


@wrong(UNIT)
def running_w2(d, rng):
    return np.cumsum(d) + rng.laplace(scale=1, size=len(d))


@wrong(UNIT)
def overlapping(d, rng):
    n = len(d)
    return d[: n // 2 + 1].sum() + rng.laplace(scale=1), d[n // 2 :].sum() + rng.laplace(scale=1)


@wrong(UNIT)
def overlapping_by_rounding(d, rng):
    n = len(d)
    return d[: n // 2].sum() + rng.laplace(scale=1), d[(n - 1) // 2 :].sum() + rng.laplace(scale=1)


@wrong(UNIT)
def overlapping_middle(d, rng):
    n = len(d)
    parts = [d[: n // 2], d[n // 4 : 3 * n // 4], d[n // 2 :]]
    return [part.sum() + rng.laplace(scale=1) for part in parts]


@wrong(UNIT)
def overlapping_for_many(d, rng):
    n = len(d)
    return d[:n].sum() + rng.laplace(scale=1), d[1:].sum() + rng.laplace(scale=1)


@wrong(UNIT)
def wrapping(d, rng):
    n = len(d)
    return d[: n // 2].sum() + rng.laplace(scale=1), d[n // 2 - 1 :].sum() + rng.laplace(scale=1)


@wrong(UNIT)
def half_twice(d, rng):
    a = d[: len(d) // 2]
    return a.sum() + rng.laplace(scale=1), (2 * a).sum() + rng.laplace(scale=2)


@wrong(UNIT)
def half_and_all(d, rng):
    return d[: len(d) // 2].sum() + d.sum() + rng.laplace(scale=1)


@wrong(TWO)
def mean_of_half_w(d, rng):
    return d[: len(d) // 2].mean() + rng.laplace(scale=1 / len(d))


@wrong(UNIT)
def selected_count(d, rng):
    a = d[: len(d) // 2]
    return len(a[a > 0.5])


@wrong(UNIT)
def every_second(d, rng):
    return d[: len(d) // 2 : 2].sum() + rng.laplace(scale=1)


@wrong(UNIT)
def end_at_an_outcome(d, rng):
    k = int(d.sum() + rng.laplace(scale=2))
    return d[:k].sum() + rng.laplace(scale=2)


# Loops.


@right(FREE, "replace-one", "add-remove")
@right(UNIT, "zero-out")
def loop(d, rng):
    total = 0
    for x in d:
        total += min(max(x, 0), 1)
    return total + rng.laplace(scale=1)


@right(FREE, "replace-one", "add-remove")
@right(Records(Anything(), size=30))
def loop_count(d, rng):
    count = 0
    for x in d:
        if x > 0.5:
            count += 1
    return count + rng.laplace(scale=1)


@right(FREE, "add-remove")
@wrong(FREE)
def loop_signs(d, rng):
    count = 0
    for x in d:
        if x > 0.2 and not x > 0.5:
            count += 1
        else:
            count -= 1
    return count + rng.laplace(scale=1)


@right(FREE)
def loop_clips_by_branches(d, rng):
    count, total = 0, 0.0
    for x in d:
        if x < 0:
            x = 0
        if x > 1:
            x = 1
        y = x**2
        total += y
        count += 1 if x > 0.5 else 0
    return count + rng.laplace(scale=2), total + rng.laplace(scale=2)


@right(FREE)
def loop_mean(d, rng):
    n, total = 0, 0
    for x in d:
        n += 1
        total += np.clip(x, 0, 1)
    return total / n + rng.laplace(scale=1 / n)


@right(FREE, "replace-one", "add-remove")
def generator_count(d, rng):
    return sum(1 for x in d if x > 0.5) + rng.laplace(scale=1)


@right(FREE)
def generator_sum(d, rng):
    return sum(min(max(x, 0), 1) ** 2 for x in d) + rng.laplace(scale=1)


@right(FREE)
def length_of_list(d, rng):
    return len([x for x in d if 0.2 < x < 0.5]) + rng.laplace(scale=1)


@right(Records(Interval(0, 1), width=2))
def loop_rows(d, rng):
    total = 0
    for row in d:
        if row[0] > 0.5:
            total += row[1]
    return total + rng.laplace(scale=1)


@right(UNIT)
def loop_discrete(coins, d):
    count = 0
    for x in d:
        if x > 0.5:
            count += 1
    return coins.release(count, DiscreteLaplace(scale=1), site="count")


@wrong(FREE)
def loop_w(d, rng):
    total = 0
    for x in d:
        total += min(max(x, 0), 2)
    return total + rng.laplace(scale=1)


@wrong(FREE)
def loop_clips_late(d, rng):
    total = 0
    for x in d:
        if x < 0:
            x = 0
        total += x
        if x > 1:
            x = 1
    return total + rng.laplace(scale=1)


@wrong(FREE)
def loop_clips_the_wrong_way(d, rng):
    total = 0
    for x in d:
        if x > 0:
            x = 0
        total += x
    return total + rng.laplace(scale=1)


@wrong(UNIT)
def loop_stops(d, rng):
    total = 0
    for x in d:
        if x > 0.5:
            break
        total += 1
    return total + rng.laplace(scale=1)


@wrong(UNIT)
def loop_reads_its_total(d, rng):
    total = part = 0
    for x in d:
        part += x
        total += part
    return total + rng.laplace(scale=1)


@wrong(UNIT)
def loop_reads_the_last_record(d, rng):
    total = last = 0
    for x in d:
        total += last
        last = x
    return total + rng.laplace(scale=0.5)


@wrong(UNIT)
def loop_keeps_a_flag(d, rng):
    total = flag = 0
    for x in d:
        if x > 0.5:
            flag = 1
        total += flag
    return total + rng.laplace(scale=1)


@wrong(UNIT)
def loop_multiplies(d, rng):
    total = 1
    for x in d:
        total *= 1 + x
    return total + rng.laplace(scale=1)


@wrong(UNIT)
def loop_leaves_a_record(d, rng):
    total = 0
    for x in d:
        total += x
    return total + rng.laplace(scale=1), x


@wrong(UNIT)
def loop_overwrites(d, rng):
    y = total = 0
    for x in d:
        y = 2 * x
        total += x
    return total + rng.laplace(scale=1), y


@wrong(UNIT)
def loop_with_an_else(d, rng):
    total = 0
    for x in d:
        total += x
    else:
        total += 100 * x
    return total + rng.laplace(scale=1)


@wrong(UNIT)
def loop_divides(d, rng):
    total = 0
    for x in d:
        if x > 0.5:
            total += 1 / x
    return total + rng.laplace(scale=2)


@wrong(UNIT)
def loop_counts_twice(d, rng):
    count = 0
    for x in d:
        if x > 0.5:
            count += 1
        count += x > 0.5
    return count + rng.laplace(scale=1)


@wrong(UNIT)
def loop_releases(d, rng):
    total, shown = 0, []
    for x in d:
        total += x
        shown.append(total + rng.laplace(scale=1))
    return shown


@wrong(UNIT)
def generator_unreleased(d, rng):
    return sum(1 for x in d if x > 0.5)


@wrong(UNIT)
def type_depends_on_the_data(d, rng):
    total = 0
    for x in d:
        total += max(x, 0)
    return (total + rng.laplace(scale=1)).item()


@wrong(Records(Interval(-1, 1)))
def type_of_a_maximum(d, rng):
    return (max(d.sum(), 0) + rng.laplace(scale=2)).item()


@pytest.mark.parametrize(("program", "data", "adjacency"), RIGHT, ids=lambda x: getattr(x, "__name__", None))
def test_right_programs_are_verified(program: Any, data: Records, adjacency: Any) -> None:
    """The proof is found, and the kernel derives the same bound from the certificate alone."""
    proof = prove_values(program, PureDP(epsilon=1, adjacency=adjacency), data=data, seconds=60)
    assert proof.verdict == "verified", proof.reason
    assert check(proof.certificate).epsilon == proof.bound


@pytest.mark.parametrize(("program", "data", "adjacency"), WRONG, ids=lambda x: getattr(x, "__name__", None))
def test_wrong_programs_are_not_verified(program: Any, data: Records, adjacency: Any) -> None:
    """A wrong version is refused, or its bound is above the claim."""
    proof = prove_values(program, PureDP(epsilon=1, adjacency=adjacency), data=data, seconds=60)
    assert proof.verdict != "verified"


def test_a_group_may_have_a_record_in_each_slice() -> None:
    """Two records of one user cost both releases, although the slices are disjoint."""
    data = Records(Interval(0, 1), group=2)
    proof = prove_values(halves, PureDP(epsilon=2, unit=Unit.USER), data=data)
    assert proof.verdict == "inconclusive"
    assert proof.bound is not None
    assert proof.bound >= 2


def test_ends_are_compared_for_every_number_of_records() -> None:
    """Comparisons that fail for one number of records are not decided."""
    half, up, whole = (1, 0, 2), (1, 1, 2), (1, 0, 1)
    assert at_or_before(half, up)
    assert at_or_before(up, whole)
    assert at_or_before(0, half)
    assert not at_or_before(up, half)
    assert not at_or_before(whole, 1)
    assert not at_or_before(1, half)
    ends = [(a, b, c) for a in (0, 1, 2, 3) for b in range(-3, 4) for c in (1, 2, 3, 4)]
    values = {end: [(end[0] * n + end[1]) // end[2] for n in range(1, 40)] for end in ends}
    for left in ends:
        for other in ends[::7]:
            if at_or_before(left, other):
                assert all(x <= y for x, y in zip(values[left], values[other], strict=True))
    assert disjoint(((0, half, 1),), ((half, None, 1),))
    assert not disjoint(((0, up, 1),), ((half, None, 1),))
    assert union(((0, half, 1),), ((half, None, 1),)) == ((0, None, 1),)


def test_one_hot_rows_have_one_declaration() -> None:
    """Samples, extreme records and the description agree, and the sum of the rows is a histogram."""
    rng = np.random.default_rng(3)
    assert "exactly one 1" in HOT.words
    for adjacency in ("replace-one", "add-remove"):
        claim: Any = PureDP(epsilon=1, adjacency=adjacency)  # type: ignore[arg-type]
        left, right_ = sample_pair(HOT, adjacency=claim.adjacency, size=4, rng=rng)
        assert all((one[""].sum(axis=1) == 1).all() for one in (left, right_))
    for pair in list(HOT.pairs("replace-one"))[:6]:
        assert (np.asarray(pair.left).sum(axis=1) == 1).all()
    assert prove_values(histogram, PureDP(epsilon=1), data=HOT).bound == Fraction(1)


@pytest.mark.parametrize("domain", [OneHot(0), OneHot(True), OneHot(2.5)])  # type: ignore[arg-type]
def test_a_width_of_one_hot_rows_is_a_positive_integer(domain: Any) -> None:
    """Other widths are refused, and so is a second width."""
    with pytest.raises(InvalidParameterError) as error:
        Records(domain)
    assert error.value.code == "E-ONE-HOT-WIDTH"
    with pytest.raises(InvalidParameterError):
        Table({"a": (OneHot(2), 3)})
