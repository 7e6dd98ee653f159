"""Mechanisms with one noise parameter, by name: what ``dpaudit calibrate`` knows.

Each takes the sensitivity of the query and a ``Shape`` (what else it depends on), and builds the proof for a
value of its parameter, where more is more private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.claims import Adjacency
from dpaudit.proofs import build
from dpaudit.proofs.binomial_sums import linear_statistics
from dpaudit.proofs.build import LossGrid
from dpaudit.proofs.proof import Proof

__all__ = ["MECHANISMS", "Mechanism", "Shape"]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a mechanism depends on besides sensitivity and noise.

    ``candidates`` of a noisy maximum, ``answers`` "above" of a sparse vector, ``leaves`` of a tree,
    ``parties`` that share the noise or whose messages are shuffled, the ``share`` in (0, 1] of them that
    turns up, and the ``grid`` on which compositions are computed (``None``: parameters are added up). ``dim``
    features of a linear bandit, and the ``epsilon`` and ``delta`` for which Renyi orders are chosen.
    """

    candidates: int = 2
    answers: int = 1
    leaves: int = 1024
    parties: int = 1
    share: Fraction = Fraction(1)
    grid: LossGrid | None = None
    dim: int = 2
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)


@dataclass(frozen=True)
class Mechanism:
    """A mechanism with one noise parameter: what that is, and the proof for a sensitivity, a parameter and a
    shape. ``needs_delta``: it has no pure guarantee; ``adds_up``: nor a better sum than that of its
    parameters (Gaussian DP); ``whole``: its parameter is an integer. ``adjacency``: of the claims that it is
    for.
    """

    parameter: str
    proof: Callable[[Fraction, Fraction, Shape], Proof]
    needs_delta: bool = False
    adds_up: bool = False
    whole: bool = False
    adjacency: Adjacency = Adjacency.REPLACE_ONE


def _noisy_max(moving: str, noise: str) -> Callable[[Fraction, Fraction, Shape], Proof]:
    def proof(sensitivity: Fraction, scale: Fraction, shape: Shape) -> Proof:
        return build.report_noisy_max(
            sensitivity=sensitivity,
            range=moving,  # type: ignore[arg-type]
            noise=noise,  # type: ignore[arg-type]
            scale=scale,
            candidates=shape.candidates,
        )

    return proof


def _above_threshold(sensitivity: Fraction, scale: Fraction, shape: Shape) -> Proof:
    """Query noise of twice the parameter for each answer, so that threshold and answers cost the same."""
    return build.above_threshold(
        sensitivity=sensitivity,
        threshold_scale=scale,
        query_scale=2 * shape.answers * scale,
        answers=shape.answers,
    )


def _tree(node: Callable[[Fraction, Fraction], Proof]) -> Callable[[Fraction, Fraction, Shape], Proof]:
    def proof(sensitivity: Fraction, parameter: Fraction, shape: Shape) -> Proof:
        return build.tree_mechanism(node(sensitivity, parameter), leaves=shape.leaves, grid=shape.grid)

    return proof


def _binomial_vectors(sensitivity: Fraction, trials: Fraction, shape: Shape) -> Proof:
    """Sums of (phi y, phi phi^T) over a batch of ``parties`` with ||phi|| and |y| up to 1, times
    ``sensitivity``, at precision g = max(2 sqrt(parties), dim, 4): each adds ``trials`` bits of chance 1/4 to
    every entry."""
    root = math.isqrt(4 * shape.parties - 1) + 1
    statistic = linear_statistics(
        dim=shape.dim,
        scale=sensitivity * max(root, shape.dim, 4),
        trials=math.ceil(trials) * shape.parties,
        chance="1/4",
    )
    return statistic.proof(epsilon=shape.epsilon, delta=shape.delta)


MECHANISMS: dict[str, Mechanism] = {
    "laplace": Mechanism(
        "scale", lambda s, b, shape: build.laplace_mechanism(sensitivity=s, scale=b, dimension=1)
    ),
    "discrete-laplace": Mechanism(
        "scale", lambda s, b, shape: build.discrete_laplace_mechanism(sensitivity=s, scale=b)
    ),
    "polya": Mechanism(
        "scale", lambda s, b, shape: build.polya_noise(sensitivity=s, scale=b, share=shape.share)
    ),
    "noisy-max": Mechanism("scale", _noisy_max("general", "laplace")),
    "noisy-max-monotone": Mechanism(
        "scale", _noisy_max("monotone", "laplace"), adjacency=Adjacency.ADD_REMOVE
    ),
    "noisy-max-one": Mechanism("scale", _noisy_max("one_coordinate", "laplace")),
    "noisy-max-exponential": Mechanism("scale", _noisy_max("general", "exponential")),
    "noisy-max-gumbel": Mechanism("scale", _noisy_max("general", "gumbel")),
    "noisy-max-gaussian": Mechanism(
        "standard deviation", _noisy_max("general", "gaussian"), needs_delta=True, adds_up=True
    ),
    "above-threshold": Mechanism("threshold scale", _above_threshold),
    "tree": Mechanism(
        "scale of a node",
        _tree(lambda s, b: build.laplace_mechanism(sensitivity=s, scale=b, dimension=1)),
    ),
    "tree-gaussian": Mechanism(
        "standard deviation of a node",
        _tree(lambda s, b: build.gaussian_mechanism(sensitivity=s, scale=b)),
        needs_delta=True,
        adds_up=True,
    ),
    "gaussian": Mechanism(
        "standard deviation",
        lambda s, b, shape: build.gaussian_mechanism(sensitivity=s, scale=b),
        needs_delta=True,
        adds_up=True,
    ),
    "shuffled-gaussian": Mechanism(
        "standard deviation of a message",
        lambda s, b, shape: build.shuffled_gaussian(
            users=shape.parties, sensitivity_squared=s**2, variance=b**2
        ),
        needs_delta=True,
    ),
    "skellam": Mechanism(
        "variance",
        lambda s, v, shape: build.integer_noise("skellam", sensitivity=s, variance=v),
        needs_delta=True,
    ),
    "discrete-gaussian": Mechanism(
        "variance of a party",
        lambda s, v, shape: build.integer_noise(
            "discrete-gaussian-sum", sensitivity=s, variance=v, count=shape.parties
        ),
        needs_delta=True,
    ),
    "binomial": Mechanism(
        "trials at 1/2",
        lambda s, n, shape: build.integer_noise(
            "binomial", sensitivity=s, trials=math.ceil(n), probability="1/2"
        ),
        needs_delta=True,
        whole=True,
    ),
    "binomial-vectors": Mechanism(
        "trials at 1/4 of a user and entry", _binomial_vectors, needs_delta=True, adds_up=True, whole=True
    ),
}
