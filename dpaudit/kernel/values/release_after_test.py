"""Compute the cost of a release after a test of its sensitivity (propose-test-release).

**Statement.** A count d of tests F_k <= g is released as d + Laplace noise. On the paths on which this
outcome is above a number T, v + Laplace noise of scale c is released as well. Let |v' - v| <= q min(F_k(x),
F_k(x')) for every test and all neighbours (``order_statistics``). Then the test costs delta = P(noise > T)
in addition to its own cost, and the second release costs epsilon = q g / c.

*Proof.* Fix neighbours x and x'. If d >= 1 on x or on x', some test holds there, so |v' - v| <= q F_k <= q
g. If d = 0 on both, the outcome is above T with probability at most delta, given all earlier outcomes. Call
it a failure that it is above T in this case. Each test is charged on every path on which it is made, also
where its outcome is not above T. So failures have at most the probability D, the largest sum of delta on a
path: by induction from the last test, their probability after any prefix is at most the largest sum on the
rest of the path. Now stop the program at a failure. Without a failure, each release has the cost that it is
charged. So P(E) <= P(failure) + P(E without failure), and the bounds of the other costs hold for the second
term. QED

How a record says it. The release of the count is followed by the text "test i m": the outcome of the
release i is called m in questions. A release with ``given`` has the fields ``test``, the release of the
count, and ``above``, the number T. The check requires that a question on the path, with the answer that the
path takes, implies T or more.

Source: Dwork and Lei 2009, Differential privacy and robust statistics; Vadhan 2017, The complexity of
differential privacy, section 3.2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.costs import Cost
from dpaudit.kernel.values.expressions import polynomial
from dpaudit.kernel.values.info import Info, Setting, need, union
from dpaudit.kernel.values.order_statistics import sensitivity
from dpaudit.kernel.values.polynomials import Poly
from dpaudit.kernel.values.private_scale import exp_above
from dpaudit.kernel.values.views import Support

__all__ = ["after_test_cost", "failure_of_test", "passed_tests", "require_passed", "smallest_threshold"]

EVENT = re.compile(r"(release|test) (\d{1,9})(?: (\d{1,9}))?", re.ASCII)
QUESTION = "truth "


def passed_tests(
    s: Setting, events: Sequence[Any], table: Sequence[Any]
) -> list[tuple[dict[str, Any], Fraction]]:
    """Return the tests made on a path whose outcome is known to be above a number, with the number."""
    named: dict[int, dict[str, Any]] = {}
    found: list[tuple[dict[str, Any], Fraction]] = []
    last: int | None = None
    for event in events:
        match = EVENT.fullmatch(str(event[1])) if event[0] == "show" else None
        if match is not None and match.group(1) == "test":
            number, name = int(match.group(2)), int(match.group(3))
            need(last == number and name not in named, "a test must follow its release and have its own name")
            named[name] = table[number]
        last = int(match.group(2)) if match is not None and match.group(1) == "release" else None
        if event[0] == "fork":
            for name, test in named.items():
                level = _above(s, event[1], event[2], name)
                found += [] if level is None else [(test, level)]
    return found


def _above(s: Setting, question: Any, answer: Any, name: int) -> Fraction | None:
    """Return a number above which the answer puts the outcome ``name``, or None."""
    if not str(question).startswith(QUESTION) or answer not in (0, 1):
        return None
    expression = json.loads(str(question)[len(QUESTION) :])
    comparison = expression[1:] if expression[0] == "function" else expression
    if len(comparison) != 3 or comparison[0] not in ("lt", "le", "gt", "ge"):
        return None
    smaller, larger = (polynomial(s, part) for part in comparison[1:])
    if (comparison[0] in ("gt", "ge")) == bool(answer):
        smaller, larger = larger, smaller
    outcome = polynomial(s, ["outcome", name])
    [symbol] = outcome.symbols
    difference = larger - smaller  # at least 0
    factor = difference.terms.get(((symbol, 1),), Fraction(0))
    rest = (difference - outcome * factor).number
    return -rest / factor if rest is not None and factor > 0 else None


def require_passed(s: Setting, events: Sequence[Any], table: Sequence[Any]) -> None:
    """Require that each release after a test comes after the test, on a path on which the test passed."""
    for k, event in enumerate(events):
        match = EVENT.fullmatch(str(event[1])) if event[0] == "show" else None
        if match is None or match.group(1) != "release" or "given" not in table[int(match.group(2))]:
            continue
        given = table[int(match.group(2))]["given"]
        passed = passed_tests(s, events[:k], table)
        need(
            any(test == given["test"] and level >= Fraction(given["above"]) for test, level in passed),
            "a release after a test requires a path on which the test passed",
        )


def smallest_threshold(test: dict[str, Any], table: Sequence[Any]) -> Fraction | None:
    """Return the smallest number that a test must be above for a release, or None if there is no release."""
    given = [release["given"] for release in table if "given" in release]
    return min((Fraction(one["above"]) for one in given if one["test"] == test), default=None)


def after_test_cost(value: Info, count: Info, scale: Poly) -> tuple[Cost, Support]:
    """Return the cost of a release with Laplace noise after a test, and the records in it."""
    need(count.shape == value.shape == () and "tests" in count.facts, "a test must count comparisons")
    need(scale.number is not None and scale.number > 0, "a release after a test requires a constant scale")
    vector, [tests] = count.facts["tests"]
    known, entries = value.facts.get("order", (None, ()))
    need(known == vector, "a test must be of the vector from which the released value is computed")
    change = Fraction(0)
    for test in tests:
        q = sensitivity(vector, entries[0], test.forms)
        need(q is not None, "a test does not bound the change of the released value")
        change = max(change, Fraction(q or 0) * max(test.number, Fraction(0)))
    return Cost(change / (scale.number or Fraction(1))), union(value.support, count.support)


def failure_of_test(scale: Poly, threshold: Fraction) -> Fraction:
    """Return at least P(Z > threshold) for Laplace noise Z."""
    need(scale.number is not None and scale.number > 0, "the noise of a test must have a constant scale")
    if threshold <= 0:
        return Fraction(1)
    return exp_above(-threshold / (scale.number or Fraction(1))) / 2
