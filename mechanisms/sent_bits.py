"""Bits that users send: a real batch, packed and read back, and a bound on the mean of ``CarrySum``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpaudit.coins import Coins, Sampler, record
from dpaudit.distributions import Distribution, PolyaDifference
from dpaudit.reference.mechanisms.batch_protocol import BatchProtocol
from dpaudit.reference.mechanisms.fixed_point import encode
from dpaudit.reference.mechanisms.modular_sum import clipped, decoded_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet
from dpaudit.reference.mechanisms.wire import integer_bits, pack_residues, unpack_residues

__all__ = ["Wired", "carried_bits", "sent_over_the_wire"]


@dataclass
class Wired:
    """Secure aggregation that packs, unpacks and adds up every message.

    An ``Aggregator`` for one run; ``packed`` are the bytes of each batch.
    """

    packed: list[bytes] = field(default_factory=list)

    def __call__(self, coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> int:
        messages = [
            coins.draw(clipped(distribution, modulus=sheet.modulus), site="message")
            for distribution in distributions
        ]
        self.packed.append(pack_residues(messages, modulus=sheet.modulus))
        received = unpack_residues(self.packed[-1], modulus=sheet.modulus, count=len(distributions))
        return sum(received) % sheet.modulus


def sent_over_the_wire(
    sheet: Sheet, rewards: Sequence[float], rng: np.random.Generator
) -> tuple[bytes, bool]:
    """Return the bytes that the users of one batch of a real run send, and whether they decode correctly.

    They decode correctly if what the server unpacks decodes to what the protocol returned (with a trusted
    server: to the sum before its noise).
    """
    m, n = sheet.modulus, len(rewards)
    if sheet.trust == "distributed":
        wire = Wired()
        protocol = BatchProtocol(sheet=sheet, aggregator=wire)
        expected = protocol(Sampler(rng), rewards)
        packed = wire.packed[0]
    elif sheet.trust == "local":
        run = record(lambda coins, x: BatchProtocol(sheet=sheet)(coins, x), rewards, rng=rng)
        messages = next(site.value for site in run.sites if site.site == "message")
        packed, expected = pack_residues(messages.tolist(), modulus=m), run.returned
    else:
        encoded = [int(x) for x in encode(Sampler(rng), rewards, precision=sheet.precision)]
        packed, expected = pack_residues([x % m for x in encoded], modulus=m), sum(encoded) / sheet.precision
    received = unpack_residues(packed, modulus=m, count=n)
    return packed, decoded_sum(sum(received) % m, sheet) == expected


def carried_bits(sheet: Sheet, secagg_epsilon: Fraction) -> float:
    """Return an upper bound on the mean length of y + m W in Elias' code, for every y in Z_m.

    It uses the exact distribution of W up to a window and a geometric bound beyond. |y + m W| is below m (|W|
    + 1).
    """
    scale = sheet.users / secagg_epsilon
    distribution = PolyaDifference(shape=Fraction(1, sheet.users), log_ratio=1 / scale)
    counts = np.arange(4 * math.ceil(scale))
    chances = np.exp(distribution.logp(counts)) * np.where(counts > 0, 2, 1)
    lengths = np.array([len(integer_bits(-sheet.modulus * (int(k) + 1))) for k in counts])
    # P(W = k + 1) <= e^(-1/scale) P(W = k): a mass of at most ``scale`` times the last one, spread over
    # ``scale`` steps on average. i steps from k >= 4 scale - 1 on add 2 log2(1 + i/(k + 1)) + 2 < i + 2 bits.
    rest = float(chances[-1]) * float(scale) * (float(lengths[-1]) + 2 + float(scale))
    return (float(chances @ lengths) + rest) * (1 + 1e-9)
