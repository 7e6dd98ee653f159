"""``dpaudit check`` runs one function of a module: what its exit code says, and what it refuses."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.suites import invoke, start

MODULE = """
import os
import signal
import numpy as np

class Counts:
    @staticmethod
    def bare(data, rng):
        return sum(data)

def noisy(data, rng):
    return sum(data) + rng.laplace(scale=1)

def halved(data, rng):
    return sum(data) + rng.laplace(scale=0.1)

def of_arrays(data, rng):
    return data.sum() + rng.laplace(scale=1)

def of_frames(data, rng):
    return data.groupby("city")["age"].sum() + rng.laplace(scale=0.1, size=data["city"].nunique())

def of_words(data, rng):
    return data.count("a") + rng.laplace(scale=0.1)

def of_one(bit, rng):
    return float(1 - 2 * bit + rng.laplace(scale=2))

def of_one_or_two(bit, rng):
    return rng.integers(2) if rng.random() < 0.5 else 1 - bit

def raises(data, rng):
    raise OSError("no [bold]file")

def ends_the_process(data, rng):
    if rng.random() < 0.1:
        os._exit(0)
    return noisy(data, rng)

calls = 0

def stopped(data, rng):
    global calls
    calls += 1
    if calls == 200:
        signal.raise_signal(signal.SIGINT)
    return halved(data, rng)

number = 3
"""
PAIR = ("--pair", "[0, 1]", "[1, 1]")
FEW = ("--max-samples", 600, "--alpha", 1e-6)  # a private one is refuted once in a million seeds


def test_a_function_that_ends_the_process_does_not_pass_in_silence(folder: Path) -> None:
    """``os._exit(0)`` is an exception of the call, and the command says what came out."""
    run = start("check", "counts_to_check:ends_the_process", "--epsilon", "1", *PAIR, *FEW, cwd=folder)
    said, _ = run.communicate()
    assert run.returncode == 0
    assert "INCONCLUSIVE" in said
    assert "os._exit(0), which ends the process" in said


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module of counts in it, which is forgotten afterwards."""
    (tmp_path / "counts_to_check.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken_to_check.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    yield tmp_path
    assert sys.path == path
    sys.modules.pop("counts_to_check", None)


@pytest.mark.parametrize(
    ("name", "options", "code", "said"),
    [
        ("noisy", PAIR, 0, "INCONCLUSIVE"),
        ("halved", PAIR, 1, "REFUTED: pure DP with ε = 1"),
        ("halved", ("--corners", "0", "1", "--size", "2"), 1, "REFUTED"),
        ("Counts.bare", ("--pair", "(0, 1)", "(1, 1)", "--delta", "1e-6"), 1, "δ ="),
        ("of_arrays", (*PAIR, "--array"), 0, "INCONCLUSIVE"),
        ("of_arrays", PAIR, 3, "has no attribute 'sum'"),
        ("raises", PAIR, 3, "no [bold]file"),
        (
            "of_one",
            ("--corners", "0", "1", "--size", "1"),
            3,
            "For a function of one record, use --pair 0 1.",
        ),
        ("of_one_or_two", ("--corners", "0", "1", "--size", "1"), 0, "For a function of one record"),
        ("of_one", ("--pair", "0", "1"), 0, "INCONCLUSIVE"),
    ],
    ids=[
        "private",
        "refuted",
        "corners",
        "literals and delta",
        "arrays",
        "lists instead",
        "raises",
        "records in lists",
        "now and then",
        "one record",
    ],
)
def test_the_exit_code_says_what_came_out(
    folder: Path, name: str, options: tuple[str, ...], code: int, said: str
) -> None:
    """0 not refuted, 1 refuted, 3 a function that fails in every call; pairs as JSON, literals, corners."""
    result = invoke("check", f"counts_to_check:{name}", "--epsilon", "1", *options, *FEW)
    assert result.exit_code == code, result.output
    assert said in (result.stdout if code < 2 else result.stderr)


FRAMES = (
    '[{"city": "x", "age": 1}, {"city": "y", "age": 0}]',
    '[{"city": "x", "age": 0}, {"city": "y", "age": 0}]',
)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("halved", (*PAIR, "--mu", "1"), "Gaussian DP with μ = 1"),
        ("halved", (*PAIR, "--rho", "1/2"), "zero-concentrated DP with ρ = 0.5"),
        ("halved", (*PAIR, "--order", "2", "--epsilon", "1"), "Rényi DP of order 2"),
        ("of_frames", ("--pair", *FRAMES, "--frame", "--epsilon", "1"), "output.iloc[0]"),
        ("of_words", ("--corners", '"a"', '"b"', "--size", "2", "--epsilon", "1"), "pure DP with ε = 1"),
        ("of_words", ("--records", '["a", "b", "c"]', "--size", "2", "--epsilon", "1"), "of 18"),
    ],
    ids=["gdp", "zcdp", "renyi", "frames", "texts", "three values"],
)
def test_claims_and_inputs_of_other_kinds(
    folder: Path, name: str, options: tuple[str, ...], said: str
) -> None:
    """Claims by mu, rho and order, inputs that are data frames or hold texts: refuted in their words."""
    result = invoke("check", f"counts_to_check:{name}", *options, "--max-samples", 6000, "--alpha", 1e-6)
    assert result.exit_code == 1, result.output
    assert said in result.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "got none of them"),
        (("--mu", "1", "--epsilon", "1"), "got --epsilon and --mu"),
        (("--delta", "1e-6"), "got --delta"),
        (("--epsilon", "1", "--array", "--frame"), "cannot be used together"),
        (("--epsilon", "1", "--frame"), "--frame needs inputs such as"),
        (("--epsilon", "1", "--pair", "a", "b"), """a text as '"a"'"""),
        (("--mu", "-1"), "mu must be"),
    ],
    ids=["no claim", "two claims", "delta alone", "array and frame", "no records", "bare text", "negative"],
)
def test_a_claim_that_is_none_is_refused(folder: Path, options: tuple[str, ...], said: str) -> None:
    """Options that state no claim, or an input of no kind, are exit code 2 with what would do."""
    result = invoke("check", "counts_to_check:noisy", *PAIR, *options, *FEW)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("counts_to_check", PAIR, "MODULE:FUNCTION"),
        ("counts_to_check:nowhere", PAIR, "has no 'nowhere'"),
        ("counts_to_check:number", PAIR, "got int"),
        ("broken_to_check:noisy", PAIR, "ZeroDivisionError"),
        ("not_to_be_found:noisy", PAIR, "ModuleNotFoundError"),
        ("counts_to_check:noisy", (), "--pair, or --corners"),
        ("counts_to_check:noisy", ("--pair", "[0,", "[1]"), "a Python literal, got '[0,'"),
        ("counts_to_check:noisy", ("--pair", "[0]", "[0]"), "must differ"),
        ("counts_to_check:noisy", ("--pair", "[NaN]", "[0]"), "NaN"),
        ("counts_to_check:noisy", ("--corners", "0", "1"), "must be used together"),
        ("counts_to_check:noisy", (*PAIR, "--null", "0"), "--null is required for"),
        ("counts_to_check:noisy", ("--records", "3", "--size", "1"), "must be a list"),
        (
            "counts_to_check:noisy",
            ("--records", "[0]", "--corners", "0", "1"),
            "--corners and --records cannot be used together",
        ),
        ("counts_to_check:noisy", (*PAIR, "--epsilon", "one"), "epsilon must"),
        ("counts_to_check:noisy", ("--pair", "[[0], 1]", "[1]", "--array"), "one shape"),
        ("counts_to_check:noisy", (*PAIR, "--json", "nowhere/r.json"), "existing folder"),
    ],
    ids=lambda value: value.partition(":")[2] if isinstance(value, str) and ":" in value else None,
)
def test_what_is_refused(folder: Path, name: str, options: tuple[str, ...], said: str) -> None:
    """Bad input is exit code 2, with the constraint in the message."""
    result = invoke("check", name, "--epsilon", "1", *options, *FEW)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_same_seed_gives_the_same_file(folder: Path) -> None:
    """The JSON names function, pairs and verdict, and a second run of the installed command repeats it, with
    the current folder importable though Python was started without it."""
    words = ("check", "counts_to_check:halved", "--epsilon", "1", *PAIR, "--seed", 7, "--json")
    assert invoke(*words, "first.json").exit_code == 1
    again = start(*words, "second.json", cwd=folder)
    assert again.wait() == 1, again.communicate()
    again.communicate()
    first, second = (folder.joinpath(f"{name}.json").read_text() for name in ("first", "second"))
    assert first == second
    found = json.loads(first)
    assert found["verdict"] == "refuted"
    assert found["function"] == "counts_to_check:halved"
    assert found["pairs"] == ["[0, 1] and [1, 1]"]


