"""The black-box check takes whatever a mechanism does: odd outputs, exceptions, hangs; and refuses bad
requests with a next move.
"""

from __future__ import annotations

import contextlib
import json
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dpaudit.blackbox.check import check
from dpaudit.blackbox.grids import lowest_bit
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.several import vector_features
from dpaudit.blackbox.statistics import Failure
from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, RenyiDP
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.evidence import evidence_from_json
from dpaudit.core.verdicts import VerdictKind
from dpaudit.core.views import EVERYBODY_ELSE, SERVER
from tests.errors import raises

ONE = PureDP(epsilon=1)
UNITS = [(0, 1)]


def noisy(x, rng):
    """A correct scalar mechanism."""
    return x + rng.laplace(0, 1)


def half_noise(x, rng):
    """Half the noise that epsilon 1 needs."""
    return x + rng.laplace(0, 0.5)


def test_workers_change_nothing() -> None:
    """One worker and two give the same evidence, to the last bit."""
    one, two = (check(half_noise, ONE, neighbours=[(0, 1), (0, -1)], jobs=jobs, seed=3) for jobs in (1, 2))
    assert one.evidence.to_json() == two.evidence.to_json()
    assert str(one) == str(two)


def test_seed_decides_everything() -> None:
    """The same seed gives the same evidence, another seed other numbers."""
    first, again, other = (
        check(half_noise, ONE, neighbours=UNITS, seed=seed).evidence.to_json() for seed in (1, 1, 2)
    )
    assert first == again != other


OUTPUTS = {
    "bool": lambda x, rng: bool(rng.random() < (0.9 if x else 0.1)),
    "int": lambda x, rng: int(x + rng.geometric(0.9)),
    "string": lambda x, rng: "yes" if rng.random() < (0.9 if x else 0.1) else "no",
    "tuple": lambda x, rng: ("label", x + rng.normal(0, 0.3), None),
    "list that ends early": lambda x, rng: [1] * int(1 + x + rng.integers(2)),
    "array": lambda x, rng: x + rng.normal(0, 0.5, (2, 2)),
    "mapping": lambda x, rng: {"count": x + rng.normal(0, 0.3), "name": "a"},
    "None now and then": lambda x, rng: None if rng.random() < 0.3 * x else rng.random(),
    "NaN now and then": lambda x, rng: float("nan") if rng.random() < 0.3 * x else rng.random(),
    "another shape now and then": lambda x, rng: rng.random(2 if rng.random() < 0.3 * x else 3),
    "lone surrogates": lambda x, rng: f"\ud800 {x + rng.laplace(0, 0.3)}",
    "signalling NaN now and then": lambda x, rng: Decimal("sNaN" if rng.random() < 0.3 * x else "1"),
    "infinite now and then": lambda x, rng: np.inf if rng.random() < 0.3 * x else rng.random(),
}


def _little(rng, scale=0.3):
    return int(np.floor(rng.laplace(0, scale)))


