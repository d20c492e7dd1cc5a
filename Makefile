# The front door: `make help` lists the targets.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup run check test optimized bench figures rtl-figures unordered-figures lint generate generated \
	soak python-tests rust-tests neon rtl-lint rtl-tests rtl-quick rtl-proofs rtl-mutants rtl-check rtl-soak synth \
	loom-tests mutants some-mutants smoke format clippy clippy-all tidy unit-tests short-histories loom-quick

# The Python of setup; Verilator's makefiles find it by its name.
python := PATH="$(CURDIR)/.venv/bin:$$PATH" PYTHONPATH=python python
# The folder of today's measurements.
results = docs/results/$(shell date +%F)
# The Debian package that provides a command, if the command fails here.
lacks = $(shell $(1) >/dev/null 2>&1 || echo $(2))
# Installs Debian packages, if any are missing.
install = $(if $(strip $(1)),$(sudo) apt-get update && $(sudo) apt-get install -y --no-install-recommends $(1))
sudo = $(if $(filter 0,$(shell id -u)),,$(or $(shell command -v sudo),$(error please install: $(1))))

# Runs targets and prints the seconds of each.
steps = MAKE="$(MAKE)" python3 tools/steps.py
# One in $(1) of the mutants, others with each commit, so that each is tried in time.
share = --every $(1) --from $$(($$(git rev-list --count HEAD 2>/dev/null || echo 0) % $(1)))

help: ## list the targets
	@sed -n -e 's/^##@ /\n/p' -e 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 24

##@ Use

setup: .venv/installed ## install missing Debian packages, and Python tools into .venv, for tests and plots

run: ## serve, index the files under /usr over the wire, kill the server, and take a tour; needs only Rust
	cargo run --release -p honeycomb-cli -- tour --dir out/tour /usr

optimized: setup ## compile the program with a profile of what servers do, 3 minutes: target/optimized/release/honeycomb
	$(python) tools/optimize.py

##@ Check

# Clippy and tests compile the default members of the workspace, which do not need the Verilated model.
check: ## run what finds most mistakes, in minutes; print the seconds of each step
	$(steps) setup format generated tidy clippy unit-tests short-histories loom-quick rtl-lint rtl-quick

test: ## run everything that must pass, as .ci/run does; print the seconds of each step
	$(steps) setup lint loom-tests python-tests rust-tests neon rtl-tests rtl-proofs rtl-check some-mutants smoke

lint: setup rtl-lint format clippy-all tidy ## formatting, clippy, the rules of the repository, SystemVerilog

mutants: ## remove each rule from the code in turn: a test must fail; ten minutes
	python3 tools/mutants.py

neon: ## compare the vector code of 64-bit ARM with plain code, on an emulator
	$(call install,$(call lacks,qemu-aarch64 --version,qemu-user) \
		$(call lacks,aarch64-linux-gnu-gcc --version,gcc-aarch64-linux-gnu libc6-dev-arm64-cross))
	rustup target add aarch64-unknown-linux-gnu
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-D warnings" \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
		cargo test -p honeycomb-memory --test heads --target aarch64-unknown-linux-gnu

soak: ## random concurrent histories, checked for linearizability, half an hour each: indexes, reads, simulation, server
	for package in btree hashtable accelerator simulator server; do HONEYCOMB_SOAK_SECONDS=1800 \
		cargo test --release -p honeycomb-$$package --test history -- --nocapture || exit 1; done
	HONEYCOMB_SOAK_RESTARTS=5000 cargo test --release -p honeycomb-server --test history -- --nocapture restarts
	HONEYCOMB_SOAK_ROUNDS=200 cargo test --release -p honeycomb-cli --test kill -- --nocapture killed
	HONEYCOMB_MODEL_STEPS=10000000 cargo test --release -p honeycomb-hashtable --test model -- --nocapture
	HONEYCOMB_SOAK_SECONDS=60 cargo test --release -p honeycomb-server --test expiry -- --nocapture
	HONEYCOMB_SOAK_SECONDS=300 cargo test --release -p honeycomb-server --test memory -- --nocapture
	HONEYCOMB_SOAK_CRASHES=100000 cargo test --release -p honeycomb-log --test crashes -- --nocapture random
	PROPTEST_CASES=500000 cargo test --release -p honeycomb-log --test parsers --test checksums
	PROPTEST_CASES=2000000 cargo test --release -p honeycomb-log --test parsers --test checksums manifest
	HONEYCOMB_SOAK_CASES=100000 cargo test --release -p honeycomb-store --test durability -- --nocapture bodies
	HONEYCOMB_SOAK_CRASHES=100000 cargo test --release -p honeycomb-store --test durability -- --nocapture random
	cargo test --release -p honeycomb-store --test store -- --ignored --nocapture queue

