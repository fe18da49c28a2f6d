"""What is written in several places agrees: action.yml and the code, versions, the generated reference, the README."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import tjbench
from tjbench.action_inputs import INPUTS
from tjbench.cli.reference import reference
from tjbench.config import Config, Policy, parse_config
from tjbench.models.model import Trouble
from tjbench.runner.patience import Patience

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GUIDE = (ROOT / "docs/github-action.md").read_text()


def test_every_input_of_the_action_is_one_the_program_reads() -> None:
    assert set(ACTION["inputs"]) == set(INPUTS)


def test_a_default_in_the_action_is_the_programs_own() -> None:
    written = {name: entry["default"] for name, entry in ACTION["inputs"].items() if "default" in entry}
    written.pop("github-token")
    assert written == {name: INPUTS[name] for name in written}


def test_the_guide_names_every_input_and_output() -> None:
    named = set(re.findall(r"`([a-z-]+)`", GUIDE))
    assert set(ACTION["inputs"]) <= named
    assert set(ACTION["outputs"]) <= named


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert project["version"] == tjbench.__version__ == newest[1]


def test_the_command_reference_is_fresh() -> None:
    assert (ROOT / "docs/cli-reference.md").read_text() == reference(), "run `make docs`"


def test_the_configuration_example_is_valid_and_complete() -> None:
    text = (ROOT / "docs/configuration.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    parse_config(example, "docs/configuration.md")
    everything = re.sub(r"^# (?=\w+ = )", "", example, flags=re.MULTILINE).replace('original = ["', '_ = ["')
    for table in ("proof", "gate", "run", "baseline"):
        model = Config.model_fields[table].annotation
        fields = getattr(model, "model_fields", None) or model.__args__[0].model_fields  # type: ignore[union-attr]
        for name in fields:
            assert re.search(rf"^(# )?{name} = |^_ = ", everything, re.MULTILINE), f"[{table}] {name}"


def test_the_configuration_guide_names_every_policy_that_can_fire() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/configuration.md").read_text(), re.MULTILINE))
    assert rows >= {str(policy) for policy in Policy} - {"unsafe"}


def test_the_guide_to_the_engine_says_how_often_each_trouble_is_asked_again() -> None:
    rows = re.findall(r"^\| (`.+`) \| (?:(\d+) times|once) \|", (ROOT / "docs/engine.md").read_text(), re.MULTILINE)
    said = {name: int(times or 1) for names, times in rows for name in re.findall(r"`(\w+)`", names)}
    asked = {str(trouble): Patience().tries.get(trouble, 1) for trouble in Trouble}
    assert said == {name: times for name, times in asked.items() if name not in {Trouble.BUDGET, Trouble.DEADLINE}}


def test_links_between_documents_lead_somewhere() -> None:
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_readmes_make_targets_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = set(re.findall(r"\bmake ([\w-]+)", (ROOT / "README.md").read_text()))
    assert {"gate", "test"} <= used <= targets
