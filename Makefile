# Every target works from a bare checkout with Python 3.11+, make and the package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH := .venv-bench
BENCH_STAMP := $(BENCH)/.installed

# Real data sets are found here and nowhere else; tests that need one skip where it is absent.
ifneq ($(wildcard ../shared/data),)
export WALKSTEP_DATA ?= $(abspath ../shared/data)
endif

.PHONY: install demo test test-all bench lint docs lock clean

install: $(STAMP)

$(STAMP): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(BENCH_STAMP): requirements/bench.txt pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/pip install --quiet --disable-pip-version-check --no-deps -r requirements/bench.txt
	$(BENCH)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: install
	$(BIN)/walkstep demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/basedpyright

# Two workers share the processors: threads of their own would wait for each other.
test test-all: export OPENBLAS_NUM_THREADS := 1

test: lint
	$(BIN)/pytest -n 2 --dist loadgroup -q

test-all: lint
	$(BIN)/pytest -n 2 --dist loadgroup -q -m ""

bench: $(BENCH_STAMP)
	$(BENCH)/bin/python -m benchmarks

docs: install
	$(BIN)/python -m benchmarks.plot_move_cost docs/move_cost.svg
	$(BIN)/mkdocs build --strict

# Locks are plain pins for every platform; no registry address is written.
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet uv
	.venv-lock/bin/uv pip compile --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
		--group test --group lint --group docs pyproject.toml requirements/build.in -o requirements/dev.txt
	.venv-lock/bin/uv pip compile --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
		--group bench -c requirements/dev.txt pyproject.toml requirements/build.in -o requirements/bench.txt

clean:
	rm -rf $(VENV) $(BENCH) .venv-lock site
