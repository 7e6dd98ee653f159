"""Provide ``dpaudit run``: run suites, print each result, and write the report."""

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
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.text import Text

from dpaudit.cli.configuration import find_configuration
from dpaudit.cli.console import BROKEN_SUITE, make_console, show_broken, show_error
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Profile
from dpaudit.report.annotations import github_annotations
from dpaudit.report.file.document import journal_path, write_report, write_text
from dpaudit.report.file.parts import Result
from dpaudit.report.file.report import Report
from dpaudit.report.markdown import markdown_summary
from dpaudit.report.notation import clean
from dpaudit.report.sarif import sarif
from dpaudit.report.terminal import LiveResults, one_line, result_line, summary, totals
from dpaudit.run.backends import BACKENDS, Backend, start_backend
from dpaudit.run.plan import BrokenSuite, Settings, plan_run, run_command_of
from dpaudit.run.remote import Executor, RemoteError
from dpaudit.run.session import Session
from dpaudit.run.targets import AUDITS, PAPERS, default_paths

if TYPE_CHECKING:
    from dpaudit.blackbox.statistics.cluster import TlsScheduler

__all__ = ["run_command"]

AGAINST_EXPECTATION, CRASHED = 1, 3

CERTIFICATE = click.Path(exists=True, dir_okay=False)

#: Key in click's context for the chosen profile.
PROFILE = f"{__name__}.profile"

#: Key in click's context for the configuration that was found.
CONFIGURATION = f"{__name__}.configuration"

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_REPORT = "dpaudit-report.json"

#: Signals that stop a run, if the system has them and they are not ignored already (nohup).
STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")


class _Stopped(KeyboardInterrupt):
    """A signal that stops the run. The exit code is the one that a shell reports for the signal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def _profile_option(name: str, *, help: str) -> Callable[[Command], Command]:
    """Return the option ``--name`` that chooses this profile, and refuses a second, different profile."""

    def choose(context: click.Context, parameter: click.Parameter, given: bool) -> None:
        chosen = context.meta.get(PROFILE, name)
        if given and chosen != name:
            raise click.UsageError(f"--{chosen} and --{name} cannot be used together.", context)
        if given:
            context.meta[PROFILE] = name
        default = context.lookup_default("profile") or "quick"
        context.params["profile"] = context.meta.get(PROFILE, default)

    return click.option(f"--{name}", is_flag=True, expose_value=False, callback=choose, help=help)


def _complete_path(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Let the shell complete files, and add the word for the suites that ship with dpaudit."""
    words = [CompletionItem(PAPERS)] if incomplete and PAPERS.startswith(incomplete) else []
    return [*words, CompletionItem(incomplete, type="file")]


def _configure(context: click.Context, parameter: click.Parameter, refused: bool) -> None:
    """Take the defaults of the command from the configuration of the current folder, unless refused."""
    found = None if refused else find_configuration(Path.cwd())
    if found is not None:
        context.default_map = found.defaults
        context.meta[CONFIGURATION] = found