#: Sums whose last digits no float holds.
HUGE = {
    "one": lambda x, rng, s: 2**70 + x + _little(rng, s),
    "modulo 2^64": lambda x, rng, s: (2**64 - 1 + x + _little(rng, s)) % 2**64,
    "list": lambda x, rng, s: [2**60, 2**61 + x + _little(rng, s)],
    "array": lambda x, rng, s: np.array([2**63 + 9, 9 + x + _little(rng, s)], dtype=np.uint64),
    "negative": lambda x, rng, s: np.array([-(2**62) + x + _little(rng, s)]),
    "beyond all floats": lambda x, rng, s: 10**400 + x + _little(rng, s),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", HUGE)
def test_the_last_digits_of_huge_integers_count(kind: str) -> None:
    """Noise that is too little is seen in the digits that a float drops; enough of it is not refuted."""
    bad = check(lambda x, rng: HUGE[kind](x, rng, 0.3), ONE, neighbours=UNITS, max_samples=4000)
    assert bad.verdict is VerdictKind.REFUTED
    good = check(lambda x, rng: HUGE[kind](x, rng, 1), ONE, neighbours=UNITS, max_samples=1000, alpha=1e-6)
    assert good.verdict is VerdictKind.INCONCLUSIVE


def test_huge_integers_in_batches_and_their_names() -> None:
    """An array of outputs is read as single outputs are, and an event says which digits it is about."""

    def batched(x, rng, size):
        return 2**62 + x + np.floor(rng.laplace(0, 0.3, size)).astype(np.int64)

    result = check(batched, ONE, neighbours=UNITS, max_samples=4000, batch=True)
    assert result.verdict is VerdictKind.REFUTED
    assert "modulo 2^53" in str(result)
    values = np.array([2**63 + 5, 7, 2**53, 2**64 - 1], dtype=np.uint64)
    rows = OutcomeEncoder().encode([values, values.tolist()]).values
    assert rows.tolist() == [[2.0**63, 5.0, 7.0, 7.0, 2.0**53, 0.0, 2.0**64, -1.0]] * 2


def test_the_largest_number_is_named() -> None:
    """An event about where the largest number stands says how to reach it."""

    def noisy(x, rng):
        return {"a": 20 * x + rng.laplace(0, 1), "b": 20 * (1 - x) + rng.laplace(0, 1)}

    feature = next(
        feature
        for feature, _ in vector_features(*_first_block(noisy))
        if feature.name == "place of the largest number"
    )
    assert feature.describe(None, 1.0) == "the largest number is output['a']"
    assert feature.describe(0.5, 2.0) == "the largest number is output['b']"
    assert feature.describe(1.5, None) == "all numbers are equal"


def _first_block(mechanism):
    reader, rng = OutcomeEncoder(), np.random.default_rng(0)
    both = reader.encode([mechanism(x, rng) for x in (0, 1) for _ in range(8)])
    return (both[:8], both[8:]), reader


@pytest.mark.parametrize("kind", OUTPUTS)
def test_every_kind_of_output_is_seen(kind: str) -> None:
    """A violation is refuted whatever the outputs are made of."""
    assert check(OUTPUTS[kind], ONE, neighbours=UNITS, max_samples=4000).verdict is VerdictKind.REFUTED


def test_an_exception_is_an_outcome() -> None:
    """A mechanism that raises on one input only, one time in ten, is refuted, and the event names the
    exception.
    """

    def fails(x, rng):
        if x == 1 and rng.random() < 0.1:
            raise ZeroDivisionError("no")
        return float(rng.random() < 0.5)

    result = check(fails, ONE, neighbours=UNITS)
    assert result.verdict is VerdictKind.REFUTED
    assert "raised ZeroDivisionError" in result.event


def test_raising_on_one_input_always_is_an_outcome_too() -> None:
    """Failing on every call on one neighbour, and never on the other, is a violation and not a broken
    mechanism.
    """

    def fails(x, rng):
        if x == 1:
            raise ValueError("no")
        return rng.random()

    assert check(fails, ONE, neighbours=UNITS).verdict is VerdictKind.REFUTED


def _nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


def _raise(error):
    raise error


class _Hostile:
    """Something that cannot be looked at."""

    def __getattr__(self, name):
        raise RuntimeError("not for you")


class _SilentError(Exception):
    """An error that has no text."""

    def __str__(self):
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("broken", "code", "says"),
    [
        (lambda x, rng: 1 / 0, "E-MECHANISM-RAISES", "on the first input ZeroDivisionError"),
        (lambda x, rng: [][1], "E-MECHANISM-RAISES", "second input IndexError"),
        (lambda x, rng: object(), "E-OUTPUT-UNREADABLE", "object"),
        (lambda rng, data: data + rng.laplace(), "E-MECHANISM-RAISES", "its first parameter is named rng"),
        (lambda x, rng: _nested(100_000), "E-OUTPUT-TOO-DEEP", "list"),
        (lambda x, rng: _Hostile(), "E-OUTPUT-UNREADABLE", "raised RuntimeError: not for you"),
        (lambda x, rng: _raise(_SilentError()), "E-MECHANISM-RAISES", "on the first input _SilentError and"),
        (lambda x, rng: _raise(GeneratorExit()), "E-MECHANISM-RAISES", "on the first input GeneratorExit"),
    ],
)
def test_failing_on_every_call_is_a_broken_mechanism(broken, code: str, says: str) -> None:
    """All calls raise on both inputs: an error with the reason, not a verdict."""
    with raises(MechanismError, code=code, match=says):
        check(broken, ONE, neighbours=UNITS)


