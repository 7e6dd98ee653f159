"""Tier 0 of the trusted base: certificates by rational arithmetic, in one file with the standard library
only.

    python kernel_t0.py report.json

derives every certificate of a report again that these rules reach, and prints its assumptions. For each other
certificate, it names the tier that is needed: T1 (divergences in ball arithmetic) or T2 (special functions
and tails).

A certificate is a tree of rules. Each node derives upper bounds that hold simultaneously for one mechanism,
for all neighbours of the claim's setting and in both directions. ``proofs.md`` in this folder has the
statement, proof, source and conditions of every rule. A rule refuses the settings in which it is not sound. A
condition that it cannot check becomes an assumption of the certificate. The input is untrusted: sizes are
bounded, and nothing in it is executed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unicodedata import category

__all__ = ["BeyondTierError", "CertificateError", "DpauditError", "Guarantee", "Setting", "check", "main"]

MAX_DEPTH, MAX_NODES, MAX_PREMISES, MAX_COUNT = 40, 25_000, 10_000, 10**18
MAX_BITS, MAX_TEXT, MAX_LIST, MAX_ORDERS = 4096, 2000, 10_000, 16
NUMBER = re.compile(r"-?\d+(/[1-9]\d*)?", re.ASCII)
#: Letters and a symbol that are printed as blank space.
BLANK = "\u115f\u1160\u2800\u3164\uffa0\U0001d159"
QUANTITY = {"pure-dp": "epsilon", "accounting": "epsilon", "approx-dp": "delta", "renyi-dp": "renyi epsilon"}
QUANTITY |= {"zcdp": "rho", "gdp": "mu", "tail-bound": "probability"}
QUANTITY |= {"zcdp-accounting": "rho", "gdp-accounting": "mu", "renyi-dp-accounting": "renyi epsilon"}
QUANTITY |= dict.fromkeys(["sub-gaussian", "sub-exponential"], "variance proxy")
REPLACE_ONE, ADD_REMOVE, ZERO_OUT, EVENT, USER = "replace-one", "add-remove", "zero-out", "event", "user"
#: Rules of higher tiers, and the lowest tier that has them.
HIGHER = dict.fromkeys(["shuffle", "shuffled-response", "shuffled-table", "cumulant", "tail"], "T2")
HIGHER |= dict.fromkeys(["poisson-subsampled-gaussian", "shuffled-gaussian"], "T2")
HIGHER |= dict.fromkeys(["randomised-response", "integer-noise", "vector-noise", "gaussian-sum"], "T1")
HIGHER |= {"above-threshold": "T1", "finite": "T1", "enumerated": "T1", "binomial-vectors": "T1"}


class DpauditError(Exception):
    """The root of all errors that dpaudit raises on purpose. It is defined here because this file stands
    alone.
    """


class CertificateError(DpauditError):
    """A certificate is malformed, unknown to the kernel, unsound in its setting, or claims too much."""


class BeyondTierError(CertificateError):
    """The certificate needs a higher tier of the kernel, named ``tier``."""

    def __init__(self, tier: str, reason: str) -> None:
        super().__init__(f"{reason} needs tier {tier} of the kernel")
        self.tier = tier


def need(holds: bool, message: str) -> None:
    """Refuse the certificate with ``message`` unless ``holds``."""
    if not holds:
        raise CertificateError(message)


def rational(text: Any, name: str, *, bits: int = 2 * MAX_BITS) -> Fraction:
    """Read an exact number in its only valid form, reduced and in ASCII: ``"2"``, ``"-3/8"``, but not
    ``"2/2"``.
    """
    good = isinstance(text, str) and len(text) <= 4300 and NUMBER.fullmatch(text)
    number = Fraction(text) if good else Fraction()
    wanted = f"{name} must be an exact number written as a string, as a reduced fraction"
    need(text == str(number), f"{wanted}, got {str(text)[:40]!r}.")
    size = max(number.numerator.bit_length(), number.denominator.bit_length())
    need(size <= bits, f"{name} must have numerator and denominator of at most {bits} bits, got {size}.")
    return number


def legible(text: Any) -> bool:
    """Return whether a text has a visible letter, number or sign. A zero-width space is not visible."""
    return isinstance(text, str) and any(category(c)[0] in "LNPS" and c not in BLANK for c in text)


def hidden(character: str) -> bool:
    """Return whether a character is invisible but not a space: a control, a zero-width space, a line
    separator.
    """
    return category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or character in BLANK


def shown(number: Fraction) -> str:
    """Return a number as text for a message, for any size."""
    size = number.numerator.bit_length() - number.denominator.bit_length()
    return f"{float(number):.12g}" if abs(size) < 1000 else f"about 2^{size}"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The setting of a guarantee.

    It has ``adjacency``, ``unit``, the ``view`` as (names, whether it is all but these), the
    ``participation`` as text, and the ``data`` as the texts (domain, adversary), or ``None`` before there is
    a claim. An accounting claim is read in the public view, and has no domain.
    """

    adjacency: str = REPLACE_ONE
    unit: str = EVENT
    view: tuple[frozenset[str], bool] = (frozenset(["public"]), False)
    participation: str = "everybody"
    data: tuple[str, str] | None = None

    @classmethod
    def of(cls, claim: dict[str, Any]) -> Setting:
        """Return the setting of a claim in JSON. Refuse claims that no rule supports."""
        kind = str(claim.get("type"))
        need(kind in QUANTITY, f"a certificate must be for a claim on privacy or noise, got {kind[:40]!r}.")
        if QUANTITY[kind] in ("probability", "variance proxy"):
            return cls()
        if kind.endswith("accounting"):
            claim = {**claim, "model": "ideal", "view": {"principals": ["public"], "complement": False}}
        need(claim["model"] == "ideal", "the claim must be on ideal distributions, got one on float noise.")
        adjacency, unit, view = claim["adjacency"], claim["unit"], claim["view"]
        need(isinstance(view["principals"], list), "a view's principals must be a list of names.")
        known = adjacency in (REPLACE_ONE, ADD_REMOVE, ZERO_OUT) and unit in (EVENT, USER)
        need(known, f"adjacency and unit must be known, got {str(adjacency)[:40]!r}, {str(unit)[:40]!r}.")
        held = (frozenset(map(str, view["principals"])), bool(view["complement"]))
        data = (str(claim.get("domain", "")), str(claim.get("adversary", "")))
        return cls(adjacency=adjacency, unit=unit, view=held, participation=str(claim["turnout"]), data=data)

    @property
    def places(self) -> str:
        """Return the assumption on a user's events if they can change without being added or removed."""
        return "" if self.adjacency == ADD_REMOVE else ", their number and places the same on both sides"

    @property
    def holds_users(self) -> bool:
        """Return whether the view may include users, who know their own data and randomness."""
        return self.view[1] or not self.view[0] <= {"public", "server", "shuffler-output", "others"}


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """Upper bounds that hold simultaneously: ``pure`` epsilon, ``gdp_squared`` (mu squared) and ``rho``.

    ``None`` means that there is no such bound. ``curves`` holds the bounds of higher tiers.
    """

    pure: Fraction | None = None
    gdp_squared: Fraction | None = None
    rho: Fraction | None = None
    assumptions: tuple[str, ...] = ()
    curves: Any = None

    def assuming(self, *more: str) -> Guarantee:
        """Return the same bounds with ``more`` assumptions. Each assumption is listed once, in order."""
        return replace(self, assumptions=tuple(dict.fromkeys((*self.assumptions, *more))))


