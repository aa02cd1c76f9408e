# Everything runs in a virtual environment of its own; `make demo` and `make test` need nothing before them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PYTHONDONTWRITEBYTECODE = 1

# Real data beside the checkout are used where they are; otherwise the loaders' cache is.
ifneq ($(wildcard ../shared/data),)
export FAIRCLUST_DATA ?= $(abspath ../shared/data)
endif

SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/fairclust/_core/*.cpp src/fairclust/_core/*.hpp)
MODULES := $(shell find src -name '*.py' 2>/dev/null | sort | cksum | cut -d' ' -f1)

.PHONY: tour golden golden-quality golden-accept browser fuzz sanitize coverage demo review stubs test-oldest test test-slow lint format bench bench-full wheel docs clean help

help:            ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade 'pip>=25.1'
	@touch $@

# An editable install with one of pyproject's dependency groups: rebuilt when a C++ file changes or a module appears.
$(VENV)/.installed-%: $(VENV)/.venv $(SOURCES) $(VENV)/.modules-$(MODULES)
	$(BIN)/python -m pip install -q -e . --group $*
	@touch $@

$(VENV)/.modules-$(MODULES): | $(VENV)/.venv
	@rm -f $(VENV)/.modules-* && touch $@

demo: $(VENV)/.installed-demo   ## Fair clustering on built-in data, with a picture
	$(BIN)/fairclust demo

# Debian's Chromium for the tests of the pages; without it (and without the right to install it) they are skipped.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
	  || echo "No Chromium, and it cannot be installed here: the browser tests are skipped."

test: lint browser   ## Lint, type-check and test (about 5 minutes)
	$(BIN)/python -c "from fairclust._core import is_compiled; assert is_compiled, 'the kernels did not compile'"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m 'not slow'   # two processes, a thread each; tests of threads ask for theirs

test-slow: $(VENV)/.installed-dev   ## The tests that take minutes each
	$(BIN)/python -m pytest -m slow

# Fits whose results are written down in tests/golden/golden.json; ONLY= takes the cases whose names hold this text.
MODE = bits
ONLY =
GOLDEN = cd tests && PYTHONPATH=. $(abspath $(BIN))/python -m golden --only "$(ONLY)"
golden: $(VENV)/.installed-dev   ## Compare a hundred fits with the record, bit for bit; MODE=quality, ONLY="ncut"
	$(GOLDEN) $(MODE)

golden-quality: $(VENV)/.installed-dev   ## The same after a change of method: goals met, costs and energies, evaluations
	$(GOLDEN) quality

golden-accept: $(VENV)/.installed-dev   ## Record what these fits find now
	$(GOLDEN) accept

lint: $(VENV)/.installed-dev   ## Lint and type-check only; layers of imports, and whether what is imported is declared
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	$(BIN)/lint-imports --no-logo && $(BIN)/deptry src

format: $(VENV)/.installed-dev   ## Format the code
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: $(VENV)/.installed-bench   ## Quick benchmarks against the peers (under 3 minutes)
	$(BIN)/python -m benchmarks.run --quick

bench-full: $(VENV)/.installed-bench   ## All benchmarks (about 20 minutes); a peer that cannot be installed is skipped
	-$(BIN)/python -m pip install -q --group peers
	$(BIN)/python -m benchmarks.run

docs: $(VENV)/.installed-docs   ## The site in docs/_build/html; tutorials and gallery are run (about 2 minutes)
	MPLBACKEND=agg $(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

tour:            ## Print the house: every file and what lives there
	@{ grep -rHm1 --include='*.py' '"""' src/fairclust; grep -rHm1 --include='*.[ch]pp' '^// ' src/fairclust; } \
	  | sed -E 's#^src/fairclust/##; s#:(r?"""|// )#  #; s#"""$$##' | sort

stubs: $(VENV)/.installed-dev   ## Write the stub of the compiled module again, after a change of its bindings
	$(BIN)/python -m pip install -q nanobind
	$(BIN)/python -m nanobind.stubgen -q -m fairclust._core._kernels -o src/fairclust/_core/_kernels.pyi
	sed -i.bak -E -e 's/-> tuple( \| None)?:/-> tuple[Any, ...]\1:/' -e 's/: Callable([,) ])/: Callable[..., Any]\1/g' \
	  -e 's/^from typing import /from typing import Any, /' -e 's/^name: str = .*/name: str/' src/fairclust/_core/_kernels.pyi
	rm src/fairclust/_core/_kernels.pyi.bak