def test_a_hang_stops_the_check() -> None:
    """A call that never returns is interrupted after its limit, even where it catches every Exception."""

    def hangs(x, rng):
        while True:
            with contextlib.suppress(Exception):  # what a hostile mechanism would do
                time.sleep(0.01)

    start = time.monotonic()
    with raises(MechanismError, code="E-CALL-TIMEOUT", match=r"timeout=0\.2"):
        check(hangs, ONE, neighbours=UNITS, timeout=0.2)
    assert time.monotonic() - start < 5


def test_the_callers_data_stay_as_they_are() -> None:
    """A mechanism that writes into its input has only seen copies."""
    data = np.zeros(3)

    def writes(x, rng):
        x += 1
        return 0.0

    check(writes, ONE, neighbours=[(data, np.array([0.0, 0.0, 1.0]))], max_samples=100)
    assert not data.any()


def test_notes_tell_what_cannot_be_repeated_and_what_is_constant() -> None:
    """Randomness from elsewhere, and outputs that never change, are noted."""
    elsewhere = np.random.default_rng(0)
    result = check(lambda x, rng: x + elsewhere.laplace(), ONE, neighbours=UNITS, max_samples=200)
    assert any("not reproducible" in note for note in result.notes)
    spawned = check(lambda x, rng: x + rng.spawn(1)[0].laplace(), ONE, neighbours=UNITS, max_samples=200)
    assert not any("not reproducible" in note for note in spawned.notes)
    constant = check(lambda x, rng: 5, ONE, neighbours=UNITS, max_samples=200)
    assert any("every output on both inputs was equal" in note for note in constant.notes)
    assert constant.verdict is VerdictKind.INCONCLUSIVE


def test_the_report_fits_a_screen() -> None:
    """Verdict, bound, confidence, runs, the telling event, and for an open verdict the power, in at most 24
    lines.
    """
    refuted, open_ = (
        str(check(half_noise, ONE, neighbours=UNITS)),
        str(check(noisy, ONE, neighbours=UNITS, max_samples=2000)),
    )
    assert refuted.startswith("REFUTED: pure DP with ε = 1")
    assert "95% confidence" in refuted
    assert "the claim allows 2.72 times" in refuted
    assert open_.startswith("INCONCLUSIVE")
    assert "this run would have detected" in open_
    assert max(len(refuted.splitlines()), len(open_.splitlines())) <= 24


