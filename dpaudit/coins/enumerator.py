"""Enumerator: sum a small finite program out exactly.

The program is run again and again along every path of its random outcomes (depth first); each run follows a
prefix of choices and takes the first outcome at every new site. The probability of a path is the product, in
balls, of the conditional probabilities along it. Two uses:

* ``enumerate_view``: the exact distribution of what a view sees, decisions included, for programs whose
  distributions have atoms;
* ``sum_out``: the density of a *given* visible transcript with everything hidden from the view summed out,
  which also serves programs whose visible distributions have densities. Its paths are what a ``mixture``
  witness holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.coins.base import ChannelSession, Coins, Program, To
from dpaudit.coins.exact_paths import ExactPaths, Share, shares_of
from dpaudit.coins.limits import exhausted
from dpaudit.coins.transcript import (
    Recording,
    frozen_copy,
    raised_by,
    require_plain,
    run_program,
    same_shown,
    same_value,
    to_the_last_bit,
)
from dpaudit.core.errors import DpauditError, InvalidParameterError, MechanismError, NotTractableError
from dpaudit.core.exact import decode_value, encode_value
from dpaudit.core.views import EVERYTHING, NOBODY, PUBLIC, SERVER, View, audience
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.ball import arb, upper
from dpaudit.kernel.t1.exponentials import ExpSum

__all__ = [
    "Path",
    "PathSite",
    "ViewDistribution",
    "enumerate_view",
    "hockey_stick",
    "max_log_ratio",
    "sum_out",
    "visible_values",
]

MAX_PATHS = 200_000

#: A value, its probability as a ball, and its exact share where it has one.
_Outcome = tuple[Any, Any, Share | None]


@dataclass(frozen=True)
class _Site:
    """A site that branches, as the first path that came to it found it: the distribution or the question,
    what the view has seen since the site before, and the outcomes."""

    asked: Any
    shown: tuple[Any, ...]
    outcomes: Sequence[_Outcome]

    def repeats(self, asked: Any, shown: Sequence[Any]) -> bool:
        """Whether another path finds the same here."""
        return (
            len(shown) == len(self.shown)
            and all(map(same_shown, shown, self.shown))
            and _same_question(self.asked, asked)
        )


def _same_question(left: Any, right: Any) -> bool:
    """Whether two sites have the same distribution, or put the same query to the same channel. A distribution
    without an
    equality of its own is compared as it is written; a channel or a query without one is not compared."""
    if isinstance(left, Distribution) and isinstance(right, Distribution):
        return bool(left == right) or left.to_json() == right.to_json()
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):
        return all(map(_same_question, left, right))
    has_no_equality = "__eq__" not in {name for kind in type(left).__mro__[:-1] for name in vars(kind)}
    return has_no_equality or same_value(left, right) or bool(np.all(left == right))


@dataclass(frozen=True)
class PathSite:
    """One random site on a path: its distribution and outcome, and whether the view sees it."""

    site: str
    distribution: Distribution | None
    value: Any
    visible: bool


@dataclass(frozen=True)
class Path:
    """One complete run: its probability (or density), the random sites along it, what the view sees, and what
    the written form of each revealed value leaves out (``beyond``). ``shares`` are the exact chances of the
    outcomes along it, ``None`` where one of them has none. A path on which the program ``raised`` ends with
    the error, which the public sees."""

    weight: Any
    sites: tuple[PathSite, ...]
    seen: tuple[Any, ...]
    beyond: tuple[Any, ...] = ()
    shares: tuple[Share, ...] | None = None
    raised: bool = False


@dataclass(frozen=True)
class ViewDistribution:
    """The exact distribution of a view: a ball for each transcript, keyed by its canonical JSON text, and the
    mass
    left out (a float upper bound). ``weights`` are in proportion to the chances, where these are known as
    sums of exponentials. ``ended`` says whether the program returned on any path, rather than raised."""

    probabilities: dict[str, Any]
    transcripts: dict[str, tuple[Any, ...]]
    left_out: float
    weights: dict[str, ExpSum] | None = None
    ended: bool = True


#: What stands beside an error that the program raised: no value is written so, a returned pair of texts
#: least of all.
RAISED = "raised"


class _Enumerated(Coins):
    """Follows ``choices`` at the sites that branch; where they end it takes the first outcome and notes how
    many there are."""

    def __init__(
        self,
        choices: Sequence[int],
        view: View,
        tail: float,
        cache: dict[tuple[int, ...], _Site],
        given: Sequence[Any] | None,
    ) -> None:
        self.choices = choices
        self.view = view
        self.tail = tail
        self.cache = cache
        self.given = given
        self.taken: list[int] = []
        self.widths: list[int] = []
        self.weight = arb(1)
        self.shares: list[Share] | None = [] if given is None and tail == 0 else None
        self.sites: list[PathSite] = []
        self.seen: list[Any] = []
        self.beyond: list[Any] = []
        self.compared = 0  # how much of what was seen earlier paths have been compared with
        self.impossible = False
        self.refused: DpauditError | None = None

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        return self._random(distribution, site, self.view.sees(audience(to)))

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        visible = self.view.sees(audience(to))
        try:
            image = through.image_distribution(distributions)
        except NotTractableError:
            if self.given is not None:
                raise
            # No distribution for the image: enumerate the users one by one and push each combination through.
            value = through.apply(
                [
                    self._random(distribution, f"{site}/{i}", visible=False)
                    for i, distribution in enumerate(distributions)
                ]
            )
            value = value.item() if value.ndim == 0 else value  # as the atoms of an image distribution
            if visible:
                self.seen.append(frozen_copy(value))
            return value
        return self._random(image, site, visible)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        with self._kept():
            return _EnumeratedSession(self, kernel, site, self.view.sees(audience(to)))

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        return self._random(distribution, site, self.view.sees(audience(NOBODY)))

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        if self.view.sees(audience(to)):
            with self._kept():
                require_plain(value)
                self.beyond.append(_beyond_json(value))
            self._see(frozen_copy(value))
        return value

    def end_by(self, error: DpauditError) -> bool:
        """Show the public that the program raised ``error``; whether that is an outcome of the program."""
        if self.refused is not None or exhausted(error.__cause__) or self.given is not None:
            return False
        if self.view.sees(audience(PUBLIC)):
            self.beyond.append(RAISED)
            self.seen.append(raised_by(error))
        return True

    def _random(self, distribution: Distribution, site: str, visible: bool) -> Any:
        if visible and self.given is not None:
            value = self._next_given(site)
            with self._kept():
                probability = distribution.logp_ball(value).exp()
        else:
            with self._kept():
                value, probability, share = self._branch(distribution, lambda: self._outcomes(distribution))
            self._take(share)
        self.weight = self.weight * probability
        self.sites.append(PathSite(site, distribution, value, visible))
        if visible:
            self.seen.append(value)
        return frozen_copy(value)

    def _outcomes(self, distribution: Distribution) -> list[_Outcome]:
        atoms = list(distribution.atoms(tail=self.tail))
        shares = None if self.shares is None else shares_of(distribution)
        return [(value, p, None if shares is None else shares[int(value)]) for value, p in atoms]

    def _take(self, share: Share | None) -> None:
        if self.shares is not None:
            self.shares = None if share is None else [*self.shares, share]

    def _branch(self, asked: Any, outcomes: Callable[[], Sequence[_Outcome]]) -> _Outcome:
        """Choose one of the outcomes of a site: the recorded choice while there is one, the first outcome
        beyond. Every path that comes here must ask the same and have shown the same."""
        key, shown = tuple(self.taken), self.seen[self.compared :]
        self.compared = len(self.seen)
        if key not in self.cache:
            self.cache[key] = _Site(asked, tuple(shown), outcomes())
        elif not self.cache[key].repeats(asked, shown):
            self.refused = MechanismError(
                "a program must do the same when it is enumerated again, on a path that was run before it "
                "had another distribution or showed something else; draw all randomness from the "
                "coins, and keep "
                "nothing from run to run."
            )
            raise self.refused
        table = self.cache[key].outcomes
        depth = len(self.taken)
        choice = self.choices[depth] if depth < len(self.choices) else 0
        self.taken.append(choice)
        self.widths.append(len(table))
        outcome: _Outcome = table[choice]
        return outcome

    def _next_given(self, site: str) -> Any:
        assert self.given is not None  # narrows the type: callers have checked it
        if len(self.seen) >= len(self.given):
            raise self._give_up()
        return self.given[len(self.seen)]

    def _see(self, value: Any) -> None:
        if self.given is not None and not same_value(self._next_given("reveal"), value):
            raise self._give_up()
        self.seen.append(value)

    @contextmanager
    def _kept(self, kind: type[DpauditError] = DpauditError) -> Iterator[None]:
        """What cannot be enumerated stays so, even if the program catches the error: outside an enumeration
        there is none, and the program goes on otherwise."""
        try:
            yield
        except kind as error:
            self.refused = error
            raise

    def _give_up(self) -> _ImpossibleError:
        self.impossible = True  # stays, even if the program catches what unwinds it
        return _ImpossibleError()


class _ImpossibleError(BaseException):
    """The given transcript has probability 0 on this path."""


class _EnumeratedSession(ChannelSession):
    """Conditional probabilities of a channel's answers, as ratios of its joint distribution."""

    def __init__(self, coins: _Enumerated, kernel: Any, site: str, visible: bool) -> None:
        if getattr(kernel, "answers", None) is None:
            raise NotTractableError(
                f"site {site!r}: a channel can be enumerated only if its answers are finite; force or "
                "replay it."
            )
        self._coins, self._kernel, self._site, self._visible = coins, kernel, site, visible
        self._queries: list[Any] = []
        self._outcomes: list[Any] = []
        self._joint = arb(1)

    def ask(self, query: Any) -> Any:
        self._queries.append(frozen_copy(query))
        before = self._joint
        if self._visible and self._coins.given is not None:
            value = self._coins._next_given(self._site)
            joint = self._probability(value)
        else:
            value, joint, share = self._coins._branch(
                (self._kernel, self._queries[-1]),
                lambda: [(answer, self._probability(answer), None) for answer in self._kernel.answers],
            )
            self._coins._take(share)
        self._outcomes.append(value)
        self._coins.weight = self._coins.weight * joint / before if before > 0 else arb(0)
        self._joint = joint
        if self._visible:
            self._coins.seen.append(value)
        return value

    def _probability(self, answer: Any) -> Any:
        with self._coins._kept(
            NotTractableError
        ):  # another error may be the channel's own, that it is closed
            return self._kernel.log_joint_ball(tuple(self._queries), (*self._outcomes, answer)).exp()


