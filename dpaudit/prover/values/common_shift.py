"""Find the exact loss of outputs with Gaussian noise, whose decisions depend on earlier outputs.

The paths of a program (``symbolic_noise``) on two neighbours give its outputs G(z) and G'(z) as functions of
the noise z, which is linear on each path. All noise is Gaussian, with the scale sigma_i for z_i.

Theorem. Let s be a vector with G'(z + s) = G(z) for all z, and u_i = s_i / sigma_i. Suppose that the sum of
u_i z_i / sigma_i is a function of G(z), for almost all z. Then the outputs are as far apart as N(0, 1)
and N(|u|, 1), exactly, for every divergence.

Proof. Replace z by z - s: the output on the neighbour is G'(z) = G(z - s). Both outputs are the same function
G of normal vectors, N(0, Sigma) and N(-s, Sigma), so they are at most as far apart as these. Let h be the sum
of u_i z_i / sigma_i, which is a function of G(z). It is N(0, |u|^2) for z, and N(-|u|^2, |u|^2) for z - s. So
the outputs are at least as far apart as N(0, 1) and N(|u|, 1), and two normal vectors with a common
covariance are as far apart as that (Dong, Roth and Su 2022, Theorem 2.7). ∎

How the conditions are checked. The paths on both sides correspond one to one: each row and each output has
the same coefficients, and s makes the constants equal. So z is on a path if and only if z + s is on the other
one. For the last condition, the output must tell on which path z lies. The comparisons form a tree. At each
node, outputs that are the same form on all paths below are known numbers. The comparison must be a linear
combination of these, so that the outputs determine its answer. At a leaf, all outputs are forms, and h must
be a linear combination of these.

Numbers are floats, so equations hold up to a billionth of their largest number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dpaudit.prover.forms import Form
from dpaudit.prover.values.symbolic_noise import SymbolicPath

__all__ = ["common_shift"]

#: The largest relative difference that rounding explains.
EQUAL = 1e-9

Paths = Sequence[SymbolicPath]


def common_shift(here: Paths, there: Paths) -> float | None:
    """Return |u| of the module docstring, at least 0, or None if its conditions are not known to hold."""
    scales = _scales(here, there)
    if not scales or not _corresponding(here, there):
        return None
    forms = [pair for one, other in zip(here, there, strict=True) for pair in _pairs(one, other)]
    rows, gaps = _system(forms, scales)
    if not len(rows):
        return None
    shift = np.linalg.lstsq(rows, gaps, rcond=None)[0]
    if np.abs(rows @ shift - gaps).max() > EQUAL * np.abs(gaps).max():
        return None
    return float(np.linalg.norm(shift)) if _is_shown(here, 0, shift, scales) else None


def _scales(here: Paths, there: Paths) -> dict[str, float]:
    """Return the scale of each draw, or nothing unless all paths have the same Gaussian draws only."""
    first = here[0].noise
    if any(path.noise != first or path.picks for path in (*here, *there)):
        return {}
    if any(noise.law != "gaussian" for noise in first.values()):
        return {}
    return {name: float(noise.scale) for name, noise in first.items()}


def _corresponding(here: Paths, there: Paths) -> bool:
    """Return whether the paths have the same texts, and forms with the same coefficients."""
    if len(here) != len(there) or len({len(path.output) for path in (*here, *there)}) != 1:
        return False
    return all(
        len(one.rows) == len(other.rows)
        and [p for p in one.output if isinstance(p, str)] == [p for p in other.output if isinstance(p, str)]
        and all(a.terms == b.terms for a, b in _pairs(one, other))
        for one, other in zip(here, there, strict=True)
    )


def _pairs(one: SymbolicPath, other: SymbolicPath) -> Iterator[tuple[Form, Form]]:
    yield from zip(one.rows, other.rows, strict=True)
    for a, b in zip(one.output, other.output, strict=True):
        if isinstance(a, Form) and isinstance(b, Form):
            yield a, b


def _system(forms: Sequence[tuple[Form, Form]], scales: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the equations for u, each divided by the spread of its form."""
    rows, gaps = [], []
    for one, other in dict.fromkeys(forms):
        row = _row(one, scales)
        size = float(np.linalg.norm(row)) or 1.0
        rows.append(row / size)
        gaps.append(float(one.constant - other.constant) / size)
    return np.array(rows), np.array(gaps)


def _row(form: Form, scales: dict[str, float]) -> np.ndarray:
    return np.array([float(form.terms.get(name, 0)) * scale for name, scale in scales.items()])


def _is_shown(paths: Paths, depth: int, shift: np.ndarray, scales: dict[str, float]) -> bool:
    """Return whether the outputs determine the path among ``paths``, and there the combination ``shift``."""
    if len(paths) == 1:
        return _is_combination(shift, [p for p in paths[0].output if isinstance(p, Form)], scales)
    if any(len(path.rows) <= depth for path in paths):
        return False
    groups: dict[Form, list[SymbolicPath]] = {}
    for path in paths:
        groups.setdefault(path.rows[depth], []).append(path)
    if len(groups) != 2 or not all(a == b.times(Fraction(-1)) for a, b in pairwise(groups)):
        return False
    known = [
        p for p, *rest in zip(*(path.output for path in paths), strict=True) if all(p == q for q in rest)
    ]
    shown = [part for part in known if isinstance(part, Form)]
    if not _is_combination(_row(next(iter(groups)), scales), shown, scales):
        return False
    return all(_is_shown(group, depth + 1, shift, scales) for group in groups.values())


def _is_combination(row: np.ndarray, forms: Sequence[Form], scales: dict[str, float]) -> bool:
    """Return whether a row of coefficients is a linear combination of those of the forms.

    Rows are divided by their norms, because noise of a small scale hides as much as other noise.
    """
    if not forms:
        return False
    table = np.array([_row(form, scales) for form in forms]).T
    sizes = np.linalg.norm(table, axis=0)
    table = table / np.where(sizes > 0, sizes, 1.0)
    weights = np.linalg.lstsq(table, row, rcond=None)[0]
    return bool(np.linalg.norm(table @ weights - row) <= EQUAL * np.linalg.norm(row))
