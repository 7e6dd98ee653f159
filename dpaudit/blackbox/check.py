"""The black-box check: run a mechanism on pairs of neighbours and try to refute its claim.

    result = check(mechanism, PureDP(epsilon=1), data=Records(Interval(0, 1), size=3))
    print(result)

The mechanism is any callable ``(data, rng) -> output`` (or ``(data, rng, size) -> array`` with
``batch=True``). The attack learns events from past outputs and bets on them with fresh ones; it may stop at
any time, needs no sample splitting, and refutes a true claim with probability at most ``alpha`` over all
pairs, both directions and all stopping times. It can refute or stay inconclusive, never verify: no number
of samples can. What it assumes: calls are independent given the input, and all randomness is fresh in each
call. Where the outputs betray a memory, nothing is concluded from them.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, TypeGuard
from warnings import warn

import numpy as np
from hypothesis.strategies import SearchStrategy

from dpaudit.blackbox.audited import too_few, unread
from dpaudit.blackbox.bounds import Bound, lower_bound
from dpaudit.blackbox.deadline import Clock
from dpaudit.blackbox.hypotheses import Family, family_of
from dpaudit.blackbox.in_modes import unrounded_share
from dpaudit.blackbox.mutation import CHANGES_ITS_INPUT, InputChangedError, OnCopies, state_of
from dpaudit.blackbox.neighbours import AdjacentInputs, PairsOfInputs, doubts, pairs_of, read_neighbours
from dpaudit.blackbox.notes import (
    NEW_PROCESS,
    fresh_copies,
    memory,
    note_on_bits,
    notes_before,
    notes_on_outputs,
    power,
    power_notes,
    telling_event,
)
from dpaudit.blackbox.recorded_draws import hear
from dpaudit.blackbox.result import CheckResult
from dpaudit.blackbox.runs import CallTooLongError, OutOfTimeError, UnfitForWorkersError
from dpaudit.blackbox.search import Search, Target
from dpaudit.blackbox.smallest import smallest
from dpaudit.blackbox.state_leak_test import copies_in_both_orders, keeps_its_first
from dpaudit.blackbox.statistics.blocks import Workers
from dpaudit.blackbox.statistics.cluster import TlsScheduler
from dpaudit.coins.outside import noting_outside
from dpaudit.core.claims import Model, PrivacyClaim, PureDP
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import ExactLike, exact, rounded_up
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.processes.ending import no_silent_end
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.core.views import PUBLIC, View

__all__ = ["AS_RUN", "CheckResult", "check"]

#: The model of a claim about the float program as it runs: ``PureDP(epsilon=1, model=AS_RUN)``.
AS_RUN = Model.AS_RUN
#: The share of a difference that rounding may explain without a word.
MOST_ROUNDED = 2.0**-10
#: Runs for each pair within which a change of the input is looked for.
EARLY = 64
#: Below this level 1 - alpha is hardly a float other than 1.
LEAST_ALPHA = 1e-12


@no_silent_end()
def check(
    mechanism: Callable[..., Any],
    claim: PrivacyClaim,
    *,
    neighbours: PairsOfInputs | None = None,
    data: Records | Table | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    max_samples: int = 100_000,
    batch: bool = False,
    jobs: int = 1,
    scheduler: str | TlsScheduler | None = None,
    timeout: float | None = 60.0,
    seconds: float | None = None,
    stop_early: bool = True,
    record_draws: bool = True,
    delta: ExactLike | None = None,
    listen: bool | None = None,
) -> CheckResult:
    """Try to refute ``claim`` by running ``mechanism`` on pairs of neighbouring inputs, in both directions.

    Exactly one of ``data`` and ``neighbours`` says which pairs. ``data``: the declaration of the data,
    ``Records`` or ``Table``; the pairs are neighbours by the claim's adjacency, extreme records first.

    ``mechanism``: ``(data, rng) -> output``, or with ``batch`` ``(data, rng, size) -> array`` of ``size``
    outputs along axis 0. Outputs are numbers, text, None, or containers and arrays of these; an exception is
    an outcome too. Randomness comes from ``rng``. Calls must be independent: each draws anew and remembers
    nothing; where outputs show the contrary, the result says so and bounds nothing. A check whose runs could
    not refute any mechanism is not begun, and the result says how many would do (``not_audited``).

    ``claim``: ``PureDP``, ``ApproxDP``, ``GaussianDP``, ``ZeroConcentratedDP``, ``RenyiDP`` or ``Profile``;
    the last four are bet against at several (epsilon, delta) points that they imply. With ``model=AS_RUN``
    the bit patterns of floats count as well. ``neighbours``: pairs of your own, ``corners(...)``,
    ``Inputs(...)``, or a Hypothesis strategy for pairs; by the last two, and by ``data``, a pair that refutes
    is shrunk.
    ``max_samples``: runs in all. ``jobs``: joblib workers; ``scheduler``: in their place the address of a
    Dask cluster (with certificates a ``TlsScheduler``), where calls have no time limit; the result does not
    depend on either, and a mechanism that draws from elsewhere than ``rng``, or keeps something between
    calls, runs in one process. ``timeout``: seconds for one call (one batch), enforced by a timer where the
    mechanism runs in a main thread (joblib workers do); code that never returns to Python cannot be
    interrupted. ``seconds``: for the whole check; then, and after Ctrl-C, the result is what is known so
    far: a bound above the claim, or a shrunk pair, may be a worse one than with more time. ``stop_early``:
    stop as soon as the claim is refuted; otherwise spend all runs on a better lower bound. ``record_draws``:
    hear
    what the mechanism draws, in about a second, and tell it in ``heard`` and in notes, which never change
    the verdict. ``delta``: say also how large epsilon is at this delta in [0, 1), whatever the claim is
    (``epsilon_at``); the bound holds with probability ``1 - alpha`` by itself.
    A slow check shows its progress where standard error is a terminal.

    A mechanism that changes its input gets a fresh copy in each call; a call that hangs ends the runs.

    Raises ``InvalidParameterError`` for a claim or neighbours that cannot be checked, ``MechanismError``
    where a call hangs before there is a result, no output can be read, or every call raises.
    """
    if listen is not None:
        warn("check(listen=...) was renamed: use record_draws=...", DeprecationWarning, stacklevel=3)
        record_draws = listen
    _check_options(alpha=alpha, seed=seed, max_samples=max_samples, jobs=jobs, timeout=timeout)
    _check_switches(batch=batch, stop_early=stop_early, record_draws=record_draws)
    _check_signature(mechanism, batch=batch)
    _check_claim(claim)
    family, at_delta = family_of(claim), None if delta is None else _delta_to_bound(delta)
    clock = Clock(seconds, goal=max_samples, alpha=alpha)
    neighbours = pairs_of(claim, neighbours, data)
    pairs = read_neighbours(neighbours, seed=seed, claim=claim)
    blind = too_few(family.tested, candidates=len(pairs), alpha=alpha, runs=max_samples)
    if blind:
        return _not_run(claim, blind, pairs, seed=seed)
    target = Target(mechanism, batch, timeout, seed, family.tested, claim.model is Model.AS_RUN)
    both = [(pair.left, pair.right) for pair in pairs]
    with (  # before any call here
        fresh_copies(target, both[0]) as copies,
        copies_in_both_orders(target, both) as in_both_orders,
        copies_in_both_orders(target, both) as more,
    ):
        with noting_outside() as outside:
            target, notes = notes_before(target, pairs[0].left)
        notes += _notes_on_outside(outside)
        plan = _Plan(
            family, target, pairs, clock, alpha=alpha, max_samples=max_samples, stop_early=stop_early
        )
        found = plan.run(jobs, scheduler)
        worst = pairs[found.leader]
        estimate = _estimate(found, claim, pairs, alpha=alpha)
        refuted = judge(claim, [estimate]).verdict is VerdictKind.REFUTED
        reason = memory(found.search, copies, pairs, leader=found.leader, refuted=refuted, clock=clock)
        if not (reason or outside or found.stopped or clock.over):  # copies share what is outside
            reason = keeps_its_first(in_both_orders, more, found.leader, deadline=clock.deadline)
        spawned = any(item.spawned for item in (copies, in_both_orders, more))
    reason = f"the calls were not independent: {reason}" if reason else ""
    search, draws = found.search, list[str]()
    if record_draws and not clock.over and not found.stopped:
        heard, draws = hear(search.target, pairs, first=found.leader, claim=claim, deadline=clock.deadline)
        notes = heard + notes
    rounded = _rounded(claim, estimate, worst, search.target) if refuted and not reason else ""
    if reason or rounded:  # nothing holds with any confidence
        estimate = replace(estimate, lower=None, confidence=0.0)
    judgement = judge(claim, [estimate], unmet=[why for why in (reason, rounded) if why])
    notes += ([rounded] if rounded else []) + found.notes
    warnings = notes[:]
    notes += notes_on_outputs(search) + ([NEW_PROCESS] if spawned else [])
    blind = ""
    if judgement.verdict is VerdictKind.INCONCLUSIVE:
        blind = (
            reason
            or too_few(family.tested, candidates=len(pairs), alpha=alpha, runs=search.samples)
            or unread(search, alpha=alpha)
        )
    if blind:
        estimate = replace(estimate, details={**estimate.details, "not_audited": blind})
    elif judgement.verdict is VerdictKind.INCONCLUSIVE:
        notes += note_on_bits(search) + power_notes(search, estimate.details["power"])
        notes.append("samples never verify a privacy claim: that needs a certificate")
    if judgement.verdict is VerdictKind.REFUTED:
        warnings += (doubtful := doubts(worst, claim.adjacency))
        notes += doubtful
        runs = 2 * search.candidates[found.leader].attack.pairs
        notes += _smaller(neighbours, worst, search.target, runs=runs, alpha=alpha, clock=clock)
    return CheckResult(
        claim,
        estimate,
        judgement,
        "" if reason else telling_event(search, found.leader),
        tuple(notes),
        tuple(warnings),
        tuple(draws),
        history=() if reason else found.bound.history,
        not_audited=blind,
        at_delta=at_delta,
        replay=None if reason else search.replay,
    )


def _rounded(claim: PrivacyClaim, estimate: Estimate, pair: Neighbours, target: Target) -> str:
    """Why a bound above a claim on real numbers may come from the mechanism's rounding alone, in words."""
    if claim.model is not Model.IDEAL or estimate.lower is None:
        return ""
    size = 2 if target.batch else None
    share = unrounded_share(target.mechanism, pair.left, pair.right, seed=target.seed, size=size)
    if share > 1 - MOST_ROUNDED:
        return ""
    if isinstance(claim, PureDP) and estimate.lower * share > float(claim.bound):
        return ""
    return (
        f"rounding: in other rounding modes of the processor {100 * share:.0f}% of the difference between "
        "the outputs is left. The claim is about real numbers: model=AS_RUN counts rounding too"
    )


