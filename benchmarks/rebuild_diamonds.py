"""Rebuild ``audits/distributed_mab/data/diamonds.json``: ``python -m benchmarks.rebuild_diamonds [--check]``.

The paper's learning-to-rank experiment clusters the rows of a dataset that cannot be passed on (K-means, K =
50; clusters are arms, graded relevance is the reward). This is the same construction on the ``diamonds``
table that plotnine ships (53 940 rows, MIT licence): numeric features standardised, K-means with 50 clusters,
clusters of fewer than 100 rows merged into the nearest other one, reward = grade of the cut / 4.

It needs plotnine and scikit-learn, which no other part of the project needs. The table depends on their
versions, which it names; ``--check`` compares instead of writing.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["main", "merged_labels", "reward_counts"]

PATH = Path(__file__).parents[1] / "audits" / "distributed_mab" / "data" / "diamonds.json"
FEATURES = ("carat", "depth", "table", "price", "x", "y", "z")
CLUSTERS, SMALLEST, SEED = 50, 100, 0


def merged_labels(labels: Any, centres: Any, *, smallest: int) -> Any:
    """Return labels 0, 1, ... after every cluster of fewer than ``smallest`` rows joined the nearest
    larger one.
    """
    labels, centres = np.asarray(labels), np.asarray(centres)
    sizes = np.bincount(labels, minlength=len(centres))
    large = np.flatnonzero(sizes >= smallest)
    distance = np.linalg.norm(centres[:, None] - centres[large], axis=-1)
    return distance.argmin(axis=1)[labels]


def reward_counts(labels: Any, grades: Any, *, levels: int) -> list[list[int]]:
    """Count rows per cluster and grade, clusters by falling mean grade."""
    labels, grades = np.asarray(labels), np.asarray(grades)
    table = np.zeros((labels.max() + 1, levels), dtype=np.int64)
    np.add.at(table, (labels, grades), 1)
    order = np.argsort(-(table @ np.arange(levels)) / table.sum(axis=1), kind="stable")
    return [[int(count) for count in row] for row in table[order]]


def _build() -> dict[str, Any]:
    from plotnine.data import diamonds
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    features = StandardScaler().fit_transform(diamonds[list(FEATURES)])
    model = KMeans(n_clusters=CLUSTERS, n_init=1, random_state=SEED).fit(features)
    labels = merged_labels(model.labels_, model.cluster_centers_, smallest=SMALLEST)
    grades = list(diamonds["cut"].cat.categories)
    return {
        "source": f"diamonds table of plotnine {version('plotnine')} (MIT licence), {len(diamonds)} rows",
        "built": f"benchmarks/rebuild_diamonds.py, scikit-learn {version('scikit-learn')}, seed {SEED}",
        "features": list(FEATURES),
        "clusters": CLUSTERS,
        "smallest_cluster": SMALLEST,
        "grades": grades,
        "counts": reward_counts(labels, diamonds["cut"].cat.codes, levels=len(grades)),
    }


def _text(table: dict[str, Any]) -> str:
    rows = ",\n".join(f"    {row}" for row in table["counts"])
    head = json.dumps({key: value for key, value in table.items() if key != "counts"}, indent=2)
    return f'{head[:-2]},\n  "counts": [\n{rows}\n  ]\n}}\n'


def main(arguments: list[str] | None = None) -> int:
    """Write the table, or compare with the existing one; 0 if they agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    options = parser.parse_args(arguments)
    text = _text(_build())
    if not options.check:
        PATH.parent.mkdir(exist_ok=True)
        PATH.write_text(text)
        return 0
    same = PATH.read_text() == text
    sys.stdout.write("the table is as built\n" if same else "the table differs from what is built here\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
