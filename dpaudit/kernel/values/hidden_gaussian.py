"""Derive bounds of programs whose Gaussian noise stays hidden in comparisons.

A certificate of such a program lists ``groups``, which partition its cells. All cells of a group have the
shifts of its first cell. The bound of a group is a list of pairs (c, mu^2), one for each extreme change:

* c is the sum of abs(shift) / scale over the Laplace and exponential draws, plus the cost of pure releases;
* mu^2 is the sum of (shift / standard deviation)^2 over the Gaussian draws.

Statement. Let d(mu, e) be the delta of a mu-GDP mechanism at e (Dong, Roth, Su 2022, Corollary 2.13). Then
the program is (e, delta)-DP for every e >= 0, with

    delta = sum over groups of max over the pairs of exp(c) d(mu, e - c).

Proof. Fix neighbours x and x' and a set B of outputs. Draw all hidden noise n at the start; a path reads a
prefix of it. The regions of the cells, extended by the draws that their paths do not read, are disjoint and
cover everything up to null sets, on either side. Let R be the union of the regions of a group under x,
restricted to outputs in B, and R' the same under x'. The shift s keeps every comparison and every shown
value, so R + s lies in R'. It depends on no noise, and it is the same for all cells of the group. Densities
of Laplace and exponential noise satisfy f(n) <= exp(abs(s) / b) f(n + s), and those of pure releases at most
exp(cost) times those under x'. With g the density of the Gaussian noise and h that of everything else,

    P_x(R) <= integral over R' of exp(c) h(n') g(n' - s)
           <= exp(e) P_x'(R') + integral of h (exp(c) g(n' - s) - exp(e) g(n'))_+
            = exp(e) P_x'(R') + exp(c) d(mu, e - c),

since g(. - s) against g is a pair of normal distributions at distance mu, and h integrates to at most 1. Sum
over the groups; the sets R' are disjoint. The shifts of other changes in the box are convex combinations of
those at the extremes (the rows are linear). Both c and mu are convex, and the bound rises with both. QED

One group. If a single group without releases holds all cells, then P_x(B) <= Q(R' of B) for all B, where Q
is the distribution of the shifted noise. Both sides sum to 1 over a partition, so they are equal: the output
is a function of the shifted noise under x and of the noise under x'. The program is then mu-GDP if c = 0, and
(c^2 + mu^2) / 2-zCDP in general, by composition over independent draws. With pure releases it is the zCDP of
the shifted noise followed by these releases.

Why the sum is needed. For the sparse vector technique the shift depends on which query is answered "above".
The pair mu^2 = D^2 / s1^2 + (2 D)^2 / s2^2 of one cell alone is no bound. Let D = s1 = s2 = 1, and take a
million pairs of queries that are all (0, 0) or all (1, -1), with the threshold 4.5. The first answer "above"
is to the second query of a pair with probability 0.343 or 0.0004, so delta at 3 is at least 0.33. One cell
would give 0.28. Zhu and Wang 2020 (Improving sparse vector technique with Renyi DP) also have a term that
grows with the number of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaudit.kernel.program_t0 import CONTINUOUS, Cell, Tree
from dpaudit.kernel.values.info import need

__all__ = ["GaussianTree", "Loss", "has_gaussian", "losses_of"]

#: The pairs (c, mu^2) of one group.
Loss = tuple[tuple[Fraction, Fraction], ...]


class GaussianTree(Tree):
    """A decision tree whose hidden draws may be Gaussian. The scale is the standard deviation."""

    densities = (*CONTINUOUS, "gaussian")


def has_gaussian(cells: Sequence[Cell]) -> bool:
    """Return whether some cell has a hidden Gaussian draw."""
    return any(noise == "gaussian" for cell in cells for noise, _ in cell.path.draws)


def losses_of(tree: Tree, cells: Sequence[Cell], groups: Any, pure: Sequence[Fraction]) -> tuple[Loss, ...]:
    """Return the pairs of each group. ``pure`` has the cost of the pure releases of each cell."""
    need(isinstance(groups, list) and groups, "hidden Gaussian noise requires groups of cells")
    members = [k for group in groups for k in group]
    need(all(type(k) is int for k in members), "the cells of a group must be integers")
    need(sorted(members) == list(range(len(cells))), "each cell must be in exactly one group")
    need(all(groups), "a group must have a cell")
    found = []
    for group in groups:
        whole = _joined([cells[k] for k in group])
        more = max(pure[k] for k in group)
        pairs = {_loss(whole, shifts, more) for _, shifts in tree.aligned(whole)}
        found.append(tuple(sorted(p for p in pairs if not any(q != p and _above(q, p) for q in pairs))))
    return tuple(found)


def _joined(cells: Sequence[Cell]) -> Cell:
    """Return one cell with the comparisons and shown values of all cells, which share the first shifts."""
    longest = max((cell.path for cell in cells), key=lambda path: len(path.draws))
    for cell in cells:
        draws = cell.path.draws
        need(draws == longest.draws[: len(draws)], "the cells of a group must have the same draws")
        need(not cell.path.releases, "hidden Gaussian noise requires releases by the record")
    rows = {f"{k}.{name}": row for k, cell in enumerate(cells) for name, row in cell.rows.items()}
    forms = tuple(form for cell in cells for form in cell.path.forms)
    return Cell(replace(longest, forms=forms), rows, cells[0].shifts)


def _loss(cell: Cell, shifts: Sequence[Fraction], pure: Fraction) -> tuple[Fraction, Fraction]:
    mu_squared = Fraction(0)
    for shift, (noise, scale) in zip(shifts, cell.path.draws, strict=True):
        if noise == "gaussian":
            mu_squared += (shift / scale) ** 2
        else:
            need(noise in CONTINUOUS, "hidden Gaussian noise cannot be combined with discrete noise")
            pure += abs(shift) / scale
    return Fraction(pure), Fraction(mu_squared)


def _above(one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> bool:
    return one[0] >= other[0] and one[1] >= other[1]