def _notes_on_outside(outside: Mapping[str, object]) -> list[str]:
    """What the mechanism does outside of this process, where calls may leave something for later ones."""
    if not outside:
        return []
    return [
        f"the mechanism {', '.join([*outside][:3])}: what one call leaves there a later one may read, and "
        "this check does not see that"
    ]


def _not_run(claim: PrivacyClaim, blind: str, pairs: list[Neighbours], *, seed: int) -> CheckResult:
    """The result of a check that was not begun, because no run of it could have refuted the claim."""
    estimate = Estimate(
        quantity=claim.quantity,
        lower=None,
        upper=None,
        confidence=0.0,
        samples=0,
        method="no run was made",
        scope=f"{len(pairs)} pairs of neighbours" if len(pairs) > 1 else "one pair of neighbours",
        seed=seed,
        details={"not_audited": blind},
    )
    judgement = judge(claim, [estimate], unmet=[blind])
    return CheckResult(claim, estimate, judgement, "", (), not_audited=blind)


def _smaller(
    neighbours: PairsOfInputs, refuted: Neighbours, target: Target, *, runs: int, alpha: float, clock: Clock
) -> list[str]:
    """The smallest pair that refutes the claim too, where there is a strategy to find it by."""
    strategy = neighbours.strategy() if isinstance(neighbours, AdjacentInputs) else neighbours
    if not isinstance(strategy, SearchStrategy) or clock.over:
        return []
    found = smallest(strategy, target, runs=runs, alpha=alpha, clock=clock)
    if found is None or repr((found[0].left, found[0].right)) == repr((refuted.left, refuted.right)):
        return []
    return [f"the smallest pair found that refutes it too: {found[0].name} ({found[1]:,} runs of its own)"]