class Parameters:
    """The parameters of one node, checked when they are read. Parameters that no rule reads are refused."""

    def __init__(self, values: Any, *, rule: str) -> None:
        good = isinstance(values, dict) and all(isinstance(key, str) for key in values)
        need(good, f"{rule}: parameters must be a table with names as keys.")
        self.values, self.rule, self.seen = values, rule, set[str]()

    def need(self, holds: bool, message: str) -> None:
        need(holds, f"{self.rule}: {message}")

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str) -> Any:
        self.need(name in self.values, f"the parameter {name!r} must be given.")
        self.seen.add(name)
        return self.values[name]

    def number(self, name: str, value: Any = None) -> Fraction:
        return rational(self.get(name) if value is None else value, f"{self.rule}: {name}", bits=MAX_BITS)

    def positive(self, name: str, *, zero: bool = False) -> Fraction:
        number, least = self.number(name), "0 or more" if zero else "greater than 0"
        self.need(number > 0 or (zero and number == 0), f"{name} must be {least}, got {shown(number)}.")
        return number

    def integer(self, name: str, value: Any = None, *, low: int, high: int) -> int:
        number, wanted = self.number(name, value), f"{name} must be an integer from {low} to {high}"
        self.need(number.denominator == 1 and low <= number <= high, f"{wanted}, got {shown(number)}.")
        return int(number)

    def entries(self, name: str, *, most: int = MAX_LIST, length: int | None = None) -> list[Any]:
        values = self.get(name)
        good = isinstance(values, list) and len(values) <= most and length in (None, len(values))
        self.need(good, f"{name} must be a list of {length or f'at most {most}'} entries.")
        return list(values)

    def choice(self, name: str, options: Sequence[str]) -> str:
        value = self.get(name)
        self.need(value in options, f"{name} must be one of {[*options]}, got {str(value)[:40]!r}.")
        return str(value)

    def text(self, name: str, value: Any = None) -> str:
        value = self.get(name) if value is None else value
        good = legible(value) and len(value) <= MAX_TEXT and not any(map(hidden, value.replace("\n", "")))
        self.need(good, f"{name} must be a text of 1 to {MAX_TEXT} characters, all of them visible.")
        return str(value)

    def is_table(self, name: str) -> bool:
        return isinstance(self.values.get(name), dict)

    def table(self, name: str) -> Parameters:
        return Parameters(self.get(name), rule=f"{self.rule}.{name}")

    def finish(self) -> None:
        unread = sorted(self.values.keys() - self.seen)
        self.need(not unread, f"parameters must be known to the rule, got {unread[:5]}.")


