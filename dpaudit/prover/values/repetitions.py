"""Follow loops that keep the best of a random number of runs, as one run of their body.

    for _ in range(rng.geometric(0.1)):
        k = rng.integers(0, 3)
        q = (data == k).sum() + rng.laplace(scale=2)
        if q > best:
            best, arg = q, k

The body is followed once, as the run that is selected. Everything that it draws and releases lies between the
events "repeat" and "selected" of the path, and the kernel charges the selection (``repetitions`` of the
kernel). This is the program's value if the runs are independent and nothing but the best leaves the loop. So
a run may read only what earlier runs cannot change: all names that the loop assigns have no value when it
starts and when it ends, except the best and what is assigned with it. Objects that exist before the loop must
not change, noise that is drawn before it is published before it, and a run shows nothing.

The number of runs is a draw of ``rng.geometric`` or of a similar distribution, used for nothing else. A loop
may also throw a coin of constant probability in each run: ``while True`` with ``if rng.random() < p:
return best`` as its first or last statement, or ``while rng.random() < p``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.prover.values.operations import PLAIN, content, is_plain, published
from dpaudit.prover.values.run import ProgramRaisedError, Run
from dpaudit.prover.values.scopes import (
    Bound,
    DictView,
    Function,
    Instance,
    Lazy,
    Left,
    Method,
    Running,
    Scope,
    names_in,
    yields,
)
from dpaudit.prover.values.values import (
    MISSING,
    Array,
    Coin,
    Condition,
    Entries,
    Frame,
    Gone,
    Public,
    Ranked,
    Runs,
    Series,
    Symbol,
)
from dpaudit.prover.values.whole_numbers import ImpossiblePathError

if TYPE_CHECKING:
    from dpaudit.prover.values.generators import Generators as Interpreter

__all__ = ["follows_runs", "follows_stopping"]

#: Laws under which there is at least one run.
AT_LEAST_ONE = ("geometric", "logarithmic")
FORM = (
    "a loop with a random number of runs must end with an update of the best such as `if q > best: best, arg"
    " = q, k` or `best = max(best, q)`, and must have no other return, break, continue or yield"
)
#: Generators of single uniform numbers.
UNIFORM = ("random", "uniform")


@dataclass(frozen=True)
class Update:
    """The statement that keeps the best run: ``score`` is compared with the name ``best``.

    ``statements`` assign the selected values. If there are none, the score itself is assigned to ``best``.
    """

    best: str
    score: ast.expr
    largest: bool
    statements: tuple[ast.stmt, ...] = ()
    none: bool = False

    @property
    def names(self) -> frozenset[str]:
        """Return the names that hold the selected run."""
        return frozenset({self.best}) | _stored(self.statements)


def follows_runs(interpreter: Interpreter, node: ast.For, runs: Runs, scope: Scope) -> None:
    """Run ``for _ in range(K)`` for a random number of runs K."""
    run, update = interpreter.run, _update_of(node.body[-1])
    if update is None or node.orelse or not isinstance(node.target, ast.Name) or _leaves(node.body):
        run.refuse(FORM)
    if runs.count.used:
        run.refuse("a random number of runs is used by two loops, which must be independent")
    runs.count.used = True
    _Loop(interpreter, scope, node.body[:-1], update, {node.target.id}).follow(lambda: runs.count.law)


def follows_stopping(interpreter: Interpreter, node: ast.While, scope: Scope) -> bool:
    """Run a loop that throws a coin in each run, and return whether it has this form."""
    body, run = list(node.body), interpreter.run
    if node.orelse or run.generator is not None or run.on_plain_data:
        return False
    end: ast.stmt | None = None
    last = False
    if _is_coin(node.test):
        test = node.test
    elif isinstance(node.test, ast.Constant) and node.test.value is True:
        last = _stops(body[-1])
        end = body.pop(-1 if last else 0) if last or _stops(body[0]) else None
        if not isinstance(end, ast.If):
            return False
        test = end.test
    else:
        return False
    update = _update_of(body[-1]) if body else None
    if update is None or _leaves(body):
        return False
    loop = _Loop(interpreter, scope, body[:-1], update, frozenset())

    def law() -> dict[str, str]:
        chance = loop.chance(test)
        stop = str(chance if end is not None else 1 - chance)
        return ({"law": "geometric"} if last else {"law": "negative-binomial", "n": "1"}) | {"chance": stop}

    loop.follow(law)
    if isinstance(end, ast.If) and isinstance(end.body[0], ast.Return):
        interpreter.block(end.body, scope)
    return True


class _Loop:
    """A loop that keeps the best of a random number of runs."""

    def __init__(
        self,
        interpreter: Interpreter,
        scope: Scope,
        body: Sequence[ast.stmt],
        update: Update,
        targets: Iterable[str],
    ) -> None:
        self.interpreter, self.scope, self.body, self.update = interpreter, scope, body, update
        self.run = interpreter.run
        self.stored = frozenset(targets) | _stored(body)
        self.assigned = (self.stored & scope.local) | update.names

    def follow(self, law_of: Callable[[], dict[str, str]]) -> None:
        """Follow the loop: either no run is selected, or one run is."""
        run, names = self.run, self.scope.names
        self.require_possible()
        before = {name: names.get(name, MISSING) for name in self.update.names}
        _publish(run, self.reachable())
        state = _State(self.reachable(), names, self.assigned)
        self.forget(self.assigned)  # the stopping law must not depend on a run
        law = law_of()
        some = self.is_before_all(before[self.update.best]) and law["law"] in AT_LEAST_ONE
        number, run.repetitions = run.repetitions, run.repetitions + 1
        run.event(f"repeat {number} {run.record.repetition(law)}")
        run.repeating = True
        if some or run.walk.fork(f"selects {number}", 2) == 1:
            self.one_run(number, before[self.update.best])
            self.forget(self.assigned - self.update.names)
        else:
            self.restore(before)
        run.repeating = False
        run.event(f"selected {number}")
        if not state.is_kept():
            run.refuse("a loop with a random number of runs changes an object that exists before it")

    def require_possible(self) -> None:
        """Refuse a loop in which noise may stay hidden, or that is inside of another one."""
        run = self.run
        if run.hidden:
            run.refuse("a loop with a random number of runs does not keep noise hidden in comparisons")
        if run.repeating or self.interpreter.pure:
            run.refuse("a loop with a random number of runs is inside another one, or in a private branch")
        if self.stored & self.scope.nonlocal_ or not self.update.names <= self.scope.local:
            run.refuse("a loop with a random number of runs assigns a name of an enclosing function")
        if self.stored & self.update.names:
            run.refuse(
                "a name that holds the best of the runs is also assigned by runs that are not selected"
            )

    def is_before_all(self, start: Any) -> bool:
        """Return whether every score replaces the start value. Refuse other values than public numbers."""
        update = self.update
        inner = content(start[0] if type(start) is tuple and start else start)
        if inner is None and update.none:
            return True
        if isinstance(inner, float | np.float64) and np.isinf(inner):
            return bool((inner < 0) == update.largest)
        if type(start) is tuple:
            return self.run.refuse("the best of the runs must start with an infinity, if it is a tuple")
        if type(inner) in PLAIN and np.isfinite(float(inner)):
            return False
        if isinstance(inner, Public) and inner.shape == () and inner.kind is not None:
            return False
        return self.run.refuse(f"the best of the runs must start with a number, got {type(inner).__name__}")

    def one_run(self, number: int, start: Any) -> None:
        """Follow the body once, and keep the values that the update selects."""
        run, update, scope = self.run, self.update, self.scope
        try:
            self.interpreter.block(self.body, scope)
            score = self.score()
            if not all(isinstance(scope.names.get(name), Gone) for name in update.names):
                run.refuse("a function assigns the best of the runs")
            if (type(score) is tuple) != (type(start) is tuple):
                run.refuse("a score is compared with a tuple of other parts")
            if update.statements:
                self.interpreter.block(update.statements, scope)
            else:
                scope.names[update.best] = score
        except ProgramRaisedError as raised:
            run.refuse(f"a run of a loop with a random number of runs may raise: {raised}")
        except ImpossiblePathError:
            run.event(f"selected {number}")
            raise
        except Left:
            run.refuse(FORM)
        _publish(run, self.kept())
        if not _is_score(_settled(run, scope.names[update.best]), score):
            run.refuse(f"the value that is assigned to {update.best!r} must be the score of the run")

    def kept(self) -> list[Any]:
        """Return the selected values, whose noise is published."""
        names = self.scope.names
        for name in self.update.names:
            if name in names and not isinstance(names[name], Gone):
                names[name] = _settled(self.run, names[name])
        return [names[name] for name in self.update.names if name in names]

    def score(self) -> Any:
        """Return the score of the run: a released number, or a tuple of such numbers."""
        run = self.run
        found = _settled(run, self.interpreter.evaluate(self.update.score, self.scope))
        parts = found if type(found) is tuple else (found,)
        for part in parts:
            inner = content(part)
            if isinstance(inner, Public) and inner.shape == () and inner.kind is not None:
                run.require_finite(inner)
            elif type(inner) not in PLAIN or not np.isfinite(float(inner)):
                run.refuse("the score of a run must be a released number (add noise to it)")
        if not parts or (type(found) is tuple and self.update.statements):
            run.refuse("the score of a run must be a number (use `best = max(best, (q, k))` for tuples)")
        return found

    def chance(self, test: ast.expr) -> Fraction:
        """Return the probability of the coin that ends or continues the loop."""
        run = self.run
        before = (len(run.walk.events), len(run.draws), run.outcomes, run.uniforms)
        found = content(self.interpreter.evaluate(test, self.scope))
        after = (len(run.walk.events), len(run.draws), run.outcomes, run.uniforms - 1)
        if not isinstance(found, Coin) or found.shape != () or before != after or found.uniform.used:
            run.refuse("a loop ends by a coin, which must be `rng.random() < p` with a constant p")
        found.uniform.used = True
        if not 0 < found.p < 1:
            run.refuse(f"the coin that ends a loop must have a probability in (0, 1), got {found.p}")
        return found.p

    def reachable(self) -> list[Any]:
        """Return everything that the body could read, except what the loop assigns."""
        names = {name: one for name, one in self.scope.names.items() if name not in self.assigned}
        outer = [] if self.scope.outer is None else [self.scope.outer]
        return [*names.values(), *outer, self.scope.function]

    def forget(self, names: Iterable[str]) -> None:
        """Leave names without a value, which depends on the last run or on the number of runs."""
        self.scope.names.update({name: Gone() for name in names})

    def restore(self, before: dict[str, Any]) -> None:
        """Give names the values that they had before the loop."""
        for name, value in before.items():
            self.scope.names.pop(name, None)
            if value is not MISSING:
                self.scope.names[name] = value


class _State:
    """The contents of all objects that a loop could change, except the ``names`` that it assigns."""

    def __init__(self, roots: Sequence[Any], names: dict[str, Any], assigned: Iterable[str]) -> None:
        self.names, self.assigned = names, frozenset(assigned)
        self.before = [(one, self.contents(one)) for one in _walk(roots)]

    def contents(self, one: Any) -> list[Any]:
        """Return what a value holds now."""
        if one is self.names:
            one = {name: value for name, value in self.names.items() if name not in self.assigned}
        return [one.copy()] if isinstance(one, np.ndarray) else _children(one)

    def is_kept(self) -> bool:
        """Return whether all objects have the contents that they had."""
        return all(_same(before, self.contents(one)) for one, before in self.before)


def _same(before: list[Any], after: list[Any]) -> bool:
    if len(before) != len(after):
        return False
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else a is b or _are_equal(a, b)
        for a, b in zip(before, after, strict=True)
    )


def _are_equal(a: Any, b: Any) -> bool:
    """Return whether two values are the same number or text, of the same type."""
    return type(a) is type(b) and type(a) in (*PLAIN, str) and repr(a) == repr(b)


def _walk(roots: Sequence[Any]) -> Iterator[Any]:
    """Yield all values that can be reached from some values, each once."""
    seen: set[int] = set()
    pending, kept = list(roots), []
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        kept.append(one)  # so that no other value gets the same identity
        yield one
        pending += _children(one)


def _children(one: Any) -> list[Any]:
    """Return the values that a value holds."""
    if isinstance(one, list | tuple | set | frozenset):
        return list(one)
    if isinstance(one, dict):
        return [item for pair in one.items() for item in pair]
    if isinstance(one, Array):
        return [one.content]
    if isinstance(one, Entries):
        return list(one.items)
    if isinstance(one, Scope):
        return [one.names, *([] if one.outer is None else [one.outer]), one.function]
    if isinstance(one, Function):
        outer = [] if one.outer is None else [one.outer]
        return [*one.defaults, *one.kw_defaults.values(), *outer]
    if isinstance(one, Instance):
        return [] if one.outside is not None else [one.fields]
    if isinstance(one, Bound | Series):
        return [one.value]
    if isinstance(one, Method):
        return [one.function, one.receiver]
    return [one.columns] if isinstance(one, Frame) else []


def _publish(run: Run, roots: Sequence[Any]) -> None:
    """Publish all noise that some values hold. Refuse values that change when they are read."""
    for one in list(_walk(roots)):
        if isinstance(one, Lazy | Running | DictView | Condition | Ranked):
            run.refuse(
                f"a loop with a random number of runs could use a {type(one).__name__.lower()} value of"
                " before it"
            )
        if isinstance(one, Symbol) and not isinstance(one, Array | Entries):
            published(run, one)


def _settled(run: Run, value: Any) -> Any:
    """Return a value after its noise is published, also inside a tuple."""
    if type(value) is tuple:
        return tuple(_settled(run, part) for part in value)
    return published(run, value)


def _is_score(kept: Any, score: Any) -> bool:
    """Return whether the kept value is the score that was compared, part by part."""
    if type(kept) is tuple and type(score) is tuple:
        return len(kept) == len(score) and all(map(_is_score, kept, score))
    inner, wanted = content(kept), content(score)
    return inner is wanted or bool(is_plain(kept) and is_plain(score) and inner == wanted)


def _update_of(node: ast.stmt) -> Update | None:
    """Return the update of the best that a statement makes, or None."""
    if isinstance(node, ast.If) and not node.orelse and _only_assigns(node.body):
        return _update_of_test(node.test, node.body)
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    if not isinstance(node.targets[0], ast.Name):
        return None
    best, call = node.targets[0].id, node.value
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) != 2:
        return None
    if not isinstance(call.func, ast.Name) or call.func.id not in ("max", "min"):
        return None
    others = [one for one in call.args if not (isinstance(one, ast.Name) and one.id == best)]
    if len(others) != 1 or best in names_in(others[0]):
        return None
    return Update(best, others[0], call.func.id == "max")


def _update_of_test(test: ast.expr, body: list[ast.stmt]) -> Update | None:
    none = ""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) and len(test.values) == 2:
        first, test = test.values
        none = _name_compared_with_none(first)
        if not none:
            return None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right, op = test.left, test.comparators[0], test.ops[0]
    stored = _stored(body)
    if isinstance(right, ast.Name) and right.id in stored:
        best, score, largest = right.id, left, isinstance(op, ast.Gt | ast.GtE)
    elif isinstance(left, ast.Name) and left.id in stored:
        best, score, largest = left.id, right, isinstance(op, ast.Lt | ast.LtE)
    else:
        return None
    fine = isinstance(op, ast.Gt | ast.GtE | ast.Lt | ast.LtE) and not names_in(score) & stored
    return Update(best, score, largest, tuple(body), bool(none)) if fine and none in ("", best) else None


def _name_compared_with_none(test: ast.expr) -> str:
    """Return the name of ``name is None``, or an empty text."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Is):
        return ""
    other = test.comparators[0]
    none = isinstance(other, ast.Constant) and other.value is None
    return test.left.id if none and isinstance(test.left, ast.Name) else ""


