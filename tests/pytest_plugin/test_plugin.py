"""The pytest plugin, in pytest sessions of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.pytest_plugin.levels import Levels, seed_of
from dpaudit.pytest_plugin.private import ELSEWHERE, UNKNOWN, AssertPrivate
from tests.cli.suites import UNEXPECTED, VERIFIED, write_suite

ROOT = Path(__file__).parents[2]

MECHANISMS = """
import dpaudit, pytest
CLAIM, PAIRS = dpaudit.PureDP(epsilon=1), [([0, 1], [1, 1])]
def right(data, rng): return sum(data) + rng.laplace()
def cached(data, rng, known={}): return known.setdefault(tuple(data), sum(data) + rng.laplace())
def wrong(data, rng): return sum(data) + rng.laplace(scale=0.25)
def audit(assert_private, mechanism):
    return assert_private(mechanism, CLAIM, neighbours=PAIRS, max_samples=3000, record_draws=False)
def test_right(assert_private): audit(assert_private, right)
def test_wrong(assert_private): audit(assert_private, wrong)
@pytest.mark.dpaudit_refuted
def test_known(assert_private): audit(assert_private, wrong)
@pytest.mark.dpaudit_refuted
def test_not_known(assert_private): audit(assert_private, right)
def test_cached(assert_private): audit(assert_private, cached)
@pytest.mark.dpaudit_slow
def test_slow(assert_private): audit(assert_private, right)
def test_levels(assert_private, record_property):
    confidences = [audit(assert_private, right).evidence.confidence for _ in range(2)]
    assert [round(7000 * (1 - c)) for c in confidences] == [25, 8], confidences  # 0.05/7 over 2, over 6
