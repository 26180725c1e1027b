# The everyday commands. `make help` lists them; everything else is `cargo run -q -p xtask -- --help`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup up down test soak bench lint requirements

# nextest where it is installed: one process per test, and a summary worth reading.
RUN_TESTS := $(shell command -v cargo-nextest >/dev/null 2>&1 && echo 'cargo nextest run' || echo 'cargo test')
XTASK := cargo run -q --locked -p xtask --

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

setup: ## install what the other targets need and is missing (Debian packages)
	@scripts/setup.sh

up: setup ## build the product, set up its home and check it
	@scripts/up.sh

down: ## stop what `make up` started and say what stays
	@scripts/down.sh

test: setup lint requirements ## run all tests
	@test -d "$${HOLDFAST_TEST_DATA:-../shared/data}" || echo "test: published conformance vectors are not run, HOLDFAST_TEST_DATA is not set; the project's own are" >&2
	$(RUN_TESTS) --workspace --locked

soak: setup ## run the tests with the long counts of kills and faults
	HOLDFAST_SOAK=1 $(RUN_TESTS) --workspace --locked

bench: setup ## measure against peers in one run and write docs/benchmarks.md
	cargo run --release --locked -p holdfast-bench -- --out docs/benchmarks.md

lint: setup ## formatting, clippy, dependencies, and a validator for every kind of file
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@scripts/deny.sh
	$(XTASK) lint

requirements: ## which requirements are shown by tests
	$(XTASK) requirements
