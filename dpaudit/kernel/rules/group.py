"""Rule ``group``: from one event to everything that one user contributes.

Statement. Let the premise hold between data sets that differ in one event, and let one user contribute at
most k events (``events``). Between data sets that differ in all of a user's events, pure epsilon is
multiplied by k, mu by k (so mu^2 by k^2), and rho by k^2.

Proof. A chain of k data sets leads from one to the other, each step one event. Pure: log-ratios add. GDP:
Dong, Roth, Su 2022, Theorem 2.14. zCDP: Bun and Steinke 2016, Proposition 1.9. ∎

That a user contributes no more than k events is declared, and becomes an assumption.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpaudit.claims import Unit
from dpaudit.kernel.rules.sequential import zcdp
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


def _per_event(parameters: dict[str, Any], setting: Setting) -> Setting:
    return setting if setting.unit is None else replace(setting, unit=Unit.EVENT)


@rule("group", premises=(1, 1), premise_setting=_per_event)
def _group(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    if setting.unit is Unit.EVENT:
        raise parameters.fail(
            "group privacy must be for a claim per user, got one per event; use the premise itself."
        )
    events = parameters.integer("events", low=1, high=10**12)
    premise, rho = premises[0], zcdp(premises[0])
    return Guarantee(
        pure=None if premise.pure is None else events * premise.pure,
        gdp_squared=None if premise.gdp_squared is None else events**2 * premise.gdp_squared,
        rho=None if rho is None else events**2 * rho,
        assumptions=(f"one user contributes at most {events} events: {parameters.text('declared')}",),
    )
