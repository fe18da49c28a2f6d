"""The hub's rows: what is asked of ``datasets``, really loaded from a local repository, and refused offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tjbench.errors import ExitCode, UsageError
from tjbench.suites import gsm8k

ROW = {"question": "What is 6 x 7?", "answer": "#### 42"}
CARD = """---
configs:
- config_name: main
  data_files:
  - split: test
    path: main/test.jsonl
  - split: train
    path: main/train.jsonl
---
"""


class FakeDatasets(ModuleType):
    """Stands in for ``datasets`` and keeps what it was asked."""

    def __init__(self, found: list[dict[str, str]] | Exception) -> None:
        super().__init__("datasets")
        self.exceptions = SimpleNamespace(DatasetsError=LookupError)
        self.asked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.environ: dict[str, str] = {}
        self._found = found

    def load_dataset(self, *args: Any, **options: Any) -> list[dict[str, str]]:
        self.asked.append((args, options))
        self.environ = dict(os.environ)
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeDatasets:
    module = FakeDatasets([ROW])
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def test_the_hub_is_asked_for_one_commit_without_a_token(fake: FakeDatasets) -> None:
    suite = gsm8k.load()
    assert [task.id for task in suite.tasks] == ["gsm8k/0"]
    ((args, options),) = fake.asked
    assert args == ("openai/gsm8k", "main")
    assert options == {"split": "test", "revision": gsm8k.SOURCE.revision, "token": False}
    assert len(gsm8k.SOURCE.revision) == 40
    assert int(gsm8k.SOURCE.revision, 16)


def test_telemetry_is_off_for_the_call_and_the_environment_is_as_before(
    fake: FakeDatasets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "0")
    monkeypatch.delenv("HF_HUB_DISABLE_TELEMETRY", raising=False)
    before = dict(os.environ)
    gsm8k.load()
    assert {fake.environ[name] for name in ("HF_HUB_DISABLE_TELEMETRY", "DISABLE_TELEMETRY", "DO_NOT_TRACK")} == {"1"}
    assert dict(os.environ) == before


def test_a_local_file_asks_nobody(fake: FakeDatasets, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "q", "answer": "#### 1"}')
    gsm8k.load(tmp_path / "rows.jsonl")
    assert fake.asked == []


@pytest.mark.parametrize("error", [ConnectionError("no route"), ValueError("no such config"), LookupError("gone")])
def test_offline_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setitem(sys.modules, "datasets", FakeDatasets(error))
    with pytest.raises(UsageError) as caught:
        gsm8k.load()
    assert caught.value.exit_code is ExitCode.USAGE
    for words in (str(error), "--data FILE", "TJBENCH_DATA_DIR", "gsm8k.jsonl.gz", "740312add88f"):
        assert words in str(caught.value)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match=r'pip install "tokenjam-bench\[datasets\]"'):
        gsm8k.load()


def test_a_bad_row_of_the_hub_is_named_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", FakeDatasets([ROW, {"question": "q", "answer": "none"}]))
    with pytest.raises(UsageError, match=r"openai/gsm8k/main, test, at 740312add88f, line 2: answer: must end with"):
        gsm8k.load()


def test_the_real_library_reads_a_repository_on_disk(tmp_path: Path) -> None:
    """In a process of its own: the library reads its environment once, and starts threads."""
    repository = tmp_path / "repository"
    (repository / "main").mkdir(parents=True)
    (repository / "README.md").write_text(CARD)
    (repository / "main" / "test.jsonl").write_text('{"question": "What is 6 x 7?", "answer": "#### 42"}\n' * 3)
    (repository / "main" / "train.jsonl").write_text('{"question": "another", "answer": "#### 1"}\n')
    source = replace(gsm8k.SOURCE, repository=str(repository))
    program = (
        "import json, sys\n"
        "from tjbench.suites import hub\n"
        f"rows = list(hub.rows('gsm8k', hub.{source!r}, None))\n"
        "import huggingface_hub.constants as constants\n"
        "print(json.dumps([[row.value for row in rows], constants.HF_HUB_DISABLE_TELEMETRY]))\n"
    )
    environ = {**os.environ, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environ, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[ROW, ROW, ROW], True]
    assert done.stderr == ""
