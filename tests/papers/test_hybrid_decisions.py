"""Hybrid-UCB's decisions lose 3/2 of epsilon: event, proof and checker against independent programs.

``Literal`` is Algorithm 4 as printed, from lists of observations, and shares nothing with the audit. Its
noise is given, drawn, or symbolic (unit vectors), which turns it into the linear inequalities of an event.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from audits.private_online_learning.hybrid_decisions import (
    DECISIONS,
    HORIZON,
    decision_event,
    decision_loss_bounds,
    decision_witness,
    reward_vectors,
)
from dpaudit.certify.witnesses.window_event import event_rows, window_event_bound
from dpaudit.certify.witnesses.window_search import with_proof
from dpaudit.coins.sampler import Sampler
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import NotTractableError
from dpaudit.core.evidence import evidence_from_json
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.reference.algorithms.environment import PotentialOutcomes
from dpaudit.reference.algorithms.mab import hybrid_ucb
from dpaudit.reference.algorithms.play import play
from dpaudit.reference.mechanisms.hybrid_charges import largest_charge
from dpaudit.reference.mechanisms.hybrid_counter import HybridCounter, HybridNoise
from tests.rates import FALSE_FAILURE_RATE

Key = tuple[Any, ...]
PAPER_EPSILONS = ("0.1", "0.25", "0.5", "1", "8", "64", "128")


class Literal:
    """Algorithm 4, line by line. ``noise(key, scale)`` has the keys (arm, "F", r) for array r and
    (arm, "B", r, first, last) for the p-sum of these leaves of tree r.
    """

    def __init__(self, epsilon: float, noise: Callable[[Key, float], Any]) -> None:
        self.epsilon, self.noise = epsilon, noise
        self.arrays: list[list[list[float]]] = [[[]], [[]]]  # F^(0), F^(1), ... of each arm
        self.trees: list[list[float]] = [[], []]
        self.pulls, self.means = [0, 0], [0.0, 0.0]

    def pull(self, arm: int, reward: float) -> None:
        """Insert, release (32) to (34), and only then look whether tree and array are full."""
        self.pulls[arm] += 1
        arrays, r = self.arrays[arm], len(self.arrays[arm]) - 1
        arrays[r].append(reward)
        if self.pulls[arm] == 1:
            self.means[arm] = sum(arrays[0]) + self.noise((arm, "F", 0), 2 / self.epsilon)
        else:
            self.trees[arm].append(reward)
            total = sum(sum(f) for f in arrays[:r]) + sum(self.trees[arm])
            total = total + sum(self.noise((arm, "F", k), 2 / self.epsilon) for k in range(r))
            for first, last in self.psums(len(self.trees[arm])):
                total = total + self.noise((arm, "B", r, first, last), 2 * r / self.epsilon)
            self.means[arm] = total / self.pulls[arm]
        if self.pulls[arm] == sum(2**k for k in range(r + 1)):
            arrays.append([])
            self.trees[arm] = []

    @staticmethod
    def psums(leaves: int) -> list[tuple[int, int]]:
        """The dyadic blocks of leaves 1..n, the longest first."""
        blocks, first = [], 1
        while first <= leaves:
            size = max(2**k for k in range(leaves + 1) if 2**k <= leaves - first + 1)
            blocks.append((first, first + size - 1))
            first += size
        return blocks

    def index(self, arm: int, t: int) -> Any:
        """Equation 35."""
        count, log_t = self.pulls[arm], math.log2(t)
        private = 6 * math.sqrt(8) * log_t * math.floor(math.log2(count + 1)) / (count * self.epsilon)
        return self.means[arm] + math.sqrt(3 * log_t / count) + private


def decisions(
    epsilon: float, rewards: Sequence[tuple[int, int]], noise: Callable[[Key, float], float]
) -> list[int]:
    """The arms (1 or 2) that ``Literal`` pulls on the reward vectors."""
    run, arms = Literal(epsilon, noise), []
    for t, vector in enumerate(rewards, start=1):
        arm = t - 1 if t <= 2 else int(run.index(1, t) > run.index(0, t))
        run.pull(arm, vector[arm])
        arms.append(arm + 1)
    return arms


def inequalities(
    epsilon: float, rewards: Sequence[tuple[int, int]], path: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, dict[Key, int], np.ndarray]:
    """The event "the decisions are ``path``" as A n + c > 0, the noises' places and their scales."""
    size, place, scales = 4 * len(path), {}, {}

    def unit(key: Key, scale: float) -> np.ndarray:
        place.setdefault(key, len(place))
        scales[key] = scale
        return np.eye(size + 1)[1 + place[key]]

    run, rows = Literal(epsilon, unit), []
    constant = np.eye(size + 1)[0]
    for t, (vector, number) in enumerate(zip(rewards, path, strict=True), start=1):
        arm = number - 1
        if t > 2:  # floats added to a vector mean multiples of the constant: keep them apart
            rows.append(_affine(run, arm, t, constant) - _affine(run, 1 - arm, t, constant))
        run.pull(arm, vector[arm])
    stacked = np.array(rows)
    return stacked[:, 1 : 1 + len(place)], stacked[:, 0], place, np.array([scales[key] for key in place])


