"""CZ23-COMM: bits that one user sends, measured from real messages of real runs.

Every message is a residue modulo m = n g + 2τ + 1: ⌈log₂ m⌉ bits. What Theorem 3's S adds is measured with
``CarrySum``. Sizes by formula and the rates: ``message_rates``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from audits.distributed_mab import message_rates
from audits.distributed_mab.message_rates import NAMES, SHEETS, TAIL
from audits.inequalities import Inequality, Point, add_steps
from dpaudit.claims import MessageSize
from dpaudit.coins import Coins, Sampler, record
from dpaudit.evidence import Estimate
from dpaudit.exact_functions import log2
from dpaudit.kernel.ball import ball
from dpaudit.laws import Law, PolyaDifference
from dpaudit.plots import table
from dpaudit.suite import Outcome, Row, Run, Suite
from mechanisms.batch_protocol import BatchProtocol
from mechanisms.fixed_point import encode
from mechanisms.modular_sum import clipped, decoded_sum
from mechanisms.parameter_sheet import Sheet, shuffle_sheet
from mechanisms.wire import bits_per_residue, integer_bits, pack_residues, read_integers, unpack_residues

__all__ = ["Wired", "add_rows", "carried_bits", "sent_over_the_wire"]


def add_rows(suite: Suite) -> None:
    """The rows CZ23-COMM."""
    _measured(suite)
    message_rates.add_rows(suite)
    _before_shuffling(suite)


# Measured


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


def _measured(suite: Suite) -> None:
    quantity = "bytes of a batch beyond ⌈n ⌈log₂ m⌉ / 8⌉"

    def evaluate(run: Run) -> Outcome:
        """Run each variant's protocol on mixed rewards, pack the users' messages, count the bytes, unpack and
        decode them; padding of a batch's last byte is counted."""
        rng, surplus, broken = run.rng("wire"), [0], 0
        rows: list[list[Any]] = []
        for name in NAMES:
            for n in run.choose(quick=(2, 16), full=(2, 16, 64, 256)):
                sheet = SHEETS[name](n, Fraction(1, 2), Fraction(1, 1000), 1)
                rewards = np.linspace(0, 1, n) if name != "Dist-CDP-SE" else np.ones(n)
                packed, same = sent_over_the_wire(sheet, rewards.tolist(), rng)
                width = bits_per_residue(sheet.modulus)
                surplus.append(len(packed) - -(-n * width // 8))
                broken += not same
                rows.append([name, n, sheet.modulus, len(packed), 8 * len(packed) / n, width])
        worst = float(max(map(abs, surplus)) + broken)
        estimate = Estimate.exactly(
            worst,
            quantity=quantity,
            samples=len(rows),
            method="bytes of real messages, packed, unpacked and decoded",
            scope=f"{len(rows)} batches, ε = 1/2, p = 1/1000",
        )
        picture = table(
            title="Measured message sizes",
            columns=["variant", "n", "m", "bytes of the batch", "bits per user", "⌈log₂ m⌉"],
            rows=rows,
        )
        return Outcome([estimate], [], plots=[picture], samples=len(rows))

    claim = MessageSize(
        text="a batch of n users takes ⌈n ⌈log₂ m⌉ / 8⌉ bytes, m = n g + 2τ + 1, and unpacks to the same sum",
        quantity_name=quantity,
        claimed=0,
    )
    suite.add(
        Row(
            id="CZ23-COMM/measured",
            title="A user's message takes ⌈log₂ m⌉ bits, measured in all variants",
            kind="utility",
            claim=claim,
            evaluate=evaluate,
            source="Section 4, App. B",
        )
    )


# Theorem 3


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


def _before_shuffling(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        sizes = run.choose(quick=(2, 16), full=(2, 16, 64))
        return [{"n": n, "epsilon": Fraction(e)} for n in sizes for e in ("1/2", "1", "10")]

    def sheet_at(n: int, epsilon: Fraction) -> Sheet:
        return shuffle_sheet(users=n, epsilon=epsilon, tail_prob=TAIL)

    def most(n: int, epsilon: Fraction) -> Any:
        return 2 * bits_per_residue(sheet_at(n, epsilon).modulus) + 3 + 2 * log2(1 + 8 / epsilon)

    add_steps(
        suite,
        "CZ23-COMM/shuffle",
        title="Theorem 3: in CarrySum ⌈log₂ m⌉ bits before S become 2 ⌈log₂ m⌉ + 3 + 2 log₂(1 + 8/ε) at most",
        steps=[
            Inequality(
                name="carried",
                text="E length(y + m W) <= 2 ⌈log₂ m⌉ + 3 + 2 log₂(1 + 8/ε), every y in Z_m, on the grid",
                left=lambda n, epsilon: ball(
                    Fraction(carried_bits(sheet_at(n, Fraction(epsilon)), Fraction(epsilon) / 4))
                ),
                right=lambda n, epsilon: most(n, Fraction(epsilon)),
                points=points,
            )
        ],
        about=(
            "The theorem counts bits before S. What S adds is CarrySum's here: the mean length of "
            "the integer "
            "that a user sends, in Elias' code, from the exact law of W."
        ),
        source="Theorem 3: communication before S",
        scope="n = 2, 16 (full profile: 64), ε = 1/2, 1, 10, p = 2^-20",
        kind="utility",
        notes=[
            "for all n: length <= 2 log₂(2m (|W| + 1)) + 1 and E|W| <= 8/ε, with Jensen's inequality",
            "Cheu and Yan's bit-vector construction sends far more; the paper leaves its size to them",
        ],
    )
    _carried(suite)


def _carried(suite: Suite) -> None:
    quantity = "messages that do not survive the wire"

    def evaluate(run: Run) -> Outcome:
        """Real messages y_i + m W_i of one batch as bits and back: their sum is Σ y_i modulo m, whatever the
        carries are."""
        rng, wrong = run.rng("carried"), 0
        rows: list[list[float]] = []
        for n in (2, 16, 64):
            sheet = shuffle_sheet(users=n, epsilon=1, tail_prob=TAIL)
            law = PolyaDifference(shape=Fraction(1, n), log_ratio=Fraction(1, 4 * n))
            encoded = sheet.precision * rng.integers(0, 2, n)
            residues = (sheet.share.sample(rng, (n,)) + encoded) % sheet.modulus
            sent = (residues + sheet.modulus * law.sample(rng, (n,))).tolist()
            stream = "".join(integer_bits(int(z)) for z in sent)
            received = read_integers(stream)
            wrong += sum(a != b for a, b in zip(sent, received, strict=True))
            wrong += sum(received) % sheet.modulus != int(residues.sum()) % sheet.modulus
            most = carried_bits(sheet, Fraction(1, 4))
            rows.append([n, bits_per_residue(sheet.modulus), len(stream) / n, most])
        estimate = Estimate.exactly(
            wrong,
            quantity=quantity,
            samples=2 + 16 + 64,
            method="bits of real messages, written and read",
            scope="one batch each of n = 2, 16, 64 users, ε = 1",
        )
        picture = table(
            title="Bits per user before and in CarrySum",
            columns=["n", "⌈log₂ m⌉ before S", "measured in S", "bound on the mean"],
            rows=rows,
        )
        return Outcome([estimate], [], plots=[picture], samples=2 + 16 + 64)

    claim = MessageSize(
        text="CarrySum's integers survive the wire and add up to Σ y_i modulo m",
        quantity_name=quantity,
        claimed=0,
    )
    suite.add(
        Row(
            id="CZ23-COMM/shuffle/measured",
            title="CarrySum's messages as bits and back",
            kind="utility",
            claim=claim,
            evaluate=evaluate,
            source="Theorem 3, with CarrySum",
        )
    )
