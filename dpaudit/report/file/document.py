"""The JSON report: the one document that everything else is made from, and the journal that outlives a killed
run.

A report is strict JSON (``strict``) that fits ``schema.json``. While a run lasts, each result is
appended to a journal beside the report, one JSON object a line, and forced to disk before the next row is
shown. A line carries a key that names everything the result depends on, so a resumed run re-uses a result
only where nothing that matters has changed.
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

SCHEMA_VERSION = 4

#: In a line of the journal, between what it says of the result and the result.
_BEFORE_RESULT = b', "result": '

#: What reports of older versions lack.
WITHOUT = {1: "roles and cells", 2: "proofs of programs", 3: "the verdict consistent"}


def to_text(report: dict[str, Any]) -> str:
    """Write a report as strict JSON, a result a line. Raises ``BrokenReportError`` where it does not fit the
    schema."""
    _check(report, "", where="the report")
    write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    parts = []
    for name, value in report.items():
        lines = ",\n".join(map(write, value)) if isinstance(value, list) else ""
        parts.append(f"{write(name)}: " + (f"[\n{lines}\n]" if lines else write(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Write a report to ``path`` as a whole or not at all."""
    write_text(path, to_text(report))


def write_text(path: Path, text: str) -> None:
    """Write a text file so that a reader never sees half of it, after a loss of power either.

    A file that is there keeps its permissions. Raises ``InvalidParameterError`` where that is impossible.
    """
    # A name that nobody can guess and that must be new: nothing that lies there is followed or overwritten.
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
            f"an output file must be writable, got {path} ({error.strerror}); name another file."
        ) from error


def read_report(path: Path) -> dict[str, Any]:
    """Read a report.

    Raises ``BrokenReportError`` for a file that is missing, not regular, too large, not strict JSON, of
    another version, or incomplete, and for numbers and ids that can be read in two ways.
    """
    text = read_regular_file(path)
    report = _parse(text, path)
    if not isinstance(report, dict):
        raise BrokenReportError(
            f"a report must be a JSON object, got a {type(report).__name__} in {path}; run the audit again."
        )
    version = report.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        lacking = WITHOUT.get(version) if type(version) is int else None
        older = f" (an older dpaudit wrote it, without {lacking})" if lacking else ""
        raise BrokenReportError(
            f"a report must have schema_version {SCHEMA_VERSION}, got {_short(version)}{older} in {path}; "
            "run the audit again with this dpaudit, or read it with the one that wrote it."
        )
    _check(report, "", where=str(path))
    require_ascii_numbers(report)
    require_clear_ids(item["id"] for item in (*report["results"], *report["unchecked"]))
    require_once(item["id"] for item in report["results"])
    return report


def known_fields(part: str) -> frozenset[str]:
    """The fields that the schema names for a report (``part`` empty), or for its stamps, a suite, an
    unchecked claim or a result."""
    schema = _schema()
    return frozenset((schema["$defs"][part] if part else schema)["properties"])


def check_result(result: dict[str, Any]) -> None:
    """Raise ``BrokenReportError`` where one result does not fit the schema or is not strict JSON."""
    _fits(result)
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BrokenReportError(
            f"a result must be strict JSON, got {error}; return finite numbers and plain data."
        ) from error


def _fits(result: dict[str, Any]) -> None:
    """That plain JSON data is a result."""
    _check(result, "result", where="the result")
    require_ascii_numbers(result)


def journal_path(report: Path) -> Path:
    """Where the journal of the report ``report`` lies: the same name with the ending ``.jsonl``."""
    return (
        report.with_suffix(".jsonl")
        if report.suffix != ".jsonl"
        else report.with_name(report.name + ".journal")
    )


