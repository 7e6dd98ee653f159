"""The sites of a transcript, each with its distribution on both inputs and its value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flint import arb

import dpaudit.distributions  # noqa: F401  # importing it registers every distribution that a witness may name
from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.leak import audience_of
from dpaudit.core.errors import CertificateError
from dpaudit.core.exact import decode_value, encode_value
from dpaudit.core.views import Audience, View
from dpaudit.distributions.base import Distribution, distribution_from_json

__all__ = ["AnySite", "KnownDistributions", "WitnessSession", "WitnessSite", "leak_body", "transcript_body"]

DistributionReader = Callable[[dict[str, Any]], Distribution]

#: Largest number of distributions in memory while a witness is read.
MAX_KNOWN = 1000


@dataclass(frozen=True, kw_only=True)
class WitnessSite:
    """One random site of a transcript: its audience, its distribution on both inputs, and its value.

    ``fields`` are the fields in a file.
    """

    fields: ClassVar[frozenset[str]] = frozenset({"site", "to", "law", "law_neighbour", "value"})

    site: str
    to: Audience
    distribution: Distribution
    distribution_neighbour: Distribution
    value: Any

    def swapped(self) -> WitnessSite:
        """Return the same site with the roles of the two inputs exchanged."""
        return replace(
            self, distribution=self.distribution_neighbour, distribution_neighbour=self.distribution
        )

    def log_densities(self) -> tuple[arb, arb]:
        """Return balls for log p(value) and log p'(value)."""
        return self.distribution.logp_ball(self.value), self.distribution_neighbour.logp_ball(self.value)

    def loss_ball(self) -> arb:
        """Return an enclosure of log p(value) - log p'(value)."""
        here, there = self.log_densities()
        return here - there

    def to_json(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "to": sorted(p.name for p in self.to),
            "law": self.distribution.to_json(),
            "law_neighbour": self.distribution_neighbour.to_json(),
            "value": encode_value(self.value),
        }

    @classmethod
    def from_json(
        cls, data: dict[str, Any], *, read: DistributionReader = distribution_from_json
    ) -> WitnessSite:
        """Return the site in a file. ``read`` reads its distributions."""
        return cls(
            site=str(data["site"]),
            to=audience_of(data["to"]),
            distribution=read(data["law"]),
            distribution_neighbour=read(data["law_neighbour"]),
            value=decode_value(data["value"]),
        )


@dataclass(frozen=True, kw_only=True)
class WitnessSession:
    """One session with an interactive channel: its kernel and queries on both inputs, and the outcomes.

    The outcomes have one joint distribution. ``fields`` are the fields in a file.
    """

    fields: ClassVar[frozenset[str]] = frozenset(
        {"site", "to", "kernel", "kernel_neighbour", "queries", "queries_neighbour", "outcomes"}
    )

    site: str
    to: Audience
    kernel: Any
    kernel_neighbour: Any
    queries: Sequence[Any]
    queries_neighbour: Sequence[Any]
    outcomes: Sequence[Any]

    def swapped(self) -> WitnessSession:
        """Return the same session with the roles of the two inputs exchanged."""
        return replace(
            self,
            kernel=self.kernel_neighbour,
            kernel_neighbour=self.kernel,
            queries=self.queries_neighbour,
            queries_neighbour=self.queries,
        )

    def log_densities(self) -> tuple[arb, arb]:
        """Return balls for the joint log-density of the outcomes on both inputs."""
        outcomes = tuple(self.outcomes)
        return (
            self.kernel.log_joint_ball(tuple(self.queries), outcomes),
            self.kernel_neighbour.log_joint_ball(tuple(self.queries_neighbour), outcomes),
        )

    def loss_ball(self) -> arb:
        """Return an enclosure of the log-ratio of the joint densities."""
        here, there = self.log_densities()
        return here - there

    def to_json(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "to": sorted(p.name for p in self.to),
            "kernel": self.kernel.to_json(),
            "kernel_neighbour": self.kernel_neighbour.to_json(),
            "queries": [encode_value(q) for q in self.queries],
            "queries_neighbour": [encode_value(q) for q in self.queries_neighbour],
            "outcomes": [encode_value(o) for o in self.outcomes],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> WitnessSession:
        from dpaudit.distributions.channels import kernel_from_json  # only transcripts with channels need it

        session = cls(
            site=str(data["site"]),
            to=audience_of(data["to"]),
            kernel=kernel_from_json(data["kernel"]),
            kernel_neighbour=kernel_from_json(data["kernel_neighbour"]),
            queries=[decode_value(q) for q in data["queries"]],
            queries_neighbour=[decode_value(q) for q in data["queries_neighbour"]],
            outcomes=[decode_value(o) for o in data["outcomes"]],
        )
        if not len(session.queries) == len(session.queries_neighbour) == len(session.outcomes):
            raise CertificateError(
                f"site {session.site!r}: queries and outcomes must be equally many on both sides."
            )
        return session


AnySite = WitnessSite | WitnessSession


class KnownDistributions:
    """A reader of distributions with a cache, because a run of releases repeats the same two
    distributions.
    """

    def __init__(self) -> None:
        self._known: dict[str, Distribution] = {}

    def __call__(self, data: dict[str, Any]) -> Distribution:
        text = json.dumps(data)  # distinguishes 1, 1.0 and true, which are equal as values
        distribution = self._known.get(text)
        if distribution is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            distribution = self._known[text] = distribution_from_json(data)
        return distribution


def transcript_body(sites: Iterable[AnySite], *, view: View, inputs: tuple[Any, Any]) -> dict[str, Any]:
    """Return the body of a ``transcript`` witness: both inputs, and the sites in order, all seen by
    ``view``.
    """
    return {
        "view": view.to_json(),
        "inputs": written_inputs(*inputs),
        "sites": [site.to_json() for site in sites],
    }


def leak_body(
    sites: Iterable[AnySite],
    *,
    what: str,
    recorded: Any,
    neighbour: Any,
    view: View,
    site: str,
    to: Audience,
    inputs: tuple[Any, Any],
) -> dict[str, Any]:
    """Return the body of a ``leak`` witness: the differing sites before it, then the value on either input.

    The values are shown at ``site`` to the audience ``to``.
    """
    leak = {
        "what": what,
        "recorded": encode_value(recorded),
        "neighbour": encode_value(neighbour),
        "site": site,
        "to": sorted(p.name for p in to),
    }
    return {**transcript_body(sites, view=view, inputs=inputs), "leak": leak}
