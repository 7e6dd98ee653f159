"""Enumerate shuffling and batches by themselves.

The rows cover the order of permuting and randomising, batches of unique users, and claims about other
papers that computation cannot check.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.core.claims import ApproxDP
from dpaudit.core.data import Integers, Records
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ceil_log2, ln
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.distributions import Counts, RandomisedResponse
from dpaudit.kernel.ball import upper_exact
from dpaudit.kernel.t2.shuffle import exact_response_delta
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.enumeration import enumerated
from dpaudit.suite import Chain, Step, evidence, inequality, integers, on, over, reals, step, steps
from dpaudit.suite.attempts import program_files
from dpaudit.suite.program_proofs import evidence_of

__all__ = ["message_distributions", "rows"]

rows = Group("Permutations and batches")

VIEW = View.of(SHUFFLER_OUTPUT)
Rows = Sequence[Sequence[Fraction]]


# Randomise, then shuffle, or the other way round


def _row(*weights: int) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


#: One table for all users, and one for each user.
SAME: list[Rows] = [[_row(3, 2, 1), _row(1, 2, 5), _row(1, 1, 1)]] * 4
OWN: list[Rows] = [[_row(3 + i, 2, 1), _row(1, 2 + i, 5), _row(1, 1, 1 + i)] for i in range(4)]


def message_distributions(
    tables: Sequence[Rows], data: tuple[int, ...]
) -> tuple[Counter[tuple[int, ...]], Counter[tuple[int, ...]]]:
    """Return the two distributions of the list of messages.

    In the first, each user randomises and the messages are permuted. In the second, the data are permuted
    and place i applies table i, as in the proof of Lemma B.4.
    """
    after, before = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    orders = [*itertools.permutations(range(len(data)))]
    for order in orders:
        for messages in itertools.product(range(3), repeat=len(data)):
            own, placed = Fraction(1, len(orders)), Fraction(1, len(orders))
            for place, person in enumerate(order):
                own *= tables[person][data[person]][messages[place]]
                placed *= tables[place][data[person]][messages[place]]
            after[messages] += own  # type: ignore[assignment]
            before[messages] += placed  # type: ignore[assignment]
    return after, before


def _distance(tables: Sequence[Rows], data: tuple[int, ...]) -> Fraction:
    after, before = message_distributions(tables, data)
    return sum((abs(after[y] - before[y]) for y in after | before), Fraction(0)) / 2


DATA = over(data=((0, 1), (0, 1, 2), (0, 0, 1), (2, 2, 2)))


@inequality(rows, "CZ22-B.4eq", "after Lemma B.4: permute and randomise", over=DATA, measure="left - right")
def same_distribution(data: tuple[int, ...]) -> tuple[Fraction, int]:
    """Randomise-then-shuffle and shuffle-then-randomise give the same distribution, for one fixed
    randomiser

    Compute the exact total variation distance of the lists of messages, with three inputs and three
    messages. The claimed value is 0.
    """
    return _distance(SAME, data), 0


@inequality(
    rows,
    "CZ22-B.4eq/own",
    "the same with a randomiser for each user",
    role="what-if",
    expect="refuted",
    over=over(data=((0, 1), (0, 1, 2))),
    measure="left - right",
)
def other_distribution(data: tuple[int, ...]) -> tuple[Fraction, int]:
    """The two orders give the same distribution when each user has a different randomiser

    The same enumeration uses a different table for each user, which the paper excludes.
    """
    return _distance(OWN, data), 0


# Batches of unique users

LOCAL, EPSILON, BATCH = Fraction(1), Fraction(1, 2), 2
RESPONSES = [RandomisedResponse(symbols=2, truth=bit, epsilon=LOCAL) for bit in (0, 1)]
#: A user's type: the answers to action 0 and to action 1.
TYPES = ((0, 1), (1, 0), (0, 0), (1, 1))
Users = Callable[[int], Sequence[int]]


def _batched(people: Users) -> Callable[[Coins, Any], None]:
    """Run two batches of two answers. The action of the second depends on the output of the first."""

    def program(coins: Coins, data: Any) -> None:
        action = 0
        for batch in range(2):
            answers = [RESPONSES[kind[action]] for kind in TYPES]
            counts = coins.aggregate(
                [answers[int(data[i])] for i in people(batch)],
                Counts(2),
                site=f"batch {batch}",
                to=SHUFFLER_OUTPUT,
            )
            action = int(counts[1] > 0)

    return program


def _one_batch() -> Fraction:
    """Return the exact delta of one batch at epsilon, rounded up to nine digits."""
    exact = upper_exact(exact_response_delta(users=BATCH, local=LOCAL, epsilon=EPSILON))
    return Fraction(math.ceil(exact * 10**9), 10**9)


def _claim(domain: str, delta: Fraction) -> ApproxDP:
    return ApproxDP(epsilon=EPSILON, delta=delta, view=VIEW, domain=domain)


UNIQUE, DECLARED = DataSets(records=4, values=(0, 1)), Records(Integers(0, 1), size=4)
RETURNING = DataSets(records=2, values=(0, 1, 2, 3))
UNIQUE_CLAIM, RETURNING_CLAIM = _claim(DECLARED.words, _one_batch()), _claim(str(RETURNING), _one_batch())
IN_PAIRS = _batched(lambda batch: (2 * batch, 2 * batch + 1))
SEPARATE = enumerated(UNIQUE_CLAIM, IN_PAIRS, over=UNIQUE)
TWICE = enumerated(RETURNING_CLAIM, _batched(lambda batch: (0, 1)), over=RETURNING)


@evidence(
    rows,
    "CZ22-S34par",
    "Section 3.4: unique users",
    claim=UNIQUE_CLAIM,
    role="step",
    fingerprint=SEPARATE.fingerprint,
)
def separate(run: Run) -> Outcome:
    """With unique users the adaptive protocol is as private as one batch: M = 2 batches of B = 2, (ε, δ) of
    one

    Users answer by randomised response (ε₀ = 1) and the answers are shuffled. The output of the first batch
    determines the action of the second. The program is proved. The lower bound enumerates all types of
    users, all neighbours and every path. ε = 1/2, δ the exact value of one batch.

    Proof: the batches before the changed user's have one distribution; given them, so do the batches after
    it, so the loss is the loss of the user's batch
    """
    proof = evidence_of(IN_PAIRS, UNIQUE_CLAIM, DECLARED, files=program_files())
    return Outcome([*SEPARATE(run), *proof.evidence], proof.notes)


@evidence(
    rows,
    "CZ22-S34par/returning",
    "the same with users who return",
    claim=RETURNING_CLAIM,
    role="what-if",
    expect="refuted",
    fingerprint=TWICE.fingerprint,
)
def returning(run: Run) -> list[Evidence]:
    """The protocol is as private as one batch when the same two users are in both

    The program is the same, with the same users in the second batch, so that each user's two answers
    compose.
    """
    return TWICE(run)


# Quoted regret bounds


DELTAS = reals(0, 1, "(]")


@step("local", over=over(delta="1 1/10 1/1000000"), prove=on(delta=DELTAS))
def _local_rate(delta: Fraction) -> Chain:
    """2 L^(1/4) T^(3/4)/sqrt ε <= sqrt(σT) <= 3 L^(1/4) T^(3/4)/sqrt ε"""
    squared = 32 * ln(Fraction(5, 2) / delta)  # of the local noise, times ε²
    level = ln(4 / delta)
    return {"sqrt(σT) <= 3 ...": (squared, 81 * level), "2 ... <= sqrt(σT)": (16 * level, squared)}


@step(
    "central",
    over=over(horizon=(1, 1000, 10**6, 10**9), delta="1 1/10 1/1000000"),
    prove=on(horizon=integers(1, None), delta=DELTAS),
)
def _central_rate(horizon: int, delta: Fraction) -> Chain:
    """T^(1/2)/sqrt ε <= sqrt(σT) <= 3 sqrt(m L) T^(1/2)/sqrt ε"""
    polylog = (1 + ceil_log2(horizon)) * ln(4 / delta)
    spread = 8 * polylog  # sqrt(m) times the noise of a node, times ε
    return {"sqrt(σT) <= 3 ...": (spread, 9 * polylog), "T^(1/2)/sqrt ε <= sqrt(σT)": (1, spread)}


@steps(rows, "CZ22-QREG", "Section 1, quoting Shariff and Sheffet, Zheng et al.")
def quoted_rates() -> list[Step]:
    """The quoted T^(1/2) and T^(3/4), over sqrt ε, are Lemma A.4's sqrt(σT) at their noise, up to
    logarithms

    σ = sqrt(T) times the local noise 4 sqrt(2 log(2.5/δ))/ε, or sqrt(m) times the noise 8 sqrt(m) L/ε of a
    node, m = 1 + ⌈log₂ T⌉; L = log(4/δ). Compare fourth powers without the factor T³/ε² (local), and squares
    without the factor T/ε (central).

    Note: powers of log 1/δ differ by a factor of the order of L^(1/4) in the central model; that the quoted
    papers prove their bounds is not checked
    """
    return [_local_rate, _central_rate]


rows.not_checkable(
    "CZ22-LB",
    reason="a lower bound quoted from Liao et al. for all algorithms in the local model, and a conjecture of "
    "Zheng et al.: no computation covers all algorithms, and the paper states neither as its own",
)
rows.not_checkable(
    "CZ22-REL",
    reason="reports claims of other papers (schedules, rates, communication): it is about texts, "
    "not about a mechanism of this paper",
)
