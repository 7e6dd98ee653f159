"""Programs that are right but not proved, with the reason that the prover gives."""

from __future__ import annotations

__all__ = ["NOT_PROVED"]

#: ``list/name`` and the declaration of the data: the reason, without line numbers. A test requires that each
#: is still not proved, so that this table shrinks with every improvement.
NOT_PROVED: dict[tuple[str, str], str] = {
    ("checkdp/report_noisy_max", "every N"): (
        "no shifts of the hidden noise keep the output of every step at a cost that is bounded for all "
        "numbers of records."
    ),
    ("checkdp/partial_sum_loop", "every N"): (
        "not followed: a loop over an array requires a fixed length (declare size=n, or use whole arrays)"
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
    ("statdp/one_time_rappor", "N"): (
        "not followed: randomised response requires exactly one unused coin for each entry of the records"
    ),
    ("statdp/one_time_rappor", "every N"): (
        "not followed: randomised response requires exactly one unused coin for each entry of the records"
    ),
    ("statdp/one_time_rappor_direct", "N"): ("the derived bound 2.55413 is above the claim."),
    ("statdp/one_time_rappor_direct", "every N"): ("the derived bound 2.55413 is above the claim."),
    ("statdp/rappor", "N"): (
        "not followed: uniform random numbers can only be compared with one constant or with private "
        "probabilities"
    ),
    ("statdp/rappor", "every N"): (
        "not followed: uniform random numbers can only be compared with one constant or with private "
        "probabilities"
    ),
    ("statdp/prefix_sum_loop", "N"): (
        "not followed: one noise draw is used twice (draw new noise for each release)"
    ),
    ("statdp/truncated_geometric_numpy", "N"): (
        "not followed: rng.geometric is not supported (use one of laplace, normal, gumbel, exponential, "
        "standard_normal, random, uniform, integers, choice)"
    ),
    ("statdp/truncated_geometric_numpy", "every N"): (
        "not followed: rng.geometric is not supported (use one of laplace, normal, gumbel, exponential, "
        "standard_normal, random, uniform, integers, choice)"
    ),
}
