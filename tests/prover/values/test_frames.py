"""Programs on pandas data frames are verified if they only sum, count and filter, and refused otherwise."""

# ruff: noqa: E501, T201 (programs as users write them, and tables of them)

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.data import Categories, Integers, Interval, Table
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.prover.values.prove import prove_values
from tests.errors import raises

COLUMNS: Any = {
    "pay": Interval(-50, 100),
    "age": Integers(0, 120),
    "team": Categories(4),
    "remote": Integers(0, 1, bits=True),
}
FIXED = Table(COLUMNS, size=8, container="frame")
EVERY_SIZE = Table(COLUMNS, container="frame")


# Right programs.


def clipped_sum(df, rng):
    return df["pay"].clip(0, 10).sum() + rng.laplace(scale=10)


def sum_of_one_team(df, rng):
    return df[df["team"] == 2]["pay"].clip(0, 10).sum() + rng.laplace(scale=10)


def counts(df, rng):
    return df["team"].value_counts().reindex(range(4), fill_value=0) + rng.laplace(scale=2, size=4)


def sums_by_team(df, rng):
    df = df[["pay", "team"]]
    sums = df.groupby("team")["pay"].sum().reindex(range(4), fill_value=0).to_numpy()
    return sums + rng.laplace(scale=200, size=4)


def sizes(df, rng):
    found = df.groupby("team").size().reindex(range(4), fill_value=0).to_numpy()
    return found + rng.laplace(scale=2, size=4)


def counts_of_some(df, rng):
    older = df[df["age"] > 30]
    return older["team"].value_counts().reindex([0, 3], fill_value=0) + rng.laplace(scale=2, size=2)


def sums_of_some(df, rng):
    older = df[df.age > 30]
    sums = older.groupby("team")["age"].sum().reindex(range(4), fill_value=0)
    return sums[2] + rng.laplace(scale=120)


def masks(df, rng):
    return ((df["age"] > 30) & ~df["remote"]).sum() + rng.laplace(scale=1)


def rows_of_a_mask(df, rng):
    return len(df[(df["age"] > 30) | df["remote"]]) + rng.laplace(scale=1)


def mask_of_a_mask(df, rng):
    remote = df[df["remote"]]
    return remote[remote["age"] > 30]["pay"].count() + rng.laplace(scale=1)


def array(df, rng):
    x = np.clip(df[["pay", "age"]].to_numpy(), 0, 1)
    return x.sum(axis=0) + rng.laplace(scale=2, size=2)


def values(df, rng):
    return df.pay.astype(float).clip(0, 1).values.sum() + rng.laplace(scale=1)


def arithmetic(df, rng):
    return (df["age"] - df["team"]).abs().clip(0, 3).sum() + rng.laplace(scale=3)


def between(df, rng):
    return df["pay"].between(5, 7).sum() + rng.laplace(scale=1)


def chosen(df, rng):
    return np.where(df["remote"], df["age"], 0).sum() + rng.laplace(scale=120)


BOTH = [
    clipped_sum, sum_of_one_team, counts, sums_by_team, sizes, counts_of_some, sums_of_some, masks, rows_of_a_mask,
    mask_of_a_mask, array, values, arithmetic, between, chosen,
]  # fmt: skip


def mean(df, rng):
    return df["pay"].clip(0, 10).mean() + rng.laplace(scale=10 / len(df))


def mean_of_integers(df, rng):
    return df["age"].clip(upper=10).mean() + rng.laplace(scale=10 / df.shape[0])


def median(df, rng):
    return df["pay"].median() + rng.laplace(scale=150)


CASES = [
    *((program, data, adjacency) for program in BOTH for data in (FIXED, EVERY_SIZE)
      for adjacency in ("replace-one", "add-remove")),
    *((program, data, "replace-one") for program in (mean, mean_of_integers, median) for data in (FIXED, EVERY_SIZE)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "data", "adjacency"), CASES, ids=[f"{c[0].__name__}-{c[1].size}-{c[2]}" for c in CASES]
)
def test_programs_on_frames_are_verified(program: Any, data: Any, adjacency: Any) -> None:
    """A frame program is verified, and the kernel derives the same bound from a certificate of a frame."""
    proof = prove_values(program, PureDP(epsilon=1, adjacency=adjacency), data=data)
    assert proof.verdict == "verified", proof.reason
    assert proof.certificate is not None
    assert proof.certificate["data"]["words"].endswith(" in a data frame")
    assert check(proof.certificate).epsilon == proof.bound


# Wrong programs.


def too_little_noise(df, rng):
    return df["pay"].clip(0, 10).sum() + rng.laplace(scale=9)


def counts_with_half_the_noise(df, rng):
    return df["team"].value_counts().reindex(range(4), fill_value=0) + rng.laplace(scale=1, size=4)


