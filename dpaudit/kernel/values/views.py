"""Views: which of the values that a program reveals the adversary of a claim sees.

A view is a set of principals that the adversary controls, or all principals except some. Record k, counted
from 0, is the data of the user named ``user-k``. The name ``user-whose-data-changed`` stands for the user of
the record that differs, so the view of joint privacy is everybody but this user.

Only a value that is revealed without noise can be free. Every release is charged, also one that the view does
not see, because an adversary who sees more outcomes only has a larger loss.

Rule (reveal). A private value v that is revealed to an audience costs nothing if, for every record k that v
depends on, the view does not see the audience when record k is the one that changes.

Proof. Let T be the outcomes of all releases and of all public randomness. On a path without hidden noise, the
path and all its public values are functions of T, and v is a function of T and of the records in its support.
Let record k change. Every revealed value that the view sees then has a support without k, so it is a function
of T and of the other records, which are equal on both sides. So the view is a function of T for fixed other
records, and post-processing does not increase the loss (billboard lemma, Hsu et al. 2014, Lemma 4). If the
view excludes no changed user, it does not depend on k, and a value that it does not see costs nothing.

Theorem (adaptive data). The bounds of a record without hidden noise also hold if an adversary chooses the
data in view of earlier outcomes: record i may be any function of the outcomes before the first release that
depends on it, both sides use the same functions for all records but the changed ones, and the adversary also
chooses which records change, and their two values, from the outcomes before the first release that depends on
them.

Proof. Fix all outcomes o. The adversary then has fixed neighbouring datasets x(o) and x'(o), in the declared
domain. The density of o is the product over releases t of p_t(o_t | o_<t, records that t depends on), so it
equals the density of o on the fixed data x(o). On the other side the same holds for x'(o). The cost of every
release, and the total of every path, is a bound for all neighbouring datasets and all earlier outcomes. For
an epsilon, the ratio of the densities is a product of the same factors as for fixed data, at most e^epsilon.
For a rho, let rho_t be the cost of release t given the earlier outcomes. The product of the (p_t / p'_t)^a
e^(-a (a - 1) rho_t) has conditional expectations of at most 1 under p', and the rho_t add up to at most rho
on every path, so E'[(p / p')^a] <= e^(a (a - 1) rho) (Feldman and Zrnic 2021, Theorem 3.1). For a mu, the
same holds for Gaussian releases whose squared mu_t add up to at most mu^2 on every path (Smith and Thakurta
2022, Theorem 2). A revealed value is a function of outcomes and of the user's own record, so data that are
chosen in view of the values that the view sees are again functions of the outcomes.

Hidden noise is refused in both rules: a merged cell averages over outcomes, which this proof fixes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["CHANGED_USER", "PUBLIC_VIEW", "End", "Support", "View", "read_view"]

PUBLIC, NOBODY = "public", "nobody"
CHANGED_USER = "user-whose-data-changed"
#: The principals who hold no share of noise. Anybody else may be a user, who knows an own share.
WITHOUT_SHARES = frozenset([PUBLIC, "server", "shuffler-output"])
USER = re.compile(r"user-(0|[1-9]\d{0,8})", re.ASCII)

#: An end of a range of records: a position, ``None`` for the number of records N, or (a, b, c) for the
#: largest integer at most (a N + b) / c, such as (1, 0, 2) for ``n // 2``.
End = int | tuple[int, int, int] | None
#: A superset of the records that a value depends on: ranges (start, stop, step), or ``None`` for all records.
#: An end that depends on the number of records requires step 1.
Support = tuple[tuple[End, End, int], ...] | None


@dataclass(frozen=True)
class View:
    """The principals that the adversary controls, or does not control if ``complement`` is set."""

    principals: frozenset[str] = frozenset([PUBLIC])
    complement: bool = False

    @property
    def follows_the_change(self) -> bool:
        """Return whether the view depends on which record changes."""
        return CHANGED_USER in self.principals

    @property
    def holds_users(self) -> bool:
        """Return whether the view may hold users, who know their own shares of noise."""
        return self.complement or not self.principals <= WITHOUT_SHARES

    def misses(self, audience: Iterable[str], support: Support, *, one_user_per_record: bool) -> bool:
        """Return whether the view provably never sees a change of a value revealed to ``audience``.

        ``support`` holds the records that the value depends on. ``one_user_per_record`` says that exactly one
        record changes and that its position is public, so that record k is the data of user k.
        """
        people = frozenset(audience)
        if PUBLIC in people or CHANGED_USER in people:
            return False
        people -= {NOBODY}
        if not self.follows_the_change:
            return not (people - self.principals if self.complement else people & self.principals)
        if not self.complement:
            return False
        seen = people - self.principals
        if not seen:
            return True
        if len(seen) > 1 or not one_user_per_record or support is None:
            return False
        [name] = seen
        found = USER.fullmatch(name)
        return found is not None and _only(support, int(found.group(1)))


def _only(support: Sequence[tuple[End, End, int]], record: int) -> bool:
    """Return whether a support provably holds no record but this one."""
    return all(
        isinstance(start, int)
        and isinstance(stop, int)
        and step >= 1
        and (stop <= start or (start == record and stop <= start + step))
        for start, stop, step in support
    )


#: The view of claims about the public output.
PUBLIC_VIEW = View()


def read_view(written: Any) -> View:
    """Read a view from a certificate: the keys are ``principals``, sorted names, and ``complement``."""
    if not isinstance(written, dict) or written.keys() != {"principals", "complement"}:
        raise ValueError("a view must have exactly the keys principals and complement")
    names, complement = written["principals"], written["complement"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the principals of a view must be a list of names")
    if names != sorted(set(names)) or type(complement) is not bool:
        raise ValueError("the principals of a view must be sorted, and complement must be true or false")
    return View(frozenset(names), complement)
