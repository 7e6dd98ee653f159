"""Run a mechanism as a black box on pairs of neighbouring inputs and try to refute its privacy claim.

    result = check(mechanism, PureDP(epsilon=1), data=Records(Interval(0, 1), size=3))
    print(result)

The mechanism is any callable ``(data, rng) -> output`` (or ``(data, rng, size) -> array`` with
``batch=True``). The attack learns events from past outputs and bets on them with new outputs. It may stop at
any time and needs no sample splitting. It refutes a true claim with probability at most ``alpha`` over all
pairs, both directions and all stopping times. The verdict is refuted or inconclusive. It is never verified,
because no number of samples can verify a privacy claim. The check assumes that calls are independent given
the input, and that all randomness is fresh in each call. If the outputs show a state leak, the check draws no
conclusion from them.
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
from dpaudit.blackbox.global_generators import kept
from dpaudit.blackbox.hypotheses import Family, family_of
from dpaudit.blackbox.in_modes import unrounded_share
from dpaudit.blackbox.mutation import CHANGES_ITS_INPUT, InputChangedError, OnCopies, state_of
from dpaudit.blackbox.neighbours import (
    AdjacentInputs,
    PairsOfInputs,
    adjacency_warnings,
    pairs_of,
    read_neighbours,
)
from dpaudit.blackbox.notes import (
    NEW_PROCESS,
    fresh_copies,
    memory,
    note_on_bits,
    notes_before,
    notes_on_outputs,
    power,
    power_notes,
    strongest_event,
)
from dpaudit.blackbox.recorded_draws import notes_on_draws
from dpaudit.blackbox.result import CheckResult
from dpaudit.blackbox.runs import CallTooLongError, OutOfTimeError, UnfitForWorkersError
from dpaudit.blackbox.search import Search, Target
from dpaudit.blackbox.smallest import smallest
from dpaudit.blackbox.stability import check_stability
from dpaudit.blackbox.state_leak_test import copies_in_both_orders, keeps_its_first
from dpaudit.blackbox.statistics.blocks import Workers
from dpaudit.blackbox.statistics.cluster import TlsScheduler
from dpaudit.coins.outside import noting_outside
from dpaudit.core.claims import Model, PrivacyClaim, PureDP, Stability
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import ExactLike, exact, rounded_up
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.processes.ending import no_silent_end
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.core.views import PUBLIC, View

__all__ = ["AS_RUN", "CheckResult", "check", "check_alpha", "check_claim", "delta_to_bound"]

#: The model of a claim about the float program as it runs: ``PureDP(epsilon=1, model=AS_RUN)``.
AS_RUN = Model.AS_RUN
#: Largest share of a difference between outputs that rounding may explain without a note.
MOST_ROUNDED = 2.0**-10
#: The check tests whether the mechanism changes its input during this many runs per pair.
EARLY = 64
#: Factor between the numbers of runs at which the bound of a rejected claim is computed.
MORE = 1.1
#: Below this significance level, 1 - alpha is hardly distinguishable from 1 as a float.
LEAST_ALPHA = 1e-12


@no_silent_end()
def check(
    mechanism: Callable[..., Any],
    claim: PrivacyClaim | Stability,
    *,
    neighbours: PairsOfInputs | None = None,
    data: Records | Table | None = None,
    unusual: bool = False,
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
    seed_globals: bool = True,
    delta: ExactLike | None = None,
    listen: bool | None = None,
) -> CheckResult:
    """Try to refute a privacy claim by sampling a mechanism on pairs of neighbouring inputs.

    Both directions of each pair are tested. Exactly one of ``neighbours`` and ``data`` must be given. The
    check does not start if its runs could not refute any mechanism. ``result.not_audited`` then states how
    many runs are required. A slow check shows its progress if standard error is a terminal.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng) -> output``. An output is a number, text, None, or a container or array of
        these. An exception is an outcome too. Take all randomness from ``rng``, and keep no state between
        calls. If the outputs show that calls are not independent, the result reports it and gives no bound.
        A mechanism that changes its input gets a new copy of it in each call. A call that hangs ends the
        runs.
    claim : PrivacyClaim
        PureDP, ApproxDP, GaussianDP, ZeroConcentratedDP, RenyiDP or Profile, in the public view. The last
        four are tested at several (epsilon, delta) points that they imply. With ``Stability``, the mechanism
        is a deterministic function of the data, and runs once on each input. With ``model=AS_RUN``, the bit
        patterns of floats are compared too.
    neighbours : sequence of pairs, Inputs or Hypothesis strategy, optional
        Pairs of neighbouring inputs, such as ``corners(...)``. From Inputs or a strategy, a refuting pair is
        also shrunk.
    data : Records or Table, optional
        A declaration of the data. The pairs are neighbours by the claim's adjacency, with extreme records
        first. A refuting pair is also shrunk.
    unusual : bool, default False
        With ``data``, also try about 30 pairs of unusual datasets: all records but one equal, edges of number
        types, rows that change in opposite directions, labels of unequal length. More pairs require more
        runs.
    alpha : float, default 0.05
        Significance level: the largest probability of refuting a correct mechanism, in [1e-12, 1).
    seed : int, default 0
        Seed of ``rng``, at least 0.
    max_samples : int, default 100,000
        Total number of runs, at least 100.
    batch : bool, default False
        Call ``mechanism(data, rng, size)``, which returns an array of ``size`` outputs along axis 0.
    jobs : int, default 1
        Number of joblib workers, or -1 for all processors. It does not change the result. A mechanism that
        draws from another source than ``rng``, or keeps state between calls, runs in one process.
    scheduler : str or TlsScheduler, optional
        Address of a Dask cluster to use instead of joblib (with certificates, a ``TlsScheduler``). Calls on
        it have no time limit. It does not change the result.
    timeout : float or None, default 60
        Time limit of one call (or one batch), in seconds. A timer enforces it if the mechanism runs in a main
        thread, as it does in joblib workers. Code that never returns to Python cannot be interrupted.
    seconds : float or None, default None
        Time limit of the whole check. After it, and after Ctrl-C, the result holds what is known so far. A
        bound above the claim, or a shrunk pair, may then be worse than with more time.
    stop_early : bool, default True
        Stop once the claim is refuted. Otherwise, spend all runs on a better lower bound.
    record_draws : bool, default True
        Record what the mechanism draws, in about a second, and report it in ``result.heard`` and in notes.
        They never change the verdict.
    seed_globals : bool, default True
        Seed numpy's global generator, that of ``random``, and torch's if it is loaded, from ``seed`` for each
        chunk of calls, so that a mechanism that draws from them gives the same outputs in a second check and
        on workers. They are restored at the end. A note says from which of them the mechanism draws. With
        False they are left alone.
    delta : number, optional
        Also bound epsilon from below at this delta in [0, 1), for any kind of claim
        (``CheckResult.epsilon_at``). This bound holds with probability 1 - alpha by itself.
    listen : bool, optional
        Deprecated name of ``record_draws``.

    Returns
    -------
    CheckResult
        The verdict, a lower bound, the strongest event against the claim, and notes.

    Raises
    ------
    InvalidParameterError
        The claim, the neighbours or an option is not supported.
    MechanismError
        A call hangs before there is a result, no output can be read, or every call raises.

    Examples
    --------
    >>> from dpaudit import PureDP, check
    >>> noisy_sum = lambda data, rng: sum(data) + rng.laplace(scale=1)
    >>> print(check(noisy_sum, PureDP(epsilon="1/2"), neighbours=[([0, 1], [1, 1])]).verdict)
    refuted
    """
    if listen is not None:
        warn("check(listen=...) was renamed: use record_draws=...", DeprecationWarning, stacklevel=3)
        record_draws = listen
    if isinstance(claim, Stability):
        return check_stability(
            mechanism, claim, neighbours=neighbours, data=data, seed=seed, timeout=timeout, seconds=seconds
        )
    _check_options(alpha=alpha, seed=seed, max_samples=max_samples, jobs=jobs, timeout=timeout)
    _check_switches(
        unusual=unusual,
        batch=batch,
        stop_early=stop_early,
        record_draws=record_draws,
        seed_globals=seed_globals,
    )
    _check_signature(mechanism, batch=batch)
    check_claim(claim)
    family, at_delta = family_of(claim), None if delta is None else delta_to_bound(delta)
    clock = Clock(seconds, goal=max_samples, alpha=alpha)
    neighbours = pairs_of(claim, neighbours, data, unusual=unusual)
    pairs = read_neighbours(neighbours, seed=seed, claim=claim)
    blind = too_few(family.tested, candidates=len(pairs), alpha=alpha, runs=max_samples)
    if blind:
        return _not_run(claim, blind, pairs, seed=seed)
    as_run = claim.model is Model.AS_RUN
    target = Target(mechanism, batch, timeout, seed, family.tested, as_run, seed_globals=seed_globals)
    both = [(pair.left, pair.right) for pair in pairs]
    with (  # the copies must be forked before the first call in this process
        kept(),
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
        if not (reason or outside or found.stopped or clock.over):  # copies share files and connections
            reason = keeps_its_first(in_both_orders, more, found.leader, deadline=clock.deadline)
        spawned = any(item.spawned for item in (copies, in_both_orders, more))
    reason = f"the calls were not independent: {reason}" if reason else ""
    search, draws = found.search, list[str]()
    if record_draws and not clock.over and not found.stopped:
        on_draws, draws = notes_on_draws(
            search.target, pairs, first=found.leader, claim=claim, deadline=clock.deadline
        )
        notes = on_draws + notes
    rounded = _rounded(claim, estimate, worst, search.target) if refuted and not reason else ""
    if reason or rounded:  # no bound holds at any confidence
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
        notes.append("a privacy claim cannot be verified by sampling, only by a certificate")
    if judgement.verdict is VerdictKind.REFUTED:
        doubtful = adjacency_warnings(worst, claim.adjacency) if data is None else []
        warnings += doubtful
        notes += doubtful
        runs = 2 * search.candidates[found.leader].attack.pairs
        notes += _smaller(neighbours, worst, search.target, runs=runs, alpha=alpha, clock=clock)
    return CheckResult(
        claim,
        estimate,
        judgement,
        "" if reason else strongest_event(search, found.leader),
        tuple(notes),
        tuple(warnings),
        tuple(draws),
        history=() if reason else found.bound.history,
        not_audited=blind,
        at_delta=at_delta,
        replay=None if reason else search.replay,
    )


def _rounded(claim: PrivacyClaim, estimate: Estimate, pair: Neighbours, target: Target) -> str:
    """Return why a bound above a claim on real numbers may come from rounding alone, or an empty text."""
    if claim.model is not Model.IDEAL or estimate.lower is None:
        return ""
    size = 2 if target.batch else None
    share = unrounded_share(target.mechanism, pair.left, pair.right, seed=target.seed, size=size)
    if share > 1 - MOST_ROUNDED:
        return ""
    if isinstance(claim, PureDP) and estimate.lower * share > float(claim.bound):
        return ""
    return (
        f"rounding: {100 * share:.0f}% of the difference between the outputs remains in other rounding modes "
        "of the processor. The claim is about real numbers. With model=AS_RUN, rounding counts too"
    )


def _notes_on_outside(outside: Mapping[str, object]) -> list[str]:
    """Warn about actions outside this process, by which one call may pass state to a later call."""
    if not outside:
        return []
    return [
        f"the mechanism {', '.join([*outside][:3])}: a later call may read what an earlier call left there, "
        "and this check cannot detect that"
    ]


def _not_run(claim: PrivacyClaim, blind: str, pairs: list[Neighbours], *, seed: int) -> CheckResult:
    """Return the result of a check that did not start, because none of its runs could refute the claim."""
    estimate = Estimate(
        quantity=claim.quantity,
        lower=None,
        upper=None,
        confidence=0.0,
        samples=0,
        method="no run was made",
        scope=f"{len(pairs)} pairs of inputs" if len(pairs) > 1 else "1 pair of inputs",
        seed=seed,
        details={"not_audited": blind},
    )
    judgement = judge(claim, [estimate], unmet=[blind])
    return CheckResult(claim, estimate, judgement, "", (), not_audited=blind)


def _smaller(
    neighbours: PairsOfInputs, refuted: Neighbours, target: Target, *, runs: int, alpha: float, clock: Clock
) -> list[str]:
    """Return a note on the smallest refuting pair, if a strategy for pairs exists and finds a smaller one."""
    strategy = neighbours.strategy() if isinstance(neighbours, AdjacentInputs) else neighbours
    if not isinstance(strategy, SearchStrategy) or clock.over:
        return []
    found = smallest(strategy, target, runs=runs, alpha=alpha, clock=clock)
    if found is None or repr((found[0].left, found[0].right)) == repr((refuted.left, refuted.right)):
        return []
    return [f"smallest refuting pair found: {found[0].name} ({found[1]:,} additional runs)"]


class _Found:
    """Result of the runs: the search, the bound, and notes on how the runs were made."""

    def __init__(
        self, search: Search, family: Family, notes: list[str], *, alpha: float, clock: Clock
    ) -> None:
        self.search, self.notes = search, notes
        self.bound: Bound = lower_bound(
            search.replay, family, alpha=alpha, deadline=clock.deadline, end=clock.bound_end
        )
        #: The pair with the most evidence for the bound, or against the claim if there is no bound.
        self.leader = (
            search.replay.richest(family.points([self.bound.value])) if self.bound.value else search.best
        )
        #: Whether the time was over or the runs were interrupted.
        self.stopped = bool(notes)


class _Plan:
    """Plan of a check: what to run, and when to stop."""

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
        # Run on copies, so that the pairs shown to the caller do not hold what a mechanism wrote into them.
        self._pairs = copy.deepcopy([(pair.left, pair.right) for pair in pairs])
        self._pristine = pairs
        self._family = family
        self._alpha, self._max_samples, self._stop_early = alpha, max_samples, stop_early

    def run(self, jobs: int, scheduler: str | TlsScheduler | None) -> _Found:
        """Run on ``jobs`` workers, or in one process if the mechanism is not fit for workers.

        If the mechanism turns out to change its input, start again with a new copy of the data in each call.
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
        """Run blocks until the claim is refuted, all runs are spent, or the time is over."""
        target = replace(self._target, spread=jobs != 1 or scheduler is not None)
        notes: list[str] = []
        with Workers(jobs, scheduler=scheduler) as workers:
            search = Search(target, self._pairs, workers, self._clock)
            try:
                self._play(search)
            except OutOfTimeError:
                notes.append(f"the time limit was reached after {search.samples:,} runs")
            except CallTooLongError as error:
                if not search.samples:
                    raise
                ended = f"a call hung after {search.samples:,} runs, and its block was discarded"
                notes.append(f"{ended}: {error}")
            except KeyboardInterrupt:
                notes.append(f"interrupted after {search.samples:,} runs")
            finally:
                self._clock.clear()
        return _Found(search, self._family, notes, alpha=self._alpha, clock=self._clock)

    def _play(self, search: Search) -> None:
        before = None if isinstance(self._target.mechanism, OnCopies) else state_of(self._pairs)
        tested, again = self._family.values[self._family.place], 0.0
        while search.step(self._max_samples - search.samples):
            early = search.samples < EARLY * len(self._pairs)
            if before is not None and early and state_of(self._pairs) != before:
                raise InputChangedError("the mechanism changed its input", code="E-INPUT-CHANGED")
            # Once the claim is rejected, the bound still requires that every smaller grid value is rejected
            # too. That has mostly happened before. Otherwise, ask again after some more runs.
            rejected = search.log_wealth >= math.log(1 / self._alpha)
            if self._stop_early and rejected and search.samples >= again:
                if self._bound_up_to_tested(search) >= tested:
                    return
                again = MORE * search.samples
            if self._clock.over or (rejected and self._clock.runs_over):
                raise OutOfTimeError("the time limit of this check was reached", code="E-CHECK-TIMEOUT")

    def _bound_up_to_tested(self, search: Search) -> float:
        end = self._clock.deadline
        return lower_bound(search.replay, self._family, alpha=self._alpha, up_to_tested=True, end=end).value


