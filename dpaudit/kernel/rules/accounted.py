"""Rule ``accounted``: a whole program, by what it declares that one record can touch.

Statement. The program's releases fall into classes of sites. Premise i holds for one release of class i, for
every prefix of earlier outcomes, and between neighbours at most n_i releases of class i (``touches``) have
another law, in every run. Everything else that is shown is a function of earlier outcomes and public data.
Then the transcript costs the sum of n_i times premise i.

Proof. Take any prefix of shown outcomes. Given it, the next outcome has the same law on both sides, unless it
is one of the touched releases, whose conditional law pair satisfies its premise. So the log-ratio of the
transcript is a sum with at most n_i terms of class i: adaptive sequential composition, with steps that cost
nothing in between. Which releases are touched may depend on the outcomes, so long as their number stays
within n_i. ∎

The last remark. Pure bounds add along each transcript. Where a premise has a dominating pair (GDP, and every
premise when a ``grid`` is given) the simulation in ``pairs`` draws n_i copies beforehand and uses them in
whatever order. zCDP parameters still add: this is a filter whose total never exceeds the sum (Feldman and
Zrnic 2021, Theorem 3.1).

That the program touches what is declared is not proved here; it is the assumption that the certificate
carries, word for word.
"""

from __future__ import annotations

from dpaudit.kernel.rules.pairs import read_grid
from dpaudit.kernel.rules.sequential import MAX_PREMISES, MAX_TIMES, add_up
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


@rule("accounted", premises=(1, MAX_PREMISES))
def _accounted(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    touches = parameters.integers("touches", low=1, high=MAX_TIMES, length=len(premises))
    sites = parameters.texts("sites", length=len(premises))
    if len(set(sites)) != len(sites):
        raise parameters.fail(f"each class of sites must be listed once, got {sites}; merge the classes.")
    counts = ", ".join(f"{site} at most {count}" for site, count in zip(sites, touches, strict=True))
    assumption = (
        f"the program touches what is declared ({parameters.text('declared')}): releases per record: {counts}"
    )
    return add_up(premises, touches, read_grid(parameters)).with_assumptions([assumption])
