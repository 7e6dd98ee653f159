"""Bound the best of a random number of runs of one block (private selection from private candidates).

A path marks the block by the texts "repeat i j" and "selected i", where j is the number of its stopping
law. Between them are the draws, releases and decisions of one run: the run that is selected. The texts of a
block are *one run*, so the tree has one subtree for each sequence of outcomes of a run.

Statement. Let Q be a mechanism that is epsilon-DP, and let its outcomes be ordered by a number that is
computed from them. Draw K independently of the data and of the runs, run Q independently K times, and
return the outcome with the largest (or smallest) number, the first (or the last) of those with equal
numbers, and a constant if K = 0. Nothing else of the runs is shown. With the probability generating
function f(t) = E t^K, c = exp(epsilon) and R(g) = (g + c) / (1 + g c), the result is (epsilon + s)-DP for

    K geometric on 1, 2, ... with chance g        s = 2 log R(g)
    K logarithmic on 1, 2, ... with parameter p   s = log R(1 - p)
    K negative binomial (n, g) on 0, 1, ...       s = (n + 1) log R(g)
    K binomial (n, p)                             s = (n - 1) log R(1 - p)
    K Poisson with mean m                         s = m (c - 1) / (c + 1).

Since R <= c, the first three are at most 3 epsilon, 2 epsilon and (2 + n) epsilon.

Proof. Write F(z) for the probability under Q of an outcome strictly before z in the order, and G(z) for
strictly before z or level with z. Let the first of equal outcomes be selected. For a set B of outcomes,
given K = k, run i is selected with its outcome in B iff its outcome z is in B, the runs before it are
strictly before z, and the runs after it are at most level with z. So the probability is the integral over B
of sum_i F^(i-1) G^(k-i) dQ(z). The last of equal outcomes exchanges F and G, which leaves the sum as it is.
It is (G^k - F^k) / (G - F), or the integral over u in [0, 1] of k t^(k-1) at t = F + u (G - F), also for G
= F. Take the mean over K:

    A(B) = integral over B of h dQ,   h(z) = integral over u in [0, 1] of f'(F + u (G - F)).

K does not depend on the data, so f is the same under the neighbour's Q'. Let F', G', h' belong to Q'. For
each z and u, t = (1 - u) F + u G is a mixture of probabilities of events, and t' the same mixture under Q'.
So t <= c t', and 1 - t' <= c (1 - t), because events and their complements change by at most a factor c.

In all cases f'(t) / f'(t') rises with t and falls with t', or f' is constant. (Geometric: f' is
proportional to (1 - (1 - g) t)^-2; logarithmic: to (1 - p t)^-1; negative binomial: to (1 - (1 - g) t)^-(n
+ 1); binomial: to (1 - p + p t)^(n - 1); Poisson: to exp(m t).) So for a given t it is largest at the least
t', which is max(t / c, 1 - c (1 - t)). The two are equal at t = c / (1 + c), t' = 1 / (1 + c). Below it, t'
= t / c. There (1 - a t / c) / (1 - a t), (1 - p + p t) / (1 - p + p t / c) and t - t / c rise with t. Above
it, with w = 1 - t, t' = 1 - c w. There (1 - a + a c w) / (1 - a + a w), (1 - p w) / (1 - p c w) and (c - 1)
w rise with w, so they fall with t. The largest value is at t = c / (1 + c). With 1 - a = g it is (1 + c -
a) / (1 + c - a c) = R(g), and (1 - p + p c / (1 + c)) / (1 - p + p / (1 + c)) = R(1 - p). For the Poisson
it is the power m (c - 1) / (1 + c) of e.

So h <= exp(s) h' everywhere, and A(B) <= exp(s) integral over B of h' dQ <= exp(s + epsilon) A'(B): the
density of Q under Q' is at most c. The constant for K = 0 has the same probability f(0) on both sides. QED

A start value b of the running best, with "q > b" required, is the same statement for the mechanism that
replaces the outcomes with q <= b by one outcome, which is before all others. That is post-processing of Q.

The bound is attained in the limit: let Q give a new outcome z with a probability that tends to 0, between
outcomes before z of probability c / (1 + c) and after z of probability 1 / (1 + c), with the exchanged
probabilities under Q', and let z itself have the ratio c.

In a tree of decisions. Fix all outcomes before the block. One run is the mechanism Q: its outcome is the
sequence of its public outcomes and decisions, and the largest cost of a block over all paths is its
epsilon. Each run draws its own noise. The rest of the path depends on the data and on the selected outcome,
and not on other runs. So the rest is released adaptively after the selection, and costs add. What the block
shows must therefore be nothing but outcomes of draws and releases, and no noise may be used both inside and
outside of it. This does not hold for data that are chosen while the block runs, nor for hidden noise.

Source: Liu and Talwar 2019, Private selection from private candidates (3 epsilon for the geometric law);
Papernot and Steinke 2022, Hyperparameter tuning with Renyi differential privacy (truncated negative
binomial and Poisson laws, and the formula for A with f'). The factor R(g) instead of c is derived here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.heavy_tails import log_above
from dpaudit.kernel.values.info import need

__all__ = ["blocks_of", "repeated_cost"]

MARK = re.compile(r"(repeat|selected) (\d{1,9})(?: (\d{1,9}))?", re.ASCII)
INSIDE = re.compile(r"(draw \d{1,9} \d{1,9}|release \d{1,9})", re.ASCII)
#: The keys of each law besides its name.
LAWS = {
    "geometric": {"chance"},
    "logarithmic": {"p"},
    "negative-binomial": {"n", "chance"},
    "binomial": {"n", "p"},
    "poisson": {"mean"},
}
#: The largest epsilon of a run, beyond which the exponential is not computed.
MAX_EPSILON = 1_000


def blocks_of(events: Sequence[Any]) -> tuple[list[int | None], list[int]]:
    """Return the block of each event of a path, or None outside, and the law of each block.

    Raises
    ------
    RefusedStepError
        A block does not end, or has events other than draws, releases and decisions.
    """
    places: list[int | None] = []
    laws: list[int] = []
    current: int | None = None
    for event in events:
        text = str(event[1]) if event[0] == "show" else ""
        found = MARK.fullmatch(text)
        places.append(current if found is None else None)
        if found is None:
            inside = event[0] == "fork" or INSIDE.fullmatch(text)
            need(current is None or inside, "a repeated block must only draw, release and decide")
        elif found.group(1) == "repeat":
            number, law = int(found.group(2)), found.group(3)
            need(current is None, "a repeated block inside a repeated block is not supported")
            need(law is not None and number == len(laws), "repeated blocks must be numbered in order")
            laws.append(int(law))
            current = number
        else:
            need(current == int(found.group(2)) and found.group(3) is None, "another block is open")
            current = None
    need(current is None, "a path must not end inside a repeated block")
    return places, laws


def repeated_cost(law: Any, epsilon: Fraction) -> Fraction:
    """Return the cost of the best of a random number of runs that cost ``epsilon`` each."""
    name = law.get("law")
    need(name in LAWS and law.keys() == {"law", *LAWS[name]}, "a stopping law has a name and its parameters")
    numbers = {key: Fraction(value) for key, value in law.items() if key != "law"}
    _require_law(name, numbers)
    need(0 <= epsilon <= MAX_EPSILON, f"a run must cost between 0 and {MAX_EPSILON}")
    top = _exp_above(epsilon)
    if name == "poisson":
        return epsilon + numbers["mean"] * (top - 1) / (top + 1)
    rest = numbers["chance"] if "chance" in numbers else 1 - numbers["p"]
    power = {
        "geometric": Fraction(2),
        "logarithmic": Fraction(1),
        "negative-binomial": numbers.get("n", Fraction(0)) + 1,
        "binomial": numbers.get("n", Fraction(1)) - 1,
    }[name]
    return epsilon + power * log_above((rest + top) / (1 + rest * top))


def _require_law(name: str, numbers: dict[str, Fraction]) -> None:
    for key in ("p", "chance"):
        need(0 < numbers.get(key, Fraction(1)) <= 1, "the probability of a stopping law must be in (0, 1]")
    need(name != "logarithmic" or numbers["p"] < 1, "the parameter of the logarithmic law must be below 1")
    n = numbers.get("n", Fraction(1))
    need(n > 0, "the parameter n of a stopping law must be positive")
    need(name != "binomial" or n.denominator == 1, "the number of trials must be an integer")
    need(numbers.get("mean", Fraction(0)) >= 0, "the mean of a Poisson law must not be negative")


def _exp_above(number: Fraction) -> Fraction:
    """Return a rational at least exp(number), for number >= 0. ``Decimal.exp`` is correctly rounded."""
    if number == 0:
        return Fraction(1)
    context = Context(prec=60)
    above = context.next_plus(context.divide(Decimal(number.numerator), Decimal(number.denominator)))
    return Fraction(context.next_plus(above.exp(context)))
