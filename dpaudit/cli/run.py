"""``dpaudit run``: run suites, show results as they come, write the report."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console
from rich.text import Text

from dpaudit.cli.console import BROKEN_SUITE, make_console, show_broken, show_error
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Profile
from dpaudit.report.annotations import github_annotations
from dpaudit.report.fields import NOT_REPEATED
from dpaudit.report.file.document import journal_path, write_report, write_text
from dpaudit.report.markdown import markdown_summary
from dpaudit.report.notation import clean
from dpaudit.report.sarif import sarif
from dpaudit.report.terminal import LiveResults, one_line, result_line, summary, totals
from dpaudit.run.backends import BACKENDS, Backend, start_backend
from dpaudit.run.plan import BrokenSuite, Settings, plan_run, run_command_of
from dpaudit.run.remote import Asking, RemoteError
from dpaudit.run.session import Session
from dpaudit.run.targets import AUDITS, PAPERS, default_paths

if TYPE_CHECKING:
    from dpaudit.blackbox.statistics.cluster import TlsScheduler

__all__ = ["run_command"]

AGAINST_EXPECTATION, CRASHED = 1, 3

CERTIFICATE = click.Path(exists=True, dir_okay=False)

#: Where a command line keeps the profile that it named.
PROFILE = f"{__name__}.profile"

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_REPORT = "dpaudit-report.json"

#: Signals that stop a run; those that the system has, and that are not ignored already (nohup).
STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")


class _Stopped(KeyboardInterrupt):
    """A signal that stops the run; the exit code is what a shell reports for it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def _profile_option(name: str, *, help: str) -> Callable[[Command], Command]:
    """The option ``--name`` for the profile of this name; of several different ones none is the right one."""

    def choose(context: click.Context, parameter: click.Parameter, given: bool) -> None:
        chosen = context.meta.get(PROFILE, name)
        if given and chosen != name:
            raise click.UsageError(
                f"one profile must be chosen, got --{chosen} and --{name}; leave one of them out.", context
            )
        if given:
            context.meta[PROFILE] = name
        context.params["profile"] = context.meta.get(PROFILE, "quick")

    return click.option(f"--{name}", is_flag=True, expose_value=False, callback=choose, help=help)