class _Found:
    """What the runs gave: the search, the bound, and notes on how they were run."""

    def __init__(
        self, search: Search, family: Family, notes: list[str], *, alpha: float, clock: Clock
    ) -> None:
        self.search, self.notes = search, notes
        self.bound: Bound = lower_bound(search.replay, family, alpha=alpha, deadline=clock.deadline)
        #: The pair that the bound owes most to; without a bound, the one that the claim does.
        self.leader = (
            search.replay.richest(*map(np.ravel, family.points([self.bound.value])))
            if self.bound.value
            else search.best
        )
        #: The time was over, or the runs were interrupted.
        self.stopped = bool(notes)


class _Plan:
    """What to run, and when to stop."""

    def __init__(
        self,
        family: Family,
        target: Target,
        pairs: list[Neighbours],
        clock: Clock,
        *,
        alpha: float,
        max_samples: int,
        stop_early: bool,
    ) -> None:
        self._target, self._clock = target, clock
        # Copies: what the caller is shown of a pair must not be what a mechanism has written into.
        self._pairs = copy.deepcopy([(pair.left, pair.right) for pair in pairs])
        self._pristine = pairs
        self._family = family
        self._alpha, self._max_samples, self._stop_early = alpha, max_samples, stop_early

    def run(self, jobs: int, scheduler: str | TlsScheduler | None) -> _Found:
        """Run on ``jobs`` workers; in one process where the mechanism is not fit for several, and again on
        copies of the data where it turns out to change them.
        """
        try:
            return self._run_anywhere(jobs, scheduler)
        except InputChangedError:
            self._target = replace(self._target, mechanism=OnCopies(self._target.mechanism))
            self._pairs = [(pair.left, pair.right) for pair in self._pristine]
            found = self._run_anywhere(jobs, scheduler)
            found.notes.append(CHANGES_ITS_INPUT)
            return found

    def _run_anywhere(self, jobs: int, scheduler: str | TlsScheduler | None) -> _Found:
        if jobs == 1 and scheduler is None:
            return self._run(1)
        try:
            return self._run(jobs, scheduler)
        except UnfitForWorkersError as error:
            found = self._run(1)
            found.notes.append(f"the mechanism ran in one process: {error}")
            return found

    def _run(self, jobs: int, scheduler: str | TlsScheduler | None = None) -> _Found:
        """Run blocks until the claim is refuted, the runs are spent, or the time is over."""
        target = replace(self._target, spread=jobs != 1 or scheduler is not None)
        notes: list[str] = []
        with Workers(jobs, scheduler=scheduler) as workers:
            search = Search(target, self._pairs, workers, self._clock)
            try:
                self._play(search)
            except OutOfTimeError:
                notes.append(f"the time was over after {search.samples:,} runs")
            except CallTooLongError as error:
                if not search.samples:
                    raise
                ended = f"the runs ended after {search.samples:,}, where one hung (its block does not count)"
                notes.append(f"{ended}: {error}")
            except KeyboardInterrupt:
                notes.append(f"interrupted after {search.samples:,} runs")
            finally:
                self._clock.clear()
        return _Found(search, self._family, notes, alpha=self._alpha, clock=self._clock)

    def _play(self, search: Search) -> None:
        before = None if isinstance(self._target.mechanism, OnCopies) else state_of(self._pairs)
        tested = self._family.values[self._family.place]
        while search.step(self._max_samples - search.samples):
            early = search.samples < EARLY * len(self._pairs)
            if before is not None and early and state_of(self._pairs) != before:
                raise InputChangedError("the mechanism changed its input")
            # Where the claim itself is rejected the bound also needs every smaller grid value; they nearly
            # always went before.
            rejected = search.log_wealth >= math.log(1 / self._alpha)
            if self._stop_early and rejected and self._bound_up_to_tested(search) >= tested:
                return
            if self._clock.over or (rejected and self._clock.runs_over):
                raise OutOfTimeError("the time for this check is over")

    def _bound_up_to_tested(self, search: Search) -> float:
        return lower_bound(search.replay, self._family, alpha=self._alpha, up_to_tested=True).value