def _affine(run: Literal, arm: int, t: int, constant: np.ndarray) -> np.ndarray:
    # index() adds its float part to every entry of the vector; one that no noise touches shows how much.
    value = run.index(arm, t)
    return value - value[-1] + value[-1] * constant


def key_of(name: str) -> Key:
    """The literal program's key for a noise of the audit."""
    arm, label = name.split("/")
    if label[0] == "Z":
        return int(arm) - 1, "F", int(label[1:])
    level, height, position = (int(part) for part in label[1:].split(":"))
    return int(arm) - 1, "B", level, position * 2**height + 1, (position + 1) * 2**height


def box_noise(epsilon: float, rng: np.random.Generator) -> dict[str, float]:
    """A random point of the proof's box, in the mechanism's own unit."""
    body, u = decision_event(), epsilon / 2
    half = float(Fraction(body["box"]["half_width"]))
    noise = {}
    for name, scale in body["scales"].items():
        x0, x1 = (float(Fraction(x)) for x in body["box"]["centre"].get(name, ("0", "0")))
        noise[name] = (x0 + u * x1 + rng.uniform(-half, half) * float(Fraction(scale))) / u
    return noise


def scripted(noise: dict[str, float]) -> Callable[[Key, float], float]:
    by_key = {key_of(name): value for name, value in noise.items()}
    return lambda key, scale: by_key.get(key, 0.0)  # other noises belong to other sequences


class ScriptedCoins(Sampler):
    """Gives one arm's counter the noises of a script instead of drawing them."""

    def __init__(self, arm: int, noise: dict[str, float]) -> None:
        super().__init__(np.random.default_rng(0))
        self.arm, self.script, self.seen = arm, noise, {}

    def release(self, value: Any, noise: Any, *, site: str, to: Any = None) -> Any:
        count = self.seen[site] = self.seen.get(site, 0) + 1
        if site == "array":
            return value + self.script.get(f"{self.arm}/Z{count - 1}", 0.0)
        height = (count & -count).bit_length() - 1  # the node that is complete with leaf number ``count``
        return value + self.script[f"{self.arm}/Y{site[5:]}:{height}:{(count >> height) - 1}"]


@pytest.mark.parametrize("epsilon", PAPER_EPSILONS)
def test_box_and_its_shift_produce_the_decisions_from_both_data_sets(epsilon: str) -> None:
    """Every noise of the box gives E from D, and shifted by one reward E from D', in the literal program."""
    rng = np.random.default_rng(1)
    shift = {name: float(v) for name, v in decision_event()["shift"].items()}
    for _ in range(10):
        noise = box_noise(float(epsilon), rng)
        moved = {name: value - shift.get(name, 0.0) for name, value in noise.items()}
        assert tuple(decisions(float(epsilon), reward_vectors(neighbour=False), scripted(noise))) == DECISIONS
        assert tuple(decisions(float(epsilon), reward_vectors(neighbour=True), scripted(moved))) == DECISIONS