@pytest.fixture
def _ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard, also where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_says_what_is_known(folder: Path) -> None:
    """A check that is stopped shows its result and exits with 130, not with a code for a verdict; one that is
    stopped while its module is imported exits with 130 too."""
    result = invoke("check", "counts_to_check:stopped", "--epsilon", "9", *PAIR)
    assert result.exit_code == 130
    assert "interrupted after" in result.stdout
    (folder / "stops_to_check.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    assert invoke("check", "stops_to_check:any", "--epsilon", "1", *PAIR).exit_code == 130


def test_a_check_that_could_not_fail_exits_with_4(folder: Path) -> None:
    """The budget is too small for the claim, which is said with no run made; the file says so too."""
    result = invoke("check", "counts_to_check:noisy", "--epsilon", "8", *PAIR, *FEW, "--json", "short.json")
    assert result.exit_code == 4, result.output
    assert result.stdout.startswith("NOT AUDITED")
    found = json.loads((folder / "short.json").read_text(encoding="utf-8"))
    assert (found["verdict"], found["evidence"]["samples"]) == ("inconclusive", 0)
    assert found["not_audited"]


def test_zero_out_corners_use_the_null_record(folder: Path) -> None:
    """With zero-out, --corners changes one record to --null and refutes where the others would not differ."""
    words = ("check", "counts_to_check:halved", "--epsilon", "1", "--adjacency", "zero-out")
    result = invoke(*words, "--corners", 1, 1, "--size", 2, "--null", 0)
    assert result.exit_code == 1, result.output
    assert "the null record" in result.stdout
