"""Read the defaults of ``dpaudit run`` from the table ``[tool.dpaudit]`` of a ``pyproject.toml``.

The keys are ``suites`` and the fields of ``Settings``, which also checks the ranges of their values.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from dpaudit.core.errors import InvalidParameterError
from dpaudit.run.plan import Settings
from dpaudit.run.targets import PAPERS

__all__ = ["Configuration", "find_configuration"]

FILE = "pyproject.toml"


@dataclass(frozen=True)
class Configuration:
    """The table ``[tool.dpaudit]`` of the file ``path``.

    Parameters
    ----------
    path : Path
        The file.
    table : dict
        Its keys: ``suites``, a list of one or more paths relative to the folder of the file, and the fields
        of ``Settings``, with their types and ranges.

    Raises
    ------
    InvalidParameterError
        A key is unknown, or a value has another type or is out of range. The message names the key and the
        file.
    """

    path: Path
    table: dict[str, Any]

    def __post_init__(self) -> None:
        known = {"suites": list, **_settings_types()}
        for key, value in self.table.items():
            if key not in known:
                raise InvalidParameterError(
                    f"{self._place(key)} is unknown. The keys are {', '.join(known)}.", code="E-CONFIG-KEY"
                )
            if key == "suites":
                self._check_suites(value)
            else:
                self._check_setting(key, value, known[key])
        self._check_range(", ".join(self._settings), self._settings)

    @property
    def _settings(self) -> dict[str, Any]:
        return {key: value for key, value in self.table.items() if key != "suites"}

    @property
    def defaults(self) -> dict[str, Any]:
        """Return the default of each parameter of the command, by name. The paths of suites are absolute."""
        if "suites" not in self.table:
            return self._settings
        return self._settings | {"paths": [self._whole(path) for path in self.table["suites"]]}

    def __str__(self) -> str:
        """Return the file and what it sets, in one line."""
        return f"{self.path}: {', '.join(f'{key} = {value!r}' for key, value in self.table.items())}"

    def _place(self, key: str) -> str:
        return f"{key} in [tool.dpaudit] of {self.path}"

    def _check_suites(self, value: object) -> None:
        if not isinstance(value, list) or not value or not all(isinstance(path, str) for path in value):
            raise InvalidParameterError(
                f"{self._place('suites')} must be a list of one or more paths, got {value!r}.",
                code="E-CONFIG-TYPE",
            )

    def _check_setting(self, key: str, value: object, kind: type) -> None:
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise InvalidParameterError(
                f"{self._place(key)} must have the type {kind.__name__}, got {value!r}.", code="E-CONFIG-TYPE"
            )
        self._check_range(key, {key: value})

    def _check_range(self, key: str, values: dict[str, Any]) -> None:
        try:
            Settings(**values)
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{self._place(key)}: {error}", code=error.code) from error

    def _whole(self, path: str) -> str:
        return path if path.split(":")[0] == PAPERS else str(self.path.parent / path)


def find_configuration(folder: Path) -> Configuration | None:
    """Return the configuration of ``folder``, or ``None`` if there is none.

    It is in the closest ``pyproject.toml`` that has the table, in the folder or one above it. Other files of
    that name are passed over. Raises ``InvalidParameterError`` if one of them cannot be read.
    """
    for parent in (folder.resolve(), *folder.resolve().parents):
        tool = _read(parent / FILE).get("tool", {})
        if isinstance(tool, dict) and "dpaudit" in tool:
            table = tool["dpaudit"]
            if not isinstance(table, dict):
                raise InvalidParameterError(
                    f"tool.dpaudit of {parent / FILE} must be a table, got {table!r}.", code="E-CONFIG-TYPE"
                )
            return Configuration(parent / FILE, table)
    return None


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file, which is empty if there is no such file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise InvalidParameterError(
            f"{path} must be TOML that can be read, got: {error}. --no-config reads no configuration.",
            code="E-CONFIG-READ",
        ) from error


def _settings_types() -> dict[str, type]:
    """Return the type of each setting, without ``None``: a key that is absent stands for it."""
    hints = get_type_hints(Settings)
    return {
        field.name: (get_args(hints[field.name]) or (hints[field.name],))[0] for field in fields(Settings)
    }
