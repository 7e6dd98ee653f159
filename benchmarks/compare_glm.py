"""Generalized linear bandits for ``benchmarks.compare``: Sarmasarkar (2026) on one logistic instance.

Rewards are independent in each run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from audits.glm_bandits.experiment_settings import Setting, environment, runs_of
from benchmarks.compare_protocols import DELTA, OPEN, Floats, Protocol, Seeds, least_refuted
from dpaudit.core.errors import CertificateError, UndecidedError
from dpaudit.reference.algorithms.contextual.glm_environments import GlmEnvironment
from dpaudit.reference.algorithms.contextual.glm_optimisers import ClippedDescent, FitCall
from dpaudit.reference.algorithms.contextual.glm_simulation import GlmRuns, simulate_glm
from dpaudit.reference.algorithms.contextual.joint_glm import JointConstants, JointGlm
from dpaudit.reference.algorithms.contextual.joint_glm_constants import (
    GlmBudget,
    practical_constants,
    printed_constants,
)
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.reference.algorithms.contextual.shuffle_glm import printed_shuffle_constants

__all__ = ["GLM", "GlmInstance", "beyond", "glm_protocols"]

GLM, SAR26 = "generalized linear bandits", "Sarmasarkar 2026"
BASELINES = ("GLM-UCB", "GLOC", "RS-GLinUCB", "ECOLog")
CLAIM = "(1, 1e-6)"
#: M of Algorithm 1.
BATCHES = 3


@dataclass(frozen=True, kw_only=True)
class GlmInstance:
    """The size of the family: the arms are the arms of the paper's experiments for this S and d."""

    horizon: int
    dim: int = 3
    param_norm: float = 2.0

    @property
    def setting(self) -> Setting:
        """Return the setting with the baselines."""
        return Setting(
            link=logistic(),
            param_norm=self.param_norm,
            dim=self.dim,
            horizon=self.horizon,
            algorithms=BASELINES,
        )

    @property
    def environment(self) -> GlmEnvironment:
        """Return the arms of every round, and theta."""
        return environment(self.setting)

    @property
    def budget(self) -> GlmBudget:
        """Use ε = 1, δ = 1e-6 and ζ = δ/2, since the privacy proof requires ζ below δ."""
        arms = self.environment
        return GlmBudget(
            horizon=self.horizon,
            dim=self.dim,
            param_norm=self.param_norm,
            kappa=arms.kappa,
            kappa_star=arms.kappa_star,
            epsilon=1.0,
            delta=float(DELTA),
            failure_prob=float(DELTA) / 2,
        )


def glm_protocols(at: GlmInstance) -> list[Protocol]:
    """Return the baselines, Algorithm 2 with either constants, and Algorithm 1."""
    baselines = [
        Protocol(
            family=GLM,
            name=name,
            paper="baseline",
            trust="server",
            printed=partial(_baseline, at, name),
            note="not private",
        )
        for name in BASELINES
    ]
    return [*baselines, _joint_printed(at), _joint_practical(at), _shuffle(at)]


def _baseline(at: GlmInstance, name: str, runs: int, seeds: Seeds) -> Floats:
    return runs_of(at.setting, seed=seeds.own, runs=runs, algorithms=[name], points=2)[name].pseudo.final


def beyond(row_id: str, kappa_star: float) -> str:
    """Describe where the claim is refuted.

    Raises ``CertificateError`` if it is refuted at this ``kappa_star``: then the line has a cost.
    """
    least = least_refuted("glm_bandits", row_id, "kappa*")
    if not kappa_star < least:
        raise CertificateError(
            f"the row {row_id} must be refuted above κ* = {kappa_star} only, it is at {least}; state its "
            "bounds here."
        )
    return f"refuted from κ* = {least:.0f} on ({row_id}), open at this κ*"


def _simulated(at: GlmInstance, constants: JointConstants, fit: object, runs: int, seeds: Seeds) -> GlmRuns:
    def make(replicates: int, rng: np.random.Generator) -> JointGlm:
        return JointGlm(constants, logistic(), fit, replicates=replicates, rng=rng)  # type: ignore[arg-type]

    return simulate_glm(
        make, at.environment, name="", replicates=runs, seed=seeds.own, checkpoints=[at.horizon]
    )


def _joint_printed(at: GlmInstance) -> Protocol:
    """Return Algorithm 2 with printed constants. Every round explores, so no estimate is computed.

    Each run checks that every round explored.
    """

    def no_estimate(call: FitCall, rng: np.random.Generator) -> Floats:
        return np.zeros_like(call.centre)

    def play(runs: int, seeds: Seeds) -> Floats:
        found = _simulated(at, printed_constants(at.budget), no_estimate, runs, seeds)
        if (found.counts["criterion I"] < at.horizon).any():
            raise UndecidedError(
                f"every round must explore here, got {found.counts['criterion I'].min()} of {at.horizon}; "
                "play it with the optimiser."
            )
        return found.pseudo.final

    return Protocol(
        family=GLM,
        name="Algorithm 2 (joint), O() constants 1",
        paper=SAR26,
        trust="server",
        claim=CLAIM,
        cost=lambda: OPEN,
        printed=play,
        note=f"every round explores; {beyond('SAR-T6.2p', at.environment.kappa_star)}",
    )


def _joint_practical(at: GlmInstance) -> Protocol:
    def play(runs: int, seeds: Seeds) -> Floats:
        return _simulated(at, practical_constants(at.budget), ClippedDescent(), runs, seeds).pseudo.final

    return Protocol(
        family=GLM,
        name="Algorithm 2 (joint), experiments' constants",
        paper=SAR26,
        trust="server",
        claim=CLAIM,
        cost=lambda: OPEN,
        printed=play,
        note="nothing certifies the whole of it",
    )


def _shuffle(at: GlmInstance) -> Protocol:
    constants = printed_shuffle_constants(at.budget, n_batches=BATCHES)
    first = constants.lengths[0]
    if first <= at.horizon:
        raise UndecidedError(
            f"the first batch must be longer than {at.horizon}, got {first}; play it instead."
        )
    exponent = math.floor(math.log10(first))
    return Protocol(
        family=GLM,
        name=f"Algorithm 1 (shuffle), M = {BATCHES}, O() constants 1",
        paper=SAR26,
        trust="shuffler",
        claim=CLAIM,
        cost=lambda: OPEN,
        note=f"{beyond('SAR-T5.1p', at.environment.kappa_star)}; cannot run: its first batch has "
        f"{first / 10**exponent:.1f}e{exponent} users",
    )
