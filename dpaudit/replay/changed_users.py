"""Find each pair's view under joint privacy, which leaves out the user whose data changed.

A claim in the view ``EVERYBODY_ELSE`` is about every user. A claim in ``View.everybody_but(user(3))`` is
about user 3 only. A pair names the user whose data it changes (``Neighbours.changed``). Otherwise the user is
the position of the only record that differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Witness
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.views import CHANGED_USER, View, user
from dpaudit.replay.domains import as_array

__all__ = ["changed_user", "in_the_claims_words", "leaves_users_out", "of_the_same_users", "view_of"]


def leaves_users_out(view: View) -> bool:
    """Return whether ``view`` is a view of joint privacy: everybody except some users."""
    return view.complement and any(one.name.startswith("user-") for one in view.principals)


def changed_user(pair: Neighbours) -> int | None:
    """Return the user whose data differ: the one the pair names, or the position of the only changed record.

    Return ``None`` if neither exists.
    """
    if pair.changed is not None:
        return pair.changed
    left, right = as_array(pair.left), as_array(pair.right)
    if left is None or right is None or not left.ndim or left.shape[1:] != right.shape[1:]:
        return None
    if left.shape == right.shape:
        places = [i for i in range(len(left)) if not np.array_equal(left[i], right[i])]
        return places[0] if len(places) == 1 else None
    short, long = sorted((left, right), key=len)
    return next((i for i in range(len(short)) if not np.array_equal(short[i], long[i])), len(short))


def view_of(pair: Neighbours, view: View) -> View:
    """Return the view of ``pair`` for a claim in ``view``.

    Raises ``InvalidParameterError`` for a view of joint privacy if the pair does not name the user whose data
    it changes, or if this user is in the view.
    """
    if not leaves_users_out(view):
        return view
    index = changed_user(pair)
    if index is None:
        raise InvalidParameterError(
            f"a pair for a claim in the view of {view} must name the user whose data change, {pair.name!r} "
            "does not. Pass Neighbours(..., changed=i).",
            code="E-PAIR-USER-MISSING",
        )
    found = view.for_user(index)
    if user(index) not in found.principals:
        raise InvalidParameterError(
            f"a pair must change the data of a user outside the view of {view}, {pair.name!r} changes those "
            f"of user {index}. Change the pair, or use the view EVERYBODY_ELSE.",
            code="E-PAIR-USER-IN-VIEW",
        )
    return found


def of_the_same_users(
    found: Sequence[Neighbours], pairs: Sequence[Neighbours], view: View
) -> list[Neighbours]:
    """Return the generated pairs in ``found`` that change users outside the view.

    A user is the position of a record. This is known only if it holds in all ``pairs``.
    """
    if not leaves_users_out(view):
        return [*found]
    positions = [changed_user(replace(pair, changed=None)) for pair in pairs]
    if any(
        place is None or place != changed_user(pair) for place, pair in zip(positions, pairs, strict=True)
    ):
        return []
    return [pair for pair in found if _leaves_out(pair, view)]


def _leaves_out(pair: Neighbours, view: View) -> bool:
    index = changed_user(pair)
    return index is not None and user(index) in view.for_user(index).principals


def in_the_claims_words(witness: Witness, pair_view: View, claim_view: View) -> Witness:
    """Return the witness of a pair's view as a witness in the claim's view.

    If the claim leaves out the user whose data changed, the witness names this user ``CHANGED_USER``.
    """
    if pair_view == claim_view:
        return witness
    (name,) = (one.name for one in pair_view.principals - claim_view.principals)

    def renamed(item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "to": sorted(CHANGED_USER.name if one == name else one for one in item["to"])}

    body = {**witness.body, "view": claim_view.to_json()}
    if "sites" in body:
        body["sites"] = [renamed(item) for item in body["sites"]]
    for name_of_one in ("leak", "site"):
        if name_of_one in body:
            body[name_of_one] = renamed(body[name_of_one])
    return replace(witness, body=body, description=f"{witness.description}; the user left out is {name}")
