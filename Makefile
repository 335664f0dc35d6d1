# make demo: set everything up and run the main job on the simulated rig.   make test: set everything up and pass all tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
UV := $(shell command -v uv 2>/dev/null)
NATIVE := $(shell find cpp -name '*.hpp' -o -name '*.cpp') CMakeLists.txt

.PHONY: demo test test-all setup lint types docs examples bench measure stub clean

demo: setup
	$(BIN)/onbeat demo

test: setup
	$(BIN)/python -m pytest -q -m "not slow"

test-all: setup
	$(BIN)/python -m pytest -q

setup: $(STAMP)

# Build tools go into the environment first, so that an edit of the native core rebuilds in seconds, not in a fresh build environment.
$(STAMP): pyproject.toml $(NATIVE) .ci/environment
	@PYTHON="$(PYTHON)" UV="$(UV)" VENV="$(VENV)" bash .ci/environment
	@touch $@

# The stub of the native module, generated: CI runs this and compares.
stub: setup
	$(BIN)/python -m nanobind.stubgen -q -m onbeat._core -o src/onbeat/_core.pyi
	$(BIN)/ruff format -q src/onbeat/_core.pyi

clean:
	rm -rf $(VENV) build dist
