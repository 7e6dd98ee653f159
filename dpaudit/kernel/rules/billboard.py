"""Rule ``billboard``: joint privacy from a private public statistic.

Statement. Let the premise hold for statistics that everybody sees, and let each user's own action be a
function of these statistics, of the user's own data, and of coins that nobody else sees. In the view of
everybody but user i, the premise holds for changes of user i's data.

Proof. The view consists of the statistics and of the other users' actions. Both neighbours agree on the other
users' data, so these actions are the same (random) function of the statistics: post-processing. User i's own
action is not in the view. ∎

Source: Hsu, Huang, Roth, Roughgarden, Wu 2014, Lemma 1. That actions use nothing else is declared
(``actions``) and becomes an assumption.
"""

from __future__ import annotations

from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


@rule("billboard", premises=(1, 1))
def _billboard(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    view = setting.view
    if view is None or not view.complement or len(view.principals) != 1:
        raise parameters.fail(
            f"joint privacy must be in the view of everybody but one user, got {view}; state the claim in "
            "that view."
        )
    return premises[0].with_assumptions(
        [f"each user's action depends on public statistics and own data only: {parameters.text('actions')}"]
    )
