"""Cross-check a program as a black box, with at most a few thousand runs, before its row is verified.

Replays and certificates share code and assumptions. The black box shares neither: it samples the program and
bets on the outputs in the view. If it refutes a claim that everything else verifies, one of the two is wrong,
and the row gets no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.blackbox.check import check
from dpaudit.coins import Program, Recorder
from dpaudit.coins.limits import Limits, StepLimitError
from dpaudit.coins.transcript import count_of, run_program
from dpaudit.core.claims import ApproxDP, PrivacyClaim, PureDP
from dpaudit.core.errors import BrokenHarnessError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.verdicts import VerdictKind
from dpaudit.core.views import PUBLIC, View
from dpaudit.replay.changed_users import view_of

__all__ = ["crosscheck"]

#: The significance level. It is small because a false refutation would crash a correct row.
ALPHA = 1e-6
#: Largest number of sites recorded in all runs. A program with many sites gets fewer runs.
SITES = 4_000
#: Time limit for one call, which is one run, so that a program that hangs does not hang the row.
SECONDS = 20.0
#: The black box cannot test larger budgets, and fewer runs show nothing.
LARGEST_EPSILON, LEAST_RUNS = 40, 100


def crosscheck(program: Program, claim: PrivacyClaim, pairs: Sequence[Neighbours], *, seed: int) -> str:
    """Sample what the claim's view sees of ``program``, and return a note on the result.

    Raises ``BrokenHarnessError`` if the claim is refuted.
    """
    if not isinstance(claim, PureDP | ApproxDP):
        return f"no black-box cross-check: it does not support {claim.type} claims"
    if float(claim.epsilon) > LARGEST_EPSILON:
        return "no black-box cross-check: no sample could refute so large an epsilon"
    view = view_of(pairs[0], claim.view)
    mechanism = _ViewedProgram(program, view)
    sites = mechanism.sites(pairs[0].left, np.random.default_rng(seed))
    runs = SITES // sites
    same = [pair for pair in pairs if view_of(pair, claim.view) == view]
    chosen = same[: max(1, runs // 1000)]
    if runs < LEAST_RUNS:
        return f"no black-box cross-check: one run has {sites} sites, too many for {LEAST_RUNS} runs"
    result = check(
        mechanism,  # it returns exactly what the view sees
        replace(claim, view=View.of(PUBLIC)),
        neighbours=chosen,
        alpha=ALPHA,
        seed=seed,
        max_samples=runs,
        timeout=SECONDS,
        record_draws=False,
    )
    if result.verdict is VerdictKind.REFUTED:
        raise BrokenHarnessError(
            f"contradiction: the certificate and the replays verify this claim, but {result.samples} runs of "
            f"the program refute it ({result.event}). Do not trust this row. Please report it as a bug.",
            code="E-CONTRADICTION",
        )
    if result.not_audited:
        return f"no black-box cross-check: {result.not_audited}"
    return f"black-box cross-check: no violation found in {result.samples:,} runs"


class _ViewedProgram:
    """A mechanism ``(data, rng) -> values in the view``, in order. Values of unknown types become text."""

    def __init__(self, program: Program, view: View) -> None:
        self._program, self._view = program, view

    def __call__(self, data: Any, rng: np.random.Generator) -> Any:
        coins = Recorder(rng, limits=Limits())
        try:
            run_program(self._program, data, coins)
        except StepLimitError as error:
            raise RuntimeError(str(error)) from error
        seen = [site.value for site in coins.sites if self._view.sees(site.to)]
        return tuple(_readable(value) for value in seen)

    def sites(self, data: Any, rng: np.random.Generator) -> int:
        """Return how many numbers one run draws or outputs in all."""
        coins = Recorder(rng, limits=Limits())
        with suppress(Exception):  # an error is an outcome here
            run_program(self._program, data, coins)
        return 1 + sum(count_of(site.value) for site in coins.sites)


def _readable(value: Any) -> Any:
    """Return ``value`` if the black box supports its type, and its text otherwise."""
    if value is None or isinstance(value, bool | int | float | str | np.ndarray | np.generic):
        return value
    if isinstance(value, list | tuple):
        return tuple(_readable(item) for item in value)
    return repr(value)
