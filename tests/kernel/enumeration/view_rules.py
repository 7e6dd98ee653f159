"""Cases for the rules about who sees what: actions after a public statistic, post-processing, simulation.

Each hypothesis of these rules is in words. Some of the cases break it; then the words must be an assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dpaudit.certify import build
from dpaudit.core.claims import Adjacency, Unit
from tests.kernel.enumeration import oracle
from tests.kernel.enumeration.cases import Case, generates
from tests.kernel.enumeration.composition_rules import SCALES, noisy
from tests.kernel.enumeration.data import Data, Pair, Situation, move, pairs_in, values_of
from tests.kernel.enumeration.oracle import Distribution, joint
from tests.kernel.enumeration.queries import choose, random_sum, random_table

__all__ = ["LEFT_OUT", "NO_SHARES"]

#: What joint privacy must say of the changed data, and of noise that the other users made.
LEFT_OUT = r"left out"
NO_SHARES = r"no(ne| share|body).*noise|noise.*(no |not )"

OWN_MESSAGES = r"neither their own messages"

#: Words of a hypothesis; it is true of some cases and false of others.
WORDS = "the hypothesis in words"


def _joint_view(situation: Situation) -> bool:
    return situation.view.complement


def _joint_event(situation: Situation) -> bool:
    return (
        situation.view.complement
        and situation.adjacency is Adjacency.REPLACE_ONE
        and situation.unit is Unit.EVENT
    )


def _own(data: Data, who: int) -> tuple[int | None, ...]:
    return tuple(value for owner, value in data if owner == who)


def _changed_user(situation: Situation) -> Sequence[Pair]:
    """Per user, joint privacy is about the user left out; per event, its owner may be anybody."""
    pairs = pairs_in(situation)
    return [pair for pair in pairs if pair.owner == 0] if situation.unit is Unit.USER else pairs


def _actions(rng: np.random.Generator, outcomes: int) -> Any:
    """What users 1 and 2 do: a random distribution over two actions, by statistic and own data."""
    keys = [k for size in range(4) for k in product((0, 1, 2, None), repeat=size)]
    chance = {
        (who, o, key): 0.05 + 0.9 * rng.random() for who in (1, 2) for o in range(outcomes) for key in keys
    }

    def acts(data: Data, outcome: int) -> Distribution:
        rates = [chance[who, outcome, _own(data, who)] for who in (1, 2)]
        return joint(*(np.array([rate, 1 - rate]) for rate in rates))

    return acts


@generates("billboard", holds=_joint_view, close=0.9)
def billboard(rng: np.random.Generator, situation: Situation) -> Case:
    """Users act on a noisy count and on their own data."""
    pairs, scale, acts = _changed_user(situation), choose(rng, SCALES), _actions(rng, 3)
    query = random_table(rng, range(3))
    moved = move(pairs, query, lambda a, b: abs(a - b))
    statistic = noisy(query, scale)

    def distribution(data: Any) -> Distribution:
        return np.concatenate([p * acts(data, o) for o, p in enumerate(statistic(values_of(data)))])

    return Case(
        proof=lambda: build.billboard(
            build.discrete_laplace_mechanism(sensitivity=moved, scale=scale), actions="best reply"
        ),
        distribution=distribution,
        pairs=pairs,
        reads=lambda data: data,
        conditions={LEFT_OUT: lambda pair: pair.owner == 0},
    )


@generates("billboard:shares", holds=lambda situation: False, close=0.0, count=6)
def billboard_shares(rng: np.random.Generator, situation: Situation) -> Case:
    """The same when the noise is made of shares of users 0 and 1, and user 1 knows his own."""
    pairs, scale, acts = _changed_user(situation), choose(rng, [Fraction(1), Fraction(2)]), _actions(rng, 7)
    query = random_sum(rng, [0, 1])
    moved = max(1, move(pairs, query, lambda a, b: abs(a - b)))
    noise = oracle.polya_difference(0.5, float(scale), 8)

    def distribution(data: Any) -> Distribution:
        statistic = oracle.lattice(noise, query(values_of(data)), -2, 4)
        return np.concatenate([p * acts(data, o) for o, p in enumerate(statistic)])

    return Case(
        proof=lambda: build.billboard(
            build.polya_noise(sensitivity=moved, scale=scale, share=1), actions="best reply"
        ),
        distribution=distribution,
        pairs=pairs,
        reads=lambda data: data,
        conditions={LEFT_OUT: lambda pair: pair.owner == 0, NO_SHARES: lambda pair: False},
    )


@generates("billboard:shuffled", holds=_joint_event, close=0.7, count=24)
def billboard_shuffled(rng: np.random.Generator, situation: Situation) -> Case:
    """Users act on shuffled randomised responses and on their own data; in half of the cases they also know
    the messages that they sent."""
    epsilon, knowing = choose(rng, [Fraction(1, 2), Fraction(1)]), bool(rng.integers(2))
    keep = float(1 / (1 + np.exp(-float(epsilon))))
    pairs = [pair for pair in pairs_in(situation) if _one_bit_each(pair.left) and _one_bit_each(pair.right)]
    acts = _actions(rng, 4)

    def distribution(data: Any) -> Distribution:
        chances = [keep if value == 1 else 1 - keep for _, value in data]
        own = [k for k, (who, _) in enumerate(data) if who != 0]
        blocks: dict[tuple[int, ...], Distribution] = {}
        for bits in product((0, 1), repeat=len(data)):
            weight = float(np.prod([c if b else 1 - c for c, b in zip(chances, bits, strict=True)]))
            key = (sum(bits), *(bits[k] for k in own if knowing))
            blocks[key] = blocks.get(key, 0.0) + weight * acts(data, sum(bits))
        size = 4 * 2**3
        flat = np.zeros(4 * size)
        for key, block in blocks.items():
            place = key[0] * size + 4 * sum(2**k * b for k, b in enumerate(key[1:]))
            flat[place : place + 4] += block
        return flat

    return Case(
        proof=lambda: build.billboard(
            build.shuffled(build.randomised_response(epsilon=epsilon), users=2), actions="best reply"
        ),
        distribution=distribution,
        pairs=pairs,
        reads=lambda data: data,
        conditions={LEFT_OUT: lambda pair: pair.owner == 0, OWN_MESSAGES: lambda pair: not knowing},
    )


def _one_bit_each(data: Data) -> bool:
    """Two or three users with one bit each."""
    owners = [who for who, value in data if value in (0, 1)]
    return len(data) == len(owners) == len(set(owners)) and len(data) >= 2


@generates("post-processing")
def post_processing(rng: np.random.Generator, situation: Situation) -> Case:
    """A random map of a noisy count; in a third of the cases the data decide besides which map it is."""
    pairs, scale = pairs_in(situation), choose(rng, SCALES)
    query, other, false = random_table(rng, range(3)), random_table(rng, range(2)), int(rng.integers(3)) == 0
    moved = move(pairs, query, lambda a, b: abs(a - b))
    maps = (
        0.1 * rng.dirichlet(np.ones(3), size=(2, 3)) + 0.9 * np.eye(3)[rng.permuted([[0, 1, 2]] * 2, axis=1)]
    )

    def distribution(values: Any) -> Distribution:
        return np.asarray(noisy(query, scale)(values) @ maps[other(values) if false else 0])

    return Case(
        proof=lambda: build.post_processing(
            build.discrete_laplace_mechanism(sensitivity=moved, scale=scale), function=WORDS
        ),
        distribution=distribution,
        pairs=pairs,
        conditions={WORDS: lambda pair: not false},
    )


@generates("relaxed", close=0.7)
def relaxed(rng: np.random.Generator, situation: Situation) -> Case:
    """Outputs within exp(±h) of a simulator, leaning as the data say; in a third of the cases further."""
    pairs, scale = pairs_in(situation), choose(rng, SCALES)
    query, lean, false = random_table(rng, range(3)), random_table(rng, range(2)), int(rng.integers(3)) == 0
    moved = move(pairs, query, lambda a, b: abs(a - b))
    security = choose(rng, [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
    simulated = 0.2 / 4 + 0.8 * np.repeat(np.eye(3), 2, axis=1) @ np.diag([0.5] * 6)[:, :6]
    simulated = simulated / simulated.sum(axis=1, keepdims=True)
    factor = float(security) * (3 if false else 1) / 2

    def distribution(values: Any) -> Distribution:
        signs = np.where((np.arange(6) + lean(values)) % 2, 1.0, -1.0)
        shown = simulated * np.exp(factor * signs)
        return np.asarray(noisy(query, scale)(values) @ (shown / shown.sum(axis=1, keepdims=True)))

    return Case(
        proof=lambda: build.relaxed_release(
            build.discrete_laplace_mechanism(sensitivity=moved, scale=scale), security=security, release=WORDS
        ),
        distribution=distribution,
        pairs=pairs,
        conditions={WORDS: lambda pair: not false},
    )