def sums_with_half_the_noise(df, rng):
    sums = df.groupby("team")["pay"].sum().reindex(range(4), fill_value=0).to_numpy()
    return sums + rng.laplace(scale=100, size=4)


def groups_without_keys(df, rng):
    return df.groupby("team")["pay"].sum() + rng.laplace(scale=1000)


def largest_group(df, rng):
    return df["team"].value_counts().iloc[0] + rng.laplace(scale=100)


def number_of_groups(df, rng):
    return len(df["team"].value_counts()) + rng.laplace(scale=100)


def missing_keys(df, rng):
    return df["team"].value_counts().reindex(range(4)) + rng.laplace(scale=100, size=4)


def private_keys(df, rng):
    return df.groupby("team")["pay"].sum().reindex(df["team"], fill_value=0)


def means_by_group(df, rng):
    return df.groupby("team")["pay"].mean().reindex(range(4), fill_value=0) + rng.laplace(scale=1000, size=4)


def other_rows(df, rng):
    return (df["pay"] + df[df["remote"]]["pay"]).sum() + rng.laplace(scale=1000)


def noise_for_filtered_rows(df, rng):
    return df[df["pay"] > 0]["pay"] + rng.laplace(scale=1000, size=len(df))


def length_of_an_array(df, rng):
    return len(df[df["remote"]]["pay"].to_numpy())


def column(df, rng):
    return df["pay"]


def text(df, rng):
    return f"{df['pay']}"


def printed(df, rng):
    print(df["pay"])
    return rng.laplace()


def row_numbers(df, rng):
    return list(df[df["pay"] > 5].index)


def first_record(df, rng):
    return float(df["remote"].to_numpy()[0]) + rng.laplace(scale=0.9)


def changed_frame(df, rng):
    df["pay"] = 0
    return df["pay"].sum()


def changed_array(df, rng):
    a = df["pay"].to_numpy()
    a[:] = 0
    return a.sum()


def exchanged_bounds(df, rng):
    return df["pay"].clip(10, 0).sum() + rng.laplace(scale=1)


def clipped_at_a_column(df, rng):
    return df["pay"].clip(lower=df["age"]).sum() + rng.laplace(scale=1)


def filtered_mean(df, rng):
    return df[df["remote"]]["pay"].mean() + rng.laplace(scale=1000)


def decision(df, rng):
    return 1 if df["pay"].sum() > 0 else 0


def loop(df, rng):
    total = 0.0
    for x in df["pay"]:
        total += x
    return total + rng.laplace(scale=100)


def product(df, rng):
    return (df["pay"] * df["age"]).sum() + rng.laplace(scale=12_000)


def mask_of_other_rows(df, rng):
    remote = df[df["remote"]]
    return len(remote[df["age"] > 30]) + rng.laplace(scale=100)


@pytest.mark.parametrize("data", [FIXED, EVERY_SIZE], ids=["8", "every"])
@pytest.mark.parametrize(
    "program",
    [
        too_little_noise, counts_with_half_the_noise, sums_with_half_the_noise, groups_without_keys, largest_group,
        number_of_groups, missing_keys, private_keys, means_by_group, other_rows, noise_for_filtered_rows,
        length_of_an_array, column, text, printed, row_numbers, first_record, changed_frame, changed_array,
        exchanged_bounds, clipped_at_a_column, filtered_mean, decision, loop, product, mask_of_other_rows,
    ],
)  # fmt: skip
def test_wrong_programs_on_frames_are_not_verified(program: Any, data: Any) -> None:
    """A program with too little noise, or that shows rows or keys of the data, is not verified."""
    proof = prove_values(program, PureDP(epsilon=1), data=data)
    assert proof.verdict == "inconclusive"
    assert proof.certificate is None


def test_a_frame_is_built_with_the_declared_columns() -> None:
    """Pairs of neighbours are frames with the declared types, and differ in one record."""
    pairs = list(FIXED.pairs())
    for pair in pairs:
        assert isinstance(pair.left, pd.DataFrame)
        assert list(pair.left.columns) == list(COLUMNS)
        assert [kind.kind for kind in pair.left.dtypes] == ["f", "i", "i", "b"]
        assert (pair.left != pair.right).any(axis=1).sum() <= 1


def test_a_frame_has_columns_of_numbers() -> None:
    """A column of rows is refused by the declaration and by the kernel."""
    with raises(InvalidParameterError, code="E-TABLE-CONTAINER"):
        Table({"x": (Interval(0, 1), 2)}, container="frame")
    with raises(InvalidParameterError, code="E-TABLE-CONTAINER"):
        Table({"x": Interval(0, 1)}, container="series")  # type: ignore[arg-type]
    proof = prove_values(clipped_sum, PureDP(epsilon=1), data=FIXED)
    assert proof.certificate is not None
    proof.certificate["data"]["columns"][0]["width"] = 2
    with pytest.raises(ValuesProofError):
        check(proof.certificate)
