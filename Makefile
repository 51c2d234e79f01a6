# Thin targets for people; the work lives in `cargo xtask` and in the crates. Each installs what it lacks.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test test-all check-all advisories test-kubernetes test-openstack test-rclone check fuzz docs bench bench-quick bench-picks bench-decisions bench-reaction bench-fleet bench-generators bench-servers bench-storage bench-watch bench-soak lab-lvs package picture profile release

FUZZ_SECONDS ?= 30
# What the random inputs grow from; 0 = another one each time.
FUZZ_SEED ?= 1
# Passed on to the bench harness, e.g. BENCH='--only 1k-keepalive --repeats 3'.
BENCH ?=

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

demo: ## several web servers, a balancer in front, traffic, and a live view of it; WEIR=FILE: by a program that is built
ifdef WEIR
	@$(WEIR) demo
else
	@[ -e "$${CARGO_TARGET_DIR:-target}/quick/weir" ] || printf '%s\n' \
		'make demo builds Weir first. The first time takes, on two idle cores:' \
		'  time     two and a half minutes, and the downloads' \
		'  network  about 30 MB of crates; the Rust toolchain and Debian packages, where they are missing' \
		'  disk     640 MB in target/, 240 MB in ~/.cargo' \
		'The demo itself needs no network. With a program that is built: make demo WEIR=FILE'
	@scripts/setup build
	@# Without the features that take longest to compile: the demo uses none of them.
	cargo run --profile quick --package weir --no-default-features -- demo
endif

test: ## format, house rules, dependencies, lints and every test: all that a change must pass
	@scripts/setup test
	cargo xtask ci

test-all: ## that, what takes minutes, what `make check-all` looks at, and what needs a network; over an hour
	@scripts/setup test-long
	cargo xtask ci --long
	$(MAKE) check-all test-rclone test-openstack test-kubernetes advisories

test-rclone: ## rclone with ten thousand files against a storage area; takes minutes
	@scripts/setup test
	WEIR_RCLONE_FILES=10000 cargo xtask test --test storage -- --nocapture rclone_synchronises_many

OPENSTACK := $(CURDIR)/target/openstack
test-openstack: ## fleets in OpenStack with a real control plane, provider and program; downloads it, takes minutes
	@scripts/setup openstack
	cargo xtask test --bins --test fleet --no-run
	@# Stopped whatever the tests say, and when not all of it comes up.
	tests/openstack/control_plane.py up $(OPENSTACK) && \
		OS_CLIENT_CONFIG_FILE=$(OPENSTACK)/clouds.yaml WEIR_OPENSTACK_HOSTS=3 \
			cargo xtask test --test fleet -- --ignored --test-threads 2 openstack_real; \
	said=$$?; tests/openstack/control_plane.py down $(OPENSTACK); exit $$said

KUBERNETES := $(CURDIR)/target/kubernetes
test-kubernetes: ## the fleet's Kubernetes provider with a real control plane; builds it with Go, takes minutes the first time
	@scripts/setup kubernetes
	tests/kubernetes/control_plane.py build $(KUBERNETES)
	cargo xtask test --bins --test fleet --no-run
	tests/kubernetes/control_plane.py run $(KUBERNETES) \
		cargo xtask test --test fleet -- --ignored --test-threads 2 kubernetes_real

check: ## format, house rules, dependencies and lints, without running tests
	@scripts/setup build
	cargo xtask ci --no-tests

check-all: ## lints with and without features, of benches and of fuzz targets; the program of the demo; documentation with its examples; cargo-deny
	@scripts/setup build
	cargo xtask workspace --long clippy --features weir-fuzz/targets --all-targets -- --deny warnings
	@# Crates that compile differently without these features.
	cargo clippy --workspace --features weir-fleet/kubernetes-libraries --all-targets -- --deny warnings
	@# The program of `make demo`, and what it says of the features that it lacks.
	cargo clippy --profile quick --package weir --no-default-features --all-targets -- --deny warnings
	cargo test --profile quick --package weir --no-default-features --test lean
	RUSTDOCFLAGS='--deny warnings' cargo xtask workspace doc --no-deps
	cargo xtask test --doc
	cargo xtask deny

advisories: ## known vulnerabilities of dependencies; downloads the advisory database
	@scripts/setup build
	cargo xtask deny --advisories

