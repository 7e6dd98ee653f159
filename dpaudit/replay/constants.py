"""Find conditions that a constant of a program decides, whatever the data are.

A program made by ``make(noisy=True)`` tests ``noisy`` in each run, and no data make it false. So that
outcome, and code that only it leads to, cannot run. A constant is an immutable value (``bool``, ``int``,
``str``, ``None``, ``float``, ``bytes``, tuples of these) that is

* in a closure that was made before the first run, in a cell that nothing writes after the function was made,
  the same in all functions of this code that the program can reach; or
* a default argument, or an argument of a ``partial``, of the program itself, if the program cannot reach
  itself, so that nothing passes another value.

Nothing is constant in a program that names anything that could write a cell, find functions or run other code
unseen by this analysis (``FORBIDDEN``). Only conditions that compute with constants alone are analysed. Each
value is looked up before the first run and after the last one, and must not have changed.
"""

from __future__ import annotations

import dis
import gc
import inspect
import operator
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpaudit.core.harness import is_harness_file, is_library_file
from dpaudit.distributions.identity import identity
from dpaudit.replay.branches import Condition, jumps_of

__all__ = ["FORBIDDEN", "Constants", "Possible", "Reach", "reached"]

#: Names that let a program change a cell or a default, or reach functions that this analysis does not find.
# fmt: off
FORBIDDEN = frozenset({
    "cell_contents", "__closure__", "__defaults__", "__kwdefaults__", "__code__", "__globals__", "__dict__",
    "__builtins__", "__self__", "__func__", "f_locals", "f_back", "f_globals", "tb_frame", "gi_frame",
    "_getframe", "_current_frames", "settrace", "setprofile", "exec", "eval", "compile", "getattr",
    "setattr", "delattr", "attrgetter", "methodcaller", "__getattribute__", "__getattr__", "__setattr__",
    "vars", "globals", "locals", "gc", "inspect", "ctypes", "FunctionType", "LambdaType", "CodeType",
    "CellType", "__import__", "importlib", "import_module", "modules", "__subclasses__", "update_wrapper",
    "wraps", "proxy", "pickle", "marshal", "copyreg", "monitoring", "mock",
})
# fmt: on

#: Largest number of objects examined. A program that holds more has no constants.
MOST_OBJECTS = 20_000

_SIMPLE = (bool, int, str, float, bytes, type(None))
#: The flag of types whose objects report what they refer to (Py_TPFLAGS_HAVE_GC), and modules whose other
#: types refer to no function.
_SHOWS_REFERENCES = 1 << 14
_HOLD_NOTHING = ("builtins", "numpy", "decimal", "datetime", "flint")
_UNKNOWN = object()
_MISSING = object()


def _is_constant(value: object) -> bool:
    """Return whether a value cannot change. Only exact types count, because a subclass may do anything."""
    return type(value) in _SIMPLE or (type(value) is tuple and all(map(_is_constant, value)))


def _same(one: object, other: object) -> bool:
    """Return whether two constants have the same type and value. ``repr`` separates 1, 1.0, True and -0.0."""
    return type(one) is type(other) and repr(one) == repr(other)


@dataclass
class Reach:
    """What a program can reach by its closures, defaults, attributes and the names in its code.

    ``functions`` are functions of its own files with the constants of their closures. ``entry`` and
    ``arguments`` belong to the program's own function. ``whole`` is false if there may be more.
    """

    functions: list[tuple[FunctionType, dict[str, Any]]] = field(default_factory=list)
    entry: CodeType | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    whole: bool = True


def reached(program: Callable[..., Any]) -> Reach:
    """Return what ``program`` reaches now."""
    found = Reach()
    called, arguments = _entry(program)
    walk = _Walk(found)
    if called is not None:
        # What the program's function holds, without the function itself, to see if anything leads back to it.
        walk.names.update(_names_in(called.__code__))
        walk.start(_held_by(program, called))
        if walk.reaches(called.__code__):
            arguments = {}
        found.entry, found.arguments = called.__code__, arguments
    walk.start([program])
    return found


