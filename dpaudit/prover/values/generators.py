"""Follow generator functions as values: ``next``, ``send``, ``close``, ``for``, and ``yield`` expressions.

The statements of a generator run inside a Python generator, so its state between two values is kept by Python
itself. A statement without ``yield`` runs as in a function. In an expression with ``yield``, the parts are
evaluated from left to right, as Python does, and then replaced by their values.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from dpaudit.prover.values.exceptions import Exceptions
from dpaudit.prover.values.operations import content, truth
from dpaudit.prover.values.run import ProgramRaisedError
from dpaudit.prover.values.scopes import MAX_DEPTH, Lazy, Left, Raised, Running, Scope, yields

__all__ = ["Finished", "Generators"]

MISSING = object()
Steps = Generator[Any, Any, Any]


class Finished(Exception):
    """A generator has returned ``value``."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Held(ast.expr):
    """An expression that is already evaluated."""

    value: Any


#: Expressions whose parts Python evaluates from left to right, each exactly once.
IN_ORDER = (ast.Call, ast.keyword, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Attribute)


class Generators(Exceptions):
    """The part of the interpreter that runs generators."""

    def generator(self, node: Any, scope: Scope) -> Running:
        """Return a new generator, which has not started."""
        if isinstance(node, ast.Lambda):
            self.run.refuse("a lambda with yield is not supported")
        running = Running(None, scope.function.source.name)
        running.steps = self._run(node.body, scope, running)
        return running

    def _run(self, body: Sequence[ast.stmt], scope: Scope, running: Running) -> Steps:
        scope.running = running
        try:
            yield from self._steps(body, scope)
        except Left as left:
            return left.value
        return None

    def resume(self, running: Running, sent: Any = None) -> Any:
        """Run a generator to its next value.

        Raises
        ------
        Finished
            The generator returns, or has returned before.
        """
        if running.state in ("running", "closing"):
            self.run.refuse("a generator resumes itself, which raises ValueError")
        if running.state == "finished":
            raise Finished(None)
        if running.state == "new" and sent is not None:
            self.run.refuse("a value is sent to a generator that has not started, which raises TypeError")
        if self.depth > MAX_DEPTH:
            self.run.refuse(f"calls are nested more than {MAX_DEPTH} deep")
        running.state = "running"
        self.depth += 1
        where = self.run.where
        handling, self.handling = self.handling, []
        try:
            found = running.steps.send(sent)
        except StopIteration as stop:
            running.state = "finished"
            raise Finished(stop.value) from None
        except ProgramRaisedError as raised:
            running.state = "finished"
            if isinstance(raised.error, StopIteration):
                self.run.refuse("StopIteration leaves a generator, which raises RuntimeError")
            raise
        finally:
            self.depth -= 1
            self.handling = handling
        self.run.where = where
        running.state = "waiting"
        return found

    def close(self, generator: Running) -> None:
        """Follow ``g.close()``: the generator ends at its ``yield``."""
        if generator.state in ("running", "closing"):
            self.run.refuse("a generator closes itself, which raises ValueError")
        if generator.state == "waiting":
            generator.state = "closing"
            generator.steps.close()
        generator.state = "finished"

    def iterate_object(self, value: Any) -> Iterator[Any]:
        """Yield the items of a generator or an instance."""
        if not isinstance(value, Running):
            yield from super().iterate_object(value)
            return
        while True:
            try:
                item = self.resume(value)
            except Finished:
                return
            yield item

    def _builtin_next(self, items: Any, default: Any = MISSING) -> Any:
        inner = content(items)
        if isinstance(inner, Running):
            try:
                return self.resume(inner)
            except Finished as end:
                return self._ended(end.value, default)
        if not isinstance(inner, Lazy):
            self.run.refuse("next() requires a generator or an iterator")
        item = self.next_of(inner, None)
        return self._ended(None, default) if item is None else item[0]

    def _ended(self, value: Any, default: Any) -> Any:
        if default is MISSING:
            raise ProgramRaisedError(StopIteration(), value)
        return default

    def _method(self, value: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        inner = content(value)
        if not isinstance(inner, Running):
            return super()._method(value, name, arguments, options)
        if options or len(arguments) != (name == "send"):
            self.run.refuse(f"{name}() of a generator takes {int(name == 'send')} arguments")
        if name == "close":
            return self.close(inner)
        try:
            return self.resume(inner, self._finished(arguments[0]))
        except Finished as end:
            return self._ended(end.value, MISSING)

    # Expressions.

    def _of_Held(self, node: Held, scope: Scope) -> Any:
        return node.value

    def _value(self, node: ast.expr, scope: Scope) -> Steps:
        """Evaluate an expression that may hold ``yield``."""
        if not yields(node):
            return self.evaluate(node, scope)
        if isinstance(node, ast.Yield):
            value = None if node.value is None else (yield from self._value(node.value, scope))
            sent = yield self._finished(value)
            self._at(node, scope)
            return sent
        if isinstance(node, ast.YieldFrom):
            return (yield from self._delegated((yield from self._value(node.value, scope)), node, scope))
        if isinstance(node, ast.IfExp):
            test = truth(self.run, self._truthful((yield from self._value(node.test, scope))))
            return (yield from self._value(node.body if test else node.orelse, scope))
        if not isinstance(node, IN_ORDER) or any(
            isinstance(part, ast.Starred) or (isinstance(part, ast.keyword) and part.arg is None)
            for part in ast.iter_child_nodes(node)
        ):
            self.run.refuse("yield is not supported in this expression (assign it to a name first)")
        found: Any = copy.copy(node)
        for name, part in ast.iter_fields(node):
            if isinstance(part, ast.expr):
                setattr(found, name, (yield from self._held(part, scope)))
            elif isinstance(part, list):
                held = []
                for item in part:
                    if isinstance(item, ast.keyword):
                        kept = yield from self._held(item.value, scope)
                        held.append(ast.keyword(arg=item.arg, value=kept))
                    else:
                        held.append((yield from self._held(item, scope)))
                setattr(found, name, held)
        return self.evaluate(found, scope)

    def _held(self, node: ast.expr, scope: Scope) -> Steps:
        held = Held()
        held.value = yield from self._value(node, scope)
        return ast.copy_location(held, node)

    def _delegated(self, value: Any, node: ast.expr, scope: Scope) -> Steps:
        """Follow ``yield from``."""
        inner = content(value)
        if not isinstance(inner, Running):
            for item in self.iterate(value):
                if (yield item) is not None:
                    self.run.refuse("a value is sent through yield from to an iterator without send()")
            return None
        sent = None
        while True:
            try:
                item = self.resume(inner, sent)
            except Finished as end:
                return end.value
            try:
                sent = yield item
            except GeneratorExit:
                if scope.running is not None and scope.running.state == "closing":
                    self.close(inner)
                raise
            self._at(node, scope)

    # Statements.

    def _steps(self, statements: Sequence[ast.stmt], scope: Scope) -> Steps:
        for statement in statements:
            if not yields(statement):
                self.block([statement], scope)
                continue
            self.run.tick()
            self._at(statement, scope)
            handler = getattr(self, f"_steps_{type(statement).__name__}", None)
            if handler is None:
                self.run.refuse("yield is not supported in this statement (assign it to a name first)")
            yield from handler(statement, scope)

    def _steps_Expr(self, node: ast.Expr, scope: Scope) -> Steps:
        yield from self._value(node.value, scope)

    def _steps_Assign(self, node: ast.Assign, scope: Scope) -> Steps:
        value = yield from self._value(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def _steps_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> Steps:
        assert node.value is not None
        self.assign(node.target, (yield from self._value(node.value, scope)), scope)

    def _steps_Return(self, node: ast.Return, scope: Scope) -> Steps:
        assert node.value is not None
        raise Left("return", (yield from self._value(node.value, scope)))

    def _steps_If(self, node: ast.If, scope: Scope) -> Steps:
        test = truth(self.run, self._truthful((yield from self._value(node.test, scope))))
        yield from self._steps(node.body if test else node.orelse, scope)

    def _steps_While(self, node: ast.While, scope: Scope) -> Steps:
        while truth(self.run, self._truthful((yield from self._value(node.test, scope)))):
            if (yield from self._one_round(node.body, scope)):
                return
        yield from self._steps(node.orelse, scope)

    def _steps_For(self, node: ast.For, scope: Scope) -> Steps:
        items = yield from self._value(node.iter, scope)
        for item in self.iterate(items):
            self.assign(node.target, item, scope)
            if (yield from self._one_round(node.body, scope)):
                return
        yield from self._steps(node.orelse, scope)

    def _one_round(self, body: Sequence[ast.stmt], scope: Scope) -> Steps:
        """Run the body of a loop once, and return whether a break ends the loop."""
        try:
            yield from self._steps(body, scope)
        except Left as left:
            if left.kind == "return":
                raise
            return left.kind == "break"
        return False

    def _steps_Try(self, node: ast.Try, scope: Scope) -> Steps:
        self._require_closing(node, scope)
        handlers = [(self._caught(handler, scope), handler) for handler in node.handlers]
        try:
            try:
                yield from self._steps(node.body, scope)
            except ProgramRaisedError as raised:
                for kinds, handler in handlers:
                    if isinstance(raised.error, kinds):
                        yield from self._handled(handler, Raised(raised.error, raised.value), scope)
                        break
                else:
                    raise
            else:
                yield from self._steps(node.orelse, scope)
        except (Left, ProgramRaisedError):
            self._close_all(node.finalbody, scope)
            raise
        except GeneratorExit:
            if scope.running is not None and scope.running.state == "closing":
                self._close_all(node.finalbody, scope)
            raise
        self._close_all(node.finalbody, scope)

    def _handled(self, handler: ast.ExceptHandler, raised: Raised, scope: Scope) -> Steps:
        if any(yields(statement) for statement in handler.body):
            self.run.refuse("yield is not supported in a handler")
        if handler.name is not None:
            self._store(handler.name, raised, scope)
        self.handling.append(raised)
        try:
            yield from self._steps(handler.body, scope)
        finally:
            self.handling.pop()
            if handler.name is not None:
                scope.names.pop(handler.name, None)
