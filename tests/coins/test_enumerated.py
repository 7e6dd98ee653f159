"""What enumeration sees of a channel: each answer, and a transcript that goes on after the program's end."""

from __future__ import annotations

import pytest

from dpaudit.coins import Coins, enumerate_view, sum_out
from dpaudit.laws import AboveThreshold, Laplace
from dpaudit.views import EVERYTHING

SVT = AboveThreshold(
    threshold=1, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=4), max_positives=1
)


def answers(coins: Coins, data: float) -> None:
    session = coins.channel(SVT, site="svt")
    for _ in range(2):
        if session.ask(data):
            break


def test_the_answers_of_a_channel_are_seen_in_order() -> None:
    """Three transcripts, whose probabilities add up to one, each with its answers before the return value."""
    law = enumerate_view(answers, 0.0)
    seen = {tuple(map(bool, shown[:-1])): shown[-1] for shown in law.transcripts.values()}
    assert seen == {(True,): None, (False, True): None, (False, False): None}
    total = sum(float(p.mid()) for p in law.probabilities.values())
    assert total == pytest.approx(1.0, abs=1e-9)


def test_a_transcript_that_ends_before_the_program_is_impossible() -> None:
    """One that is long enough is not, and has the probability that the enumeration gives it."""
    short, paths = sum_out(answers, 0.0, [False], view=EVERYTHING)
    assert (float(short.mid()), paths) == (0.0, [])
    whole, _ = sum_out(answers, 0.0, [False, False, None], view=EVERYTHING)
    law = enumerate_view(answers, 0.0)
    (key,) = [name for name, shown in law.transcripts.items() if shown[:-1] == (False, False)]
    assert float(whole.mid()) == pytest.approx(float(law.probabilities[key].mid()), rel=1e-12)
