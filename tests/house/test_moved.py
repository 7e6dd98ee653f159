"""Former names of modules and at the top work for one release, with a warning that gives the new one."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dpaudit
from dpaudit.moved import _FILES, _PUBLIC, _ROOMS, new_name


def imported_anew(name: str) -> tuple[ModuleType, list[str]]:
    """Import a former module and its package, also if somebody imported them before, and the warnings."""
    parts = name.split(".")
    for length in range(2, len(parts) + 1):
        sys.modules.pop(".".join(parts[:length]), None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = import_module(name)
    return module, [str(item.message) for item in caught if item.category is DeprecationWarning]


@pytest.mark.parametrize(
    "name", [*_ROOMS, "laws.continuous", "replays.followed", "recorder.tape", "rows.privacy"]
)
def test_a_former_module_is_the_present_one(name: str) -> None:
    """The import warns, and gives the same module object as the present name."""
    former = f"dpaudit.{name}"
    present = new_name(former)
    assert present is not None
    module, told = imported_anew(former)
    assert any(present in text for text in told)
    assert vars(module).get("_present", module) is import_module(present)
    if not hasattr(module, "__path__"):
        assert module.__spec__ is not None
        assert module.__spec__.name == present


@pytest.mark.parametrize("name", sorted(_PUBLIC))
def test_a_public_module_imports_without_a_warning(name: str) -> None:
    """Warnings are errors in this session. The module is the one at its place in the package."""
    sys.modules.pop(f"dpaudit.{name}", None)
    module, present = import_module(f"dpaudit.{name}"), import_module(f"dpaudit.{_PUBLIC[name]}")
    assert vars(module).get("_present", module) is present
    assert getattr(dpaudit, name) in (module, present)


def test_a_warning_points_to_the_import(tmp_path: Path) -> None:
    """The file and line of the import statement, so that it is shown by default in a script."""
    script = tmp_path / "script.py"
    script.write_text("import dpaudit\nfrom dpaudit.laws import Laplace\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert "script.py:2: DeprecationWarning: dpaudit.laws was renamed" in done.stderr


def test_a_decorator_is_not_replaced_by_a_former_module() -> None:
    """``dpaudit.evidence`` was a module before: it has no former name, so that the decorator stays."""
    with pytest.raises(ModuleNotFoundError):
        import_module("dpaudit.evidence")
    assert callable(dpaudit.evidence)


def test_a_former_submodule_does_not_replace_a_decorator() -> None:
    """The import system binds it to the former package, which is an object of its own."""
    imported_anew("dpaudit.rows.privacy")
    assert callable(import_module("dpaudit.suite").privacy)
    assert callable(import_module("dpaudit.rows").privacy)


@pytest.mark.parametrize("path", sorted(set(_FILES.values())))
def test_every_renamed_file_is_there(path: str) -> None:
    """The table of renamed files points to modules that exist."""
    import_module(f"dpaudit.{path}")


@pytest.mark.parametrize("name", sorted(dpaudit._FORMER))
def test_a_former_name_at_the_top_warns_and_works(name: str) -> None:
    """Also where a submodule was imported before."""
    with pytest.warns(DeprecationWarning, match="renamed"):
        assert getattr(dpaudit, name) is not None


def test_present_names_do_not_warn() -> None:
    """Nothing of the package imports by a former name: warnings are errors here."""
    code = "import dpaudit; [getattr(dpaudit, name) for name in dpaudit.__all__]"
    subprocess.run([sys.executable, "-W", "error::DeprecationWarning:dpaudit", "-c", code], check=True)


def test_an_unknown_name_is_no_module() -> None:
    """The finder knows the names of the table and no other."""
    with pytest.raises(ModuleNotFoundError):
        import_module("dpaudit.no_such_room")
    assert new_name("dpaudit.core") is None
    assert new_name("numpy") is None
