"""Explore every path of a program as a complete tree of its decisions, with exact reasons for cut branches.

The program runs repeatedly, each time along another path. A comparison of private values calls
``Walk.below``. Both answers are explored, except an answer whose region has no point (or, through a hidden
draw with a density, only a null set). Exact multipliers prove that (rules A, G5, H8: no box, no margin). A
question about public values forks. The tree also records, in order, what a run draws, shows and releases
(G6).

To follow something other than a whole program, such as one generic step of a loop, pass ``explore`` a
function that runs it on a ``Walk``::

    explore(lambda walk: step(ProvingCoins(walk), walk.private(form)))

A ``Walk`` makes symbols (``private``) and draws (``hidden``, with the names ``n0``, ``n1``, ...), and records
what is shown. The returned paths have the constraints, draws and events of each run. ``root`` is the tree of
decisions. Symbols other than noise may have any name that does not begin with ``n``. Constraints that a step
starts from belong in ``domain``, under names that do not begin with a digit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from types import CodeType
from typing import Any, NoReturn

from dpaudit.core.errors import CodedError
from dpaudit.distributions.base import Distribution
from dpaudit.prover.forms import Form, Row, symbol
from dpaudit.prover.interrupts import handlers, is_from_a_handler
from dpaudit.prover.linear import contradiction
from dpaudit.prover.step_limit import of_limited_length
from dpaudit.prover.symbols import Origin, Private, Public, RefusedError, is_plain, plain_key, plain_number

__all__ = ["CrashedError", "Draw", "Event", "Explored", "Node", "Path", "Walk", "explore", "tightened"]

MAX_PATHS, MAX_DECISIONS = 20_000, 500

#: From this number of paths on, separate runs search for an endless loop. Most programs have fewer paths.
FEW = 8

#: One event on a path, one of:
#:
#: - ("draw", distribution, scale)
#: - ("finite", weights, outcome)
#: - ("show", key), where a list or tuple is ("show", "list of 2") followed by its items
#: - ("form", form)
#: - ("release", form, distribution, scale), with the variance as the scale of a Gaussian
#: - ("fork", key, answer)
Event = tuple[Any, ...]


@dataclass(frozen=True)
class Draw:
    """One hidden draw with a symbol: its distribution's registered name and its exact positive scale."""

    symbol: str
    distribution: str
    scale: Fraction

    @property
    def continuous(self) -> bool:
        return self.distribution != "discrete-laplace"


@dataclass(eq=False)
class Node:
    """One node of the tree: an event and what follows it, one entry for each answer.

    An entry is a ``Node``, a contradiction (dict of multipliers by constraint), or None if it is unexplored.
    """

    event: Event
    then: list[Node | dict[str, Fraction] | None]


@dataclass(frozen=True)
class Path:
    """One path through the program.

    ``rows`` are its constraints by name: the domain's constraints, ``n3>`` for the support of one-sided
    noise, and ``0``, ``1``, ... for the comparisons in order.
    """

    events: tuple[Event, ...]
    draws: tuple[Draw, ...]
    rows: dict[str, Row]
    integers: frozenset[str]

    def shown_forms(self) -> list[Form]:
        """Return the shown private values in order."""
        return [event[1] for event in self.events if event[0] == "form"]

    def releases(self) -> list[tuple[Form, str, Fraction]]:
        """Return the value, the noise distribution and its scale (or variance) of each release in order."""
        return [event[1:] for event in self.events if event[0] == "release"]

    @property
    def comparisons(self) -> dict[str, Row]:
        """Return the rows that a shift must keep: comparisons and supports, but not the domain."""
        return {name: row for name, row in self.rows.items() if not name.startswith("x")}


