"""Check replays of programs that could make them report something false, by accident or on purpose."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.coins import Coins, enumerate_view, force, hockey_stick, record, replay, same_value, sum_out
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import EVERYTHING, PUBLIC, SERVER, View
from dpaudit.distributions import Bernoulli, Counts, DiscreteLaplace, Exponential, Laplace
from dpaudit.kernel.ball import arb
from tests.errors import raises

LEFT, RIGHT = np.array([0.0, 1.0]), np.array([1.0, 1.0])
SERVER_AND_PUBLIC = View.of(SERVER)


def test_a_swallowed_divergence_leaves_no_leak_behind() -> None:
    """After a hidden draw that only the neighbour makes, nothing that the program shows refutes."""

    def program(coins: Coins, data: Any) -> int:
        bit = 0
        if data[0] > 0:
            try:
                bit = int(coins.draw(Bernoulli(p="1/2"), site="hidden"))
            except BaseException:
                bit = 1
        return bit

    result = replay(program, RIGHT, record(program, LEFT, rng=np.random.default_rng(0)))
    assert [leak.what for leak in result.leaks] == ["hidden"]
    assert result.leaks_in(EVERYTHING) == ()


def test_an_error_after_a_swallowed_divergence_is_no_leak() -> None:
    """A program that fails only because the replay stopped it has not failed on the neighbour."""

    def program(coins: Coins, data: Any) -> float:
        try:
            coins.reveal(float(data[0]), site="to the server", to=SERVER)
        except BaseException as error:
            raise ValueError("stopped") from error
        return 0.0

    result = replay(program, RIGHT, record(program, LEFT, rng=np.random.default_rng(0)))
    assert result.leaks_in(View.of(PUBLIC)) == ()
    assert len(result.leaks_in(SERVER_AND_PUBLIC)) == 1


def test_an_impossible_forced_outcome_stops_the_run_even_if_it_is_caught() -> None:
    """A forced run that continues without the outcome of a site is not a run of the program."""

    def program(coins: Coins, data: Any) -> int:
        try:
            coins.observe(Exponential(scale=1), site="noise")
        except Exception:
            return 1
        return 0

    with raises(InvalidParameterError, code="E-HISTORY-IMPOSSIBLE"):
        force(program, LEFT, lambda site, occurrence, distribution: -5.0, rng=np.random.default_rng(0))


def test_enumeration_drops_an_impossible_path_even_if_it_is_caught() -> None:
    """The density of a transcript excludes paths that show something else, whatever the program catches."""

    def program(coins: Coins, data: Any) -> int:
        bit = int(coins.draw(Bernoulli(p="1/2"), site="hidden"))
        try:
            coins.reveal(bit, site="bit")
        except BaseException:
            coins.reveal(1, site="bit")
        return 0

    total, paths = sum_out(program, LEFT, [1, 0], view=EVERYTHING)
    assert len(paths) == 1
    assert total == arb(1) / 2


def test_mass_left_out_on_the_right_lowers_the_hockey_stick() -> None:
    """The ball contains delta also if an enumeration leaves its tails out."""

    def program(coins: Coins, data: Any) -> int:
        return int(coins.observe(DiscreteLaplace(scale=1).shift(int(data)), site="noise"))

    coarse = [enumerate_view(program, at, view=EVERYTHING, tail=0.2) for at in (0, 1)]
    fine = [enumerate_view(program, at, view=EVERYTHING, tail=1e-12) for at in (0, 1)]
    for epsilon in (Fraction(0), Fraction(1, 2)):
        factor = (arb(epsilon.numerator) / epsilon.denominator).exp()
        exact = hockey_stick(fine[0], fine[1], factor)
        for left, right in ((fine[0], coarse[1]), (coarse[0], coarse[1])):
            assert hockey_stick(left, right, factor).overlaps(exact)


def test_a_program_cannot_change_the_data_of_the_next_run() -> None:
    """Data that one run changes in place are unchanged in the next run."""

    def program(coins: Coins, data: Any) -> float:
        total = float(data.sum())
        data[:] = 0.0
        return float(coins.release(total, Laplace(scale=1), site="sum"))

    rng = np.random.default_rng(0)
    for _ in range(3):
        assert replay(program, RIGHT, record(program, LEFT, rng=rng)).losses[0].moved


class _Alike:
    """An object that is equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_an_object_with_its_own_equality_is_refused() -> None:
    """A value that cannot be compared bit by bit cannot be shown, and equals nothing."""
    with raises(InvalidParameterError, code="E-VALUE-NOT-PLAIN"):
        record(lambda coins, data: [_Alike()], LEFT, rng=np.random.default_rng(0))
    assert not same_value(_Alike(), _Alike())


def test_a_numpy_number_is_the_number_that_it_is() -> None:
    """``same_value`` ignores whether a scalar is numpy's, but not its value, sign of zero or kind."""
    assert same_value(np.int64(3), 3)
    assert same_value(np.bool_(True), True)
    assert same_value(np.float64(0.5), 0.5)
    assert not same_value(np.int64(3), 4)
    assert not same_value(True, 1)
    assert not same_value(1, 1.0)
    assert not same_value({"a": 0.0}, {"a": -0.0})
    assert not same_value({"a": 1}, {"b": 1})


def test_a_hidden_draw_that_differs_is_an_unmet_condition() -> None:
    """A hidden distribution that depends on the data is noted, because one uniform shows only one case."""

    def program(coins: Coins, data: Any) -> int:
        return int(coins.draw(Bernoulli(p=Fraction(1 + int(data[0]), 1000)), site="rare"))

    result = replay(program, RIGHT, record(program, LEFT, rng=np.random.default_rng(1)))
    assert any("hidden draw differs" in unmet_condition for unmet_condition in result.unmet)


def test_a_far_forced_outcome_lies_in_a_box() -> None:
    """A large forced outcome is drawn from a box of many floats, although floats are sparse there."""

    def program(coins: Coins, data: Any) -> float:
        return float(coins.release(0.0, Laplace(scale=1), site="noise"))

    far = 2.0**50
    values = {
        force(program, LEFT, lambda *_: far, rng=np.random.default_rng(seed)).returned for seed in range(8)
    }
    assert len(values) == 8
    assert all(abs(value - far) <= far * 2.0**-29 for value in values)


def test_a_program_may_change_an_outcome_that_it_was_given() -> None:
    """Changing an outcome in place changes neither the recording nor its next replay."""

    def program(coins: Coins, data: Any) -> Any:
        noisy = coins.release(data.copy(), Laplace(scale=1), site="sums")
        noisy += 1000.0
        return noisy

    recording = record(program, LEFT, rng=np.random.default_rng(0))
    before = recording.sites[0].value.copy()
    for _ in range(2):
        assert replay(program, RIGHT, recording).leaks == ()
    assert np.array_equal(recording.sites[0].value, before)


def test_enumeration_survives_changes_in_place() -> None:
    """Changing an outcome or a shown value in place does not change the transcript of the path."""

    def program(coins: Coins, data: Any) -> int:
        counts = coins.aggregate([Bernoulli(p="1/2")] * 2, Counts(2), site="counts", to=PUBLIC)
        shown = coins.reveal(counts.copy(), site="shown")
        counts += 1
        shown += 1
        return 0

    distribution = enumerate_view(program, LEFT, view=EVERYTHING)
    assert len(distribution.transcripts) == 3
    for counts, shown, _ in distribution.transcripts.values():
        assert np.array_equal(counts, shown)
        assert counts.sum() == 2
