# `make demo`, `make check` and `make test` need Python >= 3.11 and make; they build .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Torch, Stable-Baselines3, RLlib and Minari have an environment of their own. TORCH=... chooses another build of torch.
EXPERTS := .venv-experts
TORCH ?= torch==2.13.0
LOCKED := games train traffic verify export studies studio onnx ray docs dev

READY_RUN := runs/studio-example

.PHONY: demo studio test check quick coverage lint style types bench lock clean test-experts test-wheel docs

demo: $(READY)
	@$(BIN)/hydraviper distill cooperative-navigation --budget low --seed 0
	@echo; echo "One of the three trees:"; echo
	@$(BIN)/hydraviper show runs/latest --agent agent-0

# The web page, on the runs that are there and an example.
studio: $(READY) | $(READY_RUN)
	@$(BIN)/hydraviper studio runs

$(READY_RUN): | $(READY)
	@$(BIN)/hydraviper distill cooperative-navigation --budget low --seed 0 --out $@

test: lint
	$(BIN)/python -m pytest

# Experts of other frameworks: their tests, and every example in examples/experts. Minutes, and gigabytes to install.
test-experts: $(EXPERTS)/.ready
	$(EXPERTS)/bin/python -m pytest tests/experts tests/test_expert_examples.py -rs

# `make example-sb3` (torch, onnx, rllib, function, rollouts) trains a small policy and distils it into a report.
example-%: $(EXPERTS)/.ready
	$(EXPERTS)/bin/python examples/experts/from_$*.py

# The site: tutorials, commands, the API, the field's words. Needs nothing from the network.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

# Builds the wheel and tries it in empty environments, with each light extra on its own. EXTRAS="sb3 rllib" tries others.
EXTRAS ?=
test-wheel:
	@test -x $(BIN)/uv || $(MAKE) --no-print-directory $(READY)
	$(BIN)/python tests/wheel.py --uv $(BIN)/uv $(EXTRAS)

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

# Pins every package of every extra but the heavy ones by hash, without any registry's address.
lock:
	$(BIN)/uv pip compile -q pyproject.toml $(LOCKED:%=--extra %) --generate-hashes --no-header --universal --python-version 3.11 -o requirements.lock

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

# By pip, which finds a CPU build of torch where one lies; uv would take the one with CUDA.
$(EXPERTS)/.ready: pyproject.toml
	@test -x $(EXPERTS)/bin/python || $(PYTHON) -m venv $(EXPERTS)
	@echo "Installing torch and other people's frameworks into $(EXPERTS) ..."
	@$(EXPERTS)/bin/pip install --quiet --disable-pip-version-check "$(TORCH)"
	@$(EXPERTS)/bin/pip install --quiet --disable-pip-version-check -e ".[games,sb3,torch,onnx,rllib,minari,train,traffic]" \
		onnx onnxscript pytest hypothesis
	@touch $@

clean:
	rm -rf .venv $(EXPERTS) runs site
