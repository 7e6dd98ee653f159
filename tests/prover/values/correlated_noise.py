"""Programs with correlated Gaussian noise: the matrix mechanism at once, row by row, and adaptively."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import binom

from dpaudit.distributions import Gaussian

__all__ = ["ADAPTIVE", "LINEAR", "ONCE", "ROWS", "SIGMA", "WRONG", "A", "B", "C", "N"]

N, SIGMA = 8, 2.0
#: The square-root factorisation of prefix sums (Fichtenberger, Henzinger, Upadhyay 2023): B @ C = A.
COEFFICIENTS = np.array([abs(binom(-0.5, k)) for k in range(N)])
B = np.array([[COEFFICIENTS[t - s] if s <= t else 0.0 for s in range(N)] for t in range(N)])
C = B
A = np.tril(np.ones((N, N)))


def factored(x: Any, rng: Any) -> Any:
    return B @ (C @ x + SIGMA * rng.standard_normal(N))


def sums_and_noise(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    return A @ x + B @ z


def running_sums(x: Any, rng: Any) -> Any:
    noise = B @ rng.normal(scale=SIGMA, size=N)
    return (np.cumsum(x) + noise).tolist()


def convolved(x: Any, rng: Any) -> Any:
    return np.cumsum(x) + np.convolve(COEFFICIENTS, rng.normal(scale=SIGMA, size=N))[:N]


def slices(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    out = []
    for t in range(N):
        out.append(x[: t + 1].sum() + B[t, : t + 1] @ z[: t + 1])
    return out


def products(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    prefix, out = 0.0, []
    for t in range(N):
        prefix += x[t]
        out.append(prefix + sum(B[t, s] * z[s] for s in range(t + 1)))
    return np.array(out)


def backwards(x: Any, rng: Any) -> Any:
    z = rng.normal(scale=SIGMA, size=N)
    return np.array([x[: t + 1].sum() + COEFFICIENTS[: t + 1] @ z[t::-1] for t in range(N)])


def draws_in_a_list(x: Any, rng: Any) -> Any:
    zs: list[Any] = []
    prefix, out = 0.0, np.zeros(N)
    for t in range(N):
        zs.append(rng.normal(scale=SIGMA))
        prefix += x[t]
        out[t] = prefix + np.dot(B[t, : t + 1], zs)
    return out


def accumulated(x: Any, rng: Any) -> Any:
    z = rng.standard_normal(N)
    z *= SIGMA
    noise = np.zeros(N)
    for t in range(N):
        for s in range(t + 1):
            noise[t] += B[t, s] * z[s]
    sums = np.cumsum(x) + noise
    return sums / N, sums.max()


def yielded(x: Any, rng: Any) -> Iterator[Any]:
    z = rng.normal(scale=SIGMA, size=N)
    total = 0.0
    for t, one in enumerate(x):
        total += one
        yield total + np.dot(B[t, : t + 1], z[: t + 1])


def of_a_model(data: Any, rng: Any) -> Any:
    z = SIGMA * rng.standard_normal(N)
    total, theta, models = 0.0, 0.0, []
    for t in range(N):
        gradient = np.clip(2 * (theta - data[t]), -1, 1)
        total += gradient
        theta = -0.1 * (total + B[t, : t + 1] @ z[: t + 1])
        models.append(theta)
    return models


def of_vectors(data: Any, rng: Any) -> Any:
    z = SIGMA * rng.standard_normal((N, 3))
    total, theta, models = np.zeros(3), np.zeros(3), []
    for t in range(N):
        gradient = theta - data[t]
        gradient = gradient / np.maximum(1.0, np.linalg.norm(gradient))
        total = total + gradient
        theta = -0.1 * (total + B[t, : t + 1] @ z[: t + 1])
        models.append(theta)
    return models


def of_differences(data: Any, rng: Any) -> Any:
    z = SIGMA * rng.standard_normal(N)
    theta, models = 0.0, []
    for t in range(N):
        gradient = np.clip(theta - data[t], -1, 1)
        noise = B[t, : t + 1] @ z[: t + 1] - (B[t - 1, :t] @ z[:t] if t else 0.0)
        theta = theta - 0.1 * (gradient + noise)
        models.append(theta)
    return models


def of_batches(data: Any, rng: Any) -> Any:
    z = SIGMA * rng.standard_normal((N, 3))
    total, theta, models = np.zeros(3), np.zeros(3), []
    for t in range(N):
        batch = theta - data[4 * (t % 4) : 4 * (t % 4) + 4]
        norms = np.linalg.norm(batch, axis=1, keepdims=True)
        total = total + (batch / np.maximum(1.0, norms)).sum(axis=0)
        theta = -0.1 * (total + B[t, : t + 1] @ z[: t + 1])
        models.append(theta)
    return models


class Stream:
    def __init__(self, rng: Any) -> None:
        self.rng, self.total = rng, 0.0
        self.noise: list[Any] = []

    def add(self, value: Any) -> Any:
        self.total += value
        self.noise.append(self.rng.normal(scale=SIGMA))
        return self.total + B[len(self.noise) - 1, : len(self.noise)] @ np.array(self.noise)


def by_a_class(x: Any, rng: Any) -> Any:
    stream = Stream(rng)
    return [stream.add(one) for one in x]


def with_coins(coins: Any, data: Any) -> Any:
    zs, total, out = [], 0.0, []
    for t in range(N):
        zs.append(coins.draw(Gaussian(sigma=2), site="z"))
        total = total + data[t]
        out.append(total + sum(B[t, s] * zs[s] for s in range(t + 1)))
    return out


def counts_twice(data: Any, rng: Any) -> Any:
    z = rng.normal(scale=SIGMA, size=(2, 3))
    counts = np.bincount(data, minlength=3)
    return counts + z[0] / 2, counts + z[0] / 2 + z[1]


def columns_and_blocks(x: Any, rng: Any) -> Any:
    z = rng.normal(scale=SIGMA, size=(4, 2))
    sums = x.reshape(4, 2).sum(axis=0) + z.sum(axis=0)
    return sums, (x[::-2] * np.array([1.0, -2.0, 0.5, 3.0])).sum() / 4 + z[1:3, 1].mean() - z[0, 0]


def stacked(x: Any, rng: Any) -> Any:
    z = rng.normal(scale=SIGMA, size=5)
    means = np.array([x[:3].mean(), -x[2:6].sum(), 2 * x[7] - 1])
    return np.stack([z[0], z[1] + z[0], z[4]]) + means, np.diff(z)[2] + x[4]


def several_draws(x: Any, rng: Any) -> Any:
    common, rest = rng.normal(scale=SIGMA), rng.normal(size=3)
    sums = C[:3] @ x
    return [common + sums[k] + 0.5 * float(rest[k]) for k in (2, 0, 1)]


def matrices_of_noise(x: Any, rng: Any) -> Any:
    left = np.array([[1.0, -1.0], [0.25, 2.0], [3.0, 0.0]])
    noise = left @ rng.normal(size=(2, 3)) @ np.array([1.0, 2.0, -0.5]) + rng.normal(size=3)
    return np.array([x[0], x[3] + x[0], x[6]]) + noise.T


def half_the_noise(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA / 2
    return A @ x + B @ z


def contributes_twice(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    prefix, out = 0.0, []
    for t in range(N):
        prefix += x[t] + (x[t - 1] if t else 0.0)
        out.append(prefix + B[t, : t + 1] @ z[: t + 1])
    return out


def used_in_two_streams(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    return A @ x + B @ z, A @ x[::-1] + B @ z


def off_by_one(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    out = []
    for t in range(N):
        out.append(x[: t + 1].sum() + B[t, :t] @ z[:t])
    return out


def shown_besides(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    return A @ x + B @ z, z.max()


def compared_besides(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    return A @ x + B @ z, z[0] > 0


def kept_before(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    first = z[0]
    return z.sum(), x.sum() + first, z[1:].sum()


def sorted_noise(x: Any, rng: Any) -> Any:
    return A @ x + B @ np.sort(rng.normal(size=N) * SIGMA)


def noise_of_the_data(x: Any, rng: Any) -> Any:
    z = rng.normal(size=N) * SIGMA
    return A @ x + B @ (z * x)


def one_draw_for_all(x: Any, rng: Any) -> Any:
    return x + rng.normal(scale=SIGMA)


#: Programs on ``Interval(0, 1)`` whose loss is that of the first column of C.
ONCE = (factored, sums_and_noise, running_sums, convolved)
ROWS = (slices, products, backwards, by_a_class, with_coins, draws_in_a_list, accumulated, yielded)
#: Other linear programs on ``Interval(0, 1)``.
LINEAR = (columns_and_blocks, stacked, several_draws, matrices_of_noise)
#: Programs whose sums depend on earlier outputs, on records of norm at most 1.
ADAPTIVE = (of_a_model, of_vectors, of_differences)
#: Programs whose loss is infinite.
WRONG = (
    used_in_two_streams, off_by_one, shown_besides, compared_besides, kept_before, sorted_noise,
    noise_of_the_data, one_draw_for_all,
)  # fmt: skip
