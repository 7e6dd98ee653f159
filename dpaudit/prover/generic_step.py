"""One generic step of the program's loop, from every abstract state: a finite graph for data of every size.

The code before the loop is explored to the loop's head. From each state found there the program is run again,
its locals are replaced by the state's symbols (``frames``), and all paths of one step with a fresh record
``x0``, ``x1``, ... are explored, and all paths of what comes after the loop. A step that comes back to the
head gives the next state and the forms that its private values have then. This ends when no new state turns
up: the graph then contains every run, for any number of records (Lemma 1 of section H).

The exploration is that of bounded programs (``explore``), so comparisons, cuts and events are treated
alike."""

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
    """A walk through a part of a loop: lists that grow with the data may be shown, discrete noise may not
    be drawn (the values of a state need not be integers)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.publics: dict[str, Form] = {}
        self.kinds: dict[str, str] = {}

    def held(self, form: Form, kind: str) -> Private:
        """The value that a local has at the loop's head, by its symbol: earlier steps may have rounded it."""
        self.kinds.update(dict.fromkeys(form.terms, kind))
        return Private(form, self, Origin(rounded=True))

    def hidden(self, distribution: Distribution) -> Private:
        self._continuous(distribution)
        return super().hidden(distribution)

    def released(self, value: Any, distribution: Distribution) -> Any:
        self._continuous(distribution)
        return super().released(value, distribution)

    def public_divisor(self, what: str) -> None:
        """Followed: a run that ends in a division by zero does so on both sides, and has paid no more than
        the run that goes on, which is the one that is explored."""

    def public_form(self, key: str, what: str) -> Form:
        """``p0``, ``p1``, ...: a symbol for each public expression, the same on both sides (H4)."""
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
        """Values of earlier steps that no noise is in: what they differ by may be rounding alone (H13)."""
        if form.part("s") and self._kind(form) == OF_DATA:
            self.refuse("numbers from earlier records were compared without noise")
        return super().below(form, strict=strict)

    def _blurred(self, form: Form) -> bool:
        return self._kind(form) == BLURRED

    def _kind(self, form: Form) -> str:
        """Whether noise with a density is in it for certain: a draw of this step, or what one value of the
        state has, which only values of data stand beside. Two such values may cancel."""
        if super()._blurred(form):
            return BLURRED
        kinds = [self.kinds[name] for name in form.part("s")]
        others = [kind for kind in kinds if kind != OF_DATA]
        if others == [BLURRED]:
            return BLURRED
        return PRIVATE if others or form.part("p") else OF_DATA

    def goto(self, values: dict[str, Any]) -> None:
        """The run has come to the loop's head, its locals being ``values``."""
        state, forms = read(values, self, [value for value, _ in self.lists], self._held_kind)
        self._event(("goto", state, tuple(forms)))

    def _held_kind(self, value: Private) -> str:
        kind = self._kind(Private.form_of(value))
        if Private.origin_of(value).lost and kind != OF_DATA:  # a later step could not tell it from its like
            self.refuse("a number from which a private value cancelled with rounding is kept by the loop")
        return kind


def goto(path: Path) -> tuple[State, tuple[Form, ...]] | None:
    """Where a path leads: a state and the forms of its private values, or None at the program's end."""
    if path.events and path.events[-1][0] == "goto":
        _, state, forms = path.events[-1]
        return state, forms
    return None


def tree_events(explored: Explored) -> Iterator[Event]:
    """All events of a tree."""
    pending: list[Any] = [explored.root]
    while pending:
        node = pending.pop()
        if isinstance(node, Node):
            yield node.event
            pending.extend(node.then)


@dataclass(frozen=True)
class Step:
    """From one state: the paths of a step with a record, and the paths of what follows the loop."""

    step: Explored
    exit: Explored


@dataclass(frozen=True)
class Graph:
    """The program for any number of records. ``wide``: the places that were widened; ``spread``: some of
    them only because another number of the same list was."""

    before: Explored
    states: list[State]
    steps: list[Step]
    wide: frozenset[Place] = frozenset()
    spread: bool = False

    @property
    def trees(self) -> list[Explored]:
        return [self.before, *(tree for step in self.steps for tree in (step.step, step.exit))]

    @property
    def paths(self) -> int:
        return sum(len(tree.paths) for tree in self.trees)