def _paths(
    program: Program, data: Any, view: View, tail: float, given: Sequence[Any] | None, max_paths: int
) -> Iterator[Path]:
    cache: dict[tuple[int, ...], _Site] = {}
    choices: list[int] = []
    for _ in range(max_paths):
        coins = _Enumerated(choices, view, tail, cache, given)
        raised = False
        try:
            run_program(program, data, coins)
        except _ImpossibleError:
            pass
        except (MechanismError, InvalidParameterError) as error:
            raised = coins.end_by(error)
            if not (raised or coins.impossible):
                raise
        if not (coins.impossible or coins.refused) and (given is None or len(coins.seen) == len(given)):
            shares = None if coins.shares is None else tuple(coins.shares)
            seen, beyond = tuple(coins.seen), tuple(coins.beyond)
            yield Path(coins.weight, tuple(coins.sites), seen, beyond, shares, raised)
        if coins.refused is not None:
            raise coins.refused
        # Depth first: raise the last choice that can be raised, and forget what is known below it.
        taken, widths = coins.taken, coins.widths
        while taken and taken[-1] + 1 >= widths[-1]:
            cache.pop(tuple(taken[:-1]), None)
            taken, widths = taken[:-1], widths[:-1]
        if not taken:
            return
        choices = [*taken[:-1], taken[-1] + 1]
    raise NotTractableError(
        f"a program must have at most {max_paths} paths to be enumerated; make it smaller or sample it."
    )


