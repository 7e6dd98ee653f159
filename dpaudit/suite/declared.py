"""Add the row that a decorator declares. Each kind of row collects its own evidence, the rest is the same.

A function that raises when the suite is imported leaves a row that can only crash (``Declared.built``). Other
rows run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dpaudit.core.claims import Claim, Unbuilt
from dpaudit.core.suite import Group, Outcome, Role, Row, Run
from dpaudit.suite.grid import Grid
from dpaudit.suite.signature import require_parameters
from dpaudit.suite.words import Words, words_of

__all__ = ["Declared"]

Built = TypeVar("Built")


@dataclass(frozen=True)
class Declared:
    """The columns that every kind of row has: group, id, source, role, expected verdict, repaired rows."""

    rows: Group
    id: str
    source: str
    role: Role = "printed"
    expect: str = "verified"
    repairs: str | Sequence[str] = ()

    def words(
        self,
        function: Callable[..., Any],
        over: Grid | None,
        fixed: Mapping[str, Any],
        *,
        run: bool = False,
        **shown: str,
    ) -> Words:
        """Return the words of the row's function, which must take what the grid and ``fixed`` give.

        With ``run`` they follow the run. ``shown`` fills further braces of the docstring. Raises
        ``InvalidParameterError`` if the function takes other parameters or has no docstring.
        """
        words = words_of(function, {**shown, **fixed}, id=self.id)
        require_parameters(function, over, fixed, id=self.id, run=run)
        return words

    def add(
        self,
        evaluate: Callable[[Run], Outcome],
        words: Words,
        claim: Claim,
        *,
        kind: str,
        about: str = "",
        view: str = "",
        expect: str | None = None,
        fingerprint: Callable[[int], str] | None = None,
    ) -> None:
        """Add the row. ``about`` is its text, if not that of ``words``, and ``expect`` its own verdict."""
        evaluate.__doc__ = about or words.about
        self.rows.add(
            Row(
                id=self.id,
                title=words.title,
                kind=kind,
                claim=claim,
                evaluate=evaluate,
                expect=self.expect if expect is None else expect,
                view=view,
                fingerprint=fingerprint,
                source=self.source,
                role=self.role,
                repairs=self.repairs,
            )
        )

    def built(self, make: Callable[[], Built], *, title: str) -> Built | None:
        """Return the result of ``make``, which calls a row's function while the suite is imported.

        If it raises, add the row without a claim, whose evaluation raises that error, and return ``None``.
        """
        try:
            return make()
        except Exception as raised:  # a suite may raise anything, and other rows must not be lost
            error, trace = raised, raised.__traceback__

        def evaluate(run: Run) -> Outcome:
            raise error.with_traceback(trace)

        unbuilt = Unbuilt(text="no claim: the row's function raised when the suite was imported")
        # "privacy" requires a privacy claim, and there is none
        self.add(evaluate, Words(title, title, ()), unbuilt, kind="structure")
        return None
