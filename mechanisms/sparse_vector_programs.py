"""Sparse vector with explicit noise draws: above-threshold programs, right and wrong, for proofs of programs.

After Dwork and Roth (2014, section 3.6), Lyu, Su and Li (2017, Figure 1), and for gaps and adaptive budgets
Ding, Wang, Zhang and Kifer (2019). Data are the queries' answers, each changing by at most 1 between
neighbours. The threshold is 0: another threshold is a shift of all queries.
"""

from __future__ import annotations

from typing import Any

from dpaudit.coins.base import Coins, Program
from dpaudit.core.exact import ExactLike, exact
from dpaudit.distributions import DiscreteLaplace, Exponential, Laplace

__all__ = [
    "adaptive_sparse_vector",
    "numeric_sparse_vector",
    "sparse_vector",
    "sparse_vector_showing",
    "sparse_vector_without_cut_off",
    "sparse_vector_without_query_noise",
]

Distribution = type[Laplace] | type[Exponential] | type[DiscreteLaplace]


def sparse_vector(
    *,
    threshold: ExactLike,
    query: ExactLike,
    cut_off: int = 1,
    redrawn: bool = False,
    distribution: Distribution = Laplace,
) -> Program:
    """Answer whether each query is above the noisy threshold, up to ``cut_off`` positive answers.

    ``threshold`` and ``query`` are the scales of the noise. ``redrawn`` draws the threshold anew after each
    positive answer.
    """
    noise_of_threshold = distribution(scale=exact(threshold, name="threshold"))
    noise_of_query = distribution(scale=exact(query, name="query"))

    def program(coins: Coins, data: Any) -> None:
        limit = coins.draw(noise_of_threshold, site="threshold")
        above = 0
        for value in data:
            if value + coins.draw(noise_of_query, site="query") >= limit:
                coins.reveal(True, site="above")
                above += 1
                if above == cut_off:
                    return
                if redrawn:
                    limit = coins.draw(noise_of_threshold, site="threshold")
            else:
                coins.reveal(False, site="above")

    return program


def numeric_sparse_vector(*, threshold: ExactLike, query: ExactLike, value: ExactLike) -> Program:
    """Run NumSVT: the query above the threshold is released with fresh Laplace noise of scale ``value``."""
    noise_of_threshold = Laplace(scale=exact(threshold, name="threshold"))
    noise_of_query = Laplace(scale=exact(query, name="query"))
    noise_of_value = Laplace(scale=exact(value, name="value"))

    def program(coins: Coins, data: Any) -> None:
        limit = coins.draw(noise_of_threshold, site="threshold")
        for answer in data:
            if answer + coins.draw(noise_of_query, site="query") >= limit:
                coins.release(answer, noise_of_value, site="value")
                return
            coins.reveal(False, site="above")

    return program


def sparse_vector_showing(
    what: str, *, threshold: ExactLike, query: ExactLike, distribution: Distribution = Laplace
) -> Program:
    """Release a number for the query above the threshold.

    ``"gap"`` releases its gap to the noisy threshold (free), ``"query"`` the noisy query itself (wrong: Lyu,
    Su and Li's variant 3).
    """
    noise_of_threshold = distribution(scale=exact(threshold, name="threshold"))
    noise_of_query = distribution(scale=exact(query, name="query"))
    gap = what == "gap"

    def program(coins: Coins, data: Any) -> None:
        limit = coins.draw(noise_of_threshold, site="threshold")
        for value in data:
            noisy = value + coins.draw(noise_of_query, site="query")
            if noisy >= limit:
                coins.reveal(noisy - limit if gap else noisy, site="shown")
                return
            coins.reveal(False, site="above")

    return program


def sparse_vector_without_query_noise(*, threshold: ExactLike) -> Program:
    """Add noise to the threshold only (wrong: variant 5)."""
    noise_of_threshold = Laplace(scale=exact(threshold, name="threshold"))

    def program(coins: Coins, data: Any) -> None:
        limit = coins.draw(noise_of_threshold, site="threshold")
        for value in data:
            coins.reveal(value >= limit, site="above")

    return program


def sparse_vector_without_cut_off(*, threshold: ExactLike, query: ExactLike) -> Program:
    """Answer every query, without a cut-off (wrong: variant 6)."""
    noise_of_threshold = Laplace(scale=exact(threshold, name="threshold"))
    noise_of_query = Laplace(scale=exact(query, name="query"))

    def program(coins: Coins, data: Any) -> None:
        limit = coins.draw(noise_of_threshold, site="threshold")
        for value in data:
            coins.reveal(value + coins.draw(noise_of_query, site="query") >= limit, site="above")

    return program


def adaptive_sparse_vector(*, answers: int, showing: str = "gap", step: int = 16) -> Program:
    """Run the adaptive sparse vector with gap at epsilon 1: a query far above is answered at half the cost.

    Threshold noise has scale 2. "Far above" (by ``step``) is tested with noise 8 ``answers``, "above" with 4
    ``answers``. The budget covers ``answers`` answers of the second kind. ``showing="query"`` releases the
    noisy query (wrong).
    """
    noise_of_threshold = Laplace(scale=2)
    top, middle = Laplace(scale=8 * answers), Laplace(scale=4 * answers)
    gap, budget = showing == "gap", 2 * answers

    def program(coins: Coins, data: Any) -> None:
        limit = coins.draw(noise_of_threshold, site="threshold")
        spent = 0
        for value in data:
            if spent + 2 > budget:
                return
            far = value + coins.draw(top, site="top")
            near = value + coins.draw(middle, site="middle")
            if far - limit >= step:
                coins.reveal("top", site="branch")
                coins.reveal(far - limit if gap else far, site="shown")
                spent += 1
            elif near - limit >= 0:
                coins.reveal("middle", site="branch")
                coins.reveal(near - limit if gap else near, site="shown")
                spent += 2
            else:
                coins.reveal("below", site="branch")

    return program