def test_reference_algorithm_makes_the_same_decisions() -> None:
    """The audited implementation, fed the same noise, produces E too: E is about the program under audit."""
    noise = box_noise(1.0, np.random.default_rng(2))
    arms = iter((1, 2))
    strategy = hybrid_ucb.strategy(
        epsilon=1,
        variant="printed",
        counter=lambda coins: HybridCounter(
            ScriptedCoins(next(arms), noise), HybridNoise(epsilon=1, variant="printed")
        ),
    )
    data = np.array(reward_vectors(neighbour=False), dtype=float)
    runs = play(strategy, Sampler(np.random.default_rng(0)), PotentialOutcomes(data))
    assert [arm + 1 for arm, count in runs for _ in range(count)] == list(DECISIONS)


@pytest.mark.parametrize("name", ["1/Z0", "1/Y1:0:0", "1/Y1:1:0", "1/Z1", "1/Y2:0:0"])
def test_other_noise_gives_other_decisions(name: str) -> None:
    """Each of these noises matters: raised far above 0, the sequence is another one (negative control)."""
    noise = box_noise(1.0, np.random.default_rng(3))
    noise[name] = 200.0
    found = tuple(decisions(1.0, reward_vectors(neighbour=False), scripted(noise)))
    assert len(found) == HORIZON
    assert found != DECISIONS


def test_the_file_s_rows_are_those_of_the_literal_program() -> None:
    """Sums, scales and bonus of the witness give the inequalities that the literal program does."""
    epsilon = 3.0
    body, u = decision_event(), epsilon / 2
    matrix, constants, place, scales = inequalities(epsilon, reward_vectors(neighbour=False), DECISIONS)
    assert {key_of(name) for name in body["scales"]} >= set(place)
    for name, scale in body["scales"].items():
        if key_of(name) in place:
            assert scales[place[key_of(name)]] == pytest.approx(float(Fraction(scale)) / u)
    rows = event_rows(body)
    for t in range(3, HORIZON + 1):
        row = rows[f"{t}/{3 - DECISIONS[t - 1]}"]
        dense = np.zeros(len(place))
        for name, value in row.coefficients.items():
            dense[place[key_of(name)]] = float(value)
        np.testing.assert_allclose(dense, matrix[t - 3], atol=1e-12)
        expected = float(row.constant.mid()) / u + float(row.slope.mid())
        assert constants[t - 3] == pytest.approx(expected, abs=1e-9)


class Conditional:
    """Gibbs sampling from the noise given an event A n + c > 0."""

    def __init__(self, event: tuple[Any, ...], start: np.ndarray, rng: np.random.Generator) -> None:
        self.matrix, self.constants, self.place, self.scales = event
        self.state, self.rng = start.copy(), rng
        self.slack = self.matrix @ start + self.constants
        assert (self.slack > 0).all(), "the chain must start inside the event"

    def sweep(self) -> None:
        for i, scale in enumerate(self.scales):
            column = self.matrix[:, i]
            room = self.slack - column * self.state[i]
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = -room / column
            low = ends[column > 0].max(initial=-np.inf)
            high = ends[column < 0].min(initial=np.inf)
            self.state[i] = truncated_laplace(low, high, scale, self.rng)
            self.slack = room + column * self.state[i]

    def slide(self, direction: np.ndarray, step: float) -> None:
        """A Metropolis step along a direction that changes no comparison."""
        move = self.rng.normal(0, step) * direction
        change = ((np.abs(self.state) - np.abs(self.state + move)) / self.scales).sum()
        if math.log(self.rng.uniform()) < change:
            self.state += move


