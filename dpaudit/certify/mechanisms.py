"""Build proofs of single mechanisms, one for each rule without premises. Compositions are in ``build``."""

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
    """Prove pure epsilon D/b for Laplace noise of ``scale`` b on a query of l1 ``sensitivity`` D.

    With ``dimension=1`` (set automatically for a ``BoundedSum``), the certificate also has the exact delta at
    every epsilon below D/b.
    """
    if isinstance(sensitivity, BoundedSum):
        dimension = 1
    parameters = {"sensitivity": written_sensitivity(sensitivity), "scale": exact_text(scale, "scale")}
    return accepted(
        "laplace", parameters if dimension is None else {**parameters, "dimension": str(dimension)}
    )


def discrete_laplace_mechanism(*, sensitivity: Sensitivity, scale: ExactLike) -> Proof:
    """Prove pure epsilon D/b for discrete Laplace noise of ``scale`` b on an integer query of l1
    ``sensitivity`` D.

    The noise has P(k) proportional to exp(-|k|/b).
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
    """Prove mu-GDP for Gaussian noise on a query of bounded l2 sensitivity.

    Parameters
    ----------
    sensitivity, sensitivity_squared : exact number or BoundedSum, exact number
        The l2 sensitivity or its square. Pass exactly one.
    scale, variance : exact numbers
        The standard deviation of the noise or its square. Pass exactly one.

    Raises
    ------
    InvalidParameterError
        Both or neither of a pair are given.
    """
    if (sensitivity is None) == (sensitivity_squared is None):
        raise InvalidParameterError(
            "pass exactly one of sensitivity and sensitivity_squared.", code="E-SENSITIVITY-ONE"
        )
    if (scale is None) == (variance is None):
        raise InvalidParameterError("pass exactly one of scale and variance.", code="E-VARIANCE-ONE")
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
    """Bound Gaussian noise on the sum over a hidden Poisson subsample: one step of private gradient descent.

    The guarantee holds for neighbours by addition, removal or null records. It is the exact delta of one
    step. Compose many steps with a ``grid`` (``compose_sequential``, ``accounted``).

    Parameters
    ----------
    sensitivity : exact number or BoundedSum
        Largest l2 norm that a record adds to the sum.
    rate : exact number in (0, 1)
        The probability that a record is in the subsample.
    scale, variance : exact numbers
        The standard deviation of the noise or its square. Pass exactly one.

    Raises
    ------
    InvalidParameterError
        Both or neither of scale and variance are given.
    """
    if (scale is None) == (variance is None):
        raise InvalidParameterError("pass exactly one of scale and variance.", code="E-VARIANCE-ONE")
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
    """Bound the index of the largest noisy score, with noise of ``scale`` b and scores of ``sensitivity`` D
    each.

    The mechanism has pure epsilon D/b if only one score changes or all change in the same direction, and 2D/b
    in general.

    Parameters
    ----------
    sensitivity : exact number or BoundedSum
        The largest change D of a score.
    range : {"one_coordinate", "monotone", "general"}
        How the scores change between neighbours.
    noise : {"laplace", "gumbel", "exponential", "gaussian"}
        The distribution of the noise. Gaussian noise gives GDP and requires ``candidates``.
    scale : exact number
        The scale b, or the standard deviation of Gaussian noise.
    candidates : int, optional
        The number of scores. For 2, noise other than Gaussian has its exact delta.
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
    """Prove pure ``epsilon`` for the exponential mechanism with scores of ``sensitivity`` D each.

    It selects candidate i with probability proportional to exp(q_i epsilon / 2D), or to exp(q_i epsilon / D)
    if the scores do not have the range "general". This equals the largest score with Gumbel noise
    (``NoisyArgmax``) of scale 2D / epsilon, or D / epsilon.
    """
    scale = _selection_scale(sensitivity, epsilon, range)
    return report_noisy_max(
        sensitivity=sensitivity, range=range, noise="gumbel", scale=scale, candidates=candidates
    )


def permute_and_flip(
    *, sensitivity: Sensitivity, epsilon: ExactLike, range: Moves = "general", candidates: int | None = None
) -> Proof:
    """Prove pure ``epsilon`` for permute-and-flip with scores of ``sensitivity`` D each.

    It visits the candidates in random order and accepts each with probability exp((q_i - max q) epsilon /
    2D), or with epsilon / D if the scores do not have the range "general". This equals the largest score with
    exponential noise (``NoisyArgmax``) of scale 2D / epsilon, or D / epsilon (McKenna and Sheldon 2020; Ding
    et al. 2021; proof in ``proofs.md``).
    """
    scale = _selection_scale(sensitivity, epsilon, range)
    return report_noisy_max(
        sensitivity=sensitivity, range=range, noise="exponential", scale=scale, candidates=candidates
    )


