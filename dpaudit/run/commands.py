"""The commands that a report holds, each in one form: what a run writes is all that a reader accepts.

Whoever made a report file wrote its commands, and a reader may paste them. So a command names suites of the
report, which rows, and the settings that decide results. It names no output beside the report of one row, no
scheduler and nothing else.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpaudit.core.errors import InvalidParameterError
from dpaudit.run.select import Matches, exactly, selector

__all__ = ["MAX_COMMAND", "RunCommand", "command_words", "file_for", "quoted", "read_command"]

#: Characters of a command line. Splitting takes time that grows with the square of them.
MAX_COMMAND = 10_000

PROFILES = ("quick", "full", "paper")


@dataclass(frozen=True, kw_only=True)
class RunCommand:
    """One ``dpaudit run``: its suites, the rows that ``-k`` selects (``None``: all of them), and the settings
    that decide results. ``json`` is the file of the report, if the command names one."""

    paths: tuple[str, ...]
    select: str | None = None
    seed: int = 0
    profile: str = "quick"
    alpha: float = 0.05
    require: str | None = None
    json: str | None = None

    @property
    def matches(self) -> Matches:
        """Whether an id is selected. Raises ``InvalidParameterError`` for a broken expression."""
        return _every if self.select is None else selector(self.select)

    @property
    def text(self) -> str:
        """The command as a line for a shell."""
        words = ["dpaudit", "run", *self.paths]
        words += [] if self.select is None else ["-k", self.select]
        words += ["--seed", str(self.seed), f"--{self.profile}"]
        words += [] if self.alpha == 0.05 else ["--alpha", repr(self.alpha)]
        words += [] if self.require is None else ["--require", self.require]
        words += [] if self.json is None else ["--json", self.json]
        return quoted(words)

    def of_row(self, row_id: str) -> RunCommand:
        """The command that runs one row, and no other, into a report of its own."""
        return replace(self, select=exactly(row_id), require=None, json=file_for(row_id))

    def strangers(self, labels: Iterable[str]) -> list[str]:
        """The paths that name none of the suites ``labels``, and the suites that no path names."""
        known = list(labels)
        lost = [path for path in self.paths if not any(_names(path, label) for label in known)]
        return lost + [label for label in known if not any(_names(path, label) for path in self.paths)]


def read_command(text: str) -> RunCommand:
    """Read a command of a report. Raises ``ValueError`` for any other text than that of a ``RunCommand``."""
    words = command_words(text)
    if words[:2] != ["dpaudit", "run"]:
        raise ValueError(f"a command must be a dpaudit run, got {text[:60]!a}")
    rest, paths, found = words[2:], list[str](), dict[str, Any]()
    while rest and not rest[0].startswith("-"):
        paths.append(rest.pop(0))
    readers = {"-k": str, "--seed": int, "--alpha": float, "--require": str, "--json": str}
    while rest:
        name = rest.pop(0)
        if name.removeprefix("--") in PROFILES:
            found["profile"] = name.removeprefix("--")
        elif name in readers and rest:
            found["select" if name == "-k" else name.removeprefix("--")] = readers[name](rest.pop(0))
        else:
            raise ValueError(f"a command must name suites, rows and settings alone, got {name[:60]!a}")
    command = RunCommand(paths=tuple(paths), **found)
    if command.text != text or not text.isprintable() or not paths:
        raise ValueError(f"a command must be written as dpaudit writes it, got {text[:60]!a}")
    try:
        command.matches("")
    except (InvalidParameterError, RecursionError) as error:
        raise ValueError(f"-k {str(command.select)[:60]!a} is no expression") from error
    return command


def command_words(text: str) -> list[str]:
    """The words of a command line. Raises ``ValueError`` for a broken one and for a longer one."""
    if len(text) > MAX_COMMAND:
        raise ValueError(f"a command line must have at most {MAX_COMMAND} characters, got {len(text)}")
    return shlex.split(text)


def quoted(words: Sequence[str]) -> str:
    """The words as a line for a shell, zsh too, which takes a bare ``=word`` for the path of a command."""
    safe = [shlex.quote(word) for word in words]
    return " ".join(f"'{word}'" if word.startswith("=") else word for word in safe)


def file_for(row_id: str) -> str:
    """A file name for the report of one row: letters, digits, points and dashes of its id."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", row_id)[:80].strip("-._") or "row") + ".json"


def _names(path: str, label: str) -> bool:
    """Whether a path names the suite of this label: the file, a folder above it, or all bundled papers."""
    if path == "papers" or path.startswith("papers:"):
        return f"{label}/".startswith("papers:" if path == "papers" else f"{path.rstrip('/')}/")
    inside = path == "." and not label.startswith(("/", "papers:"))
    return inside or f"{label}/".startswith(f"{path.rstrip('/')}/")


def _every(_row_id: str) -> bool:
    return True
