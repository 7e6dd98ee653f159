"""The programs of CheckDP (Wang, Ding, Kifer and Zhang, CCS 2020, Tables 1 to 3), by their names there.

Each is written twice. The first form takes ``coins`` and the queries' answers, each of which changes by at
most 1. The second, with the suffix ``_numpy``, computes four queries over records in [0, 1]. The claim is
epsilon = 1 where the paper has a variable epsilon, N = 2 positive answers, and blocks of M = 2.
"""

from __future__ import annotations

import numpy as np

from benchmarks.proof_programs.registry import List, Queries
from dpaudit.core.data import EVERY, Integers, Interval, Records
from dpaudit.distributions import Laplace
from dpaudit.prover.data import EachMoves, OneReplaced, Symbols

__all__ = ["CHECKDP"]

CHECKDP = List("checkdp")
right, wrong = CHECKDP.right, CHECKDP.wrong

E1, HALF = {"epsilon": 1}, {"epsilon": "1/2"}
#: All answers may change by 1 ("ALL_DIFFER" in the paper's files).
ALL, ALLN = Queries(Symbols(4)), Queries(Symbols(EVERY))
EIGHT = Queries(Symbols(8))
#: All answers change in one direction ("INCREASING", "DECREASING").
ONE_WAY, ONE_WAYN = (Queries(Symbols(n), EachMoves(one_way=True)) for n in (4, EVERY))
#: One answer may change by 1 ("ONE_DIFFER").
ONE, ONEN = (Queries(Symbols(n), OneReplaced(by=1)) for n in (4, EVERY))
#: Four queries: the sums of four columns.
ROWS = Records(Interval(0, 1), size=50, width=4)
ROWSN = Records(Interval(0, 1), size=EVERY, width=4)
WIDE = Records(Interval(0, 1), size=50, width=8)
WIDEN = Records(Interval(0, 1), size=EVERY, width=8)
STREAM, STREAMN = Records(Interval(0, 1), size=8), Records(Interval(0, 1), size=EVERY)
CAT, CATN = Records(Integers(0, 4), size=50), Records(Integers(0, 4), size=EVERY)


# ReportNoisyMax: the position of the largest noisy answer.
@right(E1, ALL, ALLN)
def report_noisy_max(coins, queries):
    best, place, i = None, 0, 0
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=2), site="noise")
        if best is None or noisy > best:
            best, place = noisy, i
        i += 1
    coins.reveal(place, site="place")


@right(E1, ROWS, ROWSN)
def report_noisy_max_numpy(data, rng):
    answers = data.sum(axis=0)
    best, place = None, 0
    for i in range(4):
        noisy = answers[i] + rng.laplace(scale=2)
        if best is None or noisy > best:
            best, place = noisy, i
    return place


@right(E1, ROWS, ROWSN)
def report_noisy_max_argmax(data, rng):
    return np.argmax(data.sum(axis=0) + rng.laplace(scale=2, size=4))


@wrong(E1, ALL, ALLN)
def bad_noisy_max_1(coins, queries):
    best, place, i = None, 0, 0
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=1), site="noise")
        if best is None or noisy > best:
            best, place = noisy, i
        i += 1
    coins.reveal(place, site="place")


# BadNoisyMax2 returns the largest noisy answer in place of its position.
@wrong(E1, ALL, ALLN)
def bad_noisy_max_2(coins, queries):
    best = None
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=2), site="noise")
        if best is None or noisy > best:
            best = noisy
    coins.reveal(best, site="value")


@wrong(E1, ROWS, ROWSN)
def bad_noisy_max_1_numpy(data, rng):
    return np.argmax(data.sum(axis=0) + rng.laplace(scale=1, size=4))


@wrong(E1, ROWS, ROWSN)
def bad_noisy_max_2_numpy(data, rng):
    return np.max(data.sum(axis=0) + rng.laplace(scale=2, size=4))


# SVT, N = 2 positive answers.
@right(E1, ALL, ALLN)
def svt(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    count = 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale=8), site="query") >= level:
            coins.reveal(True, site="above")
            count += 1
            if count == 2:
                return
        else:
            coins.reveal(False, site="above")


