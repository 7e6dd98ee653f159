"""Bound the cost of releases whose Gaussian noise is correlated, such as the matrix mechanism.

A release of the law ``correlated`` publishes ``v_t = p_t + b_t . z``. The number ``p_t`` is the recorded step
``node``. The entries of z are independent normal draws that are used in no other law. ``terms`` lists the
draws of b_t, as [draw, entry, weight]. Rows b_1, ..., b_T of the releases of a path, multiplied by the
standard deviations of the draws, form a matrix B with exact rational entries. Let K = B B^T.

Statement. Let d_t = p'_t - p_t be the changes for the same outcomes on both sides. If K is positive definite
and d^T K^-1 d <= mu^2 for every path, every record and all outcomes, the releases are mu-GDP, also if each
p_t depends on earlier outcomes. They cost mu^2 / 2 in rho, beside other releases.

Proof. Factor K = L D L^T with L unit lower triangular and D diagonal. Given the history up to step t, the
public numbers u_s = (L^-1 v)_s for s <= t are the same information as v_1, ..., v_t. We have
u = L^-1 p + w with w = L^-1 B z, whose covariance is D. So the w_t are independent, and w_t is independent of
the history, also of other releases, which use other noise. Hence u_t is a Gaussian release with variance D_t
of a number that changes by e_t = (L^-1 d)_t, and L^-1 uses d_s for s <= t only. The sum of e_t^2 / D_t is
d^T K^-1 d. So these are adaptive Gaussian releases whose sum of squared change / variance is at most mu^2 on
every path. For rho: Feldman and Zrnic 2021, Theorem 3.1. For GDP (Smith and Thakurta 2022, Fully adaptive
composition for Gaussian differential privacy): append a release of the number that exhausts mu^2, which only
adds output. Then the sum of squares is mu^2 on every path. Under x, the log of the density ratio is
X - mu^2 / 2 with X = sum of a_t g_t, where g_t is standard normal given the history and a_t = e_t / sqrt(D_t)
is known from it. By induction from the last step, E exp(i h X + h^2 / 2 sum of a_t^2) = 1 for all real h. As
the sum of squares is constant, X is normal with variance mu^2. So the output has the density ratio of two
normal distributions at distance mu, which determines all trade-offs. QED

Bound on d^T K^-1 d. For any unit lower triangular matrix M, let S = M K M^T, and let f be the Frobenius norm
of S without its diagonal, after division of entry (i, j) by sqrt(S_ii S_jj). If f < 1, then
S >= (1 - f) diag(S) in the order of symmetric matrices, so K is positive definite and

    d^T K^-1 d = (M d)^T S^-1 (M d) <= sum of (M d)_t^2 / S_tt / (1 - f).

M is found in floats (Gram and Schmidt) and rounded. S, f and the sum are exact, so a bad M only makes the
bound worse.

Changes. ``linear`` writes p_t as a combination of atoms. A block of atoms is a row of a row-local step, or a
whole step. Its change has an L2 norm of at most r, from the derived bounds. The bound is a quadratic form in
the changes of the blocks. With G_ab its matrix between blocks a and b, it is at most the sum over the blocks
that one record affects of |G_ab| r_a r_b, where |G_ab| bounds the spectral norm by
sqrt(largest absolute row sum x largest absolute column sum).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite, lcm, prod
from operator import mul
from typing import Any

from dpaudit.kernel.values.costs import Cost
from dpaudit.kernel.values.info import Info, Setting, Support, need
from dpaudit.kernel.values.linear import Atom, combination
from dpaudit.kernel.values.polynomials import product_of, upper_root
from dpaudit.kernel.values.releases import Drawn, Part

__all__ = ["correlated_parts", "terms_of"]

#: A draw and the place of an entry in it.
Source = tuple[int, int]
#: The noise and the private part of a release.
Released = tuple[dict[Source, Fraction], dict[Atom, Fraction]]
#: A block of atoms: a node, with a row or None.
Block = tuple[int, int | None]

#: The matrix M is rounded to multiples of 2^-BITS.
BITS = 80
#: Limits on the released numbers of a path, and on those that share noise.
MAX_RELEASES, MAX_SHARING = 4096, 512
#: Weights of noise are smaller, so that floats do not overflow.
LARGEST = Fraction(10) ** 50
DEPENDENT = (
    "released numbers with correlated noise are not provably independent given the data (the matrix of the"
    " noise is singular, or nearly singular)"
)
#: Positions of records that are charged one by one.
MAX_PLACES = 20_000


def terms_of(release: dict[str, Any], draws: Sequence[Drawn]) -> dict[Source, Fraction]:
    """Return the weights of the noise of a release, by draw and place."""
    found: dict[Source, Fraction] = {}
    for number, place, weight in release["terms"]:
        need(
            type(number) is int and 0 <= number < len(draws) and type(place) is int and place >= 0,
            "a release must use noise that was drawn",
        )
        count = product_of(draws[number].shape).number
        need(count is not None and place < count, "a term of correlated noise must be an entry of its draw")
        need(draws[number].distribution == "gaussian", "correlated noise must be Gaussian")
        need((number, place) not in found, "an entry of a draw occurs twice in one release")
        found[number, place] = Fraction(weight)
    return found


def correlated_parts(
    s: Setting, nodes: Sequence[Any], infos: Sequence[Info], releases: Sequence[Any], draws: Sequence[Drawn]
) -> list[Part]:
    """Return the costs of the releases with correlated noise of one path, by the position of the record."""
    if not releases:
        return []
    need(s.group == 1, "correlated noise requires that one record changes (group=1)")
    need(len(releases) <= MAX_RELEASES, f"correlated noise requires at most {MAX_RELEASES:,} numbers")
    forms = _distinct(
        [(_scaled(terms_of(release, draws), draws), _private(nodes, infos, release)) for release in releases]
    )
    columns: dict[Atom, dict[int, Fraction]] = {}
    for row, (_, private) in enumerate(forms):
        for atom, factor in private.items():
            columns.setdefault(atom, {})[row] = factor
    form = _Form(_components([noise for noise, _ in forms]), columns)
    blocks = _blocks(s, infos, columns)
    return [
        Part(Cost(rho=_largest(form, [blocks[k] for k in chosen]) / 2), support, None)
        for chosen, support in _affected(blocks).items()
    ]


def _scaled(terms: dict[Source, Fraction], draws: Sequence[Drawn]) -> dict[Source, Fraction]:
    scales = {number: draws[number].scale.number for number, _ in terms}
    need(
        all(scale is not None and scale > 0 for scale in scales.values()),
        "correlated noise requires constant scales",
    )
    return {source: weight * (scales[source[0]] or 0) for source, weight in terms.items() if weight}


def _private(nodes: Sequence[Any], infos: Sequence[Info], release: Any) -> dict[Atom, Fraction]:
    node = release["node"]
    need(type(node) is int and 0 <= node < len(infos), "a release must refer to an existing step")
    info = infos[node]
    need(
        info.shape == () and not info.records and info.kind in "if",
        "correlated noise is added to single numbers",
    )
    return combination(nodes, infos, node)


def _distinct(forms: Sequence[Released]) -> list[Released]:
    """Drop a release that is a constant multiple of an earlier one, up to a public number."""
    found: dict[Any, Released] = {}
    for noise, private in forms:
        first = noise[min(noise)] if noise else Fraction(1)
        key = tuple(frozenset((k, factor / first) for k, factor in part.items()) for part in (noise, private))
        found.setdefault(key, (noise, private))
    return list(found.values())


# The noise.


@dataclass(frozen=True)
class _Component:
    """Releases that share noise: their numbers, the rows of M as integers, and 1 / (S_tt (1 - f))."""

    members: list[int]
    rows: list[list[int]]
    weights: list[Fraction]


def _components(noise: Sequence[dict[Source, Fraction]]) -> list[_Component]:
    """Return the components of releases whose noise is connected by common entries."""
    groups: list[tuple[set[Source], list[int]]] = []
    for number, terms in enumerate(noise):
        need(terms, "a private value is released without noise")
        near = [group for group in groups if not group[0].isdisjoint(terms)]
        merged = (set(terms).union(*(group[0] for group in near)), [n for group in near for n in group[1]])
        groups = [group for group in groups if not any(group is one for one in near)]
        groups.append((merged[0], [*merged[1], number]))
    return [_component(sorted(members), noise) for _, members in groups]


def _component(members: list[int], noise: Sequence[dict[Source, Fraction]]) -> _Component:
    need(len(members) <= MAX_SHARING, f"at most {MAX_SHARING:,} released numbers may share noise")
    sources = sorted({source for k in members for source in noise[k]})
    exact = [[noise[k].get(source, Fraction(0)) for source in sources] for k in members]
    need(
        all(not number or 1 / LARGEST < abs(number) < LARGEST for row in exact for number in row),
        f"weights of correlated noise must be from 1/{float(LARGEST):g} to {float(LARGEST):g}, or 0",
    )
    over = lcm(*(number.denominator for row in exact for number in row))
    table = tuple(tuple(number.numerator * (over // number.denominator) for number in row) for row in exact)
    return _Component(members, *_decorrelated(table, over))


@lru_cache(maxsize=16)  # the coordinates of a vector have the same noise
def _decorrelated(table: tuple[tuple[int, ...], ...], over: int) -> tuple[list[list[int]], list[Fraction]]:
    """Return M and the weights of a component, for the rows ``table / over`` of its noise."""
    rows = _decorrelating([[float(Fraction(number, over)) for number in row] for row in table])
    mixed = [_combined(row, table) for row in rows]
    squares = [_dot(row, row) for row in mixed]
    need(all(squares), DEPENDENT)
    norm = _off_diagonal(mixed, squares)
    need(norm < Fraction(1, 2), DEPENDENT)
    unit = (over << BITS) ** 2
    return rows, [_short(unit / (square * (1 - norm))) for square in squares]


def _off_diagonal(rows: Sequence[Sequence[int]], squares: Sequence[int]) -> Fraction:
    """Return an upper bound on the norm f of the products of different rows, by their lengths."""
    found = 0
    for t, row in enumerate(rows):
        for k in range(t):
            common = _dot(row, rows[k])
            found -= 2 * (-(common * common << 4 * BITS) // (squares[t] * squares[k]))  # rounded up
    return upper_root(Fraction(found, 1 << 4 * BITS))


def _short(number: Fraction) -> Fraction:
    """Return the number, or an upper bound with a short denominator that is a power of two, if it is long."""
    top, bottom = number.numerator.bit_length(), number.denominator.bit_length()
    if max(top, bottom) <= 2 * BITS:
        return number
    shift = 2 * BITS + bottom - top
    scaled = -(-number * Fraction(2) ** shift // 1)
    return scaled / Fraction(2) ** shift


def _decorrelating(table: list[list[float]]) -> list[list[int]]:
    """Return the rows of M times 2^BITS, such that M times the table has nearly orthogonal rows."""
    vectors: list[list[float]] = []
    rows: list[list[float]] = []
    for t, given in enumerate(table):
        vector, row = list(given), [0.0] * t + [1.0]
        for _ in range(2):  # a second pass removes rounding errors
            for k, other in enumerate(vectors):
                factor = sum(map(mul, vector, other)) / sum(map(mul, other, other))
                vector = [a - factor * b for a, b in zip(vector, other, strict=True)]
                row = [a - factor * b for a, b in zip(row, rows[k] + [0.0] * (t - k), strict=True)]
        need(sum(map(mul, vector, vector)) > 0, DEPENDENT)
        vectors.append(vector)
        rows.append(row)
    need(all(isfinite(number) for row in rows for number in row), DEPENDENT)
    return [[*(round(number * 2.0**BITS) for number in row[:-1]), 1 << BITS] for row in rows]


def _combined(row: Sequence[int], table: Sequence[Sequence[int]]) -> list[int]:
    found = [0] * len(table[0])
    for factor, other in zip(row, table, strict=False):  # row t has entries up to t
        if factor:
            found = [a + factor * b for a, b in zip(found, other, strict=True)]
    return found


def _dot(one: Iterable[int], other: Iterable[int]) -> int:
    return sum(map(mul, one, other))


class _Form:
    """The quadratic form that bounds d^T K^-1 d, on the changes of the atoms."""

    def __init__(self, components: Sequence[_Component], columns: dict[Atom, dict[int, Fraction]]) -> None:
        self.images = {atom: _image(components, column) for atom, column in columns.items()}
        self.weights = [weight for component in components for weight in component.weights]

    def entry(self, one: Atom, other: Atom) -> Fraction:
        """Return the entry of the matrix of the form for two atoms."""
        a, b = self.images[one], self.images[other]
        return sum((value * b[k] * self.weights[k] for k, value in a.items() if k in b), Fraction(0))


def _image(components: Sequence[_Component], column: dict[int, Fraction]) -> dict[int, Fraction]:
    """Return the entries of M times a column that are not 0, by their number over all components."""
    found: dict[int, Fraction] = {}
    first = 0
    for component in components:
        given = [column.get(k, Fraction(0)) for k in component.members]
        if any(given):
            over = lcm(*(number.denominator for number in given))
            whole = [number.numerator * (over // number.denominator) for number in given]
            for t, row in enumerate(component.rows):
                value = _dot(row, whole)
                if value:
                    found[first + t] = Fraction(value, over << BITS)
        first += len(component.members)
    return found


# The changes.


@dataclass(frozen=True)
class _Changed:
    """A block: its atoms, the bound on the squared L2 norm of its change, and the records that affect it."""

    atoms: list[Atom]
    change2: Fraction
    support: Support


def _blocks(s: Setting, infos: Sequence[Info], atoms: Iterable[Atom]) -> dict[Block, _Changed]:
    found: dict[Block, _Changed] = {}
    for atom in sorted(atoms):
        info = infos[atom[0]]
        row, support = _row_of(info, atom[1])
        block = (atom[0], row)
        if block not in found:
            change2 = s.largest(info.change2)
            need(
                change2 is not None, "a value that is released with correlated noise is not bounded (clip it)"
            )
            found[block] = _Changed([], change2 or Fraction(0), support or None)  # without records: unknown
        found[block].atoms.append(atom)
    return found


def _row_of(info: Info, place: int) -> tuple[int | None, Support]:
    """Return the row of an entry and its record, or None with the records of the whole step.

    If the record of a row is unknown, all rows are one block: one record still changes one row of it.
    """
    aligned = info.aligned
    while isinstance(aligned, tuple) and len(aligned) == 2:  # rows arranged in blocks, in the same order
        aligned = aligned[0]
    known = (
        isinstance(aligned, tuple)
        and len(aligned) == 3
        and all(type(n) is int for n in (aligned[0], aligned[2]))
    )
    extents = [n for n in info.shape[info.records :] if type(n) is int]
    if not info.records or not known or info.records + len(extents) < len(info.shape):
        return None, info.support
    row = place // prod(extents)
    record = aligned[0] + row * aligned[2]
    return row, ((record, record + 1, 1),)


def _affected(blocks: dict[Block, _Changed]) -> dict[tuple[Block, ...], Support]:
    """Return the sets of blocks that one record affects, with these records."""
    if not blocks:
        return {}
    places = _places(blocks.values())
    if places is None:
        return {tuple(blocks): None}
    found: dict[tuple[Block, ...], list[tuple[int, int, int]]] = {}
    for place in sorted(places):
        chosen = tuple(
            key for key, block in blocks.items() if any(place in one for one in _ranges(block.support) or ())
        )
        found.setdefault(chosen, []).append((place, place + 1, 1))
    return {chosen: tuple(support) for chosen, support in found.items()}


def _places(blocks: Iterable[_Changed]) -> set[int] | None:
    """Return all positions of records that affect a block, or None if they are unknown or too many."""
    found: set[int] = set()
    for block in blocks:
        ranges = _ranges(block.support)
        if ranges is None or sum(map(len, ranges)) > MAX_PLACES:
            return None
        found = found.union(*ranges)
    return found if len(found) <= MAX_PLACES else None


def _ranges(support: Support) -> list[range] | None:
    if support is None or not all(type(n) is int for part in support for n in part):
        return None
    return [range(*part) for part in support]  # type: ignore[arg-type]


def _largest(form: _Form, blocks: Sequence[_Changed]) -> Fraction:
    """Return a bound on the form over all changes of the blocks within their norms."""
    found = Fraction(0)
    for k, one in enumerate(blocks):
        found += _spectral(form, one.atoms, one.atoms) * one.change2
        for other in blocks[:k]:
            found += 2 * _spectral(form, one.atoms, other.atoms) * upper_root(one.change2 * other.change2)
    return found


def _spectral(form: _Form, left: Sequence[Atom], right: Sequence[Atom]) -> Fraction:
    """Return a bound on the spectral norm of the matrix of the form between two blocks."""
    table = [[abs(form.entry(a, b)) for b in right] for a in left]
    rows = max(sum(row) for row in table)
    columns = max(sum(column) for column in zip(*table, strict=True))
    return Fraction(rows) if rows == columns else upper_root(Fraction(rows) * Fraction(columns))