def truncated_laplace(low: float, high: float, scale: float, rng: np.random.Generator) -> float:
    """Lap(scale) given [low, high], stable far out in a tail."""
    if low >= 0 or high <= 0:
        sign, near, far = (1, low, high) if low >= 0 else (-1, -high, -low)
        mass = -math.expm1(-(far - near) / scale)
        return float(sign * (near - scale * math.log1p(-rng.uniform() * mass)))
    below, above = -math.expm1(low / scale), -math.expm1(-high / scale)
    if rng.uniform() * (below + above) < below:
        return truncated_laplace(low, 0.0, scale, rng)
    return truncated_laplace(0.0, high, scale, rng)


def likelihood_ratio(chain: Conditional, shifted: Sequence[int]) -> float:
    """p(n - v) / p(n) at the state: its mean over the event is P(E|D') / P(E|D)."""
    n, b = chain.state[list(shifted)], chain.scales[list(shifted)]
    return float(np.exp(((np.abs(n) - np.abs(n - 1)) / b).sum()))


def test_sampling_inside_the_event_gives_the_certified_ratio() -> None:
    """Independently of the proof, given E the mean of p(n - v) / p(n) is exp(-3/2 epsilon).

    The chain starts with Z1 > 0, which has probability below exp(-20) given E, and has to leave it by itself.
    """
    epsilon, rng = 1.0, np.random.default_rng(4)
    event = inequalities(epsilon, reward_vectors(neighbour=False), DECISIONS)
    place = event[2]
    noise = box_noise(epsilon, rng)
    start = np.array([{key_of(name): value for name, value in noise.items()}[key] for key in place])
    direction = np.zeros(len(place))
    direction[place[key_of("1/Z1")]] = -1
    direction[[place[key_of(f"1/Y2:{h}:0")] for h in (0, 1, 2)]] = 1
    z1 = place[key_of("1/Z1")]
    chain = Conditional(event, start + direction * (start[z1] - 5), rng)
    shifted = [place[key_of(name)] for name in decision_event()["shift"]]
    assert chain.state[z1] > 0
    ratios = []
    for sweep in range(200):
        chain.sweep()
        for _ in range(5):
            chain.slide(direction, 10 / epsilon)
        if sweep >= 100:
            ratios.append(likelihood_ratio(chain, shifted))
    loss, _, _ = decision_loss_bounds(1)
    assert -math.log(np.mean(ratios)) == pytest.approx(float(loss), abs=1e-6)


#: A small relative of E, likely enough to be seen directly; the changed reward is again arm 1's second.
TOY_EPSILON, TOY_PATH, TOY_CHANGE, TOY_RUNS = 4.0, [1, 2, 2, 1, 2, 2, 2, 1, 1], 4, 8_000


def toy_rewards(*, neighbour: bool) -> list[tuple[int, int]]:
    return [(int(neighbour and t == TOY_CHANGE), 0) for t in range(1, len(TOY_PATH) + 1)]


def toy_frequency(rewards: Sequence[tuple[int, int]], rng: np.random.Generator) -> float:
    """How often the literal program, drawing its noise, makes the toy's decisions."""
    hits = 0
    for _ in range(TOY_RUNS):
        drawn: dict[Key, float] = {}

        def noise(key: Key, scale: float, drawn: dict[Key, float] = drawn) -> float:
            return drawn.setdefault(key, float(rng.laplace(0, scale)))

        hits += decisions(TOY_EPSILON, rewards, noise) == TOY_PATH
    return hits / TOY_RUNS