Derivation = Callable[[Parameters, tuple[Guarantee, ...], Setting], Guarantee]
Decorator = Callable[[Derivation], Derivation]


@dataclass(frozen=True)
class Rule:
    """The number of premises of a rule, its derivation, and the setting in which its premises are derived."""

    premises: tuple[int, int]
    derive: Derivation
    inner: Callable[[Any, Setting], Setting]


RULES: dict[str, Rule] = {}


def rule(name: str, premises: tuple[int, int] = (0, 0), inner: Any = lambda _, s: s) -> Decorator:
    """Register a rule of this tier (decorator)."""
    return lambda function: RULES.setdefault(name, Rule(premises, function, inner)).derive


def moved(p: Parameters, s: Setting, *, most: int | None = None) -> Fraction:
    """Return the sensitivity: a stated number >= 0, or the number derived from a sum of clipped records.

    A stated number is part of the mechanism's definition. If ``most`` is given, it must be an integer up to
    ``most``.
    """
    value = p.positive("sensitivity", zero=True) if not p.is_table("sensitivity") else Fraction(0)
    if p.is_table("sensitivity"):
        low, high = clipped(p)
        p.need(s.unit == EVENT, "a sum's sensitivity is derived per event. State a number for users.")
        value = high - low if s.adjacency == REPLACE_ONE else max(abs(low), abs(high))
    whole = value.denominator == 1 and value <= (most or 0) and not p.is_table("sensitivity")
    wanted = f"an integer query must have an integer sensitivity up to {most}, stated as a number"
    p.need(most is None or whole, f"{wanted}, got {shown(value)}{' of a sum' * p.is_table('sensitivity')}.")
    return value


