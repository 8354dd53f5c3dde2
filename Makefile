# Hourbell on one machine. Needs Python 3.11 or newer and make; everything else is installed into .venv/ and .hourbell/.
# Each step leaves a stamp, so a second call only does what changed.

STATE := .hourbell
TOOLS := $(STATE)/tools
VENV := .venv
EMULATOR := $(STATE)/emulator
NODE := $(STATE)/node
UV := $(TOOLS)/bin/uv
BIN := $(VENV)/bin

export UV_PYTHON_DOWNLOADS := never
export UV_NO_PROGRESS := 1

TOOLS_READY := $(TOOLS)/.installed
VENV_READY := $(VENV)/.installed
EMULATOR_READY := $(EMULATOR)/.installed
NODE_READY := $(NODE)/.installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo up down status test test-time test-wreck check fix synth bench lock clean

help: ## Show what each target does
	@printf 'Hourbell: a job scheduler for your own AWS account, and for this machine.\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@printf '\nFirst time here? `make demo` installs what is missing and shows it ringing in a few minutes.\n'

install: $(VENV_READY) $(EMULATOR_READY) $(NODE_READY) ## Install everything into .venv/ and .hourbell/

demo: install ## Start a local cloud, schedule jobs over HTTP and watch them ring for 20 seconds
	@$(BIN)/hourbell demo

up: install ## Start the local cloud and keep it; prints its URL and API key
	@$(BIN)/hourbell up

down: ## Stop the local cloud; the database is kept
	@if [ -x $(BIN)/hourbell ]; then $(BIN)/hourbell down; else echo 'Nothing is installed, so nothing runs.'; fi

status: ## Show whether the local cloud runs, and where
	@if [ -x $(BIN)/hourbell ]; then $(BIN)/hourbell status; else echo 'Not installed yet: make install'; fi

# Those of the second kind wait most of the time, on clocks, on a browser, on Node: they run beside the others.
CODE_TESTS := tests/integration tests/unit
CLOUD_TESTS := tests/browser tests/end_to_end tests/faults tests/infrastructure

test: install ## Run all tests (unit, integration, infrastructure, browser, end to end), or TESTS=tests/…
ifdef TESTS
	@$(BIN)/python -m pytest $(TESTS)
else
	@mkdir -p build; $(BIN)/python -m pytest $(CLOUD_TESTS) >build/cloud-tests.log 2>&1 & cloud=$$!; \
	$(BIN)/python -m pytest $(CODE_TESTS); code=$$?; \
	echo 'Now those that wait: $(CLOUD_TESTS)'; wait $$cloud; cloud=$$?; cat build/cloud-tests.log; \
	exit $$((code != 0 ? code : cloud))
endif

test-time: install ## Prove the clock rules over every zone and clock change of 2024-2030 (minutes)
	@HOURBELL_FULL_CLOCK=1 $(BIN)/python -m pytest --timeout 0 tests/unit/domain/test_clock_walk.py

test-wreck: install ## Kill PostgreSQL and functions of a local cloud at random; nothing may be lost (minutes)
	@HOURBELL_WRECK=1 $(BIN)/python -m pytest -s tests/faults/test_wrecked_cloud.py

check: install ## Format, lint, types, import contracts, SQL, nag
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --strict cdk
	$(BIN)/lint-imports
	$(BIN)/sqlfluff lint --processes 2 layers/hourbell/python/hourbell/store
	$(BIN)/python -m pytest tests/infrastructure

fix: install ## Format and repair what can be repaired automatically
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/sqlfluff fix --processes 2 layers/hourbell/python/hourbell/store

synth: install ## Write and lint the CloudFormation templates of both stages (no account, no network)
	@$(BIN)/hourbell synth
	@$(BIN)/cfn-lint

bench: install ## Run the benchmarks that need no local cloud, as JSON
	@for name in claim big_table fairness worker cold_start; do $(BIN)/python -m benchmarks.$$name --json || exit 1; done

lock: $(VENV_READY) ## Pin all dependencies anew, with hashes (--upgrade: make lock LOCK=--upgrade)
	@for name in uv emulator; do $(PIN) requirements/$$name.in -o requirements/$$name.txt || exit 1; done
	@$(PIN) --extra local --extra dev pyproject.toml -o requirements/dev.txt
	@$(PIN) -c requirements/dev.txt --no-annotate --no-header layers/dependencies/requirements.in -o layers/dependencies/requirements.txt
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/npm install --package-lock-only --no-audit --no-fund

clean: ## Stop the local cloud and remove everything that was installed or built, the database too
	@if [ -x $(BIN)/hourbell ]; then $(BIN)/hourbell down --purge; fi
	rm -rf $(STATE) $(VENV) cdk.out* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

PIN = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(LOCK)

# pip installs uv (pinned), uv installs the rest (faster by far). Both refuse a file whose hash is not in the list.
$(TOOLS_READY): requirements/uv.txt
	@echo 'Installing uv …'
	@rm -rf $(TOOLS)
	@python=$$(sh scripts/find_python.sh) && "$$python" -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/uv.txt
	@touch $@

$(VENV_READY): requirements/dev.txt pyproject.toml $(TOOLS_READY)
	@echo 'Installing the project into $(VENV)/ …'
	@$(BIN)/python -c '' 2>/dev/null || { python=$$(sh scripts/find_python.sh) && $(UV) venv --quiet --clear --python "$$python" $(VENV); }
	@$(UV) pip sync --quiet --python $(VENV) --require-hashes requirements/dev.txt
	@$(UV) pip install --quiet --python $(VENV) --no-deps --no-build-isolation --editable .
	@touch $@

# Changes when the environment is made with another Python, not when packages do.
$(VENV)/pyvenv.cfg: | $(VENV_READY)

# The emulator runs the Lambdas with its own interpreter: nothing of the project's environment may leak into them.
$(EMULATOR_READY): requirements/emulator.txt $(VENV)/pyvenv.cfg
	@echo 'Installing the AWS emulator …'
	@$(UV) venv --quiet --clear --python $(BIN)/python $(EMULATOR)
	@$(UV) pip sync --quiet --python $(EMULATOR) --require-hashes requirements/emulator.txt
	@touch $@

$(NODE_READY): package.json package-lock.json .npmrc | $(VENV_READY)
	@echo 'Installing the AWS CDK command line …'
	@mkdir -p $(NODE) && cp package.json package-lock.json .npmrc $(NODE)/
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/npm ci --silent --include=dev --prefix $(NODE) --ignore-scripts --no-audit --no-fund
	@touch $@
