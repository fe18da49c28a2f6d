"""The same objects in YAML: plain data with lines, no tags, and aliases that cannot blow up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import ClassVar

import yaml
from yaml.error import Mark
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tjbench.errors import UsageError
from tjbench.suites.entries import Entry, refuse_lone_surrogates, require_file

MAX_BYTES = 4 * 1024 * 1024
"""A larger YAML file is refused: JSONL is read many times faster."""
MAX_EXPANDED = 16 * 1024 * 1024
"""Characters and nodes that the file may stand for once every alias is replaced by what it names."""

_Path = tuple[int | str, ...]
_CORE = "tag:yaml.org,2002:"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads YAML 1.2's plain values: ``true``, ``null``, decimal numbers. ``no``, ``12:30`` and dates are text."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, object]]]] = {}


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(_CORE + _tag, re.compile(rf"^(?:{_pattern})$"), _first)


def yaml_entries(path: Path) -> Iterator[Entry]:
    """The entries of a YAML file: a list of them, or ``{suite: …, tasks: [...]}``.

    Read as by ``yaml.safe_load``, and stricter: no tags, no key twice, keys are text. Anything wrong is a
    ``UsageError`` that names file and line.
    """
    root = _composed(path)
    yield from _Document(path).entries(root)


def _composed(path: Path) -> Node | None:
    try:
        return yaml.compose(_text(path), Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise UsageError(f"{path}{line} cannot be read as YAML", why=error.problem or error.context or "") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read as YAML", why=str(error)) from None


def _text(path: Path) -> str:
    require_file(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES // 1024**2} MiB", fix="write the suite as .jsonl")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line} is not UTF-8", fix="save the file as UTF-8") from None


class _Document:
    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self, root: Node | None) -> Iterator[Entry]:
        if root is None:
            return
        self._refuse_bombs(root)
        for node in self._items(root):
            if not isinstance(node, MappingNode):
                raise self._mistake(node, "is not a mapping", fix="write a task as id: …, prompt: …, check: …")
            yield self._entry(node)

    def _items(self, root: Node) -> list[Node]:
        if isinstance(root, SequenceNode):
            return list(root.value)
        if not isinstance(root, MappingNode):
            raise self._mistake(root, "is neither a list of tasks nor a mapping with tasks")
        self._keys(root)
        parts = {key.value: (key, value) for key, value in root.value}
        unknown = next((key for name, (key, _) in parts.items() if name not in {"suite", "tasks"}), None)
        if unknown is not None:
            raise self._mistake(unknown, f"unknown field {unknown.value!r:.60}", why="allowed: suite, tasks")
        tasks = parts["tasks"][1] if "tasks" in parts else None
        if not isinstance(tasks, SequenceNode):
            raise self._mistake(tasks or root, "tasks must be a list of tasks")
        if "suite" not in parts:
            return list(tasks.value)
        key, header = parts["suite"]
        return [MappingNode(_CORE + "map", [(key, header)], key.start_mark, header.end_mark), *tasks.value]

    def _entry(self, node: MappingNode) -> Entry:
        value = self._value(node)
        assert isinstance(value, dict)
        try:
            refuse_lone_surrogates(value)
        except ValueError as error:
            raise self._mistake(node, "holds half a character", why=str(error)) from None

        def line_of(field: _Path) -> int:
            return _mark_at(node, field).line + 1

        return Entry(path=self._path, line=node.start_mark.line + 1, value=value, line_of=line_of)

    def _refuse_bombs(self, root: Node) -> None:
        """Refuses an alias inside what it names, and more aliases of large parts than anyone writes."""
        sizes: dict[int, int] = {}
        waiting: list[tuple[Node, bool]] = [(root, False)]
        inside: set[int] = set()
        while waiting:
            node, done = waiting.pop()
            parts = _parts(node)
            if done:
                inside.discard(id(node))
                size = 1 + sum(sizes[id(part)] for part in parts)
                sizes[id(node)] = size + (len(node.value) if isinstance(node, ScalarNode) else 0)
                if sizes[id(node)] > MAX_EXPANDED:
                    raise self._mistake(
                        node, "its aliases stand for too much", fix="write the tasks out, or fewer of them"
                    )
            elif id(node) in inside:
                raise self._mistake(node, "holds an alias of itself")
            elif id(node) not in sizes:
                inside.add(id(node))
                waiting.append((node, True))
                waiting.extend((part, False) for part in parts)

    def _value(self, node: Node) -> object:
        match node:
            case MappingNode(tag="tag:yaml.org,2002:map"):
                self._keys(node)
                return {key.value: self._value(value) for key, value in node.value}
            case SequenceNode(tag="tag:yaml.org,2002:seq"):
                return [self._value(part) for part in node.value]
            case ScalarNode():
                return self._scalar(node)
            case _:
                raise self._mistake(node, f"the tag {node.tag!r:.60} is not read", fix="write plain values")

    def _keys(self, node: MappingNode) -> None:
        seen: dict[str, Node] = {}
        for key, _ in node.value:
            if not isinstance(key, ScalarNode) or key.tag != _CORE + "str":
                raise self._mistake(key, "a key is not text", fix='put it in quotes, as in "1": …')
            if key.value in seen:
                before = seen[key.value].start_mark.line + 1
                raise self._mistake(
                    key, f"the field {key.value!r:.60} is there twice", why=f"it is on line {before} already"
                )
            seen[key.value] = key

    def _scalar(self, node: ScalarNode) -> object:
        try:
            match node.tag.removeprefix(_CORE):
                case "str":
                    return node.value
                case "null":
                    return None
                case "bool":
                    return node.value.lower() == "true"
                case "int":
                    return int(node.value)
                case "float":
                    return Decimal(node.value)
                case _:
                    raise self._mistake(node, f"the tag {node.tag!r:.60} is not read", fix="write plain values")
        except (ValueError, InvalidOperation):
            raise self._mistake(node, f"{node.value[:40]!r} is not a number that can be read") from None

    def _mistake(self, node: Node, what: str, *, why: str = "", fix: str = "") -> UsageError:
        return UsageError(f"{self._path}, line {node.start_mark.line + 1}: {what}", why=why, fix=fix)


def _parts(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []


def _mark_at(node: Node, field: _Path) -> Mark:
    """Where the last part of ``field`` begins that is in the file: its key, or the item of a list."""
    mark = node.start_mark
    for part in field:
        if isinstance(node, MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == part), None)
            if pair is None:
                break
            mark, node = pair[0].start_mark, pair[1]
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            mark = node.start_mark
        else:
            break
    return mark
