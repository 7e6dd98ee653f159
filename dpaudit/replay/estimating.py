"""Bound delta of a whole program from below with its replayed losses, at a stated confidence, for any notion.

Record the program on one input, replay it on the neighbour, and let L be the loss of what the view sees up to
the first random site that it does not see. With f = (1 - exp(e - L))_+, in [0, 1], E f is at most delta(e) of
the pair. It is equal for the transcript up to that site (``statistics.loss``), and later outputs can only
increase delta. A leak that the view sees is a loss of infinity. If a replay ends for another reason, f counts
as 0. So the mean of f, bounded from below by betting, is a lower bound on delta whatever later sites do, and
for many releases it is the best one.

A pilot chooses the pair, the direction and e. The bound rests on later samples, so no sample is used twice.
For other notions the bound on delta(e) is inverted:

* mu: the mu whose Gaussian profile has that delta at e (Dong, Roth and Su 2022, Corollary 2.13);
* Rényi divergence of order a: delta <= exp((a - 1)(D - e)) (a - 1)^(a-1) / a^a (Canonne, Kamath and Steinke
  2020, Proposition 12), solved for D; rho is at least that over a, for the best of several a.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpaudit.blackbox.statistics.loss import delta_bounds, hockey_stick
from dpaudit.coins import Program, Recording, record
from dpaudit.coins.limits import Limits
from dpaudit.coins.replayer import Leak, Replay
from dpaudit.core.claims import ApproxDP, GaussianDP, Model, PrivacyClaim, RenyiDP, ZeroConcentratedDP
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import exact
from dpaudit.core.neighbours import Neighbours, both_directions
from dpaudit.core.suite import Run
from dpaudit.core.views import View
from dpaudit.replay.rounding import loss_in_modes

__all__ = ["Source", "estimated", "inverted", "seen_loss"]

#: Runs of the pilot for each pair and direction, runs of the estimate, and lines of the program for both.
PILOT, MOST, LINES = 40, 4_000, 4_000_000
#: Largest number of runs of the estimate in the quick profile.
QUICK = 2_000
#: If the pilot's value is below this part of the claimed one, only a quarter of the runs is used, because a
#: refutation is then unlikely.
HOPEFUL = 0.1
#: Largest number of pairs of the pilot.
PAIRS = 8
#: Values of epsilon to try if the claim has none, in standard deviations of the pilot's losses around their
#: mean.
SPREADS = np.linspace(-1.5, 1.5, 13)
#: Orders tried for zCDP.
ORDERS = (1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0)
#: Transcripts of a pair that are replayed in other rounding modes, and the share of a loss by which these may
#: reduce it: more than float32 data lose, and less than the uncertainty of a statistical bound.
TRIED_IN_MODES, MOST_ROUNDED = 8, 2.0**-10
#: Margin for the rounding of floats in an inverted bound.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    """The pilot's choice: a pair in one direction, and the epsilon at which delta is estimated."""

    pair: Neighbours
    epsilon: float
    score: float


@dataclass(frozen=True, kw_only=True)
class Source:
    """The source of losses: a program with the limits of a run, and the claim.

    ``replayed`` replays a recording on the neighbour (in the pair's view). ``real`` returns false for leaks
    that may be the rounding of floats.
    """

    program: Program
    claim: PrivacyClaim
    limits: Limits
    replayed: Callable[[Neighbours, Recording], Replay]
    real: Callable[[Leak, Replay], bool]

    def losses(self, pair: Neighbours, rng: np.random.Generator, runs: int) -> NDArray[np.float64]:
        """Return the losses of ``runs`` sampled transcripts of ``pair.left``, in order."""
        found = np.empty(runs)
        for number in range(runs):
            recording = record(self.program, pair.left, rng=rng, keep_errors=True, limits=self.limits)
            result = self.replayed(pair, recording)
            found[number] = seen_loss(result, result.view, self.real)
        return found

    def rounds(self, pair: Neighbours, rng: np.random.Generator) -> bool:
        """Return whether rounding in the program may make losses larger than those over real numbers.

        Tests the first few transcripts of a pair. Only claims on real numbers need this.
        """
        if self.claim.model is not Model.IDEAL:
            return False
        for _ in range(TRIED_IN_MODES):
            recording = record(self.program, pair.left, rng=rng, keep_errors=True, limits=self.limits)
            result = self.replayed(pair, recording)
            loss = abs(seen_loss(result, result.view, self.real))
            if math.isfinite(loss):
                least = loss_in_modes(self.program, result, result.view, end=result.witness_end(result.view))
                if least is not None and float(least) < loss * (1 - MOST_ROUNDED) - MOST_ROUNDED:
                    return True
        return False


