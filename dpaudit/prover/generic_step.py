"""Explore one generic step of the program's loop from every abstract state, as a finite graph for all sizes.

The code before the loop is explored up to the loop's head. From each state found there, the program is run
again and its locals are replaced by the state's symbols (``frames``). Then all paths of one step with a fresh
record ``x0``, ``x1``, ... are explored, and all paths of the code after the loop. A step that returns to the
head gives the next state and the forms of its private values. The exploration ends when there is no new
state. The graph then contains every run, for any number of records (Lemma 1 of section H).

``explore`` is also the exploration of bounded programs, so that comparisons, cuts and events are treated in
the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from dpaudit.coins.prover import ProvingCoins
from dpaudit.distributions.base import Distribution
from dpaudit.prover.data import Symbols
from dpaudit.prover.explore import Event, Explored, Node, Path, Walk, explore
from dpaudit.prover.forms import Form, symbol
from dpaudit.prover.frames import END, Visit
from dpaudit.prover.opcodes import loop_places
from dpaudit.prover.states import (
    BLURRED,
    OF_DATA,
    PRIVATE,
    PUBLIC,
    Constant,
    Opaque,
    Place,
    Several,
    State,
    built,
    read,
    widened,
)
from dpaudit.prover.symbols import Origin, Private, RefusedError

__all__ = ["Graph", "Loop", "Step", "goto", "tree_events"]

MAX_STATES, MAX_STEP_PATHS = 600, 8_000


class StepWalk(Walk):
    """A walk through a part of a loop.

    Lists that grow with the data may be shown. Discrete noise may not be drawn, because the values of a state
    need not be integers.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.publics: dict[str, Form] = {}
        self.kinds: dict[str, str] = {}

    def held(self, form: Form, kind: str) -> Private:
        """Return the symbolic value of a local at the loop's head. Earlier steps may have rounded it."""
        self.kinds.update(dict.fromkeys(form.terms, kind))
        return Private(form, self, Origin(rounded=True))

    def hidden(self, distribution: Distribution) -> Private:
        self._continuous(distribution)
        return super().hidden(distribution)

    def released(self, value: Any, distribution: Distribution) -> Any:
        self._continuous(distribution)
        return super().released(value, distribution)

    def public_divisor(self, what: str) -> None:
        """Follow a division by a public value.

        A run that ends in a division by zero does so on both neighbouring inputs. Its privacy cost is at most
        the cost of the run that continues, which is explored.
        """

    def public_form(self, key: str, what: str) -> Form:
        """Return ``p0``, ``p1``, ...: a symbol for each public expression, equal on both inputs (H4)."""
        if key not in self.publics:
            self.publics[key] = symbol(f"p{len(self.publics)}")
        return self.publics[key]

    def _continuous(self, distribution: Distribution) -> None:
        if distribution.name == "discrete-laplace":
            self.refuse("discrete noise was drawn, which needs a fixed number of records")

    def _shows(self, value: Any) -> list[Event]:
        if Opaque.belongs(value, self):
            return [("show", "public:list")]
        return super()._shows(value)

    def _shown_form(self, value: Private) -> Event:
        form = Private.form_of(value)
        if form.part("s") and self._kind(form) != BLURRED:
            self.refuse("a number was shown that may come from earlier records without noise")
        return super()._shown_form(value)

    def below(self, form: Form, *, strict: bool) -> bool:
        """Refuse to compare noiseless values of earlier steps: they may differ by rounding alone (H13)."""
        if form.part("s") and self._kind(form) == OF_DATA:
            self.refuse("numbers from earlier records were compared without noise")
        return super().below(form, strict=strict)

    def _blurred(self, form: Form) -> bool:
        return self._kind(form) == BLURRED

    def _kind(self, form: Form) -> str:
        """Return the kind of a form: blurred, of data, or private in another way.

        A form is blurred if it certainly contains noise with a density: a draw of this step, or the noise of
        one blurred value of the state to which only values of data are added. Two blurred values may cancel.
        """
        if super()._blurred(form):
            return BLURRED
        kinds = [self.kinds[name] for name in form.part("s")]
        others = [kind for kind in kinds if kind != OF_DATA]
        if others == [BLURRED]:
            return BLURRED
        return PRIVATE if others or form.part("p") else OF_DATA

    def goto(self, values: dict[str, Any]) -> None:
        """Record that the run has reached the loop's head with the locals ``values``."""
        state, forms = read(values, self, [value for value, _ in self.lists], self._held_kind)
        self._event(("goto", state, tuple(forms)))

    def _held_kind(self, value: Private) -> str:
        kind = self._kind(Private.form_of(value))
        if Private.origin_of(value).lost and kind != OF_DATA:
            # a later step could not distinguish it from a value in which nothing cancelled
            self.refuse("the loop keeps a number from which a private value cancelled with rounding")
        return kind


