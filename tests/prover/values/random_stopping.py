"""Programs that keep the best of a random number of runs, right and wrong."""

# mypy: ignore-errors (the programs are as users write them, without types)

from __future__ import annotations

import math

import numpy as np


def select(data, rng):
    best, arg = -math.inf, None
    for _ in range(rng.geometric(0.1)):
        k = rng.integers(0, 3)
        q = (data == k).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, k
    return best, arg


def arg_only(data, rng):
    best, arg = -math.inf, None
    for _ in range(rng.poisson(3)):
        k = rng.integers(0, 3)
        q = (data == k).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, k
    return arg


def log(data, rng):
    best = None
    for _ in range(rng.logseries(0.9)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if best is None or q >= best:
            best = q
    return best


def nb(data, rng):
    best = -math.inf
    for _ in range(rng.negative_binomial(0.5, 0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        best = max(best, q)
    return best


def wt(data, rng):
    best, arg = -math.inf, None
    while True:
        k = rng.integers(0, 3)
        q = (data == k).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, k
        if rng.random() < 0.1:
            return best, arg


def wt_first(data, rng):
    best, arg = -math.inf, None
    while True:
        if rng.random() < 0.1:
            break
        k = rng.integers(0, 3)
        q = (data == k).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, k
    return best, arg


def wt_while(data, rng):
    best, arg = -math.inf, None
    while rng.random() < 0.9:
        k = rng.integers(0, 3)
        q = (data == k).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, k
    return best, arg


def helper_score(data, k, rng):
    return (data == k).sum() + rng.laplace(scale=2.0)


def with_helper(data, rng):
    best, arg = -math.inf, None
    for _ in range(rng.geometric(0.1)):
        k = rng.integers(0, 3)
        q = helper_score(data, k, rng)
        if best < q:
            best = q
            arg = k
    return best, arg


def start0(data, rng):
    best, arg = 0, None
    for _ in range(rng.geometric(0.1)):
        k = rng.integers(0, 3)
        q = helper_score(data, k, rng)
        if best < q:
            best = q
            arg = k
    return best, arg


def tuple_start(data, rng):
    best = (-math.inf, None)
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        best = max(best, (q, 1))
    return best


def closure_ok(data, rng):
    best = -math.inf

    def f(k):
        return (data == k).sum() + rng.laplace(scale=2.0)

    for _ in range(rng.geometric(0.1)):
        k = rng.integers(0, 3)
        q = f(k) + max(0, 0)
        if q > best:
            best = q
    return best


def branching_ok(data, rng):
    best, arg = -math.inf, ""
    for _ in range(rng.geometric(0.1)):
        if rng.random() < 0.5:
            q, name = (data == 0).sum() + rng.laplace(scale=2.0), "a"
        else:
            q, name = 2 + (data == 1).sum() + rng.laplace(scale=2.0), "b"
        if q > best:
            best, arg = q, name
    return arg


LAST = [0]


class Box:
    total = 0

    def __init__(self):
        self.n = 0


def half_noise(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=1.0)
        if q > best:
            best = q
    return best


def half_noise2(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=1.0)
        best = max(q, best)
    return best


def data_count(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1 + 0.5 * (data.sum() > 3))):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best


def data_count2(data, rng):
    best = -math.inf
    for _ in range(int((data == 1).sum()) + 1):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best


def reused(data, rng):
    best = -math.inf
    noise = rng.laplace(scale=2.0)
    for _ in range(rng.geometric(0.1)):
        k = rng.integers(0, 3)
        q = (data == k).sum() + noise
        if q > best:
            best = q
    return best


def all_q(data, rng):
    best, every = -math.inf, []
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        every.append(q)
        if q > best:
            best = q
    return best, every


def printed(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        print(q)  # noqa: T201  the defect of this program
        if q > best:
            best = q
    return best


def last_q(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, q


def last_arg(data, rng):
    best, arg = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        arg = rng.integers(0, 3)
        q = (data == arg).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, arg
    return best, arg


def count_out(data, rng):
    best = -math.inf
    K = rng.geometric(0.1)
    for _ in range(K):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, K


def count_var(data, rng):
    best, n = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        n += 1
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, n


def loop_var(data, rng):
    best = -math.inf
    for i in range(rng.geometric(0.1)):  # noqa: B007  read after the loop
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, i


def updates(data, rng):
    best, n = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, n = q, n + 1
    return best, n


def carried(data, rng):
    best, seen = -math.inf, []
    for _ in range(rng.geometric(0.1)):
        q = (data == len(seen)).sum() + rng.laplace(scale=2.0)
        seen += [1]
        if q > best:
            best = q
    return best


def boxed(data, rng):
    best, box = -math.inf, Box()
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        box.n += 1
        if q > best:
            best = q
    return best, box.n


def array_state(data, rng):
    best, seen = -math.inf, np.zeros(3)
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        seen[0] = q
        if q > best:
            best = q
    return best, seen


def dict_state(data, rng):
    best, seen = -math.inf, {}
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        seen["q"] = q
        if q > best:
            best = q
    return best, seen["q"]


def global_state(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        LAST[0] = q
        if q > best:
            best = q
    return best, LAST[0]


def class_state(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        Box.total = Box.total + 1
        if q > best:
            best = q
    return best, Box.total


def nonlocal_helper(data, rng):
    best = -math.inf
    n = 0

    def f():
        nonlocal n
        n += 1
        return (data == 1).sum() + rng.laplace(scale=2.0)

    for _ in range(rng.geometric(0.1)):
        q = f()
        if q > best:
            best = q
    return best, n


def nonlocal_best(data, rng):
    best = -math.inf

    def f():
        nonlocal best
        best = -5.0
        return (data == 1).sum() + rng.laplace(scale=2.0)

    for _ in range(rng.geometric(0.1)):
        q = f()
        if q > best:
            best = q
    return best


def iterator_state(data, rng):
    best = -math.inf
    it = iter([0, 1, 2])
    for _ in range(rng.geometric(0.1)):
        k = next(it, 0)
        q = (data == k).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best


def two_loops(data, rng):
    best = -math.inf
    K = rng.geometric(0.1)
    for _ in range(K):
        q = (data == 1).sum() + rng.laplace(scale=4.0)
        if q > best:
            best = q
    b2 = -math.inf
    for _ in range(K):
        q = (data == 1).sum() + rng.laplace(scale=4.0)
        if q > b2:
            b2 = q
    return best, b2


def not_score(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q + 1
    return best


def redrawn(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        if (data == 1).sum() + rng.laplace(scale=2.0) > best:
            best = (data == 1).sum() + rng.laplace(scale=2.0)
    return best


def private_score(data, rng):
    best, k = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum()
        if q > best:
            best, k = q, 1
    return k


def truncated(data, rng):
    best = -math.inf
    for _ in range(min(rng.geometric(0.1), 100)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best


def run_gamma(data, rng):
    best = -math.inf
    while True:
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        gamma = 0.5 if q > 3 else 0.1
        if q > best:
            best = q
        if rng.random() < gamma:
            return best


def state_gamma(data, rng):
    best = -math.inf
    n = [0]

    def gamma():
        n[0] += 1
        return 0.5 / n[0]

    while True:
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
        if rng.random() < gamma():
            return best


def one_coin(data, rng):
    best = -math.inf
    u = rng.random()
    while True:
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
        if u < 0.5:
            return best


def threshold_stop(data, rng):
    best = -math.inf
    while True:
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
        if q > 10:
            return best


def gaussian(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.normal(scale=2.0)
        if q > best:
            best = q
    return best


def noise_after(data, rng):
    best, e = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        e = rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, data.sum() + e


def noise_state(data, rng):
    best, e = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        z = rng.laplace(scale=2.0)
        q = (data == 1).sum() + z
        if q > best:
            best, e = q, z
    return best, e


def raises_in_a_run(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > 40:
            raise RuntimeError("high")
        if q > best:
            best = q
    return best


def yields_scores(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        yield q
        if q > best:
            best = q
    yield best


def else_branch(data, rng):
    best, low = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
        else:
            low = q
    return best, low


def second(data, rng):
    best, low = -math.inf, -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, low = q, best
    return best, low


def fixed(data, rng):
    best = -math.inf
    for _ in range(10):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best


def nested(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        b = -math.inf
        for _ in range(rng.geometric(0.1)):
            q = (data == 1).sum() + rng.laplace(scale=2.0)
            b = max(b, q)
        if b > best:
            best = b
    return best


def named_count(data, rng):
    runs = rng.geometric(0.1)
    best = -math.inf
    for _ in range(runs):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best


def count_inside(data, rng):
    runs = rng.geometric(0.1)
    best = -math.inf
    for _ in range(runs):
        q = (data == 1).sum() + runs + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best


def named_count_out(data, rng):
    runs = rng.geometric(0.1)
    best = -math.inf
    for _ in range(runs):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, runs


def count_twice(data, rng):
    runs = rng.geometric(0.1)
    best = -math.inf
    for _ in range(runs):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    other = -math.inf
    for _ in range(runs):
        q = (data == 2).sum() + rng.laplace(scale=2.0)
        if q > other:
            other = q
    return best, other


def count_state(data, rng):
    best, arg = -math.inf, None
    runs = rng.geometric(0.1)
    for _ in range(runs):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, runs
    return best, arg


def count_test(data, rng):
    best = -math.inf
    runs = rng.geometric(0.1)
    for _ in range(runs):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, bool(runs), runs == 3


def count_text(data, rng):
    best = -math.inf
    runs = rng.geometric(0.1)
    for _ in range(runs):
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return f"{best} {runs}"


def adds(acc, q):
    acc += q
    return q


def array_in_helper(data, rng):
    acc = np.zeros(2)
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = adds(acc, (data == 1).sum() + rng.laplace(scale=2.0))
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, acc


def list_in_helper(data, rng):
    acc = []
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        adds(acc, [1])
        q = (data == len(acc)).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, len(acc)


def default_list(x, acc=[]):  # noqa: B006
    acc.append(x)
    return len(acc)


def default_state(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        n = default_list(1)
        q = (data == n).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best


def endless():
    n = 0
    while True:
        n += 1
        yield n


def gen_state(data, rng):
    g = endless()
    best, arg = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        n = next(g)
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, n
    return best, arg


class Tally:
    def __init__(self):
        self.n = 0

    def up(self):
        self.n += 1
        return self.n


def object_state(data, rng):
    c = Tally()
    best, arg = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        n = c.up()
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, n
    return best, arg


def nested_list_state(data, rng):
    c = {"a": [Tally()]}
    best, arg = -math.inf, 0
    for _ in range(rng.geometric(0.1)):
        n = c["a"][0].up()
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best, arg = q, n
    return best, arg


def response_reused(data, rng):
    flips = rng.random(len(data)) < 0.25
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = ((data == 1) ^ flips).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best


def zero_dim(data, rng):
    acc = np.zeros(())
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        adds(acc, 1)
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, acc


def matrix_row(data, rng):
    acc = np.zeros((2, 2))
    row = acc[0]
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        row[0] = (data == 1).sum() + rng.laplace(scale=2.0)
        q = (data == 1).sum() + rng.laplace(scale=2.0)
        if q > best:
            best = q
    return best, acc


def two_selections(data, rng):
    best = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 1).sum() + rng.laplace(scale=4.0)
        if q > best:
            best = q
    other = -math.inf
    for _ in range(rng.geometric(0.1)):
        q = (data == 2).sum() + best + rng.laplace(scale=4.0)
        if q > other:
            other = q
    return best, other


#: Right programs, with the laws of their numbers of runs.
RIGHT = (
    select,
    arg_only,
    log,
    nb,
    wt,
    wt_first,
    wt_while,
    with_helper,
    start0,
    tuple_start,
    closure_ok,
    branching_ok,
    named_count,
    two_selections,
)
#: Programs that break a condition of the rule, or have too little noise for epsilon = 3/2.
WRONG = (
    half_noise,
    half_noise2,
    data_count,
    data_count2,
    reused,
    all_q,
    printed,
    last_q,
    last_arg,
    count_out,
    count_var,
    loop_var,
    updates,
    carried,
    boxed,
    array_state,
    dict_state,
    global_state,
    class_state,
    nonlocal_helper,
    nonlocal_best,
    iterator_state,
    two_loops,
    not_score,
    redrawn,
    private_score,
    truncated,
    run_gamma,
    state_gamma,
    one_coin,
    threshold_stop,
    gaussian,
    noise_after,
    noise_state,
    raises_in_a_run,
    yields_scores,
    else_branch,
    second,
    fixed,
    nested,
    count_inside,
    named_count_out,
    count_twice,
    count_state,
    count_test,
    count_text,
    array_in_helper,
    list_in_helper,
    default_state,
    gen_state,
    object_state,
    nested_list_state,
    response_reused,
    zero_dim,
    matrix_row,
)
