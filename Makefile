# make demo and make test do everything, set-up included; `make help` lists the rest.
#
# The package is installed into .venv in editable form: Python files are used where they are, the compiled module
# is rebuilt (only what changed) when a source of it is newer than its stamp. Nothing outside .venv and build/
# is written, apart from the caches of the tools.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
# the compiler that the user names; make has a default of its own
CXX_GIVEN := $(if $(filter default,$(origin CXX)),,$(CXX))

COMPILED := $(shell find core bindings -type f 2>/dev/null) CMakeLists.txt
BUILD_REQUIRES = $(shell sed -n 's/^requires = \[\(.*\)\]$$/\1/p' pyproject.toml | tr -d ,)
# An environment whose Python has gone (upgraded, moved) is made again.
GONE := $(if $(wildcard $(BIN)/python),,gone)

.PHONY: help setup demo test test-all test-oldest docs release-check wheel-check portable bench papers papers-quick lint stub sanitize dist wheels clean gone force
.DELETE_ON_ERROR:

help:
	@echo "make demo      set up, then compare kernels on handwritten digits: a recommendation, and report.html"
	@echo "make test      set up, then run the tests: after every change (4 minutes on two cores)"
	@echo "make test-all  the same with the tests marked nightly: before a change lands (8 minutes; .ci/run does it)"
	@echo "make test-oldest  the tests with the oldest Python, NumPy, scikit-learn ... that pyproject.toml allows"
	@echo "make release-check [DATA=<folder>]  sanitizers, the wheel in a fresh environment, more random trials, and with"
	@echo "                                 DATA a sample of the papers: before a release (an hour or two)"
	@echo "make portable  the golden vectors on aarch64, riscv64 and s390x, by cross compilers and qemu-user"
	@echo "make setup     only set up .venv: the package and what its tests and checks need"
	@echo "make docs      the documentation site in build/site/html (some minutes the first time; DOCS=--no-gallery: no examples run)"
	@echo "make bench     run all benchmarks against their peers (half an hour; BENCH=--quick: rough ratios, in minutes)"
	@echo "make papers DATA=<folder>        compute what papers/cells lacks of the papers' tables and figures (hours; goes on where it stopped)"
	@echo "make papers-quick DATA=<folder>  a sample of each (some minutes)"
	@echo "make lint      ruff, mypy, clang-format, and is the stub of the compiled module up to date?"
	@echo "make stub      write that stub again"
	@echo "make sanitize  border and unit tests with AddressSanitizer and UBSan"
	@echo "make dist      source distribution and wheel in dist/"
	@echo "make wheels    wheels for Linux that need no compiler, each tested alone, in dist/ (some minutes a version)"
	@echo "make clean     remove everything that was made"

# -- Set-up --------------------------------------------------------------------------------------------------

# $(error) inside a recipe: one sentence, and make stops with status 2.
PROBLEM = $(shell sh tools/preflight.sh '$(PYTHON)' '$(CXX_GIVEN)')
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

$(VENV)/.all $(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.papers $(VENV)/.docs: $(VENV)/.%: $(VENV)/.built pyproject.toml
	@$(PIP) $$($(BIN)/python tools/extra.py $*)
	@touch $@

# -- Work ----------------------------------------------------------------------------------------------------

setup: $(VENV)/.all $(VENV)/.test $(VENV)/.lint

demo: $(VENV)/.all
	@$(BIN)/kernelight compare digits --budget 75s --output report.html

# Neighbouring tests share fixtures, so a process begins with a run of them; one that is done early takes
# some of another's.
PYTEST = $(BIN)/python -m pytest -n auto --dist worksteal
test: $(VENV)/.all $(VENV)/.test
	@$(PYTEST) -m "not nightly" --doctest-modules src/kernelight tests

test-all: $(VENV)/.all $(VENV)/.test
	@$(PYTEST) --durations=25 --doctest-modules src/kernelight tests

# OLDEST: a Python, if not 3.10
test-oldest:
	@sh tools/test_oldest.sh $(OLDEST)

# What is slow and rarely breaks. ROUNDS: how many times as many random trials as in test-all.
ROUNDS ?= 5
release-check: $(VENV)/.all $(VENV)/.test
	@echo "== The wheel in a fresh environment"
	@$(MAKE) --no-print-directory wheel-check
	@echo "== The oldest of what is needed"
	@$(MAKE) --no-print-directory test-oldest
	@echo "== Tests with AddressSanitizer and UBSan"
	@$(MAKE) --no-print-directory sanitize
	@echo "== The hashes on other machines"
	@$(MAKE) --no-print-directory portable
	@echo "== $(ROUNDS) times as many random trials"
	@KERNELIGHT_ROUNDS=$(ROUNDS) $(PYTEST) -m rounds tests
	@$(if $(DATA),echo "== A sample of the papers" && $(MAKE) --no-print-directory papers-quick,echo "== No papers: DATA=<folder> would compute a sample of them")

# The frozen hashes are the same on every machine, also on a big-endian one.
portable: $(VENV)/.test
	@$(BIN)/python tests/golden/portable.py

# The distributions, and the wheel as users have it: without the sources, and without what only tests need.
WHEEL := build/wheel
wheel-check: dist
	@rm -rf $(WHEEL)
	@$(PYTHON) -m venv $(WHEEL)
	@$(WHEEL)/bin/python -m pip --disable-pip-version-check --quiet install dist/*.whl
	@cd $(WHEEL) && bin/kernelight --version && bin/kernelight fit iris --output iris.klt --quiet && \
		bin/kernelight evaluate iris.klt iris
	@cd $(WHEEL) && bin/python -I -c "\
	import kernelight, sklearn.datasets as data; \
	model = kernelight.KernelClassifier().fit(*data.load_iris(return_X_y=True)); \
	assert model.score(*data.load_iris(return_X_y=True)) > 0.9; \
	print('The wheel works:', kernelight.__file__)"

docs: $(VENV)/.all $(VENV)/.docs
	@$(BIN)/python tools/docs_site/build.py $(DOCS)

bench: $(VENV)/.bench
	@$(BIN)/python benchmarks/run.py $(BENCH)

# The folder of the data sets, the one with loader.py; JOBS processes; PAPERS=--minutes=60 and other options of papers/run.py.
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
	@sh tools/sanitize.sh $(BIN)/python '$(CXX_GIVEN)'

wheels:
	@sh tools/wheels.sh dist

dist: $(VENV)/.tools
	@$(PIP) build
	@rm -rf dist
	@$(BIN)/python -m build --quiet

clean:
	rm -rf $(VENV) build dist report.html .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
