"""Git objects behind the fake GitHub server: from a repository on disk, or made up in memory."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a tree object."""

    mode: str
    type: str
    sha: str
    name: str


class Source(Protocol):
    """What the server needs of a repository. Unknown objects are None."""

    def branches(self) -> dict[str, str]: ...

    def commit(self, ref: str) -> tuple[str, str] | None:
        """The (commit SHA, tree SHA) of a SHA, branch or tag."""
        ...

    def tree(self, sha: str) -> list[Entry] | None: ...

    def blob(self, sha: str) -> bytes | None: ...


class MemoryRepo:
    """Branches as ``{name: {path: content}}``; a ``str`` content is a symbolic link's target."""

    def __init__(self, branches: dict[str, dict[str, bytes | str]] | None = None) -> None:
        self._blobs: dict[str, bytes] = {}
        self._trees: dict[str, list[Entry]] = {}
        self._commits: dict[str, str] = {}
        self._branches: dict[str, str] = {}
        for name, files in (branches or {}).items():
            self.commit_to(name, files)

    def commit_to(self, branch: str, files: dict[str, bytes | str]) -> str:
        """Point ``branch`` at a new commit that holds exactly ``files``."""
        tree = self._write_tree(files)
        sha = _sha(b"commit", f"{branch} {tree} {len(self._commits)}".encode())
        self._commits[sha] = tree
        self._branches[branch] = sha
        return sha

    def branches(self) -> dict[str, str]:
        return dict(sorted(self._branches.items()))

    def commit(self, ref: str) -> tuple[str, str] | None:
        sha = self._branches.get(ref.removeprefix("heads/"), ref)
        full = next((known for known in self._commits if len(sha) >= 7 and known.startswith(sha)), None)
        return (full, self._commits[full]) if full else None

    def tree(self, sha: str) -> list[Entry] | None:
        return self._trees.get(sha)

    def blob(self, sha: str) -> bytes | None:
        return self._blobs.get(sha)

    def _write_tree(self, files: dict[str, bytes | str]) -> str:
        below: dict[str, dict[str, bytes | str]] = {}
        entries = []
        for path, content in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                below.setdefault(first, {})[rest] = content
                continue
            data = content.encode() if isinstance(content, str) else content
            sha = _sha(b"blob", data)
            self._blobs[sha] = data
            mode = "120000" if isinstance(content, str) else "100644"
            entries.append(Entry(mode=mode, type="blob", sha=sha, name=first))
        for name, inner in below.items():
            entries.append(Entry(mode="040000", type="tree", sha=self._write_tree(inner), name=name))
        entries.sort(key=lambda entry: entry.name)
        raw = b"".join(f"{e.mode} {e.name}\0".encode() + bytes.fromhex(e.sha) for e in entries)
        sha = _sha(b"tree", raw)
        self._trees[sha] = entries
        return sha


@dataclass(frozen=True, slots=True)
class GitRepo:
    """A git repository on disk, read anew for every request."""

    root: Path

    def branches(self) -> dict[str, str]:
        listing = self._git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads") or b""
        lines = (line.split(" ") for line in listing.decode().splitlines())
        return {ref.removeprefix("refs/heads/"): sha for ref, sha in lines}

    def commit(self, ref: str) -> tuple[str, str] | None:
        spec = f"{ref}^{{commit}}"
        found = self._git("log", "-1", "--format=%H %T", "--end-of-options", spec, "--")
        sha, _, tree = (found or b"").decode().strip().partition(" ")
        return (sha, tree) if sha else None

    def tree(self, sha: str) -> list[Entry] | None:
        listing = self._git("ls-tree", "-z", "--full-tree", sha)
        if listing is None:
            return None
        entries = []
        for line in filter(None, listing.decode().split("\0")):
            meta, _, name = line.partition("\t")
            mode, kind, oid = meta.split(" ")
            entries.append(Entry(mode=mode, type=kind, sha=oid, name=name))
        return entries

    def blob(self, sha: str) -> bytes | None:
        return self._git("cat-file", "blob", sha)

    def _git(self, *arguments: str) -> bytes | None:
        answer = subprocess.run(
            ["git", "-c", "safe.directory=*", *arguments], cwd=self.root, capture_output=True, check=False, timeout=30
        )
        return answer.stdout if answer.returncode == 0 else None


def _sha(kind: bytes, data: bytes) -> str:
    """git's object id: https://git-scm.com/book/en/v2/Git-Internals-Git-Objects."""
    return hashlib.sha1(kind + b" %d\0" % len(data) + data).hexdigest()
