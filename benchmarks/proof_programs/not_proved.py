"""Programs that are right but not proved, with the reason that the prover gives."""

from __future__ import annotations

__all__ = ["NOT_PROVED"]

#: ``list/name`` and the declaration of the data: the reason, without the file and line. A test requires that
#: each is still not proved, for this reason, so that this table shrinks with every improvement.
NOT_PROVED: dict[tuple[str, str], str] = {
    ("checkdp/report_noisy_max", "every N"): (
        "no shifts of the hidden noise keep the output of every step at a cost that is bounded for all "
        "numbers of records."
    ),
    ("shadowdp/noisy_max", "every N"): (
        "no shifts of the hidden noise keep the output of every step at a cost that is bounded for all "
        "numbers of records."
    ),
    ("shadowdp/smart_sum", "every N"): (
        "the prover cannot follow this program: a public value was used in a power or a remainder."
    ),
    ("statdp/noisy_max_2a_loop", "every N"): (
        "no shifts of the hidden noise keep the output of every step at a cost that is bounded for all "
        "numbers of records."
    ),
    ("statdp/prefix_sum_loop", "N"): (
        "not followed: one noise draw is used twice (draw new noise for each release)"
    ),
    ("statdp/truncated_geometric_numpy", "N"): (
        "not followed: a random number of runs is only supported in `for _ in range(...)` (draw noise by "
        "rng.laplace)"
    ),
    ("statdp/truncated_geometric_numpy", "every N"): (
        "not followed: a random number of runs is only supported in `for _ in range(...)` (draw noise by "
        "rng.laplace)"
    ),
    ("libraries/diffprivlib_var", "every N"): (
        "not followed: the scale of the noise must be provably positive (clip it from below)"
    ),
    ("libraries/diffprivlib_quantile", "N"): ("not followed: np.diff is not supported for private values"),
    ("libraries/diffprivlib_quantile", "every N"): (
        "not followed: np.concatenate of private values requires vectors of known length"
    ),
    ("libraries/diffprivlib_pca_symmetric_noise", "N"): (
        "not followed: a released value of unknown shape or type is combined with a private value"
    ),
    ("libraries/diffprivlib_pca_symmetric_noise", "every N"): (
        "not followed: a released value of unknown shape or type is combined with a private value"
    ),
    ("libraries/logistic_output_perturbation", "N"): (
        "not followed: a product of two private arrays must be a sum over records (write X.T @ Y, or a "
        "sum of products)"
    ),
    ("libraries/logistic_output_perturbation", "every N"): (
        "not followed: a product of two private arrays must be a sum over records (write X.T @ Y, or a "
        "sum of products)"
    ),
    ("libraries/partition_selection", "N"): (
        "not followed: a private condition is combined with a released or noisy value"
    ),
    ("libraries/partition_selection", "every N"): (
        "not followed: a private condition is combined with a released or noisy value"
    ),
    ("libraries/ibm_permute_and_flip", "N"): (
        "not followed: rng.permutation is only supported for the number of records under replace-one"
    ),
    ("libraries/ibm_permute_and_flip", "every N"): (
        "not followed: rng.permutation is only supported for the number of records under replace-one"
    ),
    ("idioms/counts_in_a_list", "N"): (
        "not followed: with a private number of records, a loop may only add to totals, as in "
        "sum(1 for x in data if x > 3), and cannot call functions of the program (use whole arrays)"
    ),
    ("idioms/counts_in_a_list", "every N"): (
        "not followed: with a private number of records, a loop may only add to totals, as in "
        "sum(1 for x in data if x > 3), and cannot call functions of the program (use whole arrays)"
    ),
    ("idioms/randomised_response_in_a_comprehension", "every N"): (
        "not followed: without a fixed number of records, a loop may only add to totals, as in "
        "sum(1 for x in data if x > 3), and cannot call functions of the program (declare size=n, or use "
        "whole arrays)"
    ),
    ("idioms/gradients_in_a_comprehension", "N"): (
        "not followed: with a private number of records, a loop may only add to totals, as in "
        "sum(1 for x in data if x > 3), and cannot call functions of the program (use whole arrays)"
    ),
    ("idioms/gradients_in_a_comprehension", "every N"): (
        "not followed: with a private number of records, a loop may only add to totals, as in "
        "sum(1 for x in data if x > 3), and cannot call functions of the program (use whole arrays)"
    ),
    ("idioms/gradients_in_a_loop", "N"): (
        "not followed: with a private number of records, a loop may only add to totals, as in "
        "sum(1 for x in data if x > 3), and cannot call functions of the program (use whole arrays)"
    ),
    ("idioms/gradients_in_a_loop", "every N"): (
        "not followed: with a private number of records, a loop may only add to totals, as in "
        "sum(1 for x in data if x > 3), and cannot call functions of the program (use whole arrays)"
    ),
    ("idioms/sampled_gradients", "N"): ("not followed: the size of the noise is private"),
    ("idioms/sampled_gradients", "every N"): ("not followed: the size of the noise is private"),
    ("idioms/sampled_rows", "N"): ("not followed: the size of the noise is private"),
    ("idioms/sampled_rows", "every N"): ("not followed: the size of the noise is private"),
    ("idioms/covariance_by_numpy", "N"): ("not followed: numpy.cov refers to cov, which is not supported"),
}