@click.command("run")
@click.option(
    "--no-config",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_configure,
    help="Take no defaults from [tool.dpaudit] of a pyproject.toml in this folder or one above it.",
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=_complete_path)
@_profile_option("quick", help="Take minutes (the default).")
@_profile_option("full", help="Take half an hour for tighter bounds and rarer violations.")
@_profile_option("paper", help="Use the horizons and grids of the papers.")
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    help="Significance level of the whole run (family-wise).",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed. The verdicts depend on it, but not on --jobs.",
)
@click.option(
    "--jobs",
    type=int,
    default=None,
    help="Rows to run in parallel [default: the number of available processors].",
)
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="processes",
    show_default=True,
    help="Where rows run. dask requires the extra of that name.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler [default: a cluster on this machine]."
)
@click.option("--tls-ca", type=CERTIFICATE, help="CA file for the scheduler's certificates (PEM).")
@click.option("--tls-cert", type=CERTIFICATE, help="Certificate of this client (PEM).")
@click.option("--tls-key", type=CERTIFICATE, help="Key of that certificate (PEM).")
@click.option(
    "-k",
    "select",
    metavar="EXPR",
    help="Run only rows whose id matches: words, and, or, not, parentheses. =ID selects one row.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    default=DEFAULT_REPORT,
    show_default=True,
    help="Report file. The journal for --resume is written next to it, with the ending .jsonl.",
)
@click.option(
    "--html",
    "html_path",
    type=click.Path(path_type=Path),
    help="HTML report [default: next to the JSON report].",
)
@click.option("--no-html", is_flag=True, help="Write no HTML report.")
@click.option(
    "--sarif", "sarif_path", type=click.Path(path_type=Path), help="Write the findings as SARIF 2.1.0."
)
@click.option(
    "--resume",
    is_flag=True,
    help="Reuse results in the journal of an earlier run if nothing that they depend on has changed.",
)
@click.option("--timeout", type=float, help="Time limit for one row in seconds [default: by profile].")
@click.option("--fail-fast", is_flag=True, help="Stop after the first row that is not accepted.")
@click.option(
    "-q", "--quiet", is_flag=True, help="Print only the rows that are not accepted, and the totals."
)
@click.option(
    "--require", type=click.Choice(["proved"]), help="Accept a privacy row that holds only if it is proved."
)
@click.option(
    "--accept",
    type=click.Choice(["consistent"]),
    help="Accept a consistent row if its suite expects verified.",
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

    PATH is a suite file, a folder of suites, or the word papers for the suites that ship with dpaudit, such
    as papers:classics. The default is the folder audits, or papers if there is no such folder. All Python
    files of a folder are searched. A row or group that belongs to no suite is an error.

    The table [tool.dpaudit] of the closest pyproject.toml that has one sets defaults: suites (the paths),
    alpha, profile, seed, jobs, timeout, require and accept. Options of the command line win.

    Exit code 0: all rows are as expected. 1: a claim is not. 2: usage or configuration error, or a suite that
    does not import or has no rows (the other suites are run). 3: an audit crashed. A run that is stopped
    (Ctrl-C, SIGTERM, SIGHUP) writes the finished results and exits with 128 plus the signal number.
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
    if not quiet:
        _announce(paths)
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
                console.print(f"--resume: no journal {journal_path(json_path)} exists, so all rows run")
            kept = len(plan.rows) - len(session.remaining)
            _run(session, pool, console, resumed=kept, fail_fast=fail_fast, quiet=quiet)
            go_on()
        except KeyboardInterrupt as interrupt:
            code = interrupt.code if isinstance(interrupt, _Stopped) else 128 + signal.SIGINT
        except RemoteError as error:
            lost = error  # write the finished results first
        finally:
            pool.close()
        if session is None:
            if lost:
                raise lost
            show_error(
                "the run was stopped while the suites were imported, before the first row. No report.",
                code="E-RUN-STOPPED",
            )
            sys.exit(code)
        report = Report.from_json(session.report())
        _write(report, _Outputs(json_path, page, sarif_path), console, quiet=quiet)
        if not paths and default_paths() == [PAPERS]:
            console.print(f"No folder {AUDITS} exists here, so the {PAPERS} that ship with dpaudit were run.")
    if lost:
        raise lost
    sys.exit(code or _exit_code(report))


def _announce(paths: Sequence[str]) -> None:
    """Print on standard error the configuration, and what is imported, because imports take seconds."""
    configuration = click.get_current_context().meta.get(CONFIGURATION)
    with suppress(OSError):
        if configuration is not None:
            click.echo(f"defaults from {clean(str(configuration))}", err=True)
        click.echo(f"loading {clean(', '.join(paths or default_paths()))}", err=True)


def _address(
    scheduler: str | None, *, ca: str | None, cert: str | None, key: str | None
) -> str | TlsScheduler | None:
    if (scheduler, ca, cert, key) == (None, None, None, None):
        return None
    # Imported here because it loads the distributions, which only the workers need.
    from dpaudit.blackbox.statistics.cluster import scheduler_of

    return scheduler_of(scheduler, ca=ca, cert=cert, key=key)


def _confirms(result: dict[str, Any]) -> bool:
    """Return whether ``dpaudit verify`` would confirm a result."""
    from dpaudit.verify.result import verify_result  # loads the kernel, which only a resumed run needs here

    return all(finding.ok for finding in verify_result(result))


def _run(
    session: Session, pool: Executor, console: Console, *, resumed: int, fail_fast: bool, quiet: bool
) -> None:
    if resumed and not quiet:
        console.print(
            f"{resumed} rows were finished before and nothing they depend on has changed", style="dim"
        )
    width = max((len(row.id) for row in session.remaining), default=0)
    if quiet:
        session.run(pool, show=partial(_show_refused, console), warn=_warn, fail_fast=fail_fast)
    else:
        with LiveResults(console, total=len(session.remaining), id_width=width) as live:
            session.run(
                pool,
                show=live.show,
                warn=_warn,
                started=live.start,
                fail_fast=fail_fast,
            )
    if not session.finished:
        console.print("--fail-fast: the run ended at the first row that was not accepted")


def _warn(text: str) -> None:
    show_error(text, code="E-JOURNAL-WRITE")


def _show_refused(console: Console, result: Result) -> None:
    if not result.accepted:
        console.print(result_line(result), soft_wrap=True)


def _check_outputs(json_path: Path, *others: Path | None) -> None:
    """Raise ``InvalidParameterError`` for impossible outputs before the run, not after it."""
    if json_path.suffix != ".json":
        raise InvalidParameterError(
            f"--json must name a file that ends in .json, got {json_path}.", code="E-OUTPUT-NAME"
        )
    for path in (json_path, *others):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise InvalidParameterError(
                f"an output must be a file in an existing folder, got {path}.", code="E-OUTPUT-FOLDER"
            )


@contextmanager
def _stoppable() -> Iterator[Callable[[], None]]:
    """Raise ``_Stopped`` at the first signal that stops a run.

    Later signals are ignored until the end of the block, and so are all signals after the yielded function is
    called, so that nothing interrupts the writing of the report.
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
    """The files that a run writes besides its journal. ``None`` stands for a file that it does not write."""

    json: Path
    page: Path | None
    sarif: Path | None


def _write(report: Report, outputs: _Outputs, console: Console, *, quiet: bool) -> None:
    """Write all files, and print the summary even if one of them cannot be written."""
    written = [_save(report, outputs.json)]
    try:
        if written[0] != outputs.json:
            raise InvalidParameterError(
                f"the report could not be written to {outputs.json}, so it is in {written[0]}.",
                code="E-OUTPUT-WRITE",
            )
        if outputs.sarif is not None:
            write_text(outputs.sarif, sarif(report))
            written.append(outputs.sarif)
        if outputs.page is not None:
            from dpaudit.report.html import render_html

            write_text(outputs.page, render_html(report))
            written.append(outputs.page)
    finally:
        _show_summary(report, console, written, quiet=quiet)
        _append_summary(report)


def _show_summary(report: Report, console: Console, written: Sequence[Path], *, quiet: bool) -> None:
    """Print the summary of a run, and GitHub's annotations if a GitHub runner runs it."""
    if os.environ.get("GITHUB_ACTIONS") == "true":  # set by GitHub's runners
        for line in github_annotations(report):
            console.print(Text(line), soft_wrap=True)
    for item in report.broken:
        console.print(Text(f"not run: {one_line(item.suite)}", style="bold red"))
    console.print(totals(report) if quiet else summary(report, written=written), soft_wrap=True)


def _append_summary(report: Report) -> None:
    """Append a summary to the file that a job of GitHub Actions shows, if there is such a file."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    try:
        with open(name, "a", encoding="utf-8") as file:
            file.write(markdown_summary(report))
    except OSError as error:  # not fatal: the report is written, and the exit code is about the audits
        show_error(
            f"GITHUB_STEP_SUMMARY must name a file that can be written, got {name}: {error.strerror}.",
            code="E-OUTPUT-WRITE",
        )


def _save(report: Report, path: Path) -> Path:
    """Write the report to ``path``, or to a new temporary folder if that fails. Return where it is."""
    try:
        write_report(path, report.document)
    except InvalidParameterError as error:
        show_error(error)
        path = Path(tempfile.mkdtemp(prefix="dpaudit-")) / path.name
        write_report(path, report.document)
    return path


def _exit_code(report: Report) -> int:
    if any(result.verdict == "crashed" for result in report.results):
        return CRASHED
    if report.broken:
        return BROKEN_SUITE
    return 0 if all(result.accepted for result in report.results) else AGAINST_EXPECTATION
