"""Sum over all paths of a small finite program, exactly.

The program runs once along every path of its random outcomes, depth first. Each run follows a prefix of
choices and takes the first outcome at every new site. The probability of a path is the product, in balls, of
the conditional probabilities along it. There are two uses:

* ``enumerate_view`` computes the exact distribution of what a view sees, decisions included, for programs
  whose distributions have atoms.
* ``sum_out`` computes the density of a *given* visible transcript, summed over everything hidden from the
  view. It also serves programs whose visible distributions have densities. A ``mixture`` witness holds its
  paths.
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

#: A value, its probability as a ball, and its exact share if it has one.
_Outcome = tuple[Any, Any, Share | None]


@dataclass(frozen=True)
class _Site:
    """A site that branches, as the first path through it found it.

    ``query`` is its distribution, or the kernel and the query. ``shown`` is what the view has seen since the
    previous site.
    """

    query: Any
    shown: tuple[Any, ...]
    outcomes: Sequence[_Outcome]

    def repeats(self, query: Any, shown: Sequence[Any]) -> bool:
        """Return whether another path finds the same site here."""
        return (
            len(shown) == len(self.shown)
            and all(map(same_shown, shown, self.shown))
            and _same_query(self.query, query)
        )


def _same_query(left: Any, right: Any) -> bool:
    """Return whether two sites have the same distribution, or send the same query to the same channel.

    Distributions that do not define equality are compared by their JSON. Channels and queries that do not
    define equality are not compared.
    """
    if isinstance(left, Distribution) and isinstance(right, Distribution):
        return bool(left == right) or left.to_json() == right.to_json()
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):
        return all(map(_same_query, left, right))
    has_no_equality = "__eq__" not in {name for kind in type(left).__mro__[:-1] for name in vars(kind)}
    return has_no_equality or same_value(left, right) or bool(np.all(left == right))


@dataclass(frozen=True)
class PathSite:
    """A random site on a path: its distribution and outcome, and whether the view sees it."""

    site: str
    distribution: Distribution | None
    value: Any
    visible: bool


@dataclass(frozen=True)
class Path:
    """A complete run.

    Attributes
    ----------
    weight : arb
        The probability of the path, or its density.
    sites : tuple of PathSite
        The random sites along the path.
    seen : tuple
        What the view sees, in order.
    beyond : tuple
        For each revealed value, what its JSON leaves out, or ``None``.
    shares : tuple of Share or None
        The exact probabilities of the outcomes along the path, or ``None`` if one of them has none.
    raised : bool
        Whether the program raised an error. The path then ends with the error, which the public sees.
    """

    weight: Any
    sites: tuple[PathSite, ...]
    seen: tuple[Any, ...]
    beyond: tuple[Any, ...] = ()
    shares: tuple[Share, ...] | None = None
    raised: bool = False


@dataclass(frozen=True)
class ViewDistribution:
    """The exact distribution of what a view sees.

    Attributes
    ----------
    probabilities : dict of str to arb
        A ball for each transcript, keyed by its canonical JSON.
    transcripts : dict of str to tuple
        The values of each transcript.
    left_out : float
        An upper bound on the mass left out, 0 or more.
    weights : dict of str to ExpSum, or None
        Exact numbers in proportion to the probabilities, if these are known as sums of exponentials.
    ended : bool
        Whether the program returned on any path, instead of raising an error on all of them.
    """

    probabilities: dict[str, Any]
    transcripts: dict[str, tuple[Any, ...]]
    left_out: float
    weights: dict[str, ExpSum] | None = None
    ended: bool = True


#: Marks an error that the program raised. No value has this form, so no returned value passes for an error.
RAISED = "raised"


class _Enumerated(Coins):
    """An interpreter that follows ``choices`` at the sites that branch.

    After the last choice it takes the first outcome at every site and notes the number of outcomes.
    """

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
        self.compared = 0  # the length of the part of ``seen`` that was compared with earlier paths
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
            # The image has no distribution: enumerate the users one by one and map each combination.
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
        with self._keeping_error():
            return _EnumeratedSession(self, kernel, site, self.view.sees(audience(to)))

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        return self._random(distribution, site, self.view.sees(audience(NOBODY)))

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        if self.view.sees(audience(to)):
            with self._keeping_error():
                require_plain(value)
                self.beyond.append(_beyond_json(value))
            self._see(frozen_copy(value))
        return value

    def end_by(self, error: DpauditError) -> bool:
        """Show the public that the program raised ``error``, and return whether that is an outcome."""
        if self.refused is not None or exhausted(error.__cause__) or self.given is not None:
            return False
        if self.view.sees(audience(PUBLIC)):
            self.beyond.append(RAISED)
            self.seen.append(raised_by(error))
        return True

    def _random(self, distribution: Distribution, site: str, visible: bool) -> Any:
        if visible and self.given is not None:
            value = self._next_given(site)
            with self._keeping_error():
                probability = distribution.logp_ball(value).exp()
        else:
            with self._keeping_error():
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

    def _branch(self, query: Any, outcomes: Callable[[], Sequence[_Outcome]]) -> _Outcome:
        """Return one outcome of a site: that of the given choice, or the first outcome after the last choice.

        Every path through this site must have the same distribution or query, and must have shown the same.
        """
        key, shown = tuple(self.taken), self.seen[self.compared :]
        self.compared = len(self.seen)
        if key not in self.cache:
            self.cache[key] = _Site(query, tuple(shown), outcomes())
        elif not self.cache[key].repeats(query, shown):
            self.refused = MechanismError(
                "the program is not reproducible: run again along the same path, it had another "
                "distribution or showed something else. Draw all randomness from the coins, and keep no "
                "state between runs.",
                code="E-PROGRAM-NOT-REPRODUCIBLE",
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
    def _keeping_error(self, kind: type[DpauditError] = DpauditError) -> Iterator[None]:
        """Keep an error of the enumeration, even if the program catches it.

        Outside an enumeration this error does not occur, so a program that catches it behaves differently.
        """
        try:
            yield
        except kind as error:
            self.refused = error
            raise

    def _give_up(self) -> _ImpossibleError:
        self.impossible = True  # stays, even if the program catches the exception
        return _ImpossibleError()


class _ImpossibleError(BaseException):
    """The given transcript has probability 0 on this path."""


class _EnumeratedSession(ChannelSession):
    """A channel whose answers are enumerated. Ratios of joint probabilities give the conditional ones."""

    def __init__(self, coins: _Enumerated, kernel: Any, site: str, visible: bool) -> None:
        if getattr(kernel, "answers", None) is None:
            raise NotTractableError(
                f"site {site!r}: only a channel with finitely many answers can be enumerated. Force or "
                "replay it instead.",
                code="E-CHANNEL-NOT-FINITE",
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
        # Other errors may be an answer of the channel, such as that it is closed.
        with self._coins._keeping_error(NotTractableError):
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
        # Depth first: advance the last choice that can be advanced, and forget the sites below it.
        taken, widths = coins.taken, coins.widths
        while taken and taken[-1] + 1 >= widths[-1]:
            cache.pop(tuple(taken[:-1]), None)
            taken, widths = taken[:-1], widths[:-1]
        if not taken:
            return
        choices = [*taken[:-1], taken[-1] + 1]
    raise NotTractableError(
        f"only programs with at most {max_paths} paths can be enumerated. Use smaller data or sample.",
        code="E-PATHS-TOO-MANY",
    )


def enumerate_view(
    program: Program, data: Any, *, view: View = EVERYTHING, tail: float = 0.0, max_paths: int = MAX_PATHS
) -> ViewDistribution:
    """Compute the exact distribution of what ``view`` sees when ``program`` runs on ``data``.

    Parameters
    ----------
    program, data : callable, object
        The program ``program(coins, data)`` and its input.
    view : View
        The adversary's view. By default it sees every site except hidden draws.
    tail : float
        The mass in [0, 1) that each distribution with infinite support may leave out (0).
    max_paths : int
        The largest number of paths (200,000).

    Returns
    -------
    ViewDistribution
        The probabilities of all transcripts. ``left_out`` bounds the mass that the whole enumeration misses.

    Raises
    ------
    NotTractableError
        A distribution has a density, or there are more than ``max_paths`` paths.
    MechanismError
        The program is not reproducible.
    """
    probabilities: dict[str, Any] = {}
    transcripts: dict[str, tuple[Any, ...]] = {}
    exact, total, ended = ExactPaths(), arb(0), False
    for path in _paths(program, data, view, tail, None, max_paths):
        # The JSON of a value is never a dict with this key, but a list could be mistaken for a value.
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
    """Return a value to the last bit if its JSON omits a type, a digit or the payload of a NaN.

    Return ``None`` for other values.
    """
    written = encode_value(value)
    try:
        if same_shown(decode_value(written), value):
            return None
    except InvalidParameterError:
        pass  # it can be written but not read, such as an array of texts
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
    """Compute the density of a visible transcript, summed over everything hidden from ``view``.

    Parameters
    ----------
    program, data : callable, object
        The program ``program(coins, data)`` and its input. Hidden distributions must have atoms.
    seen : sequence
        The visible values in order, the return value last.
    view : View
        The adversary's view.
    tail : float
        The mass in [0, 1) that each hidden distribution with infinite support may leave out (0). With
        ``tail > 0``, the ball is a lower bound only.
    max_paths : int
        The largest number of paths (200,000).

    Returns
    -------
    tuple of arb and list of Path
        The density, and the paths whose weights add up to it.

    Raises
    ------
    InvalidParameterError
        ``seen`` is empty.
    NotTractableError
        A hidden distribution has a density, or there are more than ``max_paths`` paths.
    """
    if not len(seen):
        raise InvalidParameterError(
            "a visible transcript must contain at least the return value, got an empty sequence.",
            code="E-TRANSCRIPT-EMPTY",
        )
    paths = list(_paths(program, data, view, tail, list(seen), max_paths))
    total = arb(0)
    for path in paths:
        total += path.weight
    return total, paths


def max_log_ratio(left: ViewDistribution, right: ViewDistribution) -> tuple[Any, str | None]:
    """Return the largest log P(o)/P'(o) over all transcripts o, and the key of that transcript.

    Parameters
    ----------
    left, right : ViewDistribution
        The distributions P and P'. Nothing may be left out of them, because otherwise an absent transcript
        proves nothing.

    Returns
    -------
    tuple of arb and str
        The ratio as a ball, ``inf`` if a transcript is possible only under P, and the transcript's key.

    Raises
    ------
    NotTractableError
        A distribution is not complete.
    """
    if left.left_out or right.left_out:
        raise NotTractableError(
            "the largest log-ratio needs complete distributions. Enumerate with tail=0, or bound delta.",
            code="E-DISTRIBUTION-INCOMPLETE",
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
    """Return delta(epsilon) = sum over transcripts of (P - e^epsilon P')+.

    Parameters
    ----------
    left, right : ViewDistribution
        The distributions P and P'.
    exp_epsilon : arb
        e^epsilon.

    Returns
    -------
    arb
        A ball that contains delta, including the mass that either enumeration left out.
    """
    total = arb(0)
    for key, p in left.probabilities.items():
        gap = p - exp_epsilon * right.probabilities.get(key, arb(0))
        total += _positive_part(gap)
    # Mass left out of P can only increase delta. Mass left out of P' can only decrease it, e^epsilon times.
    return total + arb(0).union(arb(left.left_out)) - arb(0).union(exp_epsilon * arb(right.left_out))


def _positive_part(value: Any) -> Any:
    if value >= 0:
        return value
    if value <= 0:
        return arb(0)
    # The sign is undecided, and the ball from 0 to the upper end contains the positive part (fact F7).
    return arb(0).union(value.upper())


def visible_values(recording: Recording, view: View) -> tuple[Any, ...]:
    """Return what ``view`` sees of a recording, in order. This is the argument ``seen`` of ``sum_out``."""
    return tuple(record.value for record in recording.sites if view.sees(record.to))