@click.command("run")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@_profile_option("quick", help="Minutes (the default).")
@_profile_option("full", help="Half an hour: tighter bounds, rarer violations.")
@_profile_option("paper", help="The papers' own horizons and grids.")
@click.option(
    "--alpha", type=float, default=0.05, show_default=True, help="Family-wise error level of the run."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Same seed, same verdicts, whatever --jobs."
)
@click.option("--jobs", type=int, default=None, help="Rows at a time [default: the processors available].")
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="processes",
    show_default=True,
    help="Where rows run; dask needs the extra of that name.",
)
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler [default: a cluster of this machine].")
@click.option("--tls-ca", type=CERTIFICATE, help="The authority of the scheduler's certificates (PEM).")
@click.option("--tls-cert", type=CERTIFICATE, help="This client's certificate for the scheduler (PEM).")
@click.option("--tls-key", type=CERTIFICATE, help="The key of that certificate (PEM).")
@click.option(
    "-k",
    "select",
    metavar="EXPR",
    help="Only rows whose id matches: words, and, or, not, parentheses; =ID is that row alone.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    default=DEFAULT_REPORT,
    show_default=True,
    help="The report. Beside it, with the ending .jsonl, the journal: each result as it comes, for --resume.",
)
@click.option(
    "--html", "html_path", type=click.Path(path_type=Path), help="[default: beside the JSON report]"
)
@click.option("--no-html", is_flag=True, help="Write no HTML report.")
@click.option(
    "--sarif", "sarif_path", type=click.Path(path_type=Path), help="Write the findings as SARIF 2.1.0."
)
@click.option(
    "--resume", is_flag=True, help="Keep what the journal has of an earlier run, where nothing has changed."
)
@click.option("--timeout", type=float, help="Seconds that one row may take [default: by profile].")
@click.option("--fail-fast", is_flag=True, help="The first row that is not accepted ends the run.")
@click.option("-q", "--quiet", is_flag=True, help="Print only rows that are not accepted, and how many.")
@click.option("--require", type=click.Choice(["proved"]), help="Accept no weaker privacy row that holds.")
@click.option(
    "--accept",
    type=click.Choice(["consistent"]),
    help="Accept a row that is consistent where its suite expects verified.",
)
def run_command(
    paths: tuple[str, ...],
    profile: Profile,
    alpha: float,
    seed: int,
    jobs: int | None,
    backend: Backend,
    scheduler: str | None,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    select: str | None,
    json_path: Path,
    html_path: Path | None,
    no_html: bool,
    sarif_path: Path | None,
    resume: bool,
    timeout: float | None,
    require: str | None,
    accept: str | None,
    fail_fast: bool,
    quiet: bool,
) -> None:
    """Run suites and write a report.

    PATH is a suite file, a folder of suites, or the word papers for those that ship with dpaudit, of which
    papers:classics is one. Without any: the folder audits, if there is one here, else papers, as the last
    line then says. All Python files of a folder are looked at. A row or group that no suite holds is an
    error.

    Exit code 0: all as expected. 1: a claim came out against expectation. 2: usage or configuration, or a
    suite that does not import or has no rows (the others are run). 3: an audit crashed. A run that is stopped
    (Ctrl-C, SIGTERM, SIGHUP) writes what is known and exits with 128 and the signal's number.
    """
    settings = Settings(
        profile=profile,
        alpha=alpha,
        seed=seed,
        jobs=1 if jobs is None else jobs,
        timeout=timeout,
        require=require,
        accept=accept,
    )
    page = None if no_html else html_path or json_path.with_suffix(".html")
    _check_outputs(json_path, page, sarif_path)
    console = make_console()
    _say_that_it_loads(paths)
    address = _address(scheduler, ca=tls_ca, cert=tls_cert, key=tls_key)
    pool, size = start_backend(backend, jobs=jobs, scheduler=address)
    settings = replace(settings, jobs=size)
    session: Session | None = None
    lost: RemoteError | None = None
    code = 0
    with _stoppable() as go_on:
        try:
            broken: list[BrokenSuite] = []
            plan = plan_run(paths, settings, pool, select=select, broken=broken)
            show_broken(broken)
            command = run_command_of(paths, settings, select=select).text
            session = Session(
                plan, settings, report_path=json_path, resume=resume, command=command, confirms=_confirms
            )
            if resume and not session.resumes:
                console.print(f"--resume: there is no journal {journal_path(json_path)}, so all rows run")
            kept = len(plan.rows) - len(session.remaining)
            _run(session, pool, console, resumed=kept, fail_fast=fail_fast, quiet=quiet)
            go_on()
        except KeyboardInterrupt as interrupt:
            code = interrupt.code if isinstance(interrupt, _Stopped) else 128 + signal.SIGINT
        except RemoteError as error:
            lost = error  # what was finished is written first
        finally:
            pool.close()
        if session is None:
            if lost:
                raise lost
            show_error("the run was stopped while the suites were imported, before the first row: no report.")
            sys.exit(code)
        report = session.report()
        _write(report, _Outputs(json_path, page, sarif_path), console, quiet=quiet)
        if not paths and default_paths() == [PAPERS]:
            console.print(f"there is no folder {AUDITS} here: the {PAPERS} that ship with dpaudit were run")
    if lost:
        raise lost
    sys.exit(code or _exit_code(report))


def _say_that_it_loads(paths: Sequence[str]) -> None:
    """Say on a terminal what is imported, which takes some seconds before there is a result to show."""
    if sys.stderr.isatty():
        with suppress(OSError):
            click.echo(f"loading {clean(', '.join(paths or default_paths()))}", err=True)


def _address(
    scheduler: str | None, *, ca: str | None, cert: str | None, key: str | None
) -> str | TlsScheduler | None:
    if (scheduler, ca, cert, key) == (None, None, None, None):
        return None
    from dpaudit.blackbox.statistics.cluster import (
        scheduler_of,  # loads the distributions, which the workers have
    )

    return scheduler_of(scheduler, ca=ca, cert=cert, key=key)


def _confirms(result: dict[str, Any]) -> bool:
    """Whether ``dpaudit verify`` would confirm a result."""
    from dpaudit.verify.result import verify_result  # loads the kernel, which a first run leaves to its rows

    return all(finding.ok for finding in verify_result(result))


def _run(
    session: Session, pool: Asking, console: Console, *, resumed: int, fail_fast: bool, quiet: bool
) -> None:
    if resumed and not quiet:
        console.print(f"{resumed} rows were finished before and nothing about them has changed", style="dim")
    width = max((len(row.id) for row in session.remaining), default=0)
    if quiet:
        session.run(pool, show=partial(_show_refused, console), warn=show_error, fail_fast=fail_fast)
    else:
        with LiveResults(console, total=len(session.remaining), id_width=width) as live:
            session.run(pool, show=live.show, warn=show_error, started=live.start, fail_fast=fail_fast)
    if not session.finished:
        console.print("--fail-fast: the first row that was not accepted ended the run")


