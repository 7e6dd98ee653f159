"""Proves that benchmarks refuse counts below 1, and name what is not installed, with exit code 2."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks import contextual, distributed, figures

MAINS: dict[str, Callable[[list[str]], None]] = {
    "contextual": contextual.main,
    "distributed": distributed.main,
    "figures": figures.main,
}


def refused(main: Callable[[list[str]], None], words: Sequence[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    assert caught.value.code == 2


@pytest.mark.parametrize("bad", ["0", "-3", "1.5", "many"])
@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("contextual", "--runs"),
        ("contextual", "--plain"),
        ("contextual", "--horizon"),
        ("distributed", "--runs"),
        ("distributed", "--plain"),
        ("figures", "--runs"),
        ("figures", "--horizon"),
        ("figures", "--rounds"),
    ],
)
def test_counts_are_whole_and_not_below_one(
    name: str, option: str, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The option, the value and what must hold are on standard error; nothing is written."""
    out = tmp_path / "out"
    refused(MAINS[name], [*([str(out)] if name == "figures" else []), f"{option}={bad}"])
    told = capsys.readouterr().err
    assert f"argument {option}: it must be an integer of 1 or more, got '{bad}'" in told
    assert not out.exists()


def test_a_missing_package_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is computed."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    refused(figures.main, [str(tmp_path / "out")])
    assert 'pip install -e ".[test]"' in capsys.readouterr().err