fuzz: ## every fuzz target with libFuzzer for FUZZ_SECONDS (30) or a third of it, from FUZZ_SEED (1)
	@scripts/setup build
	cargo xtask fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

docs: ## the code's documentation, in target/doc
	@scripts/setup build
	RUSTDOCFLAGS='--deny warnings' cargo xtask workspace doc --no-deps --document-private-items

bench: ## paired measurements against HAProxy and NGINX; HAPROXY=... NGINX=... choose other builds
	@scripts/setup bench
	cargo xtask release
	@# All of them, whatever the answer of the others is; those after the first only where everything is measured.
	cargo build --profile harness --package weir-bench
	bench=$${CARGO_TARGET_DIR:-target}/harness/weir-bench; worst=0; \
	for part in 'compare $(BENCH)' $(if $(BENCH),,storage simulation servers generators fleet decisions reaction watch); do \
		$$bench $$part || { kept=$$?; [ $$kept -gt $$worst ] && worst=$$kept; }; \
	done; exit $$worst

bench-servers: ## CPU a request with 3 and with 10,000 servers; BENCH='--only random' that algorithm, BENCH=--all every one
	@scripts/setup bench
	cargo xtask release
	cargo run --profile harness --package weir-bench -- servers $(BENCH)

bench-generators: ## weir load beside wrk, ab, httperf, h2load and whichever of oha, k6, vegeta and wrk2 are here
	@scripts/setup bench
	cargo xtask release
	cargo run --profile harness --package weir-bench -- generators $(BENCH)

bench-quick: ## the same with short runs: shapes, not results
	@scripts/setup bench
	cargo xtask release
	cargo run --profile harness --package weir-bench -- compare --quick $(BENCH)

bench-picks: ## what choosing a server costs, for every algorithm; BENCH='least' only those with that in their name
	@scripts/setup build
	cargo bench --package weir-bench --bench picks -- $(BENCH)

bench-decisions: ## what a round of scaling decisions costs, for 1,000 fleets with 10,000 servers
	@scripts/setup bench
	cargo run --profile harness --package weir-bench -- decisions

bench-reaction: ## from a step in demand to the start of a server, with the default policy
	@scripts/setup bench
	cargo xtask release
	cargo run --profile harness --package weir-bench -- reaction $(BENCH)

bench-fleet: ## the default scaling policy beside the published rule, and forecasts, on simulated demand
	@scripts/setup bench
	cargo xtask release
	cargo run --profile harness --package weir-bench -- fleet $(BENCH)

bench-storage: ## what serving and storing files costs, beside NGINX and, STORM=its jar, StoRM WebDAV; BENCH='--only download' that part
	@scripts/setup bench
	cargo xtask release
	cargo run --profile harness --package weir-bench -- storage $(BENCH)

bench-watch: ## what a fast loop of weir watch costs
	@scripts/setup bench
	cargo xtask release
	cargo run --profile harness --package weir-bench -- watch

bench-soak: ## ten minutes of mixed traffic; memory and descriptors must stay flat
	@scripts/setup bench
	cargo xtask release
	cargo run --profile harness --package weir-bench -- soak $(BENCH)

# Passed on to the guest, e.g. LVS='--scenario eight-tests --full' or LVS='--shift 2'.
LVS ?=
lab-lvs: ## balancers beside LVS, in a guest whose kernel has it, its time counted in instructions; takes minutes
	@scripts/setup lvs
	cargo xtask release
	io/lab/guest/guest.py --weir $${CARGO_TARGET_DIR:-target}/release/weir $(LVS)

release: ## the optimised program, target/release/weir
	@scripts/setup build
	cargo xtask release

profile: ## packaging/weir.profdata anew, by which the release is laid out; for another toolchain or other dependencies
	@scripts/setup profile
	cargo xtask profile

picture: ## the picture of the README anew, from a demo that runs for some seconds
	@scripts/setup test
	cargo build --workspace --bins
	cargo xtask test --test tools -- --ignored the_data_of_the_picture
	WEIR_UPDATE_DOCS=1 cargo xtask test --bin weir -- the_picture_of_the_readme

package: ## a tarball and a Debian package, in dist/
	@scripts/setup package
	cargo xtask package