def _check_options(
    *, alpha: object, seed: object, max_samples: object, jobs: object, timeout: object
) -> None:
    check_alpha(alpha)
    if not (_is_whole(max_samples) and max_samples >= 100):
        raise InvalidParameterError(
            f"max_samples must be an integer of at least 100, got {max_samples!r}.",
            code="E-MAX-SAMPLES-RANGE",
        )
    if not (_is_whole(seed) and seed >= 0):
        raise InvalidParameterError(
            f"seed must be an integer of at least 0, got {seed!r}.", code="E-SEED-RANGE"
        )
    if not (_is_whole(jobs) and jobs != 0):
        raise InvalidParameterError(
            f"jobs must be a number of workers, or -1 for all processors, got {jobs!r}.", code="E-JOBS-RANGE"
        )
    if timeout is not None and not (_is_number(timeout) and timeout > 0):
        raise InvalidParameterError(
            f"timeout must be a positive number of seconds, or None for no limit, got {timeout!r}.",
            code="E-TIMEOUT-RANGE",
        )


def check_alpha(alpha: object) -> None:
    """Require a significance level in [``LEAST_ALPHA``, 1)."""
    if not (_is_number(alpha) and LEAST_ALPHA <= alpha < 1):
        raise InvalidParameterError(
            f"alpha must be in (0, 1) and at least {LEAST_ALPHA:g}, got {alpha!r}.", code="E-ALPHA-RANGE"
        )


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_switches(**switches: object) -> None:
    for name, value in switches.items():
        if not isinstance(value, bool | np.bool_):
            raise InvalidParameterError(
                f"{name} must be True or False, got {value!r}.", code="E-SWITCH-NOT-BOOLEAN"
            )


