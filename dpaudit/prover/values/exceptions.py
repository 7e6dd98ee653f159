"""Follow ``raise`` and ``try``.

A handler is only sound if the interpreter knows every exception that reaches it. Python raises exceptions of
its own, such as ZeroDivisionError, where the interpreter computes with released values and does not decide
whether they are raised. Without a handler, such an exception ends the run, and the output is still a function
of released values. With a handler, the program would go on along a path that was never explored. Handlers are
therefore limited to exceptions that only followed code can raise: classes defined in followed files, and
StopIteration, which only ``next``, ``send`` and ``raise`` raise.

``finally`` also runs after an exception that the interpreter does not see, in a state that was not explored.
It may therefore only close generators. Closing runs no code but other such ``finally`` blocks.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator
from functools import lru_cache
from typing import Any

from dpaudit.core import errors
from dpaudit.prover.values.objects import Objects
from dpaudit.prover.values.operations import content
from dpaudit.prover.values.run import ProgramRaisedError
from dpaudit.prover.values.scopes import Raised, Running, Scope
from dpaudit.prover.values.values import Named

__all__ = ["Exceptions"]

#: Attributes that a followed exception class may have besides plain constants.
ORDINARY = ("__module__", "__doc__", "__qualname__", "__weakref__", "__dict__", "__static_attributes__",
            "__firstlineno__", "__annotations__")  # fmt: skip
KNOWN = (errors.InvalidParameterError, errors.MechanismError, errors.NotTractableError)


def _is_local(name: str, scope: Scope | None) -> bool:
    """Return whether a followed function assigns the name."""
    while scope is not None:
        if name in scope.local:
            return True
        scope = scope.outer
    return False


def _closed(statement: ast.stmt) -> str | None:
    """Return the name g of a statement ``g.close()``, or None for another statement."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "close"
        and isinstance(call.func.value, ast.Name)
        and not call.args
        and not call.keywords
    ):
        return call.func.value.id
    return None


@lru_cache(maxsize=256)  # a statement runs on every path
def _assigned(node: ast.Try, function: ast.AST) -> frozenset[str]:
    """Return the names that a statement may assign, and those that an inner function may."""
    assigned: set[str] = set()
    for part in (*ast.walk(node), *ast.walk(function)):
        if isinstance(part, ast.Nonlocal):
            assigned |= set(part.names)
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            assigned.add(part.id)
        if isinstance(part, ast.ExceptHandler) and part.name is not None:
            assigned.add(part.name)
        if isinstance(part, ast.FunctionDef):
            assigned.add(part.name)
    return frozenset(assigned)


class Exceptions(Objects):
    """The part of the interpreter that raises and catches exceptions."""

    def enter_object(self, value: Any, what: str) -> Any:
        """Admit the exceptions of dpaudit and of followed files too."""
        if isinstance(value, type) and issubclass(value, Exception):
            if value in KNOWN or self._is_own(value):
                return Named("error", value)
            return None
        return super().enter_object(value, what)

    def _is_own(self, error: type) -> bool:
        """Return whether an exception class is defined in a followed file and adds no behaviour."""
        if getattr(sys.modules.get(error.__module__), "__file__", None) not in self.files:
            return False
        if issubclass(error, StopIteration):  # it has a value of its own
            return False
        for base in error.__mro__:
            builtin = (
                base.__module__ == "builtins" and vars(sys.modules["builtins"]).get(base.__name__) is base
            )
            if builtin or base in (*KNOWN, errors.CodedError, errors.DpauditError):
                continue
            if type(base) is not type:
                return False
            for name, meta in vars(base).items():
                if name not in ORDINARY and type(meta) not in (str, int, float, bool):
                    return False
        return True

    # raise

    def _do_Raise(self, node: ast.Raise, scope: Scope) -> None:
        if node.exc is None:
            if not self.handling:
                self.run.refuse("raise without an exception is only supported in a handler")
            raise ProgramRaisedError(self.handling[-1].error, self.handling[-1].value)
        raised = self._exception(self.evaluate(node.exc, scope))
        cause = None if node.cause is None else self.evaluate(node.cause, scope)
        if cause is not None:
            self._exception(cause)
        raise ProgramRaisedError(raised.error, raised.value)

    def _exception(self, value: Any) -> Raised:
        inner = content(value)
        if isinstance(inner, Raised):
            return inner
        if not isinstance(inner, Named) or inner.name != "error":
            self.run.refuse("raise requires an exception with plain arguments")
        return Raised(self.run.plain(inner.real))

    # try

    def _do_Try(self, node: ast.Try, scope: Scope) -> None:
        for _ in self._steps_Try(node, scope):
            raise AssertionError("a try statement without yield yields nothing")

    def _steps_Try(self, node: ast.Try, scope: Scope) -> Generator[Any, Any, Any]:
        raise NotImplementedError

    def _caught(self, handler: ast.ExceptHandler, scope: Scope) -> tuple[type, ...]:
        """Return the classes that a handler catches, if only followed code can raise them."""
        if handler.type is None:
            self.run.refuse(
                "except without a class is not supported (name an exception class of the program)"
            )
        names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if not all(isinstance(name, ast.Name) and not _is_local(name.id, scope) for name in names):
            # A local variable could hold another class when Python raises an exception of its own.
            self.run.refuse("except requires the names of classes from outside the function")
        value = self.evaluate(handler.type, scope)
        kinds = [content(kind) for kind in (value if isinstance(value, tuple) else (value,))]
        for kind in kinds:
            if not isinstance(kind, Named) or kind.name != "error":
                self.run.refuse("except requires exception classes")
            if kind.real is not StopIteration and not self._is_own(kind.real):
                self.run.refuse(
                    f"except {kind.real.__name__} is not supported, because operations on private or released"
                    " values may raise it (define and raise an exception class of the program)"
                )
        return tuple(kind.real for kind in kinds)

    def _require_closing(self, node: ast.Try, scope: Scope) -> None:
        """Refuse a ``finally`` that does more than closing generators.

        Their names must refer to the same generators whenever Python leaves the body, so they are local names
        that neither the statement nor an inner function assigns.
        """
        names = [_closed(statement) for statement in node.finalbody]
        assigned = _assigned(node, scope.function.source.node)
        for name in names:
            if name is None or name in assigned or name not in scope.local:
                self.run.refuse(
                    "finally is only supported with g.close() of a local generator g that try does not assign"
                )
            if not isinstance(content(self.lookup(name, scope)), Running):
                self.run.refuse(f"finally closes {name}, which is not a generator")

    def _close_all(self, statements: list[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self._at(statement, scope)
            assert isinstance(statement, ast.Expr)
            assert isinstance(statement.value, ast.Call)
            assert isinstance(statement.value.func, ast.Attribute)
            target = content(self.evaluate(statement.value.func.value, scope))
            if not isinstance(target, Running):
                self.run.refuse("finally is only supported with g.close() of a generator g")
            self.close(target)

    def close(self, generator: Running) -> None:
        """Close a generator."""
        raise NotImplementedError
