"""Use the tests that a path has passed to bound the change of a released value (propose-test-release)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.info import RefusedStepError
from dpaudit.kernel.values.release_after_test import passed_tests
from dpaudit.kernel.values.releases import cost_of, drawn_of
from dpaudit.prover.values.run import Run

__all__ = ["after_test"]


def after_test(run: Run, release: dict[str, Any]) -> dict[str, Any]:
    """Return a release with the test that makes it cheapest, if it costs more than is claimed without one.

    A test costs a delta on every path, so a claim without delta has no use for it.
    """
    value = run.record.infos[release["node"]]
    if run.most is None or release["law"] != "laplace" or "order" not in value.facts:
        return release
    plain = _epsilon(run, release)
    if plain is not None and plain <= run.most:
        return release
    found = [
        {**release, "given": {"test": test, "above": str(above)}}
        for test, above in passed_tests(run.s, run.walk.events, run.record.releases)
    ]
    costs = [(cost, k) for k, one in enumerate(found) if (cost := _epsilon(run, one)) is not None]
    return found[min(costs)[1]] if costs else release


def _epsilon(run: Run, release: dict[str, Any]) -> Fraction | None:
    drawn = [drawn_of(run.s, d.distribution, d.scale, d.shape) for d in run.draws]
    try:
        return max(part.cost.epsilon for part in cost_of(run.s, run.record.infos, [release], drawn))
    except RefusedStepError:
        return None
