"""What Python source binds and needs, without running it."""

from __future__ import annotations

import ast
import builtins
import symtable
import threading
import warnings
from collections.abc import Callable
from typing import TypeVar

_BUILTIN = frozenset(dir(builtins))
_CUTS = 8
_DEEPEST = 150
_quiet = threading.Lock()

T = TypeVar("T")


def parse(source: str) -> ast.Module | None:
    """The module, or ``None`` where ``source`` is not Python, or so deeply nested that only a hostile answer is."""
    tree = _try(lambda: ast.parse(source))
    return tree if tree and not _too_deep(tree) else None


def leading(source: str) -> str:
    """The longest start of ``source`` that parses and ends before an unindented line: code without the words after
    it."""
    lines = source.split("\n")
    for _ in range(_CUTS):
        at = _error_line("\n".join(lines))
        if at is None:
            break
        starts = [line for line in range(min(at, len(lines))) if lines[line][:1].strip()]
        lines = lines[: starts[-1]] if starts else []
    return "\n".join(lines)


def compiles(source: str) -> bool:
    """Whether Python accepts ``source`` whole: a ``return`` outside a function parses but does not compile."""
    return _try(lambda: compile(source, "<answer>", "exec", dont_inherit=True)) is not None


def bound(tree: ast.Module) -> set[str]:
    """Names that the module's own statements bind, not those inside functions or classes."""
    names: set[str] = set()
    for node in tree.body:
        names |= _binds(node)
    return names


def needed(source: str) -> set[str]:
    """Global names that functions and classes of ``source`` look up when they run."""
    table = _try(lambda: symtable.symtable(source, "<answer>", "exec"))
    return _globals(table, top=True) if table else set()


def missing(tree: ast.Module) -> set[str]:
    """Names that the module's code uses and neither it nor Python defines."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return used - bound(tree) - _BUILTIN


def without_demo(source: str, tree: ast.Module, used: set[str]) -> str:
    """``source`` up to the last statement that is relied on: a definition, an import, or one that binds or changes a
    name in ``used`` or one that a function looks up. What follows only shows it off (calls, prints, ``input()``)."""
    names = needed(source) | used
    last = 0
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)) or (
            not _main_guard(node) and _touches(node) & names
        ):
            last = node.end_lineno or last
    return "\n".join(source.split("\n")[:last]) + "\n"


def _try(read: Callable[[], T]) -> T | None:
    try:
        # A doubtful escape in an answer is a warning of its own, not one of ours; the filter is process-wide.
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _error_line(source: str) -> int | None:
    """The line, from 1, at which ``source`` stops being Python."""
    found: list[int] = []

    def read() -> None:
        try:
            ast.parse(source)
        except SyntaxError as error:
            found.append(max(1, error.lineno or 1))
            raise

    _try(read)
    return found[0] if found else None


def _too_deep(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _binds(node: ast.AST) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(name.asname or name.name).partition(".")[0] for name in node.names}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return {node.id}
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return set()
    names: set[str] = set()
    for child in ast.iter_child_nodes(node):
        names |= _binds(child)
    return names


def _touches(node: ast.stmt) -> set[str]:
    """Names that a statement binds, or whose object it may change: ``x[0] = …``, ``x.y = …``, ``x.append(…)``."""
    names = _binds(node)
    for part in ast.walk(node):
        if (isinstance(part, (ast.Subscript, ast.Attribute)) and isinstance(part.ctx, (ast.Store, ast.Del))) or (
            isinstance(part, ast.Attribute)
        ):
            owner: ast.expr = part.value
            while isinstance(owner, (ast.Subscript, ast.Attribute)):
                owner = owner.value
            if isinstance(owner, ast.Name):
                names.add(owner.id)
    return names


def _globals(table: symtable.SymbolTable, *, top: bool = False) -> set[str]:
    names = set() if top else {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    for child in table.get_children():
        names |= _globals(child)
    return names
