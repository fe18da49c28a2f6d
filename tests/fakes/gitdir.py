"""Real git repositories for tests, untouched by the machine's own git configuration."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]


def git(root: Path, *arguments: str) -> str:
    """Run git in ``root`` and return what it prints."""
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    answer = subprocess.run(["git", *IDENTITY, *arguments], cwd=root, env=env, capture_output=True, check=True)
    return answer.stdout.decode().strip()


def commit(root: Path, files: dict[str, bytes], message: str = "x") -> str:
    """Write ``files``, commit all, and return the commit's SHA."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD")
