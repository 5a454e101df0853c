# `make check` is what a change must pass; docs/internals/contributing.md explains the rest.
VENV ?= .venv
BIN = $(VENV)/bin
TYPED = store acp tui tests bench screenshots

.PHONY: check lint test real bench screenshots gif

check: lint test

lint: $(BIN)/pytest
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports

test: $(BIN)/pytest
	$(BIN)/pytest

# Real agents, offline: their models are answered by tests/rig/fake_model.
real: $(BIN)/pytest
	tests/rig/rig install claude opencode gemini
	$(BIN)/pytest -m real

# Writes bench/RESULTS.md; minutes, and best on a machine that does nothing else.
bench: $(BIN)/pytest
	$(BIN)/python -m bench

screenshots: $(BIN)/pytest
	$(BIN)/python -m screenshots

# Of the film, for places that show no SVG; needs agg, and is not kept here: its bytes depend on fonts.
gif: $(BIN)/pytest
	$(BIN)/python -m screenshots.gif

$(BIN)/pytest:
	python3 -m venv $(VENV)
	$(BIN)/pip install -e '.[test]'
