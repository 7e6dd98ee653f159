"""Building certificates: one constructor for each rule, and ``certify`` to make a certificate of a claim.

    proof = accounted([SiteClass("array sum", touches=1, mechanism=laplace_mechanism(sensitivity=1, scale="2"))], declared="...")
    certificate = proof.certify(PureDP(epsilon="0.5"))

A ``Proof`` is a rule application as a frozen value. Constructors take exact numbers (integers, ``Fraction``, ``Decimal``, strings)
and end by asking the kernel whether it accepts what they built; so does ``certify``, with the bound that it states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from dpaudit.certificates import kernel
from dpaudit.certificates.terms import Guarantee, Setting
from dpaudit.claims import Adjacency, Claim, Unit
from dpaudit.errors import InvalidParameterError
from dpaudit.evidence import Certificate
from dpaudit.exact import ExactLike, exact, exact_str

__all__ = [
    "BoundedSum",
    "LossGrid",
    "Proof",
    "SiteClass",
    "accounted",
    "certify",
    "compose_parallel",
    "compose_sequential",
    "discrete_laplace_mechanism",
    "gaussian_mechanism",
    "integer_noise",
    "laplace_mechanism",
    "post_processing",
    "report_noisy_max",
    "tree_mechanism",
]

#: Where a proof is derived before a claim is known: the setting of most claims.
_COMMON = Setting(Adjacency.REPLACE_ONE, Unit.EVENT)

#: A dyadic bound with more bits than this came from a ball; it is rounded up, so that another version of FLINT still confirms it.
_BOUND_BITS = 60


#: Above every quantity: what a certificate states while the kernel derives its bound.
_NO_BOUND = Fraction(10**1000)


@dataclass(frozen=True)
class BoundedSum:
    """The query "sum of the records, each clipped to [lower, upper]": its sensitivity is derived from the claim's adjacency."""

    lower: ExactLike
    upper: ExactLike


Sensitivity = ExactLike | BoundedSum


@dataclass(frozen=True)
class Proof:
    """A rule with its parameters and premises: a statement about a mechanism, not yet about a claim."""

    rule: str
    parameters: Mapping[str, Any]
    premises: tuple[Proof, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "parameters": dict(self.parameters),
            "premises": [premise.to_json() for premise in self.premises],
        }

    def derive(self, setting: Setting = _COMMON) -> Guarantee:
        """What the kernel derives from this proof. Raises ``CertificateError`` if it refuses it."""
        return kernel.derive(self.to_json(), setting)

    def certify(self, claim: Claim) -> Certificate:
        """The certificate of this proof for ``claim``; see ``certify``."""
        return certify(claim, self)


@dataclass(frozen=True, kw_only=True)
class SiteClass:
    """Releases of one kind in a program: how many of them one record can touch, and the mechanism of each."""

    site: str
    touches: int
    mechanism: Proof


def certify(claim: Claim, proof: Proof) -> Certificate:
    """Make a certificate of ``claim`` from ``proof``, with the best bound that the kernel derives.

    The bound may be above the claimed one: a certificate says what is so, the verdict says whether it suffices. Raises
    ``CertificateError`` if the proof says nothing about the claim's quantity, or does not hold in its setting.
    """
    unbounded = Certificate(
        quantity=claim.quantity,
        bound=_NO_BOUND,
        tree={"rule": kernel.ROOT, "parameters": kernel.context_of(claim), "premises": [proof.to_json()]},
        assumptions=proof.derive(Setting.of(claim)).assumptions,
    )
    return replace(unbounded, bound=_round_up(kernel.check(unbounded, claim)))


def _round_up(bound: Fraction) -> Fraction:
    power = bound.denominator.bit_length() - 1
    surplus = bound.numerator.bit_length() - _BOUND_BITS
    if bound.denominator != 1 << power or surplus <= 0 or power < surplus:
        return bound
    return Fraction(-(-bound.numerator >> surplus), 1 << (power - surplus))


def _accepted(rule: str, parameters: Mapping[str, Any], premises: Sequence[Proof] = ()) -> Proof:
    proof = Proof(rule, parameters, tuple(premises))
    proof.derive()
    return proof


def _sensitivity(value: Sensitivity, name: str = "sensitivity") -> Any:
    if isinstance(value, BoundedSum):
        ends = {
            "lower": exact_str(exact(value.lower, name="lower")),
            "upper": exact_str(exact(value.upper, name="upper")),
        }
        return {"query": "sum", **ends}
    return exact_str(exact(value, name=name))


@dataclass(frozen=True, kw_only=True)
class LossGrid:
    """How a composition by loss laws is computed: ``step`` of losses, masses in units of 2^-``bits``, cut-off 2^-``tail``."""

    step: ExactLike = "1/1000"
    bits: int = 128
    tail: int = 70

    def to_json(self) -> dict[str, str]:
        return {
            "step": exact_str(exact(self.step, name="step")),
            "bits": str(self.bits),
            "tail": str(self.tail),
        }


def _with_grid(parameters: dict[str, Any], grid: LossGrid | None) -> dict[str, Any]:
    return parameters if grid is None else {**parameters, "grid": grid.to_json()}


