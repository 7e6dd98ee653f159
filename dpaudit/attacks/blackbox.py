"""The black-box check: run a mechanism on pairs of neighbours and try to refute its claim.

    result = check(mechanism, PureDP(epsilon="1"), neighbours=[(0.0, 1.0)])
    print(result)

The mechanism is any callable ``(data, rng) -> output`` (or ``(data, rng, size) -> array`` with
``batch=True``). The attack learns events from past outputs and bets on them with fresh ones; it may stop at
any time, needs no sample splitting, and refutes a true claim with probability at most ``alpha`` over all
pairs, both directions and all stopping times. It can refute or stay inconclusive, never verify: no number
of samples can. What it assumes: calls are independent given the input, and all randomness is fresh in each
call.
"""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.attacks.blackbox_outcomes import OutcomeEncoder
from dpaudit.attacks.blackbox_power import Schedule, exclusive_probability, visible_epsilon
from dpaudit.attacks.blackbox_runs import Chunk, can_limit_time
from dpaudit.attacks.blackbox_search import Search, Target
from dpaudit.claims import ApproxDP, Model, PrivacyClaim, PureDP
from dpaudit.errors import InvalidParameterError, MechanismError
from dpaudit.evidence import Estimate
from dpaudit.exact import exact
from dpaudit.statistics.blocks import Workers
from dpaudit.verdicts import Judgement, VerdictKind, judge

__all__ = ["CheckResult", "check"]

#: What is tested is the claim a little loosened, so that a rejection refutes with the judge's margins.
EPSILON_MARGIN = 1e-8
DELTA_MARGIN = 2e-12
MAX_EPSILON = 40.0
REPLAYED_CALLS = 4
POWER_PROBABILITIES = (0.5, 0.1, 0.01)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CheckResult:
    """What a check found: the verdict, the estimate behind it, notes, and the event that spoke most against
    the claim.
    """

    claim: PrivacyClaim
    evidence: Estimate
    judgement: Judgement
    event: str
    notes: tuple[str, ...]

    @property
    def verdict(self) -> VerdictKind:
        """``REFUTED`` or ``INCONCLUSIVE``; samples never verify a privacy claim."""
        return self.judgement.verdict

    @property
    def samples(self) -> int:
        """Runs of the mechanism that entered the evidence."""
        return self.evidence.samples

    def __str__(self) -> str:
        percent = 100 * self.evidence.confidence
        lines = [
            f"{self.verdict.value.upper()}: {self.claim.in_words()}",
            f"  {self.evidence.quantity} > {self.evidence.lower:.4g} with {percent:g} % confidence "
            f"({self.samples:,} runs, {self.evidence.scope})",
        ]
        if self.event:
            lines.append(f"  most telling event: {self.event}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def check(
    mechanism: Callable[..., Any],
    claim: PrivacyClaim,
    *,
    neighbours: Sequence[tuple[Any, Any]],
    alpha: float = 0.05,
    seed: int = 0,
    max_samples: int = 100_000,
    batch: bool = False,
    jobs: int = 1,
    timeout: float | None = 60.0,
    stop_early: bool = True,
) -> CheckResult:
    """Try to refute ``claim`` by running ``mechanism`` on each pair of ``neighbours``, in both directions.

    ``mechanism``: ``(data, rng) -> output``, or with ``batch`` ``(data, rng, size) -> array`` of ``size``
    outputs along axis 0. Outputs are numbers, strings, None, or containers and arrays of these; an
    exception is an outcome too. All randomness comes from ``rng``. ``claim``: ``PureDP`` or ``ApproxDP``.
    With ``Model.AS_RUN`` the bit patterns of floats count as well. ``max_samples``: runs in all. ``jobs``:
    joblib workers; the result does not depend on it. ``timeout``: seconds for one call (one batch),
    enforced by a timer where the mechanism runs in a main thread (joblib workers do); code that never
    returns to Python cannot be interrupted. ``stop_early``: stop as soon as the claim is refuted; otherwise
    spend all runs on a better lower bound.

    Raises ``InvalidParameterError`` for a claim or neighbours that cannot be checked, ``MechanismError``
    where a call hangs, an output cannot be read, an input was changed, or every call fails.
    """
    epsilon, delta = _numbers_of(claim)
    pairs = _checked_neighbours(neighbours)
    _check_options(alpha, max_samples)
    target = Target(mechanism, batch, timeout, seed, epsilon, delta, claim.model is Model.AS_RUN)
    epsilons, deltas, values = _grid(claim, epsilon, delta)
    notes = _notes_before(target, pairs[0][0], claim)
    with Workers(jobs) as workers:
        search = Search(target, pairs, workers)
        rejected = _run(
            search, pairs, epsilons, deltas, alpha=alpha, max_samples=max_samples, stop_early=stop_early
        )
    lower = float(values[rejected - 1]) if rejected else 0.0
    estimate = _estimate(search, claim, lower, alpha=alpha, seed=seed)
    judgement = judge(claim, [estimate])
    notes += _notes_after(search, estimate, judgement)
    return CheckResult(claim, estimate, judgement, _telling_event(search, target), tuple(notes))


