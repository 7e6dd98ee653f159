"""Follow ``np.einsum`` and ``np.histogram2d`` of records, as products of rows and sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.prover.values.matrices import index, matmul
from dpaudit.prover.values.numpy_rules import as_float_rule, histogram_rule, reduction_rule
from dpaudit.prover.values.operations import binary, content
from dpaudit.prover.values.run import Run, exact
from dpaudit.prover.values.values import Array, Private, Transposed

__all__ = ["einsum_rule", "histogram2d_rule"]


def einsum_rule(run: Run, subscripts: Any, operands: tuple[Any, ...]) -> Any:
    """Follow ``np.einsum`` of one or two operands, whose axes keep their order, or of ``ni,nj->ij``."""
    spec = subscripts.replace(" ", "") if isinstance(subscripts, str) else ""
    inputs, arrow, out = spec.partition("->")
    terms = inputs.split(",")
    every = sorted(set(inputs.replace(",", "")), key=inputs.replace(",", "").index)
    plain = arrow and len(terms) == len(operands) <= 2 and all(len(set(t)) == len(t) for t in [*terms, out])
    if not plain or not all(letter.isalpha() for letter in every) or not set(out) <= set(every):
        run.refuse("np.einsum of private values requires one or two operands and a form such as 'n,ni->i'")
    values = [content(one) for one in operands]
    if any(not isinstance(one, Private | np.ndarray) for one in values):
        run.refuse("np.einsum of private values requires arrays of private values or constants")
    if any(len(one.shape) != len(term) for one, term in zip(values, terms, strict=True)):
        run.refuse("the subscripts of np.einsum do not match the axes")
    if len(terms) == 2 and all(len(term) == 2 for term in terms):
        (a, i), (b, j) = (tuple(term) for term in terms)
        if a == b and out == i + j and i != j and all(isinstance(one, Private) for one in values):
            return matmul(run, Array(Transposed(values[0])), Array(values[1]))
    if [letter for letter in every if letter in out] != list(out):
        run.refuse("np.einsum of private values must keep the order of the axes")
    for term in terms:
        if [letter for letter in every if letter in term] != list(term):
            run.refuse("np.einsum of private values must keep the order of the axes")
    parts = [
        index(run, Array(one), tuple(slice(None) if letter in term else None for letter in every))
        if len(term) < len(every)
        else Array(one)
        for one, term in zip(values, terms, strict=True)
    ]
    product = parts[0] if len(parts) == 1 else binary(run, "mul", *parts)
    if run.lift(product).info.kind != "f":
        run.refuse("np.einsum of private values requires floats (convert integers and Booleans)")
    axes = tuple(k for k, letter in enumerate(every) if letter not in out)
    return reduction_rule("sum")(run, product, axes) if axes else product


def histogram2d_rule(run: Run, x: Any, y: Any, bins: Any = 10, range: Any = None) -> Any:
    """Follow ``np.histogram2d`` with public edges: a record counts in the product of its bins."""
    values = [content(one) for one in (x, y)]
    both = list(bins) if isinstance(bins, list | tuple) else [bins, bins]
    spans = list(range) if isinstance(range, list | tuple) else [None, None]
    if len(both) != 2 or len(spans) != 2 or not all(isinstance(one, Private) for one in values):
        run.refuse("np.histogram2d of private values requires unfiltered columns, and public bins and ranges")
    hits, edges = [], []
    for value, own, span in zip(values, both, spans, strict=True):
        _, found = histogram_rule(run, Array(value), own, None if span is None else tuple(span))
        edges.append(found)
        params = {"edges": [str(exact(edge)) for edge in content(found).tolist()]}
        hits.append(as_float_rule(run, run.step("bins", [value], params)))
    if not all(one.info.records == 1 for one in hits):
        run.refuse("np.histogram2d of private values requires columns of the same records")
    cells = run.step("outer", hits)
    return (run.value(run.step("sum", [cells], {"axes": (0,)})), *edges)
