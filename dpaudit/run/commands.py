"""Write and read the commands in a report, in exactly one form.

A reader may paste a command from an untrusted report file. A command therefore names only suites of the
report, the selected rows, the settings that determine results, and the report file of one row.
``read_command`` refuses any other text.
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

#: The largest number of characters of a command line. The time to split it grows with their square.
MAX_COMMAND = 10_000

PROFILES = ("quick", "full", "paper")


@dataclass(frozen=True, kw_only=True)
class RunCommand:
    """A ``dpaudit run`` command.

    It has the paths of its suites, the expression of ``-k`` (``None`` selects all rows), the settings that
    determine results, and the file ``json`` of the report, if the command names one. It always has
    ``--no-config``, so that it means the same in every folder.
    """

    paths: tuple[str, ...]
    select: str | None = None
    seed: int = 0
    profile: str = "quick"
    alpha: float = 0.05
    require: str | None = None
    json: str | None = None

    @property
    def matches(self) -> Matches:
        """Return the function that tests whether an id is selected.

        Raises ``InvalidParameterError`` for a broken expression.
        """
        return _every if self.select is None else selector(self.select)

    @property
    def text(self) -> str:
        """Return the command as a line for a shell."""
        words = ["dpaudit", "run", *self.paths]
        words += [] if self.select is None else ["-k", self.select]
        words += ["--seed", str(self.seed), f"--{self.profile}"]
        words += [] if self.alpha == 0.05 else ["--alpha", repr(self.alpha)]
        words += ["--no-config"]
        words += [] if self.require is None else ["--require", self.require]
        words += [] if self.json is None else ["--json", self.json]
        return quoted(words)

    def of_row(self, row_id: str) -> RunCommand:
        """Return the command that runs only one row and writes a separate report."""
        return replace(self, select=exactly(row_id), require=None, json=file_for(row_id))

    def strangers(self, labels: Iterable[str]) -> list[str]:
        """Return the paths that name none of the suites ``labels``, and the suites that no path names."""
        known = list(labels)
        lost = [path for path in self.paths if not any(_names(path, label) for label in known)]
        return lost + [label for label in known if not any(_names(path, label) for path in self.paths)]


def read_command(text: str) -> RunCommand:
    """Read a command of a report. Raises ``ValueError`` for any text that ``RunCommand`` does not write."""
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
        elif name == "--no-config":
            continue
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
        raise ValueError(f"-k {str(command.select)[:60]!a} is not a valid expression") from error
    return command


def command_words(text: str) -> list[str]:
    """Return the words of a command line. Raises ``ValueError`` if it cannot be split or is too long."""
    if len(text) > MAX_COMMAND:
        raise ValueError(f"a command line must have at most {MAX_COMMAND} characters, got {len(text)}")
    return shlex.split(text)


def quoted(words: Sequence[str]) -> str:
    """Return the words as a line for a shell. Quote ``=word`` too, which zsh expands to a command's path."""
    safe = [shlex.quote(word) for word in words]
    return " ".join(f"'{word}'" if word.startswith("=") else word for word in safe)


def file_for(row_id: str) -> str:
    """Return a file name for the report of one row: letters, digits, points and dashes of its id."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", row_id)[:80].strip("-._") or "row") + ".json"


def _names(path: str, label: str) -> bool:
    """Return whether a path names the suite of this label: the file, a folder above it, or all papers."""
    if path == "papers" or path.startswith("papers:"):
        return f"{label}/".startswith("papers:" if path == "papers" else f"{path.rstrip('/')}/")
    inside = path == "." and not label.startswith(("/", "papers:"))
    return inside or f"{label}/".startswith(f"{path.rstrip('/')}/")


def _every(_row_id: str) -> bool:
    return True
