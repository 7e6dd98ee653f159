"""Read and write the JSON report, from which all other outputs are made, and the journal of a run.

A report is strict JSON (``strict``) that fits ``schema.json``. During a run, each result is appended to a
journal next to the report, one JSON object per line, and forced to disk before the next row is shown. Each
line has a key that depends on everything that the result depends on. A resumed run reuses a result only if
none of that has changed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Any

from fastjsonschema import JsonSchemaValueException
from fastjsonschema import compile as compiled
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from dpaudit.core.errors import BrokenReportError, InvalidParameterError
from dpaudit.report.file.strict import (
    parse_strict,
    read_regular_file,
    require_ascii_numbers,
    require_clear_ids,
    require_once,
)

__all__ = [
    "SCHEMA_VERSION",
    "Entry",
    "Journal",
    "check_result",
    "journal_path",
    "known_fields",
    "read_entries",
    "read_journal",
    "read_report",
    "to_text",
    "write_report",
    "write_text",
]

SCHEMA_VERSION = 6

#: Separator between the metadata and the result in a line of the journal.
_BEFORE_RESULT = b', "result": '

#: Features that reports of older schema versions lack.
WITHOUT = {1: "roles and cells", 2: "proofs of programs", 3: "the verdict consistent", 4: "the present words"}


def to_text(report: Mapping[str, Any]) -> str:
    """Return a report as strict JSON with one result per line.

    Raises ``BrokenReportError`` if the report does not fit the schema.
    """
    _check(report, "", where="the report")
    write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    parts = []
    for name, value in report.items():
        lines = ",\n".join(map(write, value)) if isinstance(value, list) else ""
        parts.append(f"{write(name)}: " + (f"[\n{lines}\n]" if lines else write(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write_report(path: Path, report: Mapping[str, Any]) -> None:
    """Write a report to ``path`` completely or not at all."""
    write_text(path, to_text(report))


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, so that no reader sees part of it, even after a loss of power.

    An existing file keeps its permissions. Raises ``InvalidParameterError`` if the file cannot be written.
    """
    # The name is unpredictable and must be new, so that no existing file or link is followed or overwritten.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        try:
            with beside.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                beside.chmod(stat.S_IMODE(path.stat().st_mode))
            beside.replace(path)
        finally:
            with suppress(OSError):
                beside.unlink()
    except OSError as error:
        raise InvalidParameterError(
            f"an output file must be writable, got {path} ({error.strerror}).", code="E-OUTPUT-WRITE"
        ) from error


def read_report(path: Path) -> dict[str, Any]:
    """Read a report.

    Parameters
    ----------
    path : Path
        The JSON file.

    Returns
    -------
    dict
        The report, which fits ``schema.json``.

    Raises
    ------
    BrokenReportError
        The file is missing, not regular, too large, not strict JSON, of another version, or incomplete, or
        has numbers or ids that can be read in two ways.
    """
    text = read_regular_file(path)
    report = _parse(text, path)
    if not isinstance(report, dict):
        raise BrokenReportError(
            f"a report must be a JSON object, got a {type(report).__name__} in {path}.", code="E-REPORT-JSON"
        )
    version = report.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        lacking = WITHOUT.get(version) if type(version) is int else None
        older = f" (an older dpaudit wrote it, without {lacking})" if lacking else ""
        raise BrokenReportError(
            f"a report must have schema_version {SCHEMA_VERSION}, got {_short(version)}{older} in {path}. "
            "Run the audit again with this dpaudit, or read the file with the version that wrote it.",
            code="E-REPORT-VERSION",
        )
    _check(report, "", where=str(path))
    require_ascii_numbers(report)
    require_clear_ids(item["id"] for item in (*report["results"], *report["unchecked"]))
    require_once(item["id"] for item in report["results"])
    return report


def known_fields(part: str) -> frozenset[str]:
    """Return the fields that the schema names for a report (if ``part`` is empty) or for a part of it.

    ``part`` is a name in the schema's ``$defs``, such as the stamps, a suite, an unchecked claim or a result.
    """
    schema = _schema()
    return frozenset((schema["$defs"][part] if part else schema)["properties"])


def check_result(result: dict[str, Any]) -> None:
    """Raise ``BrokenReportError`` if one result does not fit the schema or is not strict JSON."""
    _fits(result)
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BrokenReportError(
            f"a result must be strict JSON, got {error}.", code="E-RESULT-JSON"
        ) from error


def _fits(result: dict[str, Any]) -> None:
    """Require that plain JSON data fits the schema of a result and has ASCII numbers."""
    _check(result, "result", where="the result")
    require_ascii_numbers(result)


def journal_path(report: Path) -> Path:
    """Return the path of the journal of a report: the same name with the ending ``.jsonl``."""
    return (
        report.with_suffix(".jsonl")
        if report.suffix != ".jsonl"
        else report.with_name(report.name + ".journal")
    )