def _only_assigns(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements only assign to names."""
    targets = [part for one in body if isinstance(one, ast.Assign) for part in one.targets]
    flat = [part for one in targets for part in (one.elts if isinstance(one, ast.Tuple) else [one])]
    return all(isinstance(one, ast.Assign) for one in body) and all(isinstance(o, ast.Name) for o in flat)


def _stored(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Return the names that statements assign, delete or define."""
    parts = [part for one in body for part in ast.walk(one)]
    names = {p.id for p in parts if isinstance(p, ast.Name) and not isinstance(p.ctx, ast.Load)}
    names |= {p.name for p in parts if isinstance(p, ast.FunctionDef | ast.ExceptHandler) and p.name}
    return frozenset(names)


def _leaves(body: Iterable[ast.stmt]) -> bool:
    """Return whether statements may leave the loop. A break of an inner loop is refused as well."""
    parts = [part for one in body for part in ast.walk(one)]
    return any(isinstance(part, ast.Return | ast.Break | ast.Continue) or yields(part) for part in parts)


def _is_coin(test: ast.expr) -> bool:
    """Return whether an expression compares a uniform random number."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    calls = [one for one in (test.left, test.comparators[0]) if isinstance(one, ast.Call) and not one.args]
    return any(isinstance(one.func, ast.Attribute) and one.func.attr in UNIFORM for one in calls)


def _stops(node: ast.stmt) -> bool:
    """Return whether a statement leaves the loop if a coin shows heads."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and len(node.body) == 1
        and isinstance(node.body[0], ast.Return | ast.Break)
        and _is_coin(node.test)
    )
