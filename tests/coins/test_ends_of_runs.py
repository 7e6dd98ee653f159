"""Check how runs end (with an error, or at a limit) and which values may be shown."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

from dpaudit.coins import Coins, Leak, Replay, force, record, replay
from dpaudit.coins.limits import Limits, limited_memory
from dpaudit.coins.transcript import require_plain, same_shown, to_the_last_bit
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.views import EVERYTHING, PUBLIC, SERVER, View
from dpaudit.distributions import AboveThreshold, Bernoulli, Laplace, Sum, SumMod
from tests.errors import raises

NOISE = Laplace(scale=1)


def ended(program: Any, left: float = 0.0, right: float = 1.0, **options: Any) -> Replay:
    """Record ``program`` on one input, also if it raises, and replay it on the other."""
    rng = np.random.default_rng(0)
    return replay(program, right, record(program, left, rng=rng, keep_errors=True, **options))


def raising(wanted: Any) -> Any:
    """Return a program that raises ``wanted(data)``, unless this is ``None``."""

    def program(coins: Coins, data: float) -> float:
        coins.release(0.0, NOISE, site="noise")
        error = wanted(data)
        if error is not None:
            raise error
        return 0.0

    return program


def test_an_error_on_one_side_refutes_in_either_direction() -> None:
    """An error on one input only is a leak that refutes."""
    program = raising(lambda data: ValueError("no") if data else None)
    for left, right in ((0.0, 1.0), (1.0, 0.0)):
        (leak,) = ended(program, left, right).leaks_in(View.of(PUBLIC))
        assert (leak.what, leak.refutes) == ("raised", True)


def test_the_same_error_on_both_sides_ends_the_history() -> None:
    """With the same error on both inputs, nothing leaks and the losses before it count."""
    result = ended(raising(lambda data: KeyError("no")))
    assert (result.leaks, len(result.losses), result.reached) == ((), 1, 2)


def test_another_type_refutes_and_another_message_does_not() -> None:
    """Another type of error refutes, and another message does not."""
    kinds = ended(raising(lambda data: ValueError("no") if data else TypeError("no")))
    assert [leak.refutes for leak in kinds.leaks] == [True]
    texts = ended(raising(lambda data: ValueError(f"{data}")))
    assert [leak.refutes for leak in texts.leaks] == [False]


def test_an_exit_is_an_error_and_an_error_is_raised_unless_it_is_kept() -> None:
    """``SystemExit`` does not end the audit, and ``record`` keeps errors only with ``keep_errors``."""
    program = raising(lambda data: SystemExit(3) if data else None)
    assert [leak.what for leak in ended(program).leaks] == ["raised"]
    with raises(MechanismError, code="E-PROGRAM-RAISED", match="SystemExit"):
        record(program, 1.0, rng=np.random.default_rng(0))


def test_a_cut_run_is_compared_as_far_as_it_goes() -> None:
    """A site after the cut is not a leak, and a difference before it is."""

    def program(coins: Coins, data: float) -> None:
        while True:
            coins.release(0.0, NOISE, site="noise")

    def leaky(coins: Coins, data: float) -> None:
        coins.reveal(data, site="datum")
        program(coins, data)

    result = ended(program, limits=Limits(sites=10))
    assert (result.recording.cut, result.leaks, result.reached) == ("more than 10 sites", (), 10)
    assert [leak.what for leak in ended(leaky, limits=Limits(sites=10)).leaks] == ["value"]


def test_too_large_an_array_is_never_made() -> None:
    """The limit is checked before the noise is drawn, and too large an allocation cuts the run."""

    def noisy(coins: Coins, data: float) -> Any:
        return coins.release(np.broadcast_to(0.0, (10**6,)), NOISE, site="many")

    def huge(coins: Coins, data: float) -> Any:
        return np.ones(2**36).sum()

    assert ended(noisy, limits=Limits(values=1000)).recording.cut == "more than 1000 numbers"
    with limited_memory(64):
        assert ended(huge).recording.cut == "more memory than there is"


def test_a_list_counts_as_many_numbers_as_it_holds() -> None:
    """Nested values count all their numbers if shown, returned or sent as a query, and a run at the limit is
    not cut."""
    nested = [[1, 2.0, "three"], (np.zeros(3), {"seven": 7.0})]

    def shows(coins: Coins, data: float) -> None:
        coins.reveal(nested, site="list")

    def asks(coins: Coins, data: float) -> None:
        kernel = AboveThreshold(threshold=1, threshold_noise=NOISE, query_noise=NOISE, max_positives=1)
        coins.channel(kernel, site="svt").ask(nested)

    for program, most in ((shows, 8), (lambda coins, data: nested, 7), (asks, 7)):
        assert ended(program, limits=Limits(values=most - 1)).recording.cut == f"more than {most - 1} numbers"
    assert ended(shows, limits=Limits(values=8)).recording.cut == ""


def test_too_deep_a_recursion_is_no_outcome() -> None:
    """A recursion error cuts the run, because the depth that is left depends on the caller."""

    def program(coins: Coins, data: float) -> Any:
        return program(coins, data)

    result = ended(program)
    assert (result.recording.cut, result.leaks) == ("too deep a recursion", ())


def test_an_aggregate_through_another_image_is_named() -> None:
    """Two images with the same distribution are different mechanisms, which is an unmet condition."""

    def program(coins: Coins, data: float) -> None:
        distributions = [Bernoulli(p="1/2"), Bernoulli(p="1/2")]
        coins.aggregate(distributions, SumMod(7) if data else Sum(), site="sum", to=PUBLIC)

    assert any("the image of the aggregate" in text for text in ended(program).unmet)


PAYLOAD = np.array([0x7FF8000000000001], dtype=np.int64).view(np.float64)[0]
ONE = np.longdouble(1)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (np.float64(np.nan), PAYLOAD),
        (float("nan"), float(PAYLOAD)),
        (ONE, ONE + np.finfo(np.longdouble).eps),
        (np.array([ONE]), np.array([ONE + np.finfo(np.longdouble).eps])),
        (1.0, np.float64(1.0)),
        (1, np.int64(1)),
        (np.int32(1), np.int64(1)),
        (True, np.bool_(True)),
        (0.0, -0.0),
        ([1], (1,)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.zeros(2, dtype="<f8"), np.zeros(2, dtype=">f8")),
        (np.zeros((1, 2)), np.zeros((2, 1))),
    ],
)
def test_shown_values_are_compared_by_type_and_bytes(left: Any, right: Any) -> None:
    """Similar values of other types or bytes differ, and every value equals its copy."""
    assert not same_shown(left, right)
    assert to_the_last_bit(left) != to_the_last_bit(right)
    for value in (left, right):
        require_plain(value)
        other = value.copy() if isinstance(value, np.ndarray) else value
        assert same_shown(value, other)
        assert to_the_last_bit(value) == to_the_last_bit(other)


class Number(float):
    """A float that may carry an attribute."""


Pair = collections.namedtuple("Pair", "a b")
DTYPE = np.dtype(np.float64, metadata={"x": 1})


@pytest.mark.parametrize(
    "value",
    [
        Number(1),
        [Number(1)],
        Pair(1, 2),
        np.ma.masked_array([1.0], mask=[True]),
        np.zeros(1).view(np.recarray),
        np.zeros(1, dtype=DTYPE),
        np.array([Number(1)], dtype=object),
        collections.OrderedDict(a=1),
        {1: 2},
        np.datetime64("2020-01-01"),
        1 + 2j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_shows_more_than_its_numbers_is_refused_by_name(value: Any) -> None:
    """Subclasses, masks and metadata are refused, even if the program catches the error."""
    with raises(InvalidParameterError, code="E-VALUE-NOT-PLAIN", match=r"got [A-Za-z_.]+"):
        require_plain(value)

    def program(coins: Coins, data: float) -> Any:
        try:
            coins.reveal(value, site="value")
        except InvalidParameterError:
            return 0.0

    with raises(InvalidParameterError, code="E-VALUE-NOT-PLAIN"):
        record(program, 0.0, rng=np.random.default_rng(0), keep_errors=True)


def test_a_loss_counts_what_the_view_sees_before_the_end() -> None:
    """Sites outside the view, and sites from the end on, add nothing to the loss."""

    def program(coins: Coins, data: float) -> None:
        coins.release(data, Laplace(scale=2), site="public")
        coins.release(data, Laplace(scale=4), site="server", to=SERVER)

    def far(site: str, occurrence: int, distribution: Any) -> float:
        return 50.0

    recording = force(program, 1.0, far, rng=np.random.default_rng(0))
    result = replay(program, 0.0, recording)
    losses = {
        name: float(result.loss(view, end=end))
        for name, view, end in (
            ("all", EVERYTHING, None),
            ("public", View.of(PUBLIC), None),
            ("server", View.of(SERVER), None),
            ("first", EVERYTHING, 1),
            ("none", EVERYTHING, 0),
        )
    }
    assert losses == pytest.approx({"all": 0.75, "public": 0.5, "server": 0.75, "first": 0.5, "none": 0.0})


def test_a_leak_is_shown_in_at_most_80_characters_a_side() -> None:
    """A value of 80 characters is shown unchanged, and a longer one is cut."""
    shown = str(Leak("value", 3, "site", "a" * 78, "b" * 79, refutes=True))
    assert shown == f"value at site 'site' (position 3): {'a' * 78!r} against 'b{'b' * 75}..."
