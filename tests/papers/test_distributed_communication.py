"""Encoding, the analyzer's cases and message sizes: the functions behind the rows, by independent routes."""

from __future__ import annotations

import ast
import itertools
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audits.distributed_mab import communication
from audits.distributed_mab.communication import bits, log_size_bound, sheet_of
from dpaudit.coins import Coins
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions import Bernoulli, PointMass, PolyaDifference
from dpaudit.kernel.ball import ball, precision
from dpaudit.reference.algorithms.mab.distributed_elimination import NAMES
from dpaudit.reference.mechanisms import rounding_error, sent_bits
from dpaudit.reference.mechanisms.decoding_window import Circle
from dpaudit.reference.mechanisms.parameter_sheet import Sheet, polya_sheet, shuffle_sheet
from dpaudit.reference.mechanisms.rounding_error import (
    mean_error,
    rounding_distance,
    rounding_ends,
    sum_movement,
)
from dpaudit.reference.mechanisms.sent_bits import carried_bits, sent_over_the_wire
from dpaudit.reference.mechanisms.wire import integer_bits, read_integers

HALF = Fraction(1, 2)


# Encoding.


@pytest.mark.parametrize("g", [1, 3, 64])
def test_encodings_by_hand(g: int) -> None:
    """Mean, ends and movement against floor arithmetic written out, for dyadic rewards."""
    for k in range(33):
        x = Fraction(k, 32)
        whole, rest = math.floor(x * g), x * g - math.floor(x * g)
        assert mean_error(x, g).is_zero()
        assert rounding_ends(x, g) == ((-rest, 1 - rest) if rest else (0, 0))
        assert sum_movement(x, Fraction(0), g) == whole + (rest > 0)
    assert sum_movement(Fraction(0), Fraction(1), g) == g


def test_rounding_down_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative controls: floor without the coin has a bias, and a coin of another bias another
    distribution."""
    monkeypatch.setattr(
        rounding_error, "encoding_distribution", lambda x, precision: PointMass(math.floor(x * precision))
    )
    assert mean_error(HALF, 3) == ball(-HALF)
    monkeypatch.undo()

    def biased(coins: Coins, rewards: Any, *, precision: int) -> list[int]:
        return [math.floor(x * precision) + coins.draw(Bernoulli(p=HALF), site="r") for x in rewards]

    quarter = Fraction(1, 4)
    with precision(160):
        assert rounding_distance(quarter, users=3, precision=1) < ball(Fraction(1, 10**30))
        monkeypatch.setattr(rounding_error, "encode", biased)
        # (8, 24, 24, 8)/64 against (27, 27, 9, 1)/64
        assert rounding_distance(quarter, users=3, precision=1).overlaps(ball(Fraction(22, 64)))


# The analyzer.


def decode(y: int, circle: Circle) -> Fraction:
    """The analyzer as printed, in exact arithmetic."""
    if y > circle.n * circle.g + circle.tau:
        return Fraction(y - circle.sheet.modulus, circle.g)
    return Fraction(y, circle.g)


def test_errors_of_the_analyzer_one_by_one() -> None:
    """Inside and outside the window, for several sizes, against the printed rule in fractions."""
    for n, g, tau in itertools.product((1, 2, 5), (1, 3), (0, 1, 7)):
        circle = Circle(n=n, g=g, tau=tau)
        for sums in (circle.inside(), circle.outside()):
            expected = [g * decode(int(v) % circle.sheet.modulus, circle) - int(v) for v in sums]
            assert circle.errors(sums).tolist() == expected
        assert not circle.errors(circle.inside()).any()
        assert circle.errors(circle.outside()).all()
        assert circle.cases() == 0
        assert len(circle.inside()) == circle.sheet.modulus


def test_a_smaller_modulus_loses_one_sum() -> None:
    """Negative control: with n g + 2τ one of -τ and n g + τ, and no other, is off by a whole modulus."""
    circle = Circle(n=3, g=2, tau=4, short=1)
    wrong = circle.errors(circle.inside())
    assert np.count_nonzero(wrong) == 1
    assert abs(wrong).max() == circle.sheet.modulus
    assert circle.cases() == 1


# Messages.


@pytest.mark.parametrize("name", NAMES)
def test_what_is_sent_is_counted_and_read_back(name: str) -> None:
    """Bytes by the logarithm, and the unpacked messages decode to what the protocol returned."""
    sheet = sheet_of(name, 5, HALF, p=Fraction(1, 100))
    rewards = [0.0, 0.3, 0.5, 0.9, 1.0]
    packed, same = sent_over_the_wire(sheet, rewards, np.random.default_rng(3))
    assert same
    assert len(packed) == math.ceil(5 * math.ceil(math.log2(sheet.modulus)) / 8)


@pytest.mark.parametrize("name", ["dist_dp_se", "ldp_se", "cdp_se"])
def test_a_lossy_wire_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: if one message arrives one too large, the sum does not decode to the same."""
    honest = sent_bits.unpack_residues

    def lossy(packed: bytes, *, modulus: int, count: int) -> list[int]:
        first, *others = honest(packed, modulus=modulus, count=count)
        return [(first + 1) % modulus, *others]

    sheet = sheet_of(name, 4, HALF, p=Fraction(1, 100))
    calls = iter([honest, lossy])  # a distributed run reads inside the protocol, then once more here
    if name == "dist_dp_se":
        monkeypatch.setattr(sent_bits, "unpack_residues", lambda *a, **k: next(calls)(*a, **k))
    else:
        monkeypatch.setattr(sent_bits, "unpack_residues", lossy)
    assert not sent_over_the_wire(sheet, [1.0, 0.5, 0.5, 0.0], np.random.default_rng(3))[1]


