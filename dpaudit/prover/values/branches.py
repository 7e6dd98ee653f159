"""Follow branches on private conditions, by evaluating both sides.

``a if q else b`` with a private condition q is the kernel's ``where``: both sides are computed, and each name
that they assign gets the value that the condition chooses. This is the program's value if both sides are
*pure*: computing the side that the program skips must change nothing and raise nothing. Pure code assigns
numbers to local names, and calls only functions that compute. Rules for private values refuse every operation
that may raise. Randomness, releases, output, and questions about outcomes are events of the path, which the
other side would not have. They are refused.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from dpaudit.prover.values.builtin_functions import BuiltinFunctions
from dpaudit.prover.values.frames import FRAMES
from dpaudit.prover.values.functions import Accepted
from dpaudit.prover.values.joins import as_condition, is_private, join, unwrap_joined
from dpaudit.prover.values.operations import DECIDES, content, truth
from dpaudit.prover.values.scopes import OPERATORS, Bound, DictView, Function, Lazy, Scope, scope_inside
from dpaudit.prover.values.values import (
    Array,
    Entries,
    Filtered,
    Joined,
    Named,
    Private,
    Public,
    Symbol,
    Text,
)

__all__ = ["Branches", "returns_early"]

#: Expressions that only compute, if the functions that they call do.
EXPRESSIONS = (
    ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Call,
    ast.Attribute, ast.Subscript, ast.Tuple, ast.keyword, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
    ast.expr_context,
)  # fmt: skip
#: Builtins that the interpreter handles and that only compute.
BUILTINS = ("max", "min", "len", "sum")
#: Methods of containers that only compute.
METHODS = ("get", "count", "index")


class _NoValue:
    """The result of a block that ends without a return statement."""


NO_VALUE = _NoValue()


def is_pure(node: ast.expr) -> bool:
    """Return whether an expression has only parts that compute."""
    return all(isinstance(part, EXPRESSIONS) for part in ast.walk(node))


def is_pure_block(statements: Sequence[ast.stmt], *, returns: bool) -> bool:
    """Return whether statements only assign to names and branch, and with ``returns`` also return."""
    for part in statements:
        if isinstance(part, ast.Assign):
            fine = len(part.targets) == 1 and isinstance(part.targets[0], ast.Name) and is_pure(part.value)
        elif isinstance(part, ast.AugAssign):
            fine = isinstance(part.target, ast.Name) and is_pure(part.value) and type(part.op) in OPERATORS
        elif isinstance(part, ast.If):
            fine = is_pure(part.test) and all(
                is_pure_block(block, returns=returns) for block in (part.body, part.orelse)
            )
        elif isinstance(part, ast.Return):
            fine = returns and part.value is not None and is_pure(part.value)
        else:
            fine = isinstance(part, ast.Pass) or (
                isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
            )
        if not fine:
            return False
    return True


@cache
def returns_early(node: Any) -> bool:
    """Return whether a function is pure and has a return statement inside a branch."""
    return (
        isinstance(node, ast.FunctionDef)
        and is_pure_block(node.body, returns=True)
        and any(isinstance(part, ast.If) and _returns([part]) for part in node.body)
    )


def _returns(statements: Sequence[ast.stmt]) -> bool:
    return any(isinstance(part, ast.Return) for one in statements for part in ast.walk(one))


class Branches(BuiltinFunctions):
    """The part of the interpreter that evaluates both sides of a private condition."""

    @contextmanager
    def _purely(self) -> Iterator[None]:
        """Refuse everything except pure code, and all events of the path."""
        run = self.run

        def state() -> tuple[Any, ...]:
            return (len(run.walk.events), len(run.draws), run.outcomes, run.uniforms)

        before = state()
        self.pure += 1
        try:
            yield
        finally:
            self.pure -= 1
        if state() != before:
            run.refuse(
                "a branch on a private condition draws noise, releases a value or asks about an outcome"
            )

    def _require_pure(self, nodes: Sequence[ast.expr]) -> None:
        if not all(is_pure(node) for node in nodes):
            self.run.refuse(DECIDES)

    def chosen(self, test: Any, node: ast.IfExp, scope: Scope) -> Any:
        """Return the value of a conditional expression with a private condition."""
        self._require_pure([node.body, node.orelse])
        with self._purely():
            sides = [self.evaluate(part, scope) for part in (node.body, node.orelse)]
            return join(self.run, as_condition(self.run, test), *sides)

    def both(self, conjunction: bool, first: Any, rest: Sequence[ast.expr], scope: Scope) -> Any:
        """Return ``first and rest...`` or ``first or rest...`` for Booleans, the first of them private.

        If the first one is false, ``first and second`` is False, and otherwise the second one.
        """
        self._require_pure(rest)
        with self._purely():
            left: Any = first
            for part in rest:
                right = self.evaluate(part, scope)
                for one in (left, right):
                    kind = as_condition(self.run, one) if is_private(one) else content(one)
                    if isinstance(kind, Symbol) and not is_private(one):
                        self.run.refuse("a private condition is combined with a released or noisy value")
                    if is_private(one) and kind is not content(unwrap_joined(one)):
                        self.run.refuse(
                            "and and or of private numbers are not supported (compare them with 0)"
                        )
                if not is_private(left):
                    left = right if truth(self.run, left) == conjunction else left
                    continue
                test = as_condition(self.run, left)
                if is_private(right):
                    found = self.run.step(
                        "and" if conjunction else "or", [test, content(unwrap_joined(right))]
                    )
                    same = isinstance(left, Private) and isinstance(right, Private)
                    same = same and left.info.python == right.info.python
                    left = found if same else Joined(found, kind_unknown=False, class_unknown=True)
                    continue
                left = join(self.run, test, right, left) if conjunction else join(self.run, test, left, right)
            return left

    def both_branches(self, node: ast.If, test: Any, scope: Scope) -> None:
        """Follow an ``if`` statement with a private condition, and join the names that it assigns."""
        if not is_pure_block([*node.body, *node.orelse], returns=False):
            self.run.refuse(DECIDES)
        with self._purely():
            copies = [self._copy(scope), self._copy(scope)]
            for block, copy in zip((node.body, node.orelse), copies, strict=True):
                self._pure_block(block, copy)
            self._join_names(as_condition(self.run, test), copies, scope)

    def _copy(self, scope: Scope) -> Scope:
        return Scope(dict(scope.names), scope.local, scope.outer, scope.function, scope.nonlocal_)

    def _join_names(self, test: Any, copies: list[Scope], scope: Scope) -> None:
        """Assign the joined values. A name that only one side assigns has no value afterwards."""
        left, right = (copy.names for copy in copies)
        for name in [*left, *(name for name in right if name not in left)]:
            if name not in left or name not in right:
                scope.names.pop(name, None)
            elif left[name] is not right[name] or left[name] is not scope.names.get(name):
                scope.names[name] = join(self.run, test, left[name], right[name])

    def pure_body(self, statements: Sequence[ast.stmt], scope: Scope) -> Any:
        """Return the value of a pure function's body."""
        if not is_pure_block(statements, returns=True):
            self.run.refuse("a function called in a branch on a private condition must only compute a value")
        found = self._pure_block(statements, scope)
        return None if found is NO_VALUE else found

    def _pure_block(self, statements: Sequence[ast.stmt], scope: Scope) -> Any:
        """Run pure statements, and return the value of a return statement, or ``NO_VALUE``."""
        for place, part in enumerate(statements):
            self.run.tick()
            self._at(part, scope)
            if isinstance(part, ast.Return):
                assert part.value is not None
                return self.evaluate(part.value, scope)
            if isinstance(part, ast.Assign):
                self._assign_number(part.targets[0], self.evaluate(part.value, scope), scope)
            elif isinstance(part, ast.AugAssign):
                assert isinstance(part.target, ast.Name)
                old = self.lookup(part.target.id, scope)
                if self.pure and isinstance(old, Array | list):
                    self.run.refuse("an array or list is changed in a branch on a private condition")
                value = self._in_place(OPERATORS[type(part.op)], old, self.evaluate(part.value, scope))
                self._assign_number(part.target, value, scope)
            elif isinstance(part, ast.If):
                rest = statements[place + 1 :]
                test = self._truthful(self.evaluate(part.test, scope))
                if not is_private(test):
                    block = part.body if truth(self.run, test) else part.orelse
                    found = self._pure_block(block, scope)
                    if found is not NO_VALUE:
                        return found
                elif _returns([part]):
                    return self._returned(test, part, rest, scope)
                else:
                    self.both_branches(part, test, scope)
        return NO_VALUE

    def _returned(self, test: Any, node: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> Any:
        """Return the value of a function that returns inside a private branch.

        Each side is followed to the end of the function.
        """
        with self._purely():
            found = [
                self._pure_block([*block, *rest], self._copy(scope)) for block in (node.body, node.orelse)
            ]
            if NO_VALUE in found:
                self.run.refuse("a function returns a number or None, depending on a private condition")
            return join(self.run, as_condition(self.run, test), *found)

    def _assign_number(self, target: ast.expr, value: Any, scope: Scope) -> None:
        assert isinstance(target, ast.Name)
        if target.id not in scope.local or target.id in scope.nonlocal_:
            self.run.refuse("a branch on a private condition assigns a name of an enclosing function")
        if isinstance(content(value), Lazy | DictView):
            self.run.refuse("an iterator is assigned to a name (use a list)")
        scope.names[target.id] = value

    def require_pure_call(self, inner: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        """Refuse a call of a function that does more than compute."""
        if any(isinstance(content(one), Lazy | DictView) for one in (*arguments, *options.values())):
            self.run.refuse("an iterator is used in a branch on a private condition (use a list)")
        pure = isinstance(inner, Accepted | Function) or (isinstance(inner, Named) and inner.name in BUILTINS)
        if isinstance(inner, Bound):
            owner = content(inner.value)
            plain = isinstance(owner, list | tuple | dict | str) and inner.name in METHODS
            # Other symbols have methods with effects: sessions, generators, coins.
            pure = plain or isinstance(owner, (np.ndarray, Private, Public, Filtered, Entries, Text, *FRAMES))
        if not pure:
            self.run.refuse("a branch on a private condition calls a function that does more than compute")
        if isinstance(inner, Named) and "key" in options:
            self.run.refuse("max() and min() with key= are not supported in a branch on a private condition")

    def summed(self, items: ast.GeneratorExp | ast.ListComp, scope: Scope, *, count: bool) -> Any:
        """Return ``sum(f(x) for x in items if q(x))``, or ``len([f(x) for x in items if q(x)])``.

        This is the loop ``for x in items: if q(x): total += f(x)`` from 0.
        """
        [part] = items.generators
        inner = scope_inside(scope, part.target)
        test = part.ifs[0] if len(part.ifs) == 1 else ast.BoolOp(ast.And(), part.ifs)
        total: Any = 0
        for item in self.iterate(self.evaluate(part.iter, scope)):
            self.run.tick()
            self.assign(part.target, item, inner)
            decides = self._truthful(self.evaluate(test, inner))
            if not is_private(decides):
                if truth(self.run, decides):
                    value = self.evaluate(items.elt, inner)
                    total = self._operate("add", total, 1 if count else value)
                continue
            self._require_pure([items.elt])
            with self._purely():
                value = self.evaluate(items.elt, inner)
                more = self._operate("add", total, 1 if count else value)
                total = join(self.run, as_condition(self.run, decides), more, total)
        return total

    def _at(self, node: Any, scope: Scope) -> None:
        """Record the line of a node for messages."""
        raise NotImplementedError