@right(E1, ROWS, ROWSN)
def svt_numpy(data, rng):
    level = 5 + rng.laplace(scale=2)
    out, count = [], 0
    for answer in data.sum(axis=0):
        above = answer + rng.laplace(scale=8) >= level
        out.append(above)
        if above:
            count += 1
            if count == 2:
                break
    return out


# BadSVT1: no noise on the answers and no limit on the positive answers.
@wrong(E1, ALL, ALLN)
def bad_svt_1(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        coins.reveal(answer >= level, site="above")


@wrong(E1, ROWS, ROWSN)
def bad_svt_1_numpy(data, rng):
    level = 5 + rng.laplace(scale=2)
    return [answer >= level for answer in data.sum(axis=0)]


# BadSVT2: the noise of the answers does not grow with N, and there is no limit on the positive answers.
@wrong(E1, ALL, ALLN)
def bad_svt_2(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        coins.reveal(answer + coins.draw(Laplace(scale=2), site="query") >= level, site="above")


@wrong(E1, ROWS, ROWSN)
def bad_svt_2_numpy(data, rng):
    level = 5 + rng.laplace(scale=2)
    return [answer + rng.laplace(scale=2) >= level for answer in data.sum(axis=0)]


# BadSVT3: the noise of the answers does not grow with N.
@wrong(E1, ALL, ALLN)
def bad_svt_3(coins, queries):
    level = 5 + coins.draw(Laplace(scale=4), site="level")
    count = 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale="4/3"), site="query") >= level:
            coins.reveal(True, site="above")
            count += 1
            if count == 2:
                return
        else:
            coins.reveal(False, site="above")


@wrong(E1, ROWS, ROWSN)
def bad_svt_3_numpy(data, rng):
    level = 5 + rng.laplace(scale=4)
    out, count = [], 0
    for answer in data.sum(axis=0):
        above = answer + rng.laplace(scale=4 / 3) >= level
        out.append(above)
        if above:
            count += 1
            if count == 2:
                break
    return out


# No noise on the threshold, so every answer costs 1/2.
@wrong(E1, ALL, ALLN)
def bad_svt_no_threshold_noise(coins, queries):
    count = 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale=2), site="query") >= 5:
            coins.reveal(True, site="above")
            count += 1
            if count == 2:
                return
        else:
            coins.reveal(False, site="above")


# SVT on answers that all change in one direction: half the noise suffices.
@right(E1, ONE_WAY, ONE_WAYN)
def svt_one_direction(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    count = 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale=4), site="query") >= level:
            coins.reveal(True, site="above")
            count += 1
            if count == 2:
                return
        else:
            coins.reveal(False, site="above")


@wrong(E1, EIGHT, ALLN)
def svt_one_direction_w1(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    count = 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale=4), site="query") >= level:
            coins.reveal(True, site="above")
            count += 1
            if count == 2:
                return
        else:
            coins.reveal(False, site="above")


# SVT-Inverse: stops at noisy answers below the threshold.
@right(E1, ALL, ALLN)
def svt_inverse(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    count = 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale=8), site="query") < level:
            coins.reveal(True, site="below")
            count += 1
            if count == 2:
                return
        else:
            coins.reveal(False, site="below")


@wrong(E1, ALL, ALLN)
def svt_inverse_w1(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        coins.reveal(answer + coins.draw(Laplace(scale=2), site="query") < level, site="below")


# NumSVT: a positive answer is released with fresh noise.
@right(E1, ALL, ALLN)
def num_svt(coins, queries):
    level = 5 + coins.draw(Laplace(scale=3), site="level")
    count = 0
    for answer in queries:
        if answer + coins.draw(Laplace(scale=12), site="query") >= level:
            coins.release(answer, Laplace(scale=6), site="value")
            count += 1
            if count == 2:
                return
        else:
            coins.reveal(False, site="below")


@right(E1, ROWS, ROWSN)
def num_svt_numpy(data, rng):
    level = 5 + rng.laplace(scale=3)
    out, count = [], 0
    for answer in data.sum(axis=0):
        if answer + rng.laplace(scale=12) >= level:
            out.append(answer + rng.laplace(scale=6))
            count += 1
            if count == 2:
                break
        else:
            out.append(0)
    return out


# Wrong: the noisy answer of the comparison is released, not a fresh one. N = 1.
@wrong(E1, EIGHT, ALLN)
def bad_num_svt(coins, queries):
    level = 5 + coins.draw(Laplace(scale=3), site="level")
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=6), site="query")
        if noisy >= level:
            coins.reveal(noisy, site="value")
            return
        coins.reveal(False, site="below")


