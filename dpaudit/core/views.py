"""Principals, audiences and views: who sees which outputs.

Every site of a program has an audience. A view is the set of principals that an adversary controls. Everybody
sees what is released to ``PUBLIC``. No adversary sees what is released to ``NOBODY``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpaudit.core.errors import InvalidParameterError

__all__ = [
    "CHANGED_USER",
    "EVERYBODY_ELSE",
    "EVERYTHING",
    "NOBODY",
    "PUBLIC",
    "SERVER",
    "SHUFFLER_OUTPUT",
    "Audience",
    "Principal",
    "View",
    "audience",
    "user",
]


@dataclass(frozen=True, order=True)
class Principal:
    """A party that may see an outcome. Principals with the same name are equal."""

    name: str

    def __str__(self) -> str:
        return self.name


PUBLIC = Principal("public")
SERVER = Principal("server")
SHUFFLER_OUTPUT = Principal("shuffler-output")
NOBODY = Principal("nobody")
#: The user whose data differ between two neighbours, for views of joint privacy.
CHANGED_USER = Principal("user-whose-data-changed")


def user(index: int) -> Principal:
    """Return the principal for user number ``index`` (0, 1, 2, ...).

    Parameters
    ----------
    index : int
        The position of the user's record, 0 or more.

    Raises
    ------
    InvalidParameterError
        ``index`` is negative.
    """
    if index < 0:
        raise InvalidParameterError(f"a user's index must be 0 or more, got {index}.", code="E-USER-INDEX")
    return Principal(f"user-{index}")


Audience = frozenset[Principal]


def audience(to: Principal | Iterable[Principal]) -> Audience:
    """Return one or several principals as an audience. Raises ``InvalidParameterError`` for anything else."""
    if isinstance(to, Principal):
        return frozenset([to])
    people = frozenset(to)
    if not people or not all(isinstance(p, Principal) for p in people):
        raise InvalidParameterError(
            f"an audience must be principals such as PUBLIC, SERVER or user(3), at least one, got {to!r}.",
            code="E-AUDIENCE-TYPE",
        )
    return people


@dataclass(frozen=True)
class View:
    """The principals that the adversary controls, or all principals except some.

    ``View.of(PUBLIC)`` contains what everybody sees. ``View.of(SERVER)`` adds what is released to the server.
    ``View.everybody_but(user(3))`` is the view of joint privacy for user 3. ``EVERYBODY_ELSE`` is the view of
    joint privacy for every user: it excludes the user whose data changed between two neighbours.

    Parameters
    ----------
    principals : frozenset of Principal
        The principals that the adversary controls, or does not control if ``complement`` is set.
    complement : bool
        Whether the adversary controls all other principals (False).
    """

    principals: frozenset[Principal]
    complement: bool = False

    def __repr__(self) -> str:
        """Return the principals sorted by name, because texts are compared between processes."""
        return f"View({sorted(map(str, self.principals))}, complement={self.complement})"

    @classmethod
    def of(cls, *principals: Principal) -> View:
        """Return the view of an adversary who controls these principals and sees what is public."""
        return cls(audience(principals))

    @classmethod
    def everybody_but(cls, *principals: Principal) -> View:
        """Return the view of a coalition of all principals except these."""
        return cls(audience(principals), complement=True)

    def sees(self, to: Audience) -> bool:
        """Return whether an outcome released to the audience ``to`` is in this view."""
        if PUBLIC in to:
            return True
        people = to - {NOBODY}
        return bool(people - self.principals) if self.complement else bool(people & self.principals)

    def for_user(self, index: int) -> View:
        """Return the view with ``CHANGED_USER`` replaced by ``user(index)``, the user whose data changed."""
        if CHANGED_USER not in self.principals:
            return self
        return View((self.principals - {CHANGED_USER}) | {user(index)}, self.complement)

    def __str__(self) -> str:
        names = ", ".join(sorted(p.name for p in self.principals))
        if not self.complement:
            return names
        return f"everybody but {names}" if self.principals else "everybody"

    def to_json(self) -> dict[str, object]:
        return {"principals": sorted(p.name for p in self.principals), "complement": self.complement}

    @classmethod
    def from_json(cls, data: dict[str, object]) -> View:
        names = data["principals"]
        if not isinstance(names, list):
            raise InvalidParameterError(
                f"a view's principals must be a list of names, got {names!r}.", code="E-VIEW-TYPE"
            )
        return cls(frozenset(Principal(str(n)) for n in names), bool(data["complement"]))


#: Everything that anybody sees. Accounting uses this finest view.
EVERYTHING = View(frozenset(), complement=True)

#: Joint privacy: everybody but the user whose data changed.
EVERYBODY_ELSE = View.everybody_but(CHANGED_USER)