def goto(path: Path) -> tuple[State, tuple[Form, ...]] | None:
    """Return the state to which a path leads and the forms of its private values, or None at the end."""
    if path.events and path.events[-1][0] == "goto":
        _, state, forms = path.events[-1]
        return state, forms
    return None


def tree_events(explored: Explored) -> Iterator[Event]:
    """Yield all events of a tree."""
    pending: list[Any] = [explored.root]
    while pending:
        node = pending.pop()
        if isinstance(node, Node):
            yield node.event
            pending.extend(node.then)


@dataclass(frozen=True)
class Step:
    """The paths from one state: of a step with a record, and of the code after the loop."""

    step: Explored
    exit: Explored


@dataclass(frozen=True)
class Graph:
    """The program for any number of records.

    ``wide`` are the widened places. ``spread`` says that some of them were widened only because another
    number of the same list was.
    """

    before: Explored
    states: list[State]
    steps: list[Step]
    wide: frozenset[Place] = frozenset()
    spread: bool = False

    @property
    def trees(self) -> list[Explored]:
        """Return all trees: the code before the loop, then step and exit of each state."""
        return [self.before, *(tree for step in self.steps for tree in (step.step, step.exit))]

    @property
    def paths(self) -> int:
        """Return the number of paths of all trees."""
        return sum(len(tree.paths) for tree in self.trees)


