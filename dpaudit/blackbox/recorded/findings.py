"""Describe possible defects that a recording shows. A finding is not a verdict.

``findings`` reports defects that one run reveals and thousands of outputs may hide: noise that is always 0,
one number that feeds many outputs, outputs that no number feeds, a seed that is the same in every call, and
noise whose privacy cost exceeds the claim. Each finding is about the two recorded runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpaudit.blackbox.recorded.cost import Cost, bare_combination, chooses_unseen, cost_of, significant
from dpaudit.blackbox.recorded.noise import LAPLACE, SHARES, Noise, constant_of, noise_of, term_of
from dpaudit.blackbox.recorded.recording import Recording
from dpaudit.blackbox.recorded.trace import Draw
from dpaudit.core.claims import Adjacency, ApproxDP, GaussianDP, PrivacyClaim, Profile, PureDP, RenyiDP
from dpaudit.core.exact import ExactLike, exact

__all__ = ["Finding", "findings", "recorded_in_words"]

#: A cost above the claim by less than this share is attributed to rounding.
MARGIN = 1e-6
#: Number of distributions or draws of one kind that are listed. The others are counted.
NAMED = 3


@dataclass(frozen=True)
class Finding:
    """Possible defect. ``kind`` is the same for findings of one kind, on every pair."""

    kind: str
    text: str


def findings(recording: Recording, claim: PrivacyClaim | None = None) -> list[Finding]:
    """Return all findings, the most serious first. With a ``claim``, include a cost above the claim."""
    cost = cost_of(recording) if claim is not None else None
    found = {
        "seed": _fixed_seeds(recording),
        "nothing": _nothing_drawn(recording),
        "constant": _constants(recording),
        "bare": _bare_outputs(recording),
        "shared": _shared_numbers(recording),
        "law": _moved_distributions(recording),
        "share": _shares(recording),
        "price": _against(cost, claim, recording) if cost is not None and claim is not None else [],
    }
    return [Finding(kind, text) for kind, texts in found.items() for text in texts]


def recorded_in_words(recording: Recording) -> list[str]:
    """Describe the draws of the first run, with equal draws grouped, and count drawn and returned numbers."""
    first = recording.first
    groups: Counter[tuple[str, str, str]] = Counter()
    for k, draw in enumerate(first.draws):
        text = f"{draw.family} of a gamma variate" if k in first.mixtures else str(draw)
        groups[(str(draw.place), draw.source, text)] += 1
    lines = [
        f"{place}: {text}{f', {times} times' if times > 1 else ''} ({source})"
        for (place, source, text), times in groups.items()
    ]
    drawn = "1 number" if first.numbers == 1 else f"{first.numbers} numbers"
    shown = "1 value" if len(first.shown) == 1 else f"{len(first.shown)} values"
    other = recording.second.numbers
    on_second = "" if recording.aligned else f" ({other} on the second input)"
    return [*lines, f"{drawn} drawn{on_second}, {shown} returned"]


def _fixed_seeds(recording: Recording) -> list[str]:
    seeds = list(dict.fromkeys(str(seeding) for seeding in recording.first.seedings if not seeding.drawn))
    return [
        f"a generator gets the same seed in every call, {seed}, so anyone who knows the program can predict "
        "its numbers"
        for seed in seeds
    ]


def _nothing_drawn(recording: Recording) -> list[str]:
    first = recording.first
    if first.unrecorded or recording.second.unrecorded:
        return [
            "a generator advanced without a recorded draw (compiled code, another thread), so the list of "
            "draws is incomplete"
        ]
    if first.draws:
        return []
    if not recording.repeats:
        return [
            "no draw was recorded, but the same input gave different outputs: the randomness comes from a "
            "source that is not recorded (another library, a device, a thread)"
        ]
    moved = [a for a, b in zip(first.shown, recording.second.shown, strict=False) if a != b]
    if not moved and len(first.shown) == len(recording.second.shown):
        return []
    return [
        "no draw was recorded, and the same input gives the same output: there is no noise, or it was drawn "
        "before the call"
    ]


def _constants(recording: Recording) -> list[str]:
    found = []
    for side in (recording.first, recording.second):
        for draw in side.draws:
            words = constant_of(draw)
            if words:
                found.append(f"{draw} in {draw.place} {words}, so it adds no noise")
            elif (trials := _truncated_trials(draw)) is not None:
                found.append(f"{draw} in {draw.place}: n = {trials:g} is truncated to {int(trials)}")
    return _few(found)


def _truncated_trials(draw: Draw) -> float | None:
    if draw.family != "binomial":
        return None
    trials = np.ravel(np.asarray(draw.parameters.get("n", 0), dtype=float))
    wrong = trials[trials != np.floor(trials)]
    return float(wrong[0]) if len(wrong) else None


def _bare_outputs(recording: Recording) -> list[str]:
    shift, response = significant(recording), recording.response
    if shift is None or response is None or chooses_unseen(recording):
        return []
    bare = [i for i in np.flatnonzero(shift) if not response.feeds[i].any()]
    if not bare:
        return []
    names = ", ".join(_name(recording, int(i)) for i in bare[:NAMED])
    more = f" and {len(bare) - NAMED} more" if len(bare) > NAMED else ""
    return [
        f"{names}{more} {'changes' if len(bare) == 1 else 'change'} with the data, and no drawn number "
        f"affects {'it' if len(bare) == 1 else 'them'}"
    ]


def _shared_numbers(recording: Recording) -> list[str]:
    response = recording.response
    if response is None or not response.complete:
        return []
    found = []
    fed = int(response.feeds.any(axis=1).sum())
    bare = bare_combination(recording)
    # Outputs that are linear in one number may be one output in several forms, which has no extra cost.
    straight = np.isfinite(response.slopes) & (response.slopes != 0)
    nonlinear = not straight.any() and not response.reshaped
    suspicious = bare is not None or nonlinear
    if suspicious and 0 < len(response.elements) < fed:
        place = recording.first.draws[response.elements[0][0]].place
        count = len(response.elements)
        which = f"one number, drawn in {place}, feeds" if count == 1 else f"{count} drawn numbers feed"
        choice = "" if bare is not None else " unless they represent a single choice"
        found.append(f"{which} {fed} returned values, which share their noise{choice}")
    if bare is None:
        return found
    parts = list(bare.weights.items())[:4]
    words = " ".join(f"{'-' if w < 0 else '+'} {_times(w)}{_name(recording, i)}" for i, w in parts)
    more = " ..." if len(bare.weights) > 4 else ""
    found.append(
        f"the noise cancels in {words.removeprefix('+ ')}{more}, which changes by {abs(bare.moves):.4g} with "
        "the data and so distinguishes the inputs with certainty"
    )
    return found


def _times(weight: float) -> str:
    return "" if math.isclose(abs(weight), 1) else f"{abs(weight):.3g} "


def _name(recording: Recording, place: int) -> str:
    return f"output{recording.first.shown[place][0]}"


def _moved_distributions(recording: Recording) -> list[str]:
    """Return findings on spreads that depend on the data.

    Probabilities and numbers of draws are not examined. They depend on the data in many correct mechanisms.
    """
    if not recording.aligned:
        return []
    found = []
    for before, after in zip(recording.first.draws, recording.second.draws, strict=True):
        spreads = {name: v for name, v in before.parameters.items() if name in ("scale", "sigma", "shape")}
        others = after.parameters
        if any(not np.array_equal(np.asarray(v), np.asarray(others.get(k))) for k, v in spreads.items()):
            found.append(
                f"the spread of the distribution in {before.place} depends on the data: {before} and {after}"
            )
    return _few(found)


def _shares(recording: Recording) -> list[str]:
    """Return findings on shares of noise that add up to less than 1."""
    response = recording.response
    if response is None or not response.complete:
        return []
    found = []
    for place in range(len(recording.first.shown)):
        columns = np.flatnonzero(response.slopes[place])
        if not len(columns) or np.isnan(response.slopes[place]).any():
            continue
        terms = [
            term_of(recording.first.draws, recording.first.mixtures, *response.elements[int(k)])
            for k in columns
        ]
        noise = noise_of(terms, [float(response.slopes[place, k]) for k in columns])
        if noise is not None and noise.kind == SHARES and noise.share < 1:
            found.append(
                f"the noise of {_name(recording, place)} consists of shares of discrete Laplace noise "
                f"that add up to {noise.share:.3g}, not to 1"
            )
    return _few(found)


def _against(cost: Cost, claim: PrivacyClaim, recording: Recording) -> list[str]:
    """Return a finding with the cost of the pair, if it is above the claim, and likely causes."""
    over = _above(cost, claim)
    if not over:
        return []
    names = [_name(recording, i) for i, _, _ in cost.parts]
    parts = [
        f"{'the output' if name == 'output' else name} changes by {abs(by):.4g} under {noise}"
        for name, (_, by, noise) in zip(names, cost.parts, strict=True)
    ]
    shown = ", ".join(parts[:NAMED]) + (f", {len(parts) - NAMED} more" if len(parts) > NAMED else "")
    if cost.chosen:
        shown = f"the output is {recording.first.draws[0].family} in {recording.first.draws[0].place}, whose "
        shown += "probabilities depend on the data"
    shown = shown or "the returned values share their noise, and its cheapest shift explains their change"
    return [f"{shown}, so this pair has {over}", *_hints(cost, claim)]


def _above(cost: Cost, claim: PrivacyClaim) -> str:
    """Describe the cost in the terms of the claim if it is above the claim. Otherwise, return no text."""
    if isinstance(claim, PureDP):
        allowed = float(exact(claim.epsilon))
        if cost.mu is not None:
            return f"no finite epsilon, because normal noise is not pure (claimed {allowed:.4g})"
        epsilon = cost.epsilon or 0.0
        above = epsilon > allowed * (1 + MARGIN)
        return f"epsilon {epsilon:.4g}, above the claimed {allowed:.4g}" if above else ""
    if cost.mu is None:
        return ""
    if isinstance(claim, ApproxDP):
        return _above_points([(claim.epsilon, claim.delta)], cost.mu)
    if isinstance(claim, Profile):
        return _above_points(claim.points, cost.mu)
    rho = cost.mu**2 / 2
    if isinstance(claim, GaussianDP):
        words, value = "mu", cost.mu
    elif isinstance(claim, RenyiDP):
        words, value = f"order-{float(claim.order):g} Rényi divergence", float(claim.order) * rho
    else:
        words, value = "rho", rho
    bound = math.inf if claim.bound is None else float(claim.bound)
    return f"{words} {value:.4g}, above the claimed {bound:.4g}" if value > bound * (1 + MARGIN) else ""


def _above_points(points: Iterable[tuple[ExactLike, ExactLike]], mu: float) -> str:
    """Describe the first of these (epsilon, delta) that normal noise with this mu violates."""
    for point in points:
        epsilon, allowed = (float(exact(number)) for number in point)
        delta = _gaussian_delta(epsilon, mu)
        if delta > allowed * (1 + MARGIN):
            return f"delta {delta:.4g} at epsilon {epsilon:.4g}, above the claimed {allowed:.4g}"
    return ""


def _gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the exact delta of normal noise whose mean shifts by ``mu`` deviations (Balle and Wang 2018)."""
    below = special.ndtr(mu / 2 - epsilon / mu)
    return float(below - math.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu)))


