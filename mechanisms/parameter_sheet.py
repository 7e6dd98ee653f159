"""Parameter sheets: precision, margin, modulus and noise of one protocol run, for every variant.

Chowdhury and Zhou (ICLR 2023), Theorems 1 to 6. A sheet belongs to one batch size n and is public. Inputs are
exact. g = ceil(s ε sqrt(n)) is computed in integers. The margin τ, the ceiling of an irrational number, is
computed in ball arithmetic that decides its sign. p is the failure probability of τ (1/T in the theorems).

The place of the noise determines whom the users trust: shares of the users (``distributed``), one draw of the
server (``central``), or full noise of every user (``local``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from dpaudit.core.errors import InvalidParameterError, UndecidedError
from dpaudit.core.exact import ExactLike, exact, positive, probability
from dpaudit.core.exact_functions import ceil_root
from dpaudit.distributions import LatticeDistribution, WrappedMod
from dpaudit.kernel.ball import MAX_PRECISION, START_PRECISION, arb, ball, precision
from dpaudit.reference.mechanisms.local_noise import (
    discrete_gaussian_share,
    full_share,
    polya_share,
    skellam_share,
    total_noise,
)

__all__ = [
    "LAPLACE_SUM_CONSTANT",
    "Sheet",
    "ShuffleVariant",
    "Trust",
    "ceiling",
    "central_laplace_sheet",
    "discrete_gaussian_sheet",
    "local_laplace_sheet",
    "polya_sheet",
    "rounded_up_root",
    "shuffle_sheet",
    "skellam_sheet",
]

Trust = Literal["distributed", "central", "local"]
ShuffleVariant = Literal["printed", "repaired"]

#: The constant c of Lemma 5, which the paper leaves open. With t = λ/ε the moment generating function of
#: Lap_Z(1/ε) is at most 1/(1 - t²), and -log(1 - t²) <= c² t²/2 for |t| <= 1/c holds from c² = 2.5415 on.
LAPLACE_SUM_CONSTANT = Fraction(8, 5)


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The public parameters of one run with ``users`` users.

    ``share`` is one user's noise, or the server's if ``trust`` is "central". ``noise_margin`` is τ,
    ``tail_prob`` the failure probability p of τ.
    """

    trust: Trust
    users: int
    precision: int
    noise_margin: int
    modulus: int
    tail_prob: Fraction
    share: LatticeDistribution

    def total_noise(self, *, present: int | None = None) -> LatticeDistribution:
        """Return the distribution of all noise in the aggregate when ``present`` of the users (default: all)
        take part.
        """
        if self.trust == "central":
            return self.share
        return total_noise(self.share, users=self.users if present is None else present)

    def aggregate_distribution(self, encoded_total: Any, *, present: int | None = None) -> WrappedMod:
        """Return the distribution of ŷ = (Σ x̂ + Σ η) mod m, given the sum of the encodings.

        This is the fast route to what the server sees. An array gives independent copies.
        """
        return WrappedMod(self.total_noise(present=present), modulus=self.modulus, offset=encoded_total)


def rounded_up_root(factor: ExactLike, users: int) -> int:
    """Return ceil(factor sqrt(users)), computed in integers: the precision g for factor = s ε. At least 1."""
    if isinstance(users, bool) or not isinstance(users, int) or users < 1:
        raise InvalidParameterError(f"users must be an integer from 1 up, got {users!r}.")
    return ceil_root(positive(factor, name="factor") ** 2 * users)


def ceiling(compute: Callable[[], Any]) -> int:
    """Return the ceiling of the number that ``compute`` encloses, increasing the precision until it is
    decided.

    Raises ``UndecidedError`` if ``MAX_PRECISION`` bits are not enough, as for a number that is an integer.
    """
    bits = START_PRECISION
    while bits <= MAX_PRECISION:
        with precision(bits):
            whole = compute().ceil().unique_fmpz()
        if whole is not None:
            return int(whole)
        bits *= 2
    raise UndecidedError(
        f"a ceiling must be decided within {MAX_PRECISION} bits, got a number too near to an integer."
    )


def polya_sheet(*, users: int, epsilon: ExactLike, tail_prob: ExactLike) -> Sheet:
    """Apply Theorem 1, Dist-DP-SE: g = ceil(ε sqrt(n)), τ = ceil((g/ε) log(2/p)), Pólya(1/n, e^{-ε/g})
    differences.
    """
    return _polya(users, positive(epsilon, name="epsilon"), None, _tail(tail_prob))


