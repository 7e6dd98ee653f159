"""What all adapters share: pairs that are missing, libraries that are missing, the generator handed over."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import dpaudit
from dpaudit.blackbox import adapters
from dpaudit.blackbox.adapters.adapted import Adapted, seeded_state
from dpaudit.blackbox.adapters.opendp_measurements import _shifted
from dpaudit.core.errors import InvalidParameterError
from tests.errors import raises


def noisy(data: float, rng: np.random.Generator) -> float:
    return float(data + rng.laplace(scale=0.5))


def test_the_notes_of_an_adapter_stand_in_the_result() -> None:
    """Beside those of the check itself; half of the noise is refuted."""
    adapted = Adapted(
        mechanism=noisy, claim=dpaudit.PureDP(epsilon=1), neighbours=[(0.0, 1.0)], notes=("a word",)
    )
    result = adapted.check(max_samples=5000, record_draws=False)
    assert result.verdict == "refuted"
    assert result.notes[0] == "a word"


def test_pairs_must_come_from_somewhere() -> None:
    """An object that does not say what its data are needs the caller's pairs, which win where both are."""
    claim = dpaudit.PureDP(epsilon=1)
    with raises(InvalidParameterError, code="E-NEIGHBOURS-MISSING"):
        Adapted(mechanism=noisy, claim=claim).check()
    far = Adapted(mechanism=noisy, claim=dpaudit.PureDP(epsilon=5), neighbours=[(0.0, 1.0)])
    assert far.check(max_samples=400, record_draws=False).verdict == "inconclusive"
    assert far.check(neighbours=[(0.0, 99.0)], max_samples=5000, record_draws=False).verdict == "refuted"


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("opendp", "opendp.mod"),
        ("diffprivlib", "diffprivlib"),
        ("pydp", "pydp"),
        ("tmlt", "tmlt.core.measurements.base"),
    ],
)
def test_a_missing_library_is_named(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, module, None)
    with raises(InvalidParameterError, code="E-PACKAGE-MISSING"):
        getattr(adapters, name)(object())


def test_a_missing_accountant_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for an event."""
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with raises(InvalidParameterError, code="E-PACKAGE-MISSING", match="pip install dp-accounting"):
        adapters.dp_event(object(), delta="0.1")


def test_the_older_generator_moves_the_stream_on() -> None:
    """Two calls draw other numbers, and the same two again from the same seed."""
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    drawn = [seeded_state(first).random() for _ in range(2)]
    assert drawn[0] != drawn[1]
    assert drawn == [seeded_state(second).random() for _ in range(2)]


def test_names_load_on_first_use() -> None:
    """Each public name is there, and another one is an AttributeError."""
    assert all(callable(getattr(adapters, name)) for name in adapters.__all__)
    assert dir(adapters) == sorted(adapters.__all__)
    with pytest.raises(AttributeError, match="nobody"):
        adapters.nobody  # noqa: B018


@pytest.mark.parametrize(
    ("metric", "order"), [("L1Distance", 1), ("L2Distance", 2), ("LInfDistance", np.inf)]
)
@pytest.mark.parametrize("distance", [1, 2, 5, 1.0, 0.3, 3.7])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_vectors_move_no_further_than_the_distance(
    metric: str, order: float, distance: float, size: int
) -> None:
    """In any norm, and where two entries can, some pair has them move against each other."""
    pairs = _shifted([type(distance)(0)] * size, metric, distance, one_sign=False)
    differences = [np.subtract(*pair) for pair in pairs]
    assert all(0 < np.linalg.norm(difference, order) <= distance for difference in differences)
    opposite = any(difference.min() < 0 < difference.max() for difference in differences)
    indivisible = isinstance(distance, int) and distance == 1 and metric != "LInfDistance"
    assert opposite == (size > 1 and not indivisible)
    assert len(_shifted([0] * size, metric, 2, one_sign=True)) == (2 if metric == "LInfDistance" else 1)
