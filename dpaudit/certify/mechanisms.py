"""Constructors of single mechanisms, one for each rule without premises; compositions are in ``build``."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

from dpaudit.certify.parameters import (
    BoundedSum,
    Moves,
    Sensitivity,
    exact_text,
    written_sensitivity,
    written_weight,
)
from dpaudit.certify.proof import Proof, accepted
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, exact_str
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.exact_weights import exact_weights

__all__ = [
    "above_threshold",
    "binomial_vectors",
    "discrete_gaussian_sum",
    "discrete_laplace_mechanism",
    "exponential_mechanism",
    "finite_mechanism",
    "gaussian_mechanism",
    "integer_noise",
    "laplace_mechanism",
    "permute_and_flip",
    "poisson_subsampled_gaussian",
    "polya_noise",
    "randomised_response",
    "report_noisy_max",
    "vector_noise",
]


def laplace_mechanism(*, sensitivity: Sensitivity, scale: ExactLike, dimension: int | None = None) -> Proof:
    """Laplace noise of ``scale`` b on a query of l1 ``sensitivity`` D: pure epsilon D/b.

    With ``dimension=1`` (a sum has it) the certificate also knows the exact delta below D/b.
    """
    if isinstance(sensitivity, BoundedSum):
        dimension = 1
    parameters = {"sensitivity": written_sensitivity(sensitivity), "scale": exact_text(scale, "scale")}
    return accepted(
        "laplace", parameters if dimension is None else {**parameters, "dimension": str(dimension)}
    )


def discrete_laplace_mechanism(*, sensitivity: Sensitivity, scale: ExactLike) -> Proof:
    """Discrete Laplace noise, P(k) ~ exp(-|k|/scale), on an integer query of l1 ``sensitivity`` D: pure
    epsilon D/scale.
    """
    return accepted(
        "discrete-laplace",
        {"sensitivity": written_sensitivity(sensitivity), "scale": exact_text(scale, "scale")},
    )


def gaussian_mechanism(
    *,
    sensitivity: Sensitivity | None = None,
    sensitivity_squared: ExactLike | None = None,
    scale: ExactLike | None = None,
    variance: ExactLike | None = None,
) -> Proof:
    """Gaussian noise of ``scale`` (standard deviation) or ``variance`` on a query of l2 ``sensitivity``
    (or its square): mu-GDP.
    """
    if (sensitivity is None) == (sensitivity_squared is None):
        raise InvalidParameterError(
            "exactly one of sensitivity and sensitivity_squared must be given; pass one."
        )
    if (scale is None) == (variance is None):
        raise InvalidParameterError("exactly one of scale and variance must be given; pass one.")
    spread = (
        exact(variance, name="variance") if variance is not None else exact(scale or 0, name="scale") ** 2
    )
    parameters: dict[str, Any] = {"variance": exact_str(spread)}
    if sensitivity is not None:
        parameters["sensitivity"] = written_sensitivity(sensitivity)
    else:
        parameters["sensitivity_squared"] = exact_str(
            exact(sensitivity_squared or 0, name="sensitivity_squared")
        )
    return accepted("gaussian", parameters)


def poisson_subsampled_gaussian(
    *,
    sensitivity: Sensitivity,
    rate: ExactLike,
    scale: ExactLike | None = None,
    variance: ExactLike | None = None,
) -> Proof:
    """Gaussian noise of ``scale`` (standard deviation) or ``variance`` on the sum over a hidden Poisson
    subsample: each record is in it with probability ``rate`` in (0, 1), and adds at most ``sensitivity`` in
    l2 norm. One step of private stochastic gradient descent; for neighbours by addition, removal or null
    records.

    Exact delta of one step; many steps compose with a ``grid`` (``compose_sequential``, ``accounted``).
    """
    if (scale is None) == (variance is None):
        raise InvalidParameterError("exactly one of scale and variance must be given; pass one.")
    spread = (
        exact(variance, name="variance") if variance is not None else exact(scale or 0, name="scale") ** 2
    )
    return accepted(
        "poisson-subsampled-gaussian",
        {
            "sensitivity": written_sensitivity(sensitivity),
            "rate": exact_text(rate, "rate"),
            "variance": exact_str(spread),
        },
    )


def report_noisy_max(
    *,
    sensitivity: Sensitivity,
    range: Moves,
    noise: Literal["laplace", "gumbel", "exponential", "gaussian"] = "laplace",
    scale: ExactLike,
    candidates: int | None = None,
) -> Proof:
    """The index of the largest noisy score, with noise of ``scale`` b and scores of ``sensitivity`` D each.

    Pure epsilon D/b if only one score moves or all move the same way, 2D/b in general. Gaussian noise
    (``scale`` is its standard deviation) needs the number of ``candidates`` and gives GDP. With
    ``candidates=2`` the other noises have their exact delta.
    """
    parameters = {"noise": noise, "range": range, "sensitivity": written_sensitivity(sensitivity)}
    if candidates is not None:
        parameters["candidates"] = str(candidates)
    if noise == "gaussian":
        parameters["variance"] = exact_str(exact(scale, name="scale") ** 2)
    else:
        parameters["scale"] = exact_text(scale, "scale")
    return accepted("noisy-max", parameters)


def exponential_mechanism(
    *, sensitivity: Sensitivity, epsilon: ExactLike, range: Moves = "general", candidates: int | None = None
) -> Proof:
    """The exponential mechanism: candidate i with probability in proportion to exp(q_i epsilon / 2D), scores
    of ``sensitivity`` D each (exp(q_i epsilon / D) where they move the same way): pure ``epsilon``.

    It is the largest score with Gumbel noise (``NoisyArgmax``) of scale 2D / epsilon (D / epsilon).
    """
    scale = _selection_scale(sensitivity, epsilon, range)
    return report_noisy_max(
        sensitivity=sensitivity, range=range, noise="gumbel", scale=scale, candidates=candidates
    )


def permute_and_flip(
    *, sensitivity: Sensitivity, epsilon: ExactLike, range: Moves = "general", candidates: int | None = None
) -> Proof:
    """Permute-and-flip: candidates in random order, each taken with probability exp((q_i - max q) epsilon /
    2D), scores of ``sensitivity`` D each (epsilon / D where they move the same way): pure ``epsilon``.

    It is the largest score with exponential noise (``NoisyArgmax``) of scale 2D / epsilon (D / epsilon), as
    McKenna and Sheldon 2020 and Ding et al. 2021 show; the proof stands in ``proofs.md``.
    """
    scale = _selection_scale(sensitivity, epsilon, range)
    return report_noisy_max(
        sensitivity=sensitivity, range=range, noise="exponential", scale=scale, candidates=candidates
    )


def _selection_scale(sensitivity: Sensitivity, epsilon: ExactLike, range: Moves) -> Fraction:
    if isinstance(sensitivity, BoundedSum):
        raise InvalidParameterError(
            "a selection with a stated epsilon must have its sensitivity as a number, got a sum; pass the "
            "number, or report_noisy_max with a scale."
        )
    moved, budget = exact(sensitivity, name="sensitivity"), exact(epsilon, name="epsilon")
    if moved <= 0 or budget <= 0:
        raise InvalidParameterError(
            f"sensitivity and epsilon must be greater than 0, got {moved} and {budget}; raise them."
        )
    return (2 if range == "general" else 1) * moved / budget


def above_threshold(
    *,
    sensitivity: Sensitivity,
    threshold_scale: ExactLike,
    query_scale: ExactLike,
    answers: int = 1,
    range: Literal["general", "monotone", "one_query"] = "general",
    noise: Literal["laplace", "exponential"] = "laplace",
) -> Proof:
    """The sparse vector technique, stopping after ``answers`` answers "above": D/b + 2kD/c (general), D/b +
    kD/c (monotone), or D/c if only one query moves (``one_query``, Laplace noise).
    """
    return accepted(
        "above-threshold",
        {
            "noise": noise,
            "range": range,
            "sensitivity": written_sensitivity(sensitivity),
            "threshold_scale": exact_text(threshold_scale, "threshold_scale"),
            "query_scale": exact_text(query_scale, "query_scale"),
            "answers": str(answers),
        },
    )


def randomised_response(*, epsilon: ExactLike, symbols: int = 2) -> Proof:
    """Randomised response over k = ``symbols`` symbols: truth with probability e^epsilon / (e^epsilon + k
    - 1).
    """
    return accepted(
        "randomised-response", {"epsilon": exact_text(epsilon, "epsilon"), "symbols": str(symbols)}
    )


def finite_mechanism(
    rows: Sequence[Sequence[ExactLike]] | None = None, *, distributions: Sequence[Distribution] | None = None
) -> Proof:
    """A mechanism by its table: ``rows[i][y]`` is the probability of output y on input i; any two inputs
    are neighbours.

    Instead of rows, finite ``distributions`` with exact chances, one an input: categorical ones, randomised
    response,
    the argmax of scores with Gumbel or exponential noise (of at most 8 candidates). Then a largest log-ratio
    that is rational, such as their own epsilon, is found exactly. Raises ``InvalidParameterError`` for a
    distribution without such chances.
    """
    if (rows is None) == (distributions is None):
        raise InvalidParameterError("exactly one of rows and distributions must be given; pass one.")
    if rows is not None:
        return accepted(
            "finite", {"rows": [[exact_text(entry, "probability") for entry in row] for row in rows]}
        )
    return accepted("finite", {"weights": [_weights(distribution) for distribution in distributions or ()]})


def _weights(distribution: Distribution) -> list[list[list[str]]]:
    weights = exact_weights(distribution)
    if weights is None:
        raise InvalidParameterError(
            f"a distribution of a table must be finite with exact chances, got {distribution!r}; pass "
            "probabilities as rows."
        )
    return [written_weight(weight) for weight in weights]


def polya_noise(*, sensitivity: Sensitivity, scale: ExactLike, share: ExactLike) -> Proof:
    """Discrete Laplace noise of ``scale`` made of Polya shares; at least ``share`` in (0, 1] is added."""
    return accepted(
        "polya",
        {
            "sensitivity": written_sensitivity(sensitivity),
            "scale": exact_text(scale, "scale"),
            "share": exact_text(share, "share"),
        },
    )


def integer_noise(
    family: Literal["skellam", "discrete-gaussian-sum", "binomial"],
    *,
    sensitivity: Sensitivity,
    variance: ExactLike | None = None,
    count: int = 1,
    trials: int | None = None,
    probability: ExactLike | None = None,
) -> Proof:
    """Log-concave integer noise on an integer query: exact delta at every epsilon, over all shifts up to
    ``sensitivity``.

    ``skellam`` takes its ``variance``; ``discrete-gaussian-sum`` the ``variance`` parameter of each of
    ``count`` parties; ``binomial`` its ``trials`` and ``probability``.
    """
    parameters: dict[str, Any] = {"family": family, "sensitivity": written_sensitivity(sensitivity)}
    if family == "binomial":
        parameters |= {
            "trials": str(trials),
            "probability": exact_str(exact(probability or 0, name="probability")),
        }
    else:
        parameters["variance"] = exact_str(exact(variance or 0, name="variance"))
    if family == "discrete-gaussian-sum":
        parameters["count"] = str(count)
    return accepted("integer-noise", parameters)


def discrete_gaussian_sum(*, sensitivity: Sensitivity, variance: ExactLike, count: int = 1) -> Proof:
    """The sum of ``count`` discrete Gaussians of parameter ``variance`` each, on an integer query: zCDP.

    ``integer_noise`` has the exact delta of the same noise.
    """
    return accepted(
        "gaussian-sum",
        {
            "sensitivity": written_sensitivity(sensitivity),
            "variance": exact_text(variance, "variance"),
            "count": str(count),
        },
    )


def vector_noise(
    family: Literal["skellam", "discrete-gaussian-sum", "binomial"],
    *,
    dimension: int,
    l2_squared: ExactLike,
    largest: int,
    orders: Sequence[ExactLike],
    times: int = 1,
    cut: int = 200,
    rounding: Literal["none", "unbiased"] = "none",
    **noise: Any,
) -> Proof:
    """Independent noise on ``dimension`` integer coordinates whose change has sum of squares ``l2_squared``
    and entries up to ``largest``; with ``rounding`` "unbiased" on reals that are rounded at random before, of
    which ``l2_squared`` is the change before and ``largest`` after.

    ``noise`` holds the family's parameters as in ``integer_noise``; ``orders`` the Renyi orders to try,
    ``times`` the number of releases, 2^-``cut`` the mass left out of each coordinate's sums.
    """
    family_parameters = dict(integer_noise(family, sensitivity=largest, **noise).parameters)
    del family_parameters["sensitivity"]
    if rounding != "none":
        family_parameters["rounding"] = rounding
    return accepted(
        "vector-noise",
        {
            **family_parameters,
            "dimension": str(dimension),
            "l2_squared": exact_text(l2_squared, "l2_squared"),
            "largest": str(largest),
            "orders": [exact_text(order, "order") for order in orders],
            "times": str(times),
            "cut": str(cut),
        },
    )


def binomial_vectors(
    *,
    trials: int,
    probability: ExactLike,
    dimension: int,
    l2_squared: ExactLike,
    largest: ExactLike,
    orders: Sequence[ExactLike],
    deviation: int,
    rounding: Literal["none", "unbiased"] = "none",
    times: int = 1,
) -> Proof:
    """Bin(``trials``, ``probability``) on each of ``dimension`` entries whose change has sum of squares
    ``l2_squared`` and entries up to ``largest``, for any number of trials.

    ``rounding``: "none" for integers, "unbiased" for reals of which each is rounded up with the chance of its
    fractional part before the noise. ``orders`` are the Renyi orders to try, ``deviation`` how far from its
    mean each noise may be without being counted as a failure, ``times`` the number of releases.
    ``vector_noise`` is tighter where it can sum; ``binomial_sums`` finds orders and deviation.
    """
    return accepted(
        "binomial-vectors",
        {
            "trials": str(trials),
            "probability": exact_text(probability, "probability"),
            "dimension": str(dimension),
            "l2_squared": exact_text(l2_squared, "l2_squared"),
            "largest": exact_text(largest, "largest"),
            "rounding": rounding,
            "orders": [exact_text(order, "order") for order in orders],
            "deviation": str(deviation),
            "times": str(times),
        },
    )
