"""Recognise randomised response in the forms that users write.

Every form is reduced to one answer per entry: the entry itself with probability p, and otherwise a flipped
bit or a uniform integer below k (``Response``). Randomness that no form uses is published.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.prover.values.functions import ACCEPTED, call_accepted
from dpaudit.prover.values.operations import LATER, content, published
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.values import Array, Choice, Coin, Filtered, Private, Response, Turned

__all__ = ["absolute_rule", "randomised_rule"]

FORMS = (
    "this form of randomised response is not supported (write np.where(rng.random(n) < p, d, other)"
    " with other = 1 - d or other = rng.integers(k, size=n))"
)


def randomised_rule(run: Run, coin: Coin, x: Any, y: Any) -> Any:
    """Follow ``np.where(coins, x, y)``, where one of x and y is private and the other is an alternative.

    The alternative to private entries d is 1 - d, ~d, -d for signs, a fair coin, ``rng.integers(k, size=n)``
    or ``(d + rng.integers(1, k, size=n)) % k``, which is uniform among the other k - 1 integers. Keeping d
    with probability p, and otherwise taking one of those, is to keep it with probability (p k - 1) / (k - 1),
    and otherwise to take any of the k integers.
    """
    base, other, p = content(x), content(y), coin.p
    if not isinstance(base, Private) or (isinstance(other, Private) and _flips(run, other, base)):
        base, other, p = other, base, 1 - p  # here a coin of 1 replaces its entry
    if not isinstance(base, Private) or not _usable(run, base, coin):
        return run.refuse(
            "randomised response requires exactly one unused coin for each entry of the records"
        )
    among: int | None = None
    used: list[Any] = [coin.uniform]
    signs = _signs(run, base, other) if isinstance(other, Private) else None
    if signs is not None:
        return _of_signs(run, coin, base.info.kind, p, signs, x, y)
    if isinstance(other, Coin) and _fair(other, coin, base):
        p, used = p + (1 - p) / 2, [*used, other.uniform]
    elif isinstance(other, Choice) and other.first == 0 and _unused(other, base):
        among, used = other.limit, [*used, other]
    elif isinstance(other, Turned) and other.modulus is not None and other.base.node == base.node:
        k, choice = other.modulus, other.random
        p = (p * k - 1) / (k - 1)
        if p < 0 or not isinstance(choice, Choice) or not _unused(choice, base):
            return run.refuse(FORMS)
        among, used = k, [*used, choice]
    elif not isinstance(other, Private) or not _negates(run, base, other):
        return run.refuse(FORMS)
    for one in used:
        one.used = True
    samples = [
        apply(np.where, coin.samples[side], run.sample(x, side), run.sample(y, side))
        for side in run.worlds.sides
    ]
    found = Response(base, p, among, [_scalar(one) if base.shape == () else one for one in samples])
    return found if base.shape == () else Array(found)


def _scalar(value: Any) -> Any:
    return value[()] if isinstance(value, np.ndarray) else value


def _usable(run: Run, base: Private, coin: Coin) -> bool:
    """Return whether there is one unused coin for each entry of the records, or of one number."""
    rows = base.info.records == 1 or (base.shape == () and not base.info.records)
    return rows and base.shape == coin.shape and not coin.uniform.used


def _unused(choice: Choice, base: Private) -> bool:
    return not choice.used and choice.shape == base.shape and base.info.kind == "i"


def _fair(other: Coin, coin: Coin, base: Private) -> bool:
    """Return whether ``other`` has a fair coin for each entry, independent of the first coins."""
    alone = other.uniform is not coin.uniform and not other.uniform.used
    return alone and other.p == Fraction(1, 2) and other.shape == base.shape


def _negates(run: Run, bits: Private, other: Private) -> bool:
    """Return whether the record shows that ``other`` is 1 - bits, or the negation of Boolean bits."""
    nodes = run.record.nodes
    op, ids, _ = nodes[other.node]
    if op == "not":
        return bool(ids == [bits.node])
    if op != "sub" or ids[1] != bits.node:
        return False
    known = run.record.infos[ids[0]].values
    one = known is not None and len(known.numerators) == 1 and known.low == 1
    return one and bits.info.kind in "bi"


def _flips(run: Run, base: Private, other: Private) -> bool:
    return _negates(run, base, other) or _signs(run, base, other) is not None


def chosen_by_coin(run: Run, coin: Coin, x: Any, y: Any) -> Any:
    """Follow ``x if coin else y`` for one private bit and its negation, or return None for other operands."""
    a, b = content(x), content(y)
    if not isinstance(a, Private) or not isinstance(b, Private) or a.shape != () or not _usable(run, a, coin):
        return None
    same = a.info.kind == b.info.kind == "i" and a.info.python == b.info.python
    if not same or not (_negates(run, a, b) or _negates(run, b, a)):
        return None
    return randomised_rule(run, coin, a, b)


def _signs(run: Run, base: Private, other: Private) -> tuple[Private, Fraction, Fraction] | None:
    """Return Booleans and the numbers c and -c that they choose in ``base``, if ``other`` is -base."""
    nodes, infos = run.record.nodes, run.record.infos
    (turned, [*of], _), (chosen, ids, _) = nodes[other.node], nodes[base.node]
    if turned != "neg" or of != [base.node] or chosen != "where":
        return None
    bits = Private(ids[0], infos[ids[0]], run.samples[ids[0]])
    ends = [infos[k].values for k in ids[1:]]
    if any(end is None or len(end.numerators) != 1 for end in ends) or bits.shape != base.shape:
        return None
    high, low = (end.low for end in ends if end is not None)
    return (bits, high, low) if high == -low != 0 and bits.info.records == 1 else None


def _of_signs(
    run: Run, coin: Coin, kind: str, p: Fraction, signs: tuple[Private, Fraction, Fraction], x: Any, y: Any
) -> Any:
    """Answer with the Booleans that choose the signs. The signs of the answers are post-processing."""
    bits, *ends = signs
    coin.uniform.used = True
    high, low = (int(one) if kind == "i" else float(one) for one in ends)
    samples = [
        apply(
            lambda c, a, b: np.equal(np.where(c, a, b), high),
            coin.samples[side],
            run.sample(x, side),
            run.sample(y, side),
        )
        for side in run.worlds.sides
    ]
    answers = published(run, Array(Response(bits, p, None, samples)))
    return call_accepted(run, ACCEPTED[id(np.where)], [answers, high, low], {})


def turned(run: Run, op: str, x: Any, y: Any) -> Any:
    """Follow ``d + random`` or ``d - random`` for unused coins or integers, or return None.

    A comparison of Booleans with coins flips them.
    """
    base, random = (x, y) if isinstance(x, Private) else (y, x)
    if not isinstance(base, Private) or not isinstance(random, Coin | Choice) or base.info.records != 1:
        return None
    if random.shape != base.shape or (random.uniform if isinstance(random, Coin) else random).used:
        return None
    samples = [
        apply(LATER["operators"](op), run.sample(x, side), run.sample(y, side)) for side in run.worlds.sides
    ]
    if op in ("ne", "eq") and isinstance(random, Coin) and base.info.kind == "b":
        random.uniform.used = True
        return Array(Response(base, 1 - random.p if op == "ne" else random.p, None, samples))
    if op not in ("add", "sub") or base.info.kind != "i" or (op == "sub" and isinstance(random, Choice)):
        return None
    return Array(Turned(base, random, (op, x, y), None, samples))


def modulo(run: Run, value: Turned, k: Any) -> Any:
    """Follow ``(d + random) % k``, or return None.

    For a bit d and a coin f, d + f and d - f are odd exactly where d != f, so f flips d. For integers from 1
    to k - 1 and 0 <= d < k, the result is a uniform number among the others.
    """
    random = value.random
    if type(k) is not int or k < 2 or value.modulus is not None:
        return None
    samples = [apply(operator.mod, one, k) for one in value.samples]
    if isinstance(random, Coin):
        return _flipped(value, samples) if k == 2 else None
    if (random.first, random.limit) != (1, k):
        return None
    return Array(Turned(value.base, random, value.source, k, samples))


def distance(run: Run, value: Turned) -> Any:
    """Follow ``abs(d - f)`` for bits d and coins f, which flip them, or return None."""
    samples = [apply(np.abs, one) for one in value.samples]
    fits = value.source[0] == "sub" and isinstance(value.random, Coin) and value.modulus is None
    return _flipped(value, samples) if fits else None


def _flipped(value: Turned, samples: list[Any]) -> Any:
    """Return flipped entries, for which the kernel requires that they are bits."""
    coin = value.random
    if coin.uniform.used:
        return None
    coin.uniform.used = True
    return Array(Response(value.base, 1 - coin.p, None, samples))


def absolute_rule(run: Run, x1: Any) -> Any:
    """Follow ``np.abs``, also of bits minus coins."""
    inner = content(x1)
    found = distance(run, inner) if isinstance(inner, Turned) else None
    if found is not None:
        return found
    value = published(run, x1)
    if isinstance(content(value), Private | Filtered):
        return LATER["absolute"](run, value)
    return call_accepted(run, ACCEPTED[id(np.absolute)], [value], {})


def published_turned(run: Run, value: Turned) -> Any:
    """Publish randomness that no form of randomised response uses, and compute with its outcome."""
    op, x, y = value.source
    parts = [published(run, Array(one)) if one is value.random else Array(one) for one in (x, y)]
    found = LATER["binary"](run, op, *parts)
    return found if value.modulus is None else LATER["binary"](run, "mod", found, value.modulus)


LATER["turned"], LATER["modulo"], LATER["distance"] = turned, modulo, distance
LATER["published turned"] = published_turned
LATER["coin choice"] = chosen_by_coin