def _entry(program: Callable[..., Any]) -> tuple[FunctionType | None, dict[str, Any]]:
    """Return the function that a call of the program enters, and its arguments besides coins and data."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    while True:
        if type(program) is partial:
            given, named = [*program.args, *given], {**program.keywords, **named}
            program = program.func
        elif isinstance(program, MethodType):
            given, program = [program.__self__, *given], program.__func__
        else:
            break
    if not isinstance(program, FunctionType):
        return None, {}
    try:
        bound = inspect.Signature.from_callable(program, follow_wrapped=False).bind(
            *given, _UNKNOWN, _UNKNOWN, **named
        )
    except (TypeError, ValueError):
        return program, {}
    bound.apply_defaults()
    return program, {name: value for name, value in bound.arguments.items() if _is_constant(value)}


def _held_by(program: Callable[..., Any], called: FunctionType) -> list[Any]:
    held: list[Any] = _parts(called)
    while True:
        if type(program) is partial:
            held += [*program.args, *program.keywords.values()]
            program = program.func
        elif isinstance(program, MethodType):
            held.append(program.__self__)
            program = program.__func__
        else:
            return held


def _parts(function: FunctionType) -> list[Any]:
    """Return what a function holds: closure, defaults, attributes, and the globals that its code names."""
    parts: list[Any] = [content for _, content in _cells(function)]
    parts += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    parts += function.__dict__.values()
    names = _names_in(function.__code__)
    spaces: tuple[Mapping[str, Any], ...] = (
        function.__globals__,
        attrgetter("__builtins__")(function),
        sys.modules,
    )
    return [*parts, *(space[name] for space in spaces for name in names if name in space)]


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # an empty cell
            yield name, _MISSING


@lru_cache(maxsize=4096)
def _names_in(code: CodeType) -> frozenset[str]:
    """Return the names of globals, modules and attributes in ``code`` and in nested code."""
    return frozenset(name for item in _with_inner(code) for name in item.co_names)


@lru_cache(maxsize=4096)
def _imports(code: CodeType) -> frozenset[str]:
    """Return the modules that ``code`` or nested code imports, by the names written there."""
    steps = (step for item in _with_inner(code) for step in dis.get_instructions(item))
    return frozenset(step.argval for step in steps if step.opname == "IMPORT_NAME")


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _with_inner(item)


class _Walk:
    """A walk over everything that can be reached, each object once.

    Of modules, and of classes outside the program, only attributes count that some code names.
    """

    def __init__(self, found: Reach) -> None:
        self.found = found
        self.seen: dict[int, object] = {}
        self.names = {"__getattr__"}  # a module's returns a value for any name
        self.spaces: list[ModuleType | type] = []

    def reaches(self, code: CodeType) -> bool:
        return not self.found.whole or any(item.__code__ is code for item, _ in self.found.functions)

    def start(self, items: Iterable[object]) -> None:
        waiting = list(items)
        while waiting and self.found.whole:
            item = waiting.pop()
            if identity(item) in self.seen or _is_constant(item) or isinstance(item, CodeType):
                continue
            self.seen[identity(item)] = item
            self.found.whole = len(self.seen) <= MOST_OBJECTS
            known = len(self.names), len(self.spaces)
            waiting += self._behind(item)
            if (len(self.names), len(self.spaces)) != known:
                inside = [vars(space) for space in self.spaces]
                waiting += [space[name] for space in inside for name in self.names if name in space]

    def _behind(self, item: object) -> Sequence[object]:
        if isinstance(item, FunctionType):
            file = item.__code__.co_filename
            if is_library_file(file):
                return []
            if is_harness_file(file):  # a wrapper of the harness may hold a function of the program
                return [content for _, content in _cells(item)]
            self.found.functions.append((item, dict(_cells(item))))
            self.names.update(_names_in(item.__code__))
            if not _imports(item.__code__) <= sys.modules.keys():
                self.found.whole = False  # relative, or not imported yet
            return _parts(item)
        if isinstance(item, ModuleType) or (isinstance(item, type) and _is_foreign(item)):
            self.spaces.append(item)
            return list(item.__mro__) if isinstance(item, type) else []
        if isinstance(item, ContextVar | threading.local):
            self.found.whole = False  # the collector does not report their values
        if isinstance(item, weakref.ref):
            return [item()]
        if isinstance(item, np.ndarray) and item.dtype.hasobject:
            return item.ravel().tolist()
        if not type(item).__flags__ & _SHOWS_REFERENCES and type(item).__module__ not in _HOLD_NOTHING:
            self.found.whole = False
        return gc.get_referents(item)


def _is_foreign(kind: type) -> bool:
    """Return whether a class is not the program's: built in, a library's or the harness's."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is None or is_library_file(file) or is_harness_file(file)


@dataclass(frozen=True)
class Possible:
    """What a run can reach, given the constants: lines, and outcomes of conditions.

    ``made`` holds the ids of the code of functions that it can create.
    """

    lines: frozenset[int]
    ways: frozenset[tuple[Condition, str]]
    made: frozenset[int]