def laplace_mechanism(*, sensitivity: Sensitivity, scale: ExactLike, dimension: int | None = None) -> Proof:
    """Laplace noise of ``scale`` b on a query of l1 ``sensitivity`` D: pure epsilon D/b.

    With ``dimension=1`` (a sum has it) the certificate also knows the exact delta below D/b.
    """
    if isinstance(sensitivity, BoundedSum):
        dimension = 1
    parameters = {"sensitivity": _sensitivity(sensitivity), "scale": exact_str(exact(scale, name="scale"))}
    return _accepted(
        "laplace", parameters if dimension is None else {**parameters, "dimension": str(dimension)}
    )


def discrete_laplace_mechanism(*, sensitivity: Sensitivity, scale: ExactLike) -> Proof:
    """Discrete Laplace noise, P(k) ~ exp(-|k|/scale), on an integer query of l1 ``sensitivity`` D: pure epsilon D/scale."""
    return _accepted(
        "discrete-laplace",
        {"sensitivity": _sensitivity(sensitivity), "scale": exact_str(exact(scale, name="scale"))},
    )


def gaussian_mechanism(
    *,
    sensitivity: Sensitivity | None = None,
    sensitivity_squared: ExactLike | None = None,
    scale: ExactLike | None = None,
    variance: ExactLike | None = None,
) -> Proof:
    """Gaussian noise of ``scale`` (standard deviation) or ``variance`` on a query of l2 ``sensitivity`` (or its square): mu-GDP."""
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
        parameters["sensitivity"] = _sensitivity(sensitivity)
    else:
        parameters["sensitivity_squared"] = exact_str(
            exact(sensitivity_squared or 0, name="sensitivity_squared")
        )
    return _accepted("gaussian", parameters)


def report_noisy_max(
    *,
    sensitivity: Sensitivity,
    scale: ExactLike,
    range: Literal["one_coordinate", "monotone", "general"],
    noise: Literal["laplace", "gumbel", "exponential"] = "laplace",
) -> Proof:
    """The index of the largest score after noise of ``scale`` b, each score moving by at most ``sensitivity`` D.

    Pure epsilon D/b if only one score moves or all move the same way, 2D/b in general.
    """
    return _accepted(
        "noisy-max",
        {
            "noise": noise,
            "range": range,
            "sensitivity": _sensitivity(sensitivity),
            "scale": exact_str(exact(scale, name="scale")),
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
    """Log-concave integer noise on an integer query: exact delta at every epsilon, over all shifts up to ``sensitivity``.

    ``skellam`` takes its ``variance``; ``discrete-gaussian-sum`` the ``variance`` parameter of each of ``count`` parties;
    ``binomial`` its ``trials`` and ``probability``.
    """
    parameters: dict[str, Any] = {"family": family, "sensitivity": _sensitivity(sensitivity)}
    if family == "binomial":
        parameters |= {
            "trials": str(trials),
            "probability": exact_str(exact(probability or 0, name="probability")),
        }
    else:
        parameters["variance"] = exact_str(exact(variance or 0, name="variance"))
    if family == "discrete-gaussian-sum":
        parameters["count"] = str(count)
    return _accepted("integer-noise", parameters)


def compose_sequential(
    proofs: Sequence[Proof], *, times: Sequence[int] | None = None, grid: LossGrid | None = None
) -> Proof:
    """All the mechanisms on the same data, mechanism i ``times[i]`` times (once if not given); adaptively chosen.

    With a ``grid`` delta is bounded by certified loss distributions, which is much tighter than adding parameters up.
    """
    counts = [1] * len(proofs) if times is None else list(times)
    return _accepted("sequential", _with_grid({"times": [str(count) for count in counts]}, grid), proofs)


def compose_parallel(
    proofs: Sequence[Proof],
    *,
    by: Literal["position", "public data", "shown outcomes"] = "position",
    partition: str = "",
    moves: bool = False,
) -> Proof:
    """Each mechanism on a cell of its own. ``moves`` says that the changed record may move to another cell: then two are charged.

    A partition that is not by position needs the declaration in words (``partition``); it becomes an assumption.
    """
    parameters = {"by": by, "moves": "yes" if moves else "no"}
    if by != "position":
        parameters["partition"] = partition
    return _accepted("parallel", parameters, proofs)


def tree_mechanism(
    node: Proof,
    *,
    leaves: int | None = None,
    levels: int | None = None,
    declared: str = "",
    grid: LossGrid | None = None,
) -> Proof:
    """A binary tree whose every node is one release ``node``: of ``leaves`` leaves, or with ``levels`` declared nodes per record."""
    if (leaves is None) == (levels is None):
        raise InvalidParameterError("exactly one of leaves and levels must be given; pass one.")
    if leaves is not None:
        return _accepted("tree", _with_grid({"leaves": str(leaves)}, grid), [node])
    return _accepted("tree", _with_grid({"levels": str(levels), "declared": declared}, grid), [node])


def post_processing(proof: Proof, *, function: str) -> Proof:
    """Whatever ``function`` (in words) computes from the outcome of ``proof`` and public data."""
    return _accepted("post-processing", {"function": function}, [proof])


def accounted(classes: Sequence[SiteClass], *, declared: str, grid: LossGrid | None = None) -> Proof:
    """A whole program from its declared accounting: ``declared`` says in words why one record touches no more than the classes list."""
    sites, touches = [c.site for c in classes], [str(c.touches) for c in classes]
    parameters = _with_grid({"declared": declared, "sites": sites, "touches": touches}, grid)
    return _accepted("accounted", parameters, [c.mechanism for c in classes])