class Journal:
    """Results on disk as they come, in a file of one run at a time. Use as a context manager."""

    def __init__(self, path: Path, *, keep: bool) -> None:
        """Open ``path``; ``keep`` the lines that are there, or start anew.

        Raises ``InvalidParameterError`` where the file cannot be written, or another run writes it.
        """
        try:
            self._file = path.open("ab")  # emptied only once it is ours
            if not _lock(self._file):
                self._file.close()
                raise InvalidParameterError(
                    f"a journal must belong to one run at a time, another run is writing {path}; "
                    "wait for it, or pass --json elsewhere."
                )
            if not keep:
                self._file.truncate(0)
            elif self._file.tell() and not path.read_bytes().endswith(b"\n"):
                # The last line was cut off by a kill: end it, so that ours stands alone.
                self._file.write(b"\n")
        except OSError as error:
            raise InvalidParameterError(
                f"the journal must be writable, got {path} ({error.strerror}); pass --json elsewhere."
            ) from error

    def append(
        self, key: str, result: dict[str, Any], *, read: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Write one result, with the digests of the files ``read`` for it; on return it is on disk.

        Raises ``OSError`` where it cannot be (a full disk).
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
        with suppress(OSError):  # on a full disk what is still to be written is lost, and append has said so
            self._file.close()


def _sum_of(key: str, about: Mapping[str, Any], written: bytes) -> str:
    """What shows that a line of the journal was changed by mistake: who means to can sum it up, too."""
    head = json.dumps([key, about], sort_keys=True).encode()
    return hashlib.sha256(head + b"\0" + written).hexdigest()


def _lock(file: IO[bytes]) -> bool:
    """Whether the open file is now this process's own; the system takes the lock back at its end, however it
    ends.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 40)  # a byte that nobody writes: a lock on what is there would keep readers out
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            file.seek(0, os.SEEK_END)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems know no locks: there a run goes on without.
        return error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
    return True


@dataclass(frozen=True)
class Entry:
    """One line of a journal: a result, and the digests of the files that were read for it, by path."""

    result: dict[str, Any]
    read: dict[str, str]


def read_journal(path: Path) -> dict[str, dict[str, Any]]:
    """The results of a journal by key, as ``read_entries`` finds them."""
    return {key: entry.result for key, entry in read_entries(path).items()}


def read_entries(path: Path) -> dict[str, Entry]:
    """The lines of a journal by key, the last one of each key.

    Lines that a kill cut off, that were changed, or that do not fit, are left out.
    """
    try:
        lines: Iterable[bytes] = path.read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BrokenReportError(
            f"the journal must be readable, got {path} ({error.strerror}); run without --resume."
        ) from error
    found: dict[str, Entry] = {}
    for line in lines:
        try:
            entry = parse_strict(line.decode("utf-8"))
            key, result, read = str(entry["key"]), entry["result"], dict(entry["read"])
            if entry["sha256"] != _sum_of(key, {"read": read}, line.partition(_BEFORE_RESULT)[2][:-1]):
                continue
            _fits(result)  # strict JSON it is: it was just parsed as such
        except (BrokenReportError, ValueError, KeyError, TypeError, RecursionError):
            continue  # that row is simply run again
        found[key] = Entry(result, read)
    return found


def _parse(text: str, path: Path) -> Any:
    try:
        return parse_strict(text)
    except RecursionError as error:
        raise BrokenReportError(
            f"a report must not be nested that deeply, got {path}; run the audit again."
        ) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise BrokenReportError(
            f"a report must be JSON, got {path} ({place}); the file may be cut off, run the audit again."
        ) from error
    except ValueError as error:  # NaN, a key that stands twice, an integer of absurd length
        raise BrokenReportError(
            f"a report must be strict JSON, got {path} ({error}); run the audit again."
        ) from error


@cache
def _schema() -> dict[str, Any]:
    text = files("dpaudit.report.file").joinpath("schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _whole_schema(part: str) -> dict[str, Any]:
    """The schema of a report (``part`` empty) or of a part that it names, with the references in place."""
    schema = _schema()
    definitions = schema["$defs"]
    whole: dict[str, Any] = _in_place(definitions[part] if part else schema, definitions)
    return whole


@cache
def _accepts(part: str) -> Callable[[Any], Any]:
    """What raises ``JsonSchemaValueException`` unless a document fits: code made from the schema, some times
    faster than walking through it. It knows the words that the schema uses, which are in draft 7 as well."""
    draft = "http://json-schema.org/draft-07/schema#"
    made: Callable[[Any], Any] = compiled(_whole_schema(part) | {"$schema": draft}, use_default=False)
    return made


def _in_place(schema: Any, definitions: dict[str, Any]) -> Any:
    """A schema with every ``$ref`` replaced by what it names. Raises ``RecursionError`` for a schema that
    refers to itself."""
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


def _check(document: dict[str, Any], part: str, *, where: str) -> None:
    try:
        _accepts(part)(document)
        return
    except JsonSchemaValueException:
        pass  # why, the slower library says better; and it has the last word
    except RecursionError as problem:
        raise BrokenReportError(f"{where} must not be nested that deeply; run the audit again.") from problem
    try:
        error = best_match(Draft202012Validator(_whole_schema(part)).iter_errors(document))
    except RecursionError as problem:
        raise BrokenReportError(f"{where} must not be nested that deeply; run the audit again.") from problem
    if error is not None:
        raise BrokenReportError(
            f"{where} must fit the report schema, got {_place(error)}; run the audit again."
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