def test_evidence_survives_json() -> None:
    """The estimate is plain data."""
    evidence = check(half_noise, ONE, neighbours=UNITS).evidence
    assert evidence_from_json(json.loads(json.dumps(evidence.to_json()))) == evidence


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"neighbours": []}, "E-NEIGHBOURS-EMPTY", None),
        ({"neighbours": [0.0, 1.0]}, "E-PAIR-TYPE", None),
        ({"neighbours": None}, "E-DATA-OR-NEIGHBOURS", "neither"),
        ({"neighbours": [(pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}))]}, "E-PAIR-EQUAL", None),
        ({"claim": PureDP}, "E-CLAIM-NOT-PRIVACY", None),
        ({"claim": 1.0}, "E-CLAIM-NOT-PRIVACY", None),
        ({"neighbours": [((x for x in [0]), [1])]}, "E-INPUT-NOT-COPYABLE", None),
        ({"alpha": 1e-300}, "E-ALPHA-RANGE", "1e-12"),
        ({"claim": RenyiDP(order="1.0001", epsilon=50)}, "E-CLAIM-NOT-REFUTABLE", "conversions"),
        ({"record_draws": "no"}, "E-SWITCH-NOT-BOOLEAN", "record_draws must"),
        ({"batch": 1}, "E-SWITCH-NOT-BOOLEAN", "batch must"),
        ({"neighbours": [(1.0, 1.0)]}, "E-PAIR-EQUAL", None),
        ({"neighbours": [(np.array([np.nan]), np.zeros(1))]}, "E-INPUT-NAN", None),
        ({"neighbours": [([1.0, float("nan")], [0.0])]}, "E-INPUT-NAN", None),
        ({"alpha": 0.0}, "E-ALPHA-RANGE", None),
        ({"max_samples": 10}, "E-MAX-SAMPLES-RANGE", "100"),
        ({"max_samples": "500"}, "E-MAX-SAMPLES-RANGE", None),
        ({"max_samples": 1e4}, "E-MAX-SAMPLES-RANGE", None),
        ({"alpha": "0.01"}, "E-ALPHA-RANGE", None),
        ({"seed": -1}, "E-SEED-RANGE", None),
        ({"seed": 1.5}, "E-SEED-RANGE", None),
        ({"timeout": 0}, "E-TIMEOUT-RANGE", None),
        ({"timeout": "5"}, "E-TIMEOUT-RANGE", None),
        ({"seconds": "10"}, "E-SECONDS-RANGE", None),
        ({"jobs": 0}, "E-JOBS-RANGE", None),
        ({"jobs": 1.5}, "E-JOBS-RANGE", None),
        ({"jobs": "2"}, "E-JOBS-RANGE", None),
        ({"claim": PureDP(epsilon=1, view=SERVER)}, "E-VIEW-NOT-PUBLIC", "got .*server"),
        ({"claim": PureDP(epsilon=1, view=EVERYBODY_ELSE)}, "E-VIEW-NOT-PUBLIC", None),
        ({"claim": GaussianDP(mu=100)}, "E-CLAIM-NOT-REFUTABLE", None),
        ({"claim": ApproxDP(epsilon=1, delta=1)}, "E-CLAIM-NOT-REFUTABLE", None),
        ({"claim": PureDP(epsilon=100)}, "E-CLAIM-NOT-REFUTABLE", "40"),
    ],
)
def test_requests_are_checked(arguments, code: str, says: str | None) -> None:
    """An invalid request raises an error before any run. Its text has the limit or the name that matters."""
    claim = arguments.pop("claim", ONE)
    with raises(InvalidParameterError, code=code, match=says):
        check(noisy, claim, **{"neighbours": UNITS} | arguments)


def test_an_async_function_is_named() -> None:
    """It returns a coroutine, of which nothing can be read."""

    async def later(x, rng):
        return x

    with raises(InvalidParameterError, code="E-MECHANISM-ASYNC"):
        check(later, ONE, neighbours=UNITS)


def test_batches_are_checked() -> None:
    """A batched mechanism must return as many outputs as asked, and may not raise."""
    with raises(MechanismError, code="E-BATCH-SHAPE"):
        check(lambda x, rng, size: rng.random(3), ONE, neighbours=UNITS, batch=True)
    with raises(MechanismError, code="E-BATCH-RAISES"):
        check(lambda x, rng, size: 1 / 0, ONE, neighbours=UNITS, batch=True)


def test_encoder_tells_outputs_apart() -> None:
    """Equal outputs have equal keys, different ones different keys; signed zeros are one number, labels are
    no numbers.
    """
    encoder = OutcomeEncoder()
    outputs = [
        1.0,
        1.0,
        2.0,
        0.0,
        -0.0,
        "1.0",
        None,
        float("nan"),
        Failure("ValueError", "x"),
        Failure("KeyError", "x"),
        (1.0,),
    ]
    keys = encoder.encode(outputs).keys.tolist()
    assert keys[0] == keys[1]
    assert keys[3] == keys[4]
    assert len(set(keys)) == len(outputs) - 2


def test_long_tails_of_odd_outputs_count() -> None:
    """Outputs longer than usual are told apart by what is beyond the usual width."""
    encoder = OutcomeEncoder()
    encoder.encode([np.zeros(2)] * 3)
    first, second = encoder.encode([np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 2.0])]).keys
    assert first != second


def test_lowest_bit() -> None:
    """The exponent of the last bit: of integers, halves, the smallest step at 1, zero, and of what is no
    number.
    """
    values = np.array([1.0, 6.0, 0.5, 1.0 + 2.0**-52, 0.1, 0.0, np.inf, 5e-324])
    expected = [0, 1, -1, -52, -55, 1100, np.nan, -1074]
    assert np.array_equal(lowest_bit(values), expected, equal_nan=True)
