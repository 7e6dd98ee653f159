"""Rule ``accounted``: a whole program, by what it declares that one record can touch.

Statement. The program's releases fall into classes of sites. Premise i holds for one release of class i, for every prefix of earlier outcomes,
and between neighbours at most n_i releases of class i (``touches``) have another law, in every run. Everything
else that is shown is a function of earlier outcomes and public data. Then the transcript costs the sum of n_i times premise i.

Proof. Take any prefix of shown outcomes. Given it, the next outcome has the same law on both sides, unless it is one of the touched
releases, whose conditional law pair satisfies its premise. So the log-ratio of the transcript is a sum with at most n_i terms of class i:
adaptive sequential composition, with steps that cost nothing in between. Which releases are touched may depend on the outcomes, so long as
their number stays within n_i. ∎

The last remark holds for the three notions used here: pure bounds add along each transcript. For GDP and zCDP pad each transcript's
touched releases of class i to n_i with releases independent of the data, in the order in which they come; adaptive composition
(Dong, Roth, Su 2022, Theorem 3.2; Bun and Steinke 2016, Lemma 2.3) then covers step k of class i for every prefix. With two or more
classes in outcome-dependent order the squared parameters still add: this is a filter with a fixed budget whose total never exceeds
the sum (Feldman and Zrnic 2021, Theorem 3.1; Smith and Thakurta 2022 for GDP).

That the program touches what is declared is not proved here; it is the assumption that the certificate carries, word for word.
"""

from __future__ import annotations

from dpaudit.certificates.rules.sequential import MAX_PREMISES, MAX_TIMES, add_up
from dpaudit.certificates.terms import Guarantee, Parameters, Setting, rule

__all__ = ["NAME"]

NAME = "accounted"


@rule(NAME, premises=(1, MAX_PREMISES))
def _accounted(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    touches = parameters.integers("touches", low=0, high=MAX_TIMES, length=len(premises))
    sites = parameters.texts("sites", length=len(premises))
    if len(set(sites)) != len(sites):
        raise parameters.fail(f"each class of sites must be listed once, got {sites}; merge the classes.")
    counts = ", ".join(f"{site} at most {count}" for site, count in zip(sites, touches, strict=True))
    assumption = (
        f"the program touches what is declared ({parameters.text('declared')}): releases per record: {counts}"
    )
    return add_up(premises, touches).with_assumptions([assumption])
