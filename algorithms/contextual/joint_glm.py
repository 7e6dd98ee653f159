"""The rarely switching algorithm under joint privacy (Algorithm 2 of Sarmasarkar 2026), with a replicate
axis.

Two noisy trees release V and H before every round. If an arm is too long in V^-1 (criterion I) it is played,
and theta_o is fitted on all such rounds. Otherwise the policy switches if the determinant of H has doubled
(criterion II), eliminates by theta_o and plays the most optimistic arm by theta_tau.

``joint_glm_constants`` holds the printed constants and the constants of the experiments. The pseudo-code has
no caps on the calls of the optimisers. With ``cap_explore`` and ``cap_exploit`` estimates are no longer
updated once the caps are reached (Remark A.1). V and H need not be positive definite: ``psd_mode`` "error"
raises, "clip" raises eigenvalues to 1e-12, and both are counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import UndecidedError
from dpaudit.reference.algorithms.contextual.glm_history import History, norms, outer, squared_norms
from dpaudit.reference.algorithms.contextual.glm_optimisers import Fit, FitCall
from dpaudit.reference.algorithms.contextual.glm_rules import definite, has_grown, is_too_long, survivors
from dpaudit.reference.algorithms.contextual.links import Link
from dpaudit.reference.algorithms.contextual.matrix_prefix_noise import PrefixTree, ReleasedTree

__all__ = ["JointConstants", "JointGlm"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class JointConstants:
    """Every number that Algorithm 2 uses.

    ``width`` is gamma sqrt(kappa); ``threshold`` is the threshold of criterion I on squared norms;
    ``call_explore`` and ``call_exploit`` the (epsilon, delta) of one call; ``std_explore`` and
    ``std_exploit`` the deviations of a node of V's and H's tree, symmetrised by ``symmetrise``.
    ``shrink_leaf`` divides a leaf of V by 1 + ||x||^2, ``fit_all`` fits theta_tau on all rounds, ``average``
    plays by (theta_o + theta_tau) / 2. ``query`` "released" reads both trees as the released code does.
    """

    horizon: int
    dim: int
    param_norm: float
    ridge: float
    ridge_upper: float
    width: float
    beta: float
    threshold: float
    call_explore: tuple[float, float]
    call_exploit: tuple[float, float]
    std_explore: float
    std_exploit: float
    cap_explore: int | None = None
    cap_exploit: int | None = None
    symmetrise: float = 0.5
    growth: float = 2.0
    psd_mode: Literal["error", "clip"] = "error"
    shrink_leaf: bool = False
    fit_all: bool = False
    average: bool = False
    query: Literal["prefix", "released"] = "prefix"


class JointGlm:
    """R replicates of Algorithm 2; the optimiser ``fit`` is called once per replicate and update."""

    def __init__(
        self,
        constants: JointConstants,
        link: Link,
        fit: Fit,
        *,
        replicates: int,
        rng: np.random.Generator,
    ) -> None:
        self.constants, self.link, self.fit, self.rng = constants, link, fit, rng
        c = constants
        tree = PrefixTree if c.query == "prefix" else ReleasedTree
        self.trees = [  # of V and H
            tree(rng, runs=replicates, horizon=c.horizon, dim=c.dim, node_std=std, factor=c.symmetrise)
            for std in (c.std_explore, c.std_exploit)
        ]
        self.theta_explore, self.theta_exploit = np.zeros((2, replicates, c.dim))
        self.history = History(replicates, c.dim)
        self.explored = np.zeros((replicates, c.horizon), dtype=bool)
        self.exploring = np.zeros(replicates, dtype=bool)
        self.logdet_max = np.full(replicates, c.dim * math.log(c.ridge))  # max over s <= t of det H_s
        self.logdet_last = self.logdet_max.copy()  # max over s <= tau
        self.switch_inverse = np.tile(np.eye(c.dim) / c.ridge, (replicates, 1, 1))
        names = ("criterion I", "criterion II", "calls theta_o", "calls theta_tau", "not definite")
        self.tally = {name: np.zeros(replicates, dtype=np.int64) for name in names}

    @property
    def counts(self) -> Mapping[str, Ints]:
        """Count rounds of each criterion, calls of each optimiser, and rounds with an indefinite V or H."""
        return self.tally

    def _released(self, t: int, which: int) -> Floats:
        """Return V (0) or H (1) of the first ``t`` leaves, positive definite."""
        c = self.constants
        found = self.trees[which].query() + c.ridge * np.eye(c.dim)
        if not (c.std_explore, c.std_exploit)[which]:
            return np.asarray(found)
        try:
            np.linalg.cholesky(found)
        except np.linalg.LinAlgError:
            return self._mended(t, found)
        return np.asarray(found)

    def _mended(self, t: int, found: Floats) -> Floats:
        """Raise eigenvalues to 1e-12, or raise an error."""
        values = np.linalg.eigvalsh(found)
        self.tally["not definite"] += values[:, 0] <= 0
        if self.constants.psd_mode == "error":
            raise UndecidedError(
                f"V and H must be positive definite, got eigenvalue {values.min():.4g} in round {t + 1}; "
                "raise the ridge, or clip."
            )
        return np.asarray(definite(found))

    def choose(self, t: int, arms: Floats) -> Ints:
        """Play the longest arm in V^-1 by criterion I; the others the most optimistic remaining arm."""
        self.design_explore, exploit = self._released(t, 0), self._released(t, 1)
        self.inverse: Floats = np.linalg.inv(self.design_explore).astype(np.float64)
        lengths = np.maximum(squared_norms(arms, self.inverse), 0.0)
        self.exploring = is_too_long(lengths, self.constants.threshold)
        self.tally["criterion I"] += self.exploring
        logdet = np.linalg.slogdet(exploit)[1]
        self.logdet_max = np.maximum(self.logdet_max, logdet)
        self._switch(t, exploit)
        scores = self._scores(arms, lengths)
        return np.asarray(np.where(self.exploring, lengths.argmax(axis=1), scores.argmax(axis=1)))

    def _switch(self, t: int, exploit: Floats) -> None:
        c = self.constants
        doubled = ~self.exploring & has_grown(self.logdet_max, self.logdet_last, c.growth)
        self.tally["criterion II"] += doubled
        if c.cap_exploit is not None:
            doubled &= self.tally["calls theta_tau"] < c.cap_exploit
        for r in map(int, np.flatnonzero(doubled)):
            rows = np.ones(t, dtype=bool) if c.fit_all else ~self.explored[r, :t]
            self.theta_exploit[r] = self._fit(r, rows, exploit=True)
            self.logdet_last[r] = self.logdet_max[r]
            self.switch_inverse[r] = np.linalg.inv(exploit[r])
            self.tally["calls theta_tau"][r] += 1

    def _fit(self, r: int, rows: NDArray[np.bool_], *, exploit: bool) -> Floats:
        c = self.constants
        epsilon, delta = c.call_exploit if exploit else c.call_explore
        call = FitCall(
            link=self.link,
            points=self.history.points[r][rows],
            rewards=self.history.rewards[r][rows],
            ridge=c.ridge_upper,
            radius=c.width if exploit else c.param_norm,
            centre=self.theta_explore[r] if exploit else np.zeros(c.dim),
            shape=self.design_explore[r] if exploit else np.eye(c.dim),
            start=(self.theta_explore[r] + self.theta_exploit[r]) / 2,
            epsilon=epsilon,
            delta=delta,
        )
        return self.fit(call, self.rng)

    def _scores(self, arms: Floats, lengths: Floats) -> Floats:
        c = self.constants
        means, widths = self.theta_explore @ arms.T, c.width * np.sqrt(lengths)
        theta = (self.theta_explore + self.theta_exploit) / 2 if c.average else self.theta_exploit
        return np.where(
            survivors(means, widths), theta @ arms.T + c.beta * norms(arms, self.switch_inverse), -np.inf
        )

    def learn(self, t: int, x: Floats, rewards: Floats) -> None:
        """Add one leaf to both trees, zero in the tree of the other criterion; fit theta_o after criterion
        I.
        """
        c = self.constants
        self.history.add(x, rewards)
        self.explored[:, t] = self.exploring
        shrunk = 1 + np.einsum("rd,rde,re->r", x, self.inverse, x) if c.shrink_leaf else np.ones(len(x))
        slopes = self.link.slope((x * self.theta_explore).sum(axis=1)) / math.e
        self.trees[0].add(np.where(self.exploring, 1 / shrunk, 0.0)[:, None, None] * outer(x))
        self.trees[1].add(np.where(self.exploring, 0.0, slopes)[:, None, None] * outer(x))
        update = self.exploring.copy()
        if c.cap_explore is not None:
            update &= self.tally["calls theta_o"] < c.cap_explore
        for r in map(int, np.flatnonzero(update)):
            self.theta_explore[r] = self._fit(r, self.explored[r, : t + 1], exploit=False)
            self.tally["calls theta_o"][r] += 1