class Journal:
    """Context manager that appends results to a file, which only one run may use at a time."""

    def __init__(self, path: Path, *, keep: bool) -> None:
        """Open ``path``. With ``keep``, keep its lines, else start with an empty file.

        Raises ``InvalidParameterError`` if the file cannot be written, or another run is writing it.
        """
        try:
            self._file = path.open("ab")  # truncated only after the lock is taken
            if not _lock(self._file):
                self._file.close()
                raise InvalidParameterError(
                    f"a journal must belong to one run at a time, but another run is writing {path}. "
                    "Wait for it, or pass another --json.",
                    code="E-JOURNAL-BUSY",
                )
            if not keep:
                self._file.truncate(0)
            elif self._file.tell() and not path.read_bytes().endswith(b"\n"):
                # A killed run left an incomplete last line. End it, so that the next line is separate.
                self._file.write(b"\n")
        except OSError as error:
            raise InvalidParameterError(
                f"the journal must be writable, got {path} ({error.strerror}). Pass another --json.",
                code="E-JOURNAL-WRITE",
            ) from error

    def append(
        self, key: str, result: dict[str, Any], *, read: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Write one result to disk, with the digests of the files ``read`` for it.

        Raises ``OSError`` if that fails, such as on a full disk.
        """
        written = json.dumps(result, allow_nan=False).encode()
        about = {"read": dict(read)}
        head = json.dumps({"key": key, "sha256": _sum_of(key, about, written), **about}).encode()
        self._file.write(head[:-1] + _BEFORE_RESULT + written + b"}\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # append has already reported a full disk
            self._file.close()


def _sum_of(key: str, about: Mapping[str, Any], written: bytes) -> str:
    """Return a checksum of a line, which detects accidental changes. It does not detect deliberate ones."""
    head = json.dumps([key, about], sort_keys=True).encode()
    return hashlib.sha256(head + b"\0" + written).hexdigest()


def _lock(file: IO[bytes]) -> bool:
    """Lock the open file for this process, and return whether that worked.

    The system releases the lock when the process ends, however it ends.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 40)  # a byte beyond the data, because a lock on data would block readers
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            file.seek(0, os.SEEK_END)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems do not support locks. Runs continue without a lock there.
        return error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
    return True


@dataclass(frozen=True)
class Entry:
    """One line of a journal: a result, and the digests of the files read for it, by path."""

    result: dict[str, Any]
    read: dict[str, str]


def read_journal(path: Path) -> dict[str, dict[str, Any]]:
    """Return the results of a journal by key."""
    return {key: entry.result for key, entry in read_entries(path).items()}


def read_entries(path: Path) -> dict[str, Entry]:
    """Return the last line of each key in a journal.

    Lines that are incomplete, were changed, or do not fit the schema are ignored.
    """
    try:
        lines: Iterable[bytes] = path.read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BrokenReportError(
            f"the journal must be readable, got {path} ({error.strerror}). Run without --resume.",
            code="E-JOURNAL-READ",
        ) from error
    found: dict[str, Entry] = {}
    for line in lines:
        try:
            entry = parse_strict(line.decode("utf-8"))
            key, result, read = str(entry["key"]), entry["result"], dict(entry["read"])
            if entry["sha256"] != _sum_of(key, {"read": read}, line.partition(_BEFORE_RESULT)[2][:-1]):
                continue
            _fits(result)  # it was parsed as strict JSON above
        except (BrokenReportError, ValueError, KeyError, TypeError, RecursionError):
            continue  # the row is run again
        found[key] = Entry(result, read)
    return found


def _parse(text: str, path: Path) -> Any:
    try:
        return parse_strict(text)
    except RecursionError as error:
        raise BrokenReportError(
            f"a report must not be nested too deeply, got {path}.", code="E-REPORT-DEPTH"
        ) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise BrokenReportError(
            f"a report must be JSON, got {path} ({place}). The file may be incomplete.", code="E-REPORT-JSON"
        ) from error
    except ValueError as error:  # NaN, a repeated key, or an integer with too many digits
        raise BrokenReportError(
            f"a report must be strict JSON, got {path} ({error}).", code="E-REPORT-JSON"
        ) from error


@cache
def _schema() -> dict[str, Any]:
    text = files("dpaudit.report.file").joinpath("schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _whole_schema(part: str) -> dict[str, Any]:
    """Return the schema of a report (if ``part`` is empty) or of a part, with all references resolved."""
    schema = _schema()
    definitions = schema["$defs"]
    whole: dict[str, Any] = _in_place(definitions[part] if part else schema, definitions)
    return whole


@cache
def _accepts(part: str) -> Callable[[Any], Any]:
    """Return a function that raises ``JsonSchemaValueException`` unless a document fits.

    It is compiled from the schema, which is several times faster than interpreting it. The compiler supports
    draft 7, and the schema uses only keywords that draft 7 has too.
    """
    draft = "http://json-schema.org/draft-07/schema#"
    made: Callable[[Any], Any] = compiled(_whole_schema(part) | {"$schema": draft}, use_default=False)
    return made


def _in_place(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema with every ``$ref`` resolved. Raises ``RecursionError`` if it refers to itself."""
    if isinstance(schema, list):
        return [_in_place(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {
        name: _in_place(item, definitions) for name, item in schema.items() if name not in ("$ref", "$defs")
    }
    if "$ref" not in schema:
        return inner
    named = _in_place(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    return {"allOf": [named], **inner} if inner.keys() - {"description"} else named


def _check(document: Mapping[str, Any], part: str, *, where: str) -> None:
    try:
        _accepts(part)(document)
        return
    except JsonSchemaValueException:
        pass  # the slower library below decides, and has the better message
    except RecursionError as problem:
        raise BrokenReportError(f"{where} must not be nested too deeply.", code="E-REPORT-DEPTH") from problem
    try:
        error = best_match(Draft202012Validator(_whole_schema(part)).iter_errors(document))
    except RecursionError as problem:
        raise BrokenReportError(f"{where} must not be nested too deeply.", code="E-REPORT-DEPTH") from problem
    if error is not None:
        raise BrokenReportError(
            f"{where} must fit the report schema, got {_place(error)}.", code="E-REPORT-SCHEMA"
        ) from None


def _place(error: ValidationError) -> str:
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path
    ).lstrip(".")
    if error.validator == "required" and isinstance(error.instance, dict):
        missing = ", ".join(repr(name) for name in error.validator_value if name not in error.instance)
        return f"{path or 'the top level'}: the field {missing} is missing"
    return f"{path or 'the top level'}: {_short(error.message)}"


def _short(value: object, *, limit: int = 200) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[:limit] + "..."
