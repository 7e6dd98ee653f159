"""Provide ``dpaudit audit-library``: audit all mechanisms that a module lists."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module

import click
from rich.text import Text

from dpaudit.cli.check import _current_folder_first
from dpaudit.cli.console import make_console
from dpaudit.core.errors import InvalidParameterError
from dpaudit.report.notation import clean

__all__ = ["audit_library_command"]


@click.command("audit-library")
@click.argument("listing", metavar="MODULE:NAME")
@click.option("--seconds", type=float, default=300.0, show_default=True, help="Time limit of the audit.")
@click.option("--max-samples", type=int, default=40_000, show_default=True, help="Runs for one claim.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Significance level of the audit.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed.")
def audit_library_command(listing: str, seconds: float, max_samples: int, alpha: float, seed: int) -> None:
    """Audit the mechanisms in the dict NAME of MODULE: {"name": (function, claim, data), ...}.

    Exit code 0: nothing was refuted for declared data. 1: a violation. 2: usage error. 3: a mechanism
    could not be checked at all.
    """
    from dpaudit.blackbox.library import audit_library

    with _current_folder_first():
        audit = audit_library(
            _listed(listing), seconds=seconds, max_samples=max_samples, alpha=alpha, seed=seed
        )
    make_console().print(Text(clean(str(audit))))
    sys.exit(audit.exit_code)


def _listed(listing: str) -> Mapping[str, object]:
    module, _, name = listing.partition(":")
    try:
        found = getattr(import_module(module), name or "MECHANISMS", None)
    except Exception as error:  # a foreign module may raise anything
        raise InvalidParameterError(
            f"the module of {listing!r} must import, got {type(error).__name__}: {error}. If a package is "
            'missing, install it, for example with pip install "dpaudit[libraries]".',
            code="E-MODULE-IMPORT",
        ) from error
    if not isinstance(found, Mapping):
        raise InvalidParameterError(
            f"{listing} must name a dict of (function, claim, data) by name, got {type(found).__name__}.",
            code="E-LIBRARY-OBJECTS",
        )
    return found