class Constants:
    """The constants of each code object of a program, from before its first run and after its last.

    ``own`` is the program's code that ran, and nested code.
    """

    def __init__(self, before: Reach, after: Reach, own: Sequence[CodeType]) -> None:
        self._before, self._after = before, after
        self._known: dict[int, dict[str, Any]] = {}
        self._own = {identity(code) for code in own}
        codes = [*own, *(code for item, _ in after.functions for code in _with_inner(item.__code__))]
        self._makers: dict[int, CodeType] = {}
        for code in codes:
            self._makers |= {identity(inner): code for inner in code.co_consts if isinstance(inner, CodeType)}
        if not (before.whole and after.whole) or any(map(_is_forbidden, codes)):
            return
        for code in own:
            self._of(code)

    def possible(self, code: CodeType) -> Possible | None:
        """Return what runs of ``code`` can reach, or ``None`` if no constant of it decides anything."""
        known = self._known.get(identity(code))
        return _possible(code, known) if known else None

    def _of(self, code: CodeType) -> dict[str, Any]:
        if identity(code) in self._known:
            return self._known[identity(code)]
        self._known[identity(code)] = {}
        maker = self._makers.get(identity(code))
        if maker is not None:  # made in a run: values shared with its maker are as constant as there
            shared = self._of(maker) if identity(maker) in self._own else {}
            found = {
                name: value
                for name, value in shared.items()
                if name in code.co_freevars
                and all(
                    _same(cells[name], value)
                    for item, cells in (*self._before.functions, *self._after.functions)
                    if item.__code__ is code
                )
            }
        else:
            found = {**self._closure(code), **self._arguments(code)}
        kept = {name: value for name, value in found.items() if not _is_written(code, name)}
        self._known[identity(code)] = kept
        return kept

    def _closure(self, code: CodeType) -> dict[str, Any]:
        """Return what all reachable functions of this code hold in common, before and after."""
        now = [cells for item, cells in self._after.functions if item.__code__ is code]
        then = {identity(item): cells for item, cells in self._before.functions if item.__code__ is code}
        if (
            not now
            or {identity(item) for item, _ in self._after.functions if item.__code__ is code} != then.keys()
        ):
            return {}
        return {
            name: value
            for name, value in now[0].items()
            if _is_constant(value)
            and all(_same(cells[name], value) for cells in [*now, *then.values()])
            and _is_settled(code, name)
        }

    def _arguments(self, code: CodeType) -> dict[str, Any]:
        """Return the arguments of the program itself that are always the same."""
        then, now = self._before, self._after
        if code is not now.entry or code is not then.entry:
            return {}
        return {
            name: value
            for name, value in now.arguments.items()
            if name in then.arguments and _same(value, then.arguments[name])
        }


def _is_forbidden(code: CodeType) -> bool:
    named = {*code.co_names, *code.co_varnames, *code.co_freevars}
    named |= set(_texts_in(code.co_consts))
    return not FORBIDDEN.isdisjoint(named)


def _texts_in(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple | frozenset):
            yield from _texts_in(value)


def _is_written(code: CodeType, name: str) -> bool:
    """Return whether ``code`` binds its variable ``name``, or nested code does."""
    optimized = code.co_flags & inspect.CO_OPTIMIZED  # a class body reads its own names first
    return not optimized or any(
        name in _bound(item) for item in _with_inner(code) if item is code or name in item.co_freevars
    )


@lru_cache(maxsize=4096)
def _bound(code: CodeType) -> frozenset[str]:
    """Return the variables that ``code`` stores or deletes."""
    found: set[str] = set()
    for item in dis.get_instructions(code):
        if item.opname.startswith(("STORE_FAST", "STORE_DEREF", "STORE_NAME", "DELETE_FAST", "DELETE_DEREF")):
            found.update(item.argval if isinstance(item.argval, tuple) else (item.argval,))
    return frozenset(found)


@lru_cache(maxsize=4096)
def _is_settled(code: CodeType, name: str) -> bool:
    """Return whether the cell ``name`` is not written once a function of this code exists.

    Its owner is found in the file: the nearest enclosing code that owns the variable. The owner must store it
    only before it makes the function, outside any loop around both, and no nested code may store it.
    """
    chain = _around(code)
    owner = next((at for at in range(len(chain) - 2, -1, -1) if name in chain[at].co_cellvars), None)
    if owner is None:
        return False
    inner = [item for item in _with_inner(chain[owner]) if item is not chain[owner]]
    if any(name in _bound(item) for item in inner if name in item.co_freevars):
        return False
    steps = list(dis.get_instructions(chain[owner]))
    made = next(step.offset for step in steps if step.argval is chain[owner + 1])
    for step in steps:
        if step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval == name and step.offset > made:
            return False
        if "JUMP" in step.opname and isinstance(step.argval, int) and step.argval <= made < step.offset:
            return False
    return True


