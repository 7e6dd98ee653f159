"""Read and check the options of ``dpaudit calibrate``, and refuse options that a mechanism does not use.

An unused option is an error, because a user would believe that it has an effect. The message names the
options that the mechanism uses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from fractions import Fraction
from math import isqrt
from typing import Any

from dpaudit.certify.build import LossGrid
from dpaudit.certify.families import MECHANISMS, Mechanism, Shape
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import exact, positive

__all__ = [
    "checked_delta",
    "checked_epsilon",
    "checked_shape",
    "help_on_mechanisms",
    "length",
    "refuse_unused",
]

#: Options of every mechanism.
COMMON = ("epsilon", "delta", "sensitivity", "steps", "have", "seconds")
#: A claim with a larger epsilon is meaningless, and its search leaves the range of floats.
LARGEST_EPSILON = 10**6
#: Significant digits of a square root, which is rounded up.
ROOT_DIGITS = 15
#: Options that count something, and so must be 1 or more.
COUNTS = ("candidates", "answers", "leaves", "parties", "dim", "steps")
#: Characters of numbers. A text with others gets the hint about sqrt().
_NUMBER = re.compile(r"[0-9a-fA-FxX_./+\s-]*")


def length(text: str, *, name: str) -> Fraction:
    """Read an exact number greater than 0, or ``sqrt(x)``.

    A rational root is exact. Another root is rounded up at about its 15th digit, so that a certificate for
    the result also holds for the root. Raises ``InvalidParameterError`` for anything else.
    """
    stripped = text.strip()
    if not (stripped.startswith("sqrt(") and stripped.endswith(")")):
        if not stripped or _NUMBER.fullmatch(stripped) is None:
            raise InvalidParameterError(
                f'{name} must be a number such as 2, 0.1, 1/3 or "sqrt(4.5)", got {text[:60]!r}.',
                code="E-NUMBER-FORM",
            )
        return positive(text, name=name)
    square = positive(stripped[5:-1], name=name)
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if (top * top, bottom * bottom) == (square.numerator, square.denominator):
        return Fraction(top, bottom)
    unit = Fraction(10) ** (ROOT_DIGITS - len(str(int(square))) // 2 + _zeros(square) // 2)
    return Fraction(isqrt(int(square * unit * unit)) + 1) / unit


def _zeros(number: Fraction) -> int:
    """Return about how many zeros follow the decimal point."""
    return max(0, len(str(number.denominator)) - len(str(number.numerator)))


def checked_epsilon(text: str) -> Fraction:
    """Return the claim's epsilon. Raises ``InvalidParameterError`` unless it is in (0, 10^6]."""
    epsilon = positive(text, name="--epsilon")
    if epsilon > LARGEST_EPSILON:
        raise InvalidParameterError(
            f"--epsilon must be at most {LARGEST_EPSILON}, got {text}.", code="E-EPSILON-RANGE"
        )
    return epsilon


def checked_delta(text: str | None, kind: Mechanism, *, name: str) -> Fraction | None:
    """Return the claim's delta in (0, 1), or 0 if the mechanism has a pure guarantee, or ``None``."""
    if text is None:
        return None
    delta = exact(text, name="--delta")
    if not 0 <= delta < 1:
        raise InvalidParameterError(
            f"--delta must be in [0, 1), got {text}. At 1, every mechanism satisfies the claim.",
            code="E-DELTA-RANGE",
        )
    if delta == 0 and kind.needs_delta:
        raise InvalidParameterError(
            f"--delta must be greater than 0 for {name}, got {text}, because none of its noise has a pure "
            "guarantee. laplace and discrete-laplace have one.",
            code="E-DELTA-RANGE",
        )
    return delta


def checked_shape(given: Mapping[str, Any]) -> Shape:
    """Return the shape from the options by name. Raises ``InvalidParameterError`` for one out of range."""
    for name in COUNTS:
        if given[name] < 1:
            raise InvalidParameterError(
                f"--{name} must be 1 or more, got {given[name]}.", code="E-COUNT-RANGE"
            )
    share = positive(given["share"], name="--share")
    if share > 1:
        raise InvalidParameterError(f"--share must be in (0, 1], got {given['share']}.", code="E-SHARE-RANGE")
    step = positive(given["grid"], name="--grid")
    counts = {name: given[name] for name in COUNTS if name != "steps"}
    return Shape(**counts, share=share, grid=LossGrid(step=step))


def _used(kind: Mechanism) -> tuple[str, ...]:
    """Return the options that a mechanism uses. Only compositions by loss distributions use the grid."""
    return (*COMMON, *sorted(kind.uses), *(() if kind.adds_up else ("grid",)))


def refuse_unused(name: str, given: Collection[str], *, approximate: bool, steps: int) -> None:
    """Raise ``InvalidParameterError`` for options in ``given`` that the mechanism ``name`` does not use.

    ``all`` uses every option for some mechanism.
    """
    if name == "all":
        return
    kind = MECHANISMS[name]
    used = _used(kind)
    unused = sorted(set(given) - set(used))
    if unused:
        raise InvalidParameterError(
            f"{name} does not use {_listed(unused)}. Its options are {_listed(used)}.", code="E-OPTION-UNUSED"
        )
    composed = approximate and (steps > 1 or "leaves" in kind.uses)
    if "grid" in given and not composed:
        raise InvalidParameterError(
            "--grid requires --delta and more than one step (or a tree), because only then losses are "
            f"convolved, got {name} with {'a' if approximate else 'no'} delta and --steps {steps}.",
            code="E-OPTION-UNUSED",
        )


def _listed(names: Collection[str]) -> str:
    return ", ".join(f"--{name}" for name in names)


def help_on_mechanisms() -> str:
    """Return a paragraph per mechanism: its parameter, the meaning of ``--sensitivity``, and its options."""
    lines = ["\b", "The mechanisms: parameter, meaning of --sensitivity, and further options"]
    for name, kind in MECHANISMS.items():
        own = [option for option in _used(kind) if option not in COMMON]
        lines += [f"  {name}: {kind.parameter}, {kind.scales}", *([f"    {_listed(own)}"] if own else [])]
    note = [
        "\b",
        "The messages of LinUCB, (phi y, phi phi^T) with ||phi|| <= 1 and |y| <= 1, have joint",
        'sensitivity sqrt(4.5), which is 2.1214 rounded up: --sensitivity "sqrt(4.5)".',
    ]
    return "\n".join([*lines, "", *note])
