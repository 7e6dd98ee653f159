"""Programs that are not private, or must not be followed, and a few private programs with unusual code.

Each was found by a reviewer who tried to get a false claim verified. ``HOSTILE`` lists the functions with their
claims and data. None of them may be verified. ``FINE`` lists private programs, which may be verified or refused.
The prover only reads these functions. They are not for use.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import operator
import os
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dpaudit.core.claims import PureDP, ZeroConcentratedDP
from dpaudit.core.data import EVERY, Anything, Integers, Interval, Records, Table
from dpaudit.core.views import PUBLIC, SERVER
from dpaudit.distributions import DiscreteLaplace, Gaussian, Gumbel, Laplace, NoisyArgmax
from dpaudit.prover.values.prove import PrivacyClaim

__all__ = ["FINE", "HOSTILE", "Hostile"]


class Hostile(NamedTuple):
    """One program with its claim and its data."""

    function: Callable[..., Any]
    claim: PrivacyClaim
    data: Records | Table


HOSTILE: list[Hostile] = []
FINE: list[Hostile] = []


E1 = PureDP(epsilon=1)
X, B, ROW = (
    Records(Anything(), size=20),
    Records(Interval(0, 1), size=20),
    Records(Interval(0, 1), size=3, width=3),
)
BITS = Records(Integers(0, 1), size=20)
BITS4 = Records(Interval(0, 1), size=4)


def _keep(table: list[Hostile], data: Any, claim: Any) -> Any:
    def keep(function: Any) -> Any:
        table.append(Hostile(function, claim or E1, data or B))
        return function

    return keep


def bad(data: Any = None, claim: Any = None) -> Any:
    """Register a program that must not be verified."""
    return _keep(HOSTILE, data, claim)


def fine(data: Any = None, claim: Any = None) -> Any:
    """Register a program that is private."""
    return _keep(FINE, data, claim)


def lap(rng, x, s=1):
    return x + rng.laplace(scale=s)


# --- aliasing, views, in-place
@bad()
def view_write(d, rng):
    y = d[:5]
    y[...] = 100 * d[:5]
    return lap(rng, d.sum())


@bad()
def alias_inplace(d, rng):
    x = np.clip(d, 0, 1)
    y = x
    y *= 100
    return lap(rng, x.sum())


@bad()
def reshape_alias(d, rng):
    x = np.clip(d, 0, 1)
    y = x.reshape(-1, 1)
    x *= 100
    return lap(rng, y.sum())


@bad()
def asarray_shares(d, rng):
    x = np.clip(d, 0, 1)
    y = np.asarray(x)
    y *= 100
    return lap(rng, x.sum())


@bad()
def buffer_set(d, rng):
    buf = np.zeros(20)
    buf[:] = d
    return buf


@bad()
def buffer_iadd(d, rng):
    buf = np.zeros(20)
    buf += d
    return buf


@bad()
def add_at(d, rng):
    buf = np.zeros(2)
    np.add.at(buf, [0] * 20, d)
    return buf


@bad()
def noisy_alias(d, rng):
    v = np.clip(d, 0, 0) + rng.laplace(scale=1, size=20)
    y = v
    v += 100 * d
    return y


@bad()
def public_alias(d, rng):
    o = np.zeros(20) + rng.laplace(scale=1, size=20)
    o = np.maximum(o, 0)
    y = o
    o += 100 * d
    return y


@fine()
def row_write(d, rng):
    for r in d:
        r *= 100
    return lap(rng, d.sum())


@bad(ROW)
def column_write(d, rng):
    c = np.clip(d, 0, 1)
    v = c[:, 0]
    v *= 100
    return c.sum(axis=0) + rng.laplace(scale=3, size=3)


@fine()
def scalar_iadd(d, rng):
    t = 0
    for x in d:
        s = t
        t += x
    return lap(rng, t)


# --- conversions
@bad()
def item(d, rng):
    return d[0].item()


@bad()
def memory(d, rng):
    return memoryview(d)[0]


@bad()
def deep_copy(d, rng):
    return copy.deepcopy(d)


@bad()
def percent(d, rng):
    return "%f" % d[0]


@bad()
def fmt(d, rng):
    return "{}".format(d)


@bad()
def rep(d, rng):
    return repr(d)


@bad()
def as_index(d, rng):
    return [10, 20][d[0] > 0.5]


@bad()
def as_range(d, rng):
    return len([0 for _ in range(int(d.sum()))])


@bad()
def in_set(d, rng):
    return len({x for x in d})


@bad()
def list_index(d, rng):
    return [x for x in d].index(0.5)


@bad()
def unique(d, rng):
    return len(np.unique(d))


@bad()
def where1(d, rng):
    return len(np.where(d > 0.5)[0])


@bad()
def times_str(d, rng):
    return "a" * (d > 0.5).sum()


@bad()
def math_fn(d, rng):
    return math.floor(d.sum())


@bad()
def fromiter(d, rng):
    return np.fromiter((x for x in d), float)


@bad()
def interface(d, rng):
    return d.__array_interface__


@bad()
def runs(d, rng):
    return d.run.infos


# --- control
@bad()
def loop(d, rng):
    k = 0
    while k < d.sum():
        k += 1
    return k


@bad()
def andor(d, rng):
    return (d.sum() > 3) and 5


@bad()
def swallow(d, rng):
    try:
        return float(d[0])
    except Exception:
        return 0


@bad()
def swallow_branch(d, rng):
    try:
        t = d[0] > 0.5 and 1
    except Exception:
        t = 0
    return lap(rng, t)


@bad()
def sort_key(d, rng):
    return sorted(range(20), key=lambda i: d[i])


@bad()
def any_gen(d, rng):
    return any(x > 0.5 for x in d)


@bad()
def index_error(d, rng):
    return [1, 2, 3][int(d.sum())]


@bad()
def divides(d, rng):
    return lap(rng, 1 / d.sum())


@bad(X)
def mask_len(d, rng):
    return len(d[d > 0])


@bad(X)
def mask_size(d, rng):
    return d[d > 0].size


@bad(X)
def mask_max(d, rng):
    return lap(rng, np.clip(d[d > 0], 0, 1).max())


@bad(X)
def mask_two(d, rng):
    return lap(rng, (np.clip(d[d > 0], 0, 1) + np.clip(d[d > 1], 0, 1)).sum())


@bad(X)
def mask_iter(d, rng):
    return sum(1 for _ in d[d > 0])


@bad(X)
def mask_assign(d, rng):
    x = d * 1
    x[x > 1] = 1
    return lap(rng, x.sum())


@bad(X)
def mask_sum_w(d, rng):
    return lap(rng, np.clip(d[d > 0], 5, 6).sum())


# --- state
def default_(d, rng, seen=[]):
    seen.append(d[0])
    return lap(rng, d.sum())


bad()(default_)
OPS = operator.attrgetter("node")
STORE = {}


@bad()
def glob(d, rng):
    global LAST
    LAST = d.sum()
    return lap(rng, d.sum())


def make():
    n = 0

    def count(d, rng):
        nonlocal n
        n += 1
        return lap(rng, d.sum()) if n < 3 else lap(rng, 100 * d.sum())

    return count


bad()(make())
CUR = {}


@functools.cache
def peak():
    return CUR["d"]


@functools.lru_cache
def helper(k):
    return k + 1


@fine()
def cached_public(d, rng):
    return lap(rng, d.sum()) + helper(2)


class K:
    total = 0


@bad()
def cattr(d, rng):
    K.total = K.total + 1
    return lap(rng, d.sum())


N = itertools.count()


@bad()
def rand(d, rng):
    return lap(rng, d.sum()) if random.random() < 0.999 else d.sum()


@fine()
def nprandom(d, rng):
    return d.sum() + np.random.laplace()


@bad()
def env(d, rng):
    return lap(rng, d.sum()) if os.environ.get("LEAK") is None else d.sum()


@bad()
def file_(d, rng):
    open("leak", "a").write("x")
    return lap(rng, d.sum())


@bad()
def type_test(d, rng):
    return lap(rng, d.sum()) if type(d) is not np.ndarray else d.sum()


@bad()
def hasat(d, rng):
    return lap(rng, d.sum()) if not hasattr(d, "flags") else d.sum()


@bad()
def cls_(d, rng):
    return lap(rng, d.sum()) if d.__class__ is not np.ndarray else d.sum()


@bad()
def identity(d, rng):
    return lap(rng, d.sum()) if d.sum() is not d.sum() else d.sum()


# --- numbers
@bad(Records(Integers(0, 300), size=20), PureDP(epsilon=300))
def wraps8(d, rng):
    return lap(rng, d.astype(np.uint8).sum())


@bad()
def floors(d, rng):
    return lap(rng, np.floor(100 * d).sum())


@bad()
def rounds(d, rng):
    return lap(rng, np.round(d + 0.5 * d).sum())


@bad()
def logs(d, rng):
    return lap(rng, np.log(d).sum())


@bad()
def modulo(d, rng):
    return lap(rng, (10 * d % 1).sum(), 0.5)


@bad()
def signs(d, rng):
    return lap(rng, np.sign(d - 0.5).sum())


@bad()
def nans(d, rng):
    return lap(rng, np.where(d > 0.5, np.nan, 0).sum())


@fine()
def outer_row(d, rng):
    return lap(rng, (d[:, None] * d).mean())


@bad()
def empty_mean(d, rng):
    return lap(rng, d[5:5].mean())


@bad(ROW)
def along(d, rng):
    return lap(rng, np.apply_along_axis(lambda r: 100 * r.sum(), 1, d).sum())


@bad()
def objects(d, rng):
    return np.array([d[0], None], dtype=object)


@bad()
def weighted(d, rng):
    return np.histogram(d, bins=2, range=(0, 1), weights=100 * d)[0] + rng.laplace(scale=2, size=2)


@bad()
def repeated(d, rng):
    return lap(rng, d[[0, 0, 0]].sum())


@bad()
def concat(d, rng):
    return lap(rng, np.concatenate([d, d, d]).sum())


@bad()
def tile(d, rng):
    return lap(rng, np.tile(d, 3).sum())


@bad()
def reversed_(d, rng):
    return lap(rng, (d + d[::-1]).sum())


@bad()
def big_weight(d, rng):
    return lap(rng, (d * np.arange(20)).sum())


@bad()
def lag(d, rng):
    return lap(rng, np.diff(d).sum())


@bad()
def sorted_(d, rng):
    return np.sort(d)[0]


@bad(Records(Interval(-1, 1), size=20))
def product(d, rng):
    return lap(rng, np.prod(d) * 10)


# --- noise
@bad()
def reuse2(d, rng):
    n = rng.laplace(scale=1)
    return d.sum() + n, 2 * d.sum() + n


@bad()
def reuse4(d, rng):
    n = rng.laplace(scale=1, size=2)
    return d.sum() + n[0], n[0], d.sum() + n[1]


@bad()
def cancel(d, rng):
    a = rng.laplace(scale=1)
    b = a * -1
    return d.sum() + a + b


@bad()
def zero_noise(d, rng):
    return d.sum() + 0 * rng.laplace(scale=1)


@bad()
def private_size(d, rng):
    return rng.laplace(scale=1, size=int(d.sum()))


@bad()
def gauss_pure(d, rng):
    return d.sum() + rng.normal(0, 100)


@bad()
def max_public(d, rng):
    return max(d.sum() + rng.laplace(scale=1), d.sum())


@bad()
def index_outcome(d, rng):
    k = np.argmax(np.zeros(20) + rng.laplace(scale=1, size=20))
    return d[k]


@bad()
def outcome_scale(d, rng):
    o = lap(rng, d.sum(), 2)
    return o, d.sum() + rng.laplace(scale=abs(o))


@bad()
def choice_private(d, rng):
    return rng.choice(d)


@bad()
def shuffle(d, rng):
    rng.shuffle(d)
    return lap(rng, d.sum())


@bad()
def argmax_then(d, rng):
    v = d * 2.0 + rng.laplace(scale=1, size=20)
    return np.argmax(v), v.max()


@bad()
def hidden_many(coins, d):
    t = coins.draw(Laplace(scale=2), site="t")
    return [bool(d[:k].sum() > t) for k in range(1, 6)] + [bool(5 * d.sum() > t)]


@bad()
def coin_twice(d, rng):
    keep = rng.random(20) < 0.6
    return np.where(keep, d > 0.5, 1 - (d > 0.5)), keep.sum()


@bad(BITS)
def coin_shape(d, rng):
    return np.where(rng.random() < 0.6, d, 1 - d)


@bad(Records(Integers(0, 1), size=20), PureDP(epsilon=1, adjacency="add-remove"))
def ar_len(d, rng):
    return lap(rng, d.sum()), d.shape[0] > 5


@bad(B, PureDP(epsilon=1, adjacency="add-remove"))
def ar_noise_size(d, rng):
    return d.sum() + rng.laplace(scale=1, size=len(d)).sum()


@bad(B, PureDP(epsilon=1, adjacency="add-remove"))
def ar_shift(d, rng):
    return lap(rng, (d + 100).sum() - 100 * 20)


@bad(Records(Interval(0, 1), size=20, width=5))
def user_events(d, rng):
    return lap(rng, d.sum())


@bad(Records(Interval(0, 1), size=20, group=2), PureDP(epsilon=1, unit="user"))
def group_halves(d, rng):
    return lap(rng, d[:10].sum(), 1), lap(rng, d[10:].sum(), 1)


@bad()
def bitgen(d, rng):
    return d.sum() + rng.laplace(scale=1), rng.bit_generator.state


@bad()
def frame(d, rng):
    import sys

    return sys._getframe(1).f_locals


@bad()
def exceptions(d, rng):
    try:
        d[100]
    except IndexError:
        return d.sum()
    return lap(rng, d.sum())


@bad()
def lambda_default(d, rng):
    f = lambda x=d.sum(): x
    return f()


@bad()
def generator_sum(d, rng):
    return lap(rng, sum(3 * x for x in d))


@bad()
def zipped(d, rng):
    return dict(zip("abc", d))


@bad()
def noise_item_then_all(d, rng):
    n = rng.laplace(scale=1, size=20)
    a = d.sum() + n[0]
    return a, d + n


@bad()
def noisy_shared(d, rng):
    n = rng.laplace(scale=1)
    a, b = d[:10].sum() + n, d[10:].sum() + n
    return a - b


@bad(BITS)
def local_noise_free(d, rng):
    keep = rng.random(20) < 1.0
    return np.where(keep, d, 1 - d)


@bad(BITS)
def local_twice(d, rng):
    a = np.where(rng.random(20) < 0.7, d, 1 - d)
    b = np.where(rng.random(20) < 0.7, d, 1 - d)
    return a, b


@bad()
def soft_shown(d, rng):
    p = np.exp(d)
    return p / p.sum()


@bad()
def soft_other(d, rng):
    p = np.exp(d / 2)
    q = np.exp(d)
    return rng.choice(20, p=p / q.sum())


@bad()
def outcome_slice(d, rng):
    k = int(np.argmax(np.zeros(20) + rng.laplace(scale=1, size=20)))
    return lap(rng, d[:k].sum(), 0.5)


@bad()
def ternary_list(d, rng):
    return [0, d.sum()][lap(rng, d.sum()) > 3]


@bad()
def fork_equal(d, rng):
    o = lap(rng, d.sum())
    return d.sum() if o == 1.2345 else o


@bad()
def clip_reversed(d, rng):
    return lap(rng, np.clip(d, 1, -5).sum() * 0 + np.where(d > 2, 100, d).sum() + 100 * (d > 0.5).sum())


@bad(X)
def clip_late(d, rng):
    return np.clip(d.sum(), 0, 1) * 20 + rng.laplace(scale=1)


@bad(X)
def clip_array(d, rng):
    return lap(rng, np.clip(d, 0, np.arange(20)).sum())


@bad(Records(Interval(-1, 1), size=20))
def abs_signed(d, rng):
    return lap(rng, (d * 1.0).sum())


@bad(Records(Anything(), size=20, width=3), ZeroConcentratedDP(rho="1/2"))
def clip_total_norm(d, rng):
    n = np.linalg.norm(d.sum(axis=0))
    return d.sum(axis=0) / np.maximum(1, n) + rng.normal(0, 1, size=3)


@bad(Records(Anything(), size=20, width=3), ZeroConcentratedDP(rho="1/2"))
def clip_negative(d, rng):
    n = np.linalg.norm(d, axis=1, keepdims=True)
    return (d * np.minimum(-5, 1 / (n + 1))).sum(axis=0) + rng.normal(0, 2, size=3)


@bad(Records(Anything(), size=20, width=3), ZeroConcentratedDP(rho="1/2"))
def clip_other_rows(d, rng):
    n = np.linalg.norm(d, axis=1, keepdims=True)
    return (d / np.maximum(1, n[::-1])).sum(axis=0) + rng.normal(0, 2, size=3)


@bad()
def astype_nocopy(d, rng):
    x = np.clip(d, 0, 1)
    y = x.astype(float, copy=False)
    y *= 100
    return lap(rng, x.sum())


@bad()
def array_nocopy(d, rng):
    x = np.clip(d, 0, 1)
    y = np.array(x, copy=False)
    y *= 100
    return lap(rng, x.sum())


@bad()
def list_of_arrays(d, rng):
    xs = [np.clip(d, 0, 1)] * 2
    xs[0] *= 50
    return lap(rng, xs[1].sum())


@bad()
def hidden_window(coins, d):
    v = d.sum() + coins.draw(Laplace(scale=1), site="n")
    a = bool(v > 1)
    b = bool(v > 5)
    return d.sum() if a and not b else 0


@bad(claim=ZeroConcentratedDP(rho="0.6"))
def mixed_worst(coins, d):
    a = coins.release(d[:10].sum(), Laplace(scale=1), site="a")
    b = coins.release(d[10:].sum(), Gaussian(sigma="3/4"), site="b")
    return a, b


@bad(BITS, PureDP(epsilon=1, adjacency="add-remove"))
def local_addremove(d, rng):
    return np.where(rng.random(20) < 0.7, d, 1 - d)


@bad(Table({"a": Interval(0, 1)}, size=20))
def data_dict(d, rng):
    d["b"] = d["a"] * 2
    return lap(rng, d["a"].sum())


@bad(B, PureDP(epsilon=1, adjacency="add-remove"))
def ar_bins(d, rng):
    return lap(rng, d.reshape(4, 5).sum())


@bad()
def order_cancel(coins, d):
    t = coins.draw(Laplace(scale=4), site="t")
    v = 100 * (np.median(d) - np.quantile(d, 0.9))
    return 1 if v + coins.draw(Laplace(scale=4), site="n") > t else 0


@bad(ROW)
def argminmax(d, rng):
    return lap(rng, (10 * (d.argmin(axis=1) - d.argmax(axis=1))).sum())


@bad()
def errstate(d, rng):
    with np.errstate(all="raise"):
        y = np.minimum(1, 1 / np.linalg.norm(d))
    return 1


@bad()
def seeded(d, rng):
    np.random.seed(0)
    return d.sum() + np.random.laplace()


@bad(Records(Interval(0, 1), size=20, group=2), PureDP(epsilon=1, unit="user"))
def group_clipped(d, rng):
    return np.clip(d[:10].sum(), 0, 1) + rng.laplace(scale=1), np.clip(d[10:].sum(), 0, 1) + rng.laplace(
        scale=1
    )


GEN = np.random.default_rng(0)


@bad()
def global_generator(d, rng):
    return lap(rng, d.sum()) if GEN.random() < 0.9999999 else d.sum()


class Flip:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def __lt__(self, o):
        return True


FLIP = Flip()
PART = functools.partial(random.choice, [1] * 10**5 + [0])


@bad()
def global_partial(d, rng):
    return lap(rng, d.sum()) if PART() else d.sum()


class Pipe(list):
    def append(self, x):
        raise SystemExit


PIPE = Pipe()


def closure_over(gen):
    def inner(d, rng):
        return lap(rng, d.sum()) if gen.random() < 0.999999 else d.sum()

    return inner


bad()(closure_over(np.random.default_rng(1)))


@bad()
def default_gen(d, rng, g=np.random.default_rng(1)):
    return lap(rng, d.sum()) if g.random() < 0.999999 else d.sum()


# Programs found by the first review of the present engine.


@bad(BITS4)
def generator_returns(data, rng):
    yield data.sum() + rng.laplace(0, 1)
    return data.sum()


@bad(BITS4)
def generator_returns_a_list(data, rng):
    for x in data:
        yield x + rng.laplace(0, 1)
    return list(data)


@bad(BITS4)
def positional_only_and_more(data):
    rng = np.random.default_rng()

    def h(a, /, **k):
        return k

    h(1, a=2)
    return data.sum() + 0 * rng.laplace()


@bad(BITS4)
def positional_only_in_a_rare_branch(data, rng):
    o = data.sum() + rng.laplace(0, 1)
    if o > 30:

        def h(a, /, **k):
            return k

        h(1, a=2)
        return data.sum()
    return o


@bad(BITS4)
def order_of_flatten(coins, data):
    k = np.array([[1, 100], [1, 1]]).flatten("F")[2]
    coins.release(k * data.sum(), Laplace(scale=1), site="x")


@bad(BITS4)
def order_of_flatten_in_a_rare_branch(data, rng):
    o = data.sum() + rng.laplace(0, 2)
    if o > 30:
        return np.array([[1, 100], [1, 1]]).flatten(order="F")[2] * data.sum() + rng.laplace(0, 2)
    return o


@bad(Records(Anything(), size=3, container="list"))
def overflow_of_a_power(data, rng):
    return np.minimum(np.maximum(data[0] ** 2, 0), 1) + rng.laplace(0, 1)


@bad(Records(Interval(0, 1), size=4, container="list"))
def overflow_of_exp(data, rng):
    return np.clip(math.exp(1000 * data[0]), 0, 1) + rng.laplace(0, 1)


@bad(BITS4)
def raises_by_itself(data, rng):
    o = data.sum() + rng.laplace(0, 1)
    if o > 8:
        [0][int(5)]
        return data.sum()
    return o


@bad(BITS4)
def a_type_by_name(data):
    np.zeros(3, dtype=int)
    rng = np.random.default_rng()
    return data.sum() + 0 * rng.laplace()


def _kept(coins, data, k=1):
    coins.release(data.sum(), Laplace(scale=1 / k), site="x")


bad(BITS4)(functools.partial(_kept, k=10))


# Programs found by the second review: state that CPython keeps, behind a rare branch.


@bad(BITS4)
def stale_view(data, rng):
    c = np.zeros(4)
    alias = np.squeeze(c)
    for i in range(4):
        c[i] = data[i]
    return alias if rng.laplace(0, 1) > 40 else 0


@bad(Records(Interval(0, 1), size=EVERY))
def stale_asarray(data, rng):
    c = np.zeros(4)
    a = np.asarray(c)
    c[0] = data.sum()
    return a if rng.laplace(0, 1) > 40 else 0


@bad(BITS4)
def stale_transpose(coins, data):
    y = coins.release(data.sum(), Laplace(scale=1), site="a")
    A = np.zeros((2, 2))
    v = A.T
    if y > 40:
        A += data.sum()
        return v
    return 1


@bad(BITS4, PureDP(epsilon=9))
def live_values(data, rng):
    d = {"s": 0.0}
    v = d.values()
    z = rng.laplace(0, 1)
    d["s"] = data.sum()
    return list(v) if z > 40 else 0


@bad(BITS4, PureDP(epsilon=9))
def live_items_in_a_loop(data, rng):
    d = {0: 0.0, 1: 0.0}
    o = []
    z = rng.laplace(0, 1)
    for k, w in d.items():
        d[1] = data.sum()
        o.append(w)
    return o if z > 40 else 0


@bad(BITS4, PureDP(epsilon=9))
def live_reversed(data, rng):
    ks = [0.0, 0.0]
    o = []
    z = rng.laplace(0, 1)
    for w in reversed(ks):
        ks[0] = data.sum()
        o.append(w)
    return o if z > 40 else 0


@bad(Records(Integers(0, 1), size=5))
def type_of_a_constant_column(d, rng):
    t = rng.laplace(scale=1)
    if t > 40:
        m = np.column_stack([d, np.full(5, 2)])
        return (m * 2**62).sum(axis=0)[0] + rng.laplace(scale=2**62)
    return t


@bad(Records(Integers(0, 1), size=2), PureDP(epsilon=1))
def weights_of_other_rows(d, rng):
    return np.bincount(d[::-1], weights=d * 1.5, minlength=2) + rng.laplace(scale=1, size=2)


@bad(BITS4)
def sum_as_truth(d, rng):
    return np.sum(d > 0.5, dtype=bool) * 10 + rng.laplace(0, 0.9)


@bad(Records(Interval(0, 1), size=EVERY))
def infinite_for_one_size(data, rng):
    return data.sum() * np.sqrt(len(data) - 5) * 0 + rng.laplace()


@bad(BITS4)
def division_by_a_count(coins, data):
    k = coins.release((data > 0.5).sum(), DiscreteLaplace(scale=2), site="k")
    coins.release(np.clip(data.sum() * (1 / k), 0, 1), Laplace(scale=2), site="s")


# One record, which the neighbour lacks: an empty array has no mean, no minimum and no first entry.
LAST_ONE = (
    (Records(Interval(0, 1), size=1), PureDP(epsilon=9, adjacency="add-remove")),
    (Records(Interval(0, 1), size=2, group=2), PureDP(epsilon=9, adjacency="add-remove", unit="user")),
)


def bad_without_records(function: Any) -> Any:
    for data, claim in LAST_ONE:
        bad(data, claim)(function)
    return function


@bad_without_records
def mean_of_none(data, rng):
    return np.clip(data, 0, 1).mean() + rng.laplace(scale=100)


@bad_without_records
def least_of_none(data, rng):
    return data.min() + rng.laplace(scale=100)


@bad_without_records
def first_of_none(data, rng):
    return data[0] + rng.laplace(scale=100)


@bad_without_records
def place_in_none(data, rng):
    return np.argmax(data) * 0 + rng.laplace(scale=100)


@bad_without_records
def share_of_none(data, rng):
    return data.sum() / len(data) + rng.laplace(scale=100)


@bad_without_records
def median_of_none(data, rng):
    return np.median(data) + rng.laplace(scale=100)


@bad_without_records
def norm_of_none(data, rng):
    return data.sum() / np.linalg.norm(data) + rng.laplace(scale=100)


@bad_without_records
def rows_of_none(data, rng):
    return data.reshape(1, -1).max(axis=1)[0] + rng.laplace(scale=100)


# The position of the largest noisy score as a distribution.


@bad(ROW)
def distribution_of_half_the_scale(coins, data):
    return coins.observe(NoisyArgmax(data.sum(axis=0), Laplace(scale=1)), site="place")


@bad(ROW)
def distribution_that_is_returned(coins, data):
    return NoisyArgmax(data.sum(axis=0), Laplace(scale=100))


@bad(ROW)
def distribution_whose_scores_are_read(coins, data):
    return NoisyArgmax(data.sum(axis=0), Laplace(scale=100)).scores


@bad(ROW)
def distribution_of_scores_that_become_zero(coins, data):
    scores = data.sum(axis=0)
    distribution = NoisyArgmax(scores, Laplace(scale=1))
    scores *= 0  # the distribution holds a copy
    return coins.observe(distribution, site="place")


@bad(ROW)
def distribution_of_zeros_that_become_scores(coins, data):
    scores = np.zeros(3)
    distribution = NoisyArgmax(scores, Laplace(scale=1))
    scores += data.sum(axis=0)
    return coins.observe(distribution, site="place")


@bad(ROW)
def distribution_that_is_drawn_three_times(coins, data):
    distribution = NoisyArgmax(data.sum(axis=0), Laplace(scale=5))
    return [coins.observe(distribution, site="place") for _ in range(3)]


@bad(ROW)
def distribution_with_gaussian_noise(coins, data):
    return coins.observe(NoisyArgmax(data.sum(axis=0), Gaussian(sigma=9)), site="place")


@bad(B, PureDP(epsilon=1, adjacency="add-remove"))
def distribution_of_records(coins, data):
    return coins.observe(NoisyArgmax(data, Laplace(scale=9)), site="place")


@bad(Records(Integers(0, 2**61), size=3, width=2), PureDP(epsilon=1))
def distribution_of_numbers_that_it_refuses(coins, data):
    return coins.observe(NoisyArgmax(data.sum(axis=0), Laplace(scale=2**63)), site="place")


@fine(ROW)
def distribution_that_only_the_server_sees(coins, data):
    return coins.observe(NoisyArgmax(data.sum(axis=0), Laplace(scale=2)), site="place", to=SERVER)


@fine(ROW)
def distribution_of_the_right_scale(coins, data):
    return coins.observe(NoisyArgmax(data.sum(axis=0), Laplace(scale=2)), site="place")


@fine(ROW)
def distribution_to_the_public(coins, data):
    return int(
        coins.observe(NoisyArgmax(scores=data.max(axis=0), noise=Gumbel(scale=2)), site="p", to=PUBLIC)
    )