def _hints(cost: Cost, claim: PrivacyClaim) -> list[str]:
    """Return likely causes of a cost above the claim: a record in two counts, or an inverted scale."""
    if cost.epsilon is None or not isinstance(claim, PureDP) or not cost.parts:
        return []
    epsilon = float(exact(claim.epsilon))
    moves = [by for _, by, _ in cost.parts]
    opposite = len(moves) == 2 and math.isclose(moves[0], -moves[1], rel_tol=1e-6)
    if opposite and claim.adjacency is Adjacency.REPLACE_ONE and math.isclose(cost.epsilon, 2 * epsilon):
        return [
            "a replaced record leaves one count and enters another: a histogram with noise of scale "
            "1/epsilon is epsilon-DP if records are added or removed (add-remove), and has 2 epsilon under "
            "replace-one"
        ]
    inverted = math.fsum(abs(by) * _inverted_rate(noise) for _, by, noise in cost.parts)
    if math.isclose(inverted, epsilon, rel_tol=1e-2):
        what = "ratio of the shares" if cost.parts[0][2].ratio else "scale"
        return [
            f"the {what} may be inverted: with its reciprocal, this pair would have epsilon {inverted:.4g}"
        ]
    return []


def _inverted_rate(noise: Noise) -> float:
    """Return 1 / scale of the noise after its scale, or the odds of its shares, are inverted."""
    if noise.kind == LAPLACE:
        return noise.spread
    return math.inf if noise.ratio is None else -math.log1p(-noise.ratio) * abs(1 / _unit(noise))


def _unit(noise: Noise) -> float:
    """Return the change of the returned number for one unit of the drawn numbers."""
    return noise.spread * -math.log(noise.ratio) if noise.ratio else 1.0


def _few(found: Sequence[str]) -> list[str]:
    """Return the first ``NAMED`` distinct texts, and the number of the others."""
    distinct = list(dict.fromkeys(found))
    if len(distinct) <= NAMED:
        return distinct
    return [*distinct[:NAMED], f"{len(distinct) - NAMED} more of this kind"]
