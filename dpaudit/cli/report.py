"""``dpaudit report`` and ``dpaudit verify``: what can be done with a report file alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.text import Text

from dpaudit.cli.console import make_console
from dpaudit.reports.document import read_report, write_text
from dpaudit.reports.junit import junit_xml
from dpaudit.reports.markdown import markdown_table, refresh
from dpaudit.reports.terminal import one_line, report_table, summary

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
def report_command(
    file: Path, html_path: Path | None, markdown_path: Path | None, junit_path: Path | None
) -> None:
    """Show a JSON report as a table, and make other formats from it."""
    report = read_report(file)
    console = make_console()
    console.print(report_table(report))
    console.print(summary(report))
    if html_path is not None:
        from dpaudit.reports.html import render_html

        write_text(html_path, render_html(report))
    if markdown_path is not None:
        refresh(markdown_path, markdown_table(report))
    if junit_path is not None:
        write_text(junit_path, junit_xml(report))


@click.command("verify")
@click.argument("file", type=_FILE)
def verify_command(file: Path) -> None:
    """Check every certificate and witness of a report again, without running any audited program.

    Exit code 0: all confirmed. 1: something was not confirmed. 2: the file cannot be read.
    """
    from dpaudit.certificates.verify import verify_report

    report = read_report(file)
    console = make_console()
    with console.status("") as status:  # shown on a terminal only

        def progress(done: int, total: int, name: str) -> None:
            status.update(Text(f"{done}/{total} {one_line(name)}"))

        findings = verify_report(report, progress=progress)
    for finding in findings:
        mark = ("✓ ", "green") if finding.ok else ("✗ ", "bold red")
        reason = "" if finding.ok and not finding.reason else f": {one_line(finding.reason)}"
        console.print(
            Text.assemble(mark, (one_line(finding.id), "bold"), f" {one_line(finding.what)}{reason}")
        )
    refused = sum(not finding.ok for finding in findings)
    console.print(f"{len(findings) - refused} confirmed, {refused} not")
    sys.exit(NOT_CONFIRMED if refused else 0)
