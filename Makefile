# The few commands of this project; README.md and CONTRIBUTING.md explain them.
#   make run [ARGS="--data-dir DIR"]   install what is missing, start the daemon
#   make test                          lint, then the whole suite (under 15 minutes on 2 cores)
#   make bench-kernels | bench-filtered | bench-guard | bench-history | bench-load | bench-peers |
#     bench-startup | bench-embedding | bench-quality | bench-consolidate | bench-collections |
#     bench-transfer [ARGS="..."]
#   make lint | format | proto | soak | clean

VENV := .venv
BIN := $(VENV)/bin
CODE := core server clients tests bench proto
# The first interpreter that is new enough; PYTHON=... chooses another.
PYTHON ?= $(shell for one in python3 python3.13 python3.12 python3.11; do \
	$$one -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$one && break; done)

.PHONY: run test lint format proto soak clean

run: $(VENV)/.server
	@exec $(BIN)/totonoe serve $(ARGS)

test: lint
	$(BIN)/python -m pytest -m "not soak"

lint: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy core/totonoe_core server/totonoe_server clients/totonoe
	$(BIN)/python proto/generate.py --check

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

proto: $(VENV)/.dev
	$(BIN)/python proto/generate.py

soak: $(VENV)/.dev
	$(BIN)/python -m pytest -m soak --timeout 3600

# Each ends within 10 minutes and writes bench/results/NAME.jsonl; docs/performance.md explains them.
BENCHES := bench-kernels bench-filtered bench-guard bench-history bench-load bench-peers \
	bench-startup bench-embedding bench-quality bench-consolidate bench-collections bench-transfer
.PHONY: $(BENCHES)
$(BENCHES): bench-%: $(VENV)/.server
	$(BIN)/python -m bench.$* $(ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache

# -- Installing. A missing prerequisite is said in one line, before anything is made.

$(VENV)/.server: pyproject.toml
	@$(call prerequisites)
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[server]'
	@touch $@

$(VENV)/.dev: pyproject.toml
	@$(call prerequisites)
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[server,dev]'
	@touch $@ $(VENV)/.server

define prerequisites
	test -n "$(PYTHON)" || { echo "totonoe needs Python 3.11 or newer, found $$(python3 --version 2>&1): install the package python3.11 or newer, or call make PYTHON=/path/to/python" >&2; exit 1; }; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "totonoe needs Python's venv module: install the package python3-venv" >&2; exit 1; }; \
	command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || { echo "totonoe needs a C++ compiler (hnswlib is built from source): install the package g++ (Debian, Ubuntu), gcc-c++ (Fedora) or the Xcode command line tools (macOS)" >&2; exit 1; }; \
	test -e "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" || { echo "totonoe needs Python's C headers (hnswlib is built from source): install the package python3-dev" >&2; exit 1; }
endef
