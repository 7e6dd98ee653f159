"""Check, when the suite is built, that a row's function takes what its grid and fixed parameters give."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from dpaudit.certify.ranges import Range
from dpaudit.core.errors import InvalidParameterError
from dpaudit.suite.grid import Grid, Point, in_words

__all__ = ["named_point", "require_parameters", "require_range"]


def require_parameters(
    function: Callable[..., Any], grid: Grid | None, fixed: Collection[str], *, id: str, run: bool = False
) -> None:
    """Require that ``function`` takes exactly the names that the grid and ``fixed`` give.

    With ``run``, they follow the run. Raises ``InvalidParameterError`` otherwise, and for a docstring with a
    brace that nothing fills.
    """
    parameters = list(inspect.signature(function).parameters.values())[1 if run else 0 :]
    if any(item.kind is item.VAR_KEYWORD for item in parameters):
        return
    taken = [item.name for item in parameters]
    needed = {item.name for item in parameters if item.default is item.empty}
    for names in grid.names() if grid is not None else [()]:
        given = {*names, *fixed}
        if not needed <= given <= set(taken):
            raise InvalidParameterError(
                f"{id}: the function must take what the grid and the decorator give, it takes "
                f"{', '.join(taken) or 'nothing'}, given {', '.join(sorted(given)) or 'nothing'}.",
                code="E-ROW-PARAMETERS",
            )
    text = inspect.getdoc(function) or ""
    for name in re.findall(r"\{(\w+)\}", text):
        if name in taken and name not in fixed:
            raise InvalidParameterError(
                f"{id}: braces in a docstring must name fixed parameters, got {{{name}}}, which the grid "
                "gives.",
                code="E-ROW-BRACES",
            )


def require_range(
    function: Callable[..., Any], prove: Range | None, fixed: Collection[str], *, id: str
) -> None:
    """Require that ``function`` takes the names of the range and of ``fixed``. Nothing else may be missing.

    Raises ``InvalidParameterError`` otherwise.
    """
    if prove is None:
        return
    parameters = inspect.signature(function).parameters.values()
    needed = {item.name for item in parameters if item.default is item.empty}
    given = {*prove.axes, *fixed}
    if not needed <= given <= {item.name for item in parameters} or prove.axes.keys() & set(fixed):
        raise InvalidParameterError(
            f"{id}: the range of a proof must give what the function takes, it takes "
            f"{', '.join(item.name for item in parameters) or 'nothing'}, given {', '.join(sorted(given))}.",
            code="E-ROW-PARAMETERS",
        )


@contextmanager
def named_point(point: Point) -> Iterator[None]:
    """Add the point of the grid as a note to errors inside this context."""
    try:
        yield
    except Exception as error:
        if point:
            error.add_note(f"at {in_words(point)}")
        raise
