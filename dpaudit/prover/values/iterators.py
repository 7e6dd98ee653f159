"""Follow the iterators of ``itertools``, which pass values on without computing with them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from dpaudit.prover.values.expressions import Expressions
from dpaudit.prover.values.operations import truth
from dpaudit.prover.values.scopes import Lazy

__all__ = ["Iterators"]


class Iterators(Expressions):
    """The part of the interpreter that follows ``itertools``."""

    def _ticking(self, items: Iterator[Any]) -> Lazy:
        """Return an iterator that counts its items, because it may be endless."""

        def turn() -> Iterator[Any]:
            for item in items:
                self.run.tick()
                yield item

        return Lazy(turn())

    def _builtin_count(self, start: Any = 0, step: Any = 1) -> Any:
        if type(start) is not int or type(step) is not int:
            self.run.refuse("itertools.count() requires constant integers")
        return self._ticking(itertools.count(start, step))

    def _builtin_repeat(self, item: Any, times: Any = None) -> Any:
        if times is not None and type(times) is not int:
            self.run.refuse("itertools.repeat() requires a constant number")
        return self._ticking(itertools.repeat(item) if times is None else itertools.repeat(item, times))

    def _builtin_chain(self, *iterables: Any) -> Any:
        return self._ticking(item for one in iterables for item in self.iterate(one))

    def _builtin_product(self, *iterables: Any, repeat: Any = 1) -> Any:
        if type(repeat) is not int or repeat < 0:
            self.run.refuse("itertools.product() requires a constant repeat=")
        return self._ticking(
            itertools.product(*[list(self.iterate(one)) for one in iterables], repeat=repeat)
        )

    def _builtin_islice(self, items: Any, *ends: Any) -> Any:
        if not 1 <= len(ends) <= 3 or not all(end is None or (type(end) is int and end >= 0) for end in ends):
            self.run.refuse("itertools.islice() requires constant integers")
        if ends[2:] == (0,):
            self.run.refuse("itertools.islice() requires a positive step")
        return self._ticking(itertools.islice(self.iterate(items), *ends))

    def _builtin_pairwise(self, items: Any) -> Any:
        return self._ticking(itertools.pairwise(self.iterate(items)))

    def _builtin_compress(self, items: Any, selectors: Any) -> Any:
        pairs = zip(self.iterate(items), self.iterate(selectors), strict=False)
        return self._ticking(item for item, kept in pairs if truth(self.run, self._truthful(kept)))

    def _builtin_accumulate(self, items: Any) -> Any:
        def turn() -> Iterator[Any]:
            total: Any = None
            for place, item in enumerate(self.iterate(items)):
                total = item if place == 0 else self._operate("add", total, item)
                yield total

        return self._ticking(turn())