def test_integers_survive_the_wire() -> None:
    """Elias' code read back, for small and large numbers of both signs; a cut word is refused."""
    numbers = [*range(-300, 301), 10**12, -(10**12)]
    stream = "".join(integer_bits(k) for k in numbers)
    assert read_integers(stream) == numbers
    assert read_integers("") == []
    for cut in (stream[:-1], "000"):
        with pytest.raises(InvalidParameterError, match="as many bits after its first 1"):
            read_integers(cut)


# Rates.


@pytest.mark.parametrize("name", NAMES)
def test_the_size_bound_holds_off_the_grid(name: str) -> None:
    """(3/2) log₂ n + log₂ C + 1 is proved for all n: also for odd sizes, other levels and scales. A rate of
    log₂ n alone is caught."""
    for n, epsilon, s, p in itertools.product(
        (1, 3, 1000, 999_983), (Fraction(1, 7), Fraction(3)), (1, 5), (HALF, Fraction(1, 10**9))
    ):
        size = bits(name, n, epsilon, s=s, p=p)
        with precision(100):
            assert ball(size) <= log_size_bound(name, n, epsilon, s=s, p=p)
    growth = bits(name, 2**20, Fraction(1)) - bits(name, 2**4, Fraction(1))
    assert growth > 16
    assert growth <= 1.5 * 16 + 1


def test_message_sizes_by_hand() -> None:
    """Theorem 1 at n = 4, ε = 1, p = 1/8: g = 2, τ = ⌈2 log 16⌉ = 6, m = 8 + 12 + 1 = 21: 5 bits."""
    sheet = polya_sheet(users=4, epsilon=1, tail_prob="1/8")
    assert (sheet.precision, sheet.noise_margin, sheet.modulus) == (2, 6, 21)
    assert bits("dist_dp_se", 4, Fraction(1), p=Fraction(1, 8)) == 5


def test_sizes_grow_with_the_budget() -> None:
    """App. B's "inverse in ε" fails by numbers: 2^10 users send 13, 16, 19 bits at ε = 1/10, 1, 10."""
    sizes = [bits("dist_rdp_se", 2**10, Fraction(e)) for e in ("1/10", "1", "10")]
    assert sizes == [13, 16, 19]
    ground = [bits("dist_rdp_se", 4, Fraction(1, k)) for k in (4000, 400, 40)]
    assert ground == sorted(ground, reverse=True)  # below 1/sqrt n the direction is the printed one


def test_the_gap_to_the_lower_bound_opens_below_one_over_n() -> None:
    """At ε = 1/n² the bound is 1 and a message takes 2 log₂ n bits and more; at ε = 1 both grow together."""
    for b in (4, 10, 20):
        assert bits("dist_dp_se", 2**b, Fraction(1, 4**b)) >= 2 * b
        assert bits("dist_dp_se", 2**b, Fraction(1)) <= 7 * 2 * b


@pytest.mark.parametrize("users", [2, 16])
def test_carried_bits_against_sums_over_one_message(users: int) -> None:
    """The bound covers every y, by direct summation over W; one of 2 log₂ m would not."""
    sheet: Sheet = shuffle_sheet(users=users, epsilon=1, tail_prob="1/8")
    distribution = PolyaDifference(shape=Fraction(1, users), log_ratio=Fraction(1, 4 * users))
    carries = np.arange(-60 * users, 60 * users + 1)
    chances = np.exp(distribution.logp(carries))
    means = [
        sum(p * len(integer_bits(y + sheet.modulus * int(w))) for w, p in zip(carries, chances, strict=True))
        for y in (0, 1, sheet.modulus // 2, sheet.modulus - 1)
    ]
    bound = carried_bits(sheet, Fraction(1, 4))
    assert max(means) <= bound
    assert bound < max(means) + 3
    assert bound > 2 * math.log2(sheet.modulus)


# Prose.


def test_explanations_are_whole_sentences() -> None:
    """No docstring of these audits holds the quotation marks of a literal that was split over two lines."""
    folder = Path(communication.__file__).parent
    nodes = [
        node
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    texts = [ast.get_docstring(node, clean=False) or "" for node in nodes]
    assert len(texts) > 300
    assert [text for text in texts if re.search(r'"\s*\n\s*"', text)] == []
