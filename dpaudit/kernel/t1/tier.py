"""T1: extensions of a higher tier to the rules of ``kernel_t0``: curves of a mechanism, and new rules.

Curves are functions, because they are computed only when a claim needs them. ``profile`` maps epsilon to an
upper bound on delta. ``renyi`` maps an order above 1 to an upper bound on the Renyi divergence. Both give
balls, whose upper ends count. ``pair`` maps a grid to the upper loss distribution of a dominating pair.
``None`` means that there is no such bound.

Two more serve compositions. ``directed`` maps a grid to two upper distributions. One dominates the pairs (run
on the larger data, run on the smaller), and the other dominates the reverse pairs, because neighbours by
addition or removal of a record keep their direction in every step. ``cut`` maps an order to (b, r): the
probability outside some range of outcomes is at most b, and the Renyi divergence inside, with the first
distribution restricted to the range, is at most r (F5 of ``renyi``). ``orders`` are worth trying in
conversions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from dpaudit.kernel.kernel_t0 import HIGHER, Decorator, Derivation, Guarantee, Parameters, Rule, Setting
from dpaudit.kernel.t1.certpld import Grid, LossDistribution

__all__ = ["Curves", "Extension", "Tier", "curves_of"]

Curve = Callable[[Fraction], arb]
Inner = Callable[[Parameters, Setting], Setting]


@dataclass(frozen=True, kw_only=True)
class Curves:
    """The bounds of tiers above T0 on a mechanism, besides its rational bounds."""

    profile: Curve | None = None
    renyi: Curve | None = None
    pair: Callable[[Grid], LossDistribution] | None = None
    directed: Callable[[Grid], tuple[LossDistribution, LossDistribution]] | None = None
    cut: Callable[[Fraction], tuple[arb, arb]] | None = None
    orders: tuple[Fraction, ...] = ()


def curves_of(guarantee: Guarantee) -> Curves:
    """Return the curves of a guarantee, or empty curves."""
    return guarantee.curves if isinstance(guarantee.curves, Curves) else Curves()


#: A function from parameters, premises, setting and the lower tier's guarantee to curves, or None to keep the
#: curves unchanged.
Extension = Callable[[Parameters, tuple[Guarantee, ...], Setting, Guarantee], Curves | None]


class Tier:
    """The rules of a tier: the rules below it, some of them extended, and its own."""

    def __init__(self, name: str, below: dict[str, Rule]) -> None:
        self.name = name
        self.rules = dict(below)

    def rule(
        self, name: str, premises: tuple[int, int] = (0, 0), inner: Inner = lambda _, setting: setting
    ) -> Decorator:
        """Register a rule of this tier (decorator). It replaces a rule below of the same name.

        A rule from outside the kernel is an assumption of every certificate that uses it.
        """

        def decorate(derive: Derivation) -> Derivation:
            def foreign(p: Parameters, below: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
                words = f"the rule {name!r} is the suite's own: the kernel did not prove it"
                return derive(p, below, setting).assuming(words)

            own = derive.__module__.startswith("dpaudit.kernel.")
            self.rules[name] = Rule(premises, derive if own else foreign, inner)
            HIGHER.setdefault(name, self.name)
            return derive

        return decorate

    def extend(self, name: str) -> Callable[[Extension], Extension]:
        """Add curves to the guarantee of the rule ``name`` of the tier below (decorator)."""
        below = self.rules[name]

        def decorate(extension: Extension) -> Extension:
            def derive(p: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
                guarantee = below.derive(p, premises, setting)
                curves = extension(p, premises, setting, guarantee)
                return guarantee if curves is None else replace(guarantee, curves=curves)

            self.rules[name] = Rule(below.premises, derive, below.inner)
            return extension

        return decorate