def _selection_scale(sensitivity: Sensitivity, epsilon: ExactLike, range: Moves) -> Fraction:
    if isinstance(sensitivity, BoundedSum):
        raise InvalidParameterError(
            "the sensitivity of a selection with a stated epsilon must be a number, got a sum. Pass a "
            "number, or use report_noisy_max with a scale.",
            code="E-SENSITIVITY-SUM",
        )
    moved, budget = exact(sensitivity, name="sensitivity"), exact(epsilon, name="epsilon")
    if moved <= 0 or budget <= 0:
        raise InvalidParameterError(
            f"sensitivity and epsilon must be greater than 0, got {moved} and {budget}.",
            code="E-SELECTION-RANGE",
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
    """Bound the sparse vector technique, which stops after ``answers`` = k answers "above".

    Its pure epsilon is D/b + 2kD/c in general, D/b + kD/c for monotone queries, and D/c if only one query
    changes (``one_query``, Laplace noise). D is ``sensitivity``, b is ``threshold_scale``, and c is
    ``query_scale``.
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
    """Prove pure ``epsilon`` for randomised response over k = ``symbols`` symbols.

    It returns the truth with probability e^epsilon / (e^epsilon + k - 1).
    """
    return accepted(
        "randomised-response", {"epsilon": exact_text(epsilon, "epsilon"), "symbols": str(symbols)}
    )


def finite_mechanism(
    rows: Sequence[Sequence[ExactLike]] | None = None, *, distributions: Sequence[Distribution] | None = None
) -> Proof:
    """Bound a mechanism with finitely many inputs and outputs, any two inputs being neighbours.

    Parameters
    ----------
    rows : sequence of sequences of exact numbers, shape (inputs, outputs)
        ``rows[i][y]`` is the probability of output y on input i.
    distributions : sequence of Distribution
        Instead of rows, one finite distribution with exact probabilities for each input: categorical,
        randomised response, or the argmax of at most 8 scores with Gumbel or exponential noise. A largest
        log-ratio that is rational, such as their own epsilon, is then found exactly.

    Raises
    ------
    InvalidParameterError
        Both or neither are given, or a distribution has no exact probabilities.
    """
    if (rows is None) == (distributions is None):
        raise InvalidParameterError("pass exactly one of rows and distributions.", code="E-TABLE-ONE")
    if rows is not None:
        return accepted(
            "finite", {"rows": [[exact_text(entry, "probability") for entry in row] for row in rows]}
        )
    return accepted("finite", {"weights": [_weights(distribution) for distribution in distributions or ()]})


def _weights(distribution: Distribution) -> list[list[list[str]]]:
    weights = exact_weights(distribution)
    if weights is None:
        raise InvalidParameterError(
            f"a distribution of a table must be finite with exact probabilities, got {distribution!r}. Pass "
            "the probabilities as rows instead.",
            code="E-TABLE-NOT-EXACT",
        )
    return [written_weight(weight) for weight in weights]


def polya_noise(*, sensitivity: Sensitivity, scale: ExactLike, share: ExactLike) -> Proof:
    """Bound discrete Laplace noise of ``scale`` made of Polya shares, of which at least ``share`` in (0, 1]
    is added.
    """
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
    """Bound log-concave integer noise on an integer query, with its exact delta at every epsilon.

    The bound covers all shifts up to ``sensitivity``.

    Parameters
    ----------
    family : {"skellam", "discrete-gaussian-sum", "binomial"}
        The distribution of the noise.
    sensitivity : exact number or BoundedSum
        The largest change of the query.
    variance, count : exact number, int
        The variance of Skellam noise, or the variance parameter of each of ``count`` discrete Gaussians.
    trials, probability : int, exact number
        The parameters of binomial noise.
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
    """Prove zCDP for the sum of ``count`` discrete Gaussians of parameter ``variance`` each, on an integer
    query.

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
    """Bound independent integer noise on the coordinates of a vector.

    Parameters
    ----------
    family : {"skellam", "discrete-gaussian-sum", "binomial"}
        The distribution of the noise on each coordinate.
    dimension : int
        The number of coordinates.
    l2_squared, largest : exact number, int
        The largest sum of squares of the change, and the largest change of one coordinate. With rounding,
        ``l2_squared`` is the change before the rounding and ``largest`` the change after it.
    orders : sequence of exact numbers
        The Renyi orders to try.
    times : int
        The number of releases.
    cut : int
        Each coordinate's sums leave out a mass of 2^-cut.
    rounding : {"none", "unbiased"}
        "unbiased" for real coordinates that are rounded at random before the noise.
    **noise
        The family's parameters, as in ``integer_noise``.
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
    """Bound binomial noise on the coordinates of a vector, for any number of trials.

    ``vector_noise`` is tighter if its sums are feasible. ``binomial_sums`` finds orders and a deviation.

    Parameters
    ----------
    trials, probability : int, exact number
        The noise on each coordinate is Bin(trials, probability).
    dimension : int
        The number of coordinates.
    l2_squared, largest : exact numbers
        The largest sum of squares of the change, and the largest change of one coordinate.
    orders : sequence of exact numbers
        The Renyi orders to try.
    deviation : int
        How far each noise may be from its mean. A larger distance counts as a failure.
    rounding : {"none", "unbiased"}
        "none" for integers. "unbiased" for reals, each rounded up with the probability of its fractional part
        before the noise.
    times : int
        The number of releases.
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
