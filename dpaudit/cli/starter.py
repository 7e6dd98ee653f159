"""The files that ``dpaudit init`` writes: a suite that comes out as expected, a test, a GitHub workflow. The
suite is one of a few lines, or has a row of the suites that ship with dpaudit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpaudit.cli.row_source import row_source
from dpaudit.core.errors import InvalidParameterError
from dpaudit.run.plan import LoadedSuite

__all__ = ["STARTER", "suite_from"]

_SUITE = '''"""The privacy claims of this project, one row each.

Run them with `dpaudit run audits`. The run exits with 1 where a row comes out otherwise than its `expect`.
"""

import numpy as np

from dpaudit import Anything, Records
from dpaudit.suite.program_proofs import Proving, proved
from dpaudit.core.suite import Suite

suite = Suite(paper="mine", title="The mechanisms of this project")


def noisy_sum(data, rng):
    """The mechanism: an ordinary numpy function of the data and a numpy.random.Generator."""
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1)


@proved(suite, "noisy-sum", "its documentation")
def row():
    """The noisy sum of clipped numbers is 1-DP"""
    return Proving(program=noisy_sum, epsilon=1, data=Records(Anything()))
'''

_TEST = '''"""Black-box tests of privacy: each fails where runs refute the claim; passing proves nothing."""

import dpaudit


def noisy_count(data, rng):
    """Replace this by a function of yours: (data, rng) -> output, all randomness from rng."""
    return sum(data) + rng.laplace(scale=1)


def test_noisy_count(assert_private):
    assert_private(
        noisy_count,
        dpaudit.PureDP(epsilon=1),
        data=dpaudit.Records(dpaudit.Integers(0, 1), size=2),
        max_samples=5000,
    )
'''

_WORKFLOW = """name: dpaudit
on: [push, pull_request]

permissions:
  contents: read

jobs:
  privacy:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      # Name here where this project gets dpaudit from, and add what its audits import.
      - run: python -m pip install dpaudit pytest
      - run: python -m pytest tests/test_privacy.py
      - run: dpaudit run audits
        if: always()
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: dpaudit-report
          path: dpaudit-report.*
"""

#: Where the suite is written.
SUITE = "audits/mine.py"
#: What is written, by path below the folder.
STARTER = {
    SUITE: _SUITE,
    "tests/test_privacy.py": _TEST,
    ".github/workflows/dpaudit.yml": _WORKFLOW,
}

_FROM = '''"""Started from the row {id} of dpaudit's own suites.

{title}
({source})

Change the mechanism, the claim and the pairs of neighbours to yours, and `expect` to what you claim; where
the claim and the noise come from one constant, change each by itself. Run it with `dpaudit run audits`;
`dpaudit explain {id} papers` says what the original claims and does.
"""

from __future__ import annotations

{body}

suite = Suite(paper="mine", title="The mechanisms of this project")
suite.include({group})
'''


def suite_from(suite: LoadedSuite, row: Mapping[str, Any]) -> str:
    """A suite of one file that has this row of ``suite``, with what the row needs.

    Raises ``InvalidParameterError`` for a row that cannot be taken out of its suite.
    """
    place = row["location"]
    if place is None:
        raise InvalidParameterError(
            f"a row to start from must say where it is declared, got {row['id']!r}; choose another row."
        )
    file = (Path(suite.file.path).parent / place["file"]).resolve()
    body, group = row_source(file, place["line"], root=Path(suite.file.root).resolve())
    if "from dpaudit.core.suite import" in body:
        body = body.replace("from dpaudit.core.suite import ", "from dpaudit.core.suite import Suite, ", 1)
    else:
        body = f"from dpaudit.core.suite import Suite\n{body}"
    return _FROM.format(body=body, group=group, **{name: row[name] for name in ("id", "title", "source")})