def _run(
    search: Search,
    pairs: list[tuple[Any, Any]],
    epsilons: Floats,
    deltas: Floats,
    *,
    alpha: float,
    max_samples: int,
    stop_early: bool,
) -> int:
    """Run blocks until the claim is refuted or the runs are spent; return how many grid values are rejected
    from below.
    """
    before = _pickled(pairs)
    claimed = _claimed_place(epsilons, deltas, search)
    while search.step(max_samples - search.samples):
        if before is not None and search.samples < 64 * len(pairs) and _pickled(pairs) != before:
            raise MechanismError(
                "a mechanism must leave its input as it is, it changed one; copy the data inside it first."
            )
        if stop_early and search.log_wealth >= math.log(1 / alpha):
            # The claim itself is rejected; the bound also needs every smaller grid value (they nearly
            # always went before).
            rejected = search.lower_bound(epsilons, deltas, alpha=alpha)
            if rejected > claimed:
                return rejected
    return search.lower_bound(epsilons, deltas, alpha=alpha)


def _claimed_place(epsilons: Floats, deltas: Floats, search: Search) -> int:
    target = search.target
    return int(np.flatnonzero((epsilons == target.epsilon) & (deltas == target.delta))[0])


def _pickled(pairs: list[tuple[Any, Any]]) -> bytes | None:
    try:
        return pickle.dumps(pairs)
    except Exception:  # whatever a user's data does when pickled, it only costs this check
        return None


def _numbers_of(claim: PrivacyClaim) -> tuple[float, float]:
    """The epsilon and delta to test, just above the claimed ones."""
    if isinstance(claim, PureDP):
        epsilon, delta = float(exact(claim.epsilon)) * (1 + EPSILON_MARGIN), 0.0
    elif isinstance(claim, ApproxDP):
        epsilon, claimed = float(exact(claim.epsilon)), float(exact(claim.delta))
        delta = max(claimed * (1 + EPSILON_MARGIN), claimed + DELTA_MARGIN)
    else:
        raise InvalidParameterError(
            f"a black-box check needs a PureDP or ApproxDP claim, got {type(claim).__name__}; convert it to "
            "(epsilon, delta)."
        )
    if epsilon > MAX_EPSILON:
        raise InvalidParameterError(
            f"epsilon must be at most {MAX_EPSILON:g} here, got {epsilon:g}; no sample could refute it."
        )
    if delta >= 1:
        raise InvalidParameterError("delta must be below 1, got 1; such a claim says nothing.")
    return epsilon, delta


def _grid(claim: PrivacyClaim, epsilon: float, delta: float) -> tuple[Floats, Floats, Floats]:
    """The claims for the lower bound: epsilons, deltas, and the bounded quantity, all non-decreasing; the
    tested claim is among them.
    """
    below = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98])
    if isinstance(claim, PureDP):
        above = np.concatenate([1.03 ** np.arange(1, 14), 1.5 * 1.05 ** np.arange(100)])
        epsilons = np.concatenate(
            [epsilon * below, [epsilon], epsilon * above[epsilon * above < MAX_EPSILON]]
        )
        return epsilons, np.zeros(len(epsilons)), epsilons
    above = delta * 1.15 ** np.arange(1, 250)
    deltas = np.concatenate([delta * below, [delta], above[above < 1.0]])
    return np.full(len(deltas), epsilon), deltas, deltas


