"""An interpreter of the Python that people write mechanisms in.

It runs the syntax tree of the unmodified function. Names are found where Python finds them, and what they
hold is let in by exact type: numbers, text, plain containers and arrays, followed functions, and the
functions of ``functions.ACCEPTED`` by identity. Private values are never handed to other code, so there is
nothing that a program could do with them but what has a rule. Statements and expressions that are not listed
here are refused.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpaudit.kernel.values.polynomials import Poly
from dpaudit.private_values.functions import ACCEPTED, METHODS, Accepted, call_accepted
from dpaudit.private_values.matrices import index, shape_value
from dpaudit.private_values.operations import (
    _holds_noise,
    _settled,
    binary,
    content,
    expression_of,
    function_of,
    is_plain,
    public_of,
    seen,
    shape_of,
    show,
    symbols_in,
    truth,
    unary,
)
from dpaudit.private_values.randomness import (
    DISTRIBUTIONS,
    GENERATOR,
    call_coins,
    call_generator,
    generator_of,
    make_distribution,
)
from dpaudit.private_values.run import ProgramRaisedError, Run, text_of
from dpaudit.private_values.sources import Source, source_of
from dpaudit.private_values.values import (
    Array,
    Coins,
    Draw,
    Entries,
    Filtered,
    Generator,
    Named,
    Noisy,
    Private,
    Public,
    Ranked,
    Symbol,
    Transposed,
)

__all__ = ["Interpreter"]

MAX_DEPTH = 60

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
CONTAINERS = (list, tuple, dict, str, range)


class _Left(Exception):
    """A return, break or continue on its way out."""

    def __init__(self, kind: str, value: Any = None) -> None:
        super().__init__(kind)
        self.kind, self.value = kind, value


@dataclass(eq=False)
class Scope:
    """Local names of one call; ``outer``: the scope that the function was made in."""

    names: dict[str, Any]
    local: frozenset[str]
    outer: Scope | None
    function: Function
    nonlocal_: frozenset[str] = frozenset()


@dataclass(eq=False)
class Function(Symbol):
    """A followed function: its tree, where its names are looked up, and its default values."""

    source: Source
    outer: Scope | None
    real: FunctionType | None
    globals: dict[str, Any]
    defaults: tuple[Any, ...] = ()
    kw_defaults: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Bound(Symbol):
    """A method of a value."""

    value: Any
    name: str


@dataclass(frozen=True, eq=False)
class DictView(Symbol):
    """``d.keys()``, ``d.values()`` or ``d.items()``: it shows what the dict holds when it is looked at."""

    table: dict[Any, Any]
    kind: str


@dataclass(frozen=True, eq=False)
class Lazy(Symbol):
    """An iterator: of a generator expression, ``zip``, ``enumerate`` and the like."""

    items: Iterator[Any]


def _special() -> dict[int, str]:
    """Builtins and numpy objects that the interpreter treats itself, by identity."""
    names = (
        "all any bool dict enumerate filter isinstance list map max min print range reversed set sorted str"
        " sum tuple type zip frozenset len"
    )
    table = {id(getattr(builtins, name)): name for name in names.split()}
    table |= {id(np): "numpy", id(np.random): "numpy.random", id(np.linalg): "numpy.linalg", id(math): "math"}
    table |= {id(np.random.default_rng): "default_rng", id(np.ndarray): "ndarray", id(Fraction): "Fraction"}
    for name in GENERATOR:
        if hasattr(np.random, name):
            table[id(getattr(np.random, name))] = f"random.{name}"
    return table


SPECIAL = _special()
#: The objects above, kept so that no other object can have the same identity.
_KEPT = [np, np.random, np.linalg, math, Fraction, *(getattr(np.random, name, None) for name in GENERATOR)]
#: Legacy functions of numpy.random are bound methods that are made at each look-up; these are numpy's own.
ERRORS = tuple(
    error for error in vars(builtins).values() if isinstance(error, type) and issubclass(error, Exception)
)


class Interpreter:
    """Runs one function on one run (one path)."""

    def __init__(self, run: Run, files: frozenset[str]) -> None:
        self.run, self.files = run, files
        self.frozen: dict[int, Any] = {}  # containers from outside: they are not changed
        self.kept: list[Any] = []
        self.imports: dict[int, Any] = {}
        self.yielded: list[Any] = []
        self.depth = 0

    # Entering.

    def function(self, real: FunctionType) -> Function:
        """A Python function of a followed file."""
        if real.__code__.co_filename not in self.files:
            self.run.refuse(f"{real.__qualname__} is in another file (say files=[...] to follow it)")
        if real.__dict__:
            self.run.refuse(f"{real.__qualname__} has attributes")
        if real.__code__.co_flags & 0x280:  # coroutine, asynchronous generator
            self.run.refuse(f"{real.__qualname__} is asynchronous")
        source = source_of(real)
        defaults = tuple(
            self.enter(value, f"a default of {real.__qualname__}") for value in real.__defaults__ or ()
        )
        named = {
            name: self.enter(value, f"the default of {name}")
            for name, value in (real.__kwdefaults__ or {}).items()
        }
        return Function(source, None, real, real.__globals__, defaults, named)

    def enter(self, value: Any, what: str) -> Any:
        """Let in an object that the program names: by exact type, or by identity."""
        run, kind = self.run, type(value)
        if (
            value is None
            or value is Ellipsis
            or kind in (int, float, bool, str, bytes, Fraction, range, slice)
        ):
            return value
        if id(value) in self.imports:
            return self.imports[id(value)]
        if kind in (np.bool_, np.int64, np.float64):
            return value
        if kind is np.ndarray:
            if value.dtype.kind not in "bif":
                run.refuse(f"{what} is an array of type {value.dtype}")
            return self._remember(value, Array(value, shared=True))
        if kind in (list, tuple, dict):
            return self._container(value, what)
        if kind in (set, frozenset) and all(type(item) in (int, float, bool, str) for item in value):
            return value
        if id(value) in SPECIAL:
            return Named(SPECIAL[id(value)], value)
        if id(value) in ACCEPTED and ACCEPTED[id(value)].function is value:
            return ACCEPTED[id(value)]
        if kind is FunctionType:
            return self._remember(value, self.function(value))
        if isinstance(value, type) and value in DISTRIBUTIONS:
            return Named("distribution", value)
        if type(value) in DISTRIBUTIONS:
            [(name, number)] = value.parameters().items()
            return make_distribution(run, type(value), [], {name: number})
        if isinstance(value, type) and value in ERRORS:
            return Named("error", value)
        if kind is MethodType and isinstance(value.__self__, np.random.RandomState):
            return Named(f"random.{value.__name__}", value)
        if isinstance(value, np.random.Generator | np.random.RandomState):
            run.refuse(
                f"{what} is a random generator that outlives the run (make one inside, or take it as an"
                " argument)"
            )
        if kind in (ModuleType, BuiltinFunctionType, FunctionType) or callable(value):
            run.refuse(f"{what} is {_name_of(value)}, which is not followed")
        return run.refuse(f"{what} is a {kind.__name__}, which may change or hide something")

    def _remember(self, outside: Any, inside: Any) -> Any:
        self.imports[id(outside)] = inside
        self.kept.append(outside)
        return inside

    def _container(self, value: Any, what: str) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.run.refuse(f"{what} is nested too deeply")
        if type(value) is dict:
            if not all(type(key) in (int, str, bool, float) or _plain_tuple(key) for key in value):
                self.run.refuse(f"{what} has keys that are no numbers or text")
            found: Any = {}
            self._remember(value, found)
            found.update({key: self.enter(item, what) for key, item in value.items()})
        elif type(value) is list:
            found = []
            self._remember(value, found)
            found.extend(self.enter(item, what) for item in value)
        else:
            found = tuple(self.enter(item, what) for item in value)
        self.depth -= 1
        self.frozen[id(found)] = found
        return found

    # Calls.

    def call(self, function: Any, arguments: Sequence[Any], options: dict[str, Any], node: ast.AST) -> Any:
        self.run.tick()
        inner = content(function)
        arguments = list(arguments)
        if isinstance(inner, Function):
            return self.call_function(inner, arguments, options)
        if isinstance(inner, Accepted):
            return call_accepted(self.run, inner, [self._listed(a) for a in arguments], options)
        if isinstance(inner, Bound):
            return self._method(inner.value, inner.name, arguments, options)
        if isinstance(inner, Named):
            return self._named(inner, arguments, options)
        return self.run.refuse(f"{_name_of(inner)} is called")

    def _listed(self, value: Any) -> Any:
        inner = content(value)
        if isinstance(inner, Lazy | DictView):
            self.run.refuse("an iterator is handed to a function (write a list)")
        return value

    def call_function(self, function: Function, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Run a followed function."""
        node = function.source.node
        if self.depth > MAX_DEPTH:
            self.run.refuse(f"more than {MAX_DEPTH} calls inside each other")
        if _has_yield(node):
            self.run.refuse("a generator function is called (return a list)")
        names = self._bind(function, node, arguments, options)
        scope = self._scope(function, node, names)
        self.depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return self.evaluate(node.body, scope)
            self.block(node.body, scope)
            return None
        except _Left as left:
            return left.value
        finally:
            self.depth -= 1

    def run_program(self, function: Function, arguments: list[Any], fixed: dict[str, Any]) -> Any:
        """Run the program under proof, and show what it returns or yields; return it."""
        node = function.source.node
        names = self._bind(function, node, arguments, fixed)
        scope = self._scope(function, node, names)
        try:
            if isinstance(node, ast.Lambda):
                result = self.evaluate(node.body, scope)
            else:
                self.block(node.body, scope)
                result = None
        except _Left as left:
            result = left.value
        if _has_yield(node):
            if result is not None:  # the value of StopIteration
                show(self.run, self._finished(result))
            return self.yielded
        show(self.run, self._finished(result))
        return result

    def _finished(self, value: Any) -> Any:
        if isinstance(content(value), Lazy | DictView):
            self.run.refuse("an iterator or a view of a dict is kept or returned (write list(...))")
        return value

    def _bind(
        self, function: Function, node: Any, arguments: list[Any], options: dict[str, Any]
    ) -> dict[str, Any]:
        spec = node.args
        positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        only = {a.arg for a in spec.posonlyargs}
        names: dict[str, Any] = dict(zip(positional, arguments, strict=False))
        extra = arguments[len(positional) :]
        if spec.vararg is not None:
            names[spec.vararg.arg] = tuple(extra)
        elif extra:
            self._raises(TypeError(f"{function.source.name} takes {len(positional)} arguments"))
        rest: dict[str, Any] = {}
        for name, value in options.items():
            known = (name in positional and name not in only) or name in [a.arg for a in spec.kwonlyargs]
            taken = known and name in names
            if taken or name in rest or (not known and spec.kwarg is None):
                self._raises(TypeError(f"{function.source.name} got an unexpected argument {name!r}"))
            (names if known else rest)[name] = value
        if spec.kwarg is not None:
            names[spec.kwarg.arg] = rest
        for name, value in zip(reversed(positional), reversed(function.defaults), strict=False):
            names.setdefault(name, value)
        for a in spec.kwonlyargs:
            if a.arg in function.kw_defaults:
                names.setdefault(a.arg, function.kw_defaults[a.arg])
        missing = [name for name in (*positional, *(a.arg for a in spec.kwonlyargs)) if name not in names]
        if missing:
            self._raises(TypeError(f"{function.source.name} misses the argument {missing[0]!r}"))
        return names

    def _scope(self, function: Function, node: Any, names: dict[str, Any]) -> Scope:
        local, nonlocal_ = _assigned(node)
        return Scope(names, local | set(names), function.outer, function, nonlocal_)

    def _raises(self, error: Exception) -> Any:
        """Refuse a program that raises without a raise statement: a path must not end by our reading
        alone."""
        return self.run.refuse(f"the program raises {type(error).__name__}: {error}")

    # Names.

    def lookup(self, name: str, scope: Scope) -> Any:
        here: Scope | None = scope
        while here is not None:
            if name in here.local and name not in here.nonlocal_:
                if name not in here.names:
                    self.run.refuse(f"the name {name!r} is used before it has a value")
                return here.names[name]
            if here.outer is None:
                break
            here = here.outer
        real = (here or scope).function.real
        if real is not None and name in real.__code__.co_freevars:
            cell = (real.__closure__ or ())[real.__code__.co_freevars.index(name)]
            try:
                value = cell.cell_contents
            except ValueError:
                return self.run.refuse(f"the enclosing name {name!r} has no value")
            return self.enter(value, f"the enclosing name {name!r}")
        return self._global(name, (here or scope).function)

    def _global(self, name: str, function: Function) -> Any:
        if name.startswith("__"):
            self.run.refuse(f"the name {name!r} is used")
        if name in function.globals:
            return self.enter(function.globals[name], f"the global name {name!r}")
        around = function.globals.get("__builtins__", builtins)
        table = vars(around) if isinstance(around, ModuleType) else around
        if type(table) is dict and name in table:
            return self.enter(table[name], f"the builtin {name!r}")
        return self._raises(NameError(f"name {name!r} is not defined"))

    def assign(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            self._store(target.id, value, scope)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value, scope)
        elif isinstance(target, ast.Subscript):
            self._set_item(self.evaluate(target.value, scope), self.evaluate(target.slice, scope), value)
        else:
            self.run.refuse(f"an assignment to {ast.unparse(target)}")

    def _store(self, name: str, value: Any, scope: Scope) -> None:
        if isinstance(content(value), Lazy):
            self.run.refuse("an iterator is kept under a name (write a list)")
        here = scope
        while name in here.nonlocal_ or name not in here.local:
            if here.outer is None:
                self.run.refuse(f"the name {name!r} of an enclosing function that has ended is assigned")
            here = here.outer
        here.names[name] = value

    def _unpack(self, target: ast.Tuple | ast.List, value: Any, scope: Scope) -> None:
        items = list(self.iterate(value))
        stars = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        if stars:
            place, after = stars[0], len(target.elts) - stars[0] - 1
            if len(items) < len(target.elts) - 1:
                self._raises(ValueError("not enough values to unpack"))
            middle = items[place : len(items) - after]
            items = [*items[:place], middle, *items[len(items) - after :]]
        if len(items) != len(target.elts):
            self._raises(ValueError(f"expected {len(target.elts)} values to unpack, got {len(items)}"))
        for part, item in zip(target.elts, items, strict=True):
            self.assign(part.value if isinstance(part, ast.Starred) else part, item, scope)

    # Changes in place.

    def _set_item(self, place: Any, key: Any, value: Any) -> None:
        inner = content(place)
        if id(inner) in self.frozen:
            self.run.refuse("the data, or a list or dict from outside the function, is changed")
        if isinstance(inner, list | dict):
            key = content(key)
            if (
                isinstance(key, Symbol)
                or not _key(key)
                or (isinstance(inner, list) and type(key) not in (int, np.int64))
            ):
                self.run.refuse(
                    "an entry is assigned at a place that is private or an outcome, or to a slice"
                )
            if isinstance(inner, list) and not -len(inner) <= key < len(inner):
                self._raises(IndexError("list assignment index out of range"))
            inner[key] = value
            return
        if isinstance(place, Array):
            self._set_entry(place, key, value)
            return
        self.run.refuse("entries of such a value are assigned")

    def _set_entry(self, place: Array, key: Any, value: Any) -> None:
        inner, key = place.content, content(key)
        if place.shared:
            self.run.refuse("an array that others may share, or that came from outside, is changed in place")
        if isinstance(inner, Private | Filtered | Transposed):
            self.run.refuse("entries of a private array are assigned (build a new array: np.where, np.array)")
        if isinstance(inner, Noisy | Draw):
            inner = place.content = content(seen(self.run, place))
        key, value = (
            seen(self.run, one) if _holds_noise(one) and not isinstance(inner, np.ndarray) else one
            for one in (key, value)
        )
        key = content(key)
        if isinstance(inner, np.ndarray) and is_plain(key) and is_plain(value):

            def put(array: Any, k: Any, v: Any) -> None:
                array[k] = v

            self.run.plain(put, inner, key, content(value))
            return
        symbols = symbols_in([key, value])
        if isinstance(inner, Public) and all(isinstance(symbol, Public) for symbol in symbols):
            place.content = self._changed_outcome(inner, key, value)
            return
        if isinstance(inner, Public):
            inner = self._entries_of_public(inner)
        if isinstance(inner, np.ndarray):
            if inner.ndim != 1 or inner.dtype not in (np.float64, np.int64):
                self.run.refuse("an entry of an array of several axes (or of another type) is assigned")
            inner = Entries(list(inner), inner.dtype.kind)
        if not isinstance(inner, Entries) or type(key) not in (int, np.int64):
            self.run.refuse("entries are assigned at a place that is no constant")
        if not -len(inner.items) <= key < len(inner.items):
            self._raises(IndexError("index out of bounds"))
        if shape_of(value) != () or isinstance(content(value), Filtered):
            self.run.refuse("an entry is assigned what is not one number")
        if inner.kind == "i" and _kind_of(value) != "i":
            self.run.refuse("a float is assigned to an entry of a whole number array (it would be cut)")
        inner.items[int(key)] = value
        place.content = inner

    def _changed_outcome(self, inner: Public, key: Any, value: Any) -> Any:
        """An array of outcomes with some entries replaced by outcomes: again an outcome."""

        def changed(array: Any, k: Any, v: Any) -> Any:
            copy = np.array(array)
            copy[k] = v
            return copy

        place = Array(key) if isinstance(key, np.ndarray | Public) else key
        return content(
            function_of(
                self.run, "put", changed, Array(inner), place, value, shape=inner.shape, kind=inner.kind
            )
        )

    def _entries_of_public(self, inner: Public) -> Entries:
        if (
            inner.shape is None
            or len(inner.shape) != 1
            or not isinstance(inner.shape[0], int)
            or inner.kind != "f"
        ):
            self.run.refuse("an entry of an outcome of unknown shape is assigned")
        return Entries([index(self.run, Array(inner), k) for k in range(inner.shape[0])], "f")

    def _in_place(self, op: str, place: Any, other: Any) -> Any:
        """``x += other``: numbers are replaced, arrays are changed where they are."""
        inner = content(place)
        if isinstance(inner, list):
            if op != "add" or id(inner) in self.frozen:
                self.run.refuse("a list is changed by an operator other than +=, or came from outside")
            inner.extend(self.iterate(other))
            return inner
        if not isinstance(place, Array):
            if isinstance(inner, Public) and inner.shape is None:
                self.run.refuse("an outcome of unknown shape is changed in place (write x = x + ...)")
            return binary(self.run, op, place, other)
        if place.shared or isinstance(inner, Filtered | Transposed | Ranked):
            self.run.refuse("an array that others may share is changed in place (write x = x + ...)")
        before, kind = shape_of(place), _kind_of(place)
        found = binary(self.run, op, Array(inner), other)
        if shape_of(found) != before or (_kind_of(found) != kind):
            self.run.refuse("an operation in place changes shape or type")
        place.content = content(found)
        return place

    # Statements.

    def block(self, statements: Sequence[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self.run.tick()
            self._at(statement, scope)
            handler = getattr(self, f"_do_{type(statement).__name__}", None)
            if handler is None:
                self.run.refuse(
                    f"{_STATEMENTS.get(type(statement), type(statement).__name__)} is not followed"
                )
            handler(statement, scope)

    def _at(self, node: Any, scope: Scope) -> None:
        name = scope.function.source.filename.rpartition("/")[2]
        self.run.where = f"{name}:{node.lineno}"

    def _do_Pass(self, node: ast.Pass, scope: Scope) -> None:
        """Nothing happens."""

    def _do_Expr(self, node: ast.Expr, scope: Scope) -> None:
        if isinstance(node.value, ast.Yield):
            value = (
                None if node.value.value is None else self._finished(self.evaluate(node.value.value, scope))
            )
            self.yielded.append(value)
            show(self.run, value)
            return
        self.evaluate(node.value, scope)

    def _do_Assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.evaluate(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def _do_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, scope), scope)

    def _do_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        op = OPERATORS.get(type(node.op)) or self.run.refuse(f"the operator {type(node.op).__name__}")
        if isinstance(node.target, ast.Name):
            old = self.lookup(node.target.id, scope)
            self._store(node.target.id, self._in_place(op, old, self.evaluate(node.value, scope)), scope)
        elif isinstance(node.target, ast.Subscript):
            place, key = self.evaluate(node.target.value, scope), self.evaluate(node.target.slice, scope)
            old = self.item(place, key)
            if isinstance(old, Array):
                old.shared = old.shared or isinstance(content(place), np.ndarray)
            self._set_item(place, key, self._in_place(op, old, self.evaluate(node.value, scope)))
        else:
            self.run.refuse(f"an assignment to {ast.unparse(node.target)}")

    def _do_Return(self, node: ast.Return, scope: Scope) -> None:
        raise _Left("return", None if node.value is None else self.evaluate(node.value, scope))

    def _do_Break(self, node: ast.Break, scope: Scope) -> None:
        raise _Left("break")

    def _do_Continue(self, node: ast.Continue, scope: Scope) -> None:
        raise _Left("continue")

    def _do_If(self, node: ast.If, scope: Scope) -> None:
        self.block(node.body if truth(self.run, self.evaluate(node.test, scope)) else node.orelse, scope)

    def _do_While(self, node: ast.While, scope: Scope) -> None:
        while truth(self.run, self.evaluate(node.test, scope)):
            if self._once(node.body, scope):
                return
        self.block(node.orelse, scope)

    def _do_For(self, node: ast.For, scope: Scope) -> None:
        for item in self.iterate(self.evaluate(node.iter, scope)):
            self.assign(node.target, item, scope)
            if self._once(node.body, scope):
                return
        self.block(node.orelse, scope)

    def _once(self, body: Sequence[ast.stmt], scope: Scope) -> bool:
        """One turn of a loop; whether a break ends it."""
        try:
            self.block(body, scope)
        except _Left as left:
            if left.kind == "return":
                raise
            return left.kind == "break"
        return False

    def _do_FunctionDef(self, node: ast.FunctionDef, scope: Scope) -> None:
        if node.decorator_list:
            self.run.refuse("a decorated function inside the program")
        self._store(node.name, self._made(node, scope), scope)

    def _made(self, node: Any, scope: Scope) -> Function:
        defaults = tuple(self.evaluate(value, scope) for value in node.args.defaults)
        named = {
            a.arg: self.evaluate(value, scope)
            for a, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if value is not None
        }
        source = Source(node, scope.function.source.filename)
        return Function(source, scope, scope.function.real, scope.function.globals, defaults, named)

    def _do_Nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        if scope.outer is None:
            self.run.refuse("nonlocal changes what outlives the run")

    def _do_Assert(self, node: ast.Assert, scope: Scope) -> None:
        if not truth(self.run, self.evaluate(node.test, scope)):
            message = () if node.msg is None else (self._text(self.evaluate(node.msg, scope)),)
            raise ProgramRaisedError(AssertionError(*message))

    def _do_Raise(self, node: ast.Raise, scope: Scope) -> None:
        if node.exc is None or node.cause is not None:
            self.run.refuse("raise without an exception, or with a cause")
        value = self.evaluate(node.exc, scope)
        inner = content(value)
        error = inner.real if isinstance(inner, Named) and inner.name == "error" else None
        if isinstance(inner, Raised):
            raise ProgramRaisedError(inner.error)
        if error is None:
            self.run.refuse("what is raised is no exception of Python with plain arguments")
        raise ProgramRaisedError(error())

    def _do_Delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name) or target.id not in scope.names:
                self.run.refuse("del of what is no local name")
            del scope.names[target.id]

    # Expressions.

    def evaluate(self, node: ast.expr, scope: Scope) -> Any:
        handler = getattr(self, f"_of_{type(node).__name__}", None)
        if handler is None:
            self.run.refuse(f"the expression {type(node).__name__} is not followed")
        return handler(node, scope)

    def _of_Constant(self, node: ast.Constant, scope: Scope) -> Any:
        if isinstance(node.value, complex):
            self.run.refuse("a complex number")
        return node.value

    def _of_Name(self, node: ast.Name, scope: Scope) -> Any:
        return self.lookup(node.id, scope)

    def _of_Tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self._parts(node.elts, scope))

    def _of_List(self, node: ast.List, scope: Scope) -> Any:
        return self._parts(node.elts, scope)

    def _parts(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found.extend(self.iterate(self.evaluate(node.value, scope)))
            else:
                found.append(self._finished(self.evaluate(node, scope)))
        return found

    def _of_Set(self, node: ast.Set, scope: Scope) -> Any:
        items = self._parts(node.elts, scope)
        if not all(_key(item) for item in items):
            self.run.refuse("a set of what are no plain numbers or text")
        return set(items)

    def _of_Dict(self, node: ast.Dict, scope: Scope) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                more = content(self.evaluate(value, scope))
                if not isinstance(more, dict):
                    self.run.refuse("** of what is no dict")
                found.update(more)
                continue
            name = self.evaluate(key, scope)
            if not _key(name):
                self.run.refuse("a key that is no plain number or text (a private value or an outcome)")
            found[name] = self._finished(self.evaluate(value, scope))
        return found

    def _of_BinOp(self, node: ast.BinOp, scope: Scope) -> Any:
        op = OPERATORS.get(type(node.op)) or self.run.refuse(f"the operator {type(node.op).__name__}")
        left = self.evaluate(node.left, scope)
        right = self.evaluate(node.right, scope)
        self._at(node, scope)
        if op == "mod" and isinstance(left, str):
            return self._plain_text(left, right)
        return self._operate(op, left, right)

    def _operate(self, op: str, left: Any, right: Any) -> Any:
        for one in (left, right):
            if isinstance(content(one), Lazy | DictView | Function | Bound | Named | Accepted | Raised):
                self.run.refuse("an operator on a function, module or iterator")
        return binary(self.run, op, left, right)

    def _plain_text(self, left: str, right: Any) -> Any:
        right = self._text_value(right)
        if is_plain(right):
            return self.run.plain(lambda a, b: a % b, left, content(right))
        return function_of(self.run, "text %", lambda a, b: a % b, left, right)

    def _of_UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.evaluate(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return not truth(self.run, self._truthful(value))
        op = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "not"}[type(node.op)]
        return unary(self.run, op, value)

    def _truthful(self, value: Any) -> Any:
        inner = content(value)
        if isinstance(inner, Lazy | DictView | Function | Bound | Named | Accepted):
            self.run.refuse("the truth of a function, module or iterator")
        return value

    def _of_BoolOp(self, node: ast.BoolOp, scope: Scope) -> Any:
        value = None
        for part in node.values:
            value = self.evaluate(part, scope)
            if part is node.values[-1]:
                return value
            if truth(self.run, self._truthful(value)) != isinstance(node.op, ast.And):
                return value
        return value

    def _of_Compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.evaluate(node.left, scope)
        found: Any = True
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(part, scope)
            self._at(node, scope)
            found = self._compared(op, left, right)
            if len(node.ops) > 1 and part is not node.comparators[-1] and not truth(self.run, found):
                return found
            left = right
        return found

    def _compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Is | ast.IsNot):
            if right is not None and left is not None:
                self.run.refuse("an identity test other than with None")
            return (left is right) == isinstance(op, ast.Is)
        if isinstance(op, ast.In | ast.NotIn):
            inside = content(right)
            if (
                not is_plain(left)
                or not is_plain(right)
                or not isinstance(inside, list | tuple | dict | str | range | set | frozenset)
            ):
                self.run.refuse("in and not in of private values, outcomes or arrays")
            return self.run.plain(lambda a, b: a in b, content(left), inside) == isinstance(op, ast.In)
        return self._operate(OPERATORS[type(op)], left, right)

    def _of_IfExp(self, node: ast.IfExp, scope: Scope) -> Any:
        return self.evaluate(
            node.body if truth(self.run, self._truthful(self.evaluate(node.test, scope))) else node.orelse,
            scope,
        )

    def _of_NamedExpr(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = self.evaluate(node.value, scope)
        self._store(node.target.id, value, scope)
        return value

    def _of_Lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return self._made(node, scope)

    def _of_JoinedStr(self, node: ast.JoinedStr, scope: Scope) -> Any:
        parts = [self.evaluate(part, scope) for part in node.values]
        if all(isinstance(part, str) for part in parts):
            return "".join(parts)
        return function_of(self.run, "text", lambda *all_: "".join(map(str, all_)), *parts)

    def _of_FormattedValue(self, node: ast.FormattedValue, scope: Scope) -> Any:
        value = self._text_value(self.evaluate(node.value, scope))
        spec = "" if node.format_spec is None else self.evaluate(node.format_spec, scope)
        if not isinstance(spec, str):
            self.run.refuse("a format that is an outcome")
        converters: dict[int, Callable[[Any], Any]] = {-1: lambda x: x, 115: str, 114: repr, 97: ascii}
        convert = converters[node.conversion]
        form: Callable[[Any], str] = lambda x: format(convert(x), spec)  # noqa: E731
        if is_plain(value):
            return self.run.plain(form, content(value))
        return function_of(self.run, f"format {spec} {node.conversion}", form, value)

    def _text_value(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(self._text_value(item) for item in value)
        value = seen(self.run, value) if _holds_noise(value) else value
        if any(not isinstance(symbol, Public) for symbol in symbols_in(value)):
            self.run.refuse("a private value in text")
        return value

    def _text(self, value: Any) -> Any:
        value = self._text_value(value)
        inner = content(value)
        return inner if not isinstance(inner, Public) else repr(inner.expression)

    def _of_ListComp(self, node: ast.ListComp, scope: Scope) -> Any:
        return [self._finished(item) for item in self._comprehended(node.generators, [node.elt], scope)]

    def _of_SetComp(self, node: ast.SetComp, scope: Scope) -> Any:
        items = list(self._comprehended(node.generators, [node.elt], scope))
        if not all(_key(item) for item in items):
            self.run.refuse("a set of what are no plain numbers or text")
        return set(items)

    def _of_DictComp(self, node: ast.DictComp, scope: Scope) -> Any:
        found = {}
        for key, value in self._comprehended(node.generators, [node.key, node.value], scope):
            if not _key(key):
                self.run.refuse("a key that is no plain number or text (a private value or an outcome)")
            found[key] = self._finished(value)
        return found

    def _of_GeneratorExp(self, node: ast.GeneratorExp, scope: Scope) -> Any:
        return Lazy(self._comprehended(node.generators, [node.elt], scope))

    def _comprehended(
        self, generators: Sequence[ast.comprehension], results: Sequence[ast.expr], scope: Scope
    ) -> Iterator[Any]:
        """Values of a comprehension, whose names are its own; the first iterable is evaluated at once."""
        names = {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        inner = Scope({}, frozenset(names), scope, scope.function)
        first = self.evaluate(generators[0].iter, scope)

        def turn(level: int, items: Any) -> Iterator[Any]:
            generator = generators[level]
            if generator.is_async:
                self.run.refuse("an asynchronous comprehension")
            for item in self.iterate(items):
                self.run.tick()
                self.assign(generator.target, item, inner)
                if not all(
                    truth(self.run, self._truthful(self.evaluate(test, inner))) for test in generator.ifs
                ):
                    continue
                if level + 1 < len(generators):
                    yield from turn(level + 1, self.evaluate(generators[level + 1].iter, inner))
                elif len(results) == 1:
                    yield self.evaluate(results[0], inner)
                else:
                    yield tuple(self.evaluate(result, inner) for result in results)

        return turn(0, first)

    def _of_Subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        value, key = self.evaluate(node.value, scope), self.evaluate(node.slice, scope)
        self._at(node, scope)
        return self.item(value, key)

    def item(self, value: Any, key: Any) -> Any:
        inner = content(value)
        if isinstance(inner, Lazy | DictView | Function | Bound | Named | Accepted):
            self.run.refuse("an index of a function, module or iterator")
        if isinstance(inner, np.generic | int | float | bool) or inner is None:
            self.run.refuse("a number is indexed")
        return index(self.run, value, key)

    def _of_Slice(self, node: ast.Slice, scope: Scope) -> Any:
        ends = [
            None if part is None else self.evaluate(part, scope)
            for part in (node.lower, node.upper, node.step)
        ]
        return slice(*ends)

    def _of_Attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        value = self.evaluate(node.value, scope)
        self._at(node, scope)
        return self.attribute(value, node.attr)

    def attribute(self, value: Any, name: str) -> Any:
        """``value.name``: the shape of arrays, methods with a rule, and functions of numpy and math."""
        run, inner = self.run, content(value)
        if name.startswith("__"):
            run.refuse(f"the attribute {name}")
        if isinstance(inner, Named):
            return self._of_module(inner, name)
        if isinstance(inner, Generator | Coins):
            return Bound(inner, name)
        if isinstance(inner, list | tuple | dict | str | set | frozenset):
            return Bound(inner, name)
        if isinstance(inner, Raised | Function | Bound | Lazy | DictView | Accepted):
            run.refuse(f"the attribute {name!r} of a function, exception or iterator")
        if name in ("shape", "size", "ndim", "T", "dtype"):
            return self._described(value, name)
        if name in METHODS:
            return Bound(value, name)
        if name == "sort":
            run.refuse("x.sort() sorts in place (write np.sort(x))")
        return run.refuse(f"the attribute {name!r} is not followed")

    def _of_module(self, module: Named, name: str) -> Any:
        homes = {"numpy": np, "numpy.random": np.random, "numpy.linalg": np.linalg, "math": math}
        if module.name not in homes:
            self.run.refuse(f"the attribute {name!r} of {module.name}")
        home = homes[module.name]
        if module.name == "numpy.random" and name in GENERATOR:
            return Named(f"random.{name}", None)
        if name in ("inf", "nan", "pi", "e", "newaxis", "tau", "euler_gamma"):
            return getattr(home, name)
        if not hasattr(home, name):
            self._raises(AttributeError(f"module {module.name!r} has no attribute {name!r}"))
        return self.enter(getattr(home, name), f"{module.name}.{name}")

    def _described(self, value: Any, name: str) -> Any:
        run, inner = self.run, content(value)
        if name == "T":
            return self._transposed(value)
        if name == "dtype":
            run.refuse("the dtype of a value (write float or int)")
        shape = shape_value(run, value)
        if name == "shape":
            return shape
        if name == "ndim":
            return len(shape)
        found: Any = 1
        for n in shape:
            found = n if type(found) is int and found == 1 else binary(run, "mul", found, n)
        del inner
        return found

    def _transposed(self, value: Any) -> Any:
        run, inner = self.run, content(value)
        if isinstance(value, Array):
            value.shared = True
        if isinstance(inner, np.ndarray):
            return Array(inner.T, shared=True)
        if isinstance(inner, Private):
            if len(inner.shape) < 2:
                return value
            if inner.info.records != 1 or len(inner.shape) != 2:
                run.refuse("the transpose of a private array that is not of records")
            if isinstance(value, Array):
                value.shared = True
            return Array(Transposed(inner), shared=True)
        if isinstance(inner, Transposed):
            return Array(inner.base, shared=True)
        if isinstance(inner, Filtered):
            return run.refuse("the transpose of a filtered array (write np.where(mask[:, None], X, 0) first)")
        return function_of(run, "transpose", np.transpose, seen(run, value) if _holds_noise(inner) else value)

    def _of_Call(self, node: ast.Call, scope: Scope) -> Any:
        function = self.evaluate(node.func, scope)
        arguments: list[Any] = []
        for part in node.args:
            if isinstance(part, ast.Starred):
                arguments.extend(self.iterate(self.evaluate(part.value, scope)))
            else:
                arguments.append(self.evaluate(part, scope))
        options: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            if keyword.arg is None:
                more = content(value)
                if not isinstance(more, dict) or not all(isinstance(key, str) for key in more):
                    self.run.refuse("** of what is no dict of names")
                if set(options) & set(more):
                    self._raises(TypeError("a name is given twice"))
                options |= more
            elif keyword.arg in options:
                self._raises(TypeError("a name is given twice"))
            else:
                options[keyword.arg] = value
        self._at(node, scope)
        return self.call(function, arguments, options, node)

    # Iteration, methods and builtins.

    def iterate(self, value: Any) -> Iterator[Any]:
        """The items of a value, one after the other."""
        run, inner = self.run, content(value)
        if isinstance(inner, Lazy):
            yield from inner.items
        elif isinstance(inner, list | tuple | str | range):
            yield from inner
        elif isinstance(inner, dict | DictView):
            yield from self._of_dict(inner)
        elif isinstance(inner, set | frozenset):
            run.refuse("a set is iterated (its order may change from run to run; write a list or sorted())")
        elif isinstance(inner, Filtered):
            run.refuse("a filtered array is iterated (its length depends on the data)")
        elif isinstance(inner, Symbol | np.ndarray) and not isinstance(
            inner, Function | Bound | Named | Accepted | Raised | DictView
        ):
            yield from self._rows(value)
        else:
            run.refuse(f"a {type(inner).__name__} is iterated")

    def _of_dict(self, inner: Any) -> Iterator[Any]:
        """Keys, values or items of a dict, as they are when they are reached."""
        table, kind = (inner, "keys") if isinstance(inner, dict) else (inner.table, inner.kind)
        keys = list(table)
        for key in keys:
            if list(table) != keys:
                self.run.refuse("a dict changes its keys while it is iterated (Python raises RuntimeError)")
            yield key if kind == "keys" else table[key] if kind == "values" else (key, table[key])
        if list(table) != keys:
            self.run.refuse("a dict changes its keys while it is iterated (Python raises RuntimeError)")

    def _backwards(self, value: Any) -> Iterator[Any]:
        """The items from the last to the first, as they are when they are reached."""
        inner = content(value)
        if isinstance(inner, tuple | str | range):
            yield from reversed(inner)
            return
        if not isinstance(inner, list) and (not isinstance(value, Array) or isinstance(inner, Filtered)):
            self.run.refuse("reversed() of what is no list, tuple or array")
        shape = (len(inner),) if isinstance(inner, list) else shape_of(value)
        if not shape or not isinstance(shape[0], int):
            self.run.refuse("reversed() of an array of unknown length")
        for k in range(shape[0] - 1, -1, -1):
            if isinstance(inner, list) and len(inner) != shape[0]:
                self.run.refuse("a list changes its length while it is iterated backwards")
            yield inner[k] if isinstance(inner, list) else self.item(value, k)

    def _rows(self, value: Any) -> Iterator[Any]:
        run = self.run
        shape = shape_of(value)
        if isinstance(content(value), Private) and content(value).info.records and run.s.length_is_private:
            run.refuse("records whose number is private are iterated (use whole arrays)")
        if shape is None or not shape or not isinstance(shape[0], int):
            run.refuse(
                "a loop over records of every size, or over an outcome of unknown length (give a number of"
                " records, or use whole arrays)"
            )
        for k in range(shape[0]):
            yield self.item(value, k)

    def _method(self, value: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        inner = content(value)
        if isinstance(inner, Generator):
            return call_generator(self.run, name, arguments, options)
        if isinstance(inner, Coins):
            return call_coins(self.run, name, arguments, options)
        if isinstance(inner, list | tuple | dict | str | set | frozenset):
            return self._container_method(inner, name, arguments, options)
        return self._array_method(value, name, arguments, options)

    def _array_method(self, value: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        value = _settled(value)
        inner = content(value)
        accepted = METHODS[name]
        if isinstance(inner, Noisy | Draw) and name == "item" and not arguments and inner.shape == (1,):
            return self.item(value, 0)
        if isinstance(inner, Noisy | Draw) and name in ("argmax", "argmin", "argsort", "copy"):
            return call_accepted(self.run, accepted, [value, *arguments], options)
        if isinstance(inner, Transposed):
            self.run.refuse(f"the method {name!r} of a transposed array")
        found = call_accepted(self.run, accepted, [value, *arguments], options)
        if name in ("reshape", "ravel") and isinstance(value, Array) and isinstance(found, Array):
            value.shared = found.shared = True
        return found

    def _container_method(self, inner: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        run = self.run
        arguments = [self._finished_argument(a) for a in arguments]
        if type(inner) is list and name in ("append", "extend", "insert", "pop", "copy", "clear", "reverse"):
            if id(inner) in self.frozen and name != "copy":
                run.refuse("a list from outside the function is changed (state that outlives the run)")
            if name == "extend":
                arguments = [list(self.iterate(arguments[0]))]
            if name in ("insert", "pop") and arguments and type(arguments[0]) is not int:
                run.refuse("a place in a list that is private or an outcome")
            try:
                return getattr(inner, name)(*arguments, **options)
            except (IndexError, TypeError) as error:
                return self._raises(error)
        if type(inner) is dict and name in (
            "items",
            "keys",
            "values",
            "get",
            "copy",
            "setdefault",
            "update",
            "pop",
        ):
            return self._dict_method(inner, name, arguments, options)
        if type(inner) is str and name in (
            "join",
            "format",
            "upper",
            "lower",
            "strip",
            "split",
            "startswith",
            "endswith",
            "replace",
            "title",
        ):
            return self._text_method(inner, name, arguments, options)
        if (
            type(inner) in (list, tuple)
            and name in ("index", "count")
            and is_plain(inner)
            and is_plain(arguments)
        ):
            return run.plain(getattr(inner, name), *[content(a) for a in arguments])
        return run.refuse(f"the method {name!r} of a {type(inner).__name__}")

    def _text_method(self, inner: str, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        """A method of text: on outcomes it gives an outcome."""
        given = [self._text_value(list(self.iterate(a)) if isinstance(a, Lazy) else a) for a in arguments]
        named = {key: self._text_value(value) for key, value in options.items()}
        if is_plain(given) and is_plain(named):
            return self.run.plain(getattr(inner, name), *[content(a) for a in given], **named)
        names = list(named)

        def text(*values: Any) -> Any:
            rest = dict(zip(names, values[len(given) :], strict=True))
            return getattr(inner, name)(*values[: len(given)], **rest)

        return function_of(self.run, f"text {name} {inner!r} {names}", text, *given, *named.values())

    def _finished_argument(self, value: Any) -> Any:
        return value

    def _dict_method(
        self, inner: dict[Any, Any], name: str, arguments: list[Any], options: dict[str, Any]
    ) -> Any:
        if name in ("items", "keys", "values"):
            if arguments or options:
                self._raises(TypeError(f"{name}() takes no arguments"))
            return DictView(inner, name)
        changes = name in ("setdefault", "update", "pop")
        if changes and id(inner) in self.frozen:
            self.run.refuse("a dict from outside the function is changed (state that outlives the run)")
        if options or any(not _key(a) for a in arguments[:1] if name in ("get", "setdefault", "pop")):
            self.run.refuse("a key that is no plain number or text")
        if name == "update" and not (len(arguments) == 1 and isinstance(arguments[0], dict)):
            self.run.refuse("update with what is no dict")
        try:
            found = getattr(inner, name)(*arguments)
        except (KeyError, TypeError) as error:
            return self._raises(error)
        return found

    def _sum(self, arguments: list[Any], options: dict[str, Any]) -> Any:
        start = options.pop("start", arguments[1] if len(arguments) > 1 else 0)
        if options or not arguments or len(arguments) > 2:
            self._raises(TypeError("sum takes an iterable and a start"))
        inner = content(arguments[0])
        whole = (
            isinstance(inner, Private)
            and len(inner.shape) == 1
            and inner.info.records == 1
            and inner.info.kind != "b"
        )
        if whole and is_plain(start) and type(start) is int and start == 0:
            total = self.run.step("sum", [inner], {"axes": (0,)})
            return self.run.verify(total, np.sum, arguments[0])
        if isinstance(inner, np.ndarray) and is_plain(start):
            return self.run.plain(builtins.sum, inner, content(start))
        if isinstance(inner, Public) and inner.shape is None:
            return function_of(self.run, "sum", builtins.sum, arguments[0], start)
        total = start
        for item in self.iterate(arguments[0]):
            total = binary(self.run, "add", total, item)
        return total

    def _builtin_sum(self, *arguments: Any, **options: Any) -> Any:
        return self._sum(list(arguments), options)

    def _builtin_len(self, value: Any) -> Any:
        inner = content(value)
        if isinstance(inner, list | tuple | dict | str | range | set | frozenset):
            return len(inner)
        if isinstance(inner, DictView):
            return len(inner.table)
        if isinstance(inner, np.ndarray):
            return self.run.plain(len, inner)
        if not isinstance(inner, Symbol) or isinstance(
            inner, Lazy | Function | Bound | Named | Accepted | Raised
        ):
            self.run.refuse(f"len() of a {type(inner).__name__}")
        shape = shape_value(self.run, value)
        if not shape:
            self.run.refuse("len() of a number")
        return shape[0]

    def _named(self, named: Named, arguments: list[Any], options: dict[str, Any]) -> Any:
        run, name = self.run, named.name
        if name == "distribution":
            return make_distribution(run, named.real, arguments, options)
        if name == "default_rng":
            return generator_of(run, arguments, options)
        if name.startswith("random."):
            return call_generator(run, name.removeprefix("random."), arguments, options, legacy=True)
        if name == "error":
            return Raised(named.real(*[self._text(a) for a in arguments]))
        handler = getattr(self, f"_builtin_{name}", None)
        if handler is None:
            run.refuse(f"{name}() is not followed")
        try:
            return handler(*arguments, **options)
        except TypeError as error:
            if "_builtin_" not in str(error):
                raise
            return run.refuse(f"{name}() is called with other arguments: {error}")

    def _builtin_Fraction(self, *arguments: Any) -> Any:
        if not is_plain(list(arguments)):
            self.run.refuse("Fraction of a private value or an outcome")
        return self.run.plain(Fraction, *arguments)

    def _builtin_range(self, *ends: Any) -> Any:
        ends = tuple(seen(self.run, end) if _holds_noise(end) else end for end in ends)
        found = []
        for end in ends:
            inner = content(end)
            if isinstance(inner, Public) and inner.count is not None:
                found.append(self._one_of(inner))
            elif isinstance(inner, Symbol):
                self.run.refuse(
                    "range() of a private value, of an outcome, or of the size of data of every size"
                )
            else:
                found.append(inner)
        return self.run.plain(range, *found)

    def _one_of(self, inner: Public) -> int:
        return self.run.walk.fork(f"which {text_of(inner.expression)}", inner.count or 1)

    def _builtin_list(self, items: Any = ()) -> Any:
        return list(self.iterate(items))

    def _builtin_tuple(self, items: Any = ()) -> Any:
        return tuple(self.iterate(items))

    def _builtin_dict(self, *arguments: Any, **items: Any) -> Any:
        found: dict[Any, Any] = {}
        for argument in arguments:
            inner = content(argument)
            pairs = (
                inner.items()
                if isinstance(inner, dict)
                else [tuple(self.iterate(pair)) for pair in self.iterate(argument)]
            )
            for key, value in pairs:
                if not _key(key):
                    self.run.refuse("a key that is no plain number or text")
                found[key] = value
        return {**found, **items}

    def _builtin_set(self, items: Any = ()) -> Any:
        found = list(self.iterate(items))
        if not all(_key(item) for item in found):
            self.run.refuse("a set of what are no plain numbers or text")
        return set(found)

    def _builtin_enumerate(self, items: Any, start: Any = 0) -> Any:
        if type(start) is not int:
            self.run.refuse("enumerate from what is no number")
        return Lazy((k, item) for k, item in enumerate(self.iterate(items), start))

    def _builtin_zip(self, *iterables: Any, strict: bool = False) -> Any:
        return Lazy(iter(zip(*(self.iterate(one) for one in iterables), strict=bool(strict))))

    def _builtin_map(self, function: Any, *iterables: Any) -> Any:
        return Lazy(
            self.call(function, list(items), {}, ast.Pass())
            for items in zip(*(self.iterate(one) for one in iterables), strict=False)
        )

    def _builtin_filter(self, function: Any, items: Any) -> Any:
        return Lazy(
            item for item in self.iterate(items)
            if truth(self.run, item if function is None else self.call(function, [item], {}, ast.Pass()))
        )  # fmt: skip

    def _builtin_reversed(self, items: Any) -> Any:
        return Lazy(self._backwards(items))

    def _builtin_any(self, items: Any) -> Any:
        return any(truth(self.run, item) for item in self.iterate(items))

    def _builtin_all(self, items: Any) -> Any:
        return all(truth(self.run, item) for item in self.iterate(items))

    def _builtin_sorted(self, items: Any, *, key: Any = None, reverse: Any = False) -> Any:
        found = list(self.iterate(items))
        keys = found if key is None else [self.call(key, [item], {}, ast.Pass()) for item in found]
        if not is_plain(keys) or not isinstance(reverse, bool):
            self.run.refuse("sorted() of private values or outcomes (use np.sort)")
        order = self.run.plain(
            lambda ks: sorted(range(len(ks)), key=ks.__getitem__, reverse=reverse), [content(k) for k in keys]
        )
        return [found[k] for k in order]

    def _builtin_max(self, *items: Any, key: Any = None, default: Any = None) -> Any:
        return self._extreme("max", items, key, default)

    def _builtin_min(self, *items: Any, key: Any = None, default: Any = None) -> Any:
        return self._extreme("min", items, key, default)

    def _extreme(self, name: str, items: tuple[Any, ...], key: Any, default: Any) -> Any:
        run = self.run
        found = list(self.iterate(items[0])) if len(items) == 1 else list(items)
        if not found:
            return self._raises(ValueError(f"{name}() of nothing")) if default is None else default
        if key is not None:
            return self._by_key(name, found, key)
        found = [seen(run, item) if _holds_noise(item) else item for item in found]
        if is_plain(found):
            return run.plain(max if name == "max" else min, [content(item) for item in found])
        best = found[0]
        for item in found[1:]:
            if shape_of(best) != () or shape_of(item) != ():
                run.refuse(f"{name}() of arrays (use np.{name}imum)")
            best = self._larger(name, best, item)
        return best

    def _by_key(self, name: str, items: list[Any], key: Any) -> Any:
        """The first item of the largest key, by the comparisons that Python makes."""
        best, top = items[0], self.call(key, [items[0]], {}, ast.Pass())
        for item in items[1:]:
            here = self.call(key, [item], {}, ast.Pass())
            if truth(self.run, self._operate("gt" if name == "max" else "lt", here, top)):
                best, top = item, here
        return best

    def _larger(self, name: str, best: Any, item: Any) -> Any:
        run = self.run
        if any(isinstance(content(one), Private) for one in (best, item)):
            return run.value(run.step(f"{name}imum", [best, item]))
        if is_plain([best, item]):
            return run.plain(max if name == "max" else min, content(best), content(item))
        expressions = [expression_of(run, best), expression_of(run, item)]
        pick = max if name == "max" else min
        return public_of(
            run,
            ["maximum" if name == "max" else "minimum", *expressions],
            pick,
            (best, item),
            shape=(),
            kind="f",
            python=True,
        )

    def _builtin_isinstance(self, value: Any, kinds: Any) -> Any:
        run, inner = self.run, content(value)
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        types = [
            one.function if isinstance(one, Accepted) else one.real if isinstance(one, Named) else None
            for one in map(content, wanted)
        ]
        if not all(isinstance(kind, type) for kind in types):
            run.refuse("isinstance() with what is no type")
        if isinstance(value, Array):
            return np.ndarray in types
        if isinstance(inner, Symbol):
            run.refuse("isinstance() of a private value, an outcome or a function")
        return isinstance(inner, tuple(types))  # type: ignore[arg-type]

    def _builtin_print(self, *values: Any, **options: Any) -> Any:
        if not set(options) <= {"sep", "end", "flush"} or not is_plain(list(options.values())):
            self.run.refuse("print() to a file")
        for value in values:
            show(self.run, self._finished(value))

    def _builtin_str(self, value: Any = "") -> Any:
        value = self._text_value(value)
        if is_plain(value):
            return self.run.plain(str, content(value))
        return function_of(self.run, "str", str, value)

    def _builtin_bool(self, value: Any = False) -> Any:
        return truth(self.run, self._truthful(value))


@dataclass(frozen=True, eq=False)
class Raised(Symbol):
    """An exception that the program made and has not raised yet."""

    error: BaseException


_STATEMENTS: dict[type, str] = {
    ast.Try: "try (handlers may hide what private values do)",
    ast.With: "with",
    ast.Import: "an import inside the function (import at the top of the file)",
    ast.ImportFrom: "an import inside the function (import at the top of the file)",
    ast.Global: "global (state that outlives the run)",
    ast.ClassDef: "a class inside the function",
    ast.Match: "match (write if)",
}


def _key(value: Any) -> bool:
    """Whether a value may be a key: plain and hashable by value."""
    return (
        type(value) in (int, str, bool, float, np.int64, np.float64) or value is None or _plain_tuple(value)
    )


def _plain_tuple(value: Any) -> bool:
    return type(value) is tuple and all(_key(item) for item in value)


def _kind_of(value: Any) -> str | None:
    inner = content(value)
    if isinstance(inner, Private):
        return inner.info.kind
    if isinstance(inner, Public):
        return inner.kind
    if isinstance(inner, Entries):
        return inner.kind
    if isinstance(inner, Noisy | Draw):
        return "f"
    if isinstance(inner, Symbol):
        return None
    return np.asarray(inner).dtype.kind


@cache
def _assigned(node: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Names that a function assigns in its own scope, and those that it declares nonlocal."""
    local: set[str] = set()
    free: set[str] = set()
    pending: list[Any] = list(node.body) if isinstance(node.body, list) else [node.body]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            local.add(part.name)
            pending.extend(part.decorator_list)
            continue
        if isinstance(part, ast.Lambda):
            continue
        if isinstance(part, ast.Nonlocal):
            free |= set(part.names)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store | ast.Del):
            local.add(part.id)
        if isinstance(part, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            local |= {n.target.id for n in ast.walk(part) if isinstance(n, ast.NamedExpr)}
            pending.append(part.generators[0].iter)
            continue
        pending.extend(ast.iter_child_nodes(part))
    return frozenset(local - free), frozenset(free)


@cache
def _has_yield(node: Any) -> bool:
    pending: list[Any] = list(node.body) if isinstance(node.body, list) else [node.body]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(part))
    return False


def _name_of(value: Any) -> str:
    return str(
        getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type(value).__name__
    )


__all__ += ["Poly"]