def estimated(source: Source, pairs: Sequence[Neighbours], run: Run, *, lines: int) -> Estimate | None:
    """Return a lower bound on the claim's quantity at confidence 1 - ``run.alpha``.

    Return ``None`` if the pilot saw no loss. ``lines`` is the number of lines of one run of the program.
    """
    claim = source.claim
    whole = int(min(MOST, max(200, LINES / (lines + 100))))
    runs = min(whole, QUICK) if run.profile == "quick" else 4 * whole
    seeds = run.seed_sequence("losses").spawn(2)
    chosen = _pilot(source, pairs, np.random.default_rng(seeds[0]))
    if chosen is None or source.rounds(chosen.pair, np.random.default_rng(seeds[0].spawn(1)[0])):
        return None
    if claim.bound is not None and chosen.score < HOPEFUL * float(claim.bound):
        runs = whole // 4 if run.profile == "quick" else whole
    losses = source.losses(chosen.pair, np.random.default_rng(seeds[1]), runs)
    delta, _ = delta_bounds(losses, epsilon=chosen.epsilon, alpha=run.alpha)
    return Estimate(
        quantity=claim.quantity,
        lower=inverted(claim, delta, chosen.epsilon),
        upper=None,
        confidence=1 - run.alpha,
        samples=runs,
        method=f"betting on (1 - exp(ε - L))_+ of exact losses L at ε = {chosen.epsilon:.6g}",
        scope=f"the pair {chosen.pair.name!r}, chosen by a pilot of {PILOT} runs per pair and direction",
        seed=run.seed,
    )


def _pilot(source: Source, pairs: Sequence[Neighbours], rng: np.random.Generator) -> _Chosen | None:
    """Return the pair, direction and epsilon whose bound would be largest if the pilot's mean were exact."""
    claim = source.claim
    found: list[_Chosen] = []
    for pair in both_directions(list(pairs)[:PAIRS]):
        losses = source.losses(pair, rng, PILOT)
        for epsilon in _epsilons(claim, losses):
            delta = float(np.mean(hockey_stick(losses, epsilon=epsilon)))
            score = delta if isinstance(claim, ApproxDP) else inverted(claim, delta * 0.9, epsilon) or 0.0
            found.append(_Chosen(pair=pair, epsilon=epsilon, score=score))
    best = max(found, key=lambda item: item.score, default=None)
    return best if best is not None and best.score > 0 else None


def _epsilons(claim: PrivacyClaim, losses: NDArray[np.float64]) -> list[float]:
    if isinstance(claim, ApproxDP):
        return [float(exact(claim.epsilon))]
    finite = losses[np.isfinite(losses)]
    if not len(finite):
        return [0.0]
    places = float(np.mean(finite)) + SPREADS * float(np.std(finite))
    return sorted({max(0.0, float(place)) for place in places})


def seen_loss(result: Replay, view: View, real: Callable[[Leak, Replay], bool]) -> float:
    """Return the loss of what ``view`` sees of a sampled transcript, up to its first hidden random site.

    Return infinity for a ``real`` leak that it sees, and minus infinity if the replay gives no bound.
    """
    end = result.witness_end(view)
    if any(real(leak, result) for leak in result.leaks_in(view)):
        return math.inf
    if result.unmet or any(leak.index <= end for leak in result.leaks):
        return -math.inf
    loss: Any = np.sum(result.loss(view, end=end))
    return float(loss) if not math.isnan(loss) else -math.inf


def inverted(claim: PrivacyClaim, delta: float, epsilon: float) -> float | None:
    """Return the least value of the claim's quantity at which delta(epsilon) can be ``delta``."""
    if isinstance(claim, ApproxDP):
        return delta
    if not 0 < delta < 1:
        return 0.0
    if isinstance(claim, GaussianDP):
        return _least_mu(delta, epsilon)
    if isinstance(claim, RenyiDP):
        return _least_divergence(delta, epsilon, float(exact(claim.order)))
    if isinstance(claim, ZeroConcentratedDP):
        return max(_least_divergence(delta, epsilon, order) / order for order in ORDERS)
    return None


def _least_divergence(delta: float, epsilon: float, order: float) -> float:
    """Return D with exp((a - 1)(D - e)) (a - 1)^(a-1) / a^a = delta, or 0 if that is negative."""
    a = order
    constant = (a - 1) * math.log(a - 1) - a * math.log(a)
    return max(0.0, epsilon + (math.log(delta) - constant) / (a - 1)) * (1 - ROUNDING)


def _least_mu(delta: float, epsilon: float) -> float:
    """Return the mu with Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu) = ``delta`` at e = ``epsilon``.

    The result is rounded down, which is sound because this delta increases with mu.
    """
    low, high = 0.0, 1.0
    while _gaussian_curve(high, epsilon) < delta and high < 1e6:
        low, high = high, 2 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _gaussian_curve(middle, epsilon) < delta else (low, middle)
    return low * (1 - ROUNDING)


def _gaussian_curve(mu: float, epsilon: float) -> float:
    if mu <= 0:
        return 0.0
    far = math.exp(epsilon + float(special.log_ndtr(-mu / 2 - epsilon / mu)))
    return float(special.ndtr(mu / 2 - epsilon / mu)) - far
