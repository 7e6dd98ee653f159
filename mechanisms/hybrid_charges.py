"""The privacy cost of one observation in the hybrid counter: 1/scale for each used noise that contains it.

Each released sum that contains an observation holds exactly one noise whose block covers it. Shifting all
used noises that cover it by a change of at most 1 maps a set of runs from one input onto the other. The
density changes by a factor of at most exp(sum of 1/scale), so this charge bounds the loss of everything that
follows from the released sums. Names, blocks and scales are those of ``hybrid_counter``.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.mechanisms.hybrid_counter import HybridVariant

__all__ = ["block_of", "charge_at", "largest_charge", "released_noises", "scale_of"]


def released_noises(arm: int, pulls: int, variant: HybridVariant = "printed") -> list[str]:
    """Return the noises in the released sum of the counter ``arm`` after ``pulls`` >= 1 observations.

    ``Zr`` is the noise of array r, ``Yr:h:j`` the noise of node j of height h in the tree with 2^r leaves.
    """
    # The current tree holds pulls 2^level to 2^(level+1) - 1; level 0 is an array only.
    level = pulls.bit_length() - 1
    names = [f"{arm}/Z{r}" for r in range(max(level, 1))]
    leaves = pulls - (2**level - 1) if level else 0
    if leaves == 2**level and variant == "promoted":
        return [*names, f"{arm}/Z{level}"]
    start = 0
    for height in range(level, -1, -1):
        if leaves >> height & 1:
            names.append(f"{arm}/Y{level}:{height}:{start >> height}")
            start += 2**height
    return names


def scale_of(name: str, variant: HybridVariant = "printed") -> Fraction:
    """Return the scale in units of 2/epsilon: 1 for an array, r (or r + 1, widened) for a node of the tree
    with 2^r leaves.
    """
    kind, level = _kind(name)
    return Fraction(1) if kind == "Z" else Fraction(level + (variant == "repaired"))


def block_of(name: str) -> range:
    """Return the pulls whose rewards the sum under this noise contains."""
    kind, level = _kind(name)
    if kind == "Z":
        return range(2**level, 2 ** (level + 1))
    height, index = (int(part) for part in name.split(":")[1:])
    first = 2**level + (index << height)
    return range(first, first + 2**height)


def _kind(name: str) -> tuple[str, int]:
    label = name.split("/")[1].split(":")[0]
    return label[0], int(label[1:])


def charge_at(level: int, *, variant: HybridVariant = "printed") -> Fraction:
    """Return the largest loss that one reward of the block of 2^level pulls can cause, in units of epsilon.

    Only used noises that contain the reward count.
    """
    used = {name for pulls in range(1, 2 ** (level + 1) + 1) for name in released_noises(1, pulls, variant)}
    return max(
        sum((1 / (2 * scale_of(name, variant)) for name in used if pull in block_of(name)), Fraction(0))
        for pull in range(2**level, 2 ** (level + 1))
    )


def largest_charge(levels: int, *, variant: HybridVariant = "printed") -> Fraction:
    """Return the largest ``charge_at`` up to ``levels`` >= 1, which is the largest of all.

    At most r + 1 nodes of the tree with 2^r leaves contain a leaf, so no level exceeds level 1.
    """
    if levels < 1:
        raise InvalidParameterError(f"levels must be at least 1, got {levels}; the first tree has level 1.")
    return max(charge_at(level, variant=variant) for level in range(levels + 1))
