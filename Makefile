# Everything runs from a virtual environment that the first target makes: only python3 (3.11+) and make are needed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
OUT    ?= reproduced
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

.PHONY: help demo docs test test-slow test-data test-stores lint format bench bench-scale bench-stores house reproduce render clean
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[fast,report,plot]"
	@touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo ## Match a table with an enciphered one; name digits that nobody labelled: controls, verdicts, pictures
	$(BIN)/python examples/enciphered.py
	$(BIN)/python examples/digits_demo.py

.venv-docs/.docs: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@

docs: .venv-docs/.docs ## The site in build/docs: warnings are errors, all links inside of it are checked
	.venv-docs/bin/python -m sphinx -W --keep-going -j $(JOBS) -q -b html -c docs/_site docs build/docs
	.venv-docs/bin/python docs/_site/check.py build/docs

lint: $(VENV)/.dev ## Format, lint, types (strict) and import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint ## Lint, then the fast tests and all doctests; needs no data
	ISTHMUS_DATA= $(PYTEST) -m "not slow and not data and not stores"

test-slow: $(VENV)/.dev ## The slow tests; need no data
	ISTHMUS_DATA= $(PYTEST) -m "slow and not data and not stores" tests

test-data: $(VENV)/.dev ## The tests on real data: make test-data ISTHMUS_DATA=FOLDER
	@test -d "$(ISTHMUS_DATA)" || { echo "make test-data: ISTHMUS_DATA names no folder; give the folder that" \
	  "docs/datasets.md describes, as in: make test-data ISTHMUS_DATA=FOLDER." >&2; exit 1; }
	ISTHMUS_DATA="$(ISTHMUS_DATA)" $(PYTEST) -m data tests

.venv-stores/.done: pyproject.toml
	$(PYTHON) -m venv .venv-stores
	.venv-stores/bin/python -m pip install --quiet --disable-pip-version-check \
	  -e ".[tables,faiss,parquet,lancedb,chroma,qdrant,pgvector,langchain,llamaindex]" pytest pytest-xdist hypothesis pgserver
	@touch $@

test-stores: .venv-stores/.done ## The tests of vector stores and frameworks, in an environment of their own
	.venv-stores/bin/python -m pytest -n $(JOBS) --dist worksteal -W default -m stores tests/stores

format: $(VENV)/.dev ## Format the code with ruff
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev ## Speed and memory, beside metric-learn in an environment of its own
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.maps
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.thread_calls

bench-scale: $(VENV)/.dev ## From a hundred rows to a million: growth, memory, users' shapes, landmarks (resumable)
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.target_rows
	$(BIN)/python -m benchmarks.systems_scale
	$(BIN)/python -m benchmarks.shapes
	$(BIN)/python -m benchmarks.landmarks
	$(BIN)/python -m benchmarks.linkage

bench-stores: .venv-stores/.done ## A million rows of LanceDB under a new model, beside the client's own copies
	.venv-stores/bin/python -m benchmarks.store_rows

house: $(VENV)/.dev ## The shape of the source: files, code lines, functions, and the modules that a job enters
	$(BIN)/python -m benchmarks.house

reproduce: $(VENV)/.demo ## The paper's tables and figures anew: make reproduce ISTHMUS_DATA=FOLDER
	$(BIN)/python -m studies.paper all $(if $(ISTHMUS_DATA),--data "$(ISTHMUS_DATA)") --out $(OUT) --jobs $(JOBS) \
	  --variants whole,held-out --report $(OUT)/reproduction.md
	@for name in toy table1 table2; do \
	  cmp -s $(OUT)/$$name.txt results/$$name.txt && echo "$$name: as in results/" || echo "$$name: not as in results/"; done

render: $(VENV)/.demo ## Tables and figures once more from the committed records, compared with results/; runs nothing
	$(BIN)/python -m studies.paper all --records results --out rendered > /dev/null
	@for file in $$(cd results && ls *.txt *.md *.tex *.png *.svg); do \
	  cmp -s rendered/$$file results/$$file && echo "$$file: as in results/" || echo "$$file: NOT as in results/"; done

clean: ## Remove environments and caches
	rm -rf $(VENV) .venv-docs .venv-metric-learn .venv-stores docs/auto .pytest_cache .mypy_cache .ruff_cache .hypothesis build \
	  dist demo-output reproduced \
	  rendered systems-runs defaults-runs
	find src studies tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
