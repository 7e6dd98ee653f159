"""The options of ``dpaudit calibrate``: read, checked, and refused where a mechanism does not use them.

An option that changes nothing would let somebody believe that it did; so it is an error, and the message
names the options that count.
"""

from __future__ import annotations

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

#: What every mechanism has.
COMMON = ("epsilon", "delta", "sensitivity", "steps", "have", "seconds")
#: Beyond this a claim says nothing, and numbers leave the floats that a search needs.
LARGEST_EPSILON = 10**6
#: Digits of a square root, which is rounded up.
ROOT_DIGITS = 15
COUNTS = {
    "candidates": "count the scores",
    "answers": "count the answers above the threshold",
    "leaves": "count the leaves of the tree",
    "parties": "count the parties or users",
    "dim": "count the features",
    "steps": "count the runs of the mechanism",
}


def length(text: str, *, name: str) -> Fraction:
    """A number greater than 0, exact; ``sqrt(x)`` is taken exactly where it is rational, or rounded up in
    about its 15th digit, so that what is certified for it holds for the root, too.

    Raises ``InvalidParameterError`` for anything else.
    """
    stripped = text.strip()
    if not (stripped.startswith("sqrt(") and stripped.endswith(")")):
        try:
            return positive(text, name=name)
        except InvalidParameterError as error:
            if "such as" not in str(error):
                raise
            raise InvalidParameterError(
                f'{name} must be a number such as 2, 0.1, 1/3 or "sqrt(4.5)", got {text[:60]!r}; correct it.'
            ) from error
    square = positive(stripped[5:-1], name=name)
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if (top * top, bottom * bottom) == (square.numerator, square.denominator):
        return Fraction(top, bottom)
    unit = Fraction(10) ** (ROOT_DIGITS - len(str(int(square))) // 2 + _zeros(square) // 2)
    return Fraction(isqrt(int(square * unit * unit)) + 1) / unit


def _zeros(number: Fraction) -> int:
    """About how many zeros follow the point."""
    return max(0, len(str(number.denominator)) - len(str(number.numerator)))


def checked_epsilon(text: str) -> Fraction:
    """The claim's epsilon, in (0, 10^6]; raises ``InvalidParameterError``."""
    epsilon = positive(text, name="--epsilon")
    if epsilon > LARGEST_EPSILON:
        raise InvalidParameterError(
            f"--epsilon must be at most {LARGEST_EPSILON}, got {text}; above that a claim says nothing."
        )
    return epsilon


def checked_delta(text: str | None, kind: Mechanism, *, name: str) -> Fraction | None:
    """The claim's delta in (0, 1), or 0 where the mechanism has a pure guarantee; ``None`` stays ``None``."""
    if text is None:
        return None
    delta = exact(text, name="--delta")
    if not 0 <= delta < 1:
        raise InvalidParameterError(
            f"--delta must be in [0, 1), got {text}; at 1 every mechanism satisfies the claim: try 1e-6."
        )
    if delta == 0 and kind.needs_delta:
        raise InvalidParameterError(
            f"--delta must be greater than 0 for {name}, got {text}: no finite noise of it has a pure "
            "guarantee; pass a delta such as 1e-6, or take laplace or discrete-laplace."
        )
    return delta


def checked_shape(given: Mapping[str, Any]) -> Shape:
    """The shape from the values of the options by name; raises ``InvalidParameterError`` out of range."""
    for name, move in COUNTS.items():
        if given[name] < 1:
            raise InvalidParameterError(f"--{name} must be 1 or more, got {given[name]}; {move}.")
    share = positive(given["share"], name="--share")
    if share > 1:
        raise InvalidParameterError(
            f"--share must be in (0, 1], got {given['share']}; pass the part of the parties that turns up."
        )
    step = positive(given["grid"], name="--grid")
    counts = {name: given[name] for name in COUNTS if name != "steps"}
    return Shape(**counts, share=share, grid=LossGrid(step=step))


def _used(kind: Mechanism) -> tuple[str, ...]:
    """The options that count for a mechanism. The grid serves compositions by loss distributions, with a
    delta."""
    return (*COMMON, *sorted(kind.uses), *(() if kind.adds_up else ("grid",)))


def refuse_unused(name: str, given: Collection[str], *, approximate: bool, steps: int) -> None:
    """Raise ``InvalidParameterError`` for options of ``given`` that the mechanism called ``name`` does not
    use. ``all`` uses each somewhere."""
    if name == "all":
        return
    kind = MECHANISMS[name]
    used = _used(kind)
    unused = sorted(set(given) - set(used))
    if unused:
        raise InvalidParameterError(
            f"{name} must be given only options that it uses ({_listed(used)}), got {_listed(unused)}; "
            "leave that out."
        )
    composed = approximate and (steps > 1 or "leaves" in kind.uses)
    if "grid" in given and not composed:
        raise InvalidParameterError(
            "--grid must come with --delta and more than one step (or a tree), where losses are convolved; "
            f"got it for {name} with {'a' if approximate else 'no'} delta and --steps {steps}; leave it out."
        )


def _listed(names: Collection[str]) -> str:
    return ", ".join(f"--{name}" for name in names)


def help_on_mechanisms() -> str:
    """A paragraph a mechanism: its parameter, what ``--sensitivity`` scales, and its options."""
    lines = ["\b", "The mechanisms: parameter; what --sensitivity is; options beside the common ones"]
    for name, kind in MECHANISMS.items():
        own = [option for option in _used(kind) if option not in COMMON]
        lines += [f"  {name}: {kind.parameter}; {kind.scales}", *([f"    {_listed(own)}"] if own else [])]
    note = [
        "\b",
        "The messages of LinUCB, (phi y, phi phi^T) with ||phi|| <= 1 and |y| <= 1, move",
        'together by sqrt(4.5) at most, 2.1214 rounded up: --sensitivity "sqrt(4.5)".',
    ]
    return "\n".join([*lines, "", *note])