def shuffle_sheet(
    *, users: int, epsilon: ExactLike, tail_prob: ExactLike, variant: ShuffleVariant = "repaired"
) -> Sheet:
    """Apply Theorem 3: the sheet of Theorem 1 at ε' = ε/2 and p' = p/2.

    ``printed`` keeps the Pólya parameter e^{-ε/g} that the theorem prints, with ε and not ε'. With 2 ε̂ = ε/2
    the proof's chain then costs 3ε/2. ``repaired`` draws with ε', and the chain costs ε.
    """
    if variant not in ("printed", "repaired"):
        raise InvalidParameterError(f"variant must be 'printed' or 'repaired', got {variant!r}.")
    budget = positive(epsilon, name="epsilon")
    return _polya(users, budget / 2, budget if variant == "printed" else None, _tail(tail_prob) / 2)


def skellam_sheet(
    *, users: int, epsilon: ExactLike, tail_prob: ExactLike, scale_factor: ExactLike = 1
) -> Sheet:
    """Apply Theorem 2, Dist-RDP-SE: g = ceil(s ε sqrt(n)), shares Sk(0, g²/(n ε²)).

    τ = ceil((2g/ε) sqrt(log(2/p)) + sqrt(2) log(2/p)).
    """
    budget, p = positive(epsilon, name="epsilon"), _tail(tail_prob)
    g = rounded_up_root(_scale_factor(scale_factor) * budget, users)
    margin = ceiling(
        lambda: ball(2 * g / budget) * ball(2 / p).log().sqrt() + arb(2).sqrt() * ball(2 / p).log()
    )
    share = skellam_share(users=users, epsilon=budget, precision=g)
    return _sheet("distributed", users, g, margin, p, share)


def discrete_gaussian_sheet(
    *, users: int, epsilon: ExactLike, tail_prob: ExactLike, scale_factor: ExactLike = 1
) -> Sheet:
    """Apply Theorem 4, Dist-CDP-SE: g = ceil(s ε sqrt(n)), τ = ceil((g/ε) sqrt(2 log(2/p))), shares N_Z(0,
    g²/(n ε²)).
    """
    budget, p = positive(epsilon, name="epsilon"), _tail(tail_prob)
    g = rounded_up_root(_scale_factor(scale_factor) * budget, users)
    margin = ceiling(lambda: ball(g / budget) * (2 * ball(2 / p).log()).sqrt())
    share = discrete_gaussian_share(users=users, epsilon=budget, precision=g)
    return _sheet("distributed", users, g, margin, p, share)


def central_laplace_sheet(*, users: int, epsilon: ExactLike, tail_prob: ExactLike) -> Sheet:
    """Apply Theorem 5, CDP-SE: the parameters of Theorem 1, with one Lap_Z(g/ε) that the trusted server
    adds.
    """
    sheet = polya_sheet(users=users, epsilon=epsilon, tail_prob=tail_prob)
    return _sheet("central", users, sheet.precision, sheet.noise_margin, sheet.tail_prob, sheet.total_noise())


def local_laplace_sheet(
    *,
    users: int,
    epsilon: ExactLike,
    tail_prob: ExactLike,
    laplace_sum_constant: ExactLike = LAPLACE_SUM_CONSTANT,
) -> Sheet:
    """Apply Theorem 6, LDP-SE: Lap_Z(g/ε) from every user and τ = ceil((c g/ε) sqrt(2 n log(2/p))).

    ``laplace_sum_constant`` is c of Lemma 5.
    """
    budget, p = positive(epsilon, name="epsilon"), _tail(tail_prob)
    c = positive(laplace_sum_constant, name="laplace_sum_constant")
    g = rounded_up_root(budget, users)
    margin = ceiling(lambda: ball(c * g / budget) * (2 * users * ball(2 / p).log()).sqrt())
    return _sheet("local", users, g, margin, p, full_share(epsilon=budget, precision=g))


@lru_cache(maxsize=1024)
def _polya(users: int, budget: Fraction, noise_budget: Fraction | None, p: Fraction) -> Sheet:
    """Build a sheet with g and τ from ``budget``, and the noise from ``noise_budget`` if it differs."""
    g = rounded_up_root(budget, users)
    margin = ceiling(lambda: ball(g / budget) * ball(2 / p).log())
    share = polya_share(users=users, epsilon=noise_budget or budget, precision=g)
    return _sheet("distributed", users, g, margin, p, share)


def _sheet(trust: Trust, users: int, g: int, margin: int, p: Fraction, share: LatticeDistribution) -> Sheet:
    return Sheet(
        trust=trust,
        users=users,
        precision=g,
        noise_margin=margin,
        modulus=users * g + 2 * margin + 1,
        tail_prob=p,
        share=share,
    )


def _tail(value: ExactLike) -> Fraction:
    p = probability(value, name="tail_prob")
    if p == 0:
        raise InvalidParameterError("tail_prob must be greater than 0, got 0; pass 1/T for a horizon of T.")
    return p


def _scale_factor(value: ExactLike) -> Fraction:
    s = exact(value, name="scale_factor")
    if s < 1:
        raise InvalidParameterError(f"scale_factor must be 1 or more, got {s}; the theorems need s >= 1.")
    return s
