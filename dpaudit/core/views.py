"""Who sees what: principals, audiences and views.

Every site of a program has an audience; an adversary is a view, the set of principals that it holds. What
goes to ``PUBLIC`` is seen by everybody; what goes to ``NOBODY`` by no adversary, whatever it holds.
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
    """Somebody who may see an outcome. Compare by name."""

    name: str

    def __str__(self) -> str:
        return self.name


PUBLIC = Principal("public")
SERVER = Principal("server")
SHUFFLER_OUTPUT = Principal("shuffler-output")
NOBODY = Principal("nobody")
#: The user whose data differ between two neighbours, whoever that is: for views of joint privacy.
CHANGED_USER = Principal("user-whose-data-changed")


def user(index: int) -> Principal:
    """The principal who is user number ``index`` (0, 1, 2, ...)."""
    if index < 0:
        raise InvalidParameterError(
            f"a user's index must be 0 or more, got {index}; pass the record's position."
        )
    return Principal(f"user-{index}")


Audience = frozenset[Principal]


def audience(to: Principal | Iterable[Principal]) -> Audience:
    """Normalise one principal, or several, to an audience."""
    if isinstance(to, Principal):
        return frozenset([to])
    people = frozenset(to)
    if not people or not all(isinstance(p, Principal) for p in people):
        raise InvalidParameterError(
            f"an audience must name at least one principal, got {to!r}; pass PUBLIC, SERVER, user(i), ..."
        )
    return people


@dataclass(frozen=True)
class View:
    """The principals that the adversary holds, or (``everybody_but``) all but some.

    ``View.of(PUBLIC)`` sees what everybody sees. ``View.of(SERVER)`` sees that and what goes to the server.
    ``View.everybody_but(user(3))`` is the view of joint privacy for user 3, and ``EVERYBODY_ELSE`` that for
    every user: of two neighbours it leaves out the user whose data changed.
    """

    principals: frozenset[Principal]
    complement: bool = False

    def __repr__(self) -> str:
        """The principals by name: a set has no order, and texts are compared between processes."""
        return f"View({sorted(map(str, self.principals))}, complement={self.complement})"

    @classmethod
    def of(cls, *principals: Principal) -> View:
        """The view of an adversary who holds these principals (and sees what is public)."""
        return cls(audience(principals))

    @classmethod
    def everybody_but(cls, *principals: Principal) -> View:
        """The view of a coalition of all principals except these."""
        return cls(audience(principals), complement=True)

    def sees(self, to: Audience) -> bool:
        """Whether an outcome shown to the audience ``to`` is in this view."""
        if PUBLIC in to:
            return True
        people = to - {NOBODY}
        return bool(people - self.principals) if self.complement else bool(people & self.principals)

    def for_user(self, index: int) -> View:
        """The view of neighbours between which the data of user number ``index`` changed: where the view
        speaks of that user, ``user(index)``."""
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
                f"a view's principals must be a list of names, got {names!r}; re-create the file."
            )
        return cls(frozenset(Principal(str(n)) for n in names), bool(data["complement"]))


#: Everything that anybody sees: the finest view, in which accounting is observed.
EVERYTHING = View(frozenset(), complement=True)

#: Joint privacy: everybody but the user whose data changed.
EVERYBODY_ELSE = View.everybody_but(CHANGED_USER)
