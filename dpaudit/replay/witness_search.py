"""Turn a replay into a witness: the exact loss in balls, its sites, and the direction that refutes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.certify.witnesses.inputs import same_written
from dpaudit.certify.witnesses.leak import prefix_mass
from dpaudit.certify.witnesses.transcript import WitnessSession, WitnessSite, leak_body, transcript_body
from dpaudit.coins.replayer import Leak, Replay, SessionPair, SiteLoss
from dpaudit.coins.transcript import to_the_last_bit
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import encode_value
from dpaudit.core.views import PUBLIC, Audience, View
from dpaudit.distributions.base import BaseMeasure
from dpaudit.kernel.ball import arb, lower_short, precision

__all__ = ["certain_leak", "inside_supports", "leak_witness", "loss_witness", "witness_sites"]

#: Bits for losses. Offsets are dyadic and scales short rationals, so the enclosure is far below any margin.
BITS = 256

#: How a witness file writes a leak's kind. A distribution in the place of a value shows another value, and a
#: crash shows nothing.
_WITNESS_FORMS = {"kind": "value", "raised": "missing"}


def loss_witness(result: Replay, *, end: int, view: View, description: str) -> Witness:
    """Return the witness that the replay's sites before ``end`` give in ``view``.

    Adjacency is symmetric and both inputs give the transcript positive density. If log p' - log p is the
    positive difference, the roles are swapped.
    """
    sites = witness_sites(result, end=end, view=view)
    with precision(BITS):
        total = arb(0)
        for item in sites:
            total += item.loss_ball()
        swap = bool(total < 0)
        loss = -total if swap else total
        # An outcome that is impossible on one side has an infinite loss, written as None.
        bound = max(lower_short(loss), Fraction(0)) if loss.is_finite() else None
    chosen = [item.swapped() for item in sites] if swap else sites
    inputs = (result.data, result.recording.data) if swap else (result.recording.data, result.data)
    return Witness(
        quantity="epsilon",
        bound=bound,
        form="transcript",
        body=transcript_body(chosen, view=view, inputs=inputs),
        origin="forced" if result.recording.forced else "sampled",
        description=f"{description}{' (read in the other direction)' if swap else ''}",
    )


def leak_witness(result: Replay, leak: Leak, *, view: View, description: str) -> Witness:
    """Return a leak as an infinite loss: the sites before it, and the outputs of the two inputs.

    If an outcome before it is impossible on the neighbour, the transcript up to there is the witness, because
    a leak must follow a prefix that both inputs can give.
    """
    impossible = _end_of_possible(result, end=leak.index, view=view)
    if impossible is not None:
        return loss_witness(result, end=impossible, view=view, description=description)
    sites = witness_sites(result, end=leak.index, view=view)
    recorded, neighbour = leak.recorded, leak.neighbour
    if leak.what == "value" and same_written(encode_value(recorded), encode_value(neighbour)):
        # The difference (a type, a payload of NaN, the order of keys) cannot be written in the file, so
        # describe it.
        recorded, neighbour = to_the_last_bit(recorded), to_the_last_bit(neighbour)
    return Witness(
        quantity="epsilon",
        bound=None,
        form="leak",
        body=leak_body(
            sites,
            what=_WITNESS_FORMS.get(leak.what, leak.what),
            recorded=recorded,
            neighbour=neighbour,
            view=view,
            site=leak.site,
            to=_audience(result, leak, view),
            inputs=(result.recording.data, result.data),
        ),
        origin="forced" if result.recording.forced else "sampled",
        description=f"{description}; leak: {leak}",
    )


def certain_leak(result: Replay, leak: Leak, *, view: View, description: str) -> Witness | None:
    """Return a leak as an event of known probability, for an (epsilon, delta) claim.

    All random sites before it are listed, affected or not. Return ``None`` if one of them has a density, or
    has an outcome that is impossible on the neighbour.
    """
    before = [site for site in result.recording.sites[: leak.index] if site.random]
    if any(not view.sees(site.to) for site in before):
        return None  # with other hidden outcomes the neighbour may have the same output
    if any(site.distribution is None and site.kind != "channel" for site in before):
        return None
    if any(
        site.distribution is not None and site.distribution.base_measure is BaseMeasure.LEBESGUE
        for site in before
    ):
        return None
    if _end_of_possible(result, end=leak.index, view=view) is not None:
        return None
    sites = witness_sites(result, end=leak.index, view=view, unmoved=True)
    try:
        with precision(BITS):
            mass = prefix_mass(sites)
    except CertificateError:
        return None
    found = leak_witness(result, leak, view=view, description=description)
    body = {**found.body, "sites": [site.to_json() for site in sites]}
    return replace(found, quantity="delta", bound=mass, body=body)


def _end_of_possible(result: Replay, *, end: int, view: View) -> int | None:
    """Return the position after the first outcome before ``end`` that is impossible on the neighbour.

    Return ``None`` if there is none.
    """
    if _is_possible(result, end=end, view=view):
        return None
    places = [item.index for item in result.losses] + [i for item in result.sessions for i in item.indices]
    ends = (place + 1 for place in sorted(places) if place < end)
    return next((here for here in ends if not _is_possible(result, end=here, view=view)), None)


def _is_possible(result: Replay, *, end: int, view: View) -> bool:
    with precision(BITS):
        sites = witness_sites(result, end=end, view=view)
        return all(density.is_finite() for site in sites for density in site.log_densities())


def _audience(result: Replay, leak: Leak, view: View) -> Audience:
    """Return who sees the leak: the audience of its site.

    If one side shows nothing, these are the principals who see what the other side shows, or the public if
    that is more than was recorded.
    """
    remaining = [item.to for item in result.recording.sites[leak.index :]]
    if leak.what in ("value", "kind", "shape"):
        return remaining[0]
    return next((to for to in remaining if view.sees(to)), frozenset([PUBLIC]))


def inside_supports(result: Replay, *, end: int, view: View) -> bool:
    """Return whether no forced value of a density before ``end`` lies at an end of its support.

    Near such an end the loss changes abruptly, so such a transcript is not a witness.
    """
    if not result.recording.forced:
        return True
    for item in result.losses:
        distribution = item.record.distribution
        if not item.moved or item.index >= end or not view.sees(item.record.to) or distribution is None:
            continue
        if distribution.base_measure is not BaseMeasure.LEBESGUE:
            continue
        value = np.asarray(item.record.value, dtype=float)
        step = 2.0**-29 * np.maximum(1.0, np.abs(value))
        sides = [
            [one.logp(value + d * step) for d in (-1, 1)]
            for one in (distribution, item.distribution_neighbour)
        ]
        here, there = ([bool(np.isfinite(logp).all()) for logp in side] for side in sides)
        if not all(here) or len(set(there)) != 1:
            return False
    return True


def witness_sites(result: Replay, *, end: int, view: View, unmoved: bool = False) -> list[Any]:
    """Return the affected random sites (or all) before ``end`` that ``view`` sees, and the channels.

    Channels come with their joint distributions.
    """
    sites: list[Any] = [
        _site(item)
        for item in result.losses
        if (item.moved or unmoved) and item.index < end and view.sees(item.record.to)
    ]
    for session in result.sessions:
        count = sum(index < end for index in session.indices)
        if count and (session.moved or unmoved) and view.sees(result.recording.sites[session.indices[0]].to):
            sites.append(_session(result, session, count))
    return sites


def _site(item: SiteLoss) -> WitnessSite:
    # only sites with a distribution on both sides are among the losses
    assert item.record.distribution is not None
    return WitnessSite(
        site=item.record.site,
        to=item.record.to,
        distribution=item.record.distribution,
        distribution_neighbour=item.distribution_neighbour,
        value=item.record.value,
    )


def _session(result: Replay, session: SessionPair, count: int) -> WitnessSession:
    first = result.recording.sites[session.indices[0]]
    return WitnessSession(
        site=first.site,
        to=first.to,
        kernel=session.kernel,
        kernel_neighbour=session.kernel_neighbour,
        queries=session.queries[:count],
        queries_neighbour=session.queries_neighbour[:count],
        outcomes=session.outcomes[:count],
    )
