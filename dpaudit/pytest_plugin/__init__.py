"""The pytest plugin: the fixture ``assert_private``, its options and marks, and suite files as tests.

It is loaded by the entry point ``pytest11`` in every pytest run where dpaudit is installed, so this file
imports nothing heavy: what audits is imported when the first audit runs. A session without ``assert_private``
and without ``--dpaudit-suites`` is left as it is.
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
    f"NOT AUDITED: a test marked {EXPECT_REFUTED} must call assert_private, this one did not: nothing was "
    "refuted."
)
NOTHING_CALLED = (
    "NOT AUDITED: a test that takes assert_private must call assert_private, this one did not; call it, skip "
    "the test, or leave the fixture out."
)
#: Whether the function of a test came to its end: it raised, failed or skipped nothing.
RETURNED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and settings of the plugin; all begin with ``dpaudit``."""
    group = parser.getgroup("dpaudit", "differential-privacy audits")
    group.addoption("--dpaudit-seed", type=int, default=0, help="Seed of all audits [default: 0].")
    group.addoption("--dpaudit-slow", action="store_true", help=f"Run the tests that are marked {SLOW}, too.")
    group.addoption(
        "--dpaudit-suites", action="store_true", help="Collect the files that dpaudit_suites names as tests."
    )
    parser.addini("dpaudit_alpha", "Error level of all audits of a session together (0.05).", default="0.05")
    parser.addini(AUDITS, "How many audits share the error level; empty: those collected.", default="")
    parser.addini("dpaudit_suites", "Suite files: audits/*/suite.py.", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks; the settings are read where the first audit is collected."""
    config.addinivalue_line("markers", f"{SLOW}: an audit that runs with --dpaudit-slow only")
    config.addinivalue_line("markers", f"{EXPECT_REFUTED}: passes where assert_private refutes the claim")
    if config.getoption("--dpaudit-suites") and not config.getini("dpaudit_suites"):
        raise pytest.UsageError(
            "--dpaudit-suites must come with files to collect, dpaudit_suites names none; set, for example, "
            'dpaudit_suites = ["audits/mine.py", "audits/*/suite.py"] in pytest\'s configuration.'
        )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A suite file becomes tests, one a row, where ``--dpaudit-suites`` is given and a pattern names it."""
    config = parent.config
    if not config.getoption("--dpaudit-suites") or file_path.suffix != ".py":
        return None
    if not any(_matches(config, file_path, pattern) for pattern in config.getini("dpaudit_suites")):
        return None
    from dpaudit.pytest_plugin.suites import SuiteTests

    return SuiteTests.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)  # before -k and -m deselect: they must not change anybody's error level
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Share the error level over what was collected, and skip what is slow."""
    if config.getoption("--dpaudit-suites") and not session.testsfailed:  # what failed is reported as it is
        missing = _missing_suites(config, items)
        if missing and hasattr(config, "workerinput"):  # a worker of xdist has no usage errors to show
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
                item.add_marker(pytest.mark.skip(reason="slow audit: runs with --dpaudit-slow"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Where audits run, no test may end the process: it would end the session with the test's exit code. A
    thread that a mechanism leaves behind may do so after its test."""
    if KEY not in session.config.stash:
        yield
        return
    from dpaudit.core.processes.ending import no_silent_end

    with no_silent_end():
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that expects a refutation has to audit something."""
    if item.get_closest_marker(EXPECT_REFUTED) and not _share(item):
        pytest.fail(NOT_CALLED, pytrace=False)


def _missing_suites(config: pytest.Config, items: list[pytest.Item]) -> str:
    """What is wrong if a pattern of ``dpaudit_suites`` gave no test; empty if each gave one. Paths on the
    command line choose among the patterns: there one is enough."""
    patterns = config.getini("dpaudit_suites")
    found = {path for item in items if (path := getattr(item, "dpaudit_suite", ""))}
    empty = [pattern for pattern in patterns if not any(_matches(config, Path(p), pattern) for p in found)]
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS
    if not empty or (chosen and found):
        return ""
    return (
        "--dpaudit-suites must collect a suite for each pattern of dpaudit_suites, got none for "
        f"{', '.join(map(repr, empty))} below {config.rootpath}, looking in {' '.join(config.args)}; "
        "patterns start at the rootdir, and testpaths must hold the suites."
    )


def _matches(config: pytest.Config, path: Path, pattern: str) -> bool:
    return path.is_relative_to(config.rootpath) and path.relative_to(config.rootpath).match(pattern)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Remember that a test came to its end: only then is an audit missing."""
    result = yield
    item.stash[RETURNED] = True
    return result


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for each audit of the session, with its warnings, and its notes under ``-v``."""
    lines = _summary_lines(terminalreporter)
    if lines:
        terminalreporter.section("dpaudit audits")
        for line in lines:
            terminalreporter.write_line(line)


def _summary_lines(terminalreporter: Any) -> list[str]:
    """The lines of all tests by name; xdist workers send them with their reports. Each phase of a test
    repeats the properties of those before it."""
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
    """What this test shares the error level as: itself, or its suite, which divides its part by its rows."""
    if "assert_private" in getattr(item, "fixturenames", ()):
        return item.nodeid
    suite = getattr(item, "dpaudit_suite", "")
    return str(suite)


@pytest.fixture
def assert_private(request: pytest.FixtureRequest) -> Iterator[AssertPrivate]:
    """``assert_private(mechanism, claim, data=...)``: fail where runs refute the claim, or could not.

    Takes ``neighbours`` (in place of ``data``), ``max_samples``, ``batch``, ``jobs``, ``timeout`` and
    ``record_draws`` as ``dpaudit.check`` does, and returns its result. Seed and error level come from the
    session.
    """
    from dpaudit.pytest_plugin.private import AssertPrivate

    config: Any = request.config
    levels = config.stash.get(KEY, None)
    if levels is None or request.node.nodeid not in levels.counted:  # it would spend what nobody gave it
        raise pytest.UsageError(
            "assert_private must stand among a test's arguments, got it by request.getfixturevalue only; "
            "name it there, so that its error level can be shared."
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
