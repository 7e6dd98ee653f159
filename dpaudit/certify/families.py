"""Mechanisms with one noise parameter, by the names that ``dpaudit calibrate`` accepts.

Each builds its proof from the sensitivity of the query, a value of its parameter, and a ``Shape`` with
everything else it depends on. A larger parameter is more private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.certify import build
from dpaudit.certify.binomial_sums import linear_statistics
from dpaudit.certify.build import LossGrid
from dpaudit.certify.proof import Proof
from dpaudit.core.claims import Adjacency
from dpaudit.core.errors import InvalidParameterError

__all__ = ["MECHANISMS", "Mechanism", "Shape", "vector_precision"]

#: The meaning of ``sensitivity``, for the help of ``dpaudit calibrate``.
SUM = "largest change of the query by one record"
L2 = "largest L2 change of the vector by one record; sqrt(4.5) for (phi y, phi phi^T) with norms <= 1"
SCORE = "largest change of each score by one record"
LEAF = "largest change of a leaf by one record"
POINTS = "largest L2 distance of two users' messages; sqrt(4.5) for (phi y, phi phi^T) with norms <= 1"
MESSAGE = "scale of the messages (phi y, phi phi^T), 1 for ||phi|| <= 1 and |y| <= 1"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The parameters of a mechanism besides sensitivity and noise.

    Parameters
    ----------
    candidates : int
        The number of candidates of a noisy maximum.
    answers : int
        The number of answers "above" of a sparse vector.
    leaves : int
        The number of leaves of a tree.
    parties, share : int, Fraction
        The number of parties that share the noise or whose messages are shuffled, and the part of them, in
        (0, 1], that takes part.
    grid : LossGrid, optional
        The grid on which compositions are computed. Without one, parameters are added.
    dim : int
        The number of features of a linear bandit.
    epsilon, delta : Fraction
        The values for which Renyi orders are chosen.
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
    """A mechanism with one noise parameter.

    Parameters
    ----------
    parameter : str
        The name of the noise parameter.
    proof : callable
        Builds the proof from a sensitivity, a parameter and a shape.
    needs_delta : bool
        Whether the mechanism has no pure guarantee.
    adds_up : bool
        Whether a composition has no better bound than the sum of the parameters (Gaussian DP).
    whole : bool
        Whether the parameter is an integer.
    adjacency : Adjacency
        The adjacency of the claims that the mechanism supports.
    uses : frozenset of str
        The fields of the shape that matter, besides the grid and the claim's numbers.
    scales : str
        The meaning of the sensitivity.
    leaves_out : bool
        Whether the proof spends a fixed share of delta on what it leaves out. Claimed over certified then
        does not measure how much noise could be saved.
    """

    parameter: str
    proof: Callable[[Fraction, Fraction, Shape], Proof]
    needs_delta: bool = False
    adds_up: bool = False
    whole: bool = False
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    uses: frozenset[str] = frozenset()
    scales: str = SUM
    leaves_out: bool = False


CANDIDATES, LEAVES, PARTIES = frozenset({"candidates"}), frozenset({"leaves"}), frozenset({"parties"})


def _noisy_max(range: str, noise: str) -> Callable[[Fraction, Fraction, Shape], Proof]:
    def proof(sensitivity: Fraction, scale: Fraction, shape: Shape) -> Proof:
        return build.report_noisy_max(
            sensitivity=sensitivity,
            range=range,  # type: ignore[arg-type]
            noise=noise,  # type: ignore[arg-type]
            scale=scale,
            candidates=shape.candidates,
        )

    return proof


def _above_threshold(sensitivity: Fraction, scale: Fraction, shape: Shape) -> Proof:
    """Use query noise of twice the parameter for each answer, so that threshold and answers cost the same."""
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


def vector_precision(*, parties: int, dim: int) -> int:
    """Return g = max(2 sqrt(parties), dim, 4), rounded up (Chowdhury and Zhou 2022, Theorem C.1).

    Raise ``InvalidParameterError`` if ``parties`` or ``dim`` is below 1.
    """
    if min(parties, dim) < 1:
        raise InvalidParameterError(
            f"parties and dim must be 1 or more, got {parties} and {dim}.", code="E-DIM-RANGE"
        )
    return max(math.isqrt(4 * parties - 1) + 1, dim, 4)


def _binomial_vectors(sensitivity: Fraction, trials: Fraction, shape: Shape) -> Proof:
    """Bound sums of (phi y, phi phi^T) over a batch of ``parties``, with ||phi|| and |y| at most 1.

    The sums are multiplied by ``sensitivity`` and by the precision g = max(2 sqrt(parties), dim, 4). Each
    party adds ``trials`` bits of chance 1/4 to every entry.
    """
    statistic = linear_statistics(
        dim=shape.dim,
        scale=sensitivity * vector_precision(parties=shape.parties, dim=shape.dim),
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
        "scale",
        lambda s, b, shape: build.polya_noise(sensitivity=s, scale=b, share=shape.share),
        uses=frozenset({"share"}),
    ),
    "noisy-max": Mechanism("scale", _noisy_max("general", "laplace"), uses=CANDIDATES, scales=SCORE),
    "noisy-max-monotone": Mechanism(
        "scale",
        _noisy_max("monotone", "laplace"),
        adjacency=Adjacency.ADD_REMOVE,
        uses=CANDIDATES,
        scales=SCORE,
    ),
    "noisy-max-one": Mechanism(
        "scale", _noisy_max("one_coordinate", "laplace"), uses=CANDIDATES, scales=SCORE
    ),
    "noisy-max-exponential": Mechanism(
        "scale", _noisy_max("general", "exponential"), uses=CANDIDATES, scales=SCORE
    ),
    "noisy-max-gumbel": Mechanism("scale", _noisy_max("general", "gumbel"), uses=CANDIDATES, scales=SCORE),
    "noisy-max-gaussian": Mechanism(
        "standard deviation",
        _noisy_max("general", "gaussian"),
        needs_delta=True,
        adds_up=True,
        uses=CANDIDATES,
        scales=SCORE,
    ),
    "above-threshold": Mechanism(
        "threshold scale",
        _above_threshold,
        uses=frozenset({"answers"}),
        scales="largest change of each query by one record",
    ),
    "tree": Mechanism(
        "scale of a node",
        _tree(lambda s, b: build.laplace_mechanism(sensitivity=s, scale=b, dimension=1)),
        uses=LEAVES,
        scales=LEAF,
    ),
    "tree-gaussian": Mechanism(
        "standard deviation of a node",
        _tree(lambda s, b: build.gaussian_mechanism(sensitivity=s, scale=b)),
        needs_delta=True,
        adds_up=True,
        uses=LEAVES,
        scales=LEAF,
    ),
    "gaussian": Mechanism(
        "standard deviation",
        lambda s, b, shape: build.gaussian_mechanism(sensitivity=s, scale=b),
        needs_delta=True,
        adds_up=True,
        scales=L2,
    ),
    "shuffled-gaussian": Mechanism(
        "standard deviation of a message",
        lambda s, b, shape: build.shuffled_gaussian(
            users=shape.parties, sensitivity_squared=s**2, variance=b**2
        ),
        needs_delta=True,
        uses=PARTIES,
        scales=POINTS,
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
        uses=PARTIES,
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
        "trials at 1/4 of a user and entry",
        _binomial_vectors,
        needs_delta=True,
        adds_up=True,
        whole=True,
        uses=PARTIES | {"dim"},
        scales=MESSAGE,
        leaves_out=True,
    ),
}
