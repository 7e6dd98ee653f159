"""Follow the draw of a random number of runs, which only a loop may use (``repetitions``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.prover.values.operations import PLAIN, content
from dpaudit.prover.values.run import Run, exact
from dpaudit.prover.values.values import Count

__all__ = ["COUNTS", "counted"]

#: The distributions of a number of runs: the name of the law, and its parameters by those of numpy.
COUNTS = {
    "geometric": ("geometric", {"p": "chance"}),
    "logseries": ("logarithmic", {"p": "p"}),
    "negative_binomial": ("negative-binomial", {"n": "n", "p": "chance"}),
    "binomial": ("binomial", {"n": "n", "p": "p"}),
    "poisson": ("poisson", {"lam": "mean"}),
}


def counted(run: Run, name: str, given: dict[str, Any]) -> Count:
    """Follow ``rng.geometric(p)`` and similar draws, as a number of runs that nobody sees."""
    law, keys = COUNTS[name]
    if run.on_plain_data:
        run.refuse("a random number of runs has no exact distribution here")
    if given.get("size") is not None:
        run.refuse(f"rng.{name} with size=... is not supported (draw one number of runs)")
    numbers = {key: content(given.get(key, 1.0)) for key in keys}
    if not all(isinstance(one, PLAIN) and np.isfinite(float(one)) for one in numbers.values()):
        run.refuse(f"rng.{name} requires constants, got a private or released value")
    return Count({"law": law, **{keys[key]: str(exact(one)) for key, one in numbers.items()}})
