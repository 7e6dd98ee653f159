"""The reference content lies inside the package and is held to be programs: watched, hashed with suites."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpaudit.core import harness
from dpaudit.core.harness import is_harness_file, is_harness_module
from dpaudit.prover.step_limit import of_limited_length
from dpaudit.prover.symbols import RefusedError
from dpaudit.reference.mechanisms import report_noisy_max
from dpaudit.run import stamps
from dpaudit.run.stamps import Sources, tool_hash
from dpaudit.run.targets import SuiteFile


def test_files_and_modules_of_the_reference_content_are_not_the_harness() -> None:
    """Those of the harness are; a user's are neither; a name that only begins alike is the harness's."""
    assert is_harness_file(harness.__file__)
    assert not is_harness_file(str(report_noisy_max.__file__))
    assert not is_harness_file(__file__)
    assert is_harness_module("dpaudit.core.harness")
    assert is_harness_module("dpaudit.references")
    assert not is_harness_module("dpaudit.reference")
    assert not is_harness_module("dpaudit.reference.mechanisms.report_noisy_max")
    assert not is_harness_module("mine")


def test_a_suite_is_hashed_with_the_reference_content_that_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change in it changes the suite's hash and not the tool's; one in the harness the other way round."""
    package = tmp_path / "site" / "dpaudit"
    for name, text in {
        "errors.py": "",
        "reference/__init__.py": "",
        "reference/mechanisms/__init__.py": "",
        "reference/mechanisms/noise.py": "from . import deeper",
        "reference/mechanisms/deeper.py": "",
        "reference/mechanisms/unused.py": "",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    monkeypatch.setattr(stamps, "PACKAGE", package)
    monkeypatch.setattr(harness, "_HARNESS", f"{package}/")
    monkeypatch.setattr(harness, "_PROGRAMS", (f"{package}/reference/",))
    path = tmp_path / "suite.py"
    path.write_text("from dpaudit.reference.mechanisms.noise import deeper\nimport dpaudit.core.errors\n")
    suite = SuiteFile(path, tmp_path, "suite.py")

    def hashes() -> tuple[str, str]:
        tool_hash.cache_clear()
        return Sources().hash_of(suite), tool_hash()

    try:
        before = hashes()
        for name, moved in (
            ("reference/mechanisms/deeper.py", (True, False)),
            ("reference/__init__.py", (True, False)),
            ("reference/mechanisms/unused.py", (False, False)),
            ("errors.py", (False, True)),
        ):
            text = (package / name).read_text()
            (package / name).write_text(text + "# changed\n")
            after = hashes()
            assert (after[0] != before[0], after[1] != before[1]) == moved, name
            (package / name).write_text(text)
    finally:
        tool_hash.cache_clear()


def test_the_lines_of_a_reference_program_count() -> None:
    """What ends endless programs sees those that ship with the harness."""
    with pytest.raises(RefusedError), of_limited_length(1):
        report_noisy_max.rnm_noise(epsilon=1, variant="printed")
