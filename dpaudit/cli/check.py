"""Provide ``dpaudit check``: test one function of a module against one claim, without a suite."""

from __future__ import annotations

import ast
import importlib
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import click
import numpy as np
from rich.text import Text

from dpaudit.cli.console import make_console, show_error
from dpaudit.core.claims import (
    Adjacency,
    ApproxDP,
    GaussianDP,
    PrivacyClaim,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.core.errors import InvalidParameterError, MechanismError, code_of
from dpaudit.core.harness import hide_checkout
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.processes.ending import no_silent_end
from dpaudit.report.file.document import write_text
from dpaudit.report.notation import clean

__all__ = ["check_command"]

REFUTED, CRASHED, NOT_AUDITED, INTERRUPTED = 1, 3, 4, 128 + signal.SIGINT

#: Hint if calls raised on pairs that --corners made.
LISTS_OF_RECORDS = " (--corners passes lists of records. For a function of one record, use --pair 0 1.)"
#: Characters of an option's value that an error quotes.
QUOTED = 60

CERTIFICATE = click.Path(exists=True, dir_okay=False)


@click.command("check")
@click.argument("function", metavar="MODULE:FUNCTION")
@click.option("--epsilon", metavar="NUMBER", help="The claim: 1, 0.5 or 1/3.")
@click.option("--delta", metavar="NUMBER", help="The claim is (epsilon, delta) [default: pure DP].")
@click.option("--order", metavar="NUMBER", help="The claim is Renyi DP of this order with --epsilon.")
@click.option("--rho", metavar="NUMBER", help="The claim is rho-zCDP, in place of --epsilon.")
@click.option("--mu", metavar="NUMBER", help="The claim is mu-GDP, in place of --epsilon.")
@click.option(
    "--pair",
    "pairs",
    nargs=2,
    multiple=True,
    metavar="DATA NEIGHBOUR",
    help="Two neighbouring inputs, as JSON or Python literals (text needs quotes). Repeatable.",
)
@click.option(
    "--corners",
    nargs=2,
    metavar="LEAST LARGEST",
    help="Try pairs made of these two values of a record. Requires --size.",
)
@click.option(
    "--records", metavar="LIST", help='Like --corners, with any number of values: \'["a", "b", "c"]\'.'
)
@click.option("--size", type=click.IntRange(min=1), help="Number of records of a dataset for --corners.")
@click.option("--null", metavar="VALUE", help="The null record, for --corners with zero-out.")
@click.option(
    "--adjacency",
    type=click.Choice([item.value for item in Adjacency]),
    default=Adjacency.REPLACE_ONE.value,
    show_default=True,
    help="The relation between neighbouring inputs.",
)
@click.option("--array", "as_array", is_flag=True, help="Pass each input as a numpy array.")
@click.option(
    "--frame",
    "as_frame",
    is_flag=True,
    help="Pass each input, a list of records, as a pandas data frame.",
)
@click.option(
    "--max-samples", type=int, default=100_000, show_default=True, help="Total runs of the function."
)
@click.option("--seconds", type=float, help="Time limit for the whole check in seconds [default: none].")
@click.option(
    "--timeout", type=float, default=60.0, show_default=True, help="Time limit for one call in seconds."
)
@click.option("--jobs", type=int, default=1, show_default=True, help="Worker processes.")
@click.option(
    "--scheduler", metavar="ADDRESS", help="Run calls on this Dask cluster. Requires the extra dask."
)
@click.option(
    "--tls-ca",
    type=click.Path(exists=True, dir_okay=False),
    help="CA file for the scheduler's certificates (PEM).",
)
@click.option(
    "--tls-cert",
    type=click.Path(exists=True, dir_okay=False),
    help="Certificate of this client (PEM).",
)
@click.option("--tls-key", type=CERTIFICATE, help="Key of that certificate (PEM).")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Significance level of the check.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the check.")
@click.option(
    "--json", "json_path", type=click.Path(path_type=Path, dir_okay=False), help="Write the result as JSON."
)
def check_command(
    function: str,
    epsilon: str | None,
    delta: str | None,
    order: str | None,
    rho: str | None,
    mu: str | None,
    pairs: tuple[tuple[str, str], ...],
    corners: tuple[str, str] | None,
    records: str | None,
    size: int | None,
    null: str | None,
    adjacency: str,
    as_array: bool,
    as_frame: bool,
    max_samples: int,
    seconds: float | None,
    timeout: float,
    jobs: int,
    scheduler: str | None,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    alpha: float,
    seed: int,
    json_path: Path | None,
) -> None:
    """Try to refute that FUNCTION of MODULE is private, by running it.

    The function is (data, rng) -> output and takes all of its randomness from rng, a numpy Generator. The
    module is imported with the current folder first on Python's path. Sampling cannot verify a claim.

    Exit code 0: audited and not refuted. 1: refuted. 2: usage error, or a module that does not import. 3: the
    function hung, raised in every call, or returned an unsupported output. 4: not audited, because no run
    could have refuted the claim. Reasons are too few runs (reported at once, with the number needed), outputs
    without anything to compare, and calls that depend on one another. 130: stopped by Ctrl-C, after printing
    the result so far.
    """
    stated = {"epsilon": epsilon, "delta": delta, "order": order, "rho": rho, "mu": mu}
    claim = _claim({name: text for name, text in stated.items() if text is not None}, Adjacency(adjacency))
    if as_array and as_frame:
        raise click.UsageError("--array and --frame cannot be used together.")
    make = _ARRAY if as_array else _FRAME if as_frame else None
    values = _values(corners, records)
    inputs = _neighbours(pairs, values, size, null, claim, make)
    if json_path is not None and not json_path.parent.is_dir():
        raise InvalidParameterError(
            f"--json must name a file in an existing folder, got {json_path}.", code="E-OUTPUT-FOLDER"
        )
    from dpaudit.blackbox.check import check  # not imported by the other commands
    from dpaudit.blackbox.notes import RAISED
    from dpaudit.blackbox.statistics.cluster import scheduler_of, travel_with

    address = scheduler_of(scheduler, ca=tls_ca, cert=tls_cert, key=tls_key)

    with _current_folder_first(), no_silent_end(), _interruptible() as stopped:
        mechanism = _function(function)
        try:
            if address is not None:
                travel_with(mechanism)
            result = check(
                mechanism,
                claim,
                neighbours=inputs,
                alpha=alpha,
                seed=seed,
                max_samples=max_samples,
                seconds=seconds,
                timeout=timeout,
                jobs=jobs,
                scheduler=address,
            )
        except MechanismError as error:
            show_error(str(error) + (LISTS_OF_RECORDS if values else ""), code=code_of(error))
            sys.exit(CRASHED)
    console = make_console()
    console.print(Text(clean(str(result))))
    if values and any(RAISED in note for note in result.notes):
        console.print(Text(LISTS_OF_RECORDS.strip()))
    if json_path is not None:
        options = {"function": function, "pairs": [pair.name for pair in inputs], "alpha": alpha}
        write_text(json_path, json.dumps(options | result.to_dict(), indent=1, allow_nan=False) + "\n")
    if stopped:
        sys.exit(INTERRUPTED)
    sys.exit(REFUTED if result.verdict == "refuted" else NOT_AUDITED if result.not_audited else 0)


@dataclass(frozen=True)
class _Make:
    """Conversion of each input that an option requests."""

    option: str
    needs: str
    function: Callable[[Any], Any]

    def __call__(self, data: Any) -> Any:
        try:
            return self.function(data)
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidParameterError(
                f"{self.option} needs {self.needs}, got {str(data)[:QUOTED]} ({error}).", code="E-INPUT-FORM"
            ) from error


def _frame(data: Any) -> Any:
    import pandas as pd

    if not isinstance(data, list) or not all(isinstance(record, dict) for record in data):
        raise TypeError("not a list of records")
    return pd.DataFrame(data)


_ARRAY = _Make("--array", "inputs of one shape", np.asarray)
_FRAME = _Make("--frame", 'inputs such as \'[{"age": 40}, {"age": 50}]\', one object per record', _frame)

#: The claim that each set of options states.
_CLAIMS: dict[frozenset[str], Callable[..., PrivacyClaim]] = {
    frozenset({"epsilon"}): PureDP,
    frozenset({"epsilon", "delta"}): ApproxDP,
    frozenset({"order", "epsilon"}): RenyiDP,
    frozenset({"rho"}): ZeroConcentratedDP,
    frozenset({"mu"}): GaussianDP,
}


def _claim(stated: dict[str, str], adjacency: Adjacency) -> PrivacyClaim:
    kind = _CLAIMS.get(frozenset(stated))
    if kind is None:
        given = " and ".join(f"--{name}" for name in stated) or "none of them"
        raise click.UsageError(
            f"a claim is --epsilon, alone or with --delta or --order, or --rho, or --mu, got {given}."
        )
    return kind(adjacency=adjacency, **stated)


def _neighbours(
    pairs: tuple[tuple[str, str], ...],
    values: list[Any] | None,
    size: int | None,
    null: str | None,
    claim: PrivacyClaim,
    make: _Make | None,
) -> list[Neighbours]:
    """Return the pairs of all options: first those of --pair, then those of --corners."""
    if not pairs and values is None:
        raise click.UsageError("neighbouring inputs are required: pass --pair, or --corners and --size.")
    if (values is None) != (size is None):
        raise click.UsageError("--corners (or --records) and --size must be used together.")
    zero_out = values is not None and claim.adjacency is Adjacency.ZERO_OUT
    if zero_out != (null is not None):
        raise click.UsageError(
            "--null is required for --corners with --adjacency zero-out, and allowed only there."
        )
    from dpaudit.blackbox.neighbours import as_pair, corners, require_adjacent, require_no_nan

    read = [tuple(_read("--pair", text) for text in pair) for pair in pairs]
    found = [as_pair(pair, index) for index, pair in enumerate(read)]
    if values is not None and size is not None:
        found += corners(values, size, claim.adjacency, null=_read("--null", null) if null else ...)
    if make is not None:
        found = [Neighbours(p.name, make(p.left), make(p.right)) for p in found]
    for index, pair in enumerate(found):
        require_no_nan(pair, index=index)
        require_adjacent(pair, claim, index=index)
    return found


def _values(corners: tuple[str, str] | None, records: str | None) -> list[Any] | None:
    """Return the values of a record from --corners or --records, or ``None`` without either option."""
    if records is None:
        return None if corners is None else [_read("--corners", text) for text in corners]
    if corners is not None:
        raise click.UsageError("--corners and --records cannot be used together.")
    values = _read("--records", records)
    if not isinstance(values, list | tuple):
        raise InvalidParameterError(
            f"--records must be a list such as '[0, 1, 2]', got {records[:QUOTED]!r}.", code="E-RECORDS-FORM"
        )
    return list(values)


def _read(option: str, text: str) -> Any:
    """Read JSON, or else a Python literal (tuples, sets, None, single quotes)."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InvalidParameterError(
            f"{option} must be JSON or a Python literal, got {text[:QUOTED]!r}. Write for example '[0, 1]', "
            "in quotes of the shell, and a text as '\"a\"'.",
            code="E-INPUT-LITERAL",
        ) from None


def _function(name: str) -> Callable[..., Any]:
    """Import a module and return the callable that ``module:function`` names. The import runs the module."""
    module, colon, path = name.partition(":")
    if not (colon and module and path):
        raise InvalidParameterError(
            f"a function is named as MODULE:FUNCTION, such as mine:noisy_count for mine.py, got {name!r}.",
            code="E-FUNCTION-NAME",
        )
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a foreign module may raise anything
        raise InvalidParameterError(
            f"the module of {name!r} must import, got {type(error).__name__}: {error}. Run the "
            f"command in the folder of {module}, and write the name without .py.",
            code="E-MODULE-IMPORT",
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise InvalidParameterError(
                f"{path} must be a function of the module {module}, which has no {part!r}.",
                code="E-FUNCTION-MISSING",
            )
        found = getattr(found, part)
    if not callable(found):
        raise InvalidParameterError(
            f"{path} must be a function of the module {module}, got {type(found).__name__}.",
            code="E-FUNCTION-TYPE",
        )
    return found  # type: ignore[no-any-return]


@contextmanager
def _current_folder_first() -> Iterator[None]:
    """Put the current folder first on Python's path while the function is imported and runs."""
    here = str(Path.cwd())
    hidden = hide_checkout(Path(here))
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
        for entry in hidden:
            sys.path_importer_cache.pop(entry, None)


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Record Ctrl-C in the list that this yields, and let it end the runs as usual.

    An interrupted check prints its result so far, and must not exit with the code of a complete one.
    """
    stopped: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield stopped  # only the main thread may set handlers
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        stopped.append(number)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    try:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, stop)
        yield stopped
    except KeyboardInterrupt:  # before the first run or after the last one
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, before)