def _show_refused(console: Console, result: dict[str, Any]) -> None:
    if not result["accepted"]:
        console.print(result_line(result), soft_wrap=True)


def _check_outputs(json_path: Path, *others: Path | None) -> None:
    """Refuse impossible outputs before the run, not after it."""
    if json_path.suffix != ".json":
        raise InvalidParameterError(
            f"--json must name a file that ends in .json, got {json_path}; rename it."
        )
    for path in (json_path, *others):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise InvalidParameterError(
                f"an output must be a file in an existing folder, got {path}; make the folder."
            )


@contextmanager
def _stoppable() -> Iterator[Callable[[], None]]:
    """Signals that stop a run raise ``_Stopped``, once.

    After the first one, or once the function that this yields is called, the others are ignored to the end of
    the block: nothing cuts off the report.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # only the main thread may set handlers
        return
    numbers = [getattr(signal, name) for name in STOPPING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    taken = [number for number in numbers if before[number] not in (signal.SIG_IGN, None)]

    def go_on() -> None:
        for number in taken:
            signal.signal(number, signal.SIG_IGN)

    def stop(number: int, _frame: FrameType | None) -> None:
        go_on()
        raise _Stopped(number)

    try:
        for number in taken:
            signal.signal(number, stop)
        yield go_on
    finally:
        for number in taken:
            signal.signal(number, before[number])


@dataclass(frozen=True)
class _Outputs:
    """The files that a run writes besides its journal; ``None`` for those that it does not."""

    json: Path
    page: Path | None
    sarif: Path | None


def _write(report: dict[str, Any], outputs: _Outputs, console: Console, *, quiet: bool) -> None:
    saved = _save(report, outputs.json)
    _say(report, console, quiet=quiet)
    _append_summary(report)

    def show(path: Path) -> None:
        if not quiet:
            console.print(f"report: {path}", style="dim")

    show(saved)
    if saved != outputs.json:
        raise InvalidParameterError(
            f"the report must be written where --json says, {outputs.json} cannot be; it is in {saved}."
        )
    if outputs.sarif is not None:
        write_text(outputs.sarif, sarif(report))
        show(outputs.sarif)
    if outputs.page is not None:
        from dpaudit.report.html import render_html

        write_text(outputs.page, render_html(report))
        show(outputs.page)


def _say(report: dict[str, Any], console: Console, *, quiet: bool) -> None:
    """What came out, for the reader of the terminal and for GitHub's."""
    console.print(totals(report) if quiet else summary(report))
    if os.environ.get("GITHUB_ACTIONS") == "true":  # as the runners of GitHub set it
        for line in github_annotations(report):
            console.print(Text(line), soft_wrap=True)
    # A crashed row may have had a program that did not answer in its fresh process.
    blind = [
        result
        for result in report["results"]
        if result.get("fresh_processes") == 0 and result["verdict"] != "crashed"
    ]
    if blind and not quiet:
        rows = "1 row declares" if len(blind) == 1 else f"{len(blind)} rows declare"
        console.print(f"{rows} {NOT_REPEATED}", style="dim")
    for item in report.get("broken", ()):
        console.print(Text(f"not run: {one_line(item['suite'])}", style="bold red"))


def _append_summary(report: dict[str, Any]) -> None:
    """Append a summary to the file that a job of GitHub Actions shows, where there is one."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    try:
        with open(name, "a", encoding="utf-8") as file:
            file.write(markdown_summary(report))
    except OSError as error:  # the report is written, and the exit code speaks of the audits
        show_error(f"GITHUB_STEP_SUMMARY must name a file that can be written, got {name}: {error.strerror}.")


def _save(report: dict[str, Any], path: Path) -> Path:
    """Write the report to ``path``, or to a new temporary folder where that fails; where it is now."""
    try:
        write_report(path, report)
    except InvalidParameterError as error:
        show_error(str(error))
        path = Path(tempfile.mkdtemp(prefix="dpaudit-")) / path.name
        write_report(path, report)
    return path


def _exit_code(report: dict[str, Any]) -> int:
    if any(result["verdict"] == "crashed" for result in report["results"]):
        return CRASHED
    if "broken" in report:
        return BROKEN_SUITE
    return 0 if all(result["accepted"] for result in report["results"]) else AGAINST_EXPECTATION
