# make demo: set everything up and run the main job on the simulated rig.   make test: set everything up and pass all tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
UV := $(shell command -v uv 2>/dev/null)
NATIVE := $(shell find cpp -name '*.hpp' -o -name '*.cpp') CMakeLists.txt

.PHONY: demo test test-all setup dev lint types native-test stub stub-check docs examples bench measure wheel clean

demo: setup
	$(BIN)/onbeat demo

test: dev
	$(BIN)/python -m pytest -q -m "not slow"

test-all: dev
	$(BIN)/python -m pytest -q

setup: $(READY)

# What `make demo` needs. Build tools go into the environment itself, so that an edit of the native core rebuilds in seconds.
$(READY): pyproject.toml $(NATIVE) .ci/environment
	@echo "setting up $(VENV) and building the native core (the first time takes a minute or two)" >&2
	@PYTHON="$(PYTHON)" UV="$(UV)" VENV="$(VENV)" bash .ci/environment build
	@touch $@

dev: $(DEV)

# What the tests and the other gates need beside it.
$(DEV): $(READY)
	@echo "adding what the tests need to $(VENV)" >&2
	@PYTHON="$(PYTHON)" UV="$(UV)" VENV="$(VENV)" bash .ci/environment dev
	@touch $@

# The gates; .ci/run runs them all.

lint: dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache

types: dev
	$(BIN)/mypy

# Regenerate the stub of the native module; stub-check fails when the committed one is not what the module says.
stub: dev
	$(BIN)/python -m nanobind.stubgen -q -m onbeat._core -o src/onbeat/_core.pyi
	$(BIN)/ruff format -q src/onbeat/_core.pyi

stub-check: stub
	git diff --exit-code -- src/onbeat/_core.pyi

# Each cpp/tests/test_*.cpp is a program of its own; it runs under address + undefined and under thread sanitizers.
CXX_TESTS := $(patsubst cpp/tests/%.cpp,%,$(wildcard cpp/tests/test_*.cpp))
CXX_SOURCES := $(patsubst cpp/src/%.cpp,%,$(wildcard cpp/src/*.cpp))
CXX_HEADERS := $(shell find cpp -name '*.hpp')
CXX_CHECK := $(CXX) -std=c++20 -g -O1 -Wall -Wextra -Wshadow -Werror -pthread -fno-omit-frame-pointer -fno-sanitize-recover=all -Icpp/include
# The thread sanitizer needs memory where it expects it; setarch turns the randomised layout off where there is one.
FIXED_LAYOUT := $(shell setarch -R true 2>/dev/null && echo setarch -R)

native-test: $(CXX_TESTS:%=build/sanitized/address,undefined/%.ok) $(CXX_TESTS:%=build/sanitized/thread/%.ok) build/sanitized/thread/wrong/racy_ring.caught
	@echo "$(words $(CXX_TESTS)) native tests passed under address, undefined and thread sanitizers; the racy ring was caught"

define sanitized
build/sanitized/$(1)/%.o: cpp/src/%.cpp $(CXX_HEADERS)
	@mkdir -p $$(@D)
	$(CXX_CHECK) -fsanitize=$(1) -c $$< -o $$@
build/sanitized/$(1)/%: cpp/tests/%.cpp $(CXX_SOURCES:%=build/sanitized/$(1)/%.o) $(CXX_HEADERS)
	@mkdir -p $$(@D)
	$(CXX_CHECK) -fsanitize=$(1) $$(filter-out %.hpp,$$^) -o $$@
build/sanitized/$(1)/%.ok: build/sanitized/$(1)/%
	$(FIXED_LAYOUT) timeout 120 $$<
	@touch $$@
endef
$(eval $(call sanitized,thread))
comma := ,
$(eval $(call sanitized,address$(comma)undefined))
# A wrong version that is kept because it teaches: the thread sanitizer must find its race.
build/sanitized/thread/wrong/%.caught: cpp/tests/wrong/%.cpp
	@mkdir -p $(@D)
	$(CXX_CHECK) -fsanitize=thread $< -o $(basename $@)
	! $(FIXED_LAYOUT) timeout 120 $(basename $@) > $(basename $@).log 2>&1
	grep -q "WARNING: ThreadSanitizer: data race" $(basename $@).log
	@touch $@
.SECONDARY:

docs: dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs

examples: dev
	@for example in examples/[0-9]*.py; do echo "== $$example"; timeout 10 $(BIN)/python $$example || exit 1; done

bench: dev
	@for bench in bench/bench_*.py bench/trace_*.py; do [ ! -e $$bench ] || { echo "== $$bench"; $(BIN)/python $$bench || exit 1; }; done

# Run every bench and write its bars into docs/measuring.md.
measure: dev
	$(BIN)/python bench/measure.py

# A wheel and an sdist, warnings of our sources being errors.
wheel: dev
	$(BIN)/python -c 'from scikit_build_core.build import build_sdist, build_wheel; print(build_sdist("dist"), build_wheel("dist", {"cmake.define.ONBEAT_WERROR": "ON", "build-dir": "build/warnings"}))'

clean:
	rm -rf $(VENV) build dist
