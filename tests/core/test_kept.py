"""A row's fingerprint and its verdict share what both compute, and nothing else does."""

import pytest

from dpaudit.core.kept import keeping, once, profile_of_run


class Counted:
    """A function that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        return self.calls


def test_within_a_row_a_result_is_computed_once() -> None:
    """For the same object and equal values."""
    made, program = Counted(), object()
    with keeping("quick"):
        assert [once((program,), ([1], "a"), made) for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("equal", [([2], "a"), ([1], "b"), ([1],)])
def test_other_values_are_computed_again(equal: tuple[object, ...]) -> None:
    """Any difference counts."""
    made, program = Counted(), object()
    with keeping("quick"):
        assert once((program,), ([1], "a"), made) == 1
        assert once((program,), equal, made) == 2


def test_an_equal_object_is_not_the_same_object() -> None:
    """A program may be equal to another one and still do something else."""
    made = Counted()
    with keeping("quick"):
        assert once(([],), (), made) == 1
        assert once(([],), (), made) == 2


def test_outside_a_row_nothing_is_kept() -> None:
    """Not in a notebook, where a global value may change between two calls, and not in the next row."""
    made, program = Counted(), object()
    assert [once((program,), (), made) for _ in range(2)] == [1, 2]
    for expected in (3, 4):
        with keeping("full"):
            assert once((program,), (), made) == expected


def test_an_error_is_not_kept() -> None:
    """The next caller gets its own."""
    program = object()

    def fails() -> int:
        raise ValueError("no")

    with keeping("quick"):
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                once((program,), (), fails)
        assert once((program,), (), lambda: 7) == 7


def test_the_profile_is_known_within_a_row_only() -> None:
    """None elsewhere, and again afterwards."""
    assert profile_of_run() is None
    with keeping("full"):
        assert profile_of_run() == "full"
    assert profile_of_run() is None
