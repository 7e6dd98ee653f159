"""Interpret the subset of Python in which mechanisms are commonly written.

The interpreter runs the syntax tree of the unmodified function. It resolves names as Python does, and admits
their values by exact type: numbers, text, plain containers and arrays, followed functions, and the functions
of ``functions.ACCEPTED`` by identity. Private values are never passed to other code, so a program can apply
only operations that have a rule. All statements and expressions without a handler are refused.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit.prover.values.branches import returns_early
from dpaudit.prover.values.functions import Accepted, call_accepted
from dpaudit.prover.values.generators import Finished
from dpaudit.prover.values.joins import is_private
from dpaudit.prover.values.opaque import OpaqueCalls
from dpaudit.prover.values.operations import (
    add_to_output,
    content,
    truth,
)
from dpaudit.prover.values.randomness import GENERATOR
from dpaudit.prover.values.record_loops import follows_list, follows_loop, follows_sum
from dpaudit.prover.values.repetitions import follows_runs, follows_stopping
from dpaudit.prover.values.run import ProgramRaisedError
from dpaudit.prover.values.scopes import (
    MAX_DEPTH,
    OPERATORS,
    Bound,
    Class,
    DictView,
    Function,
    Instance,
    Lazy,
    Left,
    Method,
    Scope,
    assigned_names,
    has_yield,
    name_of,
)
from dpaudit.prover.values.values import (
    MISSING,
    Array,
    Named,
    Runs,
    Symbol,
)

__all__ = ["Interpreter"]

#: Functions and methods that may return an array without dimensions instead of a number.
SINGLE = ("array", "asarray", "copy", "where", "reshape", "full", "full_like", "zeros_like", "ones_like",
          "squeeze", "transpose", "astype")  # fmt: skip


class Interpreter(OpaqueCalls):
    """An interpreter for one function on one path."""

    def call(self, function: Any, arguments: Sequence[Any], options: dict[str, Any], node: ast.AST) -> Any:
        """Call a followed function, an accepted function, a method or a builtin."""
        self.run.tick()
        inner = content(function)
        arguments = list(arguments)
        if self.pure:
            self.require_pure_call(inner, arguments, options)
        found = self.call_opaque(inner, arguments, options)
        if found is not MISSING:
            if self.run.repeating:
                self.run.refuse("a loop with a random number of runs calls code that is not followed")
            return found
        found = self.observed(inner, arguments, options, lambda: self._dispatched(inner, arguments, options))
        name = inner.name.rpartition(".")[2] if isinstance(inner, Accepted | Bound | Named) else ""
        drawn = name in GENERATOR and any(
            type(one) is tuple and not one for one in (*arguments, *options.values())
        )
        if (drawn or name in SINGLE) and isinstance(found, Symbol) and not isinstance(found, Array):
            self.no_dimensions[id(found)] = found
        return found

    def _dispatched(self, inner: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
        if isinstance(inner, Function):
            return self.call_function(inner, arguments, options)
        if isinstance(inner, Accepted):
            return call_accepted(self.run, inner, [self._listed(a) for a in arguments], options)
        if isinstance(inner, Bound):
            return self._method(inner.value, inner.name, arguments, options)
        if isinstance(inner, Named):
            return self._named(inner, arguments, options)
        if isinstance(inner, Class | Instance | Method):
            return self.call_object(inner, arguments, options)
        return self.run.refuse(f"{name_of(inner)} cannot be called")

    def _of_Call(self, node: ast.Call, scope: Scope) -> Any:
        found = follows_sum(self, node, scope)
        return super()._of_Call(node, scope) if found is None else found

    def _of_ListComp(self, node: ast.ListComp, scope: Scope) -> Any:
        found = follows_list(self, node, scope)
        return super()._of_ListComp(node, scope) if found is None else found

    def _listed(self, value: Any) -> Any:
        inner = content(value)
        if isinstance(inner, Lazy | DictView):
            self.run.refuse("an iterator is passed to a function (use a list)")
        return value

    def call_function(self, function: Function, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a followed function and return its value."""
        node = function.source.node
        if self.depth > MAX_DEPTH:
            self.run.refuse(f"calls are nested more than {MAX_DEPTH} deep")
        names = self._bind(function, node, arguments, options)
        scope = self._scope(function, node, names)
        if has_yield(node):
            return self.generator(node, scope)
        self.depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return self.evaluate(node.body, scope)
            if self.pure or returns_early(node):
                return self.pure_body(node.body, scope)
            self.block(node.body, scope)
            return None
        except Left as left:
            return left.value
        finally:
            self.depth -= 1

    def run_program(self, function: Function, arguments: list[Any], fixed: dict[str, Any]) -> Any:
        """Run the program under proof, and add what it returns or yields to the output."""
        result = self.call_function(function, arguments, fixed)
        if has_yield(function.source.node):
            return self._yielded_by(result)
        add_to_output(self.run, self._finished(result))
        return result

    def _yielded_by(self, generator: Any) -> list[Any]:
        """Run a program that is a generator function, and add each value to the output."""
        found: list[Any] = []
        try:
            while True:
                found.append(self._finished(self.resume(generator)))
                add_to_output(self.run, found[-1])
        except Finished as end:
            if end.value is not None:  # the value of StopIteration
                add_to_output(self.run, self._finished(end.value))
        if any(isinstance(content(value), list | tuple | dict) for value in found):
            add_to_output(self.run, found)  # the program may have changed them after it yielded them
        return found

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
        local, nonlocal_ = assigned_names(node)
        return Scope(names, local | set(names), function.outer, function, nonlocal_)

    def block(self, statements: Sequence[ast.stmt], scope: Scope) -> None:
        """Run statements in order, and refuse a statement without a handler."""
        for statement in statements:
            self.run.tick()
            self._at(statement, scope)
            kind = type(statement)
            handler = self.handlers.get(kind)
            if handler is None:
                handler = self.handlers[kind] = getattr(self, f"_do_{kind.__name__}", None)
            if handler is None:
                self.run.refuse(_STATEMENTS.get(kind, f"{kind.__name__} is not supported"))
            handler(statement, scope)

    def _do_Pass(self, node: ast.Pass, scope: Scope) -> None:
        """Do nothing."""

    def _do_Expr(self, node: ast.Expr, scope: Scope) -> None:
        self.evaluate(node.value, scope)

    def _do_Assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.evaluate(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def _do_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, scope), scope)

    def _do_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        op = OPERATORS.get(type(node.op)) or self.run.refuse(
            f"the operator {type(node.op).__name__} is not supported"
        )
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
            target = self.evaluate(node.target.value, scope)
            old = self.attribute(target, node.target.attr)
            new = self._in_place(op, old, self.evaluate(node.value, scope))
            self.set_attribute(target, node.target.attr, new)

    def _do_Return(self, node: ast.Return, scope: Scope) -> None:
        raise Left("return", None if node.value is None else self.evaluate(node.value, scope))

    def _do_Break(self, node: ast.Break, scope: Scope) -> None:
        raise Left("break")

    def _do_Continue(self, node: ast.Continue, scope: Scope) -> None:
        raise Left("continue")

    def _do_If(self, node: ast.If, scope: Scope) -> None:
        test = self.evaluate(node.test, scope)
        if is_private(test):
            self.both_branches(node, test, scope)
        else:
            self.block(node.body if truth(self.run, test) else node.orelse, scope)

    def _do_While(self, node: ast.While, scope: Scope) -> None:
        if follows_stopping(self, node, scope):
            return
        while truth(self.run, self.evaluate(node.test, scope)):
            if self._once(node.body, scope):
                return
        self.block(node.orelse, scope)

    def _do_For(self, node: ast.For, scope: Scope) -> None:
        items = self.evaluate(node.iter, scope)
        if isinstance(items, Runs):
            follows_runs(self, node, items, scope)
            return
        if follows_loop(self, node, items, scope):
            return
        for item in self.iterate(items):
            self.assign(node.target, item, scope)
            if self._once(node.body, scope):
                return
        self.block(node.orelse, scope)

    def _do_FunctionDef(self, node: ast.FunctionDef, scope: Scope) -> None:
        if node.decorator_list:
            self.run.refuse("a decorated function inside the program is not supported")
        self._store(node.name, self._made(node, scope), scope)

    def _do_Nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        if scope.outer is None:
            self.run.refuse(
                "nonlocal refers to a variable outside the program, which would keep state between runs"
            )

    def _do_Assert(self, node: ast.Assert, scope: Scope) -> None:
        if not truth(self.run, self.evaluate(node.test, scope)):
            message = () if node.msg is None else (self._text(self.evaluate(node.msg, scope)),)
            raise ProgramRaisedError(AssertionError(*message))

    def _do_Delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name) or target.id not in scope.names:
                self.run.refuse("del is only supported for local names")
            del scope.names[target.id]

    def _once(self, body: Sequence[ast.stmt], scope: Scope) -> bool:
        """Run the body of a loop once, and return whether a break ends the loop."""
        try:
            self.block(body, scope)
        except Left as left:
            if left.kind == "return":
                raise
            return left.kind == "break"
        return False


_STATEMENTS: dict[type, str] = {
    ast.TryStar: "except* is not supported",
    ast.With: "with is not supported",
    ast.Import: "import inside a function is not supported (import at the top of the file)",
    ast.ImportFrom: "import inside a function is not supported (import at the top of the file)",
    ast.Global: "global is not supported, because it keeps state between runs",
    ast.ClassDef: "a class definition inside a function is not supported",
    ast.Match: "match is not supported (use if)",
}
