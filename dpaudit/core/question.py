"""Questions of a suite about the noise that a mechanism needs for its claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.core.claims import Claim
from dpaudit.core.exact import ExactLike

__all__ = ["Question"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question about how much noise one mechanism needs for its claim.

    Parameters
    ----------
    id, title : str
        The id of the question, unique in its suite, and its title.
    claim : Claim
        The claim that the mechanism must satisfy.
    parameter : str
        The name of the parameter that ``printed`` states and ``mechanism`` takes. A larger value must be more
        private.
    printed : number
        The exact value that the paper states.
    mechanism : callable
        ``mechanism(value)`` returns the ``Proof`` (``dpaudit.certify.proof``) for that value.
    """

    id: str
    title: str
    claim: Claim
    parameter: str
    printed: ExactLike
    mechanism: Callable[[Fraction], Any]