def _check_options(
    *, alpha: object, seed: object, max_samples: object, jobs: object, timeout: object
) -> None:
    if not (_is_number(alpha) and LEAST_ALPHA <= alpha < 1):
        raise InvalidParameterError(
            f"alpha must be in (0, 1), {LEAST_ALPHA:g} or more, got {alpha!r}; pass one such as 0.05."
        )
    if not (_is_whole(max_samples) and max_samples >= 100):
        raise InvalidParameterError(
            f"max_samples must be a whole number, 100 or more, got {max_samples!r}; fewer runs cannot refute "
            "anything."
        )
    if not (_is_whole(seed) and seed >= 0):
        raise InvalidParameterError(f"seed must be a whole number, 0 or more, got {seed!r}; pass another.")
    if not (_is_whole(jobs) and jobs != 0):
        raise InvalidParameterError(
            f"jobs must be a whole number of workers, or -1 for all processors, got {jobs!r}; pass another."
        )
    if timeout is not None and not (_is_number(timeout) and timeout > 0):
        raise InvalidParameterError(
            f"timeout must be a positive number of seconds, got {timeout!r}; pass None for no limit."
        )


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_switches(**switches: object) -> None:
    for name, value in switches.items():
        if not isinstance(value, bool | np.bool_):
            raise InvalidParameterError(f"{name} must be True or False, got {value!r}; pass one of them.")