@dataclass(frozen=True)
class Explored:
    """The whole tree by its root, and its paths in the order of the tree (first answer first)."""

    root: Node
    paths: list[Path]

    @cached_property
    def positions(self) -> dict[int, int]:
        """Return the position of every node (by identity) in a list of all nodes, parents first.

        ``certificate`` gives further positions to cut branches.
        """
        order: dict[int, int] = {}
        pending = [self.root]
        while pending:
            node = pending.pop()
            order[id(node)] = len(order)
            pending.extend(reversed([then for then in node.then if isinstance(then, Node)]))
        return order


class CrashedError(RefusedError):
    """The program raises an exception on some path."""

    code = "E-PROGRAM-CRASHED"


class _DeadError(CodedError):
    """Neither answer of a comparison is possible. The path ends here, and the tree has the reasons."""

    code = "E-PATH-IMPOSSIBLE"


@dataclass(eq=False)
class Walk:
    """One run along one path.

    ``choices`` are the answers to take first. After them, each decision takes the possible answer at the next
    position in ``preferred``, which is repeated. By default this is the first possible answer.
    """

    domain: Mapping[str, Row]
    choices: list[int]
    root: Node
    integers: set[str] = field(default_factory=set)
    refused: RefusedError | None = None
    preferred: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        self.at, self.answer = self.root, 0
        self.taken: list[tuple[Node, int]] = []
        self.events: list[Event] = []
        self.draws: list[Draw] = []
        self.rows: dict[str, Row] = dict(self.domain)
        self.comparisons = self.outcomes = 0
        self.forks: dict[str, int] = {}
        self.functions: list[CodeType] = []
        self.met = {name for row in self.domain.values() for name in row.form.terms}
        self.lists: list[tuple[Any, list[Event]]] = []
        self.over = False
        self.dead = False

    # Methods that coins and symbols call during a run.

    def private(self, form: Form) -> Private:
        """Return the symbolic value ``form`` for the program under proof. It is whole if its symbols are."""
        return Private(form, self, Origin(whole=self.integers.issuperset(form.terms)))

    def hidden(self, distribution: Distribution) -> Private:
        """Return a fresh noise symbol ``n0``, ``n1``, .... One-sided noise adds its support as a constraint
        (E)."""
        draw = Draw(f"n{len(self.draws)}", distribution.name, distribution.scale)  # type: ignore[attr-defined]
        self._event(("draw", draw.distribution, draw.scale))
        self.draws.append(draw)
        if draw.distribution == "exponential":
            self.rows[f"{draw.symbol}>"] = Row(symbol(draw.symbol).times(Fraction(-1)), strict=False)
            self.met.add(draw.symbol)
        if not draw.continuous:
            self.integers.add(draw.symbol)
        return self.private(symbol(draw.symbol))

    def chosen(self, distribution: Distribution) -> int:
        """Return the outcome of a hidden finite draw. Each outcome of positive weight is explored."""
        return self.weighted(finite_weights(distribution))

    def weighted(self, weights: tuple[Fraction, ...]) -> int:
        """Return one of 0, 1, 2, ... with these exact probabilities."""
        answer = self._choice(("finite", weights), [None if weight else {} for weight in weights])
        self.events[-1] = ("finite", weights, answer)
        return answer

    def released(self, value: Any, distribution: Distribution) -> Public:
        """Record a release and return its outcome, which is the same number on both neighbouring inputs."""
        if type(value) is Private and value._follower is self:
            form, whole = Private.form_of(value), Private.origin_of(value).whole
        else:
            if not is_plain(value):
                self.refuse("a value that is not a number of this run was released (release single numbers)")
            form, whole = Form({}, plain_number(value)), type(value) in (int, bool)
        if distribution.name == "discrete-laplace" and not whole:
            # the outcome would reveal the type of a float
            self.refuse("a value that may not be an integer was released with discrete noise")
        # the only parameter is a scale, or the variance of a Gaussian
        [spread] = distribution.parameters().values()  # type: ignore[attr-defined]
        self._event(("release", form, distribution.name, spread))
        self.outcomes += 1
        return Public(f"o{self.outcomes - 1}", self)

    def shown(self, value: Any) -> None:
        """Record a shown value: a constant by type and value, a form, a public value, or a list of these
        (G6, H5)."""
        events = self._shows(value)
        if type(value) in (list, tuple):
            self.lists.append((value, events))
        for event in events:
            self._event(event)

    def _shows(self, value: Any) -> list[Event]:
        kind = type(value)
        if kind is Private and value._follower is self:
            return [self._shown_form(value)]
        if kind is Public and value._follower is self:
            return [("show", f"public:{Public.key_of(value)}")]
        if kind in (list, tuple):
            head: Event = ("show", f"{kind.__name__} of {len(value)}")
            return [head, *(event for item in value for event in self._shows(item))]
        if value is None or kind is str or kind is float or is_plain(value):
            return [("show", plain_key(value))]
        return self.refuse(f"a {kind.__name__} was shown (show numbers, text, None, and lists of these)")

    def _shown_form(self, value: Private) -> Event:
        """Return the event of a shown private value, or refuse it.

        A form records neither the type of a value nor the sign of a zero. Both may depend on data, unless all
        data are integers, or noise with a density makes the value a float other than 0 (H13). Data without
        noise are accepted, because they differ between the inputs anyway.
        """
        form, whole = Private.form_of(value), Private.origin_of(value).whole
        if not form.terms and whole:
            return ("show", plain_key(int(form.constant)))
        bare = form.part("x") and not form.part("n")
        if not (whole or bare or self._blurred(form)):
            self.refuse("a number was shown whose type, or whose sign of zero, may depend on data")
        return ("form", form)

    def _blurred(self, form: Form) -> bool:
        return any(draw.continuous and draw.symbol in form.terms for draw in self.draws)

    def below(self, form: Form, *, strict: bool) -> bool:
        """Return whether ``form < 0`` (or ``<= 0``) on this path.

        A constant is decided exactly (G5, H8: 0 < 0 is false).
        """
        if not form.terms:
            return form.constant < 0 or (not strict and form.constant == 0)
        row = Row.of(form, strict=strict)
        name = str(self.comparisons)
        yes, no = (tightened(r, self.integers) for r in (row, row.opposite))
        sure = self._is_fresh(form)
        cuts = [None if sure else self._empty(name, side) for side in (yes, no)] if self._is_new() else []
        answer = self._choice(("compare", row.form, row.strict), cuts)
        self.events.pop()
        self.comparisons += 1
        self.rows[name] = (yes, no)[answer]
        self.met.update(form.terms)
        return answer == 0

    def fork(self, key: str, answers: int, /) -> int:
        """Return an answer to a public question. The same question has one answer on a path."""
        if key not in self.forks:
            self.forks[key] = self._choice(("fork", key), [None] * answers)
            self.events[-1] = ("fork", key, self.forks[key])
        return self.forks[key]

    def place_of(self, code: CodeType) -> int:
        """Return the number of a function, 0, 1, ... in the order of first use by the exploration.

        The number is the same in every process. Unlike a name, it identifies one function on all paths.
        """
        place = next((i for i, known in enumerate(self.functions) if known is code), None)
        if place is None:
            self.functions.append(code)
            return len(self.functions) - 1
        return place

    def refuse(self, what: str) -> NoReturn:
        """Record a refusal and raise it, so that no program can swallow it (H2)."""
        error = RefusedError(f"the prover cannot follow this program: {what}.", code="E-PROGRAM-NOT-FOLLOWED")
        self.refused = self.refused or error
        raise error

    def public_divisor(self, what: str) -> None:
        """Refuse a division by a public value, which may be 0."""
        self.refuse(what)

    def public_form(self, key: str, what: str) -> Form:
        """Refuse arithmetic between a public and a private value."""
        return self.refuse(what)

    # The tree.

    @property
    def is_too_long(self) -> bool:
        """Return whether this run has more decisions or events than a proof may have."""
        return len(self.taken) > MAX_DECISIONS or len(self.events) > 10 * MAX_DECISIONS

    def end(self) -> None:
        """End the run. Refuse later events, and lists that were changed after they were shown."""
        for value, events in self.lists:
            if self._shows(value) != events:  # the adversary holds the list and sees later changes (H5)
                self.refuse("a list was changed after it was shown")
        self._event(("end",))
        self.over = True

    def path(self) -> Path:
        """Return the path of the finished run."""
        return Path(tuple(self.events[:-1]), tuple(self.draws), dict(self.rows), frozenset(self.integers))

    def _is_new(self) -> bool:
        return self.at.then[self.answer] is None

    def _event(self, event: Event, cuts: list[Any] | None = None) -> Node:
        """Append ``event``. If an earlier run has an event at this node, it must be equal."""
        if self.over:
            self.refuse("the coins were used after the program's end")
        if self.is_too_long:
            self.refuse(f"one run has more than {MAX_DECISIONS} decisions")  # H11
        node = self.at.then[self.answer]
        if node is None:
            node = Node(event, [None] if cuts is None else cuts)
            self.at.then[self.answer] = node
        if not isinstance(node, Node) or node.event != event:
            self.refuse("two runs along the same path differ (the program must be deterministic)")
        self.at, self.answer = node, 0
        self.events.append(event)
        return node

    def _choice(self, event: Event, cuts: list[Any]) -> int:
        node = self._event(event, cuts)
        if len(self.taken) < len(self.choices):
            answer = self.choices[len(self.taken)]
        else:
            possible = [i for i, then in enumerate(node.then) if not isinstance(then, dict)]
            if not possible:
                self.dead = True
                raise _DeadError("neither answer is possible", code="E-PATH-IMPOSSIBLE")
            place = self.preferred[len(self.taken) % len(self.preferred)]
            answer = possible[min(place, len(possible) - 1)]
        self.taken.append((node, answer))
        self.answer = answer
        return answer

    def _is_fresh(self, form: Form) -> bool:
        """Return whether ``form`` has a symbol without constraints, so that both answers are possible."""
        return not self.met.issuperset(form.terms)

    def _empty(self, name: str, row: Row) -> dict[str, Fraction] | None:
        rows = {**self.rows, name: row}
        return contradiction({key: each.form for key, each in rows.items()}, self._breaking(rows))

    def _breaking(self, rows: Mapping[str, Row]) -> set[str]:
        """Return the constraints whose boundary is empty, or a null set for all data: strict constraints,
        and constraints that contain a draw with a density (G5)."""
        blurred = {draw.symbol for draw in self.draws if draw.continuous}
        return {key for key, row in rows.items() if row.strict or not blurred.isdisjoint(row.form.terms)}


