"""Compute the privacy cost of a pair from a recording in which outputs are sums of data and noise.

Let s be the shift between the inputs and A the slopes along the drawn numbers. A shift c of the noise with
A c = s turns the outputs of one input into the outputs of the other. A combination w with w A = 0 and
w s != 0 holds no noise and distinguishes the inputs. If each number feeds one output only, the outputs are
independent. Then the costs of pure noises add up, and deviations of normal noises add up as squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from dpaudit.blackbox.recorded.choices import chosen_epsilon
from dpaudit.blackbox.recorded.noise import LAPLACE, NORMAL, SHARES, Noise, noise_of, term_of
from dpaudit.blackbox.recorded.recording import Recording
from dpaudit.blackbox.recorded.trace import elements_of

__all__ = ["Bare", "Cost", "bare_combination", "chooses_unseen", "cost_of", "significant", "why_cost_unknown"]

TOLERANCE = 1e-7

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bare:
    """Combination of returned numbers without noise: its ``weights`` by place, and its change ``moves``."""

    weights: dict[int, float]
    moves: float


@dataclass(frozen=True)
class Cost:
    """Privacy cost of a pair.

    Attributes
    ----------
    epsilon : float or None
        The cost if all noise is Laplace, continuous or discrete.
    mu : float or None
        The shift in deviations if all noise is normal.
    parts : sequence of (int, float, Noise)
        Place, change and noise of each output that changes.
    chosen : bool
        Whether the output is one draw whose probabilities depend on the input.
    """

    epsilon: float | None
    mu: float | None
    parts: Sequence[tuple[int, float, Noise]]
    chosen: bool = False


def significant(recording: Recording) -> Floats | None:
    """Return the shift with rounding errors set to 0."""
    shift = recording.shift
    if shift is None:
        return None
    sizes = np.array([0.0 if isinstance(v, str) else abs(v) for _, v in recording.first.shown])
    return np.where(np.abs(shift) > TOLERANCE * (1 + sizes), shift, 0.0)


def chooses_unseen(recording: Recording) -> bool:
    """Return whether a draw may make a choice, such as which records take part, that these inputs hide.

    Such a draw is an order, a label, or a number of unknown distribution that changed no output. A cost
    given that choice may be wrong on average over it: for example, a sampled record has a smaller cost.
    """
    response, first = recording.response, recording.first
    if response is None or not response.complete:
        return True
    means = {gamma for gamma, _ in first.mixtures.values()}
    if any(not elements_of(draw) and k not in means for k, draw in enumerate(first.draws)):
        return True
    silent = [e for e, feeds in zip(response.elements, response.feeds.T, strict=True) if not feeds.any()]
    return any(term_of(first.draws, first.mixtures, *element) is None for element in silent)


def _linear(recording: Recording) -> tuple[Floats, Floats] | None:
    """Return shift and slopes if every drawn number is known to be added with some factor, or None."""
    shift, response = significant(recording), recording.response
    if shift is None or response is None or chooses_unseen(recording) or not shift.any():
        return None
    return None if np.isnan(response.slopes).any() else (shift, response.slopes)


def bare_combination(recording: Recording) -> Bare | None:
    """Return a combination of noisy outputs that holds no noise and distinguishes the inputs, or None.

    A difference of two outputs is preferred.
    """
    found = _linear(recording)
    if found is None or not len(found[0]):
        return None
    shift, slopes = found
    fed = np.flatnonzero(np.any(slopes != 0, axis=1))
    for k, i in enumerate(fed):
        same = [j for j in fed[k + 1 :] if np.allclose(slopes[i], slopes[j], rtol=1e-9)]
        apart = [j for j in same if abs(shift[i] - shift[j]) > TOLERANCE]
        if apart:
            return Bare({int(i): 1.0, int(apart[0]): -1.0}, float(shift[i] - shift[apart[0]]))
    if not len(fed):
        return None
    solution = np.linalg.lstsq(slopes[fed], shift[fed], rcond=None)[0]
    rest = shift[fed] - slopes[fed] @ solution
    if np.abs(rest).max() <= 1e-6 * np.abs(shift).max():
        return None
    weights = rest / np.abs(rest).max()
    kept = {int(i): float(w) for i, w in zip(fed, weights, strict=True) if abs(w) > 1e-6}
    return Bare(kept, float(weights @ shift[fed]))


def cost_of(recording: Recording) -> Cost | None:
    """Return the cost of the pair, or None if the recording does not determine it.

    It is unknown for other distributions, for some noise shared between outputs, for distributions that
    depend on the data by more than their location, and for seeds chosen by the program.
    """
    epsilon = chosen_epsilon(recording)
    if epsilon is not None:
        return Cost(epsilon, None, [], chosen=True)
    found = _linear(recording)
    if found is None or recording.first.seedings or not _same_noise(recording):
        return None
    shift, slopes = found
    if np.any(np.count_nonzero(slopes, axis=0) > 1):
        return _shared_cost(recording, shift, slopes)
    parts = []
    for place in np.flatnonzero(shift):
        noise = _noise_at(recording, slopes, int(place))
        if noise is None or noise.kind == SHARES or not noise.spread > 0:
            return None
        parts.append((int(place), float(shift[place]), noise))
    return _added(parts)


def why_cost_unknown(recording: Recording) -> str:
    """Return why ``cost_of`` gives no cost."""
    shift, response = significant(recording), recording.response
    if any(seeding.drawn for seeding in recording.first.seedings):
        return "the function draws the seed of a generator, so the noise has no more values than the seed"
    if recording.first.seedings:
        return "the function chooses the seed of a generator"
    if not recording.first.draws:
        return "no draw was recorded"
    if shift is None:
        return "with the same noise, the two outputs differ in form, labels or draws"
    if response is None or not response.complete:
        return "it was not determined for every drawn number which outputs it feeds"
    if not shift.any():
        return "with the same noise, both inputs give the same output"
    if np.isnan(response.slopes).any():
        return "the drawn numbers are not just added to the output"
    if chooses_unseen(recording):
        return "a drawn number may make a choice that these inputs do not show"
    if not _same_noise(recording):
        return "the noise distribution depends on the data"
    if bare_combination(recording) is not None:
        return "a combination of outputs holds no noise"
    if not response.feeds[shift != 0].any(axis=1).all():
        return "an output changes with the data and holds no noise"
    return "some of the noise is neither Laplace nor normal"


def _noise_at(recording: Recording, slopes: Floats, place: int) -> Noise | None:
    response = recording.response
    columns = np.flatnonzero(slopes[place])
    if response is None or not len(columns):
        return None
    terms = [
        term_of(recording.first.draws, recording.first.mixtures, *response.elements[int(k)]) for k in columns
    ]
    return noise_of(terms, [float(slopes[place, k]) for k in columns])


def _added(parts: Sequence[tuple[int, float, Noise]]) -> Cost | None:
    ratios = [abs(moves) / noise.spread for _, moves, noise in parts]
    kinds = {noise.kind == NORMAL for _, _, noise in parts}
    if kinds == {True}:
        return Cost(None, math.hypot(*ratios), parts)
    return Cost(math.fsum(ratios), None, parts) if kinds == {False} else None


def _shared_cost(recording: Recording, shift: Floats, slopes: Floats) -> Cost | None:
    """Return the cost of outputs that share numbers: the cheapest noise shift that explains the change.

    The privacy loss is never larger, because the noise can be shifted. For Laplace noise, the cost N is a
    norm of the shift. Far out along the shift, at y = t s, the loss tends to N((t + 1) s) - N(t s) = N(s).
    For normal noise, the outputs are normal and N is their distance in deviations.
    """
    response = recording.response
    terms = (
        [term_of(recording.first.draws, recording.first.mixtures, *element) for element in response.elements]
        if response
        else []
    )
    kinds = {term.kind if term else "" for term in terms}
    spreads = np.array([term.spread for term in terms if term])
    if kinds not in ({LAPLACE}, {NORMAL}) or not np.all(spreads > 0):
        return None
    scaled = slopes * spreads
    if kinds == {NORMAL}:
        cheapest = np.linalg.lstsq(scaled, shift, rcond=None)[0]
        explained = np.abs(scaled @ cheapest - shift).max() <= 1e-6 * np.abs(shift).max()
        return Cost(None, float(np.linalg.norm(cheapest)), []) if explained else None
    both = np.hstack([scaled, -scaled])
    found = optimize.linprog(np.ones(both.shape[1]), A_eq=both, b_eq=shift, method="highs")
    return Cost(float(found.fun or 0.0), None, []) if found.status == 0 else None


def _same_noise(recording: Recording) -> bool:
    """Return whether both runs drew from the same distributions, except for their locations."""
    for one, two in zip(recording.first.draws, recording.second.draws, strict=True):
        for name in set(one.parameters) | set(two.parameters):
            same = np.array_equal(np.asarray(one.parameters.get(name)), np.asarray(two.parameters.get(name)))
            if not same and name not in ("loc", "mu", "lam"):
                return False
            if not same and name in ("mu", "lam") and one.family == "poisson" and not _mixed(recording, one):
                return False
    return True


def _mixed(recording: Recording, poisson: object) -> bool:
    index = next(k for k, draw in enumerate(recording.first.draws) if draw is poisson)
    return index in recording.first.mixtures
