# Two commands on a fresh Debian 12 machine, as root:
#   make up      a real Slurm cluster on this machine, ending in a finished srun
#   make test    all tests
# make up CLUSTER=examples/decoupled: the same with its critical services in capsules.
# make up CLUSTER=examples/elastic: a small one, whose compute hosts are made while Slurm jobs wait for them.
# make up CLUSTER=examples/urgent: one of virtual machines, which sleep while urgent jobs need their room.
# make up CLUSTER=examples/machines: one whose Slurm jobs may have virtual machines of their own.
# Then: make bench, make down, make format, make lint, make install, make deb; make differential (needs go).
PRESET ?= release
BUILD := build/$(PRESET)
UNDERWAY := $(BUILD)/bin/underway
JOBS ?= $(shell nproc)
# How many tests run at once: most of them wait for daemons most of the time.
LANES ?= $(shell expr 2 '*' $(JOBS))
PREFIX ?= /usr
CLUSTER ?= examples/slurm
# How many nodes the first job has.
NODES ?= $(if $(filter %/urgent %/machines,$(CLUSTER)),2,4)
# What examples/urgent and examples/machines have their machines boot.
MACHINES := /var/lib/machine-images
# How its capsule images are built: -installed takes the packages from this machine, and asks no mirror.
IMAGES ?= -installed

.PHONY: up down test bench differential format lint install deb build programs setup configure roots

up: programs
	@ln -sfn $(abspath $(UNDERWAY)) /usr/local/bin/underway
	@set -e; for build in $(wildcard $(CLUSTER)/images/build $(CLUSTER)/machine/build); do UNDERWAY=$(abspath $(UNDERWAY)) $$build $(IMAGES); done
	$(UNDERWAY) up $(CLUSTER)
	$(UNDERWAY) host exec login -- srun -N$(NODES) hostname

down:
	@if [ -x $(UNDERWAY) ]; then $(UNDERWAY) down -all -purge -no-trash -yes; else echo "nothing was built, so nothing is up"; fi
	@if [ "$$(readlink /usr/local/bin/underway)" = "$(abspath $(UNDERWAY))" ]; then rm /usr/local/bin/underway; fi
	@for made in $(MACHINES)/*/programs; do if [ "$$(readlink "$$made")" = "$(abspath $(BUILD))/bin" ]; then rm -r "$${made%/programs}"; fi; done
	@if [ -d $(MACHINES) ]; then rmdir --ignore-fail-on-non-empty $(MACHINES); fi

test: configure roots
	cmake/build $(PRESET) $(JOBS)
	ctest --preset $(PRESET) --no-tests=error -j $(LANES)

bench: build
	bench/run $(BUILD)

# Languages beside the libraries that they come from: tests/differential/README.md. SEEDS="1 2 3" or COUNT=1000 choose.
differential: configure
	cmake/build $(PRESET) $(JOBS) differential
	tests/differential/run $(BUILD)

# All there is. The tests do without the benchmarks.
build: configure
	cmake/build $(PRESET) $(JOBS) all bench/all

# What is installed.
programs: configure
	cmake/build $(PRESET) $(JOBS) programs

configure: setup
	@[ -f $(BUILD)/build.ninja ] || cmake --preset $(PRESET)

setup:
	@packaging/setup

# Other releases of Slurm, and a guest for virtual machines, which some tests need.
roots: setup
	@packaging/slurm-roots build/roots
	@packaging/guest build/guest

format: setup
	git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 -i

# clang-tidy looks at a batch (cmake/Targets.cmake) again only when it, or a header of ours that it includes, has changed;
# of what has been built ninja knows the headers.
lint: configure
	git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 --dry-run --Werror
	cmake/build $(PRESET) $(JOBS) all all_verify_interface_header_sets
	ninja -C $(BUILD) -t deps | awk -v BUILD=$(BUILD) -f cmake/tidy_rules.awk - > $(BUILD)/tidy.mk
	@$(MAKE) -s -k -j $(JOBS) -O -f $(BUILD)/tidy.mk all

install: programs
	cmake --install $(BUILD) --prefix $(PREFIX)

deb: programs
	cd $(BUILD) && cpack -G DEB
