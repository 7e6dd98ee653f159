"""Evaluate each kind of expression."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dpaudit.prover.values.branches import Branches
from dpaudit.prover.values.joins import as_condition, is_private, join
from dpaudit.prover.values.operations import (
    LATER,
    content,
    function_of,
    is_plain,
    truth,
    unary,
)
from dpaudit.prover.values.scopes import (
    OPERATORS,
    Class,
    Function,
    Instance,
    Lazy,
    Scope,
    is_key,
    scope_inside,
)
from dpaudit.prover.values.sources import Source
from dpaudit.prover.values.texts import has_text, text_compared
from dpaudit.prover.values.values import Coin, Named

__all__ = ["Expressions"]


class Expressions(Branches):
    """The part of the interpreter that evaluates expressions."""

    def evaluate(self, node: ast.expr, scope: Scope) -> Any:
        """Return the value of an expression, or refuse an expression without a handler."""
        kind = type(node)
        handler = self.handlers.get(kind)
        if handler is None:
            handler = self.handlers[kind] = getattr(self, f"_of_{kind.__name__}", None)
        if handler is None:
            self.run.refuse(f"the expression {kind.__name__} is not supported")
        return handler(node, scope)

    def _of_Constant(self, node: ast.Constant, scope: Scope) -> Any:
        if isinstance(node.value, complex):
            self.run.refuse("complex numbers are not supported")
        return node.value

    def _of_Name(self, node: ast.Name, scope: Scope) -> Any:
        return self.lookup(node.id, scope)

    def _of_Tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self._parts(node.elts, scope))

    def _of_List(self, node: ast.List, scope: Scope) -> Any:
        return self._parts(node.elts, scope)

    def _of_Set(self, node: ast.Set, scope: Scope) -> Any:
        return self._builtin_set(self._parts(node.elts, scope))

    def _of_Dict(self, node: ast.Dict, scope: Scope) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                more = content(self.evaluate(value, scope))
                if not isinstance(more, dict):
                    self.run.refuse("** requires a dict")
                found.update(more)
                continue
            name = self.evaluate(key, scope)
            if not is_key(name):
                self.run.refuse("a dict key must be a plain number or text, got a private or released value")
            found[name] = self._finished(self.evaluate(value, scope))
        return found

    def _of_BinOp(self, node: ast.BinOp, scope: Scope) -> Any:
        op = OPERATORS.get(type(node.op)) or self.run.refuse(
            f"the operator {type(node.op).__name__} is not supported"
        )
        left = self.evaluate(node.left, scope)
        right = self.evaluate(node.right, scope)
        self._at(node, scope)
        if op == "mod" and isinstance(left, str):
            return self._plain_text(left, right)
        return self._operate(op, left, right)

    def _of_UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.evaluate(node.operand, scope)
        if isinstance(node.op, ast.Not):
            if is_private(value):
                return join(self.run, as_condition(self.run, value), False, True)
            return not truth(self.run, self._truthful(value))
        op = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "not"}[type(node.op)]
        return unary(self.run, op, value)

    def _of_BoolOp(self, node: ast.BoolOp, scope: Scope) -> Any:
        value = None
        for part in node.values:
            value = self.evaluate(part, scope)
            if part is node.values[-1]:
                return value
            if is_private(value):
                rest = node.values[node.values.index(part) + 1 :]
                return self.both(isinstance(node.op, ast.And), value, rest, scope)
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
            if part is not node.comparators[-1] and is_private(found):
                place = node.comparators.index(part) + 1
                names = Scope({**scope.names, "": right}, scope.local | {""}, scope.outer, scope.function)
                names.nonlocal_ = scope.nonlocal_
                rest = ast.Compare(ast.Name("", ast.Load()), node.ops[place:], node.comparators[place:])
                return self.both(True, found, [ast.copy_location(rest, node)], names)
            if len(node.ops) > 1 and part is not node.comparators[-1] and not truth(self.run, found):
                return found
            left = right
        return found

    def _of_IfExp(self, node: ast.IfExp, scope: Scope) -> Any:
        test = self._truthful(self.evaluate(node.test, scope))
        if is_private(test):
            return self.chosen(test, node, scope)
        coin = content(test)
        if (
            isinstance(coin, Coin)
            and not coin.uniform.used
            and _is_simple(node.body)
            and _is_simple(node.orelse)
        ):
            options = [self.evaluate(one, scope) for one in (node.body, node.orelse)]
            found = LATER["coin choice"](self.run, coin, *options)
            if found is not None:
                return found
        return self.evaluate(node.body if truth(self.run, test) else node.orelse, scope)

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
            self.run.refuse("a format specification must be constant, got a released value")
        converters: dict[int, Callable[[Any], Any]] = {-1: lambda x: x, 115: str, 114: repr, 97: ascii}
        convert = converters[node.conversion]
        form: Callable[[Any], str] = lambda x: format(convert(x), spec)  # noqa: E731
        if is_plain(value):
            return self.run.plain(form, content(value))
        return function_of(self.run, f"format {spec} {node.conversion}", form, value)

    def _of_ListComp(self, node: ast.ListComp, scope: Scope) -> Any:
        return [self._finished(item) for item in self._comprehended(node.generators, [node.elt], scope)]

    def _of_SetComp(self, node: ast.SetComp, scope: Scope) -> Any:
        return self._builtin_set(list(self._comprehended(node.generators, [node.elt], scope)))

    def _of_DictComp(self, node: ast.DictComp, scope: Scope) -> Any:
        found = {}
        for key, value in self._comprehended(node.generators, [node.key, node.value], scope):
            if not is_key(key):
                self.run.refuse("a dict key must be a plain number or text, got a private or released value")
            found[key] = self._finished(value)
        return found

    def _of_GeneratorExp(self, node: ast.GeneratorExp, scope: Scope) -> Any:
        return Lazy(self._comprehended(node.generators, [node.elt], scope))

    def _of_Subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        value, key = self.evaluate(node.value, scope), self.evaluate(node.slice, scope)
        self._at(node, scope)
        return self.item(value, key)

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

    def _of_Call(self, node: ast.Call, scope: Scope) -> Any:
        function = self.evaluate(node.func, scope)
        if _counts_filtered(function, node):
            return self.summed(node.args[0], scope, count=function.name == "len")  # type: ignore[arg-type]
        arguments, options = self._arguments_of(node, scope)
        self._at(node, scope)
        return self.call(function, arguments, options, node)

    def _arguments_of(self, node: ast.Call, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
        arguments: list[Any] = []
        for part in node.args:
            if isinstance(part, ast.Starred):
                arguments.extend(self.iterate(self.evaluate(part.value, scope)))
            else:
                arguments.append(self.evaluate(part, scope))
        options: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            more = content(value) if keyword.arg is None else {keyword.arg: value}
            if not isinstance(more, dict) or not all(isinstance(key, str) for key in more):
                self.run.refuse("** in a call requires a dict with string keys")
            if set(options) & set(more):
                self._raises(TypeError("an argument is given twice"))
            options |= more
        return arguments, options

    def _parts(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found.extend(self.iterate(self.evaluate(node.value, scope)))
            else:
                found.append(self._finished(self.evaluate(node, scope)))
        return found

    def _plain_text(self, left: str, right: Any) -> Any:
        right = self._text_value(right)
        if is_plain(right):
            return self.run.plain(lambda a, b: a % b, left, content(right))
        return function_of(self.run, "text %", lambda a, b: a % b, left, right)

    def _compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Is | ast.IsNot):
            return self._identical(left, right) == isinstance(op, ast.Is)
        if has_text(left, right):
            return text_compared(self.run, op, left, right)
        if isinstance(op, ast.In | ast.NotIn):
            inside, left = content(right), self.run.whole.if_integer(self.run, content(left))
            if (
                not is_plain(left)
                or not is_plain(right)
                or not isinstance(inside, list | tuple | dict | str | range | set | frozenset)
            ):
                self.run.refuse(
                    "in and not in are not supported for private values, released values or arrays"
                )
            return self.run.plain(lambda a, b: a in b, content(left), inside) == isinstance(op, ast.In)
        return self._operate(OPERATORS[type(op)], left, right)

    def _identical(self, left: Any, right: Any) -> bool:
        """Return ``left is right`` for None, and for objects that the interpreter keeps as one."""
        if left is None or right is None:
            return left is right
        if all(type(one) in (Instance, Class, bool) for one in (left, right)):
            return left is right
        return self.run.refuse("is and is not are only supported with None, True, False, classes and objects")

    def _comprehended(
        self, generators: Sequence[ast.comprehension], results: Sequence[ast.expr], scope: Scope
    ) -> Iterator[Any]:
        """Yield the values of a comprehension. As in Python, its first iterable is evaluated at once."""
        inner = scope_inside(scope, *(generator.target for generator in generators))
        first = self.evaluate(generators[0].iter, scope)

        def turn(level: int, items: Any) -> Iterator[Any]:
            generator = generators[level]
            if generator.is_async:
                self.run.refuse("an asynchronous comprehension is not supported")
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

    def _made(self, node: Any, scope: Scope) -> Function:
        defaults = tuple(self.evaluate(value, scope) for value in node.args.defaults)
        named = {
            a.arg: self.evaluate(value, scope)
            for a, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if value is not None
        }
        source = Source(node, scope.function.source.filename)
        return Function(source, scope, scope.function.real, scope.function.globals, defaults, named)

    def _at(self, node: Any, scope: Scope) -> None:
        if not hasattr(node, "place"):
            node.place = f"{scope.function.source.filename.rpartition('/')[2]}:{node.lineno}"
        self.run.where = node.place


def _counts_filtered(function: Any, node: ast.Call) -> bool:
    """Return whether a call is ``sum(... for ... if ...)`` or ``len([... for ... if ...])``."""
    if not isinstance(function, Named) or len(node.args) != 1 or node.keywords:
        return False
    kinds = {"sum": ast.GeneratorExp | ast.ListComp, "len": ast.ListComp}
    items = node.args[0]
    if function.name not in kinds or not isinstance(items, kinds[function.name]):
        return False
    return len(items.generators) == 1 and bool(items.generators[0].ifs) and not items.generators[0].is_async


def _is_simple(node: ast.expr) -> bool:
    """Return whether an expression has only names, constants and arithmetic, and so no side effects."""
    kinds = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
    return all(isinstance(part, kinds) for part in ast.walk(node))
