"""Witnesses against Renyi and concentrated DP: integer noise compared with its shift by one query's change.

Form ``divergence``: a noise distribution of the rule ``integer-noise`` (``family`` with its parameters), a
``shift`` D, an ``order`` a > 1, and a ``modulus`` m if only the residue is visible. With p the distribution
of the visible value and any finite set of outcomes,

    R_a(p || p_D) >= log(sum over the set of p(x)^a p_D(x)^(1-a)) / (a - 1),

because all terms are positive. For an RDP claim, a is the claim's order. A rho-zCDP mechanism has R_a <= rho
a at every order, so R_a / a bounds rho from below for every a. Modulo m, p(y) is the sum of the masses of the
integers y + km. Those in a window bound it from below. To bound p_D from above, the mass outside the window
is added.

The body cannot show that the query can change by D. That follows from the claim's domain, which is stated as
text. The body cannot show either that the noise and the modulus are the program's. Running the program again
does (``dpaudit verify --suite``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from flint import arb

from dpaudit.certify.build import integer_noise
from dpaudit.core.claims import Claim, RenyiDP, ZeroConcentratedDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import ExactLike, exact, exact_str
from dpaudit.kernel.ball import ball, lower_short, precision
from dpaudit.kernel.kernel_t0 import Parameters
from dpaudit.kernel.t1.integer_noise import MAX_SHIFT, read_family
from dpaudit.kernel.t1.lattice import LogConcave, Reflected, bulk, tail_below
from dpaudit.kernel.t2.families import FAMILIES

__all__ = ["divergence_bound", "divergence_witness"]

#: Working precision of the sum, and the mass 2^-TAIL that the window of outcomes leaves out on either side.
BITS, TAIL = 256, 200
#: Orders and windows of an untrusted file stay within these.
MAX_ORDER, MAX_WINDOW = 10_000, 200_000


def divergence_witness(
    claim: RenyiDP | ZeroConcentratedDP,
    family: Literal["skellam", "discrete-gaussian-sum", "binomial"],
    *,
    shift: int,
    description: str,
    order: ExactLike | None = None,
    modulus: int | None = None,
    **noise: Any,
) -> Witness:
    """Make a witness that ``family`` noise and its shift by ``shift`` have a larger divergence than ``claim``
    allows.

    If the claim is not exceeded, the witness has the largest bound found. Raise ``CertificateError`` for
    parameters outside their domain.

    Parameters
    ----------
    claim : RenyiDP or ZeroConcentratedDP
        The claim.
    family, shift : str, int
        The noise distribution and its shift.
    description : str
        A description of the pair and the event.
    order : exact number, optional
        The Renyi order, required for a zCDP claim and omitted for an RDP claim.
    modulus : int, optional
        The modulus m, if the view is the sum modulo m.
    **noise
        The family's parameters, as in ``integer_noise``.
    """
    stated = exact(claim.order) if isinstance(claim, RenyiDP) else exact(order or 0, name="order")
    parameters = dict(integer_noise(family, sensitivity=shift, **noise).parameters)
    del parameters["sensitivity"]
    body = {
        "view": claim.view.to_json(),
        **parameters,
        "shift": str(shift),
        "order": exact_str(stated),
    }
    if modulus is not None:
        body["modulus"] = str(modulus)
    return Witness(
        quantity=claim.quantity,
        bound=divergence_bound(body, claim),
        form="divergence",
        body=body,
        origin="enumerated",
        description=description,
    )


def divergence_bound(body: dict[str, Any], claim: Claim) -> Fraction:
    """Return the lower bound on the claim's quantity that the body gives.

    Raise ``CertificateError`` for a malformed body, another order than the claim's, a claim of another
    notion, or a sum that is not certainly positive.
    """
    if not isinstance(claim, RenyiDP | ZeroConcentratedDP):
        raise CertificateError(
            f"a divergence supports only RDP and zCDP claims, got {claim.type!r}. Use a witness of the form "
            "'mixture' instead."
        )
    values = {name: value for name, value in body.items() if name != "view"}
    parameters = Parameters(values, rule="witness (divergence)")
    distribution = read_family(parameters, FAMILIES).read(parameters)
    shift = parameters.integer("shift", low=1, high=MAX_SHIFT)
    order = parameters.number("order")
    modulus = parameters.integer("modulus", low=2, high=MAX_WINDOW) if "modulus" in values else None
    parameters.finish()
    inside = 1 < order <= MAX_ORDER
    parameters.need(inside, f"order must be above 1 and at most {MAX_ORDER}, got {order}.")
    own = not isinstance(claim, RenyiDP) or order == exact(claim.order)
    parameters.need(own, f"order must be the claim's, got {order}.")
    with precision(BITS):
        pairs = (
            _pairs(distribution, shift, order)
            if modulus is None
            else _residues(distribution, shift, order, modulus)
        )
        divergence = _divergence(pairs, order)
        parameters.need(
            divergence.is_finite(),
            "some outcome must be possible before and after the shift, and the order not too near to 1, "
            f"got a divergence of {divergence}.",
        )
        found = lower_short(divergence)
    return found if isinstance(claim, RenyiDP) else found / order


def _divergence(pairs: list[tuple[arb, arb]], order: Fraction) -> arb:
    """Return log(sum of p^a q^(1-a)) / (a - 1) over the outcomes whose masses are both certainly positive."""
    a, total = ball(order), arb(0)
    for p, q in pairs:
        if p > 0 and q > 0:
            total += (a * p.log() + (1 - a) * q.log()).exp()
    return total.log() / (a - 1)


def _pairs(distribution: LogConcave, shift: int, order: Fraction) -> list[tuple[arb, arb]]:
    """Return masses (p(x), p(x - D)).

    The summand peaks near -(a - 1) D, as for a Gaussian. The window reaches there if the masses do.
    """
    low, high, _, _ = bulk(distribution, TAIL)
    low -= _reach(low, high, shift, order)
    if distribution.first is not None:
        low = max(low, distribution.first)
    _check_window(high - low + shift)
    masses = distribution.masses(low - shift, high)
    return list(zip(masses[shift:], masses, strict=False))


def _reach(low: int, high: int, shift: int, order: Fraction) -> int:
    """Return how far beyond the bulk of p the summand still matters, within reason."""
    return min(int((order - 1) * shift), 2 * (high - low)) + shift


def _residues(distribution: LogConcave, shift: int, order: Fraction, modulus: int) -> list[tuple[arb, arb]]:
    """Return masses (P(y), P(y - D)) of the residues y.

    The mass outside the window is added to the second one, which must be an upper bound.
    """
    low, high, below, above = _wide(distribution, shift, order)
    _check_window(high - low + 1)
    wrapped = [arb(0)] * modulus
    for offset, mass in enumerate(distribution.masses(low, high)):
        wrapped[(low + offset) % modulus] += mass
    outside = arb((below + above).upper())
    return [(wrapped[y], wrapped[(y - shift) % modulus] + outside) for y in range(modulus)]


def _wide(distribution: LogConcave, shift: int, order: Fraction) -> tuple[int, int, arb, arb]:
    """Return a window that reaches as far as the summand matters, and bounds on the mass outside of it.

    The window extends to both sides, because the mass outside is added to every P(y - D). If such small
    masses are not known, return the bulk alone.
    """
    low, high, below, above = bulk(distribution, TAIL)
    reach = _reach(low, high, shift, order)
    first = low - reach if distribution.first is None else max(low - reach, distribution.first)
    last = high + reach if distribution.last is None else min(high + reach, distribution.last)
    under, over = tail_below(distribution, first), tail_below(Reflected(distribution), -last)
    if under is None or over is None or last - first + 1 > MAX_WINDOW:
        return low, high, below, above
    return first, last, under, over


def _check_window(terms: int) -> None:
    if terms > MAX_WINDOW:
        raise CertificateError(
            f"a divergence must have at most {MAX_WINDOW} terms, got {terms}; use a smaller shift or "
            "variance."
        )
