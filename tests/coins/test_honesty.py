"""Check that a replay detects every data-dependent behaviour. Each program here cheats once."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from dpaudit.coins import Returned, fingerprint, record, replay, same_value
from dpaudit.core.errors import MechanismError
from dpaudit.core.views import EVERYTHING, PUBLIC, SERVER, View, user
from dpaudit.distributions import Bernoulli, Gaussian, Laplace, Product, Sum
from tests.errors import raises

LEFT = np.array([0.0, 0.5, 1.0])
RIGHT = np.array([1.0, 0.5, 1.0])
NOISE = Laplace(scale=2)


def pair(program, seed=0, left=LEFT, right=RIGHT):
    return replay(program, right, record(program, left, rng=np.random.default_rng(seed)))


def honest(coins, data):
    return coins.release(data.sum(), NOISE, site="sum") > 1


def test_an_honest_program_has_no_leak_and_its_exact_loss():
    """The loss of a Laplace release is (|v - a'| - |v - a|) / scale, up to float rounding."""
    recording = record(honest, LEFT, rng=np.random.default_rng(1))
    result = replay(honest, RIGHT, recording)
    value = recording.sites[0].value
    assert result.leaks == ()
    assert float(result.loss()) == pytest.approx((abs(value - 2.5) - abs(value - 1.5)) / 2, abs=1e-15)
    assert result.witness_end() == 2


def test_the_same_input_has_loss_zero_and_nothing_moves():
    """A replay on the recorded input has no leak, no affected site and loss exactly 0."""
    result = pair(honest, right=LEFT)
    assert (result.leaks, float(result.loss())) == ((), 0.0)
    assert not any(item.moved for item in result.losses)


@pytest.mark.parametrize(
    ("program", "what", "site"),
    [
        (lambda c, d: (c.release(d.sum(), NOISE, site="s"), d[0])[1], "value", "return"),
        (lambda c, d: c.reveal(int(d.argmin()), site="arm"), "value", "arm"),
        (lambda c, d: c.release(0.0, NOISE, site="s") if d[0] == 0 else None, "kind", "s"),
        (
            lambda c, d: [c.release(0.0, NOISE, site="s") for _ in range(1 + int(d[0]))] and None,
            "kind",
            "return",
        ),
        (lambda c, d: c.release(np.zeros(1 + int(d[0])), NOISE, site="s") is None, "shape", "s"),
        (lambda c, d: c.observe(Gaussian(variance=1) if d[0] else Bernoulli(p="1/2"), site="s"), "kind", "s"),
        (lambda c, d: 1 / (1 - d[0]) if d[0] != 1 else [][1], "raised", "program"),
    ],
    ids=[
        "raw return value",
        "raw revealed arm",
        "skipped release",
        "extra release",
        "data-dependent size",
        "other kind of distribution",
        "raises",
    ],
)
def test_what_depends_on_the_data_without_noise_is_a_leak_that_refutes(program, what, site):
    """Raw values, skipped or extra releases, data-dependent shapes and kinds, and crashes refute."""
    result = pair(program)
    assert [(leak.what, leak.site) for leak in result.leaks_in(EVERYTHING)] == [(what, site)]


def test_one_changed_entry_in_a_large_public_array_is_seen():
    """A change in entry 7000 of a revealed array of 10,000 entries is a leak."""

    def program(coins, data):
        parameter = np.ones(10_000)
        parameter[7000] += data[0]
        coins.reveal(parameter, site="weights")
        return coins.release(0.0, NOISE, site="s")

    assert [leak.what for leak in pair(program).leaks_in(EVERYTHING)] == ["value"]


def test_one_changed_entry_of_an_array_valued_distribution_parameter_has_its_exact_loss():
    """If one entry of a vector offset changes, the loss is the loss of that coordinate."""

    def program(coins, data):
        offset = np.zeros(5000)
        offset[4321] = data[0]
        return Returned(coins.release(offset, NOISE, site="v", to=SERVER), SERVER)

    recording = record(program, LEFT, rng=np.random.default_rng(5))
    value = recording.sites[0].value[4321]
    assert float(replay(program, RIGHT, recording).loss()) == pytest.approx(
        (abs(value - 1) - abs(value)) / 2, abs=1e-12
    )


def test_a_second_changed_public_argument_is_seen():
    """A change in the second of two reveals is a leak, even if the first agrees."""
    result = pair(lambda c, d: (c.reveal(1, site="a"), c.reveal(float(d[0]), site="b"))[0])
    assert [(leak.what, leak.site) for leak in result.leaks] == [("value", "b")]


def test_an_array_changed_after_it_was_revealed_does_not_rewrite_the_record():
    """The transcript keeps the shown values, not the later contents of the program's buffer."""

    def program(coins, data):
        buffer = data.copy()
        coins.reveal(buffer, site="buffer")
        buffer[:] = 0
        return 0

    assert [leak.site for leak in pair(program).leaks] == ["buffer"]


def test_a_distribution_that_differs_is_a_loss_and_not_a_leak():
    """A data-dependent scale gives an exact loss, the log of the density ratio, and no leak."""

    def program(coins, data):
        return Returned(coins.release(0.0, Laplace(scale=1 + int(data[0])), site="s", to=SERVER), SERVER)

    recording = record(program, LEFT, rng=np.random.default_rng(3))
    x = abs(recording.sites[0].value)
    result = replay(program, RIGHT, recording)
    assert result.leaks == ()
    assert float(result.loss()) == pytest.approx((-np.log(2) - x) - (-np.log(4) - x / 2), abs=1e-12)


def test_a_hidden_draw_before_a_branch_ends_what_can_be_a_witness():
    """A witness ends before the first hidden draw, which must be summed out."""

    def program(coins, data):
        coin = coins.draw(Bernoulli(p="1/2"), site="coin")
        return Returned(coins.release(data[0] if coin else 0.0, NOISE, site="s", to=SERVER), SERVER)

    result = pair(program, seed=2)
    assert result.witness_end(EVERYTHING) == 0
    assert float(result.loss(EVERYTHING, end=result.witness_end(EVERYTHING))) == 0.0


def test_a_latent_is_replayed_from_its_uniform_where_its_distribution_moved():
    """A hidden bit whose distribution differs is drawn again by its inverse cdf, so that showing it leaks."""

    def program(coins, data):
        bit = coins.draw(Bernoulli(p=Fraction(float(data[0] * 0.5 + 0.25))), site="bit")
        return coins.reveal(bit, site="bit shown")

    results = [pair(program, seed=seed) for seed in range(20)]
    moved = [result for result in results if result.leaks]
    assert 0 < len(moved) < 20
    assert all(leak.site == "bit shown" for result in moved for leak in result.leaks)
    # A hidden draw comes first, so this leak does not refute.
    assert all(result.leaks_in(EVERYTHING) == () for result in results)


def test_a_latent_whose_distribution_is_equal_keeps_its_value():
    """If the distribution of a hidden draw is the same on both inputs, the recorded value is used again."""

    def program(coins, data):
        coins.reveal(coins.draw(Laplace(scale=1), site="z"), site="z shown")
        return 0

    assert pair(program).leaks == ()


def test_renaming_a_site_is_noted_but_no_adversary_sees_it():
    """A data-dependent site name is noted and refutes nothing, because no adversary sees names."""
    result = pair(lambda c, d: c.release(0.0, NOISE, site=f"s{int(d[0])}") and 0)
    assert result.leaks == ()
    assert len(result.renamed) == 1


def test_another_audience_is_a_structural_leak_that_does_not_refute_by_itself():
    """A data-dependent audience is a leak that does not refute by itself."""
    result = pair(lambda c, d: c.release(0.0, NOISE, site="s", to=user(int(d[0]))) and 0)
    assert [leak.what for leak in result.leaks] == ["audience"]
    assert result.leaks_in(EVERYTHING) == ()


def test_a_leak_that_the_view_does_not_see_does_not_refute_there():
    """A raw value shown to the server refutes in the server's view and not in the public view."""
    result = pair(lambda c, d: (c.reveal(float(d[0]), site="raw", to=SERVER), 0)[1])
    assert len(result.leaks_in(View.of(SERVER))) == 1
    assert result.leaks_in(View.of(PUBLIC)) == ()


def test_loss_is_summed_over_event_axes_and_never_over_replicates():
    """With replicates=R, a vector release gives R losses, each the sum over the coordinates."""
    noise = Laplace(scale=3)

    def program(coins, data):
        coins.release(np.broadcast_to(data, (4, 3)), noise, site="v")
        return 0

    recording = record(program, LEFT, rng=np.random.default_rng(0), replicates=4)
    value = recording.sites[0].value
    expected = ((np.abs(value - RIGHT) - np.abs(value - LEFT)) / 3).sum(axis=1)
    np.testing.assert_allclose(replay(program, RIGHT, recording).loss(), expected, atol=1e-12)


def test_heterogeneous_vectors_have_the_sum_of_their_coordinates_losses():
    """The loss of a Product distribution is the sum of the losses of its coordinates."""

    def program(coins, data):
        return Returned(
            coins.observe(
                Product([Laplace(scale=1).shift(data[0]), Laplace(scale=4).shift(data[1])]),
                site="p",
                to=SERVER,
            ),
            SERVER,
        )

    recording = record(program, LEFT, rng=np.random.default_rng(8))
    a, _ = recording.sites[0].value
    assert float(replay(program, RIGHT, recording).loss()) == pytest.approx(abs(a - 1) - abs(a), abs=1e-12)


def test_randomness_outside_the_coins_changes_the_fingerprint():
    """Another global seed changes the fingerprint of a program that draws from a global generator."""

    def cheat(coins, data):
        return coins.release(random.random(), NOISE, site="s")

    def digest(program, global_seed):
        random.seed(global_seed)
        return fingerprint(record(program, LEFT, rng=np.random.default_rng(0)))

    assert digest(honest, 1) == digest(honest, 2)
    assert digest(cheat, 1) != digest(cheat, 2)


def test_a_program_that_raises_on_its_own_input_is_an_error_with_its_reason():
    """The error of ``record`` names the program's own exception."""
    with raises(MechanismError, code="E-PROGRAM-RAISED", match="ZeroDivisionError"):
        record(lambda c, d: 1 // 0, LEFT, rng=np.random.default_rng(0))


def test_an_aggregate_without_a_distribution_ends_what_can_be_a_witness():
    """A witness ends before an aggregate whose distribution cannot be evaluated."""

    def program(coins, data):
        coins.release(data[0], NOISE, site="first")
        coins.aggregate([Gaussian(variance=1).shift(x) for x in data] + [NOISE], Sum(), site="sum", to=SERVER)
        return Returned(coins.release(data[0], NOISE, site="second"), SERVER)

    result = pair(program)
    [_, aggregate, *_] = result.recording.sites
    assert (aggregate.kind, aggregate.distribution) == ("aggregate", None)
    assert View.of(SERVER).sees(aggregate.to)
    assert result.witness_end(EVERYTHING) == 1


def test_equal_bytes_of_another_type_or_shape_differ():
    """Equal bytes with another dtype or shape differ, so a data-dependent dtype is a leak."""
    zeros = np.zeros(2)
    assert same_value(zeros, np.zeros(2))
    for other in (np.zeros(2, dtype=np.int64), np.zeros((2, 1)), np.zeros(2, dtype=">f8"), [0.0, 0.0]):
        assert not same_value(zeros, other)
    result = pair(lambda coins, data: np.zeros(2, dtype=np.int64 if data[0] else np.float64))
    assert [leak.what for leak in result.leaks] == ["value"]