# The lowest versions that pyproject.toml promises, in an environment of their own.
test-oldest:     ## The tests with the oldest supported dependencies (Python 3.11)
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install -q -r tests/oldest.txt scikit-build-core nanobind ninja cmake
	$(VENV)-oldest/bin/python -m pip install -q --no-deps --no-build-isolation --force-reinstall .
	$(VENV)-oldest/bin/python -m pytest tests -n 2 -m 'not slow and not browser' -p no:cacheprovider --ignore=tests/docs

# Python by coverage.py, C++ by gcov: the kernels are compiled once more, with counters, into an environment of their own.
# Processes that may write short files only would leave half of their counters: such tests are left out.
COVERED = COVERAGE_FILE=build/coverage/data $(VENV)-coverage/bin/python -m coverage
coverage:        ## Which lines the tests run, Python and C++ (build/coverage)
	$(PYTHON) -m venv $(VENV)-coverage
	$(VENV)-coverage/bin/python -m pip install -q 'pip>=25.1' scikit-build-core nanobind ninja cmake coverage gcovr
	CXXFLAGS='--coverage -fprofile-update=atomic' $(VENV)-coverage/bin/python -m pip install -q --no-build-isolation \
	  -Cbuild-dir=build/coverage/cmake -Ccmake.build-type=None . --group test
	$(COVERED) run --branch --source=fairclust -m pytest tests -m 'not slow and not browser' -p no:cacheprovider \
	  --ignore=tests/docs -k 'not limit_on_file_sizes and not full_disk' $(COVER) || true
	$(COVERED) html -q -d build/coverage/python && $(COVERED) report --skip-covered
	mkdir -p build/coverage/cpp
	$(VENV)-coverage/bin/gcovr -r . --object-directory build/coverage/cmake -f 'src/fairclust/_core/' \
	  --exclude-directories '.*/CompilerId.*' --gcov-ignore-parse-errors all --merge-lines \
	  --html-details build/coverage/cpp/index.html --txt-summary

wheel: $(VENV)/.venv   ## A wheel and an sdist for this platform in dist/, checked; see docs/installing.md for others
	$(BIN)/python -m pip install -q build twine check-wheel-contents abi3audit
	rm -rf dist && $(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	if ls dist/*abi3*.whl 2>/dev/null; then $(BIN)/abi3audit --strict --report dist/*abi3*.whl; fi
	@ls -l dist

review: $(VENV)/.venv   ## What Scientific Python's reviewer of repositories says
	$(BIN)/python -m pip install -q 'sp-repo-review[cli]'
	$(BIN)/repo-review .

# Kernels compiled with sanitizers, outside of the installation; the first report ends the run.
sanitize: $(VENV)/.installed-dev   ## Kernel laws and a fuzz with ASan + UBSan, fits in threads with TSan (10 minutes)
	$(BIN)/python -m pip install -q nanobind cmake ninja
	$(MAKE) sanitized-address,undefined
	$(MAKE) sanitized-thread

SANITIZED = $(abspath $(BIN))/python -m fuzz.sanitized $(abspath build/sanitize-$*)/_kernels*.so
KERNEL_LAWS = laws/test_oracle_laws.py laws/test_medoid_laws.py laws/test_table_laws.py core
sanitized-%:
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/sanitize-$* -G Ninja -DCMAKE_BUILD_TYPE=Release \
	  -DFAIRCLUST_SANITIZE=$* -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) \
	  -DPython_EXECUTABLE=$(abspath $(BIN))/python
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/sanitize-$*
	cd tests && export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONPATH=. \
	  LD_PRELOAD="$$(g++ -print-file-name=lib$(if $(findstring thread,$*),tsan,asan).so) $$(g++ -print-file-name=libstdc++.so)"; \
	$(if $(findstring thread,$*),$(SANITIZED) threads,\
	  $(SANITIZED) $(KERNEL_LAWS) && FAIRCLUST_ISA=baseline $(SANITIZED) $(KERNEL_LAWS) && $(SANITIZED) kernels --minutes 2)

MINUTES = 5
SEED = 0
fuzz: $(VENV)/.installed-dev   ## Spoiled kernel calls, strange fits and damaged files, MINUTES=5 of each; SEED=0
	cd tests && ended=0; for target in kernels estimators files; do \
	  $(abspath $(BIN))/python -m fuzz.$$target --minutes $(MINUTES) --seed $(SEED) || ended=1; done; exit $$ended

clean:           ## Remove everything that was made
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-coverage build dist docs/_build docs/auto_* docs/api/generated docs/results .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
