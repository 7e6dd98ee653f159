"""Provide ``dpaudit report`` and ``dpaudit verify``, which read a report file."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

import dpaudit
from dpaudit.cli.console import make_console
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import COMPUTATION
from dpaudit.report.beyond_the_file import CANNOT_KNOW
from dpaudit.report.file.document import write_text
from dpaudit.report.file.report import Report
from dpaudit.report.junit import junit_xml
from dpaudit.report.markdown import markdown_table, refresh
from dpaudit.report.sarif import sarif
from dpaudit.report.terminal import details, one_line, report_table, summary
from dpaudit.verify.findings import Finding
from dpaudit.verify.trusted import inequality_lines, trusted_lines, values_lines

__all__ = ["report_command", "verify_command"]

NOT_CONFIRMED = 1

_FILE = click.Path(path_type=Path)


@click.command("report")
@click.argument("file", type=_FILE)
@click.option("--html", "html_path", type=_FILE, help="Write the HTML page.")
@click.option(
    "--markdown", "markdown_path", type=_FILE, help="Write a table, or refresh the table in an existing file."
)
@click.option("--junit", "junit_path", type=_FILE, help="Write JUnit XML.")
@click.option("--sarif", "sarif_path", type=_FILE, help="Write the findings as SARIF 2.1.0.")
def report_command(
    file: Path,
    html_path: Path | None,
    markdown_path: Path | None,
    junit_path: Path | None,
    sarif_path: Path | None,
) -> None:
    """Show a JSON report as a table, with its findings, and write other formats."""
    report = Report.read(file)
    console = make_console()
    console.print(report_table(report))
    console.print(details(report), end="")
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
    help="Also run the rows of this suite again. Repeatable.",
)
@click.option(
    "--jobs", type=int, default=None, help="Worker processes for --suite [default: the number of CPUs]."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=3600.0,
    show_default=True,
    help="Time limit for checking the file. Results that are not reached in time are not confirmed.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only what is not confirmed, and the totals.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Print one line for each certificate, witness and estimate."
)
def verify_command(
    file: Path, suites: tuple[str, ...], jobs: int | None, seconds: float, quiet: bool, verbose: bool
) -> None:
    """Check every certificate and witness of a report again, without running any audited program.

    Prints one line for each row. With --suite, the programs are run again too. All suites of the report must
    be named, their sources must have the hashes in the report, and every field must come out the same. Only
    times, the location of a suite file, and the names of the run's output files may differ.

    Exit code 0: all confirmed. 1: something was not confirmed. 2: the file or a suite cannot be read.
    """
    from dpaudit.verify.report import verify_report

    if not math.isfinite(seconds):
        raise InvalidParameterError(
            f"--seconds must be a finite number, got {seconds}.", code="E-SECONDS-RANGE"
        )
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose cannot be used together.")
    _require_own_modules(file)
    report = Report.read(file)
    console = make_console()
    with console.status("") as status:  # shown on a terminal only

        def progress(done: int, total: int, name: str) -> None:
            status.update(Text(f"{done}/{total} {one_line(name)}"))

        findings = verify_report(report, progress=progress, seconds=seconds)
    show = _Findings(console, quiet=quiet, verbose=verbose)
    show.all(findings)
    for finding in _run_again(report, suites, jobs) if suites else ():
        findings.append(finding)
        show.all([finding])
    refused = sum(not finding.ok for finding in findings)
    computed = sum(f.ok and f.taken and f.what.endswith(COMPUTATION) for f in findings)
    taken = sum(f.ok and f.taken for f in findings) - computed
    if not quiet:
        console.print(Text(f"\n{_tiers(findings)}{CANNOT_KNOW}\n"))
    console.print(
        f"{len(findings) - refused - taken - computed} confirmed, {refused} not"
        + (f"; {computed} computations taken from the report, not checked" if computed else "")
        + (f"; {taken} estimates taken from the report, not checked" if taken else "")
        + (f", at significance level {report.alpha:g} for the whole run" if taken else "")
    )
    sys.exit(NOT_CONFIRMED if refused else 0)


def _tiers(findings: Sequence[Finding]) -> str:
    """Return how many certificates each tier of the kernel checked, and the lines of code of that tier."""
    lines = {**trusted_lines(), "values": values_lines(), "inequalities": inequality_lines()}
    counts = Counter(finding.tier for finding in findings if finding.tier)
    parts = [f"{counts[tier]} by {tier} ({lines[tier]} lines)" for tier in lines if counts[tier]]
    return f"Certificates: {', '.join(parts)}. " if parts else ""


def _require_own_modules(file: Path) -> None:
    """Raise ``InvalidParameterError`` if Python imports from the report's folder or the current folder.

    The author of the report may have put files there. (A program cannot undo what Python itself ran at its
    start.)
    """
    home = Path(dpaudit.__file__).resolve().parent.parent
    foreign = {Path.cwd().resolve(), file.resolve().parent} - {home}
    for entry in sys.path:
        if Path(entry).resolve() in foreign:
            raise InvalidParameterError(
                f"Python must not import from the report's or the current folder, got {entry or '.'} on its "
                "path. Run `python -I -m dpaudit verify`, or remove it from PYTHONPATH.",
                code="E-PYTHON-PATH",
            )


def _run_again(report: Report, suites: tuple[str, ...], jobs: int | None) -> Iterator[Finding]:
    from dpaudit.run.process import Pool, available_cpus
    from dpaudit.verify.again import compare_with_report

    workers = available_cpus() if jobs is None else jobs
    pool = Pool(workers)
    try:
        yield from compare_with_report(report, suites, jobs=workers, pool=pool)
    finally:
        pool.close()


class _Findings:
    """Prints findings: failures in full, and what is confirmed in one line a row, or in full if verbose."""

    def __init__(self, console: Console, *, quiet: bool, verbose: bool) -> None:
        self._console, self._quiet, self._verbose = console, quiet, verbose

    def all(self, findings: Sequence[Finding]) -> None:
        """Print findings, grouped by row unless verbose."""
        if self._verbose:
            for finding in findings:
                self._full(finding)
            return
        rows: dict[str, list[Finding]] = {}
        for finding in findings:
            rows.setdefault(finding.id, []).append(finding)
        for name, group in rows.items():
            refused = [finding for finding in group if not finding.ok]
            for finding in refused:
                self._full(finding)
            if not refused and not self._quiet:
                self._row(name, group)

    def _row(self, name: str, group: Sequence[Finding]) -> None:
        taken = sum(finding.taken for finding in group)
        counts = [(len(group) - taken, "confirmed"), (taken, "taken from the report")]
        words = ", ".join(f"{count} {word}" for count, word in counts if count)
        mark = ("· ", "dim") if taken == len(group) else ("✓ ", "green")
        self._console.print(Text.assemble(mark, (one_line(name), "bold"), f"  {words}"))

    def _full(self, finding: Finding) -> None:
        mark = ("✗ ", "bold red") if not finding.ok else ("· ", "dim") if finding.taken else ("✓ ", "green")
        reason = f": {one_line(finding.reason)}" if finding.reason else ""
        self._console.print(
            Text.assemble(mark, (one_line(finding.id), "bold"), f" {one_line(finding.what)}{reason}")
        )