def clipped(p: Parameters) -> tuple[Fraction, Fraction]:
    """Return the ends of the interval to which a bounded sum clips each record."""
    query = p.table("sensitivity")
    query.choice("query", ["sum"])
    low, high = query.number("lower"), query.number("upper")
    query.finish()
    query.need(low <= high, f"lower must be at most upper, got {shown(low)} and {shown(high)}.")
    return low, high


def grid_of(p: Parameters) -> tuple[Fraction, int, int] | None:
    """Return step, bits and tail of the ``grid`` on which a higher tier composes loss distributions, if
    given.
    """
    if "grid" not in p:
        return None
    table = p.table("grid")
    bits, tail = table.integer("bits", low=64, high=256), table.integer("tail", low=20, high=200)
    step = table.positive("step")
    table.finish()
    return step, bits, tail


def orders_of(p: Parameters) -> list[Fraction] | None:
    """Return the Renyi ``orders`` at which a higher tier converts to delta, if a node lists some."""
    orders = [p.number("orders", n) for n in p.entries("orders", most=MAX_ORDERS)] if "orders" in p else None
    p.need(orders is None or min(orders, default=0) > 1, "orders must be one or more numbers above 1.")
    return orders


def direction(p: Parameters, s: Setting, narrow: str) -> tuple[str, tuple[str, ...]]:
    """Return how the scores change jointly, and the assumption for it."""
    how = p.choice("range", [narrow, "monotone", "general"])
    if how == "monotone":
        p.need(s.adjacency != REPLACE_ONE, "range must be general under replace-one: scores rise and fall.")
        if not p.is_table("sensitivity"):
            return how, ("between neighbours all scores move in the same direction",)
        low, high = clipped(p)
        p.need(not low < 0 < high, "records of a monotone sum must have one sign.")
    return how, ("between neighbours only one score moves",) if how == narrow else ()


def participation(s: Setting, least: str = "the stated noise is added") -> tuple[str, ...]:
    """Return the assumption on the noise if not everybody takes part."""
    return () if s.participation == "everybody" else (f"at the participation {s.participation!r}, {least}",)


def shared_noise(p: Parameters, s: Setting, least: str) -> tuple[str, ...]:
    """Check noise that parties may add in shares: no share may be in view, and enough shares are assumed."""
    p.need(not s.holds_users, "noise in shares: no user may be in view, who knows a share; use billboard.")
    assumed = [*participation(s, least)]
    if s.adjacency == ADD_REMOVE:
        assumed.append("the noise is the same on both sides: nobody who leaves takes a share of it along")
    if "others" in s.view[0]:
        assumed.append("the users in the view hold no share of the noise")
    return tuple(assumed)


def zcdp(g: Guarantee) -> Fraction | None:
    """Return the best rho that the bounds imply: e-DP is (e^2/2)-zCDP, mu-GDP is (mu^2/2)-zCDP."""
    squares = [None if g.pure is None else g.pure**2, g.gdp_squared]
    return min((rho for rho in (g.rho, *(x and x / 2 for x in squares)) if rho is not None), default=None)


def moves(parameters: Any) -> bool:
    """Return whether the changed record can move to another cell of a partition, which then gains a
    record.
    """
    return isinstance(parameters, dict) and parameters.get("moves") == "yes"


def total(costs: Sequence[Fraction | None], times: Sequence[int]) -> Fraction | None:
    known = [n * cost for cost, n in zip(costs, times, strict=True) if cost is not None]
    parts = dict[int, int]()  # numerators by denominator, so that many equal premises stay cheap
    for cost in known:
        parts[cost.denominator] = parts.get(cost.denominator, 0) + cost.numerator
    need(sum(below.bit_length() for below in parts) < 10**5, "a sum is too long.")
    sums = (Fraction(above, below) for below, above in parts.items())
    return sum(sums, Fraction(0)) if len(known) == len(costs) else None


def largest(costs: Sequence[Fraction | None], factor: int) -> Fraction | None:
    known = [factor * cost for cost in costs if cost is not None]
    return max(known) if len(known) == len(costs) else None