def enumerate_view(
    program: Program, data: Any, *, view: View = EVERYTHING, tail: float = 0.0, max_paths: int = MAX_PATHS
) -> ViewDistribution:
    """The exact distribution of what ``view`` sees when ``program`` runs on ``data``.

    ``tail`` is the mass that each distribution with infinite support may leave out; ``left_out`` bounds what
    the whole
    enumeration misses. Raises ``NotTractableError`` for distributions with densities, or for more than
    ``max_paths`` paths.
    """
    probabilities: dict[str, Any] = {}
    transcripts: dict[str, tuple[Any, ...]] = {}
    exact, total, ended = ExactPaths(), arb(0), False
    for path in _paths(program, data, view, tail, None, max_paths):
        # no value is written as a dict with this key: a list beside the values would pass for one of them
        beyond = [] if all(item is None for item in path.beyond) else [{"beyond": path.beyond}]
        key = json.dumps([*map(encode_value, path.seen), *beyond])
        probabilities[key] = probabilities.get(key, arb(0)) + path.weight
        transcripts[key] = path.seen
        total += path.weight
        ended = ended or not path.raised
        exact.add(key, path.shares)
    left_out = 0.0 if tail == 0.0 else max(0.0, upper(1 - total))
    return ViewDistribution(probabilities, transcripts, left_out, exact.weights(), ended)


