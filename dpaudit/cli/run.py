"""``dpaudit run``: run suites, show results as they come, write the report."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console

from dpaudit.cli.console import make_console
from dpaudit.errors import InvalidParameterError
from dpaudit.reports.document import write_report, write_text
from dpaudit.reports.terminal import LiveResults, summary
from dpaudit.runner.plan import Settings, plan_run
from dpaudit.runner.process import Pool, available_cpus
from dpaudit.runner.session import Session

__all__ = ["read_command", "run_command"]

AGAINST_EXPECTATION, CRASHED = 1, 3
INTERRUPTED, TERMINATED = 128 + 2, 128 + 15  # as a shell reports SIGINT and SIGTERM

DEFAULT_REPORT = "dpaudit-report.json"


class _Terminated(KeyboardInterrupt):
    """SIGTERM: stop as for Ctrl-C, with another exit code."""


@click.command("run")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--quick", "profile", flag_value="quick", default="quick", help="Minutes (the default).")
@click.option("--full", "profile", flag_value="full", help="Hours: tighter bounds, rarer violations.")
@click.option("--paper", "profile", flag_value="paper", help="The papers' own horizons and grids.")
@click.option(
    "--alpha", type=float, default=0.05, show_default=True, help="Family-wise error level of the run."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Same seed, same verdicts, whatever --jobs."
)
@click.option("--jobs", type=int, default=None, help="Worker processes [default: the processors available].")
@click.option(
    "-k", "select", metavar="EXPR", help="Only rows whose id matches: words, and, or, not, parentheses."
)
@click.option(
    "--json", "json_path", type=click.Path(path_type=Path), default=DEFAULT_REPORT, show_default=True
)
@click.option(
    "--html", "html_path", type=click.Path(path_type=Path), help="[default: beside the JSON report]"
)
@click.option("--no-html", is_flag=True, help="Write no HTML report.")
@click.option(
    "--resume", is_flag=True, help="Keep what an interrupted run has finished, where nothing has changed."
)
@click.option("--timeout", type=float, help="Seconds that one row may take [default: by profile].")
@click.option(
    "--require", type=click.Choice(["proved", "accounted"]), help="Accept no weaker verified privacy row."
)
def run_command(
    paths: tuple[str, ...],
    profile: str,
    alpha: float,
    seed: int,
    jobs: int | None,
    select: str | None,
    json_path: Path,
    html_path: Path | None,
    no_html: bool,
    resume: bool,
    timeout: float | None,
    require: str | None,
) -> None:
    """Run suites and write a report.

    PATH is a suite file, a folder of suites, or the word papers for those that ship with dpaudit. Without
    one: the folder audits, if there is one here, else papers.
    """
    settings = Settings(
        profile=profile,
        alpha=alpha,
        seed=seed,
        jobs=available_cpus() if jobs is None else jobs,
        timeout=timeout,
        require=require,
    )
    page = None if no_html else html_path or json_path.with_suffix(".html")
    _check_outputs(json_path, page)
    console = make_console()
    pool = Pool(settings.jobs)
    code = 0
    with _sigterm_interrupts():
        try:
            plan = plan_run(paths, settings, pool, select=select)
            command = shlex.join(["dpaudit", *sys.argv[1:]])
            session = Session(plan, settings, report_path=json_path, resume=resume, command=command)
            try:
                _run(session, pool, console, resumed=len(plan.rows) - len(session.remaining))
            except KeyboardInterrupt as interrupt:
                code = TERMINATED if isinstance(interrupt, _Terminated) else INTERRUPTED
            report = session.report()
        except KeyboardInterrupt as interrupt:  # before the first row: there is nothing to write
            sys.exit(TERMINATED if isinstance(interrupt, _Terminated) else INTERRUPTED)
        finally:
            pool.close()
        _write(report, json_path, page, console)
    sys.exit(code or _exit_code(report))


def read_command(text: str) -> dict[str, Any] | None:
    """The parameters of ``dpaudit run`` in the command line that a report names; ``None`` where it is no such
    command."""
    try:
        words = shlex.split(text)
        if words[:2] != ["dpaudit", "run"] or {"-h", "--help"} & set(words):  # asking for help runs nothing
            return None
        return dict(run_command.make_context("dpaudit run", words[2:]).params)
    except (ValueError, click.ClickException, click.exceptions.Exit):
        return None


def _run(session: Session, pool: Pool, console: Console, *, resumed: int) -> None:
    if resumed:
        console.print(f"{resumed} rows were finished before and nothing about them has changed", style="dim")
    width = max((len(row.id) for row in session.remaining), default=0)
    with LiveResults(console, total=len(session.remaining), id_width=width) as live:
        session.run(pool, show=live.show)


def _check_outputs(json_path: Path, page: Path | None) -> None:
    """Refuse impossible outputs before the run, not after it."""
    if json_path.suffix != ".json":
        raise InvalidParameterError(
            f"--json must name a file that ends in .json, got {json_path}; rename it."
        )
    for path in (json_path, page):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise InvalidParameterError(
                f"an output must be a file in an existing folder, got {path}; make the folder."
            )


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """While the run lasts SIGTERM stops it as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _write(report: dict[str, Any], json_path: Path, page: Path | None, console: Console) -> None:
    write_report(json_path, report)
    console.print(summary(report))
    console.print(f"report: {json_path}", style="dim")
    if page is not None:
        from dpaudit.reports.html import render_html

        write_text(page, render_html(report))
        console.print(f"report: {page}", style="dim")


def _exit_code(report: dict[str, Any]) -> int:
    if any(result["verdict"] == "crashed" for result in report["results"]):
        return CRASHED
    return 0 if all(result["accepted"] for result in report["results"]) else AGAINST_EXPECTATION
