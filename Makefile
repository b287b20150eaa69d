# Kaiku: `make help` lists the commands.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MANAGE := $(BIN)/python manage.py

.DEFAULT_GOAL := help
.PHONY: help setup demo run worker collector cli test test-quick lint bench score sbom audit format clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.ready: requirements.txt requirements-dev.txt constraints.txt deploy/system-packages
	deploy/system-packages runtime
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements.txt -r requirements-dev.txt
	touch $@

setup: $(VENV)/.ready ## Create the environment: system packages where allowed, and .venv

demo: setup ## Load sample jobs through the real pipeline, then serve the portal on 127.0.0.1:8000 (BIND=HOST:PORT)
	$(BIN)/python -m demo

run: setup ## Serve the portal on 127.0.0.1:8000 (BIND=HOST:PORT)
	$(MANAGE) migrate --verbosity 0
	$(MANAGE) seed_lessons --verbosity 0
	$(MANAGE) serve --bind $${BIND:-127.0.0.1:8000}

worker: setup ## Run the background work: Celery with REDIS_URL, one local process without
	@if [ -n "$$REDIS_URL" ]; then exec $(BIN)/celery -A portal worker --beat --without-gossip --without-mingle --loglevel INFO; \
	else exec $(MANAGE) worker; fi

collector: ## Build dist/kaiku-collector.pyz, the one file for compute nodes (NODE_PYTHON: their Python)
	deploy/collector-zip dist/kaiku-collector.pyz

cli: ## Build dist/kaiku.pyz, the one file for login nodes (KAIKU_URL: your portal; NODE_PYTHON: their Python)
	deploy/cli-zip dist/kaiku.pyz

test: setup ## Run every test that this machine can run, and list what was left out and the slowest ten
	PYTHON_BIN=$(BIN) tests/clients/install
	PYTHON_BIN=$(BIN) tests/run

test-quick: setup ## Run the tests that only compute, the first case of each, in one process: for while you write
	$(BIN)/python -m pytest --quiet -m quick --first-cases tests

lint: setup ## Check formatting, lint, types, dead code and templates
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.dead_code
	$(BIN)/djlint --lint --quiet templates

bench: setup ## Measure pipeline, collector and analysis as ratios against limits of the same run
	$(BIN)/python -m bench.pipeline
	$(BIN)/python -m bench.collector
	$(BIN)/python -m bench.cli
	$(BIN)/python -m bench.report
	$(BIN)/python -m bench.analysis
	$(BIN)/python -m bench.turnaround
	$(BIN)/python -m bench.hints
	$(BIN)/python -m bench.ingest
	$(BIN)/python -m bench.runs
	$(BIN)/python -m bench.workers
	$(BIN)/python -m bench.latency
	$(BIN)/python -m bench.policy
	$(BIN)/python -m bench.exports

score: setup ## Measure how right the reports are: labelled runs, real runs, noisy cases, every claimed saving, predictions, early words
	@failed=0; for card in digests scorecard real_runs noisy_score claims predictions early_score; do \
	echo "$$card:"; $(BIN)/python -m cases.$$card || failed=1; echo; done; exit $$failed

sbom: setup ## List every library of an installed portal: dist/kaiku.cdx.json (CycloneDX)
	deploy/sbom dist/kaiku.cdx.json

audit: setup ## Check every pinned version for vulnerabilities known to PyPI; fails if PyPI does not answer
	$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off -r constraints.txt

format: setup ## Fix formatting and simple lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## Remove the files of the embedded mode and of the tools
	rm -rf var dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
