"""Building certificates: one constructor for each rule, and ``certify`` to make a certificate of a claim.

    proof = accounted([Site("array sum", mechanism=laplace_mechanism(sensitivity=1,
    scale="2"))], declared="...") certificate = proof.certify(PureDP(epsilon="0.5"))

A ``Proof`` is a rule application as a frozen value. Constructors take exact numbers (integers, ``Fraction``,
``Decimal``, strings) and end by asking the kernel whether it accepts what they built; so does ``certify``,
with the bound that it states. Those of single mechanisms are in ``mechanisms``, all names are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from dpaudit.certify.mechanisms import (
    above_threshold,
    binomial_vectors,
    discrete_gaussian_sum,
    discrete_laplace_mechanism,
    exponential_mechanism,
    finite_mechanism,
    gaussian_mechanism,
    integer_noise,
    laplace_mechanism,
    permute_and_flip,
    poisson_subsampled_gaussian,
    polya_noise,
    randomised_response,
    report_noisy_max,
    vector_noise,
)
from dpaudit.certify.parameters import BoundedSum, LossGrid, exact_text, with_grid
from dpaudit.certify.proof import Proof, accepted, certify
from dpaudit.certify.shuffled_noise import shuffled_gaussian
from dpaudit.certify.sites import Site
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike

__all__ = [
    "BoundedSum",
    "LossGrid",
    "Proof",
    "above_threshold",
    "accounted",
    "billboard",
    "binomial_vectors",
    "certify",
    "compose_parallel",
    "compose_sequential",
    "discrete_gaussian_sum",
    "discrete_laplace_mechanism",
    "exponential_mechanism",
    "finite_mechanism",
    "gaussian_mechanism",
    "group_privacy",
    "integer_noise",
    "laplace_mechanism",
    "permute_and_flip",
    "poisson_subsampled_gaussian",
    "polya_noise",
    "post_processing",
    "randomised_response",
    "relaxed_release",
    "report_noisy_max",
    "shuffled",
    "shuffled_gaussian",
    "shuffled_response",
    "shuffled_table",
    "tree_mechanism",
    "vector_noise",
]


def shuffled(
    local: Proof, *, users: int, analysis: str = "clones-2021", local_epsilon: ExactLike | None = None
) -> Proof:
    """At least ``users`` outputs of local randomisers ``local``, shuffled: the clone bound of 2021.

    A randomiser without a pure bound needs ``local_epsilon`` > 0, at which its delta counts.
    """
    parameters = {"users": str(users), "analysis": analysis}
    if local_epsilon is not None:
        parameters["local"] = exact_text(local_epsilon, "local_epsilon")
    return accepted("shuffle", parameters, [local])


def shuffled_table(rows: Sequence[Sequence[ExactLike]], *, users: int, grid: LossGrid | None = None) -> Proof:
    """At least ``users`` outputs of the randomiser with the table ``rows``, shuffled: its privacy blanket.

    ``grid.step`` is the step of the blanket's values (0.01 if not given), which are of the order of
    e^epsilon.
    """
    table = [[exact_text(entry, "probability") for entry in row] for row in rows]
    parameters = {"rows": table, "users": str(users)}
    return accepted("shuffled-table", with_grid(parameters, grid or LossGrid(step="1/100")))


def shuffled_response(*, users: int, local: ExactLike) -> Proof:
    """Shuffled randomised response of one bit with ``local`` epsilon: exact delta at ``users`` users (1000
    at most).
    """
    return accepted("shuffled-response", {"users": str(users), "local": exact_text(local, "local")})


def group_privacy(event: Proof, *, events: int, declared: str) -> Proof:
    """From one event to a user with at most ``events`` of them; ``declared`` says why there are no more."""
    return accepted("group", {"events": str(events), "declared": declared}, [event])


def billboard(statistics: Proof, *, actions: str) -> Proof:
    """Joint privacy: users act on public ``statistics`` and on their own data; ``actions`` says how.

    Holds in ``View.everybody_but(user(i))``. Statistics may come from a protocol (``shuffled``, noise in
    shares): that the other users know neither their messages nor a share of the noise is then an assumption.
    """
    return accepted("billboard", {"actions": actions}, [statistics])


def compose_sequential(
    proofs: Sequence[Proof],
    *,
    times: Sequence[int] | None = None,
    grid: LossGrid | None = None,
    orders: Sequence[ExactLike] = (),
) -> Proof:
    """Mechanisms on the same data, mechanism i ``times[i]`` times (once if not given), adaptively chosen.

    With a ``grid`` delta is bounded by certified loss distributions, which is much tighter than adding
    parameters up. Without one, Renyi divergences are added up and converted to delta at ``orders`` above 1;
    shuffled mechanisms and vector noise bring orders along.
    """
    counts = [1] * len(proofs) if times is None else list(times)
    return accepted(
        "sequential", with_grid({"times": [str(count) for count in counts]}, grid, orders), proofs
    )


def compose_parallel(
    proofs: Sequence[Proof],
    *,
    by: Literal["position", "public data", "shown outcomes"] = "position",
    partition: str = "",
    moves: bool = False,
) -> Proof:
    """Each mechanism on a cell of its own. ``moves`` says that the changed record may move to another cell:
    then two are charged.

    A partition that is not by position needs the declaration in words (``partition``); it becomes an
    assumption.
    """
    parameters = {"by": by, "moves": "yes" if moves else "no"}
    if by != "position":
        parameters["partition"] = partition
    return accepted("parallel", parameters, proofs)


def tree_mechanism(
    node: Proof,
    *,
    leaves: int | None = None,
    levels: int | None = None,
    declared: str = "",
    grid: LossGrid | None = None,
    orders: Sequence[ExactLike] = (),
) -> Proof:
    """A binary tree whose every node is one release ``node``: of ``leaves`` leaves, or with ``levels``
    declared nodes per record; ``grid`` and ``orders`` as in ``compose_sequential``.
    """
    if (leaves is None) == (levels is None):
        raise InvalidParameterError("exactly one of leaves and levels must be given; pass one.")
    if leaves is not None:
        return accepted("tree", with_grid({"leaves": str(leaves)}, grid, orders), [node])
    return accepted("tree", with_grid({"levels": str(levels), "declared": declared}, grid, orders), [node])


def post_processing(proof: Proof, *, function: str) -> Proof:
    """Whatever ``function`` (in words) computes from the outcome of ``proof`` and public data."""
    return accepted("post-processing", {"function": function}, [proof])


def relaxed_release(statistic: Proof, *, security: ExactLike, release: str) -> Proof:
    """Whatever has a simulator from the outcome of ``statistic`` within factors exp(±``security``): pure
    epsilon plus twice ``security``. ``release`` says in words what that is.
    """
    return accepted(
        "relaxed", {"release": release, "security": exact_text(security, "security")}, [statistic]
    )


def accounted(
    sites: Sequence[Site],
    *,
    declared: str,
    grid: LossGrid | None = None,
    orders: Sequence[ExactLike] = (),
) -> Proof:
    """A whole program from its declared accounting: ``declared`` says in words why one record touches no
    more than the sites list. ``grid`` and ``orders`` as in ``compose_sequential``.

    All of them add up: raises ``InvalidParameterError`` for a site without a mechanism, and for one of a
    group, of which a record touches one only.
    """
    mechanisms = [site.mechanism for site in sites if site.mechanism is not None]
    if len(mechanisms) < len(sites) or any(site.group for site in sites):
        raise InvalidParameterError(
            f"accounted sites must have a mechanism and no group, got {[site.pattern for site in sites]}; "
            "name the mechanisms, or compose them yourself."
        )
    names, touches = [site.pattern for site in sites], [str(site.touches) for site in sites]
    parameters = with_grid({"declared": declared, "sites": names, "touches": touches}, grid, orders)
    return accepted("accounted", parameters, mechanisms)
