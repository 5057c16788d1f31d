# Every target installs first where needed, into .venv/, and never touches the system.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The stamp holds what was installed, such as .[cluster,dev] (a first version left it empty): what was asked for once
# stays, through an upgrade too, and EXTRAS adds to it.
comma := ,
space := $(subst x,,x x)
INSTALLED := $(if $(wildcard $(STAMP)),$(or $(shell cat $(STAMP)),.[dev]))
HELD := $(subst $(comma),$(space),$(INSTALLED:.[%]=%))
EXTRAS ?= $(if $(INSTALLED),,dev)
WANTED := $(sort $(HELD) $(subst $(comma),$(space),$(EXTRAS)))

export OMP_NUM_THREADS ?= 1
export MLFLOW_DISABLE_TELEMETRY := true
export DO_NOT_TRACK := true
export DVC_NO_ANALYTICS := 1
export RAY_USAGE_STATS_ENABLED := 0
# Stages and tests start many processes, and without bytecode each of them compiles all of its modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: bench help install more-extras repro published test test-all test-mutations test-lowest lint fix docs release evidence ui clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

install: $(STAMP)  ## Install puoc and what it needs into .venv; EXTRAS=dev,cluster adds to it

$(STAMP): pyproject.toml constraints.txt $(if $(filter-out $(HELD),$(WANTED)),more-extras)
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("got Python %d.%d; expected 3.11 or newer: make install PYTHON=python3.11" % v)'
	@$(PYTHON) -c 'import sys, tomllib; known = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; strange = set(sys.argv[1:]) - set(known); strange and sys.exit("EXTRAS: got %s; expected some of %s, with commas between them" % (", ".join(sorted(strange)), ", ".join(known)))' $(filter-out $(HELD),$(WANTED))
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing .[$(subst $(space),$(comma),$(WANTED))]: about 7 GB with all libraries; pip names each package as it comes"
	@# Without --no-compile, pip compiles 24,000 modules for a minute; Python compiles those that are used by itself.
	$(BIN)/python -m pip install --disable-pip-version-check --no-compile -c constraints.txt -e '.[$(subst $(space),$(comma),$(WANTED))]'
	@# Without a git history (a source archive) DVC has to be told so.
	@git rev-parse --is-inside-work-tree >/dev/null 2>&1 || $(BIN)/dvc config --local core.no_scm true
	@echo '.[$(subst $(space),$(comma),$(WANTED))]' >$(STAMP)

repro: install  ## Run the whole job: data, sweeps, fits, comparison, report, MLflow
	@$(BIN)/puoc plan --check
	@PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python .ci/repro.py
	@$(BIN)/puoc track
	@echo
	@echo "report:     reports/index.html"
	@echo "MLflow UI:  make ui"
	@$(BIN)/puoc status

published: install  ## Open the published results: report and MLflow store, without data and without computing
	$(BIN)/puoc published

test: install  ## Tests (minutes)
	$(BIN)/python -m pytest -n 3 --dist worksteal

test-all: install  ## The tests that make test leaves out: faults, simulations, browser
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

test-mutations: install  ## All deliberate faults; make test-all applies those that a change may have hidden
	PUOC_MUTATIONS=all $(BIN)/python -m pytest -n 2 --dist worksteal -m slow tests/repository/test_mutations.py

test-lowest:  ## Quick tests with the lowest versions that pyproject.toml allows, in an environment of their own
	$(PYTHON) .ci/lowest.py $(LOWEST)

lint: install  ## Style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: install  ## Correct style with ruff, where it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# RELEASE=--unreleased tries a release whose changelog is not headed by its version yet; .ci/release.py --help has more.
release:  ## Build and try sdist and wheel, audit, and list what is inside, in dist/; nothing is uploaded
	$(MAKE) install EXTRAS=dev,release
	$(BIN)/python .ci/release.py $(RELEASE)

docs:  ## Build the documentation in site/, to be read from disk; a warning is an error
	@$(MAKE) --no-print-directory install EXTRAS=docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "documentation: site/index.html"

PROFILE ?= quick
evidence: install  ## Compute PROFILE (default: quick) with the current code, for docs/evidence and the docs' tables
	$(BIN)/python bench/evidence.py $(PROFILE)

NETWORKS := profiles/paper.yaml profiles/quick.yaml profiles/tabular.yaml profiles/tabular_more.yaml
bench: install  ## Measure commands, runs, and training against a plain loop and the processor (over an hour on idle cores)
	OMP_NUM_THREADS=1 $(BIN)/python bench/commands.py --out docs/evidence/commands.parquet
	OMP_NUM_THREADS=1 $(BIN)/python bench/forecasts.py --out docs/evidence/forecasts.parquet
	OMP_NUM_THREADS=1 $(BIN)/python bench/floor.py $(NETWORKS) --out docs/evidence/floor.parquet
	$(BIN)/python bench/epoch.py --out docs/evidence/epoch.parquet
	$(BIN)/python bench/epoch.py --profile $(NETWORKS) --out docs/evidence/networks.parquet
	$(BIN)/python bench/epoch.py --profile $(NETWORKS) --lanes 8 --out docs/evidence/networks_together.parquet
	$(BIN)/python docs/generate.py

ui: install  ## Serve the MLflow UI on 127.0.0.1
	$(BIN)/puoc ui

clean:  ## Remove what the pipeline made, without a question; the ledger and data/ stay
	rm -rf work results reports mlruns/mlflow.db* mlruns/artifacts .dvc/tmp
