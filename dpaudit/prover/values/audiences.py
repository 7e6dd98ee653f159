"""Follow audiences: the users of a program, and values that are revealed to some principals only."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.core.views import PUBLIC, Principal, audience, user
from dpaudit.kernel.values.info import RefusedStepError
from dpaudit.kernel.values.releases import cost_of
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.values import Private

__all__ = ["audience_of", "reveal_private", "user_of"]


def user_of(run: Run, arguments: list[Any], options: dict[str, Any]) -> Principal:
    """Return ``user(index)`` for a constant index."""
    index = arguments[0] if len(arguments) == 1 else options.get("index")
    if len(arguments) + len(options) != 1 or type(index) not in (int, np.int64):
        run.refuse("user() requires one constant integer (a private or released value cannot name a user)")
    found: Principal = run.plain(user, int(index or 0))
    return found


def audience_of(run: Run, to: Any) -> Any:
    """Return the audience ``to`` of a release, as the real coins would. ``None`` stands for the public."""
    if to is None:
        return audience(PUBLIC)
    people = [to] if type(to) is Principal else to
    if type(people) not in (list, tuple, set, frozenset) or not all(type(one) is Principal for one in people):
        run.refuse("the recipients of a release must be principals such as PUBLIC, SERVER or user(3)")
    return run.plain(audience, people)


def reveal_private(run: Run, private: Private, names: list[str]) -> None:
    """Record that a private value is revealed without noise to principals that the view does not control.

    The value stays private for the rest of the program.
    """
    release = {"law": "reveal", "node": private.node, "to": names}
    try:
        cost_of(run.s, run.record.infos, [release], [])
    except RefusedStepError as error:
        run.refuse(str(error))
    run.event(f"release {run.record.release(release)}")