# Wrong: the scales of SVT leave nothing for the value. N = 1.
@wrong(E1, ROWS, ROWSN)
def bad_num_svt_numpy(data, rng):
    level = 5 + rng.laplace(scale=2)
    out = []
    for answer in data.sum(axis=0):
        if answer + rng.laplace(scale=4) >= level:
            out.append(answer + rng.laplace(scale=4))
            break
        out.append(0)
    return out


# GapSVT: a positive answer is the gap to the noisy threshold.
@right(E1, ALL, ALLN)
def gap_svt(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    count = 0
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=8), site="query")
        if noisy >= level:
            coins.reveal(noisy - level, site="gap")
            count += 1
            if count == 2:
                return
        else:
            coins.reveal(False, site="below")


@right(E1, ROWS, ROWSN)
def gap_svt_numpy(data, rng):
    level = 5 + rng.laplace(scale=2)
    out, count = [], 0
    for answer in data.sum(axis=0):
        noisy = answer + rng.laplace(scale=8)
        if noisy >= level:
            out.append(noisy - level)
            count += 1
            if count == 2:
                break
        else:
            out.append(0)
    return out


# BadGapSVT releases the noisy answer in place of the gap. N = 1.
@wrong(E1, EIGHT, ALLN)
def bad_gap_svt(coins, queries):
    level = 5 + coins.draw(Laplace(scale=2), site="level")
    for answer in queries:
        noisy = answer + coins.draw(Laplace(scale=4), site="query")
        if noisy >= level:
            coins.reveal(noisy, site="value")
            return
        coins.reveal(False, site="below")


@wrong(E1, WIDE, WIDEN)
def bad_gap_svt_numpy(data, rng):
    level = 5 + rng.laplace(scale=2)
    out = []
    for answer in data.sum(axis=0):
        noisy = answer + rng.laplace(scale=4)
        if noisy >= level:
            out.append(noisy)
            break
        out.append(0)
    return out


# AdaptiveSVT: an answer far above costs half as much as one above. The budget is two answers of the first
# kind or one of the second.
@right(E1, ALL, ALLN)
def adaptive_svt(coins, queries):
    level = coins.draw(Laplace(scale=2), site="level")
    spent = 0
    for answer in queries:
        if spent > 0:
            return
        far = answer + coins.draw(Laplace(scale=8), site="far")
        if far - level >= 16:
            coins.reveal(far - level, site="gap")
            spent += 1
        else:
            near = answer + coins.draw(Laplace(scale=4), site="near")
            if near - level >= 0:
                coins.reveal(near - level, site="gap")
                spent += 2
            else:
                coins.reveal(False, site="below")


@right(E1, ROWS, ROWSN)
def adaptive_svt_numpy(data, rng):
    level = rng.laplace(scale=2)
    out, spent = [], 0
    for answer in data.sum(axis=0):
        far = answer + rng.laplace(scale=8)
        if far - level >= 16:
            out.append(("far", far - level))
            spent += 1
        else:
            near = answer + rng.laplace(scale=4)
            if near - level >= 0:
                out.append(("near", near - level))
                spent += 2
            else:
                out.append(None)
        if spent > 0:
            break
    return out


@wrong(E1, ALL, ALLN)
def bad_adaptive_svt(coins, queries):
    level = coins.draw(Laplace(scale=2), site="level")
    spent = 0
    for answer in queries:
        if spent > 0:
            return
        far = answer + coins.draw(Laplace(scale=8), site="far")
        if far - level >= 16:
            coins.reveal(far, site="value")
            spent += 1
        else:
            near = answer + coins.draw(Laplace(scale=4), site="near")
            if near - level >= 0:
                coins.reveal(near, site="value")
                spent += 2
            else:
                coins.reveal(False, site="below")


