"""Real data that is not part of the repository: where it lies, or a skip that says what is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def shared(name: str) -> Path:
    """The file or directory ``name`` in ``$TJBENCH_SHARED_DATA``, else in ``../shared/data`` beside the repository."""
    path = Path(os.environ.get("TJBENCH_SHARED_DATA", ROOT.parent / "shared" / "data")) / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path
