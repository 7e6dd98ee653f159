"""What a pair of inputs costs by a recording, where the shown numbers are sums of data and noise.

With shift s between the inputs and slopes A along the drawn numbers, moving the noise by c with A c = s turns
the outputs of one input into those of the other. A combination w with w A = 0 and w s != 0 holds no noise and
tells the inputs apart. Where each number feeds one output only, the outputs are independent and the costs of
pure noises add up; deviations of normal noises add up as squares.
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

__all__ = ["Bare", "Cost", "bare_combination", "chooses_unseen", "cost_of", "significant", "why_unpriced"]

TOLERANCE = 1e-7

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bare:
    """A combination of shown numbers without noise: ``weights`` by place, and what it moves by."""

    weights: dict[int, float]
    moves: float


@dataclass(frozen=True)
class Cost:
    """What a pair costs: ``epsilon`` where all noise is Laplace, continuous or discrete, ``mu`` (the shift in
    deviations) where all is normal. ``parts``: (place, what it moves by, its noise) of each output that
    moves. ``chosen``: the output is one draw whose probabilities move."""

    epsilon: float | None
    mu: float | None
    parts: Sequence[tuple[int, float, Noise]]
    chosen: bool = False


def significant(recording: Recording) -> Floats | None:
    """The shift with rounding errors set to 0."""
    shift = recording.shift
    if shift is None:
        return None
    sizes = np.array([0.0 if isinstance(v, str) else abs(v) for _, v in recording.first.shown])
    return np.where(np.abs(shift) > TOLERANCE * (1 + sizes), shift, 0.0)


def chooses_unseen(recording: Recording) -> bool:
    """Whether a draw may choose something, such as which records take part, without a trace on these inputs:
    an order, a label, or a number of no known noise that moved nothing. What is true given that choice may
    then be false on average over it (a sampled record costs less)."""
    response, first = recording.response, recording.first
    if response is None or not response.complete:
        return True
    means = {gamma for gamma, _ in first.mixtures.values()}
    if any(not elements_of(draw) and k not in means for k, draw in enumerate(first.draws)):
        return True
    silent = [e for e, feeds in zip(response.elements, response.feeds.T, strict=True) if not feeds.any()]
    return any(term_of(first.draws, first.mixtures, *element) is None for element in silent)


def _linear(recording: Recording) -> tuple[Floats, Floats] | None:
    """Shift and slopes, where every number that was drawn is known to be added, with some factor."""
    shift, response = significant(recording), recording.response
    if shift is None or response is None or chooses_unseen(recording) or not shift.any():
        return None
    return None if np.isnan(response.slopes).any() else (shift, response.slopes)


def bare_combination(recording: Recording) -> Bare | None:
    """A combination of shown numbers, each of which holds noise, that holds none and tells the inputs apart:
    of two outputs where there is one."""
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
    """The cost of the pair; ``None`` where the recording does not give it: noise of other distributions,
    noise shared
    between outputs, distributions that depend on the data other than by their location, seeds that anybody
    can read.
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


def why_unpriced(recording: Recording) -> str:
    """Why ``cost_of`` gives nothing, in words."""
    shift, response = significant(recording), recording.response
    if any(seeding.drawn for seeding in recording.first.seedings):
        return "it draws the seed of a generator: the noise has no more values than the seed"
    if recording.first.seedings:
        return "it gives a generator a seed of its own"
    if not recording.first.draws:
        return "nothing was heard to be drawn"
    if shift is None:
        return "by the same noise the two outputs have other forms, labels or draws"
    if response is None or not response.complete:
        return "which outputs each number feeds could not be followed to the end"
    if not shift.any():
        return "by the same noise both inputs give the same output"
    if np.isnan(response.slopes).any():
        return "the numbers that were drawn are not just added to what is shown"
    if chooses_unseen(recording):
        return "a number that was drawn may choose something that these inputs do not show"
    if not _same_noise(recording):
        return "the noise itself depends on the data"
    if bare_combination(recording) is not None:
        return "some outputs together hold no noise at all"
    if not response.feeds[shift != 0].any(axis=1).all():
        return "an output moves with the data and holds no noise"
    return "its noise is neither Laplace nor normal all through"


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
    """Outputs that share numbers: the cheapest shift of the numbers that explains the outputs.

    No pair of outputs loses more, by moving the noise. For Laplace noise the cost N is a norm of the shift,
    and far out along it, at y = t s, the loss tends to N((t + 1) s) - N(t s) = N(s); for normal noise the
    outputs are normal and N is their distance in deviations.
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
    """Whether both runs drew from the same distributions, apart from where these are centred."""
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
