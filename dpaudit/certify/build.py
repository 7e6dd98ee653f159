"""Build certificates: one constructor for each rule of the kernel, and ``certify`` for a certificate of a
claim.

    sites = [Site("array sum", mechanism=laplace_mechanism(sensitivity=1, scale="2"))]
    proof = accounted(sites, declared="each record enters one array")
    certificate = proof.certify(PureDP(epsilon="0.5"))

A ``Proof`` is a rule application as a frozen value. Constructors take exact numbers (integers, ``Fraction``,
``Decimal``, strings) and let the kernel check the proof that they built. ``certify`` lets the kernel check
the bound that it states. Constructors of single mechanisms are defined in ``mechanisms`` and exported here.
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
    """Bound the privacy of shuffled local randomisers by the clone bound of 2021.

    Parameters
    ----------
    local : Proof
        The guarantee of one local randomiser.
    users : int
        Least number of shuffled outputs.
    analysis : str
        The name of the analysis ("clones-2021").
    local_epsilon : exact number, optional
        Required for a randomiser without a pure bound: the epsilon > 0 at which its delta counts.

    Raises
    ------
    CertificateError
        The kernel does not accept the parameters.
    """
    parameters = {"users": str(users), "analysis": analysis}
    if local_epsilon is not None:
        parameters["local"] = exact_text(local_epsilon, "local_epsilon")
    return accepted("shuffle", parameters, [local])


def shuffled_table(rows: Sequence[Sequence[ExactLike]], *, users: int, grid: LossGrid | None = None) -> Proof:
    """Bound the privacy of shuffled local randomisers with a known table by their privacy blanket.

    Parameters
    ----------
    rows : sequence of sequences of exact numbers, shape (inputs, outputs)
        ``rows[i][y]`` is the probability of output y on input i.
    users : int
        Least number of shuffled outputs.
    grid : LossGrid, optional
        ``grid.step`` is the step of the blanket's values, which are of the order of e^epsilon (default:
        0.01).

    Raises
    ------
    CertificateError
        The kernel does not accept the parameters.
    """
    table = [[exact_text(entry, "probability") for entry in row] for row in rows]
    parameters = {"rows": table, "users": str(users)}
    return accepted("shuffled-table", with_grid(parameters, grid or LossGrid(step="1/100")))


def shuffled_response(*, users: int, local: ExactLike) -> Proof:
    """Return the exact delta of shuffled randomised response of one bit.

    ``local`` is the epsilon of one user's response. ``users`` is at most 1000.
    """
    return accepted("shuffled-response", {"users": str(users), "local": exact_text(local, "local")})


def group_privacy(event: Proof, *, events: int, declared: str) -> Proof:
    """Extend a guarantee for one event to a user with at most ``events`` events.

    ``declared`` says why a user has no more events. It becomes an assumption of the certificate.
    """
    return accepted("group", {"events": str(events), "declared": declared}, [event])


def billboard(statistics: Proof, *, actions: str) -> Proof:
    """Prove joint privacy of users who act on public statistics and on their own data (the billboard lemma).

    The guarantee holds in the view ``View.everybody_but(user(i))``.

    Parameters
    ----------
    statistics : Proof
        The guarantee of the public statistics. If they come from a protocol (``shuffled``, or noise in
        shares), the certificate assumes that the other users know neither their own messages nor a share of
        the noise.
    actions : str
        How a user's action depends on the statistics and on the user's data.
    """
    return accepted("billboard", {"actions": actions}, [statistics])


def compose_sequential(
    proofs: Sequence[Proof],
    *,
    times: Sequence[int] | None = None,
    grid: LossGrid | None = None,
    orders: Sequence[ExactLike] = (),
) -> Proof:
    """Compose mechanisms on the same data, chosen adaptively.

    Parameters
    ----------
    proofs : sequence of Proof
        The mechanisms.
    times : sequence of int, optional
        How often each mechanism runs (default: once).
    grid : LossGrid, optional
        Bound delta by certified loss distributions on this grid, which is much tighter than adding
        parameters.
    orders : sequence of exact numbers
        Without a grid, Renyi divergences are added and converted to delta at these orders above 1. Shuffled
        mechanisms and vector noise bring their own orders.
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
    """Compose mechanisms that run on disjoint cells of the data.

    Parameters
    ----------
    proofs : sequence of Proof
        One mechanism for each cell.
    by : {"position", "public data", "shown outcomes"}
        What decides the cell of a record.
    partition : str
        A description of the partition, required unless ``by`` is "position". It becomes an assumption.
    moves : bool
        Whether the changed record may move to another cell. If so, two mechanisms are charged.
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
    """Bound a binary tree in which every node is one release ``node``.

    Give either ``leaves``, the number of leaves, or ``levels``, the number of nodes per record, with the
    reason in ``declared``. ``grid`` and ``orders`` are as in ``compose_sequential``. Raise
    ``InvalidParameterError`` unless exactly one of ``leaves`` and ``levels`` is given.
    """
    if (leaves is None) == (levels is None):
        raise InvalidParameterError("pass exactly one of leaves and levels.", code="E-TREE-SIZE")
    if leaves is not None:
        return accepted("tree", with_grid({"leaves": str(leaves)}, grid, orders), [node])
    return accepted("tree", with_grid({"levels": str(levels), "declared": declared}, grid, orders), [node])


def post_processing(proof: Proof, *, function: str) -> Proof:
    """Keep the guarantee of ``proof`` for anything computed from its outcome and public data.

    ``function`` describes the computation.
    """
    return accepted("post-processing", {"function": function}, [proof])


def relaxed_release(statistic: Proof, *, security: ExactLike, release: str) -> Proof:
    """Bound a release that can be simulated from the outcome of ``statistic`` within factors
    exp(±``security``).

    Its pure epsilon is that of ``statistic`` plus twice ``security``. ``release`` describes the release.
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
    """Bound a whole program by the sum of its declared sites.

    Parameters
    ----------
    sites : sequence of Site
        The releases that one record can affect. Each must have a mechanism and no group, because all costs
        are added and a record affects only one site of a group.
    declared : str
        Why one record affects no other release.
    grid, orders : LossGrid, sequence of exact numbers
        As in ``compose_sequential``.

    Raises
    ------
    InvalidParameterError
        A site has no mechanism, or has a group.
    """
    mechanisms = [site.mechanism for site in sites if site.mechanism is not None]
    if len(mechanisms) < len(sites) or any(site.group for site in sites):
        raise InvalidParameterError(
            f"accounted sites must have a mechanism and no group, got {[site.pattern for site in sites]}.",
            code="E-SITE-NOT-ACCOUNTED",
        )
    names, touches = [site.pattern for site in sites], [str(site.touches) for site in sites]
    parameters = with_grid({"declared": declared, "sites": names, "touches": touches}, grid, orders)
    return accepted("accounted", parameters, mechanisms)