def test_conditional_sampling_agrees_with_simulation_on_a_small_event() -> None:
    """The ratio from inside a likely event is that of two frequencies: the method is right."""
    rng = np.random.default_rng(5)
    before, after = (toy_frequency(toy_rewards(neighbour=side), rng) for side in (False, True))
    event = inequalities(TOY_EPSILON, toy_rewards(neighbour=False), TOY_PATH)
    matrix, constants, place, scales = event
    while True:  # a starting point by rejection
        start = rng.laplace(0, scales)
        if (matrix @ start + constants > 0).all():
            break
    chain = Conditional(event, start, rng)
    # Arm 1's second pull is leaf 1 of its first tree; the toy ends before that tree's array is used.
    shifted = [place[0, "B", 1, 1, 1], place[0, "B", 1, 1, 2]]
    assert not matrix[:, place[0, "F", 1]].any()
    ratios = np.empty(3000)
    for sweep in range(len(ratios)):
        chain.sweep()
        ratios[sweep] = likelihood_ratio(chain, shifted)
    blocks = ratios.reshape(30, -1).mean(axis=1)
    z = norm.isf(FALSE_FAILURE_RATE / 2)
    spread = math.hypot(
        math.sqrt((1 - before) / (before * TOY_RUNS) + (1 - after) / (after * TOY_RUNS)),
        blocks.std(ddof=1) / math.sqrt(len(blocks)) / ratios.mean(),
    )
    assert spread < 0.15, "the comparison must be sharp enough to mean something"
    assert math.log(after / before) < -5 * spread, "the toy must tell the data sets apart"
    assert abs(math.log(ratios.mean()) - math.log(after / before)) < z * spread


@pytest.mark.parametrize("epsilon", PAPER_EPSILONS)
def test_loss_exceeds_epsilon_and_no_more_than_three_halves(epsilon: str) -> None:
    """At each epsilon of the paper's experiments the bounds meet at 3/2 epsilon, up to a millionth."""
    low, high, text = decision_loss_bounds(epsilon)
    assert Fraction(epsilon) * Fraction(1499999, 10**6) < low < high == Fraction(epsilon) * Fraction(3, 2)
    assert "no sequence loses more" in text


def test_promoted_variant_is_not_refuted_and_has_no_slack() -> None:
    """The same event on the variant that never releases a root loses epsilon, not more (negative control)."""
    low, high, _ = decision_loss_bounds(1, variant="promoted")
    assert Fraction(999999, 10**6) < low <= high == 1


def test_a_noise_that_may_be_positive_has_no_tail() -> None:
    """Arm 2 is pulled again and again, so that its Z0 is not below 0 on E: no multipliers show that it is."""
    with pytest.raises(NotTractableError, match="must have a solution"):
        with_proof(decision_event(), {"2/Z0": ()})


def test_accounting_agrees_with_the_noise_that_the_literal_program_uses() -> None:
    """1/scale summed over the noises used for an observation: 3/2 at the first leaf of the first tree."""
    used: dict[Key, float] = {}

    def noise(key: Key, scale: float) -> float:
        used[key] = scale
        return 0.0

    run = Literal(1.0, noise)
    for _ in range(2**6):
        run.pull(0, 0.0)
    for r in range(1, 6):
        charges = []
        for leaf in range(1, 2**r + 1):
            nodes = [key for key in used if key[1:3] == ("B", r) and key[3] <= leaf <= key[4]]
            charges.append(sum(1 / used[key] for key in nodes) + 1 / used[0, "F", r])
        assert charges[0] == max(charges) == pytest.approx(1 + 1 / (2 * r))
    assert largest_charge(5) == Fraction(3, 2)
    assert largest_charge(5, variant="repaired") == largest_charge(5, variant="promoted") == 1


def test_witness_survives_json_and_is_recomputed_from_it_alone() -> None:
    """The bound, recomputed from the JSON text at its own epsilon, refutes epsilon-DP and not 3/2 epsilon."""
    witness = decision_witness("0.5")
    read = evidence_from_json(json.loads(json.dumps(witness.to_json())))
    assert read == witness
    assert window_event_bound(read.body) == witness.bound > Fraction(1, 2)
    assert judge(PureDP(epsilon="0.5"), [read]).verdict is VerdictKind.REFUTED
    assert judge(PureDP(epsilon="0.75"), [read]).verdict is VerdictKind.INCONCLUSIVE
