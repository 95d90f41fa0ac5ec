# make run · make test · make lint · make bench · make bench-peers · make faults · make fuzz · make
# shots: each sets up all that it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard native/fts5_cjk/*.c native/fts5_cjk/*.h) native/fts5_cjk/CMakeLists.txt
READY := $(VENV)/.ready
LAYOUT := $(VENV)/.layout
PEERS := build/peers

.PHONY: run test test-long lint format bench bench-peers faults fuzz shots clean FORCE

run: $(READY)
	@$(BIN)/backscroll $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest -m "not long and not bench" -n 2 --dist loadfile $(ARGS)

test-long: $(READY)
	$(BIN)/python -m pytest -m "long" --timeout 3600 $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m tests.bench.run $(ARGS)

# Another program's store, to be asked the questions of the benches: in an environment of its own,
# without what else that program needs, and never in ours.
bench-peers:
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps hermes-agent==0.19.0
	@$(PEERS)/bin/python -c "import hermes_state"

faults: $(READY)
	$(BIN)/python -m tests.faults.run $(ARGS)

fuzz: $(READY)
	native/fts5_cjk/fuzz/run.sh $(or $(SECONDS),60)

shots: $(READY)
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m tests.shots build/shots

# The virtual environment, with the program in it as an editable install and the tokenizer built.
$(READY): pyproject.toml $(NATIVE) $(LAYOUT) packaging/preflight.py
	@$(PYTHON) packaging/preflight.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (a few minutes the first time) ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@$(BIN)/python packaging/preflight.py --installed
	@touch $@

# An editable install knows each module by its place: one that moved needs it done again.
$(LAYOUT): FORCE
	@mkdir -p $(VENV)
	@find core app -name '*.py' | LC_ALL=C sort > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

clean:
	rm -rf $(VENV) build
