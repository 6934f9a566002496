# make demo and make test do everything, set-up included; `make help` lists the rest.
#
# The package is installed into .venv in editable form: Python files are used where they are, the compiled module
# is rebuilt (only what changed) when a source of it is newer than its stamp. Nothing outside .venv and build/
# is written, apart from the caches of the tools.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
# make's own default for CXX is no wish of the user
CXX_WISH := $(if $(filter default,$(origin CXX)),,$(CXX))

COMPILED := $(shell find core bindings -type f 2>/dev/null) CMakeLists.txt
BUILD_REQUIRES = $(shell sed -n 's/^requires = \[\(.*\)\]$$/\1/p' pyproject.toml | tr -d ,)
# An environment whose Python has gone (upgraded, moved) is made again.
GONE := $(if $(wildcard $(BIN)/python),,gone)

.PHONY: help demo test bench papers papers-quick lint stub sanitize dist clean gone force
.DELETE_ON_ERROR:

help:
	@echo "make demo      set up, then compare kernels on handwritten digits: a recommendation, and report.html"
	@echo "make test      set up, then run every test"
	@echo "make bench     run all benchmarks against their peers (some minutes)"
	@echo "make papers DATA=<folder>        compute the tables and figures of the papers again (hours; goes on where it stopped)"
	@echo "make papers-quick DATA=<folder>  a sample of each (some minutes)"
	@echo "make lint      ruff, mypy, clang-format, and is the stub of the compiled module up to date?"
	@echo "make stub      write that stub again"
	@echo "make sanitize  border and unit tests with AddressSanitizer and UBSan"
	@echo "make dist      source distribution and wheel in dist/"
	@echo "make clean     remove everything that was made"

# -- Set-up --------------------------------------------------------------------------------------------------

# $(error) inside a recipe: one sentence, and make stops with status 2.
PROBLEM = $(shell sh tools/preflight.sh '$(PYTHON)' '$(CXX_WISH)')
define require_tools
$(if $(PROBLEM),$(error $(PROBLEM)))
endef

$(VENV)/.made: $(GONE)
	$(require_tools)
	@echo "Making the environment $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# What the build needs, cmake and ninja included where the machine has none that will do: then an installation
# without isolation can build in one place again and again, and compile only what changed.
$(VENV)/.tools: $(VENV)/.made pyproject.toml
	$(require_tools)
	@$(PIP) $(BUILD_REQUIRES)
	@$(PIP) packaging $$($(BIN)/python -c "import scikit_build_core.build as b; print(*b.get_requires_for_build_wheel())")
	@touch $@

# The editable installation keeps a list of the Python files: a file that is new or moved means installing again.
MODULES := $(sort $(shell find src/kernelight -name '*.py' 2>/dev/null))
build/modules: force
	@mkdir -p build
	@echo '$(MODULES)' | cmp -s - $@ || echo '$(MODULES)' > $@

$(VENV)/.built: $(VENV)/.tools $(COMPILED) build/modules pyproject.toml
	$(require_tools)
	@echo "Building kernelight (a minute or two the first time) ..."
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation --editable .
	@touch $@

$(VENV)/.all $(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.papers: $(VENV)/.%: $(VENV)/.built pyproject.toml
	@$(PIP) $$($(BIN)/python tools/extra.py $*)
	@touch $@

# -- Work ----------------------------------------------------------------------------------------------------

demo: $(VENV)/.all
	@$(BIN)/kernelight compare digits --budget 75s --output report.html

test: $(VENV)/.all $(VENV)/.test
	@$(BIN)/python -m pytest -n auto --doctest-modules src/kernelight tests

bench: $(VENV)/.bench
	@$(BIN)/python benchmarks/run.py $(BENCH)

# The folder of the data sets, the one with loader.py; JOBS processes; PAPERS=--minutes=60 and other wishes of papers/run.py.
DATA ?= $(KERNELIGHT_DATA)
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
.PHONY: data
data:
	$(if $(shell test -f "$(DATA)/loader.py" && echo there),,$(error Give the folder of the data sets, the one with loader.py: make $(MAKECMDGOALS) DATA=<folder>))
	@:

papers: data $(VENV)/.papers
	@$(BIN)/python papers/run.py --data "$(DATA)" --jobs $(JOBS) $(PAPERS)

papers-quick: data $(VENV)/.papers
	@$(BIN)/python papers/run.py --quick --data "$(DATA)" --jobs $(JOBS) $(PAPERS)

STUBGEN = $(BIN)/python -m nanobind.stubgen -q -m kernelight._core -o
lint: $(VENV)/.lint $(VENV)/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@find core bindings -name '*.h' -o -name '*.cpp' | xargs $(BIN)/clang-format --dry-run --Werror
	@mkdir -p build
	@$(STUBGEN) build/_core.pyi
	@cmp -s build/_core.pyi src/kernelight/_core.pyi || \
		{ echo "src/kernelight/_core.pyi is stale: run 'make stub' and commit it."; exit 1; }

stub: $(VENV)/.lint
	@$(STUBGEN) src/kernelight/_core.pyi

sanitize: $(VENV)/.test
	@sh tools/sanitize.sh $(BIN)/python '$(CXX_WISH)'

dist: $(VENV)/.tools
	@$(PIP) build
	@rm -rf dist
	@$(BIN)/python -m build --quiet

clean:
	rm -rf $(VENV) build dist report.html .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
