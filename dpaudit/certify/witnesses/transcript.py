"""The sites of a transcript: each with its law on both inputs and the value that came out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flint import arb

import dpaudit.distributions  # noqa: F401  # importing it registers every law that a witness may name
from dpaudit.core.errors import CertificateError
from dpaudit.core.exact import decode_value, encode_value
from dpaudit.distributions.base import Law, law_from_json
from dpaudit.core.views import Audience, View
from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.leak import audience_of

__all__ = ["AnySite", "KnownLaws", "WitnessSession", "WitnessSite", "leak_body", "transcript_body"]

LawReader = Callable[[dict[str, Any]], Law]

#: Most laws that are kept in memory while a witness is read.
MAX_KNOWN = 1000


@dataclass(frozen=True, kw_only=True)
class WitnessSite:
    """One random site of a transcript: who sees it, its law on both inputs, and the value that came out.
    ``fields`` are those of a file."""

    fields: ClassVar[frozenset[str]] = frozenset({"site", "to", "law", "law_neighbour", "value"})

    site: str
    to: Audience
    law: Law
    law_neighbour: Law
    value: Any

    def swapped(self) -> WitnessSite:
        """The same site with the roles of the two inputs exchanged."""
        return replace(self, law=self.law_neighbour, law_neighbour=self.law)

    def log_densities(self) -> tuple[arb, arb]:
        """Balls for log p(value) and log p'(value)."""
        return self.law.logp_ball(self.value), self.law_neighbour.logp_ball(self.value)

    def loss_ball(self) -> arb:
        """An enclosure of log p(value) - log p'(value)."""
        here, there = self.log_densities()
        return here - there

    def to_json(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "to": sorted(p.name for p in self.to),
            "law": self.law.to_json(),
            "law_neighbour": self.law_neighbour.to_json(),
            "value": encode_value(self.value),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], *, read: LawReader = law_from_json) -> WitnessSite:
        """The site that a file shows; ``read`` reads its laws."""
        return cls(
            site=str(data["site"]),
            to=audience_of(data["to"]),
            law=read(data["law"]),
            law_neighbour=read(data["law_neighbour"]),
            value=decode_value(data["value"]),
        )


@dataclass(frozen=True, kw_only=True)
class WitnessSession:
    """One session with an interactive channel: its kernel and queries on both inputs, and the outcomes,
    which have one joint law. ``fields`` are those of a file.
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
        """The same session with the roles of the two inputs exchanged."""
        return replace(
            self,
            kernel=self.kernel_neighbour,
            kernel_neighbour=self.kernel,
            queries=self.queries_neighbour,
            queries_neighbour=self.queries,
        )

    def log_densities(self) -> tuple[arb, arb]:
        """Balls for the joint log-density of the outcomes on both inputs."""
        outcomes = tuple(self.outcomes)
        return (
            self.kernel.log_joint_ball(tuple(self.queries), outcomes),
            self.kernel_neighbour.log_joint_ball(tuple(self.queries_neighbour), outcomes),
        )

    def loss_ball(self) -> arb:
        """An enclosure of the log-ratio of the joint densities."""
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
                f"site {session.site!r}: queries and outcomes must be equally many on both sides; "
                "re-create the witness."
            )
        return session


AnySite = WitnessSite | WitnessSession


class KnownLaws:
    """Reads laws, and those that it has read before from memory: a run of releases repeats two of them."""

    def __init__(self) -> None:
        self._known: dict[str, Law] = {}

    def __call__(self, data: dict[str, Any]) -> Law:
        text = json.dumps(data)  # tells 1, 1.0 and true apart, which are equal as values
        law = self._known.get(text)
        if law is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            law = self._known[text] = law_from_json(data)
        return law


def transcript_body(sites: Iterable[AnySite], *, view: View, inputs: tuple[Any, Any]) -> dict[str, Any]:
    """The body of a ``transcript`` witness: the recorded input and its neighbour, and the sites in order, all
    seen by ``view``."""
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
    """The body of a ``leak`` witness: the moved sites before it, then what either input shows at ``site`` to
    the audience ``to``."""
    leak = {
        "what": what,
        "recorded": encode_value(recorded),
        "neighbour": encode_value(neighbour),
        "site": site,
        "to": sorted(p.name for p in to),
    }
    return {**transcript_body(sites, view=view, inputs=inputs), "leak": leak}
