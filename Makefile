# The one interface. `make` lists the targets.
SHELL      := /bin/bash
VENV       ?= .venv
PYTHON     ?= python3
BIN        := $(VENV)/bin
STAMP      := $(VENV)/.ready
# Extra flags for pip, for example PIP_FLAGS="--index-url ..." for a mirror or a CUDA build of torch.
PIP_FLAGS  ?=
CHAPTER    ?=
SUBMITTED  ?= submitted
PYTEST     ?= -n 2 --dist worksteal
# Rooms that need no engine.
FAST       := tests/checks tests/lab/graph tests/lab/small_world tests/lab/machine tests/grading/reading tests/grading/test_judge.py tests/test_repository.py

.DEFAULT_GOAL := help
.PHONY: help setup demo lab notebooks release answers bank mutants grade formgrader images test test-fast lint format bench gpu colab-test clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/ ##/' | awk -F ' ## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP)  ## make .venv and install everything in it

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed: make PYTHON=python3.12 ..."; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "Python's venv is missing: on Debian and Ubuntu, apt install python3-venv."; exit 2; }
	$(BIN)/python -m pip install --quiet $(PIP_FLAGS) -c constraints.txt -e '.[grading,triton,dev]'
	@touch $@

demo: setup  ## grade a sample class and write its reports to demo-class/
	@$(BIN)/python -m tests.sample_class demo-class

lab: setup  ## open the chapters in JupyterLab
	@# .jupyter turns nbgrader's buttons off: "Validate" would show a learner the source of the checks.
	JUPYTER_CONFIG_PATH="$(CURDIR)/.jupyter$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" $(BIN)/jupyter lab notebooks

notebooks: setup  ## build notebooks/ from source/ (CHAPTER=01 for one)
	@$(BIN)/autograder build $(CHAPTER)

answers: setup  ## our answers and why they look so, in answers/ (CHAPTER=01 for one)
	@$(BIN)/python -m autograder.authoring.answers $(CHAPTER)

release: setup  ## write a repository for learners, without answers, to build/release
	@$(BIN)/python -m autograder.authoring.learners build/release

bank: setup  ## judge the bank of right and wrong answers (CHAPTER=01 for one)
	@$(BIN)/python -m tests.bank_tool $(CHAPTER)

mutants: setup  ## prove the checks: every small change of a right answer is noticed (CHAPTER=01 for one)
	@$(BIN)/python -m tests.mutants $(CHAPTER)

grade: setup  ## grade SUBMITTED=submitted into gradebook.db (CHAPTER=01 for one)
	@$(BIN)/autograder grade $(CHAPTER) --submitted $(SUBMITTED)

formgrader: setup  ## open nbgrader's formgrader over gradebook.db
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/jupyter lab --LabApp.default_url=/formgrader

images: setup  ## take the README's pictures again (needs chromium)
	@$(BIN)/python -m docs.make_images

test: setup  ## run the tests
	@$(BIN)/python -m pytest $(PYTEST)

test-fast: setup  ## the tests that take under a minute
	@$(BIN)/python -m pytest $(PYTEST) $(FAST)

lint: setup  ## ruff, mypy, and which room may import which
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache

format: setup  ## let ruff arrange the code
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: setup  ## measure against stock nbgrader; results go to benchmarks/
	@$(BIN)/python -m benchmarks.bench_grading

gpu: setup  ## run every chapter on CUDA and record what it shows (dry run without a GPU)
	@$(BIN)/python -m benchmarks.record_gpu

colab-test: setup  ## run every chapter in an environment like Colab's
	@$(BIN)/python -m benchmarks.colab_test

clean:  ## remove what was generated, keep .venv
	rm -rf build dist answers demo-class autograded feedback source/*/ .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
