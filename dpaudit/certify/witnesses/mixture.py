"""Mixture witnesses: the probability of an output, with hidden draws summed out by listed branches.

An *event* is a sequence of shown values. A *tree* describes how one input can produce it:

* ``Draw(site, distribution, branches)``: a hidden draw with atoms. Each branch is a value and the tree that
  follows.
* ``See(site, to, distribution, then)``: the next value of the event is shown, drawn from ``distribution``.
* ``End(reached)``: the program ends here and has shown exactly the event (``True``), or it shows something
  else (``False``).

Write p(tree) for the density of the event. ``See`` multiplies by the distribution's density at the event's
value, ``Draw`` sums over its branches weighted with their probabilities, ``End`` is 1 or 0. Two bounds
follow. Leaving branches out can only lower p, so the listed ones give a lower bound. Adding for each ``Draw``
the mass that no branch lists, times the largest value that the rest of the event could take, gives an upper
bound. For shown values with probabilities that largest value is 1. For densities there is no such bound, and
an incomplete tree is refused. ∎ (Branches of one draw have distinct values, so no mass is counted twice.)

Several events are disjoint, since they are distinct. Their trees must be parts of one program on either side
(``one_program``), and their probabilities must add up to at most 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

from dpaudit.certify.witnesses.one_program import OneProgram, key_of
from dpaudit.core.claims import Accounting, ApproxDP, Claim, PureDP
from dpaudit.core.errors import CertificateError, NotTractableError
from dpaudit.core.exact import decode_value, encode_value, exact
from dpaudit.core.views import Audience, Principal, View
from dpaudit.distributions.base import BaseMeasure, Distribution, distribution_from_json
from dpaudit.kernel.ball import arb, ball, lower_exact, lower_short, upper_exact

__all__ = ["Draw", "End", "Event", "See", "Tree", "mixture_body", "mixture_bound"]

MAX_NODES = 200_000
MAX_DEPTH = 300


@dataclass(frozen=True, kw_only=True)
class End:
    """The end of a path. ``reached`` states whether exactly the event was shown."""

    reached: bool

    def to_json(self) -> dict[str, Any]:
        return {"end": self.reached}


@dataclass(frozen=True, kw_only=True)
class See:
    """The next value of the event, drawn from ``distribution`` and shown to ``to``."""

    site: str
    to: Audience
    distribution: Distribution
    then: Tree

    def to_json(self) -> dict[str, Any]:
        return {
            "see": self.site,
            "to": sorted(p.name for p in self.to),
            "law": self.distribution.to_json(),
            "then": self.then.to_json(),
        }


@dataclass(frozen=True, kw_only=True)
class Draw:
    """A hidden draw. ``branches`` pairs each listed value with the tree that follows."""

    site: str
    distribution: Distribution
    branches: Sequence[tuple[Any, Tree]]

    def to_json(self) -> dict[str, Any]:
        branches = [{"value": encode_value(value), "then": tree.to_json()} for value, tree in self.branches]
        return {"draw": self.site, "law": self.distribution.to_json(), "branches": branches}


Tree = Draw | See | End


@dataclass(frozen=True, kw_only=True)
class Event:
    """A sequence of shown values, and how each input can produce it."""

    values: Sequence[Any]
    recorded: Tree
    neighbour: Tree

    def to_json(self) -> dict[str, Any]:
        return {
            "values": [encode_value(value) for value in self.values],
            "recorded": self.recorded.to_json(),
            "neighbour": self.neighbour.to_json(),
        }


def mixture_body(events: Iterable[Event], *, view: View) -> dict[str, Any]:
    """Return the body of a ``mixture`` witness: distinct events, each with both trees."""
    return {"view": view.to_json(), "events": [event.to_json() for event in events]}


def mixture_bound(events: Any, claim: Claim, view: View) -> Fraction | None:
    """Return the lower bound on the claim's quantity that the events give, or ``None`` for an infinite
    log-ratio.

    The bound on epsilon is log P(union) - log P'(union), for densities with a single event only. The bound on
    delta is P(union) - e^epsilon P'(union). Raise ``CertificateError`` if the events are malformed, not
    disjoint, or not evidence for this kind of claim, and if no program can have these probabilities on one of
    its two inputs.
    """
    if not isinstance(events, list) or not events:
        raise CertificateError("a mixture must list at least one event.")
    reader = _Reader(view)
    here, there, least = arb(0), arb(0), arb(0)
    for data in events:
        low, least_there, high = reader.event(data)
        here, there, least = here + low, there + high, least + least_there
    if len({key_of(_decoded(data["values"])) for data in events}) != len(events):
        raise CertificateError("the events of a mixture must be distinct.")
    if reader.densities and (len(events) > 1 or isinstance(claim, ApproxDP)):
        raise CertificateError(
            "events with densities have probability 0 and cannot be added up. Use one event and a pure claim."
        )
    if not reader.densities:
        _require_probabilities(recorded=here, neighbour=least)
    if isinstance(claim, ApproxDP):
        return lower_short(here - ball(exact(claim.epsilon)).exp() * there)
    if not isinstance(claim, PureDP | Accounting):
        raise CertificateError(
            f"a mixture must be for a pure, an accounting or an approx-dp claim, got {claim.type!r}."
        )
    if not here > 0:
        raise CertificateError("the event must have positive probability on the recorded side.")
    if there.is_zero():
        return None
    return lower_short(here.log() - ball(upper_exact(there)).log())


def _require_probabilities(**totals: arb) -> None:
    """Require that disjoint events have a total probability of at most 1 on either side."""
    for side, total in totals.items():
        if total > 1:
            raise CertificateError(
                f"the probabilities of the events must add up to at most 1 on the {side} side, got at least "
                f"{lower_short(total)}."
            )


def _decoded(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise CertificateError(f"an event's values must be a list, got {type(values).__name__}.")
    return [decode_value(value) for value in values]


class _Reader:
    """An evaluator of trees from JSON, with limits. It records the kind of values that the events have."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.nodes = MAX_NODES
        self.measures: dict[int, BaseMeasure] = {}
        self.densities = False
        self.programs = {side: OneProgram(side) for side in ("recorded", "neighbour")}

    def event(self, data: Any) -> tuple[arb, arb, arb]:
        """Return the lower end of P, and the lower and upper end of P', as balls."""
        values = _decoded(data["values"])
        self.measures = {}
        self._survey(data["recorded"], 0)
        self._survey(data["neighbour"], 0)
        self.densities = self.densities or BaseMeasure.LEBESGUE in self.measures.values()
        low = self._value(data["recorded"], values, 0, upper=False)
        least = self._value(data["neighbour"], values, 0, upper=False)
        high = self._value(data["neighbour"], values, 0, upper=True)
        for side, program in self.programs.items():
            program.add(data[side], values)
        low, least = (ball(max(lower_exact(end), Fraction(0))) for end in (low, least))
        return low, least, high

    def _survey(self, node: Any, shown: int, depth: int = 0) -> None:
        """Record the kind of the distribution at each position, on every path.

        A mix of densities and probabilities at one position has no meaning.
        """
        self.nodes -= 1
        if self.nodes < 0 or depth > MAX_DEPTH:
            raise CertificateError(
                f"a mixture must have at most {MAX_NODES} nodes and depth {MAX_DEPTH}, got more."
            )
        if "draw" in node:
            for branch in node["branches"]:
                self._survey(branch["then"], shown, depth + 1)
        elif "see" in node:
            measure = distribution_from_json(node["law"]).base_measure
            if self.measures.setdefault(shown, measure) is not measure:
                raise CertificateError(
                    f"shown value {shown} must be of one kind (density or probability) on all paths."
                )
            self._survey(node["then"], shown + 1, depth + 1)

    def _value(self, node: Any, values: Sequence[Any], shown: int, *, upper: bool) -> arb:
        if "draw" in node:
            return self._draw(node, values, shown, upper=upper)
        if "see" in node:
            return self._see(node, values, shown, upper=upper)
        if node.keys() != {"end"} or not isinstance(node["end"], bool):
            raise CertificateError(f"a node must be a draw, a see or an end, got {sorted(map(str, node))}.")
        # A path that shows fewer values than the event does not show the event.
        return arb(1) if node["end"] and shown == len(values) else arb(0)

    def _see(self, node: Any, values: Sequence[Any], shown: int, *, upper: bool) -> arb:
        audience = frozenset(Principal(str(name)) for name in node["to"])
        if not self.view.sees(audience):
            raise CertificateError(
                f"site {node['see']!r} must be seen by the view {self.view}, but it goes to {node['to']}. "
                "Sum it out as a draw."
            )
        if shown >= len(values):
            return arb(0)
        density = distribution_from_json(node["law"]).logp_ball(values[shown]).exp()
        return density * self._value(node["then"], values, shown + 1, upper=upper)

    def _draw(self, node: Any, values: Sequence[Any], shown: int, *, upper: bool) -> arb:
        distribution = distribution_from_json(node["law"])
        if distribution.base_measure is not BaseMeasure.COUNTING:
            raise CertificateError(
                f"draw {node['draw']!r}: a hidden distribution must have atoms to be summed out, but "
                f"{distribution.name} has none."
            )
        listed = [decode_value(branch["value"]) for branch in node["branches"]]
        if len({key_of(value) for value in listed}) != len(listed):
            raise CertificateError(f"draw {node['draw']!r}: the branches must have distinct values.")
        weights = [distribution.logp_ball(value).exp() for value in listed]
        total = arb(0)
        for weight, branch in zip(weights, node["branches"], strict=True):
            total += weight * self._value(branch["then"], values, shown, upper=upper)
        return total + self._remainder(distribution, listed, weights, shown, len(values)) if upper else total

    def _remainder(
        self,
        distribution: Distribution,
        listed: Sequence[Any],
        weights: Sequence[arb],
        shown: int,
        length: int,
    ) -> arb:
        """Return the mass that no branch lists.

        It could produce the event with density at most 1 if the rest has probabilities.
        """
        if _covers(distribution, listed):
            return arb(0)
        if any(self.measures.get(position) is BaseMeasure.LEBESGUE for position in range(shown, length)):
            raise CertificateError(
                "a draw before a density must list all its values, because the density of the rest has no "
                "known bound."
            )
        missing = upper_exact(1 - sum(weights, arb(0)))
        return ball(max(missing, Fraction(0)))


def _covers(distribution: Distribution, listed: Sequence[Any]) -> bool:
    """Return whether the listed values are all the atoms of a distribution with finitely many atoms."""
    try:
        # One more atom than listed shows that some are missing. A file may name a huge distribution, which
        # must not be enumerated.
        atoms = {key_of(value) for value, _ in islice(distribution.atoms(), len(listed) + 1)}
    except NotTractableError:
        return False
    return atoms <= {key_of(value) for value in listed}