@dataclass(eq=False)
class Loop:
    """A program with one loop over its data. Raises ``RefusedError`` where it cannot be followed."""

    program: Callable[..., Any]
    data: Symbols
    known: dict[State, Step] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = loop_places(self.program)
        one = Symbols(1, low=self.data.low, high=self.data.high, width=self.data.width)
        self.record, self.domain = one, one.domain()
        self.way: list[int] | None = None
        self.head: int | None = None
        self.before = explore(self._before, walk_class=StepWalk)

    def graph(self, limit: int, *, together: bool = True) -> Graph:
        """All states, a number of more than ``limit`` values or a list of more lengths being widened; with
        ``together`` all numbers of a list are widened with one of them, which is quicker."""
        wide: set[Place] = set()
        needed: set[Place] = set()
        while True:
            found = self._closed(wide, limit)
            if isinstance(found, tuple):
                return Graph(self.before, *found, frozenset(wide), spread=needed != wide)
            needed |= found.keys()
            wide |= found.keys()
            if together:
                wide |= {near for place, state in found.items() for near in _beside(place, state)}

    def _closed(self, wide: set[Place], limit: int) -> tuple[list[State], list[Step]] | dict[Place, State]:
        """The states with their steps, or the places that have to be widened, each with a state that has
        it. The latest state goes on first: counters that grow are found soon."""
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
                    f"the loop has more than {MAX_STATES} states or {MAX_STEP_PATHS} paths; "
                    "keep fewer numbers from one step to the next."
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
        """From the program's start to the head of its loop, or to its end."""

        def arrive(visit: Visit, frame: FrameType) -> Any:
            if self.way is None:
                self.way = [answer for _, answer in walk.taken]
                self.start, self.head = walk.root, frame.f_lasti
            self._require_head(walk, frame)
            _step_walk(walk).goto(visit.read(frame))
            raise visit.stop()

        ended, result = Visit(self.places, walk, arrive).run(self.program, ProvingCoins(walk))
        if ended:
            walk.shown(result)

    def _require_head(self, walk: Walk, frame: FrameType) -> None:
        """A state belongs to one loop: from it a step of another loop is no step of the program (H3)."""
        if frame.f_lasti != self.head:
            walk.refuse(f"the data are iterated by two loops (line {frame.f_lineno})")

    def _step(self, walk: Walk, state: State) -> None:
        """One step from ``state``: the code before the loop runs on a walk of its own, and nothing of the
        state that is installed then can reach (H1)."""
        self._installed(walk, state, lambda: self.data_record(walk))

    def _exit(self, walk: Walk, state: State) -> None:
        self._installed(walk, state, lambda: END)

    def data_record(self, walk: Walk) -> Any:
        return self.record.records(lambda name: walk.private(symbol(name)))[0]

    def _installed(self, walk: Walk, state: State, following: Callable[[], Any]) -> None:
        earlier = StepWalk({}, self.way or [], self.start)
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
            walk.refuse("the program did not come to its loop again")
        if ended:
            walk.shown(result)


def _step_walk(walk: Walk) -> StepWalk:
    assert isinstance(walk, StepWalk)
    return walk


def _counted(state: State, values: dict[Place, set[Any]], limit: int) -> set[Place]:
    """Note the numbers and lengths of a state; the places that now have more than ``limit``."""
    too_many = set()
    for place, shape in state.shapes():
        if isinstance(shape, Constant) and shape.is_number:
            values.setdefault(place, set()).add(shape.key)
        elif isinstance(shape, Several) and shape.kind == "list":
            values.setdefault(place, set()).add(len(shape.items))
        if len(values.get(place, ())) > limit:
            too_many.add(place)
    return too_many


def _beside(place: Place, state: State) -> set[Place]:
    """The numbers of the same list or tuple."""
    return {
        other
        for other, shape in state.shapes()
        if len(place) > 1
        and other[:-1] == place[:-1]
        and ((isinstance(shape, Constant) and shape.is_number) or shape == PUBLIC)
    }
