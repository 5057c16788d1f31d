# Every target installs first where needed, into .venv/, and never touches the system.
PYTHON ?= python3
VENV := .venv
EXTRAS ?= dev
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

export OMP_NUM_THREADS ?= 1
export MLFLOW_DISABLE_TELEMETRY := true
export DO_NOT_TRACK := true
export DVC_NO_ANALYTICS := 1
export RAY_USAGE_STATS_ENABLED := 0

.DEFAULT_GOAL := help
.PHONY: help install repro test test-all lint ui clean

help:  ## What there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

install: $(STAMP)  ## Install puoc and what it needs into .venv

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("got Python %d.%d; expected 3.11 or newer: make install PYTHON=python3.11" % v)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@# Without a git history (a source archive) DVC has to be told so.
	@git rev-parse --is-inside-work-tree >/dev/null 2>&1 || $(BIN)/dvc config --local core.no_scm true
	touch $(STAMP)

repro: install  ## Run the whole job: data, sweeps, fits, comparison, report, MLflow
	@$(BIN)/puoc plan --check
	@$(BIN)/dvc repro
	@$(BIN)/puoc track
	@echo
	@echo "report:     reports/index.html"
	@echo "MLflow UI:  make ui"
	@$(BIN)/puoc status

test: install  ## Tests (minutes)
	$(BIN)/python -m pytest -n 2

test-all: install  ## Tests with faults, simulations and browser
	$(BIN)/python -m pytest -n 2 -m 'slow or not slow'

lint: install  ## Style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

ui: install  ## Serve the MLflow UI on 127.0.0.1
	$(BIN)/puoc ui

clean:  ## Remove what the pipeline made (asks nothing; the ledger and data/ stay)
	rm -rf work results reports mlruns/mlflow.db* mlruns/artifacts .dvc/tmp