def check_claim(claim: object) -> None:
    """Require a privacy claim in the public view, because ``check`` compares the whole return value."""
    if not isinstance(claim, PrivacyClaim):
        raise InvalidParameterError(
            f"claim must be a privacy claim such as PureDP(epsilon=1), got {claim!r}.",
            code="E-CLAIM-NOT-PRIVACY",
        )
    if claim.view != View.of(PUBLIC):
        raise InvalidParameterError(
            f"check compares the whole return value, so claim must be in the public view, got {claim.view}. "
            "Return only what that view shows and leave out view=, or write the program with coins, in which "
            "each release has its audience.",
            code="E-VIEW-NOT-PUBLIC",
        )


def _check_signature(mechanism: Callable[..., Any], *, batch: bool) -> None:
    """Require that the mechanism accepts the arguments of ``check``, if it has a readable signature."""
    wanted = ["data", "rng", *(["size"] if batch else [])]
    try:
        signature = inspect.signature(mechanism)
    except (TypeError, ValueError):
        if callable(mechanism):
            return
        raise InvalidParameterError(
            f"mechanism must be a function of ({', '.join(wanted)}), got {type(mechanism).__name__}.",
            code="E-MECHANISM-NOT-CALLABLE",
        ) from None
    if next(iter(signature.parameters), "") == "coins":
        raise InvalidParameterError(
            "mechanism must be a function of (data, rng), got (coins, data). Programs that draw "
            "from coins are for dpaudit.prove and the rows of a suite (docs/tutorial.md).",
            code="E-MECHANISM-TAKES-COINS",
        )
    try:
        signature.bind(*wanted)
    except TypeError as error:
        raise InvalidParameterError(
            f"mechanism must be a function of ({', '.join(wanted)}), got {signature}: {error}. Wrap it: "
            f"lambda {', '.join(wanted)}: ..., and draw from rng.",
            code="E-MECHANISM-SIGNATURE",
        ) from None
    if inspect.iscoroutinefunction(mechanism):
        raise InvalidParameterError(
            "mechanism must return its output, got an async function, which returns a coroutine. Wrap it: "
            "lambda data, rng: asyncio.run(mechanism(data, rng)).",
            code="E-MECHANISM-ASYNC",
        )


