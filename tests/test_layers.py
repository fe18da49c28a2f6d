"""Imports run one way: the table in docs/architecture.md is the law, and every import is held to it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tjbench"


def layer_table() -> dict[str, int]:
    """Each module or subpackage of tjbench with the number of its layer, from the architecture document."""
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    return {name: int(number) for number, names in rows for name in re.findall(r"`(\w+)`", names)}


def part_of(module: str) -> str | None:
    """`tjbench.compare.stats` is part of `compare`; the bare package belongs to none."""
    parts = module.split(".")
    return parts[1] if parts[0] == "tjbench" and len(parts) > 1 else None


def imported_modules(path: Path) -> set[str]:
    """Every `tjbench` module that a file imports anywhere, lazily or for types only."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "tjbench" else set()
            found |= names or {node.module}
    return {name for name in found if name.startswith("tjbench.") and name != "tjbench.__version__"}


def files_and_parts() -> list[tuple[Path, str]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        if relative.parts != ("__init__.py",):
            found.append((path, relative.parts[0].removesuffix(".py")))
    return found


def test_every_part_has_a_layer_and_every_layer_exists() -> None:
    assert set(layer_table()) == {part for _, part in files_and_parts()}


def test_no_import_runs_up_or_sideways() -> None:
    layers = layer_table()
    wrong = [
        f"{path.relative_to(ROOT)} ({part}, layer {layers[part]}) imports {module} (layer {layers[target]})"
        for path, part in files_and_parts()
        for module in sorted(imported_modules(path))
        if (target := part_of(module)) is not None and target != part and layers[target] >= layers[part]
    ]
    assert wrong == []


def test_hosting_code_knows_nothing_of_the_product() -> None:
    for path, part in files_and_parts():
        if part == "github":
            assert {part_of(m) for m in imported_modules(path)} <= {"github", "errors"}, path


def test_comparison_and_report_touch_no_file_process_or_network() -> None:
    worldly = {"subprocess", "socket", "os", "pathlib", "tempfile", "httpx", "requests", "urllib.request", "shutil"}
    for path, part in files_and_parts():
        if part in {"compare", "report"}:
            tree = ast.parse(path.read_text())
            names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            assert not names & worldly, path
