"""Compute the probability that independent noise lies in a region of linear inequalities.

A region is a list of rows ``form <= 0`` over noise symbols. Its symbols fall into components that share no
row. If its noise is Gaussian and all its rows bound one combination, this combination is normal. Every other
component must be a star: one centre v, and leaves u whose rows contain at most u and v. Given v,
each leaf lies in an interval whose ends are linear in v, so that

    P = integral of f(v) * product over u of max(0, F_u(upper_u(v)) - F_u(lower_u(v))) dv

by independence. The real line is cut where two ends cross and where an end crosses a kink of F_u or f. On
each piece the integrand is analytic. Arb's ``acb.integral`` encloses the integral over [-120, 120] scales
(16 for Gaussian noise). The centre lies outside with a probability below ``TAIL``. Cauchy noise has too much
mass outside, so it is neither a centre nor a leaf: its rows must bound it alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import acb, arb
from scipy.optimize import linprog
from scipy.special import ndtr

from dpaudit.kernel.ball import ball, lower_exact, precision, upper_exact
from dpaudit.prover.forms import ZERO, Form

__all__ = ["Noise", "enclosed", "estimated", "inner_points"]

#: Above e^-120, P(|Z| > 16) = 1.3e-57 and P(Gumbel < -6) = e^-403.
TAIL = Fraction(1, 10**50)
#: Precision of the enclosures in bits. Each piece of a numerical integral is at most this many scales long.
BITS, LONGEST = 192, 3
#: Ends of the integrals and kinks of the density, in scales.
ENDS: dict[str, tuple[int, int]] = {
    "laplace": (-120, 120),
    "gaussian": (-16, 16),
    "exponential": (0, 120),
    "gumbel": (-6, 120),
    "uniform": (0, 1),
    "cauchy": (-(10**4), 10**4),
}
KINKS: dict[str, tuple[int, ...]] = {"laplace": (0,), "exponential": (0,), "uniform": (0, 1)}
#: Inner points are at least this many scales from the faces of their region. The number of further points.
INSIDE, POINTS = 1e-6, 2
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)

#: A line in v: (slope, intercept).
Line = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Noise:
    """The law of one noise symbol, of mean or mode 0."""

    law: str
    scale: Fraction


def estimated(rows: Sequence[Form], noise: dict[str, Noise]) -> float | None:
    """Return the probability of a region in floats, or None if a component is no star."""
    if any(not row.terms and row.constant > 0 for row in rows):
        return 0.0
    found = 1.0
    for star in _stars(rows, noise):
        if star is None:
            return None
        found *= star.estimated()
    return found


def inner_points(
    rows: Sequence[Form], noise: dict[str, Noise], rng: np.random.Generator
) -> Iterator[dict[str, float]]:
    """Yield points of the region, away from its faces, with the symbols that the rows contain.

    The first point is as far from the faces as it can be, up to one scale. A thin region gives none.
    """
    names = sorted({name for row in rows for name in row.terms})
    if not names:
        yield {}
        return
    scales = np.array([float(noise[name].scale) for name in names])
    ends = [ENDS[noise[name].law] for name in names]
    matrix = np.array([[float(row.terms.get(name, 0)) for name in names] for row in rows]) * scales
    sizes = np.abs(matrix).sum(axis=1)
    limits = np.array([-float(row.constant) for row in rows])
    kept = sizes > 0
    matrix, limits = matrix[kept] / sizes[kept, None], limits[kept] / sizes[kept]
    ball = np.hstack([matrix, np.ones((len(matrix), 1))])
    found = linprog([*np.zeros(len(names)), -1.0], A_ub=ball, b_ub=limits, bounds=[*ends, (0, 1)])
    if found.status != 0:
        return
    *centre, margin = np.asarray(found.x).tolist()
    if margin < INSIDE:
        return
    yield dict(zip(names, (np.array(centre) * scales).tolist(), strict=True))
    for _ in range(POINTS):
        far = linprog(rng.normal(size=len(names)), A_ub=matrix, b_ub=limits - margin / 8, bounds=ends)
        if far.status == 0:
            yield dict(zip(names, (np.asarray(far.x) * scales).tolist(), strict=True))


def enclosed(rows: Sequence[Form], noise: dict[str, Noise]) -> tuple[Fraction, Fraction] | None:
    """Return an enclosure of the probability of a region, or None if a component is no star."""
    if any(not row.terms and row.constant > 0 for row in rows):
        return ZERO, ZERO
    with precision(BITS):
        low, high = Fraction(1), Fraction(1)
        for star in _stars(rows, noise):
            if star is None:
                return None
            part = star.enclosed()
            low *= max(ZERO, lower_exact(part))
            high *= min(Fraction(1), max(ZERO, upper_exact(part)) + TAIL)
        return low, high


def _stars(rows: Sequence[Form], noise: dict[str, Noise]) -> list[_Star | _Normal | _Cauchy | None]:
    rows = list(dict.fromkeys(row for row in rows if row.terms))
    left = {name for row in rows for name in row.terms}
    found: list[_Star | _Normal | _Cauchy | None] = []
    while left:
        component, pending = set(), [min(left)]
        while pending:
            name = pending.pop()
            component.add(name)
            pending += {n for row in rows if name in row.terms for n in row.terms} - component
        left -= component
        inside = [row for row in rows if not component.isdisjoint(row.terms)]
        names = sorted(component)
        found.append(
            _cauchy(names, inside, noise) or _star(names, inside, noise) or _normal(names, inside, noise)
        )
    return found


def _cauchy(names: Sequence[str], rows: Sequence[Form], noise: dict[str, Noise]) -> _Cauchy | None:
    """Return the bounds of one Cauchy number, or None if a row contains other noise too."""
    if len(names) > 1 or noise[names[0]].law != "cauchy":
        return None
    [name] = names
    ends: tuple[list[Fraction], list[Fraction]] = ([], [])
    for row in rows:
        ends[row.terms[name] > 0].append(-row.constant / (row.terms[name] * noise[name].scale))
    return _Cauchy(max(ends[0], default=None), min(ends[1], default=None))


@dataclass(frozen=True)
class _Cauchy:
    """A standard Cauchy number and its bounds. P(lower < Z < upper) = (atan(upper) - atan(lower)) / pi."""

    lower: Fraction | None
    upper: Fraction | None

    def estimated(self) -> float:
        with precision(BITS):
            return float(self.enclosed())

    def enclosed(self) -> arb:
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            return arb(0)
        below, above = (
            end * arb.pi() / 2 if line is None else ball(line).atan()
            for end, line in ((-1, self.lower), (1, self.upper))
        )
        return (above - below) / arb.pi()


def _normal(names: Sequence[str], rows: Sequence[Form], noise: dict[str, Noise]) -> _Normal | None:
    """Return the bounds of one combination of Gaussian noise, or None if the rows are of another form."""
    first = rows[0].moved(-rows[0].constant)
    variance = sum(((factor * noise[name].scale) ** 2 for name, factor in first.terms.items()), ZERO)
    ends: tuple[list[Fraction], list[Fraction]] = ([], [])
    for row in rows:
        factor = row.terms.get(names[0], ZERO) / first.terms[names[0]] if names[0] in first.terms else ZERO
        if not factor or row.terms != first.times(factor).terms:
            return None
        ends[factor > 0].append(-row.constant / factor)
    if any(noise[name].law != "gaussian" for name in names):
        return None
    return _Normal(variance, max(ends[0], default=None), min(ends[1], default=None))


@dataclass(frozen=True)
class _Normal:
    """A normal number of mean 0 and its bounds."""

    variance: Fraction
    lower: Fraction | None
    upper: Fraction | None

    def estimated(self) -> float:
        below, above = (
            end if line is None else float(ndtr(float(line) / float(self.variance) ** 0.5))
            for end, line in ((0.0, self.lower), (1.0, self.upper))
        )
        return max(0.0, above - below)

    def enclosed(self) -> arb:
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            return arb(0)
        below, above = (
            arb(end) if line is None else (-ball(line) / (2 * ball(self.variance)).sqrt()).erfc() / 2
            for end, line in ((0, self.lower), (1, self.upper))
        )
        return above - below


def _star(names: Sequence[str], rows: Sequence[Form], noise: dict[str, Noise]) -> _Star | None:
    if any(noise[name].law == "cauchy" for name in names):
        return None
    degrees = {name: len({n for row in rows if name in row.terms for n in row.terms}) for name in names}
    centre = max(names, key=degrees.__getitem__)
    lower: list[Line] = []
    upper: list[Line] = []
    leaves = []
    for name in [centre, *(n for n in names if n != centre)]:
        ends: tuple[list[Line], list[Line]] = ([], [])
        for row in rows:
            others = row.terms.keys() - {name}
            if name not in row.terms or (name == centre and others):
                continue
            if not others <= {centre}:
                return None
            factor = row.terms[name]
            line = (-row.terms.get(centre, ZERO) / factor, -row.constant / factor)
            ends[factor > 0].append((ZERO, line[1]) if name == centre else line)
        if name == centre:
            lower, upper = ends
        else:
            leaves.append(_Leaf(noise[name], *ends))
    return _Star(centre, noise[centre], lower, upper, leaves)


@dataclass(frozen=True)
class _Leaf:
    noise: Noise
    lower: list[Line]
    upper: list[Line]


@dataclass(frozen=True)
class _Star:
    centre: str
    noise: Noise
    lower: list[Line]
    upper: list[Line]
    leaves: list[_Leaf]

    def _ends(self) -> tuple[Fraction, Fraction]:
        low, high = (self.noise.scale * end for end in ENDS[self.noise.law])
        return max([low, *(b for _, b in self.lower)]), min([high, *(b for _, b in self.upper)])

    def _pieces(self) -> list[tuple[Fraction, Fraction]]:
        low, high = self._ends()
        if low >= high:
            return []
        cuts = {low, high, *(k * self.noise.scale for k in KINKS.get(self.noise.law, ()))}
        for leaf in self.leaves:
            kinks = [(ZERO, k * leaf.noise.scale) for k in KINKS.get(leaf.noise.law, ())]
            for (a, b), (c, d) in itertools.combinations([*leaf.lower, *leaf.upper, *kinks], 2):
                if a != c:
                    cuts.add((d - b) / (a - c))
        ordered = sorted(cut for cut in cuts if low <= cut <= high)
        return list(itertools.pairwise(ordered))

    def _at(self, middle: Fraction) -> list[tuple[Noise, Line | None, Line | None]] | None:
        """Return the binding ends of all leaves on the piece around ``middle``, or None if one is empty."""
        found = []
        for leaf in self.leaves:
            low = max(leaf.lower, key=lambda e: e[0] * middle + e[1], default=None)
            high = min(leaf.upper, key=lambda e: e[0] * middle + e[1], default=None)
            if low is not None and high is not None and _value(low, middle) >= _value(high, middle):
                return None
            found.append((leaf.noise, low, high))
        return found

    def estimated(self) -> float:
        if not self.leaves:
            low, high = self._ends()
            return max(0.0, float(_cdf(self.noise, float(high)) - _cdf(self.noise, float(low))))
        total, scale = 0.0, float(self.noise.scale)
        for low, high in self._pieces():
            leaves = self._at((low + high) / 2)
            if leaves is None:
                continue
            # The density is below 1e-11 beyond 26 scales, too little for an estimate.
            a, b = max(float(low), -26 * scale), min(float(high), 26 * scale)
            if a >= b:
                continue
            parts = max(1, int(np.ceil((b - a) / (LONGEST * scale))))
            edges = np.linspace(a, b, parts + 1)
            half = np.diff(edges)[:, None] / 2
            v = (edges[:-1, None] + half + half * NODES[None, :]).ravel()
            product = _density(self.noise, v)
            for noise, lower, upper in leaves:
                high_end = 1.0 if upper is None else _cdf(noise, float(upper[0]) * v + float(upper[1]))
                low_end = 0.0 if lower is None else _cdf(noise, float(lower[0]) * v + float(lower[1]))
                product = product * (high_end - low_end)
            total += float((product * (half * WEIGHTS[None, :]).ravel()).sum())
        return total

    def enclosed(self) -> arb:
        total = arb(0)
        if not self.leaves:
            low, high = self._ends()
            if low >= high:
                return total
            return (
                _exact_cdf(self.noise, (ZERO, high), high, acb(0))
                - _exact_cdf(self.noise, (ZERO, low), low, acb(0))
            ).real
        for low, high in self._pieces():
            middle = (low + high) / 2
            leaves = self._at(middle)
            if leaves is None:
                continue

            def integrand(v: acb, _: bool, middle: Fraction = middle, leaves: Any = leaves) -> acb:
                product = _exact_density(self.noise, middle, v)
                for noise, lower, upper in leaves:
                    end = acb(1) if upper is None else _exact_cdf(noise, upper, middle, v)
                    if lower is not None:
                        end = end - _exact_cdf(noise, lower, middle, v)
                    product = product * end
                return product

            total += acb.integral(integrand, acb(ball(low)), acb(ball(high))).real
        return total


def _value(line: Line, at: Fraction) -> Fraction:
    return line[0] * at + line[1]


def _cdf(noise: Noise, x: Any) -> Any:
    t = np.asarray(x) / float(noise.scale)
    if noise.law == "laplace":
        half = 0.5 * np.exp(-np.abs(t))
        return np.where(t < 0, half, 1 - half)
    if noise.law == "gaussian":
        return ndtr(t)
    if noise.law == "exponential":
        return -np.expm1(-np.maximum(t, 0))
    if noise.law == "gumbel":
        return np.exp(-np.exp(-np.maximum(t, -30)))
    return np.clip(t, 0, 1)


def _density(noise: Noise, x: Any) -> Any:
    t, scale = np.asarray(x) / float(noise.scale), float(noise.scale)
    if noise.law == "laplace":
        return np.exp(-np.abs(t)) / (2 * scale)
    if noise.law == "gaussian":
        return np.exp(-t * t / 2) / (scale * np.sqrt(2 * np.pi))
    if noise.law == "exponential":
        return np.where(t < 0, 0, np.exp(-np.maximum(t, 0))) / scale
    if noise.law == "gumbel":
        return np.exp(-t - np.exp(-np.maximum(t, -30))) / scale
    return np.where((t < 0) | (t > 1), 0, 1 / scale)


def _exact_cdf(noise: Noise, line: Line, middle: Fraction, v: acb) -> acb:
    """Return F of a line in v, by the formula that holds on the whole piece around ``middle``."""
    place = _value(line, middle) / noise.scale
    t = (acb(ball(line[0])) * v + acb(ball(line[1]))) / acb(ball(noise.scale))
    if noise.law == "laplace":
        return t.exp() / 2 if place < 0 else 1 - (-t).exp() / 2
    if noise.law == "gaussian":
        return (-t / acb(2).sqrt()).erfc() / 2
    if noise.law == "exponential":
        return acb(0) if place < 0 else 1 - (-t).exp()
    if noise.law == "gumbel":
        return (-(-t).exp()).exp()
    return acb(0) if place < 0 else acb(1) if place > 1 else t


def _exact_density(noise: Noise, middle: Fraction, v: acb) -> acb:
    scale = acb(ball(noise.scale))
    t = v / scale
    if noise.law == "laplace":
        return (t if middle < 0 else -t).exp() / (2 * scale)
    if noise.law == "gaussian":
        return (-t * t / 2).exp() / (scale * (2 * acb.pi()).sqrt())
    if noise.law == "exponential":
        return acb(0) if middle < 0 else (-t).exp() / scale
    if noise.law == "gumbel":
        return (-t - (-t).exp()).exp() / scale
    return acb(0) if not 0 < middle < noise.scale else 1 / scale
