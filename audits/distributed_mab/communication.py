"""Bits that one user sends: over the wire in real runs, in Theorem 3's S, and by formula.

Every message is a residue modulo m = n g + 2τ + 1: ⌈log₂ m⌉ bits. What Theorem 3's S adds is that of
``CarrySum``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from algorithms.mab.distributed_elimination import variant
from dpaudit.coins import Coins, Sampler, record
from dpaudit.exact_functions import log2, log_of_two_over
from dpaudit.kernel.ball import arb, ball
from dpaudit.laws import Law, PolyaDifference
from mechanisms.batch_protocol import BatchProtocol
from mechanisms.fixed_point import encode
from mechanisms.modular_sum import clipped, decoded_sum
from mechanisms.parameter_sheet import LAPLACE_SUM_CONSTANT, Sheet
from mechanisms.wire import bits_per_residue, integer_bits, pack_residues, unpack_residues

__all__ = ["TAIL", "Wired", "bits", "carried_bits", "log_size_bound", "sent_over_the_wire", "sheet_of"]

TAIL = Fraction(1, 2**20)


def sheet_of(name: str, n: int, epsilon: Fraction, *, s: int = 1, p: Fraction = TAIL) -> Sheet:
    """The sheet of a variant (``distributed_elimination.NAMES``) for ``n`` users; most ignore ``s``."""
    return variant(name, epsilon=epsilon, failure_prob=p, scale_factor=s).sheet(n)


@lru_cache(maxsize=4096)
def bits(name: str, n: int, epsilon: Fraction, *, s: int = 1, p: Fraction = TAIL) -> int:
    """⌈log₂ m⌉ of a variant's sheet."""
    return bits_per_residue(sheet_of(name, n, epsilon, s=s, p=p).modulus)


def log_size_bound(name: str, n: int, epsilon: Fraction, *, s: int, p: Fraction) -> Any:
    """(3/2) log₂ n + log₂ C + 1, with C in ε, s and L = log(2/p) alone, not in n.

    g <= s ε sqrt(n) + 1 and τ <= g × margin + rest + 1 give m <= n^{3/2} ((s ε + 1)(1 + 2 margin) + 2 rest +
    3), as n >= 1: the margin per unit of g is L/ε, or that of the variant.
    """
    budget, level = (epsilon / 2, p / 2) if name.startswith("shuffle") else (epsilon, p)
    spread, rest = log_of_two_over(level), arb(0)
    margin = spread / ball(budget)
    if name == "dist_rdp_se":
        margin, rest = 2 * spread.sqrt() / ball(budget), arb(2).sqrt() * spread
    elif name == "dist_cdp_se":
        margin = (2 * spread).sqrt() / ball(budget)
    elif name == "ldp_se":  # its τ has a root of n besides, which n g has too
        margin = ball(LAPLACE_SUM_CONSTANT) * (2 * spread).sqrt() / ball(budget)
    factor = s if name in ("dist_rdp_se", "dist_cdp_se") else 1
    constant = (ball(factor * budget) + 1) * (1 + 2 * margin) + 2 * rest + 3
    return ball(Fraction(3, 2)) * log2(n) + log2(constant) + 1


@dataclass
class Wired:
    """Secure aggregation that takes every message over the wire: packed, unpacked, added up. An
    ``Aggregator`` for one run; ``packed`` are the bytes of each batch."""

    packed: list[bytes] = field(default_factory=list)

    def __call__(self, coins: Coins, laws: Sequence[Law], sheet: Sheet) -> int:
        messages = [coins.draw(clipped(law, modulus=sheet.modulus), site="message") for law in laws]
        self.packed.append(pack_residues(messages, modulus=sheet.modulus))
        received = unpack_residues(self.packed[-1], modulus=sheet.modulus, count=len(laws))
        return sum(received) % sheet.modulus


def sent_over_the_wire(
    sheet: Sheet, rewards: Sequence[float], rng: np.random.Generator
) -> tuple[bytes, bool]:
    """One batch of a real run: the bytes that its users send, and whether what the server unpacks from them
    decodes to what the protocol returned (with a trusted server: to the sum before its noise)."""
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
    """An upper bound on the mean length of y + m W in Elias' code, whatever y in Z_m is, from the exact law
    of W up to a window and a geometric bound beyond. |y + m W| is below m (|W| + 1)."""
    scale = sheet.users / secagg_epsilon
    law = PolyaDifference(shape=Fraction(1, sheet.users), log_ratio=1 / scale)
    counts = np.arange(4 * math.ceil(scale))
    chances = np.exp(law.logp(counts)) * np.where(counts > 0, 2, 1)
    lengths = np.array([len(integer_bits(-sheet.modulus * (int(k) + 1))) for k in counts])
    # P(W = k + 1) <= e^(-1/scale) P(W = k): a mass of at most ``scale`` times the last one, spread over
    # ``scale`` steps on average. i steps from k >= 4 scale - 1 on add 2 log2(1 + i/(k + 1)) + 2 < i + 2 bits.
    rest = float(chances[-1]) * float(scale) * (float(lengths[-1]) + 2 + float(scale))
    return (float(chances @ lengths) + rest) * (1 + 1e-9)
