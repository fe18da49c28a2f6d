"""The local git repository as a source of baselines, for a laptop or a full clone."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tjbench.errors import IncompleteError, UsageError
from tjbench.github.baseline import is_artifact, path_parts

_TIMEOUT_S = 60
# The repository's own configuration is not ours: nothing of it may run a program, reach the network or swap an object.
# safe.directory: in a container the workspace belongs to another user (https://github.com/actions/runner/issues/2033).
_SETTINGS = ("safe.directory=*", f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "protocol.allow=never")
_ENVIRONMENT = {
    "HOME": os.devnull,
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A git repository on disk, read through plumbing commands; ``path`` is the PATH that git is found on.

    A branch name is resolved as git does: a local branch first, then the remotes', ``origin`` before the others.
    """

    root: Path
    path: str | None = None

    def head(self) -> str | None:
        """The commit that is checked out; None without a repository, a first commit, or git."""
        if shutil.which("git", path=self.path) is None:
            return None
        answer = self._run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return answer.stdout.decode().strip() if answer.returncode == 0 else None

    def branches(self) -> list[tuple[str, str]]:
        listing = self._read("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes")
        found: dict[str, tuple[tuple[int, str], str]] = {}
        for line in listing.decode().splitlines():
            sha, _, ref = line.partition(" ")
            name, rank = _branch_name(ref)
            if name != "HEAD" and (name not in found or rank < found[name][0]):
                found[name] = (rank, sha)
        return sorted((name, sha) for name, (_, sha) in found.items())

    def resolve(self, ref: str) -> str:
        answer = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if answer.returncode != 0:
            heads = dict(self.branches())
            if ref in heads:
                return heads[ref]
            raise UsageError(
                f"commit {ref!r} is not in the repository {self.root}",
                why="it does not exist, or the clone is shallow",
                fix="fetch it: `git fetch --unshallow`, or `fetch-depth: 0` in actions/checkout",
            )
        return answer.stdout.decode().strip()

    def files(self, sha: str, directory: str) -> dict[str, bytes]:
        parts = path_parts(directory)
        wanted = {path: oid for path, oid in self._list(sha, parts).items() if is_artifact(path.rpartition("/")[2])}
        return dict(zip(wanted, self._blobs(list(wanted.values())), strict=True))

    def file(self, sha: str, path: str) -> bytes | None:
        *parents, _ = parts = path_parts(path)
        oid = self._list(sha, tuple(parents)).get("/".join(parts))
        return self._blobs([oid])[0] if oid else None

    def brings(self, directory: Path) -> str:
        """Why a commit may have put files into ``directory``, which lies in this checkout or anywhere else; empty where
        none can. Raises ``UsageError`` without git."""
        root = self.root.resolve()
        if link := _link_inside(root, self.root.absolute() / directory):
            return f"passes the symbolic link {link}"
        place = (self.root / directory).resolve()
        if not place.is_relative_to(root):
            return ""
        within = [step for step in (place, *place.parents) if step.is_relative_to(root) and step != root]
        if nested := next((step for step in within if os.path.lexists(step / ".git")), None):
            return f"lies in a git repository of its own, {nested.relative_to(root)}"
        top = within[-1].relative_to(root) if within else "."
        answer = self._run("ls-files", "--stage", "-z", "--", f":(literal,icase){top}")
        if answer.returncode != 0:
            return f"may be tracked by git, which cannot say: {answer.stderr.decode(errors='replace').strip()}"
        wanted = os.fsencode(place.relative_to(root)).lower()
        for entry in filter(None, answer.stdout.split(b"\0")):
            meta, _, name = entry.partition(b"\t")
            name = name.lower()  # a file system may not tell A from a
            if wanted.startswith(name + b"/"):
                return f"lies in a {'submodule' if meta.startswith(b'160000') else 'file'} that is tracked by git"
            if wanted in {b".", name} or name.startswith(wanted + b"/"):
                return "is tracked by git"
        return ""

    def _list(self, sha: str, directory: tuple[str, ...]) -> dict[str, str]:
        """Regular files directly in ``directory``: path to object id. Links and submodules are left out."""
        within = ["/".join(directory) + "/"] if directory else []
        listing = self._read("ls-tree", "-z", "--full-tree", sha, "--", *within)
        entries = {}
        for entry in filter(None, listing.decode(errors="surrogateescape").split("\0")):
            meta, _, path = entry.partition("\t")
            mode, _, oid = meta.split(" ")
            if mode.startswith("100"):
                entries[path] = oid
        return entries

    def _blobs(self, oids: list[str]) -> list[bytes]:
        if not oids:
            return []
        output = self._read("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in oids).encode())
        blobs, at = [], 0
        for oid in oids:
            end = output.index(b"\n", at)
            header = output[at:end].split()
            if len(header) != 3:
                raise IncompleteError(
                    f"object {oid} is missing in {self.root}",
                    why="the clone is partial or damaged",
                    fix="clone again, without --filter",
                )
            size = int(header[2])
            blobs.append(output[end + 1 : end + 1 + size])
            at = end + 1 + size + 1
        return blobs

    def _read(self, *arguments: str, stdin: bytes = b"") -> bytes:
        answer = self._run(*arguments, stdin=stdin)
        if answer.returncode == 0:
            return answer.stdout
        why = answer.stderr.decode(errors="replace").strip()
        if "not a git repository" in why:
            raise UsageError(
                f"{self.root} is not a git repository",
                why="a baseline branch or commit is read from one",
                fix="run inside a clone, or use `baseline: path:DIR`",
            )
        raise IncompleteError(f"git {arguments[0]} failed in {self.root}", why=why, fix="check it with `git fsck`")

    def _run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        git = shutil.which("git", path=self.path)
        if git is None:
            raise UsageError("git is not installed", why="a baseline branch is read with it", fix="install git")
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        command = [git, *settings, "--no-pager", *arguments]
        env = {**_ENVIRONMENT, "PATH": self.path or os.environ.get("PATH", os.defpath)}
        try:
            return subprocess.run(
                command, cwd=self.root, env=env, input=stdin, capture_output=True, timeout=_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise IncompleteError(f"git {arguments[0]} took more than {_TIMEOUT_S} s", fix="try again") from error
        except OSError as error:
            raise UsageError(f"{self.root} cannot be read", why=str(error), fix="name an existing directory") from error


def _branch_name(ref: str) -> tuple[str, tuple[int, str]]:
    """The branch of a full ref name, and its rank among refs for the same branch."""
    if ref.startswith("refs/heads/"):
        return ref.removeprefix("refs/heads/"), (0, "")
    remote, _, name = ref.removeprefix("refs/remotes/").partition("/")
    return name, (1 if remote == "origin" else 2, remote)


def _link_inside(root: Path, path: Path) -> Path | None:
    """The first symbolic link inside ``root`` that ``path`` passes, followed step by step as the system does."""
    here = Path(path.anchor)
    for part in path.parts[1:]:
        here = here.parent if part == ".." else here / part
        if here.is_symlink():
            if here.parent.resolve().is_relative_to(root):
                return here
            here = here.resolve()
    return None
