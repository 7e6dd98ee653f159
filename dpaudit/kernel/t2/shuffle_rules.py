"""T2, rules ``shuffle``, ``shuffled-response``, ``shuffled-table`` and ``shuffled-gaussian``: privacy of
shufflers.

Statement (``shuffle``). The premise holds for the local randomiser that all users apply, with pure bound e0;
at least n users (``users``) send one output each, and the adversary sees the shuffled outputs. Then delta(e)
is at most the clone bound of Feldman, McMillan, Talwar 2021. The pure bound stays e0. One assumption is that
the randomisers are the same, because a shuffle does not hide outputs that name their user.

With ``local`` = e0 the premise may hold with a delta: d0 is its delta at e0, and delta(e) is at most the
bound of ``approximate_shuffle``, or the premise's own. A randomiser without a pure bound is refused if no e0
is given.

Statement (``shuffled-response``). If the randomiser is randomised response of one bit, true with probability
e^e0 / (1 + e^e0), delta(e) is the exact value at n users, the maximum over the values of the others.

Statement (``shuffled-table``). If every user applies the randomiser with the table ``rows`` (inputs by
outputs, exact rationals), delta(e) is at most its blanket bound at n users. ``grid`` sets the step of its
computation.

Statement (``shuffled-gaussian``). If every user sends a point plus Gaussian noise, all points being within
the sensitivity of each other, delta(e) is at most the bound of ``gaussian_blanket`` at the best of
``splits``.

Each composes by a dominating pair (``shuffle_pairs``; ``profiles`` for the blanket), and has the Renyi
divergences of that pair's loss distribution.

Proof. See ``shuffle`` and ``blanket``. The pure bound is post-processing. Surplus users beyond n: reveal
their outputs apart from the n others; the shuffled outputs of all are a post-processing of that. ∎

Below ``billboard`` the view is that of all other users, who see the shuffled outputs and act. Each of them
knows their own data, which the bounds allow: they hold for all values of the others. A user who also knows
their own message can remove it from the shuffle, and n - 1 such users leave the local bound. One assumption
is that no user knows it.

All rules are about replacing one user's value, in a view that sees the shuffled outputs and no single
message. ``analysis: stronger-clones-2023`` is refused: as stated for every randomiser it has an erratum.

Source: Feldman, McMillan, Talwar 2021, Theorem 3.1; Cheu, Smith, Ullman, Zeber, Zhilyaev 2019 for randomised
response.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

from flint import arb

from dpaudit.kernel.ball import ball
from dpaudit.kernel.kernel_t0 import CertificateError, Guarantee, Parameters, Setting
from dpaudit.kernel.t1.certpld import Grid, LossDistribution
from dpaudit.kernel.t1.finite import largest_log_ratio, one_message, read_table
from dpaudit.kernel.t1.pairs import read_grid
from dpaudit.kernel.t1.profiles import profile_pair
from dpaudit.kernel.t1.readout import delta_bound, probability
from dpaudit.kernel.t1.tier import Curves, Tier
from dpaudit.kernel.t2.approximate_shuffle import approximate_clones_delta
from dpaudit.kernel.t2.blanket import blanket_delta
from dpaudit.kernel.t2.gaussian import gaussian_delta
from dpaudit.kernel.t2.gaussian_blanket import gaussian_blanket_delta
from dpaudit.kernel.t2.shuffle import MAX_EXACT_USERS, MAX_USERS, clones_delta, exact_response_delta
from dpaudit.kernel.t2.shuffle_pairs import clones_pair, exact_response_pair, renyi_grid

__all__ = ["ANALYSES", "add_shuffles"]

#: Renyi orders at which compositions without a grid convert to delta, unless they list others.
ORDERS = tuple(Fraction(2**k) for k in range(1, 9))

#: Largest number of splits in one certificate.
MAX_SPLITS = 8

ANALYSES = ("clones-2021", "stronger-clones-2023")


def add_shuffles(tier: Tier) -> None:
    """Add the rules of this module."""

    @tier.rule("shuffle", (1, 1))
    def _shuffle(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        clones = p.choice("analysis", ANALYSES) == "clones-2021"
        p.need(clones, "the stronger clone bound has an erratum: not for every randomiser; use clones-2021.")
        users, assumed = _users(p, setting, MAX_USERS)
        local = premises[0].pure
        same = "all users apply the same randomiser"  # a shuffle does not hide an output that names its user
        if "local" in p:
            curves = _approximate(premises[0], users, p.positive("local"))
            return Guarantee(pure=local, curves=curves, assumptions=(*assumed, same))
        if local is None:
            raise CertificateError(
                "shuffle: the local randomiser must have a pure bound, got none. Pass the local epsilon at "
                "which its delta counts."
            )
        curves = Curves(
            profile=lambda epsilon: clones_delta(users=users, local=local, epsilon=epsilon),
            pair=partial(clones_pair, users, local),
            renyi=lambda order: clones_pair(users, local, renyi_grid(local)).renyi(order),
            orders=ORDERS,
        )
        return Guarantee(pure=local, curves=curves, assumptions=(*assumed, same))

    @tier.rule("shuffled-response")
    def _response(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        users, assumed = _users(p, setting, MAX_EXACT_USERS)
        local = p.positive("local")
        curves = Curves(
            profile=lambda epsilon: exact_response_delta(users=users, local=local, epsilon=epsilon),
            pair=partial(exact_response_pair, users, local),
            renyi=lambda order: exact_response_pair(users, local, renyi_grid(local)).renyi(order),
            orders=ORDERS,
        )
        return Guarantee(pure=local, curves=curves, assumptions=assumed)

    @tier.rule("shuffled-table")
    def _table(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        users, assumed = _users(p, setting, MAX_USERS)
        rows, grid = read_table(p), read_grid(p)
        if grid is None:
            raise CertificateError("shuffled-table: a grid must be given for the blanket's values.")
        pure = largest_log_ratio(rows)

        def profile(epsilon: Fraction) -> arb:
            return blanket_delta(rows, users=users, epsilon=epsilon, grid=grid)

        @cache
        def pair(finer: Grid) -> LossDistribution:
            return profile_pair(profile, pure, finer)

        curves = Curves(profile=profile, pair=pair)
        if pure:  # without a pure bound there may be mass at infinity
            distribution = partial(pair, renyi_grid(pure))
            curves = replace(curves, renyi=lambda order: distribution().renyi(order), orders=ORDERS)
        return Guarantee(pure=pure, curves=curves, assumptions=assumed)

    @tier.rule("shuffled-gaussian")
    def _gaussian(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
        users, assumed = _users(p, setting, MAX_USERS)
        squared, variance = p.positive("sensitivity_squared", zero=True), p.positive("variance")
        splits = [p.number("splits", split) for split in p.entries("splits", most=MAX_SPLITS)]
        p.need(
            all(split >= 0 for split in splits), f"splits must be 0 or more, got {min(splits, default=0)}."
        )
        grid = read_grid(p)
        if grid is None or not splits:
            raise CertificateError("shuffled-gaussian: a split and a grid must be given for the blanket.")
        if not squared:
            return Guarantee(pure=squared, assumptions=assumed)

        def profile(epsilon: Fraction) -> arb:
            found = [gaussian_delta(squared / variance, epsilon)]
            for split in splits:
                more = gaussian_blanket_delta(
                    users=users, mu_squared=squared / variance, split=split, epsilon=epsilon, grid=grid
                )
                found.append(probability(more))
            return ball(min(found))

        apart = (
            "any two values that users may hold differ by at most the sensitivity, in the norm of the noise"
        )
        return Guarantee(curves=Curves(profile=profile), assumptions=(*assumed, apart))


def _approximate(premise: Guarantee, users: int, local: Fraction) -> Curves:
    """Return the delta of shuffled outputs of a randomiser that has a delta at ``local``."""
    spare = delta_bound(premise, local, gaussian_delta)

    def profile(epsilon: Fraction) -> arb:
        own = ball(delta_bound(premise, epsilon, gaussian_delta))
        if spare == 1:
            return own
        amplified = approximate_clones_delta(users=users, local=local, spare=spare, epsilon=epsilon)
        return own if own <= amplified else amplified

    return Curves(profile=profile)


def _users(p: Parameters, setting: Setting, most: int) -> tuple[int, tuple[str, ...]]:
    """Return the number of senders and the assumptions. Require a setting in which shuffling hides the
    senders.
    """
    one_message(p, setting)
    names, rest = setting.view
    hidden = not rest and names <= {"public", "shuffler-output", "others"}
    p.need(
        hidden,
        f"the view must see shuffled outputs, no single messages, got {sorted(names)}.",
    )
    users, assumed = p.integer("users", low=1, high=most), list[str]()
    if setting.participation != "everybody":
        assumed.append(f"at the participation {setting.participation!r}, at least {users} users send")
    if "others" in names:  # users who know all other messages find the last one by subtraction
        assumed.append("the users in the view know neither their own messages nor the coins of these")
    return users, tuple(assumed)
