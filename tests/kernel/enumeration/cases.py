"""A random mechanism with the certificate that its author would write, and how the two are compared.

A generator makes, for one rule in one situation, a mechanism as a plain function from data sets to
distributions and a proof of it. What is compared: for every claim that the proof can make, the certified
bound against the truth over all neighbours. If the certificate lists an assumption, pairs that break it do
not count; a pair that breaks something which the certificate does not list does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np

from dpaudit.certify.build import Proof
from dpaudit.core.claims import ApproxDP, GaussianDP, PrivacyClaim, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Certificate
from dpaudit.core.views import PUBLIC, View
from tests.kernel.enumeration import oracle
from tests.kernel.enumeration.data import Data, Pair, Situation, values_of
from tests.kernel.enumeration.oracle import Distribution

__all__ = [
    "DOMAIN",
    "GENERATORS",
    "Case",
    "Generator",
    "attempt",
    "claims_in",
    "compare",
    "compare_all",
    "generates",
    "one_way",
    "stream",
    "truth",
]

#: Rounding of the oracle: a relative part for large losses, an absolute one for deltas.
RELATIVE, ABSOLUTE = 1e-9, 1e-10

Condition = Callable[[Pair], bool]


@dataclass(frozen=True, kw_only=True)
class Case:
    """``distribution`` depends on a data set through ``reads`` only. ``conditions`` says for each assumption,
    by a pattern that its text matches, which pairs keep it. ``proof`` may raise ``CertificateError``.
    """

    proof: Callable[[], Proof]
    distribution: Callable[[Any], Distribution]
    pairs: Sequence[Pair]
    reads: Callable[[Data], Hashable] = values_of
    conditions: Mapping[str, Condition] = field(default_factory=dict)

    @cached_property
    def built(self) -> Proof:
        """The proof, once for all claims."""
        return self.proof()


@dataclass(frozen=True, kw_only=True)
class Generator:
    """Random cases for one rule. ``holds``: the situations in which the kernel must give some bound.
    ``close``: how near to its bound the worst truth must come in the first of them, as a share.
    """

    make: Callable[[np.random.Generator, Situation], Case]
    holds: Callable[[Situation], bool]
    close: float
    count: int


#: One generator or more for each rule.
GENERATORS: dict[str, Generator] = {}


def generates(
    name: str,
    *,
    holds: Callable[[Situation], bool] = lambda situation: True,
    close: float = 0.9,
    count: int = 12,
) -> Callable[[Callable[[np.random.Generator, Situation], Case]], Callable[..., Case]]:
    """Register a generator: ``name`` is the rule, with a word behind a colon if the rule has several."""

    def decorate(make: Callable[[np.random.Generator, Situation], Case]) -> Callable[..., Case]:
        GENERATORS[name] = Generator(make=make, holds=holds, close=close, count=count)
        return make

    return decorate


def stream(*names: object) -> np.random.Generator:
    """Random numbers that depend on the names only."""
    return np.random.default_rng(np.random.SeedSequence([crc32(str(name).encode()) for name in names]))


#: What claims say of their data sets, which the enumeration lists.
DOMAIN = "the data sets of the enumeration"


def claims_in(situation: Situation) -> Iterator[PrivacyClaim]:
    """A claim of every kind; what is claimed does not matter, only what is bounded."""
    context: dict[str, Any] = {
        "adjacency": situation.adjacency,
        "unit": situation.unit,
        "view": situation.view,
        "participation": situation.participation,
        "domain": DOMAIN,
    }
    yield PureDP(epsilon=1, **context)
    yield GaussianDP(mu=1, **context)
    yield ZeroConcentratedDP(rho=1, **context)
    for order in (2, 5):
        yield RenyiDP(order=order, epsilon=1, **context)
    for epsilon in ("0", "1/2", "3/2"):
        yield ApproxDP(epsilon=epsilon, delta=1, **context)


def one_way(claim: PrivacyClaim, p: Distribution, q: Distribution) -> Distribution:
    """The claimed quantity of p against q, row by row."""
    if isinstance(claim, PureDP):
        return oracle.pure(p, q)
    if isinstance(claim, GaussianDP):
        return oracle.mu(p, q)
    if isinstance(claim, ZeroConcentratedDP):
        return oracle.rho(p, q)
    if isinstance(claim, RenyiDP):
        return oracle.renyi(p, q, float(Fraction(claim.order)))
    assert isinstance(claim, ApproxDP)
    return oracle.delta(p, q, float(Fraction(claim.epsilon)))


@dataclass(frozen=True)
class Truth:
    """The pairs that count, and their distributions: row i is one side of ``pairs[i]``, in either
    direction."""

    pairs: list[Pair]
    left: Distribution
    right: Distribution

    def worst(self, claim: PrivacyClaim) -> tuple[float, Pair | None]:
        """The largest quantity over pairs and directions, and a pair that has it."""
        if not self.pairs:
            return 0.0, None
        values = one_way(claim, self.left, self.right)
        best = int(np.argmax(values))
        return float(values[best]), self.pairs[best]


def truth(case: Case, assumptions: Sequence[str] = (), *, all_kept: bool = False) -> Truth:
    """The distributions on the pairs that keep what ``assumptions`` say, or all conditions; each pair of
    distributions once."""
    listed = [
        condition
        for pattern, condition in case.conditions.items()
        if all_kept or any(re.search(pattern, text) for text in assumptions)
    ]
    pairs: dict[tuple[Hashable, Hashable], Pair] = {}
    for pair in case.pairs:
        one, other = case.reads(pair.left), case.reads(pair.right)
        new = one != other and (one, other) not in pairs
        if new and all(condition(pair) for condition in listed):
            pairs[one, other] = pairs[other, one] = pair
    distributions = {key: case.distribution(key) for key in dict.fromkeys(one for one, _ in pairs)}
    left = np.array([distributions[one] for one, _ in pairs])
    return Truth(list(pairs.values()), left, np.array([distributions[other] for _, other in pairs]))


def compare(case: Case, situation: Situation, *, all_kept: bool = False) -> float | None:
    """Assert bound >= truth for every claim that the case's proof can make; the largest share truth / bound.

    ``None`` if the kernel refuses all of them. With ``all_kept`` only those pairs count that keep every
    condition, whether or not the certificate lists it.
    """
    share: float | None = None
    known: dict[tuple[str, ...], Truth] = {}
    for claim in claims_in(situation):
        certificate = attempt(case, claim)
        if certificate is None:
            continue
        key = certificate.assumptions
        if key not in known:
            known[key] = truth(case, key, all_kept=all_kept)
        worst, pair = known[key].worst(claim)
        bound = float(certificate.bound)
        assert worst <= bound * (1 + RELATIVE) + ABSOLUTE, (
            f"a false certificate: {claim.quantity} <= {bound:.9g}, truth {worst:.9g} between {pair}; "
            f"{situation}; {claim.in_words()}; assuming {list(key)}; {certificate.tree['premises'][0]}"
        )
        share = max(share or 0.0, worst / bound if bound > 0 else 0.0)
    return share


def attempt(case: Case, claim: PrivacyClaim) -> Certificate | None:
    """The certificate of the case's proof, or ``None`` if it is refused."""
    try:
        return case.built.certify(claim)
    except CertificateError:
        return None


def compare_all(name: str, situation: Situation, *, all_kept: bool = False) -> list[float]:
    """``compare`` for all random cases of a generator: the shares of those that were not refused."""
    generator = GENERATORS[name]
    plain = situation.participation == "everybody" and situation.view == View.of(PUBLIC)
    shares = []
    for index in range(generator.count if plain else max(2, generator.count // 3)):
        rng = stream(name, index, situation.adjacency, situation.unit)
        share = compare(generator.make(rng, situation), situation, all_kept=all_kept)
        if share is not None:
            assert math.isfinite(share)
            shares.append(share)
    return shares
