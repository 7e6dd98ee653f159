"""Functions of public libraries and of papers, written as users write them, from the documented behaviour.

diffprivlib, OpenDP, Google's differential-privacy library, Tumult Analytics, TensorFlow Privacy and Opacus,
SmartNoise; PATE, RAPPOR, Apple's sketch, MWEM, matrix factorisation. Wrong versions have the mistakes that
users make: sensitivity of one adjacency under the other, a missing clip, reused noise, a branch on raw data.
"""

from __future__ import annotations

import numpy as np

from benchmarks.proof_programs.registry import List
from dpaudit.core.data import EVERY, Anything, Ball, Integers, Interval, Records, Table
from dpaudit.distributions import DiscreteLaplace

__all__ = ["LIBRARIES"]

LIBRARIES = List("libraries")
right, wrong = LIBRARIES.right, LIBRARIES.wrong

E1, E2 = {"epsilon": 1}, {"epsilon": 2}
AR = {"adjacency": "add-remove"}
X, XN = Records(Anything(), size=200), Records(Anything(), size=EVERY, at_least=2)
UNIT, UNITN = Records(Interval(0, 1), size=200), Records(Interval(0, 1), size=EVERY, at_least=2)
CAT, CATN = Records(Integers(0, 4), size=200), Records(Integers(0, 4), size=EVERY)
BITS = Records(Integers(0, 1, bits=True), size=50)
BITSN = Records(Integers(0, 1, bits=True), size=EVERY)
SQUARE = Records(Interval(0, 1), size=100, width=2)
SQUAREN = Records(Interval(0, 1), size=EVERY, width=2)
BALL, BALLN = Records(Ball(1, width=3), size=100), Records(Ball(1, width=3), size=EVERY)
ROWS, ROWSN = Records(Anything(), size=100, width=3), Records(Anything(), size=EVERY, width=3)
GROUPED = Table({"value": Anything(), "team": Integers(0, 3)}, size=100)
GROUPEDN = Table({"value": Anything(), "team": Integers(0, 3)}, size=EVERY)
REGRESSION = Table({"X": (Interval(-1, 1), 2), "y": Interval(-1, 1)}, size=100)
REGRESSIONN = Table({"X": (Interval(-1, 1), 2), "y": Interval(-1, 1)}, size=EVERY)
LABELLED = Table({"x": Interval(0, 1), "y": Integers(0, 1)}, size=100)
LABELLEDN = Table({"x": Interval(0, 1), "y": Integers(0, 1)}, size=EVERY)


# diffprivlib.tools.mean, sum, var, std
@right(E1, X, XN)
def diffprivlib_mean(data, rng):
    lower, upper, epsilon = 0, 100, 1.0
    clipped = np.clip(data, lower, upper)
    return np.mean(clipped) + rng.laplace(0, (upper - lower) / (epsilon * clipped.size))


@wrong(E1, X, XN)
def diffprivlib_mean_w1(data, rng):
    lower, upper, epsilon = 0, 100, 1.0
    return np.mean(data) + rng.laplace(0, (upper - lower) / (epsilon * data.size))


@right(E1, X, XN)
def diffprivlib_sum(data, rng):
    lower, upper, epsilon = -5, 20, 1.0
    return np.sum(np.clip(data, lower, upper)) + rng.laplace(0, (upper - lower) / epsilon)


@wrong(E1, X, XN)
def diffprivlib_sum_w1(data, rng):
    lower, upper, epsilon = -5, 20, 1.0
    return np.sum(np.clip(data, lower, upper)) + rng.laplace(0, max(abs(lower), abs(upper)) / epsilon)


@right(E1, X, XN)
def diffprivlib_var(data, rng):
    lower, upper, epsilon, n = 0, 10, 1.0, len(data)
    sensitivity = ((upper - lower) / n) ** 2 * (n - 1)
    noisy = np.var(np.clip(data, lower, upper)) + rng.laplace(0, sensitivity / epsilon)
    return min(max(noisy, 0), (upper - lower) ** 2)


@wrong(E1, X, XN)
def diffprivlib_var_w1(data, rng):
    lower, upper, epsilon, n = 0, 10, 1.0, len(data)
    sensitivity = ((upper - lower) / n) ** 2
    return np.var(np.clip(data, lower, upper)) + rng.laplace(0, sensitivity / epsilon)


@right(E1, X, XN)
def diffprivlib_std(data, rng):
    lower, upper, epsilon, n = 0, 10, 1.0, len(data)
    noisy = np.var(np.clip(data, lower, upper)) + rng.laplace(0, (upper - lower) ** 2 / (n * epsilon))
    return np.sqrt(max(noisy, 0))


@wrong(E1, X, XN)
def diffprivlib_std_w1(data, rng):
    lower, upper, epsilon, n = 0, 10, 1.0, len(data)
    return np.std(np.clip(data, lower, upper)) + rng.laplace(0, (upper - lower) / (n * epsilon))


# diffprivlib.tools.histogram: geometric noise, counts not below 0
@right(E1, X, XN, **AR)
def diffprivlib_histogram(coins, data):
    counts, edges = np.histogram(data, bins=5, range=(0, 50))
    noisy = [max(coins.release(count, DiscreteLaplace(scale=1), site="count"), 0) for count in counts]
    return noisy, edges


@right(E1, X, XN, **AR)
def diffprivlib_histogram_density(data, rng):
    counts, edges = np.histogram(data, bins=5, range=(0, 50))
    noisy = np.maximum(counts + rng.laplace(scale=1, size=5), 0)
    return noisy / max(noisy.sum(), 1.0), edges