def _beyond_json(value: Any) -> Any:
    """The value to the last bit where its written form leaves out a type, a digit or the payload of a NaN;
    ``None`` for other values."""
    written = encode_value(value)
    try:
        if same_shown(decode_value(written), value):
            return None
    except InvalidParameterError:
        pass  # written, and read by nobody: an array of texts, say
    return to_the_last_bit(value)


def sum_out(
    program: Program,
    data: Any,
    seen: Sequence[Any],
    *,
    view: View,
    tail: float = 0.0,
    max_paths: int = MAX_PATHS,
) -> tuple[Any, list[Path]]:
    """Density of the visible transcript ``seen`` (values in order, the return value last), with everything
    hidden from ``view`` summed out.

    Returns the ball and the paths that it is the sum of. Hidden distributions must have atoms; with ``tail``
    > 0 the ball is a lower bound only.
    """
    if not len(seen):
        raise InvalidParameterError(
            "a visible transcript must have at least the return value, got none; record the program first."
        )
    paths = list(_paths(program, data, view, tail, list(seen), max_paths))
    total = arb(0)
    for path in paths:
        total += path.weight
    return total, paths


def max_log_ratio(left: ViewDistribution, right: ViewDistribution) -> tuple[Any, str | None]:
    """The largest log P(o)/P'(o) over transcripts, as a ball, and the transcript's key. ``inf`` where only
    one side is possible.

    Both distributions must be complete (nothing left out): otherwise an absent transcript proves nothing, and
    ``NotTractableError`` is raised.
    """
    if left.left_out or right.left_out:
        raise NotTractableError(
            "the largest log-ratio needs complete distributions; enumerate with tail=0, or bound "
            "delta instead."
        )
    best, where = arb("-inf"), None
    for key, p in left.probabilities.items():
        if p <= 0:
            continue
        q = right.probabilities.get(key)
        ratio = arb("inf") if q is None or q.is_zero() else (p / q).log()
        if where is None or ratio.mid() > best.mid() or (ratio == arb("inf")):
            best, where = ratio, key
    return best, where


def hockey_stick(left: ViewDistribution, right: ViewDistribution, exp_epsilon: Any) -> Any:
    """delta(epsilon) = sum over transcripts of (P - e^epsilon P')+, as a ball that also covers what either
    enumeration left out."""
    total = arb(0)
    for key, p in left.probabilities.items():
        gap = p - exp_epsilon * right.probabilities.get(key, arb(0))
        total += _positive_part(gap)
    # Mass that was left out on the left can only add; on the right it can only take away, e^epsilon times.
    return total + arb(0).union(arb(left.left_out)) - arb(0).union(exp_epsilon * arb(right.left_out))


def _positive_part(value: Any) -> Any:
    if value >= 0:
        return value
    if value <= 0:
        return arb(0)
    # Undecided sign: the ball from 0 to the upper end contains the positive part (fact F7).
    return arb(0).union(value.upper())


def visible_values(recording: Recording, view: View) -> tuple[Any, ...]:
    """What ``view`` sees of a recording, in order: the ``seen`` of ``sum_out``."""
    return tuple(record.value for record in recording.sites if view.sees(record.to))
