"""``dpaudit report`` and ``dpaudit verify``: what can be done with a report file."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

import dpaudit
from dpaudit.cli.console import make_console
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.estimates import COMPUTATION
from dpaudit.report.beyond_the_file import CANNOT_KNOW
from dpaudit.report.file.document import read_report, write_text
from dpaudit.report.junit import junit_xml
from dpaudit.report.markdown import markdown_table, refresh
from dpaudit.report.sarif import sarif
from dpaudit.report.terminal import one_line, report_table, summary
from dpaudit.verify.findings import Finding
from dpaudit.verify.trusted import trusted_lines, values_lines

__all__ = ["report_command", "verify_command"]

NOT_CONFIRMED = 1

_FILE = click.Path(path_type=Path)


@click.command("report")
@click.argument("file", type=_FILE)
@click.option("--html", "html_path", type=_FILE, help="Write the page with plots.")
@click.option(
    "--markdown", "markdown_path", type=_FILE, help="Write a table, or refresh the one in a README."
)
@click.option("--junit", "junit_path", type=_FILE, help="Write JUnit XML.")
@click.option(
    "--sarif", "sarif_path", type=_FILE, help="Write SARIF 2.1.0: what code hosts show as findings."
)
def report_command(
    file: Path,
    html_path: Path | None,
    markdown_path: Path | None,
    junit_path: Path | None,
    sarif_path: Path | None,
) -> None:
    """Show a JSON report as a table, and make other formats from it."""
    report = read_report(file)
    console = make_console()
    console.print(report_table(report))
    console.print(summary(report))
    if html_path is not None:
        from dpaudit.report.html import render_html

        write_text(html_path, render_html(report))
    if markdown_path is not None:
        refresh(markdown_path, markdown_table(report))
    if junit_path is not None:
        write_text(junit_path, junit_xml(report))
    if sarif_path is not None:
        write_text(sarif_path, sarif(report))


@click.command("verify")
@click.argument("file", type=_FILE)
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="PATH",
    help="Run this suite's rows again as well; repeatable.",
)
@click.option(
    "--jobs", type=int, default=None, help="Worker processes for --suite [default: as many as CPUs]."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=3600.0,
    show_default=True,
    help="Time for checking the file; a result that it does not reach is not confirmed.",
)
def verify_command(file: Path, suites: tuple[str, ...], jobs: int | None, seconds: float) -> None:
    """Check every certificate and witness of a report again, without running any audited program.

    With --suite the programs are run again too: all suites of the report must be named, their sources must
    have the hashes that the report names, and every field must come out the same. Free are only the times
    (seconds of a row, when the run started and finished), where a suite file lay, and how the run called its
    output files.

    Exit code 0: all confirmed. 1: something was not confirmed. 2: the file or a suite cannot be read.
    """
    from dpaudit.verify.report import verify_report

    if not math.isfinite(seconds):
        raise InvalidParameterError(
            f"--seconds must be a finite number, got {seconds}; pass one such as 600."
        )
    _require_own_modules(file)
    report = read_report(file)
    console = make_console()
    with console.status("") as status:  # shown on a terminal only

        def progress(done: int, total: int, name: str) -> None:
            status.update(Text(f"{done}/{total} {one_line(name)}"))

        findings = verify_report(report, progress=progress, seconds=seconds)
    for finding in findings:
        _print(console, finding)
    for finding in _run_again(report, suites, jobs) if suites else ():
        findings.append(finding)
        _print(console, finding)
    refused = sum(not finding.ok for finding in findings)
    computed = sum(f.ok and f.taken and f.what.endswith(COMPUTATION) for f in findings)
    taken = sum(f.ok and f.taken for f in findings) - computed
    console.print(Text(f"\n{_tiers(findings)}{CANNOT_KNOW}\n"))
    console.print(
        f"{len(findings) - refused - taken - computed} confirmed, {refused} not"
        + (f"; {computed} computations taken from the report as they stand" if computed else "")
        + (f"; {taken} estimates taken from the report as they stand" if taken else "")
        + (f", at the run's error level {report['alpha']:g} together" if taken else "")
    )
    sys.exit(NOT_CONFIRMED if refused else 0)


def _tiers(findings: Sequence[Finding]) -> str:
    """How many certificates each tier of the kernel re-derived, and how many lines of code that tier has."""
    lines = {**trusted_lines(), "values": values_lines()}
    counts = Counter(finding.tier for finding in findings if finding.tier)
    said = [f"{counts[tier]} by {tier} ({lines[tier]} lines)" for tier in lines if counts[tier]]
    return f"Certificates: {', '.join(said)}. " if said else ""


def _require_own_modules(file: Path) -> None:
    """Files beside a report, or in the current folder, must not be importable: whoever made the report may
    have put them there. (What Python itself runs as it starts, no program can undo.)"""
    home = Path(dpaudit.__file__).resolve().parent.parent
    foreign = {Path.cwd().resolve(), file.resolve().parent} - {home}
    for entry in sys.path:
        if Path(entry).resolve() in foreign:
            raise InvalidParameterError(
                f"Python must not import from the report's or the current folder, got {entry or '.'} on its "
                "path; run `python -I -m dpaudit verify`, or take it out of PYTHONPATH."
            )


def _run_again(report: dict[str, Any], suites: tuple[str, ...], jobs: int | None) -> Iterator[Finding]:
    from dpaudit.run.process import Pool, available_cpus
    from dpaudit.verify.again import compare_with_report

    workers = available_cpus() if jobs is None else jobs
    pool = Pool(workers)
    try:
        yield from compare_with_report(report, suites, jobs=workers, pool=pool)
    finally:
        pool.close()


def _print(console: Console, finding: Finding) -> None:
    mark = ("✗ ", "bold red") if not finding.ok else ("· ", "dim") if finding.taken else ("✓ ", "green")
    reason = f": {one_line(finding.reason)}" if finding.reason else ""
    console.print(Text.assemble(mark, (one_line(finding.id), "bold"), f" {one_line(finding.what)}{reason}"))
