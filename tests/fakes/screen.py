"""A terminal of which one sees what a person would: a pseudo-terminal read by a terminal emulator."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
import threading
from types import TracebackType
from typing import TextIO

import pyte


class Screen:
    """``stream`` writes to it and ``fd`` is its end for a process; ``lines`` is what stands on it. The width of a
    process' terminal is its own; in this process rich asks ``COLUMNS``."""

    def __init__(self, columns: int, rows: int = 40) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._feed = pyte.ByteStream(self._screen)
        self._master, self.fd = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.stream: TextIO = os.fdopen(os.dup(self.fd), "w", encoding="utf-8")
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the writing here; what was written is read to its end."""
        if self.fd >= 0:
            self.stream.close()
            os.close(self.fd)
            self.fd = -1
            self._reader.join(30)
            os.close(self._master)

    @property
    def lines(self) -> list[str]:
        """The lines that are not empty, from the top."""
        with self._lock:
            return [line.rstrip() for line in self._screen.display if line.strip()]

    @property
    def cursor_is_shown(self) -> bool:
        with self._lock:
            return not self._screen.cursor.hidden

    @property
    def cursor_column(self) -> int:
        with self._lock:
            return int(self._screen.cursor.x)

    def _read(self) -> None:
        while True:
            try:
                written = os.read(self._master, 65536)
            except OSError:  # all who write have closed it
                return
            if not written:
                return
            with self._lock:
                self._feed.feed(written)
