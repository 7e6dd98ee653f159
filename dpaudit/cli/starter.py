"""Hold the files that ``dpaudit init`` writes: a suite that is as expected, a test, and a GitHub workflow.

The suite has a few lines, or is a copy of a row of the suites that ship with dpaudit.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpaudit.cli.row_source import row_source
from dpaudit.core.errors import InvalidParameterError
from dpaudit.run.plan import LoadedSuite

__all__ = ["STARTER", "suite_from"]

_SUITE = '''"""The privacy claims of this project, one row each.

Run them with `dpaudit run audits`. The run exits with 1 if the verdict of a row differs from its `expect`.
"""

import numpy as np

from dpaudit import Anything, Records, Suite
from dpaudit.suite import Proving, proved

suite = Suite(name="mine", title="The mechanisms of this project")


def noisy_sum(data, rng):
    """The mechanism: an ordinary numpy function of the data and a numpy.random.Generator."""
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1)


@proved(suite, "noisy-sum", "its documentation")
def row():
    """The noisy sum of clipped numbers is 1-DP"""
    return Proving(program=noisy_sum, epsilon=1, data=Records(Anything()))
'''

_TEST = '''"""Black-box tests of privacy: a test fails if runs refute the claim. Passing proves nothing."""

import dpaudit


def noisy_count(data, rng):
    """Replace this by your function (data, rng) -> output. It must take all randomness from rng."""
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
      # Change this to where your project gets dpaudit from, and add what its audits import.
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
#: The files, by path below the folder.
STARTER = {
    SUITE: _SUITE,
    "tests/test_privacy.py": _TEST,
    ".github/workflows/dpaudit.yml": _WORKFLOW,
}

_FROM = '''"""Started from the row {id} of dpaudit's own suites.

{title}
({source})

Change the mechanism, the claim and the pairs of neighbours to yours, and `expect` to the verdict you expect.
If the claim and the noise use one constant, change each of them separately. Run it with `dpaudit run audits`.
`dpaudit explain {id} papers` shows what the original claims and does.
"""

from __future__ import annotations

{body}

suite = Suite(name="mine", title="The mechanisms of this project")
suite.include({group})
'''


def suite_from(suite: LoadedSuite, row: Mapping[str, Any]) -> str:
    """Return a one-file suite with this row of ``suite`` and everything that the row needs.

    Raises ``InvalidParameterError`` for a row that cannot be extracted from its suite.
    """
    place = row["location"]
    if place is None:
        raise InvalidParameterError(
            f"the place where row {row['id']!r} is declared is unknown. Choose another row.",
            code="E-ROW-EXTRACT",
        )
    file = (Path(suite.file.path).parent / place["file"]).resolve()
    body, group = row_source(file, place["line"], root=Path(suite.file.root).resolve())
    if "from dpaudit.core.suite import" in body:
        body = body.replace("from dpaudit.core.suite import ", "from dpaudit.core.suite import Suite, ", 1)
    else:
        body = f"from dpaudit.core.suite import Suite\n{body}"
    return _FROM.format(body=body, group=group, **{name: row[name] for name in ("id", "title", "source")})
