"""Limits that pages name are those of the code: each sentence with the constant that it speaks of."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.blackbox import (
    bounds,
    features,
    hypotheses,
    inputs,
    integers,
    neighbours,
    outcomes,
    recorded_draws,
    rounding,
    runs,
    several,
    times,
)
from dpaudit.blackbox import check as checking
from dpaudit.blackbox.power import runs_needed
from dpaudit.blackbox.statistics import blocks
from dpaudit.blackbox.words import at_most
from dpaudit.cli import check as check_command
from dpaudit.cli import compare as compare_command
from dpaudit.cli.report import NOT_CONFIRMED
from dpaudit.kernel.values.correlated import MAX_RELEASES, MAX_SHARING
from dpaudit.kernel.values.order_statistics import MOST_RECORDS
from dpaudit.report.file import strict
from dpaudit.run.plan import MAX_LEVEL
from dpaudit.verify import trusted
from dpaudit.verify.report import SECONDS, verify_results
from dpaudit.verify.trusted import claim_lines, code_lines, trusted_lines

DOCS = Path(dpaudit.__file__).parents[1] / "docs"
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS += ("eleven", "twelve", "thirteen", "fourteen", "fifteen")


def default(function: Any, name: str) -> Any:
    """What a parameter is where it is not given."""
    return inspect.signature(function).parameters[name].default


def needed(epsilon: int) -> str:
    """Runs that refute the worst violation of a claim on one pair, rounded up to two figures."""
    points = hypotheses.family_of(dpaudit.PureDP(epsilon=epsilon)).tested
    found = runs_needed(points, candidates=1, alpha=default(dpaudit.check, "alpha"))
    assert found is not None
    return f"{float(at_most(found, 2)):,.0f}"


CHECK = dpaudit.check
POINTS = len(bounds.CURVE_EPSILONS), len(bounds.CURVE_DELTAS)
HOURS = int(SECONDS / 3600)
MINUTES = int(default(verify_results, "seconds_per_result") / 60)
GIGABYTES = default(verify_results, "megabytes") >> 10

#: Each page's sentences about limits, made from the code.
SENTENCES: dict[str, tuple[str, ...]] = {
    "limits": (
        f"`dpaudit check` exits with its own code ({check_command.NOT_AUDITED})",
        "much rarer than 1/n",
        "would have detected with probability 1/2",
    ),
    "prove_numpy": (
        f"from `at_least` ({default(dpaudit.Records, 'at_least')})",
        f"Integers are checked to fit {np.iinfo(int).bits} bits",
        f"At most {MAX_RELEASES:,} numbers may be released, and at most {MAX_SHARING} of them",
        f"a fixed number of records of at most {MOST_RECORDS:,}",
    ),
    "check": (
        f"`dpaudit check` exits with {check_command.NOT_AUDITED}",
        f"{needed(1)} at ε = 1 and alpha {default(CHECK, 'alpha')} on one pair, {needed(5)} at ε = 5, "
        f"{needed(8)} at ε = 8",
        f"Hypothesis strategy for pairs ({neighbours.DRAWN} are drawn)",
        f"the error level, {default(CHECK, 'alpha')}: ",
        f"| {default(CHECK, 'seed')}: the same seed",
        f"runs ({default(CHECK, 'max_samples'):,}), and time of the whole check (no limit); "
        f"`timeout` ({default(CHECK, 'timeout'):g} s) is for one call",
        f"processes ({default(CHECK, 'jobs')})",
        f"Calls below {1000 * runs.WORTH_SENDING:g} ms stay in one process",
        f"at {WORDS[len(hypotheses.GAUSSIAN_LOSSES)]} of these points",
        f"lower bounds on delta at {WORDS[POINTS[0]]} epsilons and on epsilon at {WORDS[POINTS[1]]} deltas",
        f"all {WORDS[sum(POINTS)]} hold *together*",
        f"then {WORDS[default(inputs.RecordPairs, 'drawn')]} pairs that Hypothesis draws",
        f"on up to {WORDS[recorded_draws.OTHERS + 1]} pairs",
        f"the first line of its message ({blocks.MESSAGE} characters)",
        f"of more than {times.MAX_FIELDS} times in an array",
        f"a share of 2^{np.log2(rounding.ROUNDING):.0f} of the numbers themselves, or of the largest number "
        f"in the inputs, up to 2^{np.log2(rounding.LARGEST):.0f})",
        f"an integer beyond 2^{integers._LIMIT.bit_length() - 1} all but its size as a float holds it and "
        f"itself modulo 2^{integers._LIMIT.bit_length() - 1}",
        f"of more than {several.MAX_COORDINATES} numbers in an output, all one by one: only the "
        f"{several.MAX_COORDINATES} that moved most in the first runs, the first {features.MAX_SCORED} "
        "together",
        f"after the first {outcomes.MAX_WIDTH}, ",
        f"in the first {checking.EARLY} runs or so for each pair",
        "which violation a check that found none would have detected with probability 1/2",
    ),
    "verify": (
        f"levels above 1/{round(1 / MAX_LEVEL)}",
        f"*T0*: {trusted_lines()['T0']} lines of code",
        f"The child has {GIGABYTES} GB of memory, {WORDS[MINUTES]} minutes for one result",
        f"`--seconds` ({'an hour' if HOURS == 1 else HOURS}, for all results together)",
        f"a regular file of at most {strict.MAX_BYTES >> 20} MiB",
        f"Exit code 0: everything was confirmed. {NOT_CONFIRMED}: something was not.",
    ),
    "report": (f"exits with {compare_command.GOT_WORSE} if there is one",),
}

#: Numbers of two figures or more on these pages that are no limits: measurements and examples. The lines of
#: code on the page about verifying have tests of their own.
MEASURED: dict[str, str] = {
    "limits": "",
    "prove_numpy": "10 100 200 256 32 64",
    "check": "0.05 0.11 0.35 0.5 0.81 000 10 150 1970 20 200 2458 32 40 7000 95",
    "verify": "1,590 2,020 200 250 300 400",
    "report": "0.005 0.006829 0.00683",
}
#: Examples, code within a line, and the targets of links.
QUOTED = re.compile(r"^```.*?^```$|^    [^\n]*$|`[^`\n]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)


def flat(text: str) -> str:
    """Text with single spaces."""
    return " ".join(text.split())


def unquoted(text: str) -> str:
    """Text without examples, code and targets of links, with single spaces."""
    return flat(QUOTED.sub(" ", text))


@pytest.mark.parametrize("page", SENTENCES)
def test_a_page_names_the_limits_of_the_code(page: str) -> None:
    """Each sentence, with the numbers of the code in it, stands on its page."""
    text = flat((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    assert [said for said in SENTENCES[page] if flat(said) not in text] == []


@pytest.mark.parametrize("page", SENTENCES)
def test_no_other_number_stands_on_a_page(page: str) -> None:
    """A number that no sentence above takes from the code is a measurement, which is listed."""
    text = unquoted((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    for said in SENTENCES[page]:
        text = text.replace(unquoted(said), " ")
    assert set(re.findall(r"\d[\d,.]*\d", text)) == set(MEASURED[page].split())


def test_the_checkers_of_programs_have_at_most_the_lines_that_the_page_names() -> None:
    """The page on verifying: each checker of proofs of programs, and what ties them to claims."""
    text = flat((DOCS / "verify.md").read_text(encoding="utf-8"))
    said = text[text.index("Proofs of programs:") : text.index("tie them to claims")]
    most: dict[str, int] = {}
    waiting: list[str] = []
    for name, number in re.findall(r"`(\w+\.py)`|(?:at most|below) (\d+)", said):
        waiting += [name] if name else []
        if number:
            most |= dict.fromkeys(waiting, int(number))
            together, waiting = waiting, []
    paths = {path.name: path for path in [*trusted.PROGRAM_CHECKERS, *trusted.CLAIM_FILES]}
    assert most.keys() == paths.keys()
    for name in most.keys() - {*together}:
        assert code_lines(paths[name].read_text("utf-8")) <= most[name], name
    assert claim_lines() <= most[together[0]]
