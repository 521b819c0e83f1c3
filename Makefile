# `make demo`, `make check` and `make test` need Python >= 3.11 and make; they build .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test check quick coverage lint style types bench lock clean

demo: $(READY)
	@$(BIN)/hydraviper distill cooperative-navigation --budget low --seed 0
	@echo; echo "One of the three trees:"; echo
	@$(BIN)/hydraviper show runs/latest --agent agent-0

test: lint
	$(BIN)/python -m pytest

# All tests again, and how many of the package's branches they take. Apart from `test`, as it costs 40 % more time.
coverage: $(READY)
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered

# While you work: style, types and the quick tests, side by side on two cores, in less than a minute.
check: $(READY)
	@$(MAKE) --no-print-directory -j2 types quick style

quick: $(READY)
	$(BIN)/python -m pytest -m "not slow"

lint: style types

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/basedpyright

bench: $(READY)
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.traffic

# Pins every package of every extra by hash, without any registry's address.
lock:
	$(BIN)/uv pip compile -q pyproject.toml --all-extras --generate-hashes --no-header --universal --python-version 3.11 -o requirements.lock

# Installs by the lock, then compiles the kernels once so that the first run is as quick as the next.
$(READY): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@echo "Installing the pinned packages into .venv ..."
	@VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock
	@VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/uv pip install --quiet --no-deps -e .
	@echo "Compiling the kernels (once) ..."
	@$(BIN)/python -m hydraviper.warmup
	@touch $@

clean:
	rm -rf .venv runs
