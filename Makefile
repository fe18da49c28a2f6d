# make gate    sets everything up in .venv and runs the gate offline on the built-in suite
# make test    sets everything up in .venv and runs the tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto

.PHONY: gate test check docs update-tokenjam baseline wheel clean
.DELETE_ON_ERROR:

# uv installs in seconds what pip installs in a minute; pip brings it.
$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.gate: pyproject.toml $(BIN)/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml $(BIN)/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[providers,datasets,action,dev]'
	@touch $@ $(VENV)/.gate

# REGRESSED=1 runs it with a candidate that got worse: the table is red, tjb ci exits 1, and so make fails.
gate: $(VENV)/.gate
	@$(BIN)/tjb ci --mock $(if $(REGRESSED),--config docs/examples/regressed.toml) --baseline path:results/baseline; \
	code=$$?; echo; echo "tjb ci exited $$code"; exit $$code

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses $(WORKERS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --quiet tests/test_layers.py tests/test_documents.py
	$(BIN)/zizmor --offline --quiet --no-progress .github action.yml
	@if command -v actionlint >/dev/null; then actionlint; else echo "actionlint is not installed: skipped"; fi

# Writes what is generated: tests/test_documents.py fails while it is stale.
docs: $(VENV)/.dev
	$(BIN)/python -m tjbench.cli.reference > docs/cli-reference.md

update-tokenjam: $(BIN)/uv $(VENV)/.gate
	$(BIN)/uv pip install --quiet --python $(BIN)/python --upgrade tokenjam
	$(BIN)/tjb version

# The demonstration's baseline; run it when the suite, its checks or the scorer change.
baseline: $(VENV)/.gate
	rm -f results/baseline/tjbench_*.json
	$(BIN)/tjb run --mock --out results/baseline
	rm -f results/baseline/*.transcripts.jsonl.gz

wheel: $(BIN)/uv
	$(BIN)/uv build --quiet --wheel --out-dir dist

clean:
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
