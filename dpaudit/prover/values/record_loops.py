"""Follow loops over records that add a function of each record to running totals.

    for x in data:
        if x > 3:
            total += min(x, 10)

Each iteration maps (totals, record) to totals + f(record), so the loop is a sum over records of f. The loop
is read as a function f of whole columns: a branch becomes ``where``, and the totals become sums of columns.
This works for every number of records. A loop in which an iteration reads a total, or a variable of an
earlier iteration, has another form and is not read here. The real loop runs on sample data, with equal
results.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.core.errors import BrokenHarnessError
from dpaudit.prover.values.functions import Accepted, call_accepted
from dpaudit.prover.values.matrices import extent_value, index, shape_value
from dpaudit.prover.values.operations import binary, content, is_plain, shape_of, truth, unary
from dpaudit.prover.values.run import exact
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.scopes import OPERATORS, Scope, names_in, scope_inside
from dpaudit.prover.values.texts import has_text, text_compared, text_length, text_lookup, text_method
from dpaudit.prover.values.values import (
    MISSING,
    Array,
    Gone,
    Listed,
    Named,
    Private,
    Public,
    Text,
    Texts,
)

if TYPE_CHECKING:
    from dpaudit.prover.values.generators import Generators as Interpreter

__all__ = ["follows_list", "follows_loop", "follows_sum"]

BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
STATEMENTS = (ast.Assign, ast.AugAssign, ast.If, ast.Pass)
#: Functions that act on each entry alone, for numbers and for columns.
ELEMENTWISE = (
    np.clip, np.minimum, np.maximum, np.abs, np.tanh, np.sin, np.cos, np.exp, np.sqrt, np.log, np.square, abs,
)  # fmt: skip
#: Constants, and displays of them.
CONSTANTS = (ast.Constant, ast.Name, ast.Set, ast.List, ast.Tuple)
PLAIN = (bool, int, float, np.bool_, np.int64, np.float64)
#: The name of the records and of the total of a generator in the loop that runs on sample data.
RECORDS, TOTAL = " records", " total"


class OtherFormError(Exception):
    """The loop is not a sum over records of a function of one record."""


def follows_loop(interpreter: Interpreter, node: ast.For, items: Any, scope: Scope) -> bool:
    """Run a loop over records as sums of columns, and return whether it has this form."""
    column = _column(items)
    if column is None or node.orelse or _is_unrolled(interpreter, node, column):
        return False
    try:
        loop = Loop(interpreter, node, column, scope)
        totals = loop.totals()
    except OtherFormError:
        return False
    before = {name: interpreter.lookup(name, scope) for name in totals}
    if any(type(content(old)) not in (*PLAIN, Private) or shape_of(old) != () for old in before.values()):
        return False
    for name, value in totals.items():
        interpreter._store(name, binary(interpreter.run, "add", before[name], value), scope)
    for name in loop.temporary:
        interpreter._store(name, Gone(), scope)
    return True


def follows_sum(interpreter: Interpreter, call: ast.Call, scope: Scope) -> Any:
    """Return ``sum(f(x) for x in data if ...)`` or ``len([x for x in data if ...])``, or None for others."""
    if not isinstance(call.func, ast.Name) or call.func.id not in ("sum", "len") or len(call.args) != 1:
        return None
    made = call.args[0]
    lists = ast.ListComp if call.func.id == "len" else ast.ListComp | ast.GeneratorExp
    if call.keywords or not isinstance(made, lists) or len(made.generators) != 1:
        return None
    [part] = made.generators
    function = content(interpreter.evaluate(call.func, scope))
    if not isinstance(part.iter, ast.Name) or not isinstance(function, Named) or part.is_async:
        return None
    if function.name != call.func.id or any(isinstance(n, ast.NamedExpr) for n in ast.walk(made)):
        return None
    column = _column(interpreter.evaluate(part.iter, scope))
    added = ast.Constant(1) if call.func.id == "len" else made.elt
    body: list[ast.stmt] = [ast.AugAssign(ast.Name(TOTAL, ast.Store()), ast.Add(), added)]
    for test in reversed(part.ifs):
        body = [ast.If(test, body, [])]
    loop = ast.fix_missing_locations(ast.copy_location(ast.For(part.target, part.iter, body, []), call))
    if column is None or _is_unrolled(interpreter, loop, column):
        return None
    try:
        return Loop(interpreter, loop, column, scope_inside(scope, part.target)).totals().get(TOTAL, 0)
    except OtherFormError:
        return None


def follows_list(interpreter: Interpreter, node: ast.ListComp, scope: Scope) -> Any:
    """Return ``[f(t) for t in texts]`` for a list of texts of unknown length, or None for others."""
    [part, *others] = node.generators
    if others or part.ifs or part.is_async or not isinstance(part.iter, ast.Name):
        return None
    if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)):
        return None
    texts = content(interpreter.evaluate(part.iter, scope))
    if not isinstance(texts, Texts):
        return None
    loop = ast.For(
        part.target, part.iter, [ast.AugAssign(ast.Name(TOTAL, ast.Store()), ast.Add(), node.elt)], []
    )
    loop = ast.fix_missing_locations(ast.copy_location(loop, node))
    try:
        return Loop(interpreter, loop, texts.column, scope_inside(scope, part.target)).listed(node.elt)
    except OtherFormError:
        return None


def _is_unrolled(interpreter: Interpreter, loop: ast.For, column: Private) -> bool:
    """Return whether the iterations are followed one by one: their number is known, and none branches."""
    known = isinstance(column.shape[0], int) and not interpreter.run.s.length_is_private
    branches = any(isinstance(part, ast.If | ast.IfExp) for part in ast.walk(loop))
    return known and column.info.kind != "t" and not branches


def _column(items: Any) -> Private | None:
    """Return records that a loop can be read over: an array with one number or one row per record."""
    inner = content(items)
    if isinstance(inner, Texts):
        return inner.column
    if isinstance(inner, list) and inner and isinstance(inner[0], Text):
        column = inner[0].column
        places = [
            one.place for one in inner if isinstance(one, Text) and one.column is column and not one.changes
        ]
        return column if places == list(range(len(inner))) == list(range(column.shape[0])) else None  # type: ignore[arg-type]
    if not isinstance(items, Array) or not isinstance(inner, Private) or inner.info.records != 1:
        return None
    return inner if len(inner.shape) <= 2 else None


class Loop:
    """One loop over the records of ``column``, as a function of whole columns."""

    def __init__(self, interpreter: Interpreter, node: ast.For, column: Private, scope: Scope) -> None:
        self.interpreter, self.node, self.column, self.scope = interpreter, node, column, scope
        self.run = interpreter.run
        if not isinstance(node.target, ast.Name):
            raise OtherFormError
        self.target = node.target.id
        #: Variables of one iteration, and running totals.
        self.temporary = {self.target, *_assigned(node.body)}
        self.summed = _stored(node.body) - self.temporary
        self.outer: dict[str, Any] = {}
        #: Whether the path decides on an outcome, whose sample value may disagree.
        self.forced = False
        #: Whether the numbers are kept in a list, where a type that depends on the record could show.
        self.listing = False
        _require_statements(node.body)

    def totals(self) -> dict[str, Any]:
        """Return what the loop adds to each running total."""
        text = self.column.info.kind == "t"
        first: Any = Text(self.column, None) if text else Array(self.column)
        _, added = self.block(self.node.body, {self.target: first})
        found = {name: self.sum_of(value) for name, value in added.items()}
        self.verify(found)
        self.run.untyped = True
        return found

    def listed(self, element: ast.expr) -> Listed:
        """Return the list of an expression for each record, compared with the real list on samples."""
        self.listing = True
        found = content(self.value(element, {self.target: Text(self.column, None)}))
        if not isinstance(found, Private):
            raise OtherFormError
        part = ast.comprehension(self.node.target, ast.Name(RECORDS, ast.Load()), [], 0)
        tree = ast.Expression(ast.ListComp(element, [part]))
        code = compile(ast.fix_missing_locations(tree), "list", "eval")
        for side in self.run.worlds.sides if not self.forced else ():
            space = self.space(side)
            real, mine = apply(eval, code, space), found.samples[side]
            known = not any(one is MISSING for one in (real, mine, *space.values()))
            if known and not np.allclose(np.array(real), mine, rtol=1e-7, atol=1e-9):
                self.differs("list", mine, real)
        return Listed(found)

    def space(self, side: int) -> dict[str, Any]:
        """Return the names that the loop reads, with their values on one side of the sample data."""
        found = {name: self.run.sample(value, side) for name, value in self.outer.items() if "." not in name}
        found |= {name.partition(".")[0]: np for name in self.outer if "." in name}
        return found | dict.fromkeys(self.summed, 0) | {RECORDS: self.column.samples[side]}

    def differs(self, name: str, mine: Any, real: Any) -> None:
        raise BrokenHarnessError(
            f"{self.run.where}: the interpreter computed {mine!r:.200} for the total {name!r} of a loop, the"
            f" program {real!r:.200}. Please report this as a bug of dpaudit.",
            code="E-INTERPRETER-DIFFERS",
        )

    def sum_of(self, value: Any) -> Any:
        """Return the sum over records of a column, or of a number for each record."""
        inner = content(value)
        if not isinstance(inner, Private):
            count = extent_value(self.run, self.column.shape[0])
            if self.run.s.length_is_private:
                count = shape_value(self.run, Array(self.column))[0]
            return binary(self.run, "mul", count, value)
        return self.run.step("sum", [self.numeric(inner)], {"axes": (0,)})

    def numeric(self, value: Private) -> Private:
        """Return a column of numbers, with Booleans as 0 and 1."""
        if value.info.kind != "b":
            return value
        return self.run.step("cast", [value], {"kind": "i", "python": False})

    # Statements. A state has the variables of the iteration, and what it added to each total so far.

    def block(self, body: Sequence[ast.stmt], names: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the variables after a block, and what it adds to the totals."""
        names = dict(names)
        added: dict[str, Any] = {}
        for statement in body:
            self.run.tick()
            self.interpreter._at(statement, self.scope)
            if isinstance(statement, ast.Pass):
                continue
            if isinstance(statement, ast.If):
                names, more = self.branch(statement, names)
            elif isinstance(statement, ast.AugAssign) and statement.target.id in self.summed:  # type: ignore[union-attr]
                value = self.value(statement.value, names)
                if type(statement.op) not in (ast.Add, ast.Sub):
                    raise OtherFormError
                if isinstance(content(value), Private):
                    value = Array(self.numeric(content(value)))
                negative = isinstance(statement.op, ast.Sub)
                more = {statement.target.id: unary(self.run, "neg", value) if negative else value}  # type: ignore[union-attr]
            elif isinstance(statement, ast.AugAssign):
                old = ast.Name(statement.target.id, ast.Load())  # type: ignore[union-attr]
                names[old.id] = self.value(ast.BinOp(old, statement.op, statement.value), names)
                more = {}
            else:
                names[statement.targets[0].id] = self.value(statement.value, names)  # type: ignore[attr-defined]
                more = {}
            for name, value in more.items():
                added[name] = value if name not in added else binary(self.run, "add", added[name], value)
        return names, added

    def branch(self, node: ast.If, names: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the state after a branch: for each record, the state of the side that it takes."""
        test = self.truth(self.value(node.test, names))
        if isinstance(test, bool):
            return self.block(node.body if test else node.orelse, names)
        (left, more), (right, other) = (self.block(side, names) for side in (node.body, node.orelse))
        both = {name: self.either(test, left[name], right[name]) for name in left if name in right}
        sums = {name: self.either(test, more.get(name, 0), other.get(name, 0)) for name in {**more, **other}}
        return both, sums

    def either(self, test: Private, left: Any, right: Any) -> Any:
        """Return the first value where the test holds, and the second value elsewhere.

        A choice between the two sides of the test is their minimum or maximum, with tighter bounds.
        """
        if left is right:
            return left
        self.require_alike(left, right)
        if any(isinstance(content(one), Private) and len(shape_of(one) or ()) != 1 for one in (left, right)):
            raise OtherFormError
        op, ids, _ = self.run.record.nodes[test.node]
        chosen = [self.same_as(ids, value) for value in (left, right)]
        if op in ("lt", "le", "gt", "ge") and chosen in ([0, 1], [1, 0]):
            smaller = (op in ("lt", "le")) == (chosen == [0, 1])
            return Array(self.run.step("minimum" if smaller else "maximum", [left, right]))
        return Array(self.run.step("where", [test, left, right]))

    def require_alike(self, *values: Any) -> None:
        """Require numbers of one type if one of them is chosen for a list."""
        if self.listing and len({self.run.lift(value).info.kind for value in values}) > 1:
            raise OtherFormError

    def same_as(self, ids: Sequence[int], value: Any) -> int | None:
        """Return the place of the operand that equals a value, or None."""
        inner = content(value)
        if isinstance(inner, Private):
            return ids.index(inner.node) if inner.node in ids else None
        if type(inner) not in PLAIN:
            return None
        known = [self.run.record.infos[k].constant for k in ids]
        return next((k for k, number in enumerate(known) if number == exact(inner)), None)

    def truth(self, value: Any) -> bool | Private:
        """Return the truth of a value for each record."""
        inner = content(value)
        if isinstance(inner, Private):
            return inner if inner.info.kind == "b" else self.run.step("ne", [inner, 0])
        if type(inner) in PLAIN:
            return bool(inner)
        if isinstance(inner, Public):
            self.forced = True
            return truth(self.run, value)
        raise OtherFormError

    # Expressions.

    def value(self, node: ast.expr, names: dict[str, Any]) -> Any:
        """Return an expression as one number for each record, or as a number equal for all records."""
        self.run.tick()
        found = self.evaluated(node, names)
        inner = content(found)
        if isinstance(inner, Private) and (inner.info.records != 1 or len(inner.shape) != 1):
            raise OtherFormError
        return found

    def evaluated(self, node: ast.expr, names: dict[str, Any]) -> Any:
        run = self.run
        if isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
            return node.value
        if isinstance(node, ast.Name):
            return names[node.id] if node.id in names else self.constant(node.id)
        found = self.of_text(node, names)
        if found is not None:
            return found
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
            row, place = names[node.value.id], node.slice
            if (
                len(shape_of(row) or ()) != 2
                or not isinstance(place, ast.Constant)
                or type(place.value) is not int
            ):
                raise OtherFormError
            return index(run, row, (slice(None), place.value))
        if isinstance(node, ast.BinOp) and isinstance(node.op, BINARY):
            square = isinstance(node.right, ast.Constant) and node.right.value == 2
            if isinstance(node.op, ast.Pow) and not square:
                raise OtherFormError
            left, right = self.value(node.left, names), self.value(node.right, names)
            return binary(run, OPERATORS[type(node.op)], left, right)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return unary(run, "neg", self.value(node.operand, names))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            test = self.truth(self.value(node.operand, names))
            return not test if isinstance(test, bool) else Array(run.step("not", [test]))
        if isinstance(node, ast.Compare) and all(isinstance(op, COMPARED) for op in node.ops):
            parts = [self.value(part, names) for part in (node.left, *node.comparators)]
            tests = [binary(run, OPERATORS[type(op)], *parts[k : k + 2]) for k, op in enumerate(node.ops)]
            return self.joined("and", tests)
        if isinstance(node, ast.BoolOp):
            tests = [self.value(part, names) for part in node.values]
            return self.joined("and" if isinstance(node.op, ast.And) else "or", tests)
        if isinstance(node, ast.IfExp):
            test = self.truth(self.value(node.test, names))
            if isinstance(test, bool):
                return self.value(node.body if test else node.orelse, names)
            return self.either(test, self.value(node.body, names), self.value(node.orelse, names))
        if isinstance(node, ast.Call) and not node.keywords:
            return self.called(node, names)
        raise OtherFormError

    def of_text(self, node: ast.expr, names: dict[str, Any]) -> Any:
        """Return a function of the text of each record, or None for other expressions."""
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            parts = [self.text_or_constant(part, names) for part in (node.left, node.comparators[0])]
            return text_compared(self.run, node.ops[0], *self.known(parts)) if has_text(*parts) else None
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        if isinstance(node.func, ast.Attribute):
            owner = self.text_or_constant(node.func.value, names)
            given = [self.text_or_constant(part, names) for part in node.args]
            if isinstance(owner, Text):
                return text_method(self.run, owner, node.func.attr, self.known(given), {})
            if type(owner) is dict and node.func.attr == "get" and has_text(*given[:1]):
                return text_lookup(self.run, given[0], owner, self.known(given[1:]))
            return None
        given = [self.text_or_constant(part, names) for part in node.args]
        if len(given) == 1 and isinstance(given[0], Text) and isinstance(node.func, ast.Name):
            function = content(self.interpreter.lookup(node.func.id, self.scope))
            if node.func.id not in names and isinstance(function, Named) and function.name == "len":
                return text_length(self.run, given[0])
        return None

    def known(self, parts: list[Any]) -> list[Any]:
        """Return operands that are texts or constants."""
        if None in parts:
            raise OtherFormError
        return parts

    def text_or_constant(self, node: ast.expr, names: dict[str, Any]) -> Any:
        """Return the text of each record, or a constant from outside the loop, or None."""
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id] if isinstance(names[node.id], Text) else None
        used = names_in(node)
        if isinstance(node, ast.Call) and used & set(names):
            found = self.of_text(node, names)
            return found if isinstance(found, Text) else None
        if used & (self.temporary | self.summed) or not isinstance(node, CONSTANTS):
            return None
        found = content(self.interpreter.evaluate(node, self.scope))
        if not is_plain(found):
            return None
        self.outer |= {name: self.interpreter.lookup(name, self.scope) for name in used}
        return found

    def joined(self, op: str, tests: Sequence[Any]) -> Any:
        """Return the logical and or the logical or of Booleans. Python returns an operand, which is equal."""
        found = tests[0]
        for test in tests[1:]:
            found = Array(self.run.step(op, [self.boolean(found), self.boolean(test)]))
        return found

    def boolean(self, value: Any) -> Private:
        inner = content(value)
        if not isinstance(inner, Private) or inner.info.kind != "b":
            raise OtherFormError
        return inner

    def called(self, node: ast.Call, names: dict[str, Any]) -> Any:
        """Return a call of a function of single numbers."""
        if names_in(node.func) & (set(names) | self.summed):
            raise OtherFormError
        if not isinstance(node.func, ast.Name | ast.Attribute):
            raise OtherFormError
        function = content(self.interpreter.evaluate(node.func, self.scope))
        values = [self.value(part, names) for part in node.args]
        if not any(isinstance(content(one), Private) for one in values):
            raise OtherFormError
        if isinstance(function, Named) and function.name in ("min", "max") and len(values) > 1:
            self.require_alike(*values)
            found = values[0]
            for one in values[1:]:
                found = Array(self.run.step(f"{function.name}imum", [found, one]))
        elif isinstance(function, Accepted) and any(function.function is one for one in ELEMENTWISE):
            found = call_accepted(self.run, function, values, {})
        elif isinstance(function, Accepted | Named) and _real(function) is float and len(values) == 1:
            found = Array(self.run.step("cast", values, {"kind": "f", "python": False}))
        else:
            raise OtherFormError
        self.outer[ast.unparse(node.func)] = _real(function)
        return found

    def constant(self, name: str) -> Any:
        """Return a number from outside the loop, which the loop does not change."""
        if name in self.temporary or name in self.summed:
            raise OtherFormError  # the value of an earlier iteration
        value = self.interpreter.lookup(name, self.scope)
        inner = content(value)
        if type(inner) not in PLAIN and not (isinstance(inner, Public) and inner.shape == ()):
            raise OtherFormError
        self.outer[name] = value
        return value

    # Samples.

    def verify(self, found: dict[str, Any]) -> None:
        """Run the loop itself on the sample data, and compare the totals.

        Raises
        ------
        BrokenHarnessError
            A total differs.
        """
        if self.forced:
            return
        records = ast.Name(RECORDS, ast.Load())
        loop = ast.For(self.node.target, records, self.node.body, [])
        code = compile(ast.fix_missing_locations(ast.Module([loop], [])), "loop", "exec")
        for side in self.run.worlds.sides:
            space = self.space(side)
            mine = {name: self.run.sample(value, side) for name, value in found.items()}
            if any(value is MISSING for value in (*space.values(), *mine.values())):
                continue
            if apply(exec, code, space) is MISSING:
                continue
            for name, value in mine.items():
                if not np.isclose(float(value), float(space[name]), rtol=1e-7, atol=1e-9):
                    self.differs(name, value, space[name])


def _real(function: Any) -> Any:
    return function.function if isinstance(function, Accepted) else function.real


def _require_statements(body: Sequence[ast.stmt]) -> None:
    for statement in body:
        if not isinstance(statement, STATEMENTS):
            raise OtherFormError
        if isinstance(statement, ast.If):
            _require_statements([*statement.body, *statement.orelse])
        if isinstance(statement, ast.AugAssign) and not isinstance(statement.target, ast.Name):
            raise OtherFormError
        one = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        if isinstance(statement, ast.Assign) and not (one and isinstance(statement.targets[0], ast.Name)):
            raise OtherFormError
        if any(isinstance(n, ast.NamedExpr | ast.Lambda) for n in ast.walk(statement)):
            raise OtherFormError


def _assigned(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Return the names that a body assigns, other than by ``+=``."""
    assigned = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Assign)]
    return names_in(*(target for one in assigned for target in one.targets))


def _stored(body: Sequence[ast.stmt]) -> set[str]:
    names = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}
