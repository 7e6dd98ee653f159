"""A second look before ``verified``: the program as a black box, for a few thousand runs at most.

Replays and certificates share code and assumptions; the black box shares neither. It samples the program and
bets on what the view sees. Where it refutes a claim that everything else verifies, one of the two is wrong,
and no verdict is given.
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

__all__ = ["second_look"]

#: The error level: a false alarm would crash a row that is right.
ALPHA = 1e-6
#: Sites that may be recorded in all; a program with many of them gets fewer runs.
SITES = 4_000
#: For one call, which is one run: a program that hangs must not hang the row.
SECONDS = 20.0
#: The black box cannot test larger budgets, nor say anything in fewer runs.
LARGEST_EPSILON, LEAST_RUNS = 40, 100


def second_look(program: Program, claim: PrivacyClaim, pairs: Sequence[Neighbours], *, seed: int) -> str:
    """Check ``claim`` on what its view sees of ``program``, and say in words what was done.

    Raises ``BrokenHarnessError`` if the claim is refuted.
    """
    if not isinstance(claim, PureDP | ApproxDP):
        return f"no second look as a black box: it does not test {claim.type} claims"
    if float(claim.epsilon) > LARGEST_EPSILON:
        return "no second look as a black box: no sample could refute so large an epsilon"
    view = view_of(pairs[0], claim.view)
    mechanism = _Shown(program, view)
    sites = mechanism.sites(pairs[0].left, np.random.default_rng(seed))
    runs = SITES // sites
    same = [pair for pair in pairs if view_of(pair, claim.view) == view]
    chosen = same[: max(1, runs // 1000)]
    if runs < LEAST_RUNS:
        return f"no second look as a black box: a run has {sites} sites, too many for a short one"
    result = check(
        mechanism,  # all that it returns is what the view sees
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
            f"the harness contradicts itself: certificate and replays verify the claim, and {result.samples} "
            f"runs of the program refute it ({result.event}); do not trust this row, and report it."
        )
    if result.not_audited:
        return f"no second look as a black box: {result.not_audited}"
    return f"a second look as a black box, {result.samples} runs: nothing found"


class _Shown:
    """The program as a mechanism ``(data, rng) -> what the view sees``, in order, as text where it is no
    number."""

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
        """How many numbers one run draws or shows, in all."""
        coins = Recorder(rng, limits=Limits())
        with suppress(Exception):  # an error is an outcome here
            run_program(self._program, data, coins)
        return 1 + sum(count_of(site.value) for site in coins.sites)


def _readable(value: Any) -> Any:
    """What the black box reads as it is; everything else as its text."""
    if value is None or isinstance(value, bool | int | float | str | np.ndarray | np.generic):
        return value
    if isinstance(value, list | tuple):
        return tuple(_readable(item) for item in value)
    return repr(value)
