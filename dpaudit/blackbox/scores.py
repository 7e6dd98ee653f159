"""Bound a privacy claim from two lists of scores, such as the losses of canaries with and without training.

    result = scores(in_scores, out_scores, GaussianDP(mu=1))
    print(result)

A score is any number that was computed from the output of one run: the loss of a canary, its gradient's
product with an update, a classifier's answer. It is a function of the output, so the scores of two
neighbouring inputs obey the same claim as the outputs. The bets, the bounds and the result are those of
``check`` on one pair of inputs, with the scores in the order in which they are given.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaudit.blackbox.audited import too_few
from dpaudit.blackbox.bounds import lower_bound
from dpaudit.blackbox.check import check_alpha, check_claim, delta_to_bound
from dpaudit.blackbox.hypotheses import Points, family_of
from dpaudit.blackbox.notes import event_of, power_of
from dpaudit.blackbox.outcomes import LABEL_BASE, OutcomeEncoder
from dpaudit.blackbox.pair import PairAttack
from dpaudit.blackbox.replay import Replay
from dpaudit.blackbox.result import CheckResult
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import ExactLike
from dpaudit.core.verdicts import VerdictKind, judge

__all__ = ["scores"]

#: What the bound assumes.
INDEPENDENT = (
    "that the scores are independent: one run for each, or canaries that do not influence each other"
)


def scores(
    in_scores: ArrayLike,
    out_scores: ArrayLike,
    claim: PrivacyClaim,
    *,
    alpha: float = 0.05,
    delta: ExactLike | None = None,
) -> CheckResult:
    """Try to refute a privacy claim from scores on an input and scores on a neighbour of it.

    The bound holds at any time: it may be computed again whenever there are more scores at the ends of the
    lists, and the runs may be stopped for any reason. It assumes that all scores are independent, each from
    its own run. Scores of several canaries from one run are not independent in general. For them, use
    ``one_run``.

    Parameters
    ----------
    in_scores, out_scores : array, shape (n,)
        Finite numbers in the order of the runs: with the canary, and without it. If one list is longer, its
        last scores are left out.
    claim : PrivacyClaim
        PureDP, ApproxDP, GaussianDP, ZeroConcentratedDP, RenyiDP or Profile, in the public view, for the
        adjacency between the two inputs.
    alpha : float, default 0.05
        Significance level: the largest probability of refuting a true claim, in [1e-12, 1).
    delta : number, optional
        Also bound epsilon from below at this delta in [0, 1) (``CheckResult.epsilon_at``).

    Returns
    -------
    CheckResult
        The verdict, a lower bound, the strongest event and the curve of bounds, as ``check`` gives them.

    Raises
    ------
    InvalidParameterError
        The claim or an option is not supported, or a score is not a finite number.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit import GaussianDP, scores
    >>> rng = np.random.default_rng(0)
    >>> scores(rng.normal(3, 1, 300), rng.normal(0, 1, 300), GaussianDP(mu=1)).verdict.value
    'refuted'
    """
    check_alpha(alpha)
    check_claim(claim)
    at_delta = None if delta is None else delta_to_bound(delta)
    family = family_of(claim)
    sides = [_read(values, name) for values, name in ((in_scores, "in_scores"), (out_scores, "out_scores"))]
    count = min(len(side) for side in sides)
    attack = _attack([side[:count] for side in sides], family.tested)
    blind = too_few(family.tested, candidates=1, alpha=alpha, runs=2 * count)
    replay = Replay([attack.played], (0,) * (1 + len(attack.blocks)))
    bound = lower_bound(replay, family, alpha=alpha)
    estimate = Estimate(
        quantity=claim.quantity,
        lower=bound.value,
        upper=None,
        confidence=1 - alpha,
        samples=2 * count,
        method="betting on learned cells of scores, both directions, anytime-valid",
        scope="scores of one pair of inputs",
        seed=None,
        details={"power": power_of(attack, family.tested, candidates=1, alpha=alpha)},
    )
    judgement = judge(claim, [estimate])
    refuted = judgement.verdict is VerdictKind.REFUTED
    return CheckResult(
        claim,
        estimate,
        judgement,
        _event(attack, family.tested),
        tuple(_notes(sides, count)),
        history=bound.history,
        not_audited="" if refuted else blind,
        at_delta=at_delta,
        replay=replay,
        assuming=INDEPENDENT,
    )


def _read(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return the scores as floats. They must be finite, and within the range of plain numbers."""
    try:
        read = np.asarray(values, dtype=float)
    except (TypeError, ValueError):  # text, or lists of unequal lengths
        read = np.zeros(0)
    if read.ndim != 1 or not len(read) or not np.all(np.isfinite(read) & (read > LABEL_BASE)):
        raise InvalidParameterError(
            f"{name} must be a non-empty vector of finite numbers above -2^900, got {values!r:.100}.",
            code="E-SCORES-FINITE",
        )
    return read


def _attack(sides: Sequence[NDArray[np.float64]], points: Points) -> PairAttack:
    """Return an attack that has played all scores, block by block."""
    reader = OutcomeEncoder()
    attack = PairAttack(epsilon=points.middle[0], bits=False, reader=reader, fine=bool(len(points.orders)))
    outcomes = reader.encode(np.concatenate(sides))  # each score is read by itself, whatever the others are
    count = len(sides[0])
    while attack.pairs < count:
        block = slice(attack.pairs, min(count, attack.pairs + attack.next_block()))
        attack.play(outcomes[:count][block], outcomes[count:][block])
    return attack


def _event(attack: PairAttack, points: Points) -> str:
    betting = attack.betting(points.stacked)
    for block in attack.blocks:
        betting.update(block)
    return event_of(attack, betting, points) if betting.log_wealth[0] > 0 else ""


def _notes(sides: Sequence[NDArray[np.float64]], count: int) -> list[str]:
    """Return a note on scores that were left out."""
    more = max(len(side) for side in sides) - count
    return [f"the last {more:,} scores of the longer list were left out"] if more else []
