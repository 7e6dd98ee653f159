"""Known privacy bugs, written from their public descriptions, each with a right twin and declared data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpaudit import (
    ApproxDP,
    Ball,
    Categories,
    Integers,
    Interval,
    PureDP,
    Records,
    Stability,
    Texts,
    ZeroConcentratedDP,
)

UNIT = Records(Interval(0, 1), size=5)
MANY = Records(Interval(0, 1), size=8)
ANY_SIZE = Records(Interval(0, 1))
CODES = Records(Categories(3), size=6)
ANY_CODES = Records(Categories(3))
LABELS = Records(Texts(longest=8), container="list", size=4)
ROW = Records(Ball(1, 16), size=1, container="record")
ONE = PureDP(epsilon=1)
ADDED = PureDP(epsilon=1, adjacency="add-remove")


def geometric(rng: Any, epsilon: float, size: Any = None) -> Any:
    p = 1 - math.exp(-epsilon)
    return rng.geometric(p, size) - rng.geometric(p, size)


def thresholded(factor: float) -> Any:
    """Release counts at or above 3, whose delta omits the mass at the threshold, or at or above 4."""

    def release(data: Any, rng: Any) -> dict[int, int]:
        counts = {int(k): int(np.sum(data == k)) + int(geometric(rng, 1)) for k in np.unique(data)}
        return {k: count for k, count in counts.items() if count >= 3 + factor}

    return release


def clipped_sum(low: float, high: float, scale: float) -> Any:
    return lambda data, rng: float(np.clip(data, low, high).sum() + rng.laplace(0, scale))


def tree(levels: float) -> Any:
    """Sums at three levels of a binary tree of 4 buckets, with noise for ``levels`` changed nodes."""

    def release(data: Any, rng: Any) -> Any:
        leaves = np.bincount(data, minlength=4).astype(float)
        nodes = np.concatenate([leaves, leaves.reshape(2, 2).sum(axis=1), [leaves.sum()]])
        return nodes + rng.normal(0, math.sqrt(levels), 7)

    return release


def by_owner(factor: float) -> Any:
    return lambda data, rng: float(np.minimum(data, 2).sum() + rng.laplace(0, factor))


def gradient(clip_after: bool, micro: int = 1) -> Any:
    """A mean gradient with noise for clipped records."""

    def step(data: Any, rng: Any) -> Any:
        rows = np.asarray(data, dtype=float)
        if clip_after:
            mean = rows.mean(axis=0)
            mean = mean / max(1, np.linalg.norm(mean))
        else:
            mean = (rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))).mean(axis=0)
        return mean + rng.normal(0, 2.0 / len(rows), mean.shape)

    return step


def batches(fixed: bool) -> Any:
    """Half of the records, at random, or always the first half."""

    def release(data: Any, rng: Any) -> float:
        keep = np.arange(len(data)) < len(data) // 2 if fixed else rng.random(len(data)) < 0.5
        return float(np.sum(np.asarray(data)[keep]) + rng.laplace(0, 1))

    return release


HALF = math.log(1 + 0.5 * (math.e - 1))


def twice_on_one_sample(fresh: bool) -> Any:
    def release(data: Any, rng: Any) -> list[float]:
        keep = rng.random(len(data)) < 0.5
        first = float(np.sum(np.asarray(data)[keep]) + rng.laplace(0, 1))
        if fresh:
            keep = rng.random(len(data)) < 0.5
        return [first, float(np.sum(np.asarray(data)[keep]) + rng.laplace(0, 1))]

    return release


def ranged(own: bool) -> Any:
    """A mean within bounds that are public, or read from the data."""

    def release(data: Any, rng: Any) -> float:
        low, high = (float(np.min(data)), float(np.max(data))) if own else (0.0, 1.0)
        return float(np.mean(data) + rng.laplace(0, 1) * (high - low) / len(data))

    return release


def categories(own: bool) -> Any:
    def release(data: Any, rng: Any) -> dict[int, int]:
        known = np.unique(data) if own else range(3)
        return {int(k): int(np.sum(data == k) + geometric(rng, 0.5)) for k in known}

    return release


def vector(shared: bool) -> Any:
    """A histogram, with one draw for all bins."""

    def release(data: Any, rng: Any) -> Any:
        noise = rng.laplace(0, 2) if shared else rng.laplace(0, 2, 3)
        return np.bincount(data, minlength=3) + noise

    return release


def signs(norm: float) -> Any:
    return lambda row, rng: np.asarray(row) + rng.laplace(0, norm, 16)


def median(raises: bool) -> Any:
    def release(data: Any, rng: Any) -> float:
        if raises and np.ptp(data) == 0:
            raise ValueError("constant data")
        return float(geometric(rng, 1))

    return release


def tested(exact: bool) -> Any:
    """Propose-test-release with a distance to instability that is noisy, or exact."""

    def release(data: Any, rng: Any) -> str:
        distance = min(int(np.sum(data == 0)), 3)
        noise = 0.0 if exact else rng.laplace()
        return "release" if distance + noise > 2 else "refuse"

    return release


def labels(cut: bool) -> Any:
    """Count a label of the domain. An array of texts that is too short cuts it, so that it is shown raw."""

    def release(data: Any, rng: Any) -> list[Any]:
        kept = np.array(["Male"] * len(data), dtype=None if cut else object)
        kept[:] = data
        noisy = int(np.sum(kept == "Male") + geometric(rng, 0.5))
        other = sorted({str(x) for x in kept if cut and str(x) == "Fema"})
        return [noisy, other]

    return release


def response(keep: float) -> Any:
    """k-ary randomised response on three categories."""

    def answer(data: Any, rng: Any) -> int:
        return int(data) if rng.random() < keep else int((data + rng.integers(1, 3)) % 3)

    return answer


def largest(scale: float) -> Any:
    return lambda data, rng: int(np.argmax(np.bincount(data, minlength=3) + rng.gumbel(0, scale, 3)))


def steps(shown: bool) -> Any:
    """A rejection sampler whose number of tries is an output. It depends on the noise."""

    def release(data: Any, rng: Any) -> Any:
        noise = geometric(rng, 1)
        total = int(np.sum(data) + noise)
        return [total, abs(int(noise))] if shown else total

    return release


def seeded(by_data: bool) -> Any:
    def release(data: Any, rng: Any) -> float:
        own = np.random.default_rng(int(np.sum(data) * 1000) if by_data else int(rng.integers(2**62)))
        return float(np.sum(data) + own.laplace(0, 1))

    return release


def classical(epsilon: float, delta: float, factor: float) -> Any:
    sigma = factor * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return lambda data, rng: float(np.sum(data) + rng.normal(0, sigma))


def sparse(fresh: bool) -> Any:
    """Above threshold on counts, with noise for the answers or none."""

    def release(data: Any, rng: Any) -> list[bool]:
        level = 2 + rng.laplace(0, 2)
        counts = np.bincount(data, minlength=3)
        answers = []
        for count in counts:
            answers.append(bool(count + (rng.laplace(0, 4) if fresh else 0) >= level))
            if answers[-1] and fresh:
                break
        return answers

    return release


def suppressed(raw: bool) -> Any:
    """Counts of three categories, without those below 2 before the noise, or after it."""

    def release(data: Any, rng: Any) -> list[int]:
        counts = np.bincount(data, minlength=3)
        noisy = counts + geometric(rng, 1, 3)
        return [int(x) if shown >= 2 else 0 for x, shown in zip(noisy, counts if raw else noisy, strict=True)]

    return release


def clipped_at(own: bool) -> Any:
    """A sum that is clipped at a public bound, or at the largest record. The noise is scaled by the bound."""

    def release(data: Any, rng: Any) -> float:
        bound = float(np.max(data)) if own else 1.0
        return float(np.clip(data, 0, bound).sum() + rng.laplace() * bound)

    return release


def without_nulls(counted: bool) -> Any:
    """A sum in which nulls count as 0. Their number may be an output."""

    def release(data: Any, rng: Any) -> list[float]:
        known = [x for x in np.asarray(data, dtype=object).tolist() if x is not None and x == x]
        noisy = float(np.sum(known) + rng.laplace())
        return [noisy, float(len(known))] if counted else [noisy]

    return release


KEEP = math.e / (math.e + 2)

#: The wrong function, its right twin, the claim and the data.
BUGS: dict[str, tuple[Any, Any, Any, Any]] = {
    "threshold without its own mass": (
        thresholded(0),
        thresholded(1),
        ApproxDP(epsilon=1, delta="0.0365", adjacency="add-remove"),
        ANY_CODES,
    ),
    "tree levels forgotten": (
        tree(1),
        tree(3),
        ZeroConcentratedDP(rho="1/2", adjacency="add-remove"),
        Records(Categories(4)),
    ),
    "sum of bounds that are not symmetric": (
        clipped_sum(-10, 10, 10),
        clipped_sum(-10, 10, 20),
        PureDP(epsilon=1),
        Records(Interval(-10, 10), size=3),
    ),
    "sensitivity 0 at bounds from 0": (
        clipped_sum(0, 1, 0),
        clipped_sum(0, 1, 1),
        ONE,
        UNIT,
    ),
    "truncation without factor 2": (by_owner(1), by_owner(2), ONE, Records(Integers(0, 5), size=4)),
    "clipping after averaging": (
        gradient(True),
        gradient(False),
        ZeroConcentratedDP(rho="1/2"),
        Records(Interval(-100, 100), width=2, size=4),
    ),
    "fixed batches as Poisson": (
        batches(True),
        batches(False),
        PureDP(epsilon=HALF, adjacency="add-remove"),
        ANY_SIZE,
    ),
    "two measurements on one sample": (
        twice_on_one_sample(False),
        twice_on_one_sample(True),
        PureDP(epsilon=2 * HALF, adjacency="add-remove"),
        ANY_SIZE,
    ),
    "bounds read from the data": (ranged(True), ranged(False), ONE, UNIT),
    "categories read from the data": (categories(True), categories(False), ADDED, ANY_CODES),
    "one draw for all bins": (vector(True), vector(False), ONE, CODES),
    "Laplace scaled by an L2 sensitivity": (signs(2), signs(8), ONE, ROW),
    "an exception on constant data": (median(True), median(False), ONE, UNIT),
    "the exact distance to instability": (tested(True), tested(False), ONE, CODES),
    "labels cut by numpy": (labels(True), labels(False), ONE, LABELS),
    "response with too much truth": (
        response(KEEP + 0.15),
        response(KEEP),
        ONE,
        Records(Categories(3), size=1, container="record"),
    ),
    "noisy maximum without factor 2": (largest(1), largest(2), ONE, CODES),
    "the number of draws shows the noise": (steps(True), steps(False), ONE, Records(Categories(2), size=4)),
    "a seed from the data": (seeded(True), seeded(False), ONE, UNIT),
    "one-sided noise": (
        lambda data, rng: int(np.sum(data) + rng.geometric(1 - 1 / math.e)),
        lambda data, rng: int(np.sum(data) + geometric(rng, 1)),
        ONE,
        Records(Categories(2), size=4),
    ),
    "noise that is clamped": (
        lambda data, rng: int(np.sum(data) + np.clip(geometric(rng, 1), -3, 3)),
        lambda data, rng: int(np.clip(np.sum(data) + geometric(rng, 1), -3, 7)),
        ONE,
        Records(Categories(2), size=4),
    ),
    "classical Gaussian beyond epsilon 1": (
        classical(6, 0.5, 1),
        classical(6, 0.5, 2),
        ApproxDP(epsilon=6, delta="1/2"),
        Records(Interval(0, 1), size=2),
    ),
    "Gaussian without factor 2": (
        classical(1, 0.05, 1),
        classical(1, 0.05, 2),
        ApproxDP(epsilon=1, delta="0.05"),
        Records(Interval(-1, 1), size=2),
    ),
    "answers above a threshold without noise": (sparse(False), sparse(True), ADDED, ANY_CODES),
    "the divisor reveals the size": (
        lambda data, rng: [len(data), float(np.sum(data) + rng.laplace())],
        lambda data, rng: float(np.sum(data) + rng.laplace()),
        ADDED,
        ANY_SIZE,
    ),
    "noise divided by the batch": (
        lambda data, rng: float(np.sum(data) + rng.laplace() / len(data)),
        lambda data, rng: float(np.sum(data) + rng.laplace()),
        ONE,
        UNIT,
    ),
    "one seed in a loop": (
        lambda data, rng: [float(np.sum(data) + np.random.default_rng(7).laplace()) for _ in range(2)],
        lambda data, rng: [float(np.sum(data) + rng.laplace(0, 2)) for _ in range(2)],
        ONE,
        UNIT,
    ),
    "NaN passes the clamp": (
        clipped_sum(0, 1, 1),
        lambda data, rng: float(np.clip(np.nan_to_num(data), 0, 1).sum() + rng.laplace()),
        ONE,
        Records(Interval(0, 1), size=3, admits=("nan",)),
    ),
    "a record out of bounds": (
        lambda data, rng: float(np.sum(data) + rng.laplace()),
        clipped_sum(0, 1, 1),
        ONE,
        Records(Interval(0, 1), size=3, admits=("outside",)),
    ),
    "resize with factor 1": (
        lambda data: [*np.asarray(data).tolist(), 0.0, 0.0, 0.0, 0.0][:4],
        lambda data: np.asarray(data).tolist(),
        Stability(1, 1, "symmetric"),
        ANY_SIZE,
    ),
    "codes in order of appearance": (
        lambda data: [data.tolist().index(x) for x in data.tolist()],
        lambda data: data.tolist(),
        Stability(1, 1, "symmetric"),
        ANY_CODES,
    ),
    "a histogram with L1 sensitivity 1, replaced": (
        lambda data: np.bincount(data, minlength=3),
        lambda data: np.bincount(data, minlength=3) / 2,
        Stability(1, 1, "L1", input_metric="change-one"),
        CODES,
    ),
    "float32 sums": (
        lambda data: float(np.asarray(data, dtype=np.float32).sum(dtype=np.float32)),
        lambda data: int(sum(np.asarray(data).tolist())),
        Stability(1, 2**25, "absolute"),
        Records(Integers(0, 2**25)),
    ),
    "pairs in order": (
        lambda data: [float(a + b) for a, b in zip(data[::2], data[1::2], strict=False)],
        lambda data: [float(a + a) for a in data],
        Stability(1, 2, "symmetric"),
        ANY_SIZE,
    ),
    "noise scaled by the deviation of the data": (
        lambda data, rng: float(np.mean(data) + rng.laplace() * np.std(data)),
        lambda data, rng: float(np.mean(data) + rng.laplace() / len(data)),
        ONE,
        UNIT,
    ),
    "a small count is suppressed before the noise": (suppressed(True), suppressed(False), ADDED, ANY_CODES),
    "the budget is spent twice": (
        lambda data, rng: [float(np.sum(data) + rng.laplace()) for _ in range(2)],
        lambda data, rng: [float(np.sum(data) + rng.laplace(0, 2)) for _ in range(2)],
        ONE,
        UNIT,
    ),
    "whole noise on numbers that are not whole": (
        lambda data, rng: float(np.sum(data) + geometric(rng, 1)),
        lambda data, rng: float(np.sum(data) + rng.laplace()),
        ONE,
        UNIT,
    ),
    "clipping at the largest record": (clipped_at(True), clipped_at(False), ONE, UNIT),
    "a product of two columns with half its range": (
        lambda data, rng: float(np.prod(data, axis=1).sum() + rng.laplace()),
        lambda data, rng: float(np.prod(data, axis=1).sum() + rng.laplace(0, 2)),
        ONE,
        Records(Interval(-1, 1), width=2, size=4),
    ),
    "the number of nulls is shown": (
        without_nulls(True),
        without_nulls(False),
        ONE,
        Records(Interval(0, 1), container="list", size=3, admits=("null",)),
    ),
    "running sums with the change of one entry": (
        lambda data: np.cumsum(data),
        lambda data: np.asarray(data),
        Stability(1, 1, "L1", input_metric="change-one"),
        Records(Integers(0, 1), size=6),
    ),
}
