# The front door: `make help` lists what can be asked for.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup run test optimized bench figures rtl-figures lint generate soak python-tests rust-tests neon rtl-lint \
	rtl-tests rtl-proofs rtl-mutants rtl-check rtl-soak synth loom-tests mutants some-mutants smoke

# The Python of setup, which Verilator's makefiles find by its name.
python := PATH="$(CURDIR)/.venv/bin:$$PATH" PYTHONPATH=python python
# Where today's measurements are kept.
results = docs/results/$(shell date +%F)
# The Debian package that is missing here if a command fails.
lacks = $(shell $(1) >/dev/null 2>&1 || echo $(2))
# Installs Debian packages, if any are missing.
install = $(if $(strip $(1)),$(sudo) apt-get update && $(sudo) apt-get install -y --no-install-recommends $(1))
sudo = $(if $(filter 0,$(shell id -u)),,$(or $(shell command -v sudo),$(error please install: $(1))))

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 24

setup: .venv/installed ## install what tests and plots need: missing Debian packages, Python tools in .venv

run: ## serve, index the files under /usr over the wire, and take a tour; needs nothing but Rust
	cargo run --release -p honeycomb-cli -- tour /usr

test: setup lint loom-tests python-tests rust-tests neon rtl-tests rtl-proofs rtl-check some-mutants smoke ## everything that must pass

optimized: setup ## compile the program with a profile of what servers do, 3 minutes: target/optimized/release/honeycomb
	$(python) tools/optimize.py

bench: setup ## measure Honeycomb beside other ordered maps, about ten minutes, and plot: out/bench
	cargo run --release -p honeycomb-bench -- run --out out/bench
	$(python) -m honeycomb_plots bench out/bench/bench.json

figures: bench ## measure and draw the figures of the paper: docs/results/<today>/figures.md
	cargo run --release -p honeycomb-bench -- figure all --out out/figures
	$(python) -m honeycomb_plots figures out/figures
	mkdir -p $(results)/figures && cp out/bench/*.svg out/figures/*.svg $(results)/figures/
	cp out/figures/figures.md $(results)/

# With as many units as the paper has, and room for as many nodes as its store has: a build for itself, which takes
# some minutes.
rtl-figures: export HONEYCOMB_RTL_PARAMETERS = SearchUnits=14 SearchDescents=3 ScanUnits=14 ScanSlots=3 LidCount=1048576
rtl-figures: setup ## simulate the accelerator for docs/results/<today>/rtl-figures.md: an hour with the build, 6 GB
	cargo run --release --target-dir target/paper -p honeycomb-simulator -- figures all --out out/rtl-figures
	$(python) -m honeycomb_plots rtl-figures out/rtl-figures
	mkdir -p $(results)/figures && cp out/rtl-figures/*.svg $(results)/figures/
	cp out/rtl-figures/rtl-figures.md $(results)/

lint: setup rtl-lint ## formatting, clippy, the rules of the house, SystemVerilog
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test -p honeycomb-tidy

synth: setup ## synthesize the accelerator for docs/results/<today>/synthesis.md: a quarter of an hour
	$(python) rtl/synth/synthesize.py

generate: ## write what layout/layout.toml defines: Rust, SystemVerilog, Python, Markdown
	python3 layout/generate.py

soak: ## random concurrent histories, checked for linearizability, half an hour each: trees, reads, simulation, server
	for package in btree accelerator simulator server; do HONEYCOMB_SOAK_SECONDS=1800 \
		cargo test --release -p honeycomb-$$package --test history -- --nocapture || exit 1; done
	HONEYCOMB_SOAK_SECONDS=60 cargo test --release -p honeycomb-server --test expiry -- --nocapture
	HONEYCOMB_SOAK_SECONDS=300 cargo test --release -p honeycomb-server --test memory -- --nocapture
	cargo test --release -p honeycomb-store --test store -- --ignored --nocapture queue

# Such as `make rtl-soak HONEYCOMB_LOCKSTEP_REQUESTS=100000`.
rtl-soak: export HONEYCOMB_LOCKSTEP_REQUESTS ?= 10000000
rtl-soak: export HONEYCOMB_LOCKSTEP_SEEDS ?= 2000
rtl-soak: setup ## ten million random requests to the simulated accelerator beside the software accelerator: hours
	cargo test --release -p honeycomb-simulator --test lockstep -- --nocapture

python-tests: setup
	$(call install,$(call lacks,redis-server --version,redis-server) $(call lacks,memcached -V,memcached))
	python3 layout/generate.py --check
	$(python) -m unittest discover -s layout/test
	cargo build -p honeycomb-cli
	HONEYCOMB=target/debug/honeycomb $(python) -m unittest discover -s python

rust-tests: setup
	cargo test --workspace
	cargo test -p honeycomb-server --features rtl --test rtl

rtl-lint: setup
	$(python) rtl/test/lint.py

rtl-tests: setup
	$(python) -m pytest --quiet --numprocesses auto --dist worksteal rtl/test
	$(python) rtl/test/coverage.py

rtl-proofs: setup
	$(python) rtl/formal/prove.py

rtl-mutants: setup
	$(python) tools/rtl_mutants.py

# One of so many mutants: with each commit others, so that all have their turn.
share = --every $(1) --from $$(($$(git rev-list --count HEAD 2>/dev/null || echo 0) % $(1)))

# Of what takes too long for every run a little: small modules, and some of the mutants.
rtl-check: setup
	$(python) rtl/synth/synthesize.py --check
	$(python) tools/rtl_mutants.py $(call share,7)

neon: ## the vectors of 64-bit ARM beside plain code, on an emulator
	$(call install,$(call lacks,qemu-aarch64 --version,qemu-user) \
		$(call lacks,aarch64-linux-gnu-gcc --version,gcc-aarch64-linux-gnu libc6-dev-arm64-cross))
	rustup target add aarch64-unknown-linux-gnu
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
		cargo test -p honeycomb-memory --test heads --target aarch64-unknown-linux-gnu

loom-tests:
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom \
		cargo test --release --lib -p honeycomb-memory loom_

mutants: ## take each rule out of the code, one at a time: a test must fail, ten minutes
	python3 tools/mutants.py

# And of these.
some-mutants:
	python3 tools/mutants.py $(call share,4)

smoke: setup
	cargo run --release -p honeycomb-bench -- run --smoke --out out/smoke
	$(python) -m honeycomb_plots bench out/smoke/bench.json
	cargo run --release -p honeycomb-bench -- figure all --smoke --out out/smoke/figures
	$(python) -m honeycomb_plots figures out/smoke/figures

.venv/installed: requirements.txt
	$(call install,$(call lacks,c++ --version,g++) $(call lacks,perl -MPod::Usage -e 1,perl) \
		$(call lacks,python3 -c 'import ensurepip',python3-venv))
	cargo fmt --version && cargo clippy --version || rustup component add rustfmt clippy
	python3 -m venv .venv && .venv/bin/pip install --quiet --requirement requirements.txt
	touch $@