@wrong(E1, X, XN)
def diffprivlib_histogram_w1(coins, data):
    counts, edges = np.histogram(data, bins=5, range=(0, 50))
    noisy = [max(coins.release(count, DiscreteLaplace(scale=1), site="count"), 0) for count in counts]
    return noisy, edges


@wrong(E1, X, XN, **AR)
def diffprivlib_histogram_w2(data, rng):
    counts, edges = np.histogram(data, bins=5, range=(data.min(), data.max()))
    return counts + rng.laplace(scale=1, size=5), edges


# diffprivlib.tools.quantile: the exponential mechanism over the intervals between the sorted records
@right(E1, X, XN)
def diffprivlib_quantile(data, rng):
    n, lower, upper, epsilon = len(data), 0, 10, 1.0
    edges = np.concatenate([[lower], np.sort(np.clip(data, lower, upper)), [upper]])
    lengths = np.diff(edges)
    scores = -np.abs(np.arange(n + 1) - 0.5 * n)
    weights = lengths * np.exp(epsilon * scores / 2)
    i = rng.choice(n + 1, p=weights / weights.sum())
    return edges[i] + lengths[i] * rng.random()


@wrong(E1, X, XN)
def diffprivlib_quantile_w1(data, rng):
    n, lower, upper, epsilon = len(data), 0, 10, 1.0
    edges = np.concatenate([[lower], np.sort(np.clip(data, lower, upper)), [upper]])
    lengths = np.diff(edges)
    scores = -np.abs(np.arange(n + 1) - 0.5 * n)
    weights = lengths * np.exp(epsilon * scores / 2)
    return edges[rng.choice(n + 1, p=weights / weights.sum())]


# diffprivlib.tools.count_nonzero
@right(E1, X, XN)
def diffprivlib_count_nonzero(coins, data):
    return coins.release(np.count_nonzero(data), DiscreteLaplace(scale=1), site="count")


@wrong(E1, X, XN)
def diffprivlib_count_nonzero_w1(coins, data):
    count = np.count_nonzero(data)
    if count == 0:
        return 0
    return coins.release(count, DiscreteLaplace(scale=1), site="count")


# diffprivlib.models.PCA, with Gaussian noise on the second moment
@right({"rho": "1/4"}, BALL, BALLN)
def diffprivlib_pca(data, rng):
    n = len(data)
    moment = (data.T @ data) / n + rng.normal(0, 2 / n, size=(3, 3))
    values, vectors = np.linalg.eigh((moment + moment.T) / 2)
    return values[::-1], vectors[:, ::-1]


@right({"rho": "1/4"}, BALL, BALLN)
def diffprivlib_pca_symmetric_noise(data, rng):
    noise = np.triu(rng.normal(0, 2, size=(3, 3)))
    return data.T @ data + noise + np.triu(noise, 1).T


@wrong({"rho": "1/4"}, ROWS, ROWSN)
def diffprivlib_pca_w1(data, rng):
    n = len(data)
    moment = (data.T @ data) / n + rng.normal(0, 2 / n, size=(3, 3))
    return np.linalg.eigh((moment + moment.T) / 2)


@wrong({"rho": "1/4"}, BALL, BALLN)
def diffprivlib_pca_w2(data, rng):
    moment = data.T @ data + rng.normal(0, 2, size=(3, 3))
    return moment, data.mean(axis=0)


# diffprivlib.models.LinearRegression: the functional mechanism perturbs the coefficients of the loss. One
# record moves the three squares by 1 + 2 + 1 and the two products with y by 2 each.
@right(E1, REGRESSION, REGRESSIONN)
def diffprivlib_linear_regression(data, rng):
    X, y, scale = data["X"], data["y"], 8.0
    a, b = X[:, 0], X[:, 1]
    aa, ab, bb = (np.sum(z) + rng.laplace(0, scale) for z in (a * a, a * b, b * b))
    ay, by = np.sum(a * y) + rng.laplace(0, scale), np.sum(b * y) + rng.laplace(0, scale)
    loss = np.array([[aa, ab], [ab, bb]]) + 20 * np.eye(2)
    return np.linalg.lstsq(loss, np.array([ay, by]), rcond=None)[0]


@right({"rho": "3/4"}, REGRESSION, REGRESSIONN)
def linear_regression_by_statistics(data, rng):
    X, y = data["X"], data["y"]
    gram = X.T @ X + rng.normal(0, 4, size=(2, 2))
    moment = X.T @ y + rng.normal(0, 4, size=2)
    return np.linalg.solve(gram + 10 * np.eye(2), moment)


@wrong(E1, REGRESSION, REGRESSIONN)
def diffprivlib_linear_regression_w1(data, rng):
    X, y, scale = data["X"], data["y"], 4.0
    a, b = X[:, 0], X[:, 1]
    aa, ab, bb = (np.sum(z) + rng.laplace(0, scale) for z in (a * a, a * b, b * b))
    ay, by = np.sum(a * y) + rng.laplace(0, scale), np.sum(b * y) + rng.laplace(0, scale)
    return aa, ab, bb, ay, by


@wrong(E1, REGRESSION, REGRESSIONN)
def diffprivlib_linear_regression_w2(data, rng):
    X, y = data["X"], data["y"]
    return np.linalg.solve(X.T @ X + 20 * np.eye(2), X.T @ y) + rng.laplace(0, 0.01, size=2)


# diffprivlib.models.GaussianNB: count, sum and sum of squares of each class
@right(E1, LABELLED, LABELLEDN, **AR)
def diffprivlib_gaussian_nb(data, rng):
    x, y, found = data["x"], data["y"], {}
    for k in (0, 1):
        mine = x[y == k]
        count = max(len(mine) + rng.laplace(0, 4), 1)
        mean = (mine.sum() + rng.laplace(0, 4)) / count
        square = ((mine**2).sum() + rng.laplace(0, 2)) / count
        found[k] = (count, mean, max(square - mean**2, 1e-6))
    return found