def _check_claim(claim: object) -> None:
    """That it is one of privacy, and speaks of what is compared here: all that the mechanism returns."""
    if not isinstance(claim, PrivacyClaim):
        raise InvalidParameterError(
            f"the claim must be one of privacy, such as PureDP(epsilon=1), got {claim!r}; pass one."
        )
    if claim.view != View.of(PUBLIC):
        raise InvalidParameterError(
            "check compares all that a function returns, so its claim must be in the view of public, got "
            f"{claim.view}; leave view out and return what that view shows, or write the "
            "program with coins, in a row of a suite, where each release has its audience."
        )


def _check_signature(mechanism: Callable[..., Any], *, batch: bool) -> None:
    """That the mechanism can be called as it will be; of what tells no signature nothing is asked."""
    wanted = ["data", "rng", *(["size"] if batch else [])]
    try:
        signature = inspect.signature(mechanism)
    except (TypeError, ValueError):
        if callable(mechanism):
            return
        raise InvalidParameterError(
            f"a mechanism must be a function of ({', '.join(wanted)}), got {type(mechanism).__name__}; pass "
            "the function itself."
        ) from None
    if next(iter(signature.parameters), "") == "coins":
        raise InvalidParameterError(
            "check runs functions of (data, rng), got one of (coins, data); dpaudit.prove and the rows of a "
            "suite are for programs that draw from coins (docs/tutorial.md)."
        )
    try:
        signature.bind(*wanted)
    except TypeError as error:
        raise InvalidParameterError(
            f"a mechanism must be a function of ({', '.join(wanted)}), got one of {signature}: {error}; wrap "
            f"it, as lambda {', '.join(wanted)}: ..., and draw from rng."
        ) from None
    if inspect.iscoroutinefunction(mechanism):
        raise InvalidParameterError(
            "a mechanism must return its output, got an async function, which gives a coroutine; wrap it, as "
            "lambda data, rng: asyncio.run(mechanism(data, rng))."
        )


def _delta_to_bound(delta: ExactLike) -> float:
    number = exact(delta, name="delta")
    if not 0 <= number < 1:
        raise InvalidParameterError(
            f"delta must be in [0, 1), got {delta}; leave it out where epsilon at a fixed delta is not "
            "asked for."
        )
    return rounded_up(number)


def _estimate(found: _Found, claim: PrivacyClaim, pairs: list[Neighbours], *, alpha: float) -> Estimate:
    """The bound, for independent calls, with all that it depends on."""
    search, leader = found.search, found.leader
    target, count = search.target, len(search.candidates)
    return Estimate(
        quantity=claim.quantity,
        lower=found.bound.value,
        upper=None,
        confidence=1 - alpha,
        samples=search.samples,
        method="betting on learned cells, both directions, anytime-valid",
        scope=f"pair {leader} spoke most against it, of {count} tried: {pairs[leader].name}"
        if count > 1
        else "one pair of neighbours",
        seed=target.seed,
        details={
            "epsilon_tested": target.epsilon,
            "delta_tested": target.delta,
            "points_tested": np.column_stack([target.points.epsilons, target.points.deltas]).tolist(),
            "log_wealth": search.log_wealth,
            "pair": leader,
            "pairs_of_runs": [candidate.attack.pairs for candidate in search.candidates],
            "power": power(search, alpha),
        },
    )
