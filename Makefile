# Shortcuts. `make` alone lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

SCENARIO ?= scenarios/hadoop-fat-tree.toml
OUT ?= out/$(notdir $(basename $(SCENARIO)))
PREFIX ?= $(or $(CARGO_INSTALL_ROOT),$(CARGO_HOME),$(HOME)/.cargo)
FUZZ_SECONDS ?= 10
FUZZ_SANITIZER ?= address
# The same inputs in every run; 0 for others each time.
FUZZ_SEED ?= 1
# Each with inputs per second: half of what a core manages.
FUZZ_TARGETS := scenario:1500 topology:15000 flows:15000 sizes:3000 hpcc_config:150 htsim:300 wire:25000 pair:190 drum_file:6000 drum_column:30000 multipath:15000 softnic:3000 rings:3000 faults:15000 cm:3000 goal:15000 chakra:12000

# rustup downloads the toolchain that rust-toolchain.toml pins. If one of the same version is already
# there under another name (`stable`, say), that one serves.
PINNED := $(shell sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
ifeq ($(RUSTUP_TOOLCHAIN),)
INSTALLED := $(shell command -v rustup >/dev/null && rustup toolchain list 2>/dev/null | cut -d' ' -f1)
ifeq ($(filter $(PINNED)%,$(INSTALLED)),)
SAME := $(firstword $(foreach name,$(INSTALLED),$(if $(filter $(PINNED),$(shell rustup run $(name) rustc --version)),$(name))))
ifneq ($(SAME),)
export RUSTUP_TOOLCHAIN := $(SAME)
endif
endif
endif

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# `run` and `compare` build with profile quick, whose programs are ready in two fifths of the processor time of a release.
.PHONY: run
run: tools ## Run a scenario (SCENARIO=..., by default the Hadoop fat tree) and write its report
	@cargo build --profile quick --locked -p fairlane-cli --bin fairlane
	@mkdir -p $(dir $(OUT))
	@cargo run --quiet --profile quick --locked -p fairlane-cli --bin fairlane -- run $(SCENARIO) --out $(OUT) --force
	@echo
	@echo "report: $(OUT)/report.html (one file, open it in a browser)"

# The list of algorithms, from where it is kept.
CONTROLLERS := $(shell sed -n 's/^ *[A-Za-z]*(\([a-z]*\));$$/\1/p' crates/congestion/src/algorithm.rs)

.PHONY: compare
compare: tools ## Run scenarios/incast-controllers.toml under every congestion control, side by side
	@cargo build --profile quick --locked -p fairlane-cli --bin fairlane
	@mkdir -p out/incast
	@set -e; for name in $(CONTROLLERS); do \
		cargo run --quiet --profile quick --locked -p fairlane-cli --bin fairlane -- run scenarios/incast-controllers.toml \
			--set congestion.algorithm=$$name --out out/incast/$$name --force >/dev/null; \
	done
	@cargo run --quiet --profile quick --locked -p fairlane-cli --bin fairlane -- compare $(addprefix out/incast/,$(CONTROLLERS))

.PHONY: reproduce
reproduce: tools ## Run every published experiment again; rows and plots go to out/reproduce
	@cargo build --release --locked -p fairlane-cli --bin fairlane
	@mkdir -p out/reproduce
	@cargo run --quiet --release --locked -p fairlane-cli --bin fairlane -- reproduce all --out out/reproduce --force

# Libraries for programs that use verbs. Their archives become shared objects with versioned symbols.
.PHONY: verbs
verbs: tools ## Libraries that verbs programs run on as they are, into target/verbs (see docs/verbs-programs.md)
	@cargo build --release --locked -p fairlane-verbs -p fairlane-rdmacm -p fairlane-sysfs-preload -p fairlane-shared-object
	@target/release/shared-object crates/verbs/symbols.txt target/release/libfairlane_verbs.a target/verbs/libibverbs.so.1
	@target/release/shared-object crates/rdmacm/symbols.txt target/release/libfairlane_rdmacm.a target/verbs/librdmacm.so.1 target/verbs/libibverbs.so.1
	@cp target/release/libfairlane_sysfs_preload.so target/verbs/libfairlane-sysfs.so

# Two at a time: what Python's tests need is fetched beside the lints, and they keep one processor busy.
.PHONY: install
install: verbs ## The command into PREFIX/bin (by default where cargo installs), libraries for verbs programs into PREFIX/lib/fairlane
	@cargo install --locked --path crates/cli --root "$(DESTDIR)$(PREFIX)"
	@mkdir -p "$(DESTDIR)$(PREFIX)/lib/fairlane"
	@cp target/verbs/libibverbs.so.1 target/verbs/librdmacm.so.1 target/verbs/libfairlane-sysfs.so "$(DESTDIR)$(PREFIX)/lib/fairlane"

.PHONY: test
test: tools ## Everything that must pass: format, lints, docs, Python, tests (WebAssembly and programs of others too)
	@$(MAKE) --no-print-directory -j2 python fmt-check lint doc test-programs
	@$(MAKE) --no-print-directory unit

.PHONY: test-programs
test-programs: tools
	@cargo test --workspace --locked --no-run
	@cargo test --workspace --locked --no-run --test interop

# Tests with programs of others mostly wait, and measure time: they go first wherever they have something to do. Those of
# labs in real time need the machine, and come last. With
# FAIRLANE_REQUIRE=tools a test that is skipped because something isn't installed fails.
.PHONY: unit
unit: test-programs ## Tests of the whole workspace
	@set -o pipefail; mkdir -p target; \
	{ ( trap - INT; exec cargo test --workspace --locked --test interop -- --skip lab_ $(SHOW_OUTPUT) ) >target/interop.log 2>&1 & \
		failed=0; nice cargo test --workspace --locked -- $(SHOW_OUTPUT) 2>&1 || failed=1; \
		wait $$! || failed=1; cat target/interop.log; \
		cargo test --workspace --locked --test interop -- lab_ $(SHOW_OUTPUT) 2>&1 || failed=1; exit $$failed; } | awk ' \
		/^successes:$$/ { quiet = 1 } \
		/^(failures:|test result:)/ { quiet = 0 } \
		!quiet { print; fflush() } \
		/^test result:/ { passed += $$4; failed += $$6 } \
		quiet && /^skipped:/ { skipped[$$0]++ } \
		END { printf "\ntests: %d passed, %d failed\n", passed, failed; \
			for (why in skipped) { \
				missing = why ~ /Debian:|installed|in PATH/; \
				printf "%s: %d %s\n", missing ? "error" : "note", skipped[why], why; \
				status += missing } \
			exit status > 0 }'

SHOW_OUTPUT := $(if $(FAIRLANE_REQUIRE),--show-output)

.PHONY: fmt-check
fmt-check: tools
	cargo fmt --all --check

.PHONY: fmt
fmt: tools ## Format all code
	cargo fmt --all

.PHONY: lint
lint: tools ## Clippy on all targets, warnings are errors
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --workspace --test interop --locked -- -D warnings

.PHONY: doc
doc: tools ## API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

.PHONY: fuzz
fuzz: tools ## Every fuzz target for about FUZZ_SECONDS (10) each, if cargo-fuzz and a nightly toolchain are there
	@if ! cargo +nightly fuzz --version >/dev/null 2>&1; then \
		echo "fuzz targets skipped: they need a nightly toolchain and cargo-fuzz (cargo install cargo-fuzz);"; \
		echo "the property tests of fairlane-scenario and fairlane-cases cover the same parsers"; \
	else \
		mkdir -p fuzz/corpus; \
		cargo +nightly fuzz build -s $(FUZZ_SANITIZER) >fuzz/corpus/build.log 2>&1 || { cat fuzz/corpus/build.log >&2; exit 1; }; \
		for target in $(FUZZ_TARGETS); do echo $${target%:*} $(FUZZ_SECONDS) $${target#*:} $(FUZZ_SEED) $(FUZZ_SANITIZER); done | \
			xargs -P "$$(getconf _NPROCESSORS_ONLN)" -L 1 fuzz/run; \
	fi

VENV := target/python
PYTHON_TOOLS := 'maturin>=1.10,<2' 'numpy>=1.22' 'pytest>=8' 'mypy>=1.10' 'matplotlib>=3.8' polars pandas pyarrow duckdb

.PHONY: python
python: tools ## The Python package: build it into target/python, test it, check its stubs; without Python 3.9 or those tools this is skipped
	@if ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then \
		echo "python skipped: it needs Python 3.9 or later with venv"; \
	elif ! { test $(VENV)/tools -nt Makefile || { python3 -m venv $(VENV) && \
			$(VENV)/bin/pip install -q $(PYTHON_TOOLS) && \
			{ $(VENV)/bin/pip install -q --only-binary :all: 'ray>=2.9' || echo "no ray for this Python: its tests are skipped"; } && \
			touch $(VENV)/tools; }; }; then \
		echo "python skipped: its tools can't be installed, see above"; \
	else \
		. $(VENV)/bin/activate; \
		maturin develop --quiet --locked --manifest-path python/Cargo.toml >/dev/null; \
		cd python; python -m pytest -q -rs; python -m mypy fairlane; python -m mypy.stubtest --allowlist tools/stubtest.txt fairlane; \
	fi

.PHONY: wasm
wasm: tools ## Crates without operating system for WebAssembly, if its target is there: they import nothing
	@cargo test --quiet --locked -p fairlane-tests --test wasm -- --nocapture

.PHONY: miri
miri: tools ## The tests of wire under Miri, if a nightly toolchain with Miri is there
	@if ! cargo +nightly miri --version >/dev/null 2>&1; then \
		echo "miri skipped: it needs a nightly toolchain (rustup component add miri --toolchain nightly)"; \
	else \
		cargo +nightly miri test --quiet --locked -p fairlane-wire --lib --test properties; \
	fi

.PHONY: bench
bench: tools ## Cost per operation and per packet transmission, and memory: one table
	@cargo run --release --locked -p fairlane-benches

.PHONY: clean
clean: tools ## Remove everything built
	cargo clean

.PHONY: tools
tools:
	@command -v cargo >/dev/null || { \
		echo "error: cargo isn't installed" >&2; \
		echo "hint: install Rust $(PINNED) or newer, with rustup (https://rustup.rs) or from your distribution" >&2; \
		exit 2; }
	@command -v cc >/dev/null || { \
		echo "error: no C compiler: Rust needs its linker" >&2; \
		echo "hint: install one (Debian, Ubuntu: apt-get install build-essential)" >&2; \
		exit 2; }
