# The everyday commands. `make help` lists them; everything else is `cargo run -q -p xtask -- --help`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup up down doorman deb lab lab-shell built test soak fresh bench lint tidy requirements third-parties authenticator

# nextest where it is installed: one process per test, and a summary worth reading. Two more at once than there are processors:
# tests with a machine of their own begin first and mostly wait.
RUN_TESTS := $(shell command -v cargo-nextest >/dev/null 2>&1 && echo "cargo nextest run --test-threads $$(($$(nproc) + 2))" || echo 'cargo test')
# Apart from the workspace: they have lock files of their own, for reasons that their Cargo.toml say.
THIRD_PARTIES := $${CARGO_TARGET_DIR:-$(CURDIR)/target}/third-parties
XTASK := cargo run -q --locked -p xtask --

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

setup: ## install what the tests and linters need and is missing (Debian packages)
	@scripts/setup.sh test

up: ## build the product and run it in the foreground; a home is made on the first run
	@scripts/up.sh

down: ## stop what `make up` runs, from elsewhere, and say what stays
	@scripts/down.sh

doorman: ## build the doorman for targets as one static file, and say where it lies
	@scripts/setup.sh build
	@scripts/doorman.sh

deb: ## build the Debian package with its list of parts and checksums, and say where they lie
	@scripts/setup.sh build
	@scripts/deb.sh

lab: setup ## build the machines that tests run in, and install the programs they run, once
	@lab/guest.sh build
	@scripts/model-clis.sh
	@scripts/model.sh
	@scripts/smtp.sh
	@scripts/browser.sh
	@scripts/schemathesis.sh
	@scripts/schemas.sh
	@scripts/deb.sh tool
	@scripts/deny.sh tool

lab-shell: RELEASE ?= bookworm
lab-shell: setup ## a shell in a guest of the lab, to look around; RELEASE=trixie for the other one
	@lab/guest.sh build "$(RELEASE)"
	@cargo run -q --locked -p holdfast-testkit --example lab-shell -- "$(RELEASE)"

built: setup authenticator ## build the tests without running them; a warning is an error
	@scripts/built.sh

test: setup ## run all tests, and what of `make lint` takes a moment
	@$(MAKE) --no-print-directory -j2 lab tidy requirements built
	@test -d "$${HOLDFAST_TEST_DATA:-../shared/data}" || echo "test: published conformance vectors are not run, HOLDFAST_TEST_DATA is not set; the project's own are" >&2
	$(RUN_TESTS) --workspace --locked
	@$(MAKE) --no-print-directory third-parties

third-parties: ## have other people's programs judge what the journal signs and proves
	cd third-parties/judges && CARGO_TARGET_DIR=$(THIRD_PARTIES) $(RUN_TESTS) --locked

authenticator: ## build the devices in software that tests sign in with
	cd third-parties/authenticator && CARGO_TARGET_DIR=$(THIRD_PARTIES) cargo build -q --locked

soak: setup lab ## run the tests with the long counts of kills and faults, `make doorman` in guests, then `make fresh`
	HOLDFAST_SOAK=1 $(RUN_TESTS) --workspace --locked
	@scripts/doorman.sh guests
	@$(MAKE) --no-print-directory fresh

fresh: ## show that the last commit passes `make up` and `make test` in a bare Debian tree (takes root)
	@scripts/setup.sh fresh
	@scripts/fresh.sh

bench: ## measure against peers in one run and write docs/benchmarks.md
	@scripts/setup.sh bench
	@scripts/peers.sh
	@scripts/model.sh
	@lab/guest.sh build
	@$(MAKE) --no-print-directory authenticator
	cargo run --release --locked -p holdfast-bench -- --out docs/benchmarks.md

lint: setup ## formatting, clippy, dependencies with what is known against them, and a validator for every kind of file
	@scripts/deny.sh fetch
	@$(MAKE) --no-print-directory tidy
	cargo clippy --workspace --all-targets --locked -- -D warnings

tidy: setup ## what of `make lint` takes a moment
	cargo fmt --all --check
	@scripts/deny.sh
	$(XTASK) lint

requirements: ## which requirements are shown by tests
	$(XTASK) requirements
