"""Rules ``shuffle``, ``shuffled-response`` and ``shuffled-table``: what a shuffler adds to local privacy.

Statement (``shuffle``). The premise holds for each user's local randomiser with pure bound e0; at least n
users (``users``) send one output each, and the adversary sees the shuffled outputs. Then delta(e) is at most
the clone bound of Feldman, McMillan, Talwar 2021. The pure bound stays e0.

Statement (``shuffled-response``). If the randomiser is randomised response of one bit, true with probability
e^e0 / (1 + e^e0), delta(e) is the exact value at n users, the maximum over what the others hold.

Statement (``shuffled-table``). If every user applies the randomiser with the table ``rows`` (inputs by
outputs, exact rationals), delta(e) is at most its blanket bound at n users. ``grid`` sets the step of its
computation.

Proof. See ``dpaudit.kernel.shuffle`` and ``dpaudit.kernel.blanket``. The pure bound is
post-processing. Surplus users beyond n: reveal their outputs apart from the n others; the shuffled outputs of
all are a post-processing of that. ∎

Both are about replacing one user's value, in a view that sees the shuffled outputs and no single message.
``analysis: stronger-clones-2023`` is refused: as stated for every randomiser it carries an erratum.

Source: Feldman, McMillan, Talwar 2021, Theorem 3.1; Cheu, Smith, Ullman, Zeber, Zhilyaev 2019 for randomised
response.
"""

from __future__ import annotations

from dpaudit.claims import Adjacency
from dpaudit.kernel.blanket import blanket_delta
from dpaudit.kernel.rules.finite import largest_log_ratio, read_table
from dpaudit.kernel.rules.pairs import read_grid
from dpaudit.kernel.shuffle import MAX_EXACT_USERS, MAX_USERS, clones_delta, exact_response_delta
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule
from dpaudit.views import PUBLIC, SHUFFLER_OUTPUT

__all__ = ["ANALYSES"]

ANALYSES = ("clones-2021", "stronger-clones-2023")


@rule("shuffle", premises=(1, 1))
def _shuffle(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    if parameters.choice("analysis", ANALYSES) != "clones-2021":
        raise parameters.fail(
            "the stronger clone bound is not valid for every local randomiser (erratum to the 2023 "
            "paper); use clones-2021."
        )
    _check_setting(parameters, setting)
    users, local = parameters.integer("users", low=1, high=MAX_USERS), premises[0].pure
    if local is None:
        raise parameters.fail("the local randomiser must have a pure bound; use one that has.")
    return Guarantee(
        pure=local, profile=lambda epsilon: clones_delta(users=users, local=local, epsilon=epsilon)
    )


@rule("shuffled-response")
def _shuffled_response(
    parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting
) -> Guarantee:
    _check_setting(parameters, setting)
    users, local = parameters.integer("users", low=1, high=MAX_EXACT_USERS), parameters.positive("local")
    return Guarantee(
        pure=local, profile=lambda epsilon: exact_response_delta(users=users, local=local, epsilon=epsilon)
    )


@rule("shuffled-table")
def _shuffled_table(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    _check_setting(parameters, setting)
    users, rows = parameters.integer("users", low=1, high=MAX_USERS), read_table(parameters)
    grid = read_grid(parameters)
    if grid is None:
        raise parameters.fail("a grid must be given for the blanket's values; add one.")
    return Guarantee(
        pure=largest_log_ratio(rows),
        profile=lambda epsilon: blanket_delta(rows, users=users, epsilon=epsilon, grid=grid),
    )


def _check_setting(parameters: Parameters, setting: Setting) -> None:
    if setting.adjacency not in (Adjacency.REPLACE_ONE, None):
        raise parameters.fail(
            f"shuffling is analysed for replacing one user's value, got {setting.adjacency}; restate the "
            "claim."
        )
    view = setting.view
    if view is not None and (view.complement or not view.principals <= {PUBLIC, SHUFFLER_OUTPUT}):
        raise parameters.fail(
            f"the view must see shuffled outputs only, got {view}; whoever sees single messages gets the "
            "local bound."
        )
