"""The experiments of Hu, Huang and Mehta (arXiv 2102.07929), section 6 and appendix I.

The paper prints no numbers and does not state the reward distribution. This audit assumes Bernoulli
rewards."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["EPSILONS", "HORIZON", "RUNS", "SETTINGS"]

#: Means of the K = 5 arms in the three settings.
SETTINGS: Mapping[int, tuple[float, ...]] = {
    1: (0.75, 0.70, 0.70, 0.70, 0.70),
    2: (0.75, 0.625, 0.5, 0.375, 0.25),
    3: (0.75, 0.15, 0.15, 0.15, 0.15),
}
EPSILONS: tuple[str, ...] = ("0.1", "0.25", "0.5", "1", "8", "64", "128")
HORIZON = 2 * 2**21
RUNS = 15