def delta_to_bound(delta: ExactLike) -> float:
    """Return a delta in [0, 1), rounded up to a float."""
    number = exact(delta, name="delta")
    if not 0 <= number < 1:
        raise InvalidParameterError(f"delta must be in [0, 1), got {delta}.", code="E-DELTA-RANGE")
    return rounded_up(number)


def _estimate(found: _Found, claim: PrivacyClaim, pairs: list[Neighbours], *, alpha: float) -> Estimate:
    """Return the bound with everything that it depends on. It holds if the calls are independent."""
    search, leader = found.search, found.leader
    target, count = search.target, len(search.candidates)
    return Estimate(
        quantity=claim.quantity,
        lower=found.bound.value,
        upper=None,
        confidence=1 - alpha,
        samples=search.samples,
        method="betting on learned cells, both directions, anytime-valid",
        scope=f"strongest evidence from pair {leader} of {count}: {pairs[leader].name}"
        if count > 1
        else "1 pair of inputs",
        seed=target.seed,
        details={
            "epsilon_tested": target.epsilon,
            "delta_tested": target.delta,
            "points_tested": np.column_stack([target.points.epsilons, target.points.deltas]).tolist(),
            "divergences_tested": np.column_stack([target.points.orders, target.points.divergences]).tolist(),
            "log_wealth": search.log_wealth,
            "pair": leader,
            "pairs_of_runs": [candidate.attack.pairs for candidate in search.candidates],
            "power": power(search, alpha),
        },
    )
