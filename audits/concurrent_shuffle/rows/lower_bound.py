"""Theorem 4.1, the lower bound: from which horizon on it speaks, what implemented algorithms do there and
below, its algebra, its base case and its induction.

The constants of Ω(rep) and of the probability are not given in print: the 1/4 and the 1/2 here are ours. A
few algorithms never prove a statement about all of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms.contextual.exponents import Monomial, monomial
from audits.concurrent_shuffle.error_floor import MECHANISMS, Floor, in_units, median_above, median_floor
from audits.concurrent_shuffle.hard_inputs import (
    LEAST_VARIANCE,
    HardInputs,
    big_batch,
    family,
    largest_delta,
    repeat_len,
    smallest_horizon,
    variance_ratio,
)
from dpaudit.claims import LowerBound
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import arb, ball, lower, upper
from dpaudit.plots import table
from dpaudit.rows import Chain, Control, Measured, Sides, controls, evidence, full, inequality, over
from dpaudit.suite import Group, Run

__all__ = ["rows"]

rows = Group("Theorem 4.1: the lower bound")

#: c and p of 'error at least c rep with probability p': ours.
SHARE, CHANCE = Fraction(1, 4), Fraction(1, 2)
EPSILONS = "1/2 1"


def _claim(what: str) -> LowerBound:
    return LowerBound(
        text=f"{what} has error at least c rep(n, k) at some time with probability p or more on every "
        f"distribution in D(n, k), c = {SHARE}, p = {CHANCE} (ours; the paper's constants are not given)",
        quantity_name="median of the largest error / rep",
        claimed=SHARE,
        constants=(("c", str(SHARE)), ("p", str(CHANCE))),
    )


# From which horizon on


@inequality(
    rows,
    "TKMS23-T4.1/range",
    "Theorem 4.1, 'n large enough'",
    kind="lower-bound",
    role="sharper",
    over=over(k=(1, 2, 3, full(4, 5, 8)), epsilon="1/10 1/2 1 2"),
)
def from_where_on(k: int, epsilon: Fraction) -> Chain:
    """The hypothesis n c_ε²/Big > 200² says rep(n, k) > 100: at ε = 1 it holds from n = 7.62e7 (k = 1),
    2.91e13 (k = 2), 1.11e19 (k = 3) on, at ε = 1/2 from 4.07e7, 8.28e12, 1.69e18

    At the smallest such n both forms hold, at n - 1 neither does; n is 200^{2k+1}/c_ε^{2k}, rounded up.

    Note: below, the theorem says nothing; there it would say that some error is at least about 100

    Note: k = 0 has no such condition

    Proof: n c_ε²/Big = (2 rep)² by the definitions, see TKMS23-ID
    """
    n = smallest_horizon(k, epsilon)
    return {
        "200² <= n c²/Big at the smallest n": (LEAST_VARIANCE, variance_ratio(n, k, epsilon)),
        "100 <= rep there": (100, repeat_len(n, k, epsilon)),
        "n c²/Big <= 200² at n - 1": (variance_ratio(n - 1, k, epsilon), LEAST_VARIANCE),
        "rep <= 100 there": (repeat_len(n - 1, k, epsilon), 100),
    }


# Implemented algorithms


@evidence(
    rows,
    "TKMS23-T4.1",
    "Theorem 4.1",
    claim=lambda k, epsilon: _claim(
        f"every (ε, δ)-CSDP algorithm, k = {k}, n = 2^{10 * (2 * k + 1)}, ε = {epsilon}"
    ),
    over=over(k=(1, 2, 3), epsilon=EPSILONS),
    expect="inconclusive",
)
def under_the_hypotheses(run: Run, k: int, epsilon: Fraction) -> Measured:
    """Every (ε, δ)-CSDP algorithm with k shufflers has error Ω(rep(n, k)) on its hard inputs with constant
    probability; Algorithm 3 does, 20 to 160 times over, at n = 2^30, 2^50, 2^70 where all hypotheses hold

    The error of Algorithm 3 with calibrated bits at one time at which no user is blind: a binomial law, for
    every input; its median from below by Berry and Esseen's theorem. δ = 0.99 min(ε, 1)/(40 n (k + 1)).

    Note: about all algorithms: no algorithm that respects the bound verifies it, and none refutes it here

    Note: the proof's steps have rows of their own, LB.1 to LB.6, ID, LB0 and LBP
    """
    floor = Floor(m=2**10, k=k, epsilon=epsilon)
    found = median_above(floor)
    ratio = upper(variance_ratio(floor.horizon, k, epsilon))
    return Measured(
        low=lower(found),
        method="exact binomial law at one time, Berry and Esseen, in balls",
        scope="Algorithm 3 with calibrated bits, every input",
        covers=False,
        notes=[
            f"k = {k}, ε = {epsilon}: n c²/Big = {ratio:.4g} > 200²; rep = {upper(floor.rep):.4g}, median "
            f"error at least {lower(found * floor.rep):.4g} = {lower(found):.4g} rep"
        ],
    )


@evidence(
    rows,
    "TKMS23-T4.1/small",
    "Theorem 4.1 below its range of n",
    claim=_claim("every implemented algorithm with k = 1, 2, 3 shufflers, n up to 2^14"),
    role="what-if",
    expect="inconclusive",
    kind="lower-bound",
)
def below_the_hypotheses(run: Run) -> Measured:
    """Where rep(n, k) is far below 100 every implemented algorithm has error above rep all the same: 10 times
    and more in the median

    Simulate on D(n, k): no prefix, half and all of the longest one, of either bit; 50 runs each (200 in the
    full profile), ε = 1/2 and 1, δ = 0.99 min(ε, 1)/(40 n (k + 1)).

    Note: the hypothesis rep > 100 fails at every n that is simulated; δ is in range

    Note: the member of D(n, k) with the smallest median counts
    """
    small, large = ((512, 1), (1024, 2), (128, 3)), ((4096, 1), (32768, 1), (1024, 2), (16384, 3))
    points, runs = run.choose(quick=small, full=large), run.choose(quick=50, full=200)
    least, lines = math.inf, [line for k in (1, 2, 3) for line in _exact_lines(k)]
    settings = list(_settings(points))
    for n, k, epsilon, name in settings:
        rng = run.rng(f"{n} {k} {epsilon} {name}")
        found = in_units(name, n=n, k=k, epsilon=epsilon, runs=runs, rng=rng)
        least = min(least, median_floor(found, alpha=run.alpha / len(settings)))
        middle = found[np.median(found, axis=1).argmin()]
        lines.append(_line(n, k, epsilon, name, np.quantile(middle, [0.1, 0.5, 0.9])))
    picture = table(
        title="Largest errors on the hard inputs in units of rep, and where Theorem 4.1 speaks",
        columns=[
            "k",
            "n",
            "ε",
            "algorithm",
            "rep",
            "median error",
            "/ rep",
            "10 %",
            "90 %",
            "T4.1 from n",
            "holds",
        ],
        rows=sorted(lines, key=lambda line: (line[0], line[2])),
    )
    return Measured(
        low=least,
        exact=False,
        covers=False,
        samples=runs * len(settings),
        method="order statistics of simulated runs",
        scope=f"{len(settings)} settings of n, k, ε and algorithm",
        plots=[picture],
    )


def _settings(points: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, Fraction, str]]:
    """n, k, ε and algorithm; Algorithm 2 has its own number of shufflers."""
    for (n, k), text in itertools.product(points, EPSILONS.split()):
        for name in MECHANISMS:
            shufflers = n.bit_length() - 2 if name == "Algorithm 2" else k
            yield n, shufflers, Fraction(text), name


def _line(n: int, k: int, epsilon: Fraction, name: str, quantiles: Any) -> list[Any]:
    rep = lower(repeat_len(n, k, epsilon))
    low, middle, high = (f"{value:.3g}" for value in quantiles)
    start = smallest_horizon(k, epsilon)
    errors = [f"{rep:.3g}", f"{quantiles[1] * rep:.3g}", middle, low, high]
    return [k, n, str(epsilon), name, *errors, f"{start:.3g}", n >= start]


def _exact_lines(k: int) -> Iterator[list[Any]]:
    """Where the hypotheses hold: the median from below, without simulation."""
    for epsilon in map(Fraction, EPSILONS.split()):
        floor = Floor(m=2**10, k=k, epsilon=epsilon)
        rep, ratio = lower(floor.rep), lower(median_above(floor))
        start, n = smallest_horizon(k, epsilon), floor.horizon
        errors = [f"{rep:.3g}", f"at least {ratio * rep:.3g}", f"at least {ratio:.3g}", None, None]
        words = "Algorithm 3, calibrated bits (exact, one time)"
        yield [k, f"{n:.3g}", str(epsilon), words, *errors, f"{start:.3g}", n >= start]


# Servers that cheat


def _cheating(words: str, batch: int, expect: str) -> Control:
    """Exact batch sums without noise, n = 2^12, k = 1, ε = 1: the largest error over members and draws."""
    claim = _claim(words)

    def evaluate(run: Run) -> list[Estimate]:
        n, k, epsilon = 2**12, 1, Fraction(1)
        found = []
        for member in family(n, k, epsilon):
            bits = member.draw(run.rng("cheating"), runs=50)
            sums = np.concatenate([np.zeros((50, 1), dtype=np.int64), np.cumsum(bits, axis=1)], axis=1)
            t = np.arange(1, n + 1)
            found.append(np.median((sums[:, 1:] - sums[:, t - t % batch]).max(axis=1)))
        error = min(found) / lower(repeat_len(n, k, epsilon))
        cap = (batch - 1) / lower(repeat_len(n, k, epsilon))
        measured = Measured(
            low=0 if batch == 1 else error / 2, high=cap, scope="50 draws", method="exact sums"
        )
        return [measured.estimate(claim, run, scope="")]

    return Control(claim=claim, evaluate=evaluate, expect=expect)


@controls(rows, "TKMS23-T4.1/controls", "Section 4, servers that cheat", kind="lower-bound")
def cheats() -> dict[str, Control]:
    """A server that sees every bit is below rep, and is caught; one without noise that is blind inside its
    batches of n^(1/3) is not"""
    return {
        "no privacy at all": _cheating("a server that sees every bit", 1, "refuted"),
        "blind, without noise": _cheating("a server with exact sums of batches of 16", 16, "inconclusive"),
    }


# Algebra


def _scales(k: int) -> tuple[Monomial, Monomial]:
    """2 rep and Big as monomials in n and c."""
    root = Fraction(1, 2 * k + 1)
    rep = monomial(f"n^{root} c^{2 * k * root}")
    return rep, monomial(f"n^{(2 * k - 1) * root} c^{2 * root}")


@inequality(
    rows,
    "TKMS23-ID",
    "Section 4, proof of Theorem 4.1",
    role="step",
    over=over(k=(1, 2, 3, 5, 10, 50)),
    measure="left - right",
)
def identities(k: int) -> dict[str, Sides]:
    """rep(n, k) = rep(Big, k - 1), and c √(n/Big) = 2 rep(n, k) (printed as Ω only)

    Exponents of n and of c, exactly: both sides as monomials; the factor 1/2 of rep is on both sides of the
    first. Real-valued rep and Big.
    """
    rep, big = _scales(k)
    inner = _scales(k - 1)[0].at(n=big) if k > 1 else big
    spread = monomial("c") * (monomial("n") / big) ** Fraction(1, 2)
    return {
        f"{name}, exponent of {s}: distance": (abs(left.exponent(s) - rep.exponent(s)), Fraction(0))
        for name, left in (("rep(Big, k - 1)", inner), ("c √(n/Big)", spread))
        for s in ("n", "c")
    }


@inequality(
    rows,
    "TKMS23-TIGHT",
    "after Theorem 4.1; introduction",
    over=over(k=(1, 2, 3, 5, 10, 50)),
    measure="left - right",
)
def tight(k: int) -> dict[str, Sides]:
    """Corollary 3.5's error and Theorem 4.1's bound have the same power of n at fixed k: 1/(2k + 1)

    Upper side: √|V_t| with |V_t| = k (d - 1) and d = n^{2/(2k+1)}, and d_low - 1 blind users, d_low = n/d^k.
    Lower side: c √(n/Big)/2 with its Big. Exact exponents.

    Note: in n only, up to polylogarithms; nothing is said about ε, δ, k, and measured constants are apart by
    factors of 20 and more (TKMS23-T4.1, T4.1/small)
    """
    degree = monomial("n") ** Fraction(2, 2 * k + 1)
    upper_side = {
        "noise": (degree ** Fraction(1, 2)).exponent("n"),
        "blind users": (monomial("n") / degree**k).exponent("n"),
    }
    below = ((monomial("n") / _scales(k)[1]) ** Fraction(1, 2)).exponent("n")
    found: dict[str, Sides] = {
        f"{name}: exponent of n, distance": (abs(e - below), Fraction(0)) for name, e in upper_side.items()
    }
    return found | {"distance from 1/(2k + 1)": (abs(below - Fraction(1, 2 * k + 1)), Fraction(0))}


# The base case


def smallest_chance(member: HardInputs) -> Fraction:
    """The least probability, over all deterministic answers at the last time, of an error of n/4 - 1 or
    more."""
    n = member.horizon
    fair = np.array(list(np.ndindex(*(2,) * member.bits)))
    sums = sorted(member.values(fair).sum(axis=1).tolist())
    reach = Fraction(n, 2) - 2  # values within an open interval of this length can be near one answer
    near = max(sum(1 for s in sums if first <= s < first + reach) for first in sums)
    return 1 - Fraction(near, len(sums))


@inequality(
    rows,
    "TKMS23-LB0",
    "proof of Theorem 4.1, k = 0",
    kind="lower-bound",
    role="step",
    over=over(n=(8, 9, 16, 33, 64, full(255, 4096))),
)
def base_case(n: int) -> Sides:
    """Without shufflers, k = 0, every deterministic answer errs by n/4 - 1 or more with probability 1/2, on
    every member of D(n, 0)

    All prefixes of at most n/2 equal bits; of all answers at the last time the best, by enumerating the sums.

    Proof: the last n/2 - 1 or more users hold one fair bit, so that the sums for its two values are n/2 - 2
    or more apart
    """
    members = [
        HardInputs(horizon=n, copies=n // 2, prefix_len=p) for p in range(0, n // 2 + 1, max(1, n // 64))
    ]
    return Fraction(1, 2), min(map(smallest_chance, members))


# The induction


def _chance(n: int, k: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    """P_{n,k} = (β₀/2)(1 - 2nδk/min(ε, 1))."""
    return beta / 2 * (1 - 2 * n * delta * k / min(epsilon, Fraction(1)))


@inequality(
    rows,
    "TKMS23-LBP",
    "proof of Theorem 4.1, the induction",
    kind="lower-bound",
    role="step",
    over=over(
        k=(1, 2, 3, full(8)),
        log2_n=(12, 40, 80),
        epsilon="1/10 1/2 1 2",
        beta="1/4 1/100",
        share="99/100 1/2",
    ),
    measure="left - right",
)
def chain(k: int, log2_n: int, epsilon: Fraction, beta: Fraction, share: Fraction) -> Chain:
    """P(Big, k - 1)(1 - 2nδ/min(ε, 1)) >= P(n, k), and Big users with k - 1 shufflers meet the hypotheses

    P(n, k) = (β₀/2)(1 - 2nδk/min(ε, 1)), δ = share min(ε, 1)/(40 n (k + 1)), Big rounded down where it counts
    users. Lemma B.6's half: β₀/2 times the probability of E′.

    Proof: (1 - a(k - 1))(1 - a) >= 1 - ak for a >= 0, and Big <= n; for all parameters
    """
    n = 2**log2_n
    delta = share * largest_delta(n, k, epsilon)
    users = max(1, math.floor(lower(big_batch(n, k, epsilon))))
    bad = 2 * n * delta / min(epsilon, Fraction(1))
    smaller, target = _chance(users, k - 1, epsilon, delta, beta), _chance(n, k, epsilon, delta, beta)
    return {
        "Big <= n": (Fraction(users), Fraction(n)),
        "δ <= min(ε, 1)/(40 Big k)": (delta, largest_delta(users, k - 1, epsilon)),
        "P(n, k) <= P(n, k - 1)(1 - 2nδ/min(ε, 1))": (
            target,
            _chance(n, k - 1, epsilon, delta, beta) * (1 - bad),
        ),
        "P(n, k - 1) <= P(Big, k - 1)": (_chance(n, k - 1, epsilon, delta, beta), smaller),
        "P(n, k) <= (β₀/2)(1 - 2nδ/min(ε, 1)), case 2": (target, beta / 2 * (1 - bad)),
        "rep(n, k) - 1e-20 <= rep(Big, k - 1)": (
            _tiny_less(repeat_len(n, k, epsilon)),
            _inner(n, k, epsilon),
        ),
    }


def _tiny_less(value: arb) -> arb:
    return value - ball(Fraction(1, 10**20)) * value


def _inner(n: int, k: int, epsilon: Fraction) -> arb:
    return repeat_len(big_batch(n, k, epsilon), k - 1, epsilon)


@inequality(
    rows,
    "TKMS23-LBP/cut",
    "proof of Theorem 4.1, case 3: D_B",
    role="step",
    over=over(n=(40, full(400)), copies=(1, 2, 5), prefix_len=(0, 1)),
    measure="left - right",
)
def cuts(n: int, copies: int, prefix_len: int) -> Sides:
    """What the users of a batch hold, given the users before, is again a member: a prefix of at most rep
    equal bits, then single bits and runs

    Every cut of every length: the blocks of equal bits of the cut against those of the member named.

    Note: copies are whole numbers, the same before and after the cut, since rep(Big, k - 1) = rep(n, k)

    Note: a cut at the beginning of a run is the mixture of the two members whose prefix is that run
    """
    member = HardInputs(horizon=n, copies=copies, prefix_len=min(prefix_len, copies))
    wrong = sum(
        not _same_blocks(member, start, size) for start in range(1, n + 1) for size in range(1, n - start + 2)
    )
    return wrong, 0


def _same_blocks(member: HardInputs, start: int, size: int) -> bool:
    """Whether the cut's own blocks are those of the users that it takes, where the prefix may be a block."""
    named = member.cut(start, size)
    if named.prefix_len > member.copies:
        return False
    held = member.blocks[start - 1 : start - 1 + size]
    edges: Callable[[Any], list[int]] = lambda blocks: np.flatnonzero(np.diff(blocks)).tolist()  # noqa: E731
    first_is_single = named.prefix_len == 0
    return edges(held) == edges(named.blocks) and first_is_single == bool(held[0] >= 0 and held[0] % 2 == 0)
