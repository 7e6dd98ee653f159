"""Provide the pytest plugin: the fixture ``assert_private``, options, markers, and suite files as tests.

The entry point ``pytest11`` loads this file in every pytest run in an environment with dpaudit, so it imports
nothing large. The audit code is imported when the first audit runs. Sessions without ``assert_private`` and
without ``--dpaudit-suites`` are not changed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpaudit.pytest_plugin.levels import AUDITS, KEY, NOTE, SUMMARY, WARNING, Levels, read_alpha, read_audits

if TYPE_CHECKING:
    from dpaudit.pytest_plugin.private import AssertPrivate

__all__ = [
    "assert_private",
    "pytest_addoption",
    "pytest_collect_file",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_runtest_call",
    "pytest_runtest_setup",
    "pytest_runtestloop",
    "pytest_terminal_summary",
]

SLOW, EXPECT_REFUTED = "dpaudit_slow", "dpaudit_refuted"
NOT_CALLED = (
    f"NOT AUDITED: a test marked {EXPECT_REFUTED} must call assert_private, but this test did not. "
    "Nothing was refuted."
)
NOTHING_CALLED = (
    "NOT AUDITED: a test that takes assert_private must call assert_private, but this test did not. Call it, "
    "skip the test, or remove the fixture."
)
#: Whether the function of a test returned, without raising, failing or skipping.
RETURNED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings of the plugin. All names start with ``dpaudit``."""
    group = parser.getgroup("dpaudit", "differential-privacy audits")
    group.addoption("--dpaudit-seed", type=int, default=0, help="Seed of all audits [default: 0].")
    group.addoption("--dpaudit-slow", action="store_true", help=f"Also run the tests marked {SLOW}.")
    group.addoption(
        "--dpaudit-suites", action="store_true", help="Collect the files named by dpaudit_suites as tests."
    )
    parser.addini(
        "dpaudit_alpha", "Significance level of all audits of a session in total (0.05).", default="0.05"
    )
    parser.addini(
        AUDITS, "Number of audits that share the significance level (default: all collected).", default=""
    )
    parser.addini("dpaudit_suites", "Suite files: audits/*/suite.py.", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and require files for ``--dpaudit-suites``."""
    config.addinivalue_line("markers", f"{SLOW}: an audit that runs only with --dpaudit-slow")
    config.addinivalue_line("markers", f"{EXPECT_REFUTED}: passes if assert_private refutes the claim")
    if config.getoption("--dpaudit-suites") and not config.getini("dpaudit_suites"):
        raise pytest.UsageError(
            "--dpaudit-suites requires files to collect, but dpaudit_suites is empty. Set, for example, "
            'dpaudit_suites = ["audits/mine.py", "audits/*/suite.py"] in pytest\'s configuration.'
        )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a suite file as one test per row, if ``--dpaudit-suites`` is given and a pattern matches it."""
    config = parent.config
    if not config.getoption("--dpaudit-suites") or file_path.suffix != ".py":
        return None
    if not any(_matches(config, file_path, pattern) for pattern in config.getini("dpaudit_suites")):
        return None
    from dpaudit.pytest_plugin.suites import SuiteTests

    return SuiteTests.from_parent(parent, path=file_path)


@pytest.hookimpl(
    tryfirst=True
)  # before -k and -m deselect tests, because they must not change significance levels
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Divide the significance level among the collected audits, and skip slow audits."""
    if (
        config.getoption("--dpaudit-suites") and not session.testsfailed
    ):  # pytest reports failed collections itself
        missing = _missing_suites(config, items)
        if missing and hasattr(config, "workerinput"):  # a worker of xdist cannot show usage errors
            report = pytest.CollectReport("dpaudit_suites", "failed", missing, [])
            config.hook.pytest_collectreport(report=report)
        elif missing:
            raise pytest.UsageError(missing)
    sharing = {share for item in items if (share := _share(item))}
    if not sharing:
        return
    audits = read_audits(config, collected=len(sharing))
    config.stash[KEY] = Levels(alpha=read_alpha(config), audits=audits, counted=frozenset(sharing))
    if not config.getoption("--dpaudit-slow"):
        for item in items:
            if item.get_closest_marker(SLOW):
                item.add_marker(pytest.mark.skip(reason="slow audit: runs only with --dpaudit-slow"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Prevent tests from ending the process if audits run, because that would end the session silently.

    A thread that a mechanism leaves behind may try to do so after its test.
    """
    if KEY not in session.config.stash:
        yield
        return
    from dpaudit.core.processes.ending import no_silent_end

    with no_silent_end():
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test that expects a refutation but audits nothing."""
    if item.get_closest_marker(EXPECT_REFUTED) and not _share(item):
        pytest.fail(NOT_CALLED, pytrace=False)


def _missing_suites(config: pytest.Config, items: list[pytest.Item]) -> str:
    """Return an error if a pattern of ``dpaudit_suites`` gave no test, else an empty text.

    With paths on the command line, which select among the patterns, one matching pattern is enough.
    """
    patterns = config.getini("dpaudit_suites")
    found = {path for item in items if (path := getattr(item, "dpaudit_suite", ""))}
    empty = [pattern for pattern in patterns if not any(_matches(config, Path(p), pattern) for p in found)]
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS
    if not empty or (chosen and found):
        return ""
    return (
        "--dpaudit-suites must collect a suite for each pattern of dpaudit_suites, got none for "
        f"{', '.join(map(repr, empty))} below {config.rootpath}, in {' '.join(config.args)}. "
        "Patterns start at the rootdir, and testpaths must contain the suites."
    )


def _matches(config: pytest.Config, path: Path, pattern: str) -> bool:
    return path.is_relative_to(config.rootpath) and path.relative_to(config.rootpath).match(pattern)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Record that a test returned, because only then a missing audit is an error."""
    result = yield
    item.stash[RETURNED] = True
    return result


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one line for each audit of the session, with its warnings, and its notes under ``-v``."""
    lines = _summary_lines(terminalreporter)
    if lines:
        terminalreporter.section("dpaudit audits")
        for line in lines:
            terminalreporter.write_line(line)


def _summary_lines(terminalreporter: Any) -> list[str]:
    """Return the lines of all tests, sorted by name.

    xdist workers send them with their reports. Each phase of a test repeats the properties of the phases
    before it.
    """
    form = {SUMMARY: "{node}: {text}", WARNING: "    warning: {text}"}
    if terminalreporter.verbosity > 0:
        form[NOTE] = "    note: {text}"
    found: dict[str, list[str]] = {}
    for report in [item for items in terminalreporter.stats.values() for item in items]:
        lines = [
            form[name].format(node=report.nodeid, text=text)
            for name, text in getattr(report, "user_properties", ())
            if name in form
        ]
        if len(lines) > len(found.get(report.nodeid, ())):
            found[report.nodeid] = lines
    return [line for node in sorted(found) for line in found[node]]


def _share(item: pytest.Item) -> str:
    """Return the unit that gets a share of the significance level: this test, or its whole suite.

    A suite divides its share among its rows. The text is empty for other tests.
    """
    if "assert_private" in getattr(item, "fixturenames", ()):
        return item.nodeid
    suite = getattr(item, "dpaudit_suite", "")
    return str(suite)


@pytest.fixture
def assert_private(request: pytest.FixtureRequest) -> Iterator[AssertPrivate]:
    """Provide ``assert_private(mechanism, claim, data=...)``, which fails if runs refute the claim.

    It also fails if no run could have refuted the claim. It takes ``neighbours`` (instead of ``data``),
    ``max_samples``, ``batch``, ``jobs``, ``timeout`` and ``record_draws`` as ``dpaudit.check`` does, and
    returns its result. The seed and the significance level come from the session.
    """
    from dpaudit.pytest_plugin.private import AssertPrivate

    config: Any = request.config
    levels = config.stash.get(KEY, None)
    if (
        levels is None or request.node.nodeid not in levels.counted
    ):  # it has no share of the significance level
        raise pytest.UsageError(
            "assert_private must be an argument of the test, got it by request.getfixturevalue only. "
            "As an argument it is counted when the significance level is divided."
        )
    expect_refuted = request.node.get_closest_marker(EXPECT_REFUTED) is not None
    audit = AssertPrivate(
        node=request.node.nodeid,
        levels=levels,
        base_seed=config.getoption("--dpaudit-seed"),
        expect_refuted=expect_refuted,
        properties=request.node.user_properties,
    )
    yield audit
    if not audit.calls and request.node.stash.get(RETURNED, False):
        why = NOT_CALLED if expect_refuted else NOTHING_CALLED
        request.node.user_properties.append((SUMMARY, why))
        pytest.fail(why, pytrace=False)
