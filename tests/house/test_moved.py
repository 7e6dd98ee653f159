"""Former names of modules and at the top work for one release, with a warning that gives the new one."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import dpaudit
from dpaudit.moved import _FILES, _ROOMS, new_name


@pytest.mark.parametrize(
    "name", [*_ROOMS, "laws.continuous", "replays.followed", "recorder.tape", "rows.privacy"]
)
def test_a_former_module_is_the_present_one(name: str) -> None:
    """The import warns, and gives the same module object as the present name."""
    former = f"dpaudit.{name}"
    present = new_name(former)
    assert present is not None
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=present):
        module = import_module(former)
    assert module is import_module(present)
    assert module.__spec__ is not None
    assert module.__spec__.name == present


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