def _around(code: CodeType) -> list[CodeType]:
    """Return the enclosing code objects of ``code`` in its file, outermost first and ``code`` last.

    Return an empty list unless exactly one code object has its name and place.
    """
    try:
        module = compile(Path(code.co_filename).read_bytes(), code.co_filename, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return []
    found: list[list[CodeType]] = []

    def look(chain: list[CodeType]) -> None:
        if _place(chain[-1]) == _place(code):
            found.append(chain)
        for item in chain[-1].co_consts:
            if isinstance(item, CodeType):
                look([*chain, item])

    look([module])
    return found[0] if len(found) == 1 else []


def _place(code: CodeType) -> tuple[Any, ...]:
    return code.co_qualname, code.co_firstlineno, code.co_freevars, code.co_varnames


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: Instructions that compute nothing.
_EMPTY = ("CACHE", "NOP", "EXTENDED_ARG")
#: Instructions after which the next one is not executed.
_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_ALWAYS_JUMP = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "JUMP_NO_INTERRUPT")


def _possible(code: CodeType, known: Mapping[str, Any]) -> Possible:
    """Return what can be reached in ``code`` along every path that the constants ``known`` allow."""
    steps = list(dis.get_instructions(code))
    at = {step.offset: index for index, step in enumerate(steps)}
    decided = _decided(code, steps, known)
    read: Any = dis.Bytecode(code)  # its type stubs lack the exception table
    handlers = [(item.start, item.end, item.target) for item in read.exception_entries]
    jumping = {*dis.hasjrel, *dis.hasjabs, *getattr(dis, "hasjump", ())}
    reached: set[int] = set()
    waiting = [0]
    while waiting:
        index = waiting.pop()
        if index in reached or index >= len(steps):
            continue
        reached.add(index)
        step = steps[index]
        taken = decided.get(step.offset)
        if step.opcode in jumping and taken is not False:
            waiting.append(at[step.argval])
        if taken is not True and step.opname not in _ENDS and not step.opname.startswith(_ALWAYS_JUMP):
            waiting.append(index + 1)
        waiting += [at[target] for start, end, target in handlers if start <= step.offset <= end]
    offsets = {steps[index].offset for index in reached}
    jumps = jumps_of(code)
    return Possible(
        lines=frozenset(
            line
            for start, end, line in code.co_lines()
            if line is not None and any(start <= offset < end for offset in offsets)
        ),
        ways=frozenset(
            (jump.condition, outcome)
            for offset, jump in jumps.items()
            if offset in offsets
            for taken, outcome in ((True, jump.taken), (False, jump.passed))
            if decided.get(offset, taken) is taken
        ),
        made=frozenset(identity(steps[index].argval) for index in reached),
    )


def _decided(code: CodeType, steps: Sequence[dis.Instruction], known: Mapping[str, Any]) -> dict[int, bool]:
    """Return whether each conditional jump whose test uses constants alone is taken, by its offset."""
    jumps = jumps_of(code)
    decided: dict[int, bool] = {}
    stack: list[Any] = []  # the known top of the stack; everything below is unknown
    for step in steps:
        if step.is_jump_target:
            stack.clear()
        if step.opname in _EMPTY:
            continue
        jump = jumps.get(step.offset)
        if jump is not None and stack:
            value = stack[-1]
            words = {"None" if value is None else "not None", "true" if value else "false"}
            decided[step.offset] = jump.taken in words
        if not _computed(step, stack, known):
            stack.clear()
    return decided


def _computed(step: dis.Instruction, stack: list[Any], known: Mapping[str, Any]) -> bool:
    """Apply an instruction to the known top of the stack. Return ``False`` if the result is unknown."""
    name = step.opname
    if name in ("LOAD_DEREF", "LOAD_FAST") and step.argval in known:
        stack.append(known[step.argval])
    elif name == "LOAD_CONST" and (_is_constant(step.argval) or type(step.argval) is frozenset):
        stack.append(step.argval)
    elif name in ("UNARY_NOT", "TO_BOOL") and stack:
        value = stack.pop()
        stack.append(not value if name == "UNARY_NOT" else bool(value))
    elif name in ("COMPARE_OP", "IS_OP", "CONTAINS_OP") and len(stack) >= 2:
        right, left = stack.pop(), stack.pop()
        result = _compared(step, left, right)
        if result is _UNKNOWN:
            return False
        stack.append(result)
    elif name == "COPY" and step.arg == 1 and stack:
        stack.append(stack[-1])
    elif name == "BUILD_TUPLE" and step.arg is not None and 0 < step.arg <= len(stack):
        stack[-step.arg :] = [tuple(stack[-step.arg :])]
    else:
        return False
    return True


def _compared(step: dis.Instruction, left: Any, right: Any) -> object:
    if step.opname == "IS_OP":
        if not any(item is None or isinstance(item, bool) for item in (left, right)):
            return _UNKNOWN  # the interpreter decides whether two equal numbers or texts are one object
        return (left is right) is not bool(step.arg)
    try:
        if step.opname == "CONTAINS_OP":
            return (left in right) is not bool(step.arg)
        return _COMPARED[str(step.argval)](left, right)
    except (KeyError, TypeError):
        return _UNKNOWN
