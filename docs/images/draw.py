"""Draws pr-comment.png: `make gate REGRESSED=1`'s comment as a pull request shows it. Needs chromium and the dev extra.

.venv/bin/tjb ci --config docs/examples/regressed.toml --baseline path:results/baseline --markdown /tmp/comment.md
.venv/bin/python docs/images/draw.py /tmp/comment.md docs/images/pr-comment.png
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 16px; background: #fff; color: #1f2328; width: 980px;
  font: 14px/1.5 "DejaVu Sans", sans-serif }}
.box {{ border: 1px solid #d1d9e0; border-radius: 6px }}
.who {{ background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e }}
.who b {{ color: #1f2328 }} .text {{ padding: 8px 16px }}
table {{ border-collapse: collapse; font-size: 12.5px }} th, td {{ border: 1px solid #d1d9e0; padding: 5px 9px }}
code {{ background: #eff1f3; border-radius: 5px; padding: .15em .35em; font: 12px "DejaVu Sans Mono", monospace }}
blockquote {{ margin: 0; padding: 0 1em; color: #59636e; border-left: .25em solid #d1d9e0 }}
</style>
<div class="box"><div class="who"><b>github-actions</b> bot commented</div><div class="text">{body}</div></div>"""


def main(source: Path, target: Path) -> None:
    """Render the Markdown of a comment and take its picture."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(source.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "comment.html"
        page.write_text(PAGE.format(body=html), encoding="utf-8")
        quiet = [
            "--disable-quic",
            "--disable-background-networking",
            "--hide-scrollbars",
            f"--user-data-dir={scratch}/p",
        ]
        size = ["--window-size=1020,830", "--force-device-scale-factor=1.5"]
        command = ["chromium", "--headless", "--no-sandbox", *quiet, *size, f"--screenshot={target}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=60)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).resolve())
