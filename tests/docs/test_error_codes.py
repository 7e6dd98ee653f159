"""Every error has a stable code, and docs/errors.md lists them all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from dpaudit.core import errors
from dpaudit.core.errors import CodedError

ROOT = Path(__file__).parents[2]
FORM = re.compile(r"E(-[A-Z0-9]+)+")

#: The classes whose errors must carry a literal code where they are raised.
CLASSES = {
    name
    for name in errors.__all__
    if isinstance(getattr(errors, name), type) and issubclass(getattr(errors, name), CodedError)
}


def generator() -> ModuleType:
    """Load docs/error_codes.py, which is no module of a package."""
    spec = spec_from_file_location("error_codes", ROOT / "docs" / "error_codes.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def raised() -> Iterator[tuple[str, ast.Call]]:
    """Yield every call of a coded class in a raise statement of the package."""
    for path in sorted((ROOT / "dpaudit").rglob("*.py")):
        if "reference" in path.relative_to(ROOT).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = getattr(node.exc.func, "id", "")
                if name in CLASSES - {"CodedError"}:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node.exc


def test_every_raise_of_a_coded_error_has_a_code() -> None:
    """The code is a literal of the agreed form, or a parameter of the function that raises."""
    missing, calls = [], list(raised())
    assert len(calls) > 100
    for place, call in calls:
        codes = [item.value for item in call.keywords if item.arg == "code"]
        if not codes or (isinstance(codes[0], ast.Constant) and not FORM.fullmatch(str(codes[0].value))):
            missing.append(place)
    assert missing == []


def test_the_page_is_made_from_the_source() -> None:
    """docs/errors.md is what docs/error_codes.py writes now."""
    module = generator()
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == module.page()


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_every_class_has_a_code_of_its_own(kind: str) -> None:
    """An error that is raised without a code still has that of its class."""
    assert FORM.fullmatch(getattr(errors, kind)("text").code)
    assert getattr(errors, kind)("text", code="E-OTHER-CODE").code == "E-OTHER-CODE"
