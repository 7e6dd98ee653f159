"""Follow noise in shares: sums of all users' noisy integers, integer noise modulo m, and hidden coins.

``coins.aggregate([share.shift(x) for x in values], Sum(), ...)`` shows the sum of the values plus the sum of
equal, independent shares. ``SumMod(m)`` and ``WrappedMod`` show it modulo m, which is post-processing. The
kernel derives the distribution of the sum of the shares (``kernel.values.shares``).

``Shuffle()`` shows all messages in sorted order. The record releases the messages themselves instead.

Proof. The sorted messages are a function of the messages, so they cost at most as much. Their values are also
values of messages, for all of which the rest of the path is followed. No amplification is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit import distributions
from dpaudit.prover.values.amplification import shuffled
from dpaudit.prover.values.operations import binary, content, is_plain
from dpaudit.prover.values.randomness import (
    Distribution,
    Moved,
    Wrapped,
    bound_call,
    distribution_of,
    make_family,
    modulo,
    released_with,
    require_own,
)
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.tabulated import Tabulated
from dpaudit.prover.values.values import Array, Symbol

__all__ = ["IMAGES", "Image", "aggregate", "make_image", "make_wrapped"]

IMAGES = (distributions.Sum, distributions.SumMod, distributions.Counts, distributions.Shuffle)


@dataclass(frozen=True, eq=False)
class Image(Symbol):
    """``Sum()``, ``SumMod(m)``, ``Counts(k)`` or ``Shuffle()``, as the program constructed it."""

    real: Any


def make_image(run: Run, kind: type, arguments: list[Any], options: dict[str, Any]) -> Image:
    """Construct ``Sum()``, ``SumMod(m)``, ``Counts(k)`` or ``Shuffle()`` from constants."""
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
    """Follow ``coins.aggregate`` for sums of equal shares, and for functions of shuffled messages."""
    given = bound_call(run, "aggregate", arguments, options)
    parts, image = given["distributions"], given["through"]
    if not isinstance(parts, list | tuple) or not parts:
        run.refuse("coins.aggregate requires a list with one distribution for each user")
    if not isinstance(image, Image):
        run.refuse("coins.aggregate requires Sum(), SumMod(m), Counts(k) or Shuffle()")
    if run.generator is not None:  # a run on real data draws real numbers
        people = given["to"]
        return run.plain(
            lambda: run.generator.aggregate(
                [distribution_of(part) for part in parts], image.real, site=given["site"], to=people
            )
        )
    if any(isinstance(part, Tabulated) for part in parts):
        return shuffled(run, parts, image.real)
    if isinstance(image.real, distributions.Shuffle):
        return _messages(run, parts, image.real)
    if isinstance(image.real, distributions.Counts):
        run.refuse("Counts requires messages from RandomisedResponse or Categorical")
    if not all(isinstance(part, Moved | Distribution) for part in parts):
        run.refuse("coins.aggregate requires equal integer noise for each user, such as share.shift(x)")
    share = _share(run, parts)
    total: Any = 0
    for part in parts:
        if isinstance(part, Moved):
            total = binary(run, "add", total, part.offset)
    found = released_with(run, total, share)
    return modulo(run, found, image.real.modulus) if isinstance(image.real, distributions.SumMod) else found


def _messages(run: Run, parts: Sequence[Any], image: Any) -> Any:
    """Release the messages of all users, which are numbers or vectors of one length."""
    if run.on_plain_data:  # the loss of the messages can be larger than that of the sorted messages
        run.refuse("the loss of shuffled messages is not computed")
    if not all(isinstance(part, Moved) for part in parts):
        run.refuse("shuffled messages must be noise.shift(x) for each user")
    first, *others = [part.noise for part in parts]
    same = isinstance(first.scale, Fraction) and all(
        (one.distribution, one.scale) == (first.distribution, first.scale) for one in others
    )
    if not same:
        run.refuse("shuffled messages must have equal noise of constant scale")
    sent = [run.lift(part.offset) for part in parts]
    shape = sent[0].shape
    fits = all(one.shape == shape and not one.info.records for one in sent) and len(shape) <= 1
    if not fits or image.row_ndim not in (None, len(shape)):
        run.refuse("shuffled messages must be numbers or vectors of one length, without row_ndim")
    kind = "i" if all(one.info.kind in "bi" for one in sent) else "f"
    return released_with(run, Array(run.stacked(sent, kind)), first)


def _share(run: Run, parts: Sequence[Moved | Distribution]) -> Distribution:
    """Return the noise of all users together."""
    shares = [part.noise if isinstance(part, Moved) else part for part in parts]
    if not all(one.equals(shares[0]) for one in shares):
        run.refuse(
            "the shares of all users must have the same distribution with the same constant parameters"
        )
    return make_family(run, shares[0].real, parties=len(parts))
