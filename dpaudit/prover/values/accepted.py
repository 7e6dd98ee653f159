"""Register the functions and methods that a followed program may call, with their rules."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpaudit.core import exact
from dpaudit.prover.values import flips, products, vectors
from dpaudit.prover.values import numpy_rules as rules
from dpaudit.prover.values.functions import ACCEPTED, METHODS, Accepted, Rule, signature_of
from dpaudit.prover.values.matrices import shape_value
from dpaudit.prover.values.operations import (
    LATER,
    binary,
    content,
    unary,
)
from dpaudit.prover.values.values import (
    Array,
)

__all__ = ["ACCEPTED", "METHODS"]


def _register(
    names: str,
    rule: Rule | None = None,
    modelled: str = "",
    *,
    spec: str | None = None,
    noise: bool = False,
    shape: str = "",
    kind: str | None = None,
    home: Any = np,
    prefix: str = "np.",
) -> None:
    for name in names.split():
        function = home
        for part in name.split("."):
            function = getattr(function, part)
        found = Accepted(
            prefix + name,
            function,
            signature_of(function, spec),
            rule,
            tuple(modelled.split()),
            noise,
            shape,
            kind,
        )
        ACCEPTED[id(function)] = found


_register("absolute", flips.absolute_rule, "x1", shape="same", noise=True)
LATER["absolute"] = rules.elementwise_rule("abs")
for _name, _op in {"negative": "neg", "square": "square", "sign": "sign"}.items():
    _register(_name, rules.elementwise_rule(_op), "x1", shape="same")
for _name, _op in {
    "exp": "exp",
    "log": "log",
    "tanh": "tanh",
    "sin": "sin",
    "cos": "cos",
    "arctan": "arctan",
}.items():
    _register(_name, rules.floats_rule(_op), "x1", shape="same", kind="f")
for _name, _op in {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
}.items():
    _register(_name, rules.operator_rule(_op), "x1 x2", shape="same", noise=True)
for _name, _op in {
    "logical_and": "and",
    "logical_or": "or",
    "bitwise_and": "and",
    "bitwise_or": "or",
}.items():
    _register(_name, rules.operator_rule(_op), "x1 x2", shape="same")
_register("logical_not invert", rules.not_rule, "x1", shape="same")
_register("sqrt", rules.square_root_rule, "x1", shape="same", kind="f")
_register("power", lambda run, x1, x2: binary(run, "pow", x1, x2), "x1 x2")
_register("digitize", rules.digitize_rule, "x bins right")
_register("searchsorted", rules.searchsorted_rule, "a v side", spec="a, v, side='left', sorter=None")
_register("average", rules.average_rule, "a weights", shape="scalar", kind="f")
_register("maximum", rules.extreme_rule("maximum"), "x1 x2", shape="same")
_register("minimum", rules.extreme_rule("minimum"), "x1 x2", shape="same")
_register("floor", rules.rounding_rule("floor"), "x1", shape="same")
_register("trunc", rules.rounding_rule("trunc"), "x1", shape="same")
_register("rint", rules.rounding_rule("rint"), "x1", shape="same")
_register(
    "clip",
    rules.clip_rule,
    "a a_min a_max min max",
    spec="a, a_min=None, a_max=None, out=None, *, min=None, max=None, **kwargs",
    shape="same",
)
_register("where", rules.where_rule, "condition x y", spec="condition, x=None, y=None, /", noise=True)
_register("sum", rules.reduction_rule("sum"), "a axis keepdims dtype", shape="scalar")
_register("mean", rules.mean_rule, "a axis keepdims", shape="scalar", kind="f")
_register("max", rules.reduction_rule("max"), "a axis keepdims", shape="scalar")
_register("min", rules.reduction_rule("min"), "a axis keepdims", shape="scalar")
_register("any", rules.reduction_rule("any"), "a axis keepdims", shape="scalar", kind="b")
_register("all", rules.reduction_rule("all"), "a axis keepdims", shape="scalar", kind="b")
_register("count_nonzero", rules.count_nonzero_rule, "a axis", shape="scalar")
_register("linalg.norm", rules.norm_rule, "x ord axis keepdims", shape="scalar", kind="f")
_register("histogram", rules.histogram_rule, "a bins range")
_register("bincount", rules.bincount_rule, "x weights minlength", spec="x, /, weights=None, minlength=0")
_register(
    "array",
    rules.new_array_rule,
    "object dtype",
    spec="object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, like=None",
    shape="array",
    noise=True,
)
_register(
    "asarray",
    rules.shared_array_rule,
    "a dtype",
    spec="a, dtype=None, order=None, *, device=None, copy=None, like=None",
    shape="array",
    noise=True,
)
_register(
    "stack",
    rules.stack_rule,
    "arrays axis",
    spec="arrays, axis=0, out=None, *, dtype=None, casting='same_kind'",
    shape="array",
)
_register("column_stack", rules.column_stack_rule, "tup")
_register("hstack", rules.hstack_rule, "tup")
_register("round", rules.np_round_rule, "a decimals", shape="same")
_register("sort", rules.sorted_vector_rule, "a axis", shape="same")
_register("cumsum", rules.cumsum_rule, "a axis")
_register("quantile", rules.quantile_rule, "a q axis")
_register("percentile", rules.percentile_rule, "a q axis")
_register("median", rules.median_rule, "a axis", shape="scalar", kind="f")
_register("var", rules.var_rule, "a axis ddof", shape="scalar", kind="f")
_register("argmax", rules.place_of_rule(True), "a axis", shape="scalar", noise=True)
_register("argmin", rules.place_of_rule(False), "a axis", shape="scalar", noise=True)
_register("argsort", rules.argsort_rule, "a", noise=True, shape="same", kind="i")
_register(
    "reshape",
    rules.reshape_rule,
    "a shape",
    spec="a, /, shape=None, order='C', *, newshape=None, copy=None",
)
_register("ravel", rules.ravel_rule, "a")
_register("copy", rules.copied_rule, "a", shape="same", noise=True)
_register("dot", rules.dot_rule, "a b", spec="a, b, out=None")
_register("zeros_like", rules.like_rule(0), "a")
_register("ones_like", rules.like_rule(1), "a")
_register("shape", lambda run, a: shape_value(run, a), "a")
_register("size", rules.size_rule, "a")
# Functions of outcomes and plain values only.
_register(
    "arange linspace zeros ones full eye identity tril triu diag cumprod prod diff std ptp"
    " vstack tile repeat flip roll cross trace log1p expm1 log2 log10 cbrt sinh cosh tan arcsin arccos"
    " mod remainder floor_divide ceil isfinite isnan nan_to_num linalg.cholesky"
    " linalg.det linalg.lstsq linalg.svd linalg.eigvalsh linalg.qr linalg.matrix_rank linalg.slogdet"
    " linalg.eigh histogram_bin_edges unique argpartition squeeze expand_dims swapaxes"
    " transpose broadcast_to atleast_1d atleast_2d allclose array_equal meshgrid geomspace logspace interp"
    " convolve kron hypot arctan2 float_power fabs deg2rad exp2",
    spec="*arguments, **options",
)
_register("einsum", products.einsum_rule, "subscripts operands", spec="subscripts, *operands, **options")
_register(
    "histogram2d",
    products.histogram2d_rule,
    "x y bins range",
    spec="x, y, bins=10, range=None, density=None, weights=None",
)
_register("outer", vectors.outer_rule, "a b", spec="a, b, out=None")
_register(
    "concatenate",
    vectors.concatenate_rule,
    "arrays axis",
    spec="arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'",
)
_register("linalg.inv linalg.pinv linalg.solve", spec="*arguments, **options", shape="square", kind="f")
_register("float64 int64 bool_", spec="*arguments", shape="number")

_of_math = partial(_register, home=math, prefix="math.", shape="number")
_of_math(
    "sqrt exp log floor ceil tanh sin cos atan fabs trunc isfinite comb factorial erf erfc log1p expm1 log2"
    " log10 pow hypot gcd isqrt lgamma gamma isclose perm dist prod fsum tan asin acos sinh cosh atan2"
    " copysign",
    spec="*arguments",
)
for _name in ("sqrt", "exp", "tanh", "sin", "cos"):
    _of_math(_name, rules.math_rule(_name), "x", spec="x, /", kind="f")
_of_math("atan", rules.math_rule("arctan"), "x", spec="x, /", kind="f")
_of_math("log", rules.math_rule("log"), "x", spec="x, base=None, /", kind="f")
for _name in ("floor", "trunc"):
    _of_math(_name, rules.math_rounding_rule(_name), "x", spec="x, /", kind="i")
_of_math("fabs", rules.math_fabs_rule, "x", spec="x, /", kind="f")

_of_python = partial(_register, home=builtins, prefix="")
_of_python("float", rules.python_number_rule("f"), "x", spec="x=0, /", shape="number", kind="f", noise=True)
_of_python("int", rules.python_number_rule("i"), "x", spec="x=0, /", shape="number", kind="i")
_of_python("abs", lambda run, x: unary(run, "abs", x), "x", spec="x, /", shape="same", noise=True)
_of_python("round", rules.python_round_rule, "number ndigits", spec="number, ndigits=None", shape="number")
_of_python("divmod pow ord chr bin hex", spec="*arguments")


#: Exact numbers from plain ones. They raise for other arguments, which no handler can catch (``exceptions``).
_register("exact positive probability", home=exact, prefix="dpaudit.core.exact.")
#: In the model of real numbers, the exact value of a private float is the float itself.
_register("dyadic", rules.dyadic_rule, "value", home=exact, prefix="dpaudit.core.exact.", shape="number")


def _caller(name: str) -> Callable[..., Any]:
    def call(a: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(a, name)(*arguments, **options)

    return call


#: Methods that share the rule of a numpy function under another signature.
for _name, _spec in {
    "mean": "a, axis=None, dtype=None, out=None, keepdims=False, *, where=True",
    "max": "a, axis=None, out=None, keepdims=False, initial=None, where=True",
    "min": "a, axis=None, out=None, keepdims=False, initial=None, where=True",
    "any": "a, axis=None, out=None, keepdims=False, *, where=True",
    "all": "a, axis=None, out=None, keepdims=False, *, where=True",
    "cumsum": "a, axis=None, dtype=None, out=None",
    "var": "a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True",
    "argmax": "a, axis=None, out=None, *, keepdims=False",
    "argmin": "a, axis=None, out=None, *, keepdims=False",
    "argsort": "a, axis=-1, kind=None, order=None, *, stable=None",
    "round": "a, decimals=0, out=None",
    "ravel": "a, order='C'",
    "copy": "a, order='C'",
    "dot": "a, b, out=None",
    "trace": "a",
    "squeeze": "a, axis=None",
    "cumprod": "a, axis=None",
    "ptp": "a, axis=None",
}.items():
    METHODS[_name] = replace(
        ACCEPTED[id(getattr(np, _name))],
        name=_name,
        function=_caller(_name),
        signature=signature_of(None, _spec),
    )
#: Methods with specific parameters or results.
for _name, _spec, _rule, _modelled, _shape in (
    (
        "sum",
        "a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True",
        rules.reduction_rule("sum"),
        "a axis keepdims",
        "scalar",
    ),
    ("clip", "a, min=None, max=None, out=None, **kwargs", rules.clip_rule, "a min max", "same"),
    (
        "astype",
        "a, dtype, order='K', casting='unsafe', subok=True, copy=True",
        rules.astype_rule,
        "a dtype",
        "same",
    ),
    ("reshape", "a, *shape, order='C', copy=None", rules.method_reshape_rule, "a shape", ""),
    ("flatten", "a, order='C'", lambda run, a: Array(content(rules.ravel_rule(run, a))), "a", ""),
    ("tolist", "a", rules.list_rule, "a", ""),
    ("item", "a, *place", rules.item_rule, "a", "scalar"),
    ("std", "a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True", None, "", "scalar"),
    (
        "prod",
        "a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True",
        None,
        "",
        "scalar",
    ),
    ("conj", "a", None, "", "same"),
    ("nonzero", "a", None, "", ""),
):
    METHODS[_name] = Accepted(
        _name, _caller(_name), signature_of(None, _spec), _rule, tuple(_modelled.split()), shape=_shape
    )
