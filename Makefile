# make demo       set everything up and grade a sample submission
# make test       set everything up, lint, type-check, run the quick tests
# make test-slow  the slow tests;  make test-gpu: those that need a GPU
# make check-install  the package, installed alone, works outside the checkout
# make check-container  the image of the Containerfile, built and graded in; needs podman
# make lock       the lock file anew
# make bench      how fast grading and the emulator are here; needs no GPU (benchmarks/ has two more that do)
# make messages   extract and compile the translations

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LAB    ?= transpose
STUDENT ?= submissions/ivanov
# "no": the set-up installs nothing into the system, and there are no PDF reports without Pango
SYSTEM_PACKAGES ?= yes
export SYSTEM_PACKAGES
# Hundreds of processes import the same modules, and every process that collects tests compiles all of them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lock demo test lint style types test-quick test-slow test-gpu check-install check-container messages bench clean

demo: $(VENV)/.ready
	$(BIN)/grade $(STUDENT) --lab $(LAB)

test: style
	@# Types are checked by one process alone: beside the tests, no core waits for it.
	$(MAKE) --no-print-directory --jobs=2 types test-quick

lint: style types

style: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready-dev
	$(BIN)/mypy

test-quick: $(VENV)/.ready-dev
	@# A process a core: hypothesis and the emulator use one each.
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow and not gpu"

test-slow: $(VENV)/.ready-dev
	@# A process a core here too.  5: no test is marked slow in this checkout.
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "slow and not gpu" || [ $$? -eq 5 ]

# Tests that time, or take most of a GPU's memory: nothing else is at work beside them.
ALONE = tests/gpu/test_times.py tests/gpu/test_calibrate.py tests/gpu/test_busy.py tests/gpu/test_large.py

test-gpu: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -q -m gpu -n auto --maxprocesses 6 --dist worksteal tests/gpu $(ALONE:%=--ignore %)
	$(BIN)/python -m pytest -q -m gpu $(ALONE)

check-install:
	PYTHON=$(PYTHON) scripts/check-install $(LAB)

check-container:
	scripts/check-container

messages: $(VENV)/.ready-dev
	$(BIN)/python scripts/messages.py

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/startup.py --backend emulator
	$(BIN)/python benchmarks/emulator.py

# The versions of everything, with hashes: what the container is built from.
lock: $(VENV)/.ready-dev
	$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--no-strip-extras --upgrade --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) build *.egg-info reports

# Packages are installed again only when what they are declared in has changed.
$(VENV)/.ready: pyproject.toml setup.py scripts/setup
	PYTHON=$(PYTHON) scripts/setup $(VENV)
	@touch $@

$(VENV)/.ready-dev: pyproject.toml setup.py scripts/setup
	PYTHON=$(PYTHON) scripts/setup $(VENV) dev
	@touch $(VENV)/.ready $@