"""


def session(folder: Path, *words: str) -> tuple[int, str]:
    """A pytest session in ``folder`` with this plugin and, as the project's own, warnings as errors."""
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "-p", "dpaudit.pytest_plugin"]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COLUMNS": "200",
    }
    done = subprocess.run(
        [*command, "-W", "error", "--rootdir", str(folder), *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def outcomes(output: str) -> dict[str, str]:
    """The outcome of each test, from the lines of ``-rA``."""
    return {name: word for word, name in re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\S+)", output, re.M)}


EXPECTED = {
    "test_right": "PASSED",
    "test_wrong": "FAILED",
    "test_known": "PASSED",
    "test_not_known": "FAILED",
    "test_cached": "FAILED",
    "test_levels": "PASSED",
}


def test_a_test_that_expects_a_refutation_must_audit_something(tmp_path: Path) -> None:
    """Without a call nothing is refuted, with the fixture and without it."""
    (tmp_path / "test_marks.py").write_text(
        "import pytest\n"
        "pytestmark = pytest.mark.dpaudit_refuted\n"
        "def test_forgets(assert_private): pass\n"
        "def test_bare(): pass\n",
        encoding="utf-8",
    )
    code, output = session(tmp_path, "-rA")
    assert code == 1
    assert output.count("must call assert_private") >= 2
    assert outcomes(output)["test_bare"] == "ERROR"
    assert "ERROR" in re.findall(r"^(PASSED|FAILED|ERROR) \S+::test_forgets", output, re.M)


NOTHING = """
import dpaudit, hashlib, pytest
CLAIM, PAIRS = dpaudit.PureDP(epsilon=1), [([0, 1], [1, 1])]
def noisy(data, rng): return sum(data) + rng.laplace()
def test_calls_nothing(assert_private):
    for _ in (): assert_private(noisy, CLAIM, neighbours=PAIRS)
def test_skips(assert_private): pytest.skip()
def test_short(assert_private):
    assert_private(lambda d, rng: sum(d), dpaudit.PureDP(epsilon=8), neighbours=PAIRS, max_samples=5000)
def test_returns_nothing(assert_private):
    assert_private(lambda d, rng: None, CLAIM, neighbours=PAIRS, max_samples=2000)
@pytest.mark.dpaudit_refuted
def test_known(assert_private):
    assert_private(lambda d, rng: None, CLAIM, neighbours=PAIRS, max_samples=2000)
def test_right(assert_private): assert_private(noisy, CLAIM, neighbours=PAIRS, max_samples=2000)
"""


@pytest.mark.parametrize("workers", [(), ("-p", "xdist.plugin", "-n2")], ids=["one process", "two workers"])
def test_a_test_that_audits_nothing_fails(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """Nothing called, too few runs, nothing returned: each fails; one line an audit ends the session."""
    (tmp_path / "test_it.py").write_text(NOTHING, encoding="utf-8")
    code, output = session(tmp_path, "-rA", *workers)
    assert code == 1
    assert outcomes(output) == {
        "test_calls_nothing": "ERROR",
        "test_short": "FAILED",
        "test_returns_nothing": "FAILED",
        "test_known": "FAILED",
        "test_right": "PASSED",
    }
    found = re.findall(r"^\S+::(\w+): ([A-Z ]+): .* ([\d,]+) runs, ", output, re.M)
    assert found == [
        ("test_known", "NOT AUDITED", "2,000"),
        ("test_returns_nothing", "NOT AUDITED", "2,000"),
        ("test_right", "INCONCLUSIVE", "2,000"),
        ("test_short", "NOT AUDITED", "0"),
    ]
    assert output.count("NotAuditedError") >= 3


@pytest.mark.parametrize("workers", [(), ("-p", "xdist.plugin", "-n2")], ids=["one process", "two workers"])
def test_verdicts_and_levels_do_not_depend_on_workers(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """The same tests pass and fail, with the same parts of the error level, on one process and on two."""
    (tmp_path / "test_it.py").write_text(MECHANISMS)
    code, output = session(tmp_path, "-rA", *workers)
    assert code == 1
    assert outcomes(output) == EXPECTED
    assert "1 skipped" in output
    found = output[output.index("REFUTED: pure DP with ε = 1") :]
    lines = found[: found.index("--dpaudit-seed 0")].splitlines()
    assert len(lines) <= 10
    for word in (
        "bound: epsilon > 1",
        "inputs: [0, 1] and [1, 1]",
        "event: ",
        "test_it.py::test_wrong",
        "dpaudit_audits=7",
    ):
        assert word in "\n".join(lines)


def test_deselection_keeps_levels(tmp_path: Path) -> None:
    """A test that -k chose has the level that it has among all others."""
    (tmp_path / "test_it.py").write_text(MECHANISMS)
    code, output = session(tmp_path, "-k", "levels")
    assert (code, "1 passed" in output) == (0, True), output


def test_too_few_audits_are_refused(tmp_path: Path) -> None:
    """A fixed number below what was collected is a usage error that names both."""
    (tmp_path / "test_it.py").write_text(MECHANISMS)
    code, output = session(tmp_path, "-o", "dpaudit_audits=2")
    assert code == 4
    assert "at least 7, the number of collected audits, got '2'" in output


def test_an_audit_that_nobody_counted_is_refused(tmp_path: Path) -> None:
    """A test that asks for the fixture while it runs has no part of the error level, beside one that has."""
    uncounted = "def test_hidden(request): request.getfixturevalue('assert_private')\n"
    counted = "import pytest\ndef test_counted(assert_private): pytest.skip()\n"
    (tmp_path / "test_it.py").write_text(uncounted + counted)
    _, output = session(tmp_path, "-rA")
    assert outcomes(output) == {"test_hidden": "FAILED"}
    assert "must be an argument of the test" in output


def test_suites_are_collected_on_request_only(tmp_path: Path) -> None:
    """Rows are tests with --dpaudit-suites: one as expected passes, one against expectation fails."""
    write_suite(tmp_path / "audits" / "suite.py", VERIFIED, UNEXPECTED)
    pattern = ("-o", "dpaudit_suites=audits/suite.py")
    code, output = session(tmp_path, *pattern)
    assert code == 5, output  # no tests collected
    code, output = session(tmp_path, "-rA", *pattern, "--dpaudit-suites")
    found = outcomes(output)
    assert found.pop("fine") == "PASSED", output
    assert list(found.values()) == ["FAILED"], output
    assert "again: dpaudit run" in output
    code, output = session(tmp_path, "--dpaudit-suites")
    assert (code, "dpaudit_suites is empty" in output) == (4, True), output


def test_start_of_pytest_imports_nothing_heavy() -> None:
    """Loading the plugin imports neither numpy nor scipy nor hypothesis."""
    code = "import sys, dpaudit.pytest_plugin; print({'numpy', 'scipy', 'hypothesis'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_calls_of_one_test_never_spend_more_than_its_part() -> None:
    """The levels of any number of calls add up to less than the test's part, and seeds differ."""
    levels = Levels(alpha=0.05, audits=10)
    assert sum(levels.of_call(k) for k in range(1, 10_000)) < levels.each == 0.005
    assert len({seed_of(node, base=base, number=k) for node in "ab" for base in (0, 1) for k in (1, 2)}) == 8


def test_the_documented_snippet_passes(tmp_path: Path) -> None:
    """The first snippet of docs/pytest.md is a test that passes."""
    text = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
    (tmp_path / "test_doc.py").write_text(text.split("```python\n")[1].split("```")[0])
    code, output = session(tmp_path)
    assert (code, "1 passed" in output) == (0, True), output


@pytest.mark.parametrize("name", ["alpha", "seed", "seconds", "sites"])
def test_an_argument_that_is_set_elsewhere_is_refused_with_the_place(name: str) -> None:
    """The error level, the seed and the time are the session's: the error names the argument and where."""
    fixture = AssertPrivate(node="a", levels=Levels(alpha=0.05, audits=1), base_seed=0, expect_refuted=False)
    where = ELSEWHERE.get(name, UNKNOWN)
    with pytest.raises(TypeError, match=re.escape(f"{name}=. {where}")):
        fixture(lambda x, rng: x, PureDP(epsilon=1), neighbours=[(0, 1)], **{name: 1})


#: Ways of a mechanism to end the process, or the test, without a failure.
ENDS = {
    "os._exit": "os._exit(0)",
    "a name of its own": "_exit(0)",
    "posix": "__import__('posix')._exit(0)",
    "in the middle": "next(calls) < 500 or os._exit(0)",
    "a late thread": "threading.Timer(0.5, lambda: os._exit(0)).start(); time.sleep(0)",
    "a thread": "threading.Thread(target=os._exit, args=[0]).start()",
    "execv": "os.execv('/bin/true', ['true'])",
    "execlp": "os.execlp('true', 'true')",
    "execvpe": "os.execvpe('true', ['true'], os.environ)",
    "another status": "os._exit(7)",
    "sys.exit": "sys.exit(0)",
    "pytest.exit": "pytest.exit('done', returncode=0)",
    "pytest.skip": "pytest.skip('not now')",
    "pytest.xfail": "pytest.xfail('known')",
    "killed": "os.kill(os.getpid(), 9)",
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_mechanism_cannot_end_the_session_green(tmp_path: Path, end: str) -> None:
    """Whatever ends the process or the test early, the exit code is not 0, and the test after it fails."""
    (tmp_path / "test_it.py").write_text(
        "import itertools, os, sys, threading, time\nfrom os import _exit\n"
        + MECHANISMS.split("def cached")[0]
        + f"calls = itertools.count()\ndef ends(data, rng):\n    {end}\n"
        "    return sum(data) + rng.laplace()\n"
        "def test_ends(assert_private):\n"
        "    assert_private(ends, CLAIM, neighbours=PAIRS, max_samples=3000, record_draws=False)\n"
        "def test_after():\n    time.sleep(0.7)\n    assert False\n",
        encoding="utf-8",
    )
    code, output = session(tmp_path, "-rA")
    assert code not in (0, 5), output
    if "kill" not in end:
        assert outcomes(output)["test_after"] == "FAILED", output
        if "thread" not in end:
            assert outcomes(output)["test_ends"] == "FAILED", output


def test_forks_and_hooks_end_as_ever(tmp_path: Path) -> None:
    """A child of a mechanism and the end of the session may call ``os._exit``; a session without audits is
    left as it is."""
    (tmp_path / "test_it.py").write_text(
        "import os\n" + MECHANISMS.split("def cached")[0] + "def forks(data, rng):\n"
        "    if not (child := os.fork()):\n        os._exit(3)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3\n"
        "    return sum(data) + rng.laplace()\n"
        "def test_forks(assert_private):\n"
        "    assert_private(forks, CLAIM, neighbours=PAIRS, max_samples=200, record_draws=False)\n",
        encoding="utf-8",
    )
    (tmp_path / "conftest.py").write_text("import os\ndef pytest_unconfigure(): os._exit(9)\n")
    code, output = session(tmp_path, "-rA", "-s")
    assert (code, outcomes(output)) == (9, {"test_forks": "PASSED"}), output


WORKERS = ((), ("-p", "xdist.plugin", "-n2"))


@pytest.mark.sample(1, each=("patterns", "more"))
@pytest.mark.parametrize("workers", WORKERS, ids=["one process", "two workers"])
@pytest.mark.parametrize(
    ("patterns", "more"),
    [
        ("audits/none.py", ()),
        ("audits/suite.py audits/none/*.py", ()),
        ("audits/suite.py", ("-o", "testpaths=tests")),
        ("audits/suite.py", ("tests",)),
        ("other/audits/suite.py", ()),
        ("audits/suite.py", ("--ignore", "audits")),
        ("audits/.hidden/suite.py", ()),
        ("audits/*.txt", ()),
    ],
)
def test_suites_that_are_not_collected_are_an_error(
    tmp_path: Path, patterns: str, more: tuple[str, ...], workers: tuple[str, ...]
) -> None:
    """With other tests that pass: the exit code is not 0, and the error names the pattern."""
    write_suite(tmp_path / "audits" / "suite.py", VERIFIED)
    write_suite(tmp_path / "audits" / ".hidden" / "suite.py", VERIFIED)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_fine.py").write_text("def test_fine(): pass\n")
    code, output = session(tmp_path, "--dpaudit-suites", "-o", f"dpaudit_suites={patterns}", *more, *workers)
    assert code not in (0, 5), output
    assert repr(patterns.split()[-1]) in output


def test_a_suite_without_rows_is_an_error_and_paths_choose_among_suites(tmp_path: Path) -> None:
    """An empty suite fails the session; one path on the command line needs no other pattern to be met."""
    suites = ("--dpaudit-suites", "-o", "dpaudit_suites=audits/suite.py audits/empty.py")
    write_suite(tmp_path / "audits" / "suite.py", VERIFIED)
    write_suite(tmp_path / "audits" / "empty.py")
    assert session(tmp_path, *suites)[0] not in (0, 5)
    code, output = session(tmp_path, *suites, "audits/suite.py")
    assert (code, "1 passed" in output) == (0, True), output