def _checked_neighbours(neighbours: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    pairs = list(neighbours)
    if not pairs:
        raise InvalidParameterError(
            "neighbours must hold at least one pair of inputs, got none; pass [(data, neighbour)]."
        )
    checked = []
    for index, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidParameterError(
                f"neighbours must be pairs of inputs, entry {index} is {type(pair).__name__}; pass [(data, "
                "neighbour), ...]."
            )
        for side in pair:
            if _holds_nan(side):
                raise InvalidParameterError(
                    f"data must not hold NaN, pair {index} does; remove or impute it first."
                )
        if _same(pair[0], pair[1]):
            raise InvalidParameterError(
                f"neighbours must differ, pair {index} holds equal inputs; change one record."
            )
        checked.append((copy.deepcopy(pair[0]), copy.deepcopy(pair[1])))
    return checked


def _holds_nan(data: Any) -> bool:
    if isinstance(data, np.ndarray):
        return bool(data.dtype.kind in "fc" and np.isnan(data).any())
    if isinstance(data, dict):
        return any(_holds_nan(value) for value in data.values())
    if isinstance(data, list | tuple):
        return any(_holds_nan(value) for value in data)
    return isinstance(data, float | np.floating) and math.isnan(data)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        one, two = np.asarray(first), np.asarray(second)
        return one.shape == two.shape and bool(np.all(one == two))
    try:
        return bool(first == second)
    except Exception:  # inputs that cannot be compared are taken to differ
        return False


def _check_options(alpha: float, max_samples: int) -> None:
    if not 0 < alpha < 1:
        raise InvalidParameterError(
            f"alpha must be in (0, 1), got {alpha}; pass an error level such as 0.05."
        )
    if max_samples < 100:
        raise InvalidParameterError(
            f"max_samples must be 100 or more, got {max_samples}; fewer runs cannot refute anything."
        )


def _notes_before(target: Target, data: Any, claim: PrivacyClaim) -> list[str]:
    notes = []
    if target.timeout is not None and not can_limit_time():
        notes.append(
            "calls were not limited in time: timers work only in a main thread, on systems that have them"
        )
    seed = np.random.SeedSequence(target.seed, spawn_key=(2**31,))
    chunk = Chunk(target.mechanism, data, REPLAYED_CALLS, seed, target.batch, target.timeout)
    keys = [OutcomeEncoder().encode(chunk()).keys for _ in range(2)]
    if not np.array_equal(keys[0], keys[1]):
        notes.append(
            "the same generator gave other outputs: the mechanism draws from elsewhere, "
            "so this run cannot be repeated"
        )
    return notes


def _notes_after(search: Search, estimate: Estimate, judgement: Judgement) -> list[str]:
    notes = []
    if all(candidate.same_output for candidate in search.candidates):
        notes.append("every output was the same; does the mechanism look at its data?")
    if judgement.verdict is VerdictKind.INCONCLUSIVE:
        power = estimate.details["power"]
        seen = [
            f"{entry['epsilon']:.4g} (probability {entry['probability']:g})"
            for entry in power["events"]
            if entry["epsilon"]
        ]
        notes.append(
            "smallest violation that this run would have seen, about half the time: epsilon "
            + ", ".join(seen)
            if seen
            else "this run was too short to see any violation"
        )
        if power["exclusive"]:
            notes.append(
                f"or an event of probability {power['exclusive']:.3g} that only one of the inputs can produce"
            )
        notes.append("samples never verify a privacy claim: that needs a certificate")
    return notes


def _estimate(search: Search, claim: PrivacyClaim, lower: float, *, alpha: float, seed: int) -> Estimate:
    best, target = search.best, search.target
    count = len(search.candidates)
    return Estimate(
        quantity=claim.quantity,
        lower=lower,
        upper=None,
        confidence=1 - alpha,
        samples=search.samples,
        method="betting on learned cells, both directions, anytime-valid",
        scope=f"pair {best} spoke most against it, of {count} tried"
        if count > 1
        else "one pair of neighbours",
        seed=seed,
        details={
            "epsilon_tested": target.epsilon,
            "delta_tested": target.delta,
            "log_wealth": search.log_wealth,
            "pair": best,
            "pairs_of_runs": [candidate.attack.pairs for candidate in search.candidates],
            "power": _power(search, alpha),
        },
    )


def _power(search: Search, alpha: float) -> dict[str, Any]:
    """The power statement of the pair that got fewest runs: a violation on any pair of the list would have
    been seen as well.
    """
    attack = min((candidate.attack for candidate in search.candidates), key=lambda item: item.pairs)
    sizes = [block.pairs for block in attack.blocks]
    if attack.experts is None or not sizes:
        return {"events": [], "exclusive": None}
    schedule = Schedule(
        epsilon=search.target.epsilon,
        delta=search.target.delta,
        first=attack.pairs - sum(sizes),
        sizes=sizes,
        share=float(np.median(attack.experts.weights)),
        follow=attack.experts.follow,
        candidates=len(search.candidates),
        alpha=alpha,
    )
    events = [
        {"probability": p, "epsilon": visible_epsilon(schedule, probability=p)} for p in POWER_PROBABILITIES
    ]
    return {"events": events, "exclusive": exclusive_probability(schedule)}


def _telling_event(search: Search, target: Target) -> str:
    """The cell of the richest expert of the richest pair with most evidence against the claim, in words
    with its counts.
    """
    candidate = search.candidates[search.best]
    attack, betting = candidate.attack, candidate.betting
    if attack.experts is None or betting is None or candidate.log_wealth <= 0:
        return ""
    expert = int(np.argmax(betting.experts[0]))
    first, second = attack.known[:, expert].astype(float)
    wins, losses = np.maximum(first, second), np.minimum(first, second)
    excess = wins - math.exp(target.epsilon) * losses - target.delta * attack.pairs
    cell = int(np.argmax(excess / np.sqrt(wins + losses + 1.0)))
    if excess[cell] <= 0:
        return ""
    sides = ("first", "second") if first[cell] >= second[cell] else ("second", "first")
    ratio = f"{wins[cell] / losses[cell]:.3g} times" if losses[cell] else "never on the other"
    return (
        f"{attack.experts.describe(expert, cell)}: {wins[cell]:.0f} of {attack.pairs} runs on the "
        f"{sides[0]} input, "
        f"{losses[cell]:.0f} on the {sides[1]} ({ratio}; the claim allows {math.exp(target.epsilon):.3g} "
        "times)"
    )