# Such as `make rtl-soak HONEYCOMB_LOCKSTEP_REQUESTS=100000`. HONEYCOMB_RTL_UNKNOWNS=unique compiles a model in which
# registers before their reset, words of memories and other unknown values are random; they follow from the seed.
rtl-soak: export HONEYCOMB_LOCKSTEP_REQUESTS ?= 10000000
rtl-soak: export HONEYCOMB_LOCKSTEP_SEEDS ?= 2000
rtl-soak: setup ## ten million random requests to the simulated accelerator beside the software accelerator: hours
	cargo test --release -p honeycomb-simulator --test lockstep -- --nocapture

##@ Measure

bench: setup ## measure Honeycomb beside other ordered maps, about ten minutes, and plot: out/bench
	cargo run --release -p honeycomb-lab -- run --out out/bench
	$(python) -m honeycomb_plots bench out/bench/bench.json

figures: bench ## measure and draw the figures of the paper: docs/results/<today>/figures.md
	cargo run --release -p honeycomb-lab -- figure all --out out/figures
	$(python) -m honeycomb_plots figures out/figures
	mkdir -p $(results)/figures && cp out/bench/*.svg out/figures/*.svg $(results)/figures/
	cp out/figures/figures.md $(results)/

unordered-figures: setup ## the unordered index beside KV-Direct: accesses, throughput, atomics, dispatch ratio
	mkdir -p out/unordered $(results)/figures
	cargo test -q -p honeycomb-hashtable --test accesses -- --nocapture --test-threads 1 > out/unordered/accesses.txt
	cargo run --release -p honeycomb-lab -- unordered --parts mixes,skew,wire --pairs 1000000 --seconds 0.2 \
		> out/unordered/rates.txt
	$(python) -m honeycomb_plots unordered out/unordered
	cp out/unordered/*.svg $(results)/figures/

# With units that fit the paper's card (docs/decisions/0149-units-that-fit.md), and room for as many nodes as its store
# has: a build for itself, which takes some minutes.
rtl-figures: export HONEYCOMB_RTL_PARAMETERS = SearchUnits=3 SearchDescents=19 ScanUnits=5 ScanSlots=16 \
	LidCount=1048576 KeptLids=8192
rtl-figures: setup ## simulate the accelerator for docs/results/<today>/rtl-figures.md: an hour with the build, 6 GB
	cargo run --release --target-dir target/paper -p honeycomb-simulation -- figures all --out out/rtl-figures
	$(python) -m honeycomb_plots rtl-figures out/rtl-figures
	mkdir -p $(results)/figures && cp out/rtl-figures/*.svg $(results)/figures/
	cp out/rtl-figures/rtl-figures.md $(results)/

rtl-cycles: setup ## lines and cycles of requests to a range scan unit: minutes
	$(python) rtl/test/measure_scans.py

synth: setup ## timing and size of the accelerator, for docs/results/<today>/synthesis.md: two hours, 4 GB
	$(python) rtl/synth/synthesize.py

##@ Generate

generate: ## write what layout/layout.toml defines: Rust, SystemVerilog, Python, Markdown
	python3 layout/generate.py

# The steps of check and test.

format:
	cargo fmt --all --check

generated:
	python3 layout/generate.py --check

clippy:
	cargo clippy --all-targets -- -D warnings

# In a folder of its own, because Clippy does not need the Verilated model, which takes minutes to compile.
clippy-all:
	HONEYCOMB_RTL_MODEL=none CARGO_TARGET_DIR=target/lint cargo clippy --workspace --all-targets -- -D warnings

tidy:
	cargo test --quiet -p honeycomb-tidy

# Without a package, so that all steps share one build of the dependencies.
unit-tests:
	cargo test --quiet --lib --bins --test model --test serial --test node --test epochs --test exchange --test store
	python3 -m unittest discover -s tools

short-histories:
	cargo test --quiet --test history

# The programs as the tests of the workspace build them: other features would build most crates once more.
programs = cargo test --workspace --features honeycomb-cli/rtl

python-tests: setup
	$(call install,$(call lacks,redis-server --version,redis-server) $(call lacks,memcached -V,memcached))
	python3 layout/generate.py --check
	$(python) -m unittest discover -s layout/test
	$(programs) --no-run
	HONEYCOMB=target/debug/honeycomb $(python) -m unittest discover -s python
	$(python) -m unittest discover -s tools

rust-tests: setup
	$(programs)

loom-tests:
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom \
		cargo test --release --lib -p honeycomb-memory -p honeycomb-hashtable loom_

# The models of the lock word, the free list and the versions; those of epochs and leases take longer.
loom-quick:
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom \
		cargo test --quiet --release --lib -p honeycomb-memory -p honeycomb-hashtable loom_ \
		-- --skip epochs --skip lease --skip retire

rtl-lint: setup
	$(python) rtl/test/lint.py

rtl-tests: setup
	$(python) -m pytest --quiet --numprocesses auto --dist worksteal rtl/test
	$(python) rtl/test/coverage.py

# One seed of the modules, without the units, engines and systems, which take minutes each.
rtl-slow = accelerator_top standard_models pcie_top range_scan_unit key_search_unit scan_engine search_engine \
	memory_system node_cache_system columns_system
rtl-quick: setup
	HONEYCOMB_SEED=1 $(python) -m pytest --quiet --numprocesses auto --dist worksteal rtl/test \
		$(rtl-slow:%=--ignore rtl/test/test_%.py)

rtl-proofs: setup
	$(python) rtl/formal/prove.py

rtl-mutants: setup
	$(python) tools/rtl_mutants.py

# Samples of what takes too long for every run: limits of some modules, and some of the mutants.
rtl-check: setup
	$(python) -m unittest discover -s rtl/synth
	$(python) rtl/synth/synthesize.py --check $(call share,4)
	$(python) tools/rtl_mutants.py $(call share,30)

some-mutants:
	python3 tools/mutants.py $(call share,50)

smoke: setup
	$(programs) --no-run
	target/debug/honeycomb-bench run --smoke --out out/smoke
	$(python) -m honeycomb_plots bench out/smoke/bench.json
	target/debug/honeycomb-bench figure all --smoke --out out/smoke/figures
	$(python) -m honeycomb_plots figures out/smoke/figures
	target/debug/honeycomb-bench unordered --parts maps,atomics,reductions,mixes,skew,wire,seam --pairs 20000 \
		--rounds 1 --seconds 0.002
	target/debug/honeycomb-bench durability --dir out/smoke/durability --pairs 20000 --rounds 1
	target/debug/honeycomb-bench leaf-forms --pairs 20000 --keys 10000 --rounds 1 --seconds 0.002

.venv/installed: requirements.txt
	$(call install,$(call lacks,c++ --version,g++) $(call lacks,perl -MPod::Usage -e 1,perl) \
		$(call lacks,python3 -c 'import ensurepip',python3-venv))
	cargo fmt --version && cargo clippy --version || rustup component add rustfmt clippy
	python3 -m venv .venv && .venv/bin/pip install --quiet --requirement requirements.txt
	touch $@
