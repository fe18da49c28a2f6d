"""Environments and packages made on the spot: an interpreter with a tokenjam of our making, wheels and an index."""

from __future__ import annotations

import io
import threading
import venv
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def make_venv(directory: Path) -> Path:
    """An empty environment; returns its Python."""
    venv.create(directory, with_pip=False, symlinks=True)
    return directory / "bin" / "python"


def add_package(python: Path, files: Mapping[str, str], *, name: str = "tokenjam", version: str = "9.1.0") -> None:
    """Put modules (path to source) and their metadata where ``python`` finds them."""
    site = next(python.parent.parent.glob("lib/python*/site-packages"))
    info = f"{name}-{version}.dist-info"
    metadata = {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}
    record = "".join(f"{path},,\n" for path in [*files, *metadata, f"{info}/RECORD"])
    for path, source in {**files, **metadata, f"{info}/RECORD": record}.items():
        place = site / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(source, encoding="utf-8")


def wheel(version: str, files: Mapping[str, str] | None = None) -> bytes:
    """A pure wheel of tokenjam."""
    info = f"tokenjam-{version}.dist-info"
    contents = {
        "tokenjam/__init__.py": "",
        **(files or {}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tokenjam\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*contents, f"{info}/RECORD"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in {**contents, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return buffer.getvalue()


@dataclass
class Index:
    """A package index on loopback that has only tokenjam. ``status`` other than 200 is its answer to everything."""

    files: dict[str, bytes] = field(default_factory=dict)
    yanked: set[str] = field(default_factory=set)
    status: int = 200
    requests: list[str] = field(default_factory=list)
    url: str = ""

    def add_wheel(self, version: str, files: Mapping[str, str] | None = None, *, yanked: bool = False) -> None:
        name = f"tokenjam-{version}-py3-none-any.whl"
        self.files[name] = wheel(version, files)
        if yanked:
            self.yanked.add(name)

    def answer(self, path: str) -> tuple[int, bytes]:
        self.requests.append(path)
        name = path.rsplit("/", 1)[-1]
        if self.status != 200:
            return self.status, b""
        if path == "/simple/tokenjam/" and self.files:
            return 200, "".join(map(self._link, self.files)).encode()
        return (200, self.files[name]) if name in self.files else (404, b"")

    def _link(self, name: str) -> str:
        mark = ' data-yanked="broken"' if name in self.yanked else ""
        return f'<a href="/files/{name}"{mark}>{name}</a>\n'


@contextmanager
def serve_index() -> Iterator[Index]:
    """A running index; ``url`` is what a workflow would set as its index."""
    index = Index()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = index.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.send_error(405)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        index.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield index
        finally:
            server.shutdown()
            thread.join()