@wrong(E1, LABELLED, LABELLEDN)
def diffprivlib_gaussian_nb_w1(data, rng):
    x, y, found = data["x"], data["y"], {}
    for k in (0, 1):
        mine = x[y == k]
        count = max(len(mine) + rng.laplace(0, 4), 1)
        found[k] = (
            count,
            (mine.sum() + rng.laplace(0, 4)) / count,
            ((mine**2).sum() + rng.laplace(0, 2)) / count,
        )
    return found


@wrong(E1, LABELLED, LABELLEDN, **AR)
def diffprivlib_gaussian_nb_w2(data, rng):
    x, y, found = data["x"], data["y"], {}
    for k in (0, 1):
        mine = x[y == k]
        found[k] = (mine.mean() + rng.laplace(0, 0.1), mine.var() + rng.laplace(0, 0.1))
    return found


# diffprivlib.models.KMeans, two iterations
@right(E2, SQUARE, SQUAREN, **AR)
def diffprivlib_kmeans(data, rng):
    centres = np.array([[0.25, 0.25], [0.75, 0.75]])
    for _iteration in range(2):
        distances = ((data[:, None, :] - centres) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        moved = []
        for k in range(2):
            mine = data[labels == k]
            count = max(len(mine) + rng.laplace(0, 2), 1)
            moved.append((mine.sum(axis=0) + rng.laplace(0, 4, size=2)) / count)
        centres = np.clip(np.array(moved), 0, 1)
    return centres


@wrong(E2, SQUARE, SQUAREN, **AR)
def diffprivlib_kmeans_w1(data, rng):
    centres = np.array([[0.25, 0.25], [0.75, 0.75]])
    history = []
    for _iteration in range(3):
        distances = ((data[:, None, :] - centres) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        moved = []
        for k in range(2):
            mine = data[labels == k]
            count = len(mine) + rng.laplace(0, 2)
            total = mine.sum(axis=0) + rng.laplace(0, 4, size=2)
            history.append((count, total))
            moved.append(total / max(count, 1))
        centres = np.clip(np.stack(moved), 0, 1)
    return history


@wrong(E2, SQUARE, SQUAREN, **AR)
def diffprivlib_kmeans_w2(data, rng):
    centres = np.array([[0.25, 0.25], [0.75, 0.75]])
    labels = ((data[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return [
        data[labels == k].sum(axis=0) / max((labels == k).sum(), 1) + rng.laplace(0, 1, 2) for k in range(2)
    ]


# diffprivlib.models.LogisticRegression: output perturbation of ten gradient steps. A record is label * x.
# Each step contracts by 1 - 0.1 and moves by at most 2 / n, so the weights move by at most 20 / n.
@right({"rho": "1/2"}, BALL, BALLN)
def logistic_output_perturbation(data, rng):
    n, w = len(data), np.zeros(3)
    for _step in range(10):
        slope = 1 / (1 + np.exp(data @ w))
        w = w + (data * slope[:, None]).mean(axis=0) - 0.1 * w
    return w + rng.normal(0, 20 / n, size=3)


@right({"rho": "1/2"}, BALL, BALLN)
def logistic_noisy_gradient(data, rng):
    n, w = len(data), np.zeros(3)
    for _step in range(4):
        slope = 1 / (1 + np.exp(data @ w))
        w = w + (data * slope[:, None]).mean(axis=0) + rng.normal(0, 4 / n, size=3) - 0.1 * w
    return w


@wrong({"rho": "1/2"}, BALL, BALLN)
def logistic_output_perturbation_w1(data, rng):
    n, w = len(data), np.zeros(3)
    for _step in range(10):
        slope = 1 / (1 + np.exp(data @ w))
        w = w + (data * slope[:, None]).mean(axis=0) - 0.1 * w
    return w + rng.normal(0, 0.1 / n, size=3)


@wrong({"rho": "1/2"}, BALL, BALLN)
def logistic_noisy_gradient_w1(data, rng):
    n, w = len(data), np.zeros(3)
    for _step in range(4):
        slope = 1 / (1 + np.exp(data @ w))
        w = w + (data * slope[:, None]).mean(axis=0) + rng.normal(0, 1 / n, size=3) - 0.1 * w
    return w


# diffprivlib.models.StandardScaler: mean and variance of each column
@right(E2, ROWS, ROWSN)
def diffprivlib_standard_scaler(data, rng):
    n = len(data)
    clipped = np.clip(data, 0, 1)
    mean = clipped.mean(axis=0) + rng.laplace(0, 3 / n, size=3)
    variance = clipped.var(axis=0) + rng.laplace(0, 3 / n, size=3)
    return mean, np.sqrt(np.maximum(variance, 1e-9))


@wrong(E2, ROWS, ROWSN)
def diffprivlib_standard_scaler_w1(data, rng):
    n = len(data)
    clipped = np.clip(data, 0, 1)
    mean = clipped.mean(axis=0) + rng.laplace(0, 1 / n, size=3)
    variance = clipped.var(axis=0) + rng.laplace(0, 1 / n, size=3)
    return mean, np.sqrt(np.maximum(variance, 1e-9))


# OpenDP: make_sized_bounded_mean, make_count_by_categories, clamp then make_laplace
@right(E1, X)
def opendp_sized_bounded_mean(data, rng):
    size, bounds, scale = 200, (-1.0, 1.0), 2 / 200
    clamped = np.clip(data, *bounds)
    return clamped.sum() / size + rng.laplace(scale=scale)


@wrong(E1, X)
def opendp_sized_bounded_mean_w1(data, rng):
    size, bounds, scale = 200, (-1.0, 1.0), 1 / 200
    clamped = np.clip(data, *bounds)
    return clamped.sum() / size + rng.laplace(scale=scale)


@right(E1, CAT, CATN, **AR)
def opendp_count_by_categories(coins, data):
    categories = (0, 1, 2)
    found = [coins.release(np.sum(data == c), DiscreteLaplace(scale=1), site="count") for c in categories]
    rest = (data != 0) & (data != 1) & (data != 2)
    return [*found, coins.release(np.sum(rest), DiscreteLaplace(scale=1), site="rest")]


@right(E1, CAT, CATN, **AR)
def opendp_count_by_categories_where(data, rng):
    known = np.where(data > 2, 3, data)
    return np.bincount(known, minlength=4) + rng.laplace(scale=1, size=4)


@wrong(E1, CAT, CATN, **AR)
def opendp_count_by_categories_w1(coins, data):
    categories = (0, 1, 2)
    found = [coins.release(np.sum(data == c), DiscreteLaplace(scale=1), site="count") for c in categories]
    rest = (data != 0) & (data != 1)
    return [*found, coins.release(np.sum(rest), DiscreteLaplace(scale=1), site="rest")]


@right(E1, X, XN)
def opendp_clamp_laplace(data, rng):
    return np.clip(data, -2, 2) + rng.laplace(scale=4, size=len(data))


@wrong(E1, X, XN)
def opendp_clamp_laplace_w1(data, rng):
    return np.clip(data, -2, 2) + rng.laplace(scale=2, size=len(data))


# OpenDP: make_randomized_response_bool and make_randomized_response (k categories)
@right({"epsilon": "11/10"}, BITS, BITSN)
def opendp_randomized_response_bool(data, rng):
    return np.where(rng.random(len(data)) < 0.75, data, ~data)


@wrong({"epsilon": "11/10"}, BITS, BITSN)
def opendp_randomized_response_bool_w1(data, rng):
    return np.where(rng.random(len(data)) < 0.75, data, rng.random(len(data)) < 0.5)


@right({"epsilon": "14/10"}, CAT, CATN)
def opendp_randomized_response(data, rng):
    n = len(data)
    other = (data + rng.integers(1, 5, size=n)) % 5
    return np.where(rng.random(n) < 0.5, data, other)


@right({"epsilon": "18/10"}, CAT, CATN)
def k_ary_randomized_response(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.5, data, rng.integers(0, 5, size=n))


@wrong({"epsilon": "14/10"}, CAT, CATN)
def opendp_randomized_response_w1(data, rng):
    n = len(data)
    return np.where(rng.random(n) < 0.5, data, rng.integers(0, 5, size=n))


# OpenDP: make_report_noisy_max_gumbel
@right(E1, CAT, CATN)
def opendp_noisy_max_gumbel(data, rng):
    scores = np.bincount(data, minlength=5)
    return int(np.argmax(scores + rng.gumbel(scale=2, size=5)))


@wrong(E1, CAT, CATN)
def opendp_noisy_max_gumbel_w1(data, rng):
    scores = np.bincount(data, minlength=5)
    return int(np.argmax(scores + rng.gumbel(scale=1, size=5)))


# Google: BoundedSum, BoundedMean, Count, quantiles by a tree
@right(E1, X, XN, **AR)
def google_bounded_sum(data, rng):
    lower, upper = -2.0, 5.0
    return np.clip(data, lower, upper).sum() + rng.laplace(scale=max(abs(lower), abs(upper)))


@wrong(E1, X, XN)
def google_bounded_sum_w1(data, rng):
    lower, upper = -2.0, 5.0
    return np.clip(data, lower, upper).sum() + rng.laplace(scale=max(abs(lower), abs(upper)))


@right(E1, X, XN, **AR)
def google_bounded_mean(data, rng):
    lower, upper = 0.0, 10.0
    middle = (lower + upper) / 2
    total = (np.clip(data, lower, upper) - middle).sum() + rng.laplace(scale=5 / 0.5)
    count = len(data) + rng.laplace(scale=1 / 0.5)
    return min(max(total / max(count, 1.0) + middle, lower), upper)


@wrong(E1, X, XN, **AR)
def google_bounded_mean_w1(data, rng):
    lower, upper = 0.0, 10.0
    total = np.clip(data, lower, upper).sum() + rng.laplace(scale=5 / 0.5)
    count = len(data) + rng.laplace(scale=1 / 0.5)
    return total, count


@right(E1, Records(Integers(0, 1), size=40, width=5), Records(Integers(0, 1), size=EVERY, width=5))
def google_count(data, rng):
    return np.minimum(data.sum(axis=1), 2).sum() + rng.laplace(scale=2)


@wrong(E1, Records(Integers(0, 1), size=40, width=5), Records(Integers(0, 1), size=EVERY, width=5))
def google_count_w1(data, rng):
    return data.sum() + rng.laplace(scale=2)


@right(E1, X, XN, **AR)
def google_quantiles_tree(data, rng):
    leaves, edges = np.histogram(np.clip(data, 0, 16), bins=16, range=(0, 16))
    inner = leaves.reshape(4, 4).sum(axis=1) + rng.laplace(scale=2, size=4)
    leaves = leaves + rng.laplace(scale=2, size=16)
    rank, node = 0.5 * max(inner.sum(), 1), 0
    while node < 3 and rank > inner[node]:
        rank, node = rank - inner[node], node + 1
    leaf = 4 * node
    while leaf < 4 * node + 3 and rank > leaves[leaf]:
        rank, leaf = rank - leaves[leaf], leaf + 1
    return edges[leaf]


@right(E1, X, XN, **AR)
def google_quantiles_tree_levels(data, rng):
    leaves, _edges = np.histogram(np.clip(data, 0, 16), bins=16, range=(0, 16))
    inner = leaves.reshape(4, 4).sum(axis=1) + rng.laplace(scale=2, size=4)
    leaves = leaves + rng.laplace(scale=2, size=16)
    return np.cumsum(inner), np.cumsum(leaves)


@wrong(E1, X, XN, **AR)
def google_quantiles_tree_w1(data, rng):
    leaves, _edges = np.histogram(np.clip(data, 0, 16), bins=16, range=(0, 16))
    inner = leaves.reshape(4, 4).sum(axis=1) + rng.laplace(scale=1, size=4)
    leaves = leaves + rng.laplace(scale=1, size=16)
    return np.cumsum(inner), np.cumsum(leaves)


# Tumult: average and count of groups with a given key set
@right(E1, GROUPED, GROUPEDN, **AR)
def tumult_groupby_average(data, rng):
    value, team, found = np.clip(data["value"], -1, 1), data["team"], {}
    for key in range(4):
        chosen = team == key
        total = value[chosen].sum() + rng.laplace(scale=2)
        count = chosen.sum() + rng.laplace(scale=2)
        found[key] = total / max(count, 1)
    return found


@wrong(E1, GROUPED, GROUPEDN, **AR)
def tumult_groupby_average_w1(data, rng):
    value, team, found = data["value"], data["team"], {}
    for key in range(4):
        chosen = team == key
        found[key] = (value[chosen].sum() + rng.laplace(scale=2)) / max(
            chosen.sum() + rng.laplace(scale=2), 1
        )
    return found


@right(E1, GROUPED, GROUPEDN, **AR)
def tumult_groupby_count(coins, data):
    team = data["team"]
    return {
        key: coins.release((team == key).sum(), DiscreteLaplace(scale=1), site="count") for key in range(4)
    }


@wrong(E1, GROUPED, GROUPEDN, **AR)
def tumult_groupby_count_w1(coins, data):
    team = data["team"]
    return {
        key: coins.release((team == key).sum(), DiscreteLaplace(scale=1), site="count")
        for key in range(4)
        if np.any(team == key)
    }


# Unknown keys: a key with a record is shown if its noisy count is above 1 + log(1 / (2 delta)) = 14.2.
@right({"epsilon": 1, "delta": "1/1000000"}, CAT, CATN, **AR)
def partition_selection(data, rng):
    found = {}
    for key in range(5):
        count = (data == key).sum()
        noisy = count + rng.laplace(scale=1)
        if count > 0 and noisy > 14.2:
            found[key] = noisy
    return found


@wrong({"epsilon": 1, "delta": "1/1000000"}, CAT, CATN, **AR)
def partition_selection_w1(data, rng):
    found = {}
    for key in range(5):
        count = (data == key).sum()
        noisy = count + rng.laplace(scale=1)
        if count > 0 and noisy > 1:
            found[key] = noisy
    return found


# IBM: Exponential and PermuteAndFlip on counts
@right(E1, CAT, CATN)
def ibm_exponential(data, rng):
    utility = np.bincount(data, minlength=5).astype(float)
    utility = utility - utility.max()
    weights = np.exp(1.0 * utility / 2)
    return int(rng.choice(5, p=weights / weights.sum()))


@wrong(E1, CAT, CATN)
def ibm_exponential_w1(data, rng):
    utility = np.bincount(data, minlength=5).astype(float)
    weights = np.exp(1.0 * (utility - utility.max()))
    return int(rng.choice(5, p=weights / weights.sum()))


@right(E1, CAT, CATN)
def ibm_permute_and_flip(data, rng):
    utility = np.bincount(data, minlength=5)
    best = utility.max()
    for key in rng.permutation(5):
        if rng.random() < np.exp(1.0 * (utility[key] - best) / 2):
            return int(key)
    return None


@right(E1, CAT, CATN)
def permute_and_flip_by_noise(data, rng):
    return int(np.argmax(np.bincount(data, minlength=5) + rng.exponential(scale=2, size=5)))


@wrong(E1, CAT, CATN)
def ibm_permute_and_flip_w1(data, rng):
    utility = np.bincount(data, minlength=5)
    best = utility.max()
    for key in range(5):
        if rng.random() < np.exp(1.0 * (utility[key] - best)):
            return int(key)
    return None


@wrong(E1, CAT, CATN)
def permute_and_flip_by_noise_w1(data, rng):
    return int(np.argmax(2 * np.bincount(data, minlength=5) + rng.exponential(scale=2, size=5)))


# Opacus and TensorFlow Privacy: steps with a fixed batch
@right({"rho": "1/2"}, ROWS, ROWSN, **AR)
def opacus_step(data, rng):
    max_grad_norm, noise_multiplier, batch = 1.5, 1.0, 100
    norms = np.linalg.norm(data, axis=1)
    factors = np.clip(max_grad_norm / (norms + 1e-6), None, 1.0)
    total = (factors[:, None] * data).sum(axis=0)
    return (total + rng.normal(0, noise_multiplier * max_grad_norm, size=3)) / batch


@right({"rho": "1/2"}, ROWS, ROWSN, **AR)
def opacus_step_einsum(data, rng):
    max_grad_norm, noise_multiplier, batch = 1.5, 1.0, 100
    factors = np.minimum(1.0, max_grad_norm / (np.linalg.norm(data, axis=1) + 1e-6))
    total = np.einsum("n,ni->i", factors, data)
    return (total + rng.normal(0, noise_multiplier * max_grad_norm, size=3)) / batch


@right({"mu": 2}, REGRESSION, REGRESSIONN)
def tensorflow_privacy_steps(data, rng):
    X, y, w, clip = data["X"], data["y"], np.zeros(2), 1.0
    for _step in range(4):
        gradients = 2 * (X @ w - y)[:, None] * X
        norms = np.sqrt((gradients**2).sum(axis=1, keepdims=True))
        clipped = gradients / np.maximum(norms / clip, 1.0)
        w = w - 0.1 * (clipped.sum(axis=0) + rng.normal(0, 2 * clip, size=2)) / len(y)
    return w


@wrong({"rho": "1/2"}, ROWS, ROWSN, **AR)
def opacus_step_w1(data, rng):
    max_grad_norm, noise_multiplier, batch = 1.5, 1.0, 100
    factors = np.minimum(1.0, max_grad_norm / (np.linalg.norm(data, axis=1) + 1e-6))
    total = (factors[:, None] * data).sum(axis=0)
    return (total + rng.normal(0, noise_multiplier, size=3)) / batch


@wrong({"mu": 2}, REGRESSION, REGRESSIONN)
def tensorflow_privacy_steps_w1(data, rng):
    X, y, w, clip = data["X"], data["y"], np.zeros(2), 1.0
    for _step in range(4):
        gradient = (2 * (X @ w - y)[:, None] * X).sum(axis=0)
        gradient = gradient / max(np.sqrt((gradient**2).sum()) / clip, 1.0)
        w = w - 0.1 * (gradient + rng.normal(0, clip / 2, size=2)) / len(y)
    return w


# PATE: noisy votes of teachers, LNMax and GNMax
@right(E1, CAT, CATN)
def pate_laplace(data, rng):
    votes = np.bincount(data, minlength=5)
    return np.argmax(votes + rng.laplace(0, 2, size=5))


@right({"rho": "1/4"}, CAT, CATN)
def pate_gaussian(data, rng):
    votes = (data[:, None] == np.arange(5)).sum(axis=0)
    return np.argmax(votes + rng.normal(0, 2, size=5))


@wrong(E1, CAT, CATN)
def pate_laplace_w1(data, rng):
    votes = np.bincount(data, minlength=5)
    return np.argmax(votes + rng.laplace(0, 1, size=5))


@wrong(E1, CAT, CATN)
def pate_laplace_w2(data, rng):
    votes = np.bincount(data, minlength=5)
    if votes.max() < 100:
        return None
    return np.argmax(votes + rng.laplace(0, 2, size=5))


# SmartNoise: a histogram with edges, without small counts
@right(E1, X, XN)
def smartnoise_histogram(data, rng):
    counts, edges = np.histogram(np.clip(data, 0, 100), bins=np.arange(0, 101, 25))
    noisy = np.rint(counts + rng.laplace(scale=2, size=4))
    return [(edges[i], noisy[i]) for i in range(4) if noisy[i] > 5]


@wrong(E1, X, XN)
def smartnoise_histogram_w1(data, rng):
    counts, edges = np.histogram(np.clip(data, 0, 100), bins=np.arange(0, 101, 25))
    noisy = np.rint(counts + rng.laplace(scale=2, size=4))
    return [(edges[i], noisy[i]) for i in range(4) if counts[i] > 5]


# Basic RAPPOR and Apple's count-mean sketch: each bit of a one-hot vector is flipped with probability 1/4,
# epsilon = 2 log 3 = 2.1972.
@right({"epsilon": "11/5"}, CAT, CATN)
def basic_rappor(data, rng):
    bits = data[:, None] == np.arange(5)
    return np.where(rng.random((len(data), 5)) < 0.25, ~bits, bits)


@right({"epsilon": "11/5"}, CAT, CATN)
def apple_count_mean_sketch(data, rng):
    signs = np.where(data[:, None] == np.arange(5), 1, -1)
    sent = np.where(rng.random((len(data), 5)) < 0.25, -signs, signs)
    return (sent + 0.5).sum(axis=0)


@wrong({"epsilon": "11/10"}, CAT, CATN)
def basic_rappor_w1(data, rng):
    bits = data[:, None] == np.arange(5)
    return np.where(rng.random((len(data), 5)) < 0.25, ~bits, bits)


@wrong({"epsilon": "11/5"}, CAT, CATN)
def apple_count_mean_sketch_w1(data, rng):
    signs = np.where(data[:, None] == np.arange(5), 1, -1)
    return np.where(rng.random((len(data), 1)) < 0.25, -signs, signs)


# MWEM, one round on five cells and four counting queries
QUERIES = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [1, 0, 1, 0, 1], [0, 0, 0, 1, 1]])


@right(E1, CAT, CATN)
def mwem_round(data, rng):
    n, synthetic = len(data), np.full(5, 0.2)
    answers = QUERIES @ np.bincount(data, minlength=5)
    errors = np.abs(answers - n * (QUERIES @ synthetic))
    weights = np.exp(errors / 4)
    worst = rng.choice(4, p=weights / weights.sum())
    measured = answers[worst] + rng.laplace(scale=2)
    synthetic = synthetic * np.exp(QUERIES[worst] * (measured / n - QUERIES[worst] @ synthetic) / 2)
    return synthetic / synthetic.sum()


@wrong(E1, CAT, CATN)
def mwem_round_w1(data, rng):
    n, synthetic = len(data), np.full(5, 0.2)
    answers = QUERIES @ np.bincount(data, minlength=5)
    errors = np.abs(answers - n * (QUERIES @ synthetic))
    worst = np.argmax(errors)
    measured = answers[worst] + rng.laplace(scale=1)
    return worst, measured


@wrong(E1, CAT, CATN)
def mwem_round_w2(data, rng):
    n, synthetic = len(data), np.full(5, 0.2)
    answers = QUERIES @ np.bincount(data, minlength=5)
    weights = np.exp(np.abs(answers - n * (QUERIES @ synthetic)) / 2)
    worst = rng.choice(4, p=weights / weights.sum())
    return worst, answers[worst] + rng.laplace(scale=2)


# A median by the exponential mechanism with Gumbel noise
@right(E1, X, XN)
def private_median(data, rng):
    grid = np.arange(0, 10.5, 0.5)
    ranks = np.array([np.sum(data <= g) for g in grid])
    return grid[np.argmax(-np.abs(ranks - len(data) / 2) + rng.gumbel(scale=2, size=21))]


@right(E1, X, XN)
def private_median_broadcast(data, rng):
    grid = np.arange(0, 10.5, 0.5)
    ranks = (data[:, None] <= grid).sum(axis=0)
    return grid[np.argmax(-np.abs(ranks - len(data) / 2) + rng.gumbel(scale=2, size=21))]


@wrong(E1, X, XN)
def private_median_w1(data, rng):
    grid = np.arange(0, 10.5, 0.5)
    ranks = (data[:, None] <= grid).sum(axis=0)
    return grid[np.argmax(-np.abs(ranks - len(data) / 2) + rng.gumbel(scale=1, size=21))]


# A sparse mean: the two largest noisy coordinates, then their noisy sums
@right(E2, Records(Interval(0, 1), size=100, width=6), Records(Interval(0, 1), size=EVERY, width=6))
def sparse_mean(data, rng):
    n, sums = len(data), data.sum(axis=0)
    chosen = np.argsort(sums + rng.laplace(scale=4, size=6))[-2:]
    found = np.zeros(6)
    for k in chosen:
        found[k] = (sums[k] + rng.laplace(scale=2)) / n
    return found


@wrong(E2, Records(Interval(0, 1), size=100, width=6), Records(Interval(0, 1), size=EVERY, width=6))
def sparse_mean_w1(data, rng):
    n, sums = len(data), data.sum(axis=0)
    chosen = np.argsort(sums)[-2:]
    found = np.zeros(6)
    for k in chosen:
        found[k] = (sums[k] + rng.laplace(scale=2)) / n
    return found


# Prefix sums by matrix factorisation A = B C: noise on C x, or correlated noise B z on A x. The columns of C
# have L2 norm at most 1.36.
SQRT = np.array([1.0, 0.5, 0.375, 0.3125, 0.2734375, 0.24609375])
C = np.array([[SQRT[i - j] if i >= j else 0.0 for j in range(6)] for i in range(6)])
PREFIX = np.tril(np.ones((6, 6)))


@right({"rho": "1/2"}, Records(Interval(0, 1), size=6))
def matrix_factorisation(data, rng):
    return C @ (C @ data + rng.normal(0, 1.36, size=6))


@right({"rho": "1/2"}, Records(Interval(0, 1), size=6))
def matrix_factorisation_correlated_noise(data, rng):
    return PREFIX @ data + C @ rng.normal(0, 1.36, size=6)


@wrong({"rho": "1/2"}, Records(Interval(0, 1), size=6))
def matrix_factorisation_w1(data, rng):
    return C @ (C @ data + rng.normal(0, 1, size=6))


@wrong({"rho": "1/2"}, Records(Interval(0, 1), size=6))
def matrix_factorisation_correlated_noise_w1(data, rng):
    return PREFIX @ data + C @ rng.normal(0, 0.5, size=6)


# The same functions in forms that differ in one line.
@right(E1, CAT, CATN)
def mwem_round_of_floats(data, rng):
    n, synthetic = len(data), np.full(5, 0.2)
    answers = QUERIES.astype(float) @ np.bincount(data, minlength=5)
    scores = np.abs(answers - n * (QUERIES @ synthetic))
    weights = np.exp(scores / 4)
    worst = rng.choice(4, p=weights / weights.sum())
    measured = answers[worst] + rng.laplace(scale=2)
    synthetic = synthetic * np.exp(QUERIES[worst] * (measured / n - QUERIES[worst] @ synthetic) / 2)
    return synthetic / synthetic.sum()


@wrong(E1, CAT, CATN)
def mwem_round_of_floats_w1(data, rng):
    n, synthetic = len(data), np.full(5, 0.2)
    answers = QUERIES.astype(float) @ np.bincount(data, minlength=5)
    scores = np.abs(answers - n * (QUERIES @ synthetic))
    weights = np.exp(scores / 2)
    worst = rng.choice(4, p=weights / weights.sum())
    return worst, answers[worst] + rng.laplace(scale=2)


@right({"rho": "1/4"}, BALL, BALLN)
def diffprivlib_pca_of_public_moment(data, rng):
    moment = data.T @ data + rng.normal(0, 2, size=(3, 3))
    return np.linalg.eigh((moment + moment.T) / 2)


@right(E2, SQUARE, SQUAREN, **AR)
def diffprivlib_kmeans_stacked(data, rng):
    centres = np.array([[0.25, 0.25], [0.75, 0.75]])
    for _iteration in range(2):
        labels = ((data[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        moved = []
        for k in range(2):
            mine = data[labels == k]
            count = max(len(mine) + rng.laplace(0, 2), 1)
            moved.append((mine.sum(axis=0) + rng.laplace(0, 4, size=2)) / count)
        centres = np.clip(np.stack(moved), 0, 1)
    return centres


@right({"epsilon": 1}, SQUARE, SQUAREN, **AR)
def diffprivlib_kmeans_one_iteration(data, rng):
    centres = np.array([[0.25, 0.25], [0.75, 0.75]])
    labels = ((data[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    moved = []
    for k in range(2):
        mine = data[labels == k]
        count = max(len(mine) + rng.laplace(0, 2), 1)
        moved.append((mine.sum(axis=0) + rng.laplace(0, 4, size=2)) / count)
    return np.clip(np.array(moved), 0, 1)


@right(E2, SQUARE, SQUAREN, **AR)
def diffprivlib_kmeans_of_two_rows(data, rng):
    first, second = np.array([0.25, 0.25]), np.array([0.75, 0.75])
    for _iteration in range(2):
        nearer = ((data - first) ** 2).sum(axis=1) <= ((data - second) ** 2).sum(axis=1)
        counts = nearer.sum() + rng.laplace(0, 2), (~nearer).sum() + rng.laplace(0, 2)
        sums = [data[chosen].sum(axis=0) + rng.laplace(0, 4, size=2) for chosen in (nearer, ~nearer)]
        first, second = sums[0] / max(counts[0], 1), sums[1] / max(counts[1], 1)
    return first, second


@wrong(E2, SQUARE, SQUAREN, **AR)
def diffprivlib_kmeans_of_two_rows_w1(data, rng):
    first, second = np.array([0.25, 0.25]), np.array([0.75, 0.75])
    nearer = ((data - first) ** 2).sum(axis=1) <= ((data - second) ** 2).sum(axis=1)
    farther = ((data - first) ** 2).sum(axis=1) >= 0.1
    return [data[chosen].sum(axis=0) + rng.laplace(0, 1, size=2) for chosen in (nearer, farther)]


@right(E2, ROWS, ROWSN)
def diffprivlib_standard_scaler_by_columns(data, rng):
    n, found = len(data), []
    for j in range(3):
        column = np.clip(data[:, j], 0, 1)
        mean = column.mean() + rng.laplace(0, 3 / n)
        found.append((mean, np.sqrt(max(column.var() + rng.laplace(0, 3 / n), 1e-9))))
    return found


@wrong(E2, ROWS, ROWSN)
def diffprivlib_standard_scaler_by_columns_w1(data, rng):
    n, found = len(data), []
    for j in range(3):
        column = np.clip(data[:, j], 0, 1)
        mean = column.mean()
        found.append((mean + rng.laplace(0, 3 / n), ((column - mean) ** 2).mean() + rng.laplace(0, 1 / n)))
    return found


@right(E1, CAT, CATN, **AR)
def opendp_count_by_categories_one_hot(coins, data):
    counts = np.bincount(np.minimum(data, 3), minlength=4)
    return [coins.release(count, DiscreteLaplace(scale=1), site="count") for count in counts]


@right({"epsilon": "11/5"}, CAT, CATN)
def basic_rappor_of_counts(data, rng):
    bits = (data[:, None] == np.arange(5)).astype(int)
    return np.where(rng.random((len(data), 5)) < 0.75, bits, 1 - bits).sum(axis=0)


@right(E2, Records(Interval(0, 1), size=100, width=6), Records(Interval(0, 1), size=EVERY, width=6))
def sparse_mean_by_pairs(data, rng):
    n, sums = len(data), data.sum(axis=0)
    chosen = np.argsort(sums + rng.laplace(scale=4, size=6))[-2:]
    return [(k, (sums[k] + rng.laplace(scale=2)) / n) for k in chosen]


@wrong(E2, Records(Interval(0, 1), size=100, width=6), Records(Interval(0, 1), size=EVERY, width=6))
def sparse_mean_by_pairs_w1(data, rng):
    sums = data.sum(axis=0)
    chosen = np.argsort(sums + rng.laplace(scale=2, size=6))[-2:]
    return [(k, sums[k] + rng.laplace(scale=1)) for k in chosen]


@right({"mu": 2}, REGRESSION, REGRESSIONN)
def tensorflow_privacy_steps_by_norm(data, rng):
    X, y, w, clip = data["X"], data["y"], np.zeros(2), 1.0
    for _step in range(4):
        gradients = 2 * (X @ w - y)[:, None] * X
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients / np.maximum(norms / clip, 1.0)
        w = w - 0.1 * (clipped.sum(axis=0) + rng.normal(0, 2 * clip, size=2)) / len(y)
    return w


@wrong({"mu": 2}, REGRESSION, REGRESSIONN)
def tensorflow_privacy_steps_by_norm_w1(data, rng):
    X, y, w, clip, shown = data["X"], data["y"], np.zeros(2), 1.0, []
    for _step in range(4):
        gradients = 2 * (X @ w - y)[:, None] * X
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients / np.maximum(norms / clip, 1.0)
        w = w - 0.1 * (clipped.sum(axis=0) + rng.normal(0, clip, size=2)) / len(y)
        shown.append(w)
    return shown


@wrong({"rho": "1/4"}, REGRESSION, REGRESSIONN)
def linear_regression_by_statistics_w1(data, rng):
    X, y = data["X"], data["y"]
    gram = X.T @ X + rng.normal(0, 4, size=(2, 2))
    return gram, X.T @ y + rng.normal(0, 2, size=2)


@wrong({"rho": "1/8"}, BALL, BALLN)
def diffprivlib_pca_symmetric_noise_w1(data, rng):
    noise = np.triu(rng.normal(0, 2, size=(3, 3)))
    return data.T @ data + noise + np.triu(noise, 1).T


@wrong({"rho": "1/2"}, ROWS, ROWSN, **AR)
def opacus_step_einsum_w1(data, rng):
    factors = np.minimum(1.0, 1.5 / np.linalg.norm(data.sum(axis=0)))
    return factors * np.einsum("ni->i", data) + rng.normal(0, 1.5, size=3)


@wrong({"epsilon": "14/10"}, CAT, CATN)
def opendp_randomized_response_w2(data, rng):
    n = len(data)
    other = (data + rng.integers(1, 5, size=n)) % 5
    return np.where(rng.random(n) < 0.6, data, other)