def add_up(p: Parameters, premises: Sequence[Guarantee], times: Sequence[int]) -> Guarantee:
    """Compose premise i ``times[i]`` times. A notion survives if all premises have it.

    ``grid`` and ``orders`` are for higher tiers. The bounds derived here hold without them.
    """
    grid_of(p), orders_of(p)
    if sum(times) == 1:
        return premises[0]
    pure, gdp = total([g.pure for g in premises], times), total([g.gdp_squared for g in premises], times)
    return Guarantee(pure=pure, gdp_squared=gdp, rho=total([zcdp(g) for g in premises], times))


@rule("laplace")
def laplace(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    if "dimension" in p:
        p.integer("dimension", low=1, high=10**12)  # for higher tiers: the sensitivity is in l1 here
    return Guarantee(pure=moved(p, s) / p.positive("scale"), assumptions=participation(s))


@rule("discrete-laplace")
def discrete_laplace(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    return Guarantee(pure=moved(p, s, most=MAX_COUNT) / p.positive("scale"), assumptions=participation(s))


@rule("gaussian")
def gaussian(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    squared = moved(p, s) ** 2 if "sensitivity" in p else p.positive("sensitivity_squared", zero=True)
    mu_squared, pure = squared / p.positive("variance"), None if squared else squared
    return Guarantee(gdp_squared=mu_squared, pure=pure, assumptions=participation(s))


@rule("polya")
def polya(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    shift, scale, share = moved(p, s, most=10_000), p.positive("scale"), p.positive("share")
    p.need(share <= 1, f"share must be in (0, 1], got {shown(share)}: no more than all records take part.")
    assumed = shared_noise(p, s, f"at least a share {share} of the noise is added")
    if share < 1 and shift:
        raise BeyondTierError("T2", "polya noise of which a share is lost")
    return Guarantee(pure=shift / scale, assumptions=assumed)


@rule("noisy-max")
def noisy_max(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    noise = p.choice("noise", ["laplace", "gumbel", "exponential", "gaussian"])
    how, assumed = direction(p, s, "one_coordinate")
    width = (2 if how == "general" else 1) * moved(p, s)
    count = p.integer("candidates", low=1, high=10**12) if noise == "gaussian" or "candidates" in p else 0
    if noise == "gaussian":
        spread = Fraction(count - 1 if how == "one_coordinate" else count**2 // 4, count)
        return Guarantee(gdp_squared=spread * width**2 / p.positive("variance"), assumptions=assumed)
    epsilon = width / p.positive("scale")
    return Guarantee(pure=epsilon, rho=epsilon**2 / 8 if noise == "gumbel" else None, assumptions=assumed)


@rule("sequential", (1, MAX_PREMISES))
def sequential(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    times = p.entries("times", length=len(premises))
    return add_up(p, premises, [p.integer("times", n, low=1, high=MAX_COUNT) for n in times])


@rule("parallel", (1, MAX_PREMISES), lambda v, s: replace(s, adjacency=ADD_REMOVE) if moves(v) else s)
def parallel(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    by = p.choice("by", ["position", "public data", "shown outcomes"])
    two = p.choice("moves", ["no", "yes"]) == "yes"
    shifts, assumed, factor = two or s.adjacency == ADD_REMOVE, list[str](), 2 if two else 1
    p.need(by != "position" or not shifts, "cells by position need records that stay in place.")
    if by != "position":
        own = "each record's own value and " if two else ""
        assumed.append(f"the partition is a function of {own}{by} only: {p.text('partition')}")
    if shifts:
        assumed.append("when a record changes, the other records stay in their cells")
    if s.unit == USER:
        assumed.append(f"all events of one user lie in one cell{s.places}")
    return Guarantee(
        pure=largest([g.pure for g in premises], factor),
        gdp_squared=largest([g.gdp_squared for g in premises], factor**2),
        rho=largest([zcdp(g) for g in premises], factor**2),
        assumptions=tuple(assumed),
    )


@rule("tree", (1, 1))
def tree(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    levels = p.integer("levels" if "levels" in p else "leaves", low=1, high=MAX_COUNT)
    if "levels" in p:
        declared = f"between neighbours at most {levels} released nodes differ: {p.text('declared')}"
        return add_up(p, premises, [levels]).assuming(declared)
    p.need(s.adjacency != ADD_REMOVE, "under add-remove, declare levels: leaves do not stay in place.")
    return add_up(p, premises, [levels.bit_length()]).assuming(*["one user is one leaf"] * (s.unit == USER))


@rule("group", (1, 1), lambda parameters, s: replace(s, unit=EVENT))
def group(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    p.need(s.unit == USER, "group privacy must be for a claim per user, got a claim per event.")
    n, g, rho = p.integer("events", low=1, high=10**12), premises[0], zcdp(premises[0])
    return Guarantee(
        pure=largest([g.pure], n),
        gdp_squared=largest([g.gdp_squared], n**2),
        rho=largest([rho], n**2),
        assumptions=(f"one user contributes at most {n} events{s.places}: {p.text('declared')}",),
    )


@rule("accounted", (1, MAX_PREMISES))
def accounted(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    counts = p.entries("touches", length=len(premises))
    touches = [p.integer("touches", n, low=1, high=MAX_COUNT) for n in counts]
    sites = [p.text("sites", name) for name in p.entries("sites", length=len(premises))]
    p.need(len({*sites}) == len(sites), f"each class of sites must be listed once, got {sites}.")
    listed = ", ".join(f"{site} at most {count}" for site, count in zip(sites, touches, strict=True))
    declared = f"a record affects declared sites only ({p.text('declared')}): releases per record: {listed}"
    return add_up(p, premises, touches).assuming(declared)


@rule("billboard", (1, 1), lambda _, s: replace(s, view=(frozenset(["public", "others"]), False)))
def billboard(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    joint = s.view[1] and len(s.view[0]) == 1 and min(s.view[0]).startswith("user-")
    p.need(joint, "joint privacy must be in the view of everybody but one user.")
    actions = f"actions depend on public statistics and own data only: {p.text('actions')}"
    return premises[0].assuming(actions, f"the changed data are those of the user left out, {min(s.view[0])}")


@rule("post-processing", (1, 1))
def post_processing(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    return premises[0].assuming(f"computed from the outcome and public data only: {p.text('function')}")


@rule("relaxed", (1, 1))
def relaxed(p: Parameters, premises: tuple[Guarantee, ...], s: Setting) -> Guarantee:
    security, pure = p.positive("security"), premises[0].pure
    p.need(pure is not None, "the simulated statistic must have a pure bound, got none.")
    text = f"the release is simulated from the statistic within exp(±{security}): {p.text('release')}"
    return Guarantee(pure=total([pure, security], [1, 2]), assumptions=(text,))


def derive(
    tree: Any, s: Setting, rules: dict[str, Rule] = RULES, depth: int = 1, budget: Any = None
) -> Guarantee:
    """Return the guarantee of a rule tree (without its root) in a setting. Raise ``CertificateError`` if
    refused.
    """
    node, budget = node_of(tree), budget or [MAX_NODES]
    budget[0] -= 1
    need(depth <= MAX_DEPTH and budget[0] >= 0, f"a tree has at most {MAX_NODES} nodes, depth {MAX_DEPTH}.")
    name, found = node["rule"], rules.get(node["rule"])
    if found is None and name in HIGHER:
        raise BeyondTierError(HIGHER[name], f"the rule {name}")
    if found is None:
        raise CertificateError(f"a rule must be one that the kernel knows, got {name[:40]!r}.")
    (least, most), count = found.premises, len(node["premises"])
    need(least <= count <= most, f"{name} must have {least} to {most} premises, got {count}.")
    p, inner = Parameters(node["parameters"], rule=name), found.inner(node["parameters"], s)
    premises = tuple(derive(premise, inner, rules, depth + 1, budget) for premise in node["premises"])
    guarantee = found.derive(p, premises, s)
    p.finish()
    return guarantee.assuming(*(text for premise in premises for text in premise.assumptions))


def node_of(tree: Any) -> dict[str, Any]:
    """Return a node after a check of its form."""
    keys = ["parameters", "premises", "rule"]
    good = isinstance(tree, dict) and sorted(map(str, tree)) == keys
    good = good and isinstance(tree["premises"], list) and isinstance(tree["rule"], str)
    need(good, f"a node must have exactly the fields {keys}.")
    return dict(tree)


def context_of(claim: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a claim that its certificate repeats: all but the numbers, which come from the
    claim.
    """
    numbers = {name.removesuffix("_exact") for name in claim if name.endswith("_exact")}
    hidden = numbers | {f"{name}_exact" for name in numbers} | {"in_words"}
    return {name: value for name, value in claim.items() if name not in hidden}


def number_of(claim: dict[str, Any], name: str) -> Fraction:
    """Return an exact number of the claim, after a check that the float of the same name agrees with it."""
    exact = rational(claim.get(f"{name}_exact"), f"the claim's {name}")
    good = type(claim.get(name)) is float and claim[name] == float(exact)
    need(good, f"{name} must be a float that agrees with {name}_exact, got {claim.get(name)!r:.40}.")
    need(exact >= 0 and (name != "order" or exact > 1), f"{name} is out of range: {shown(exact)}.")
    return exact


def open_certificate(data: Any, claim: dict[str, Any]) -> tuple[Fraction, list[str], Any]:
    """Return the stated bound, the assumptions and the tree of a certificate that is about this claim."""
    fields = ["assumptions", "bound", "quantity", "tree"]
    good = isinstance(data, dict) and sorted({*map(str, data)} - {"evidence"}) == fields
    need(good, f"a certificate must have the fields {fields}.")
    bounds = data["quantity"] == QUANTITY.get(str(claim.get("type")))
    need(bounds, f"the certificate must bound the claim's quantity, got {str(data['quantity'])[:40]!r}.")
    assumptions, node, wanted = data["assumptions"], node_of(data["tree"]), context_of(claim)
    for name in [name for name in claim if name.endswith("_exact")]:
        number_of(claim, name.removesuffix("_exact"))
    good = isinstance(assumptions, list) and all(isinstance(text, str) for text in assumptions)
    need(good, "the assumptions must be a list of texts.")
    found = node["parameters"]
    good = node["rule"] == "claim" and isinstance(found, dict) and len(node["premises"]) == 1
    need(good, "the root must be the rule 'claim' with one premise.")
    for name in sorted({*map(str, wanted), *map(str, found)}):
        good = name in wanted and name in found and json.dumps(found[name]) == json.dumps(wanted[name])
        need(good, f"the certificate must be about the same claim: {name[:40]} differs.")
    return rational(data["bound"], "bound"), assumptions, node["premises"][0]


def notion_of(claim: dict[str, Any]) -> str:
    """Return the type of the claim without the suffix of accountings (pure accountings have a type without
    it).
    """
    return str(claim["type"]).removesuffix("-accounting")


def rational_bound(g: Guarantee, claim: dict[str, Any]) -> Fraction | None:
    """Return the rational bound on the claim's quantity (for mu: on its square), or ``None`` if there is
    none.
    """
    kind, rho = notion_of(claim), zcdp(g)
    if kind == "renyi-dp":
        order = number_of(claim, "order")
        bounds = [] if rho is None else [rho * order]
        return min([*bounds, *([] if g.pure is None else [g.pure])], default=None)
    if kind == "approx-dp":
        return Fraction(0 if g.pure is not None and g.pure <= number_of(claim, "epsilon") else 1)
    return {"pure-dp": g.pure, "accounting": g.pure, "gdp": g.gdp_squared, "zcdp": rho}.get(kind)


def covers(g: Guarantee, claim: dict[str, Any], stated: Fraction) -> bool:
    """Return whether rational bounds reach the stated bound."""
    bound, reached = rational_bound(g, claim), stated**2 if notion_of(claim) == "gdp" else stated
    return bound is not None and stated >= 0 and bound <= reached


def check(data: Any, claim: dict[str, Any], rules: Any = None, reaches: Any = covers) -> Guarantee:
    """Derive the bound again that a certificate states for a claim, both in JSON.

    A higher tier passes its own ``rules`` and ``reaches``. Raise ``BeyondTierError`` if a higher tier is
    needed, and ``CertificateError`` if the certificate is refused.
    """
    stated, assumptions, tree = open_certificate(data, claim)
    g, kind = derive(tree, Setting.of(claim), rules or RULES), notion_of(claim)
    wrong = f"the assumptions must be those of the tree, {[*g.assumptions]}, got {assumptions}."
    need(sorted(assumptions) == sorted(g.assumptions), wrong)
    reached = reaches(g, claim, stated)
    if not reached and not rules and kind in ("renyi-dp", "approx-dp"):
        raise BeyondTierError("T1" if g.gdp_squared is None else "T2", f"the {kind} claim's exponential")
    need(reached, f"the bound must be one that the tree gives, got {shown(stated)}: it claims too much.")
    return g


def in_words(claim: dict[str, Any]) -> str:
    """Return all fields of a claim with its scope and exact numbers, but without its stored sentence."""
    return str({k: v for k, v in claim.items() if k != "in_words" and f"{k}_exact" not in claim})


def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a JSON object with a duplicate key."""
    need(len(dict(pairs)) == len(pairs), f"keys must be unique, got {[key for key, _ in pairs][:8]}.")
    return dict(pairs)


def main(arguments: Sequence[str]) -> int:
    """Check the certificates of a report and return the exit code.

    It is 1 if a certificate was refused, or if a claim reported as verified is below its bound; 2 if the file
    cannot be read; otherwise 0.
    """
    try:
        need(Path(arguments[0]).is_file(), "it must be a regular file")
        with open(arguments[0], encoding="utf-8") as file:
            rows = json.loads(file.read(1 << 26), object_pairs_hook=no_twins)["results"]
        parts = [(str(row["id"]), row) for row in rows]
        parts += [(f"{name}, cell {c['name']}", c) for name, row in parts for c in row.get("cells", [])]
        items = [(*part, e) for part in parts for e in part[1]["evidence"] if e["evidence"] == "certificate"]
    except (IndexError, OSError, ValueError, KeyError, TypeError, RecursionError, CertificateError) as error:
        sys.stderr.write(f"usage: python kernel_t0.py report.json; it cannot be read: {error!r}\n")
        return 2
    counts, above, other = dict.fromkeys(["T0", "above", "T1", "T2", "refused"], 0), set[str](), set[str]()
    for name, part, item in items:
        try:
            rests = "; ".join(check(item, part["claim"]).assumptions) or "nothing"
            holds = rational(item["bound"], "bound") <= number_of(part["claim"], item["quantity"].split()[-1])
            outcome = "T0" if holds else "above"
            text = (
                f"{item['quantity']} <= {item['bound']}, assuming {rests}; claim: {in_words(part['claim'])}"
            )
        except BeyondTierError as error:
            outcome, text = error.tier, str(error)
        except (CertificateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as why:
            outcome, text = "refused", f"{type(why).__name__}: {why}"
        counts[outcome] += 1
        (above if outcome == "above" and part.get("verdict") == "verified" else other).add(name)
        # Escapes, because a text of the report may hold terminal control sequences.
        sys.stdout.write(f"{outcome:<8}{json.dumps(f'{name}: {text}')[1:-1]}\n")
    words = "{T0} re-derived, {above} above their claims, {T1} need T1, {T2} need T2, {refused} refused\n"
    sys.stdout.write(words.format(**counts))
    return 1 if counts["refused"] or above - other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