@dataclass(eq=False)
class Loop:
    """A program with one loop over its data. Its construction and ``graph`` raise ``RefusedError``."""

    program: Callable[..., Any]
    data: Symbols
    known: dict[State, Step] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = loop_places(self.program)
        one = Symbols(1, low=self.data.low, high=self.data.high, width=self.data.width)
        self.record, self.domain = one, one.domain()
        self.choices: list[int] | None = None
        self.head: int | None = None
        self.before = explore(self._before, walk_class=StepWalk)

    def graph(self, limit: int, *, whole_lists: bool = True) -> Graph:
        """Return the graph of all states.

        A number with more than ``limit`` values is widened, and a list with more than ``limit`` lengths. If
        ``whole_lists`` is set, all numbers of a list are widened as soon as one of them is, which is faster.
        """
        wide: set[Place] = set()
        needed: set[Place] = set()
        while True:
            found = self._closed(wide, limit)
            if isinstance(found, tuple):
                return Graph(self.before, *found, frozenset(wide), spread=needed != wide)
            needed |= found.keys()
            wide |= found.keys()
            if whole_lists:
                wide |= {other for place, state in found.items() for other in _same_list(place, state)}

    def _closed(self, wide: set[Place], limit: int) -> tuple[list[State], list[Step]] | dict[Place, State]:
        """Return the states with their steps, or the places to widen, each with a state that has the place.

        The latest state is explored first, so that growing counters are found early.
        """
        states: dict[State, None] = {}
        steps: list[Step] = []
        values: dict[Place, set[Any]] = {}
        pending = self._targets(self.before, wide)
        total = 0
        while pending:
            state = pending.pop()
            if state in states:
                continue
            states[state] = None
            too_many = _counted(state, values, limit)
            if too_many:
                return dict.fromkeys(too_many, state)
            steps.append(self._from(state))
            total += len(steps[-1].step.paths) + len(steps[-1].exit.paths)
            if len(states) > MAX_STATES or total > MAX_STEP_PATHS:
                raise RefusedError(
                    f"the loop has more than {MAX_STATES} states or {MAX_STEP_PATHS} paths. Keep fewer "
                    "numbers from one step to the next.",
                    code="E-STATES-TOO-MANY",
                )
            pending.extend(self._targets(steps[-1].step, wide))
        return list(states), steps

    def _targets(self, tree: Explored, wide: set[Place]) -> list[State]:
        found = [goto(path) for path in tree.paths]
        return list(dict.fromkeys(widened(one[0], wide) for one in found if one is not None))

    def _from(self, state: State) -> Step:
        if state not in self.known:
            step = explore(lambda walk: self._step(walk, state), domain=self.domain, walk_class=StepWalk)
            after = explore(lambda walk: self._exit(walk, state), walk_class=StepWalk)
            self.known[state] = Step(step, after)
        return self.known[state]

    # Runs.

    def _before(self, walk: Walk) -> None:
        """Run the program from its start to the head of its loop, or to its end."""

        def arrive(visit: Visit, frame: FrameType) -> Any:
            if self.choices is None:
                self.choices = [answer for _, answer in walk.taken]
                self.start, self.head = walk.root, frame.f_lasti
            self._require_head(walk, frame)
            _step_walk(walk).goto(visit.read(frame))
            raise visit.stop()

        ended, result = Visit(self.places, walk, arrive).run(self.program, ProvingCoins(walk))
        if ended:
            walk.shown(result)

    def _require_head(self, walk: Walk, frame: FrameType) -> None:
        """Refuse a second loop. A state belongs to one loop, so that only its steps can follow (H3)."""
        if frame.f_lasti != self.head:
            walk.refuse(f"the data are iterated by two loops (line {frame.f_lineno})")

    def _step(self, walk: Walk, state: State) -> None:
        """Run one step from ``state``.

        The code before the loop runs on a separate walk, so that nothing from it can enter the installed
        state (H1).
        """
        self._installed(walk, state, lambda: self.data_record(walk))

    def _exit(self, walk: Walk, state: State) -> None:
        self._installed(walk, state, lambda: END)

    def data_record(self, walk: Walk) -> Any:
        """Return a fresh symbolic record."""
        return self.record.records(lambda name: walk.private(symbol(name)))[0]

    def _installed(self, walk: Walk, state: State, following: Callable[[], Any]) -> None:
        earlier = StepWalk({}, self.choices or [], self.start)
        coins = ProvingCoins(earlier)

        def arrive(visit: Visit, frame: FrameType) -> Any:
            if visit.arrived == 1:
                coins._follower = visit.follower = walk
                self._require_head(walk, frame)
                visit.install(frame, built(state, walk, _step_walk(walk).held))
                return following()
            _step_walk(walk).goto(visit.read(frame))
            raise visit.stop()

        visit = Visit(self.places, earlier, arrive)
        ended, result = visit.run(self.program, coins)
        if not visit.arrived:
            walk.refuse("the program did not reach its loop again")
        if ended:
            walk.shown(result)


def _step_walk(walk: Walk) -> StepWalk:
    assert isinstance(walk, StepWalk)
    return walk


def _counted(state: State, values: dict[Place, set[Any]], limit: int) -> set[Place]:
    """Record the numbers and lengths of a state. Return the places that now have more than ``limit``."""
    too_many = set()
    for place, shape in state.shapes():
        if isinstance(shape, Constant) and shape.is_number:
            values.setdefault(place, set()).add(shape.key)
        elif isinstance(shape, Several) and shape.kind == "list":
            values.setdefault(place, set()).add(len(shape.items))
        if len(values.get(place, ())) > limit:
            too_many.add(place)
    return too_many


def _same_list(place: Place, state: State) -> set[Place]:
    """Return the places of the numbers in the same list or tuple."""
    return {
        other
        for other, shape in state.shapes()
        if len(place) > 1
        and other[:-1] == place[:-1]
        and ((isinstance(shape, Constant) and shape.is_number) or shape == PUBLIC)
    }