@wrong(E1, ROWS, ROWSN)
def bad_adaptive_svt_numpy(data, rng):
    level = rng.laplace(scale=2)
    out, spent = [], 0
    for answer in data.sum(axis=0):
        far = answer + rng.laplace(scale=8)
        if far - level >= 16:
            out.append(("far", far))
            spent += 1
        else:
            near = answer + rng.laplace(scale=4)
            if near - level >= 0:
                out.append(("near", near))
                spent += 2
            else:
                out.append(None)
        if spent > 0:
            break
    return out


# PartialSum.
@right(E1, ONE, ONEN)
def partial_sum(coins, queries):
    total = 0
    for answer in queries:
        total = total + answer
    coins.release(total, Laplace(scale=1), site="sum")


@right(E1, STREAM, STREAMN)
def partial_sum_numpy(data, rng):
    return data.sum() + rng.laplace(scale=1)


@right(E1, STREAM, STREAMN)
def partial_sum_loop(data, rng):
    total = 0.0
    for answer in data:
        total += answer
    return total + rng.laplace(scale=1)


@wrong(E1, ONE, ONEN)
def bad_partial_sum(coins, queries):
    total = 0
    for answer in queries:
        total = total + answer
    coins.release(total, Laplace(scale="1/2"), site="sum")


@wrong(E1, STREAM, STREAMN)
def bad_partial_sum_numpy(data, rng):
    return data.sum() + rng.laplace(scale=0.5)


# SmartSum, 2-DP at scale 1 in the paper. Each answer gets noise twice: in its block and alone.
@right(E1, ONE, ONEN)
def smart_sum(coins, queries):
    shown = total = i = 0
    for answer in queries:
        i += 1
        if i == 2:
            shown = shown + total + answer + coins.draw(Laplace(scale=2), site="block")
            i, total = 0, 0
        else:
            shown = shown + answer + coins.draw(Laplace(scale=2), site="one")
            total = total + answer
        coins.reveal(shown, site="sum")


@right(E1, STREAM)
def smart_sum_numpy(data, rng):
    out, blocks, inside = [], 0.0, 0.0
    for i in range(8):
        if (i + 1) % 2 == 0:
            blocks = blocks + data[i - 1] + data[i] + rng.laplace(scale=2)
            inside = 0.0
            out.append(blocks)
        else:
            inside = inside + data[i] + rng.laplace(scale=2)
            out.append(blocks + inside)
    return out


# BadSmartSum: no noise on a block.
@wrong(E1, ONE, ONEN)
def bad_smart_sum(coins, queries):
    shown = total = i = 0
    for answer in queries:
        i += 1
        if i == 2:
            shown = total + answer
            i, total = 0, 0
        else:
            shown = shown + answer + coins.draw(Laplace(scale=2), site="one")
            total = total + answer
        coins.reveal(shown, site="sum")


@wrong(E1, STREAM)
def bad_smart_sum_numpy(data, rng):
    out, blocks, inside = [], 0.0, 0.0
    for i in range(8):
        if (i + 1) % 2 == 0:
            blocks = blocks + data[i - 1] + data[i]
            inside = 0.0
            out.append(blocks)
        else:
            inside = inside + data[i] + rng.laplace(scale=2)
            out.append(blocks + inside)
    return out


# NoisyHistogram, one count changes by 1. BadHistogram has scale epsilon in place of 1 / epsilon.
@right(HALF, ONE, ONEN)
def noisy_histogram(coins, queries):
    for count in queries:
        coins.release(count, Laplace(scale=2), site="count")


@right(HALF, CAT, CATN, adjacency="add-remove")
def noisy_histogram_numpy(data, rng):
    return np.bincount(data, minlength=5) + rng.laplace(scale=2, size=5)


@wrong(HALF, ONE, ONEN)
def bad_histogram(coins, queries):
    for count in queries:
        coins.release(count, Laplace(scale="1/2"), site="count")


@wrong(HALF, CAT, CATN, adjacency="add-remove")
def bad_histogram_numpy(data, rng):
    return np.bincount(data, minlength=5) + rng.laplace(scale=0.5, size=5)
