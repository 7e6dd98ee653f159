"""Bound the cost of integer noise that is the sum of equal, independent shares of several parties.

A draw names the distribution of one share, its exact parameters, and ``parties``, the number n of shares. The
released value is an integer plus the sum of all shares. The sum has these distributions:

* ``polya-difference`` (``shape`` r, ``log_ratio`` l): with n r >= 1, discrete Laplace noise of scale 1 / l
  plus independent noise, which is post-processing. An integer array whose L1 norm changes by at most D costs
  D l. With n r < 1, rule ``polya`` (Balle, Bell, Gascon, Nissim 2020, section 4).
* ``skellam`` (``variance`` v): Skellam noise of variance n v, rule ``integer-noise`` (Agarwal, Kairouz, Liu
  2021).
* ``discrete-gaussian`` (``variance`` v): rule ``gaussian-sum``, which is zCDP (Canonne, Kamath, Steinke 2020
  for n = 1). It is not Gaussian DP, so it is a mechanism of its own.
* ``binomial`` (``trials`` t, ``probability`` p): binomial noise of n t trials, rule ``integer-noise``.

An integer that changes by at most D changes by at most floor(D). A view that holds users is refused, because
a user who knows an own share knows a part of the noise.

Skellam and binomial noise on every entry of an array: rule ``vector-noise``, or ``binomial-vectors`` if its
sums would be long. Both hold for any orders and any range of the noise, so these are only chosen well: a - 1
= u / mu for u near the best one for Gaussian noise with mu^2 = change2 / variance.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from dpaudit.kernel.kernel_t0 import Setting as ClaimSetting
from dpaudit.kernel.values.costs import Cost, mechanism
from dpaudit.kernel.values.info import Info, Setting, need
from dpaudit.kernel.values.polynomials import upper_root

__all__ = ["FAMILIES", "share_cost"]

#: The number of Renyi orders of noise on arrays, and the largest cost of their sums.
ORDERS, WORK = 16, 2_000_000
#: The probabilities that an entry may leave out: 2^-CUT in sums, 2 e^-DEPTH in closed forms.
CUT, DEPTH = 80, 64

#: The parameters of one share, by family.
FAMILIES = {
    "polya-difference": ("shape", "log_ratio"),
    "skellam": ("variance",),
    "discrete-gaussian": ("variance",),
    "binomial": ("trials", "probability"),
}


def share_cost(s: Setting, whole: Info, family: str, given: dict[str, Any]) -> Cost:
    """Return the cost of a value plus ``parties`` shares. ``whole`` bounds its change as one array.

    Raises
    ------
    RefusedStepError
        The family or a parameter is unknown, or the value is no integer whose change is bounded.
    """
    need(family in FAMILIES, f"{str(family)[:40]} noise on a released value is not supported")
    need(given.keys() == {"parties", *FAMILIES[family]}, f"{family} noise has other parameters")
    parties, numbers = given["parties"], {name: Fraction(given[name]) for name in FAMILIES[family]}
    need(type(parties) is int and parties >= 1, "the number of shares must be a positive integer")
    need(all(number > 0 for number in numbers.values()), "the parameters of noise must be positive")
    need(whole.kind in "bi", f"{family} noise requires an integer value")
    need(not s.view.holds_users, f"{family} noise in shares: no user may be in the view, who knows a share")
    change = s.largest(whole.change1)
    need(change is not None, "the released value may change without bound (clip it)")
    reach = (change or Fraction(0)).__floor__()
    if not reach:
        return Cost()
    if family == "polya-difference" and parties * numbers["shape"] >= 1:
        return Cost(reach * numbers["log_ratio"])
    if whole.shape and whole.entries.number != 1:  # one entry is a single number
        return Cost(mechanisms=(_vector_tree(s, whole, family, parties, numbers),))
    tree = _tree(s, family, parties, numbers, reach)
    return Cost(_pure(tree)) if family == "polya-difference" else Cost(mechanisms=(tree,))


def _vector_tree(s: Setting, whole: Info, family: str, parties: int, numbers: dict[str, Fraction]) -> str:
    """Return the mechanism of an integer array with independent noise on each entry."""
    need(family in ("skellam", "binomial"), f"{family} noise is only supported on a single number")
    squared, largest = s.largest(whole.change2), s.largest(whole.change)
    entries = whole.entries.number
    need(
        squared is not None and largest is not None and entries is not None and entries >= 1,
        "noise on an array requires a bounded change and a fixed number of entries (clip it)",
    )
    squares, reach = (squared or Fraction(0)).__floor__(), (largest or Fraction(0)).__floor__()
    need(squares >= 1 and reach >= 1, "the value does not change by an integer")
    if family == "skellam":
        noise = {"variance": str(parties * numbers["variance"])}
        variance = parties * numbers["variance"]
    else:
        chance, trials = numbers["probability"], parties * numbers["trials"]
        need(trials.denominator == 1 and chance < 1, "binomial noise of this kind")
        noise = {"trials": str(trials), "probability": str(chance)}
        variance = trials * chance * (1 - chance)
    mu = upper_root(Fraction(squares) / variance)
    tilts = (Fraction(3, 4) * Fraction(5, 4) ** k / mu for k in range(ORDERS))
    orders = sorted({1 + max(tilt, Fraction(1, 100)).limit_denominator(100) for tilt in tilts})
    shared = {
        **noise,
        "dimension": str(entries),
        "l2_squared": str(squares),
        "largest": str(reach),
        "orders": [str(order) for order in orders],
        "times": "1",
        "rounding": "none",
    }
    if family == "skellam" or 20 * upper_root(variance) * reach * len(orders) <= WORK:
        return mechanism("vector-noise", {"family": family, **shared, "cut": str(CUT)})
    deviation = Fraction(DEPTH, 3) + upper_root(Fraction(DEPTH**2, 9) + 2 * variance * DEPTH)
    return mechanism("binomial-vectors", {**shared, "deviation": str(deviation.__ceil__())})


def _pure(tree: str) -> Fraction:
    """Return the pure bound of a mechanism for one record of public number, which assumes nothing."""
    from dpaudit.kernel.check import derive_in  # only noise of lost shares needs the higher tiers

    found = derive_in(json.loads(tree), ClaimSetting())
    need(found.pure is not None and not found.assumptions, "this noise has no pure bound")
    return found.pure or Fraction(0)


def _tree(s: Setting, family: str, parties: int, numbers: dict[str, Fraction], reach: int) -> str:
    if family == "polya-difference":
        need(not s.length_is_private, "lost shares require a public number of records")
        share = {"scale": str(1 / numbers["log_ratio"]), "share": str(parties * numbers["shape"])}
        return mechanism("polya", {"sensitivity": str(reach), **share})
    if family == "skellam":
        noise = {"family": "skellam", "variance": str(parties * numbers["variance"])}
        return mechanism("integer-noise", {"sensitivity": str(reach), **noise})
    if family == "discrete-gaussian":
        parts = {"variance": str(numbers["variance"]), "count": str(parties)}
        return mechanism("gaussian-sum", {"sensitivity": str(reach), **parts})
    need(numbers["trials"].denominator == 1 and numbers["probability"] < 1, "binomial noise of this kind")
    trials = {"trials": str(int(parties * numbers["trials"])), "probability": str(numbers["probability"])}
    return mechanism("integer-noise", {"sensitivity": str(reach), "family": "binomial", **trials})