def tightened(row: Row, integers: set[str] | frozenset[str]) -> Row:
    """Rewrite a row over integers as ``sum <= whole number``: coprime coefficients, never strict (G12)."""
    if not row.form.terms or not integers.issuperset(row.form.terms):
        return row
    whole = Form(row.form.terms).coprime()
    name = next(iter(whole.terms))
    constant = row.form.constant * whole.terms[name] / row.form.terms[name]
    limit = -constant  # sum <= limit, or < limit
    below = (
        -(-limit.numerator // limit.denominator) - 1 if row.strict else limit.numerator // limit.denominator
    )
    return Row(whole.moved(Fraction(-below)), strict=False)


def finite_weights(distribution: Distribution) -> tuple[Fraction, ...]:
    """Return the exact probabilities of 0, 1, 2, ... under a Bernoulli or categorical distribution."""
    if distribution.name == "bernoulli":
        p: Fraction = distribution.p  # type: ignore[attr-defined]
        return (1 - p, p)
    return tuple(Fraction(w, distribution.total) for w in distribution.weights)  # type: ignore[attr-defined]


def explore(
    run: Callable[[Walk], None],
    *,
    domain: Mapping[str, Row] | None = None,
    integers: set[str] | None = None,
    max_paths: int = MAX_PATHS,
    walk_class: type[Walk] = Walk,
    watch: Callable[[Path], None] = lambda path: None,
) -> Explored:
    """Explore all paths of ``run``.

    Parameters
    ----------
    run : callable
        ``run(walk)`` gets a fresh ``Walk`` for each path. It must be deterministic.
    domain : mapping of str to Row, optional
        Constraints on the data by name.
    integers : set of str, optional
        Symbols that are integers.
    max_paths : int
        The largest number of paths. Default: 20,000.
    walk_class : type of Walk
        The class of the walks. Default: ``Walk``.
    watch : callable
        Gets the first path. An exception that it raises ends the exploration.

    Returns
    -------
    Explored
        The tree and its paths.

    Raises
    ------
    RefusedError
        A path cannot be followed, or there are more than ``max_paths`` paths.
    CrashedError
        The program raises an exception on a path (H11).
    """
    root = Node(("start",), [None])
    paths: list[Path] = []
    choices: list[int] = []
    functions: list[CodeType] = []
    installed = handlers()
    for number in range(1, max_paths + 1):
        walk = walk_class(domain or {}, choices, root, set(integers or ()))
        walk.functions = functions
        _run_once(run, walk, installed)
        if not walk.dead:
            paths.append(walk.path())
            if len(paths) == 1:
                watch(paths[0])
        following = _next_choices(walk)
        if following is None:
            return Explored(root, paths)
        choices = following
        if number >= FEW and number.bit_count() == 1:  # after 8, 16, 32, ... paths
            others = range(1, max(len(node.then) for node, _ in walk.taken))
            for preferred in (*((answer,) for answer in others), (0, 1), (1, 0)):
                separate = walk_class(domain or {}, choices, Node(("start",), [None]), set(integers or ()))
                separate.preferred = preferred
                _require_an_end(run, separate, installed)
    raise RefusedError(
        f"the program has more than {max_paths} paths. Prove it for smaller data.", code="E-PATHS-TOO-MANY"
    )


def _require_an_end(run: Callable[[Walk], None], walk: Walk, installed: frozenset[CodeType]) -> None:
    """Refuse a loop that continues as long as a draw or a comparison has one answer.

    Otherwise it would be refused only after hundreds of paths. ``walk`` has a separate tree, and all other
    refusals on it are left to the exploration.
    """
    try:
        _run_once(run, walk, installed)
    except RefusedError:
        if walk.is_too_long:
            raise


def _run_once(run: Callable[[Walk], None], walk: Walk, installed: frozenset[CodeType]) -> None:
    """Run the program along one path.

    ``installed`` is the code of the signal handlers, whose exceptions pass unchanged.
    """
    try:
        with of_limited_length():
            run(walk)
    except _DeadError:
        if walk.refused is None:
            return
    except RefusedError as refusal:
        walk.refused = walk.refused or refusal
    except (Exception, SystemExit) as error:
        if is_from_a_handler(error, installed):
            raise
        if walk.refused is None:
            raise CrashedError(
                f"on one path the program raises {type(error).__name__}: {str(error)[:200]}. A crash is an "
                "output, and the prover gives no verdict on it.",
                code="E-PROGRAM-CRASHED",
            ) from error
    if walk.refused is not None:
        raise walk.refused
    if walk.dead:  # the signal was swallowed
        raise RefusedError(
            "the program continued after the end of a path. It must not catch all exceptions.",
            code="E-PATH-CONTINUED",
        )
    walk.end()


def _next_choices(walk: Walk) -> list[int] | None:
    """Return the choices of the next path in the order of the tree, or None.

    They take another answer at the last decision that has an unexplored one.
    """
    answers = [answer for _, answer in walk.taken]
    for i in range(len(answers) - 1, -1, -1):
        node = walk.taken[i][0]
        for answer in range(answers[i] + 1, len(node.then)):
            if node.then[answer] is None:
                return [*answers[:i], answer]
    return None
