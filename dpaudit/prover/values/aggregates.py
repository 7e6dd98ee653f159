"""Follow noise in shares: sums of all users' noisy integers, integer noise modulo m, and hidden coins.

``coins.aggregate([share.shift(x) for x in values], Sum(), ...)`` shows the sum of the values plus the sum of
equal, independent shares. ``SumMod(m)`` and ``WrappedMod`` show it modulo m, which is post-processing. The
kernel derives the distribution of the sum of the shares (``kernel.values.shares``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit import distributions
from dpaudit.prover.values.operations import binary, content, is_plain
from dpaudit.prover.values.randomness import (
    Distribution,
    Moved,
    Wrapped,
    bound_call,
    distribution_of,
    make_family,
    modulo,
    real_argument,
    released_with,
    require_own,
)
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.values import Array, Symbol

__all__ = ["IMAGES", "Image", "aggregate", "make_image", "make_wrapped"]

IMAGES = (distributions.Sum, distributions.SumMod)


@dataclass(frozen=True, eq=False)
class Image(Symbol):
    """``Sum()`` or ``SumMod(m)``, as the program constructed it."""

    real: Any


def make_image(run: Run, kind: type, arguments: list[Any], options: dict[str, Any]) -> Image:
    """Construct ``Sum()`` or ``SumMod(m)``."""
    require_own(run, kind)
    if not is_plain([*arguments, *options.values()]):
        run.refuse(f"{kind.__name__} requires constants")
    return Image(run.plain(kind, *arguments, **options))


def make_wrapped(run: Run, arguments: list[Any], options: dict[str, Any]) -> Wrapped:
    """Construct ``WrappedMod(noise, modulus=m, offset=x)``."""
    require_own(run, distributions.WrappedMod)
    if len(arguments) != 1 or not set(options) <= {"modulus", "offset"} or "modulus" not in options:
        run.refuse("WrappedMod requires its noise, and modulus= and offset= by name")
    noise, modulus = content(arguments[0]), content(options["modulus"])
    if not isinstance(noise, Distribution) or noise.real is None or type(modulus) is not int:
        run.refuse("WrappedMod requires integer noise with constant parameters, and a constant modulus")
    run.plain(distributions.WrappedMod, noise.real, modulus=modulus)  # refuses what the program would
    offset = options.get("offset", 0)
    if isinstance(offset, Array):  # the distribution copies it, but an alias is not followed
        offset.shared = True
    return Wrapped(noise, modulus, offset)


def aggregate(run: Run, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Follow ``coins.aggregate`` for sums of equal shares."""
    given = bound_call(run, "aggregate", arguments, options)
    parts, image = given["distributions"], given["through"]
    if not isinstance(parts, list | tuple) or not parts:
        run.refuse("coins.aggregate requires a list with one distribution for each user")
    if not isinstance(image, Image):
        run.refuse("coins.aggregate requires Sum() or SumMod(m)")
    if run.generator is not None:  # a run on real data draws real numbers
        people = given["to"]
        return run.plain(
            lambda: run.generator.aggregate(
                [_real_part(part) for part in parts], image.real, site=given["site"], to=people
            )
        )
    if not all(isinstance(part, Moved | Distribution) for part in parts):
        run.refuse("coins.aggregate requires equal integer noise for each user, such as share.shift(x)")
    share = _share(run, parts)
    total: Any = 0
    for part in parts:
        if isinstance(part, Moved):
            total = binary(run, "add", total, part.offset)
    found = released_with(run, total, share)
    return modulo(run, found, image.real.modulus) if isinstance(image.real, distributions.SumMod) else found


def _share(run: Run, parts: Sequence[Moved | Distribution]) -> Distribution:
    """Return the noise of all users together."""
    shares = [part.noise if isinstance(part, Moved) else part for part in parts]
    first = shares[0]
    if any(one.real is None or type(one.real) is not type(first.real) for one in shares):
        run.refuse("the shares of all users must have the same distribution with constant parameters")
    if any(one.real.parameters() != first.real.parameters() for one in shares):
        run.refuse("the shares of all users must have the same parameters")
    return make_family(run, first.real, parties=len(parts))


def _real_part(part: Any) -> Any:
    if isinstance(part, Moved):
        return distribution_of(part.noise).shift(real_argument(part.offset))
    return distribution_of(part)
