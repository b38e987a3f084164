# make run    installs what is missing, builds what is shipped, runs the main job
# make test   installs what is missing, builds, runs every test
# make build  what is shipped: the program, its back end, the libraries
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.PHONY: run test test-long build setup clean unit e2e sanitize asan tsan tidy onnx-node-tests operator-page fuzz fuzz-long format bench bench-planner bench-planner-long bench-papers bench-runtime firmware-bench firmware-test peers programs faults faults-quick

CMAKE := /usr/bin/cmake
CTEST := /usr/bin/ctest
JOBS := $(shell nproc)
RELEASE := build/release
PANTOUM := $(RELEASE)/bin/pantoum
FASHION := /usr/share/datasets/fashion-mnist

PACKAGES := g++ gcc make cmake ninja-build pkg-config python3 python3-pip protobuf-compiler libprotobuf-dev libonnx-dev libonnx-testdata \
  nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libfmt-dev libexpected-dev libsqlite3-dev libxxhash-dev liburing-dev libsodium-dev $(if $(filter x86_64,$(shell uname -m)),libipsec-mb-dev) \
  coinor-libclp-dev coinor-libcbc-dev zlib1g-dev libpng-dev libjpeg62-turbo-dev libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev clang clang-format clang-tidy libclang-rt-14-dev \
  util-linux dataset-fashion-mnist libdnnl-dev gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm

# Installs the packages that are missing, once; silent and quick when all are there.
setup:
	@missing="$$(comm -23 <(printf '%s\n' $(PACKAGES) | sort) \
	  <(dpkg-query -W -f='$${Package} $${Status}\n' $(PACKAGES) 2>/dev/null | awk '/install ok installed/ {print $$1}' | sort) | tr '\n' ' ')"; \
	if [ -n "$${missing// /}" ]; then \
	  echo "set-up: installing $$missing"; \
	  mkdir -p build; \
	  { DEBIAN_FRONTEND=noninteractive apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } \
	    > build/setup.log 2>&1 || { tail -20 build/setup.log; echo "set-up failed; the whole log: build/setup.log"; exit 1; }; \
	fi

build: setup
	@$(CMAKE) --preset release > /dev/null
	@$(CMAKE) --build $(RELEASE) -j $(JOBS)

run: build
	@examples/fashion/run.sh $(PANTOUM) $(FASHION)

test: unit e2e faults-quick sanitize fuzz

unit: build onnx-node-tests
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target unit_tests
	@$(CTEST) --test-dir $(RELEASE) -L unit -j $(JOBS) --output-on-failure

# The node tests of the Python package onnx, once; without network their test is skipped.
onnx-node-tests: setup
	@/usr/bin/python3 tests/onnx/fetch.py

e2e: build
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target e2e_tests
	@$(CTEST) --test-dir $(RELEASE) -L e2e -j 2 --output-on-failure

# Every unit test with all of its random cases, where `make unit` asks a part.
test-long: build onnx-node-tests
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target unit_tests
	@PANTOUM_ALL_CASES=1 PANTOUM_AGREEMENT_CASES=40000 $(CTEST) --test-dir $(RELEASE) -L unit -j $(JOBS) --output-on-failure

# The unit and property tests under ASan + UBSan, and those of them that start threads under TSan.
sanitize: asan tsan

asan: TESTS := unit
tsan: TESTS := threaded
asan tsan: setup
	@$(CMAKE) --preset $@ > /dev/null
	@$(CMAKE) --build build/$@ -j $(JOBS) --target $(TESTS)_tests
	@$(CTEST) --test-dir build/$@ -L $(TESTS) -j $(JOBS) --output-on-failure

# The checks of .clang-tidy over all of src/.
tidy: setup
	@$(CMAKE) --preset tidy > /dev/null
	@$(CMAKE) --build build/tidy -j $(JOBS) --target pantoum_headers pantoum_cold_headers
	@tests/house/tidy.sh build/tidy $(JOBS)

# Whether each place of docs/adding-an-operator.md is named when it is left out; ONLY=6,12 asks some.
operator-page: build
	@/usr/bin/python3 tests/house/leave_one_out.py $(ONLY)

# Every fuzzer for a minute, side by side.
FUZZ_SECONDS := 60
fuzz: setup
	@$(CMAKE) --preset asan > /dev/null
	@$(CMAKE) --build build/asan -j $(JOBS) --target fuzzers
	@tests/fuzz/run.sh build/asan/bin $(FUZZ_SECONDS)

fuzz-long:
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=600

# Faults at every call, power loss, kills, damaged and hostile files (tests/faults): out/bench/faults.json. FAULTS: options, as --only kills.
FAULTS :=
faults: build
	@$(CMAKE) --preset asan > /dev/null
	@$(CMAKE) --build build/asan -j $(JOBS) --target fuzzers
	@/usr/bin/python3 tests/faults/run.py --pantoum $(PANTOUM) $(FAULTS)

faults-quick: build
	@/usr/bin/python3 tests/faults/run.py --pantoum $(PANTOUM) --quick

bench: build
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target kernels_bench
	@$(RELEASE)/bin/kernels_bench

# The planner, a row per question (docs/results.md): out/bench/planner.json, in at most 100 minutes on two cores. REFERENCE holds the questions.
# The long form asks all, PART=k/N of them, and keeps them by commit: out/bench/planner-long. BENCH: options, as --quick or --only layered.
REFERENCE := ../shared
PART := 1/1
PLANNER_BENCH = python3 bench/planner.py --pantoum $(PANTOUM) --placement $(RELEASE)/bin/placement_bench --plan-test $(RELEASE)/bin/plan_test --reference $(REFERENCE)
bench-planner bench-planner-long: build
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target placement_bench plan_test
	@$(PLANNER_BENCH) $(if $(filter %-long,$@),--long --part $(PART)) $(BENCH)

# The figures of the literature, planned here: out/bench/papers (docs/results.md).
bench-papers: build
	@python3 bench/papers/run.py --pantoum $(PANTOUM)

# Python with PyTorch, onnx and onnxscript: the one on the PATH where it has them, a virtual environment of the project's otherwise.
PEERS := build/peers
PEER_PYTHON = $(shell python3 -c 'import torch, onnx, onnxscript, numpy' 2> /dev/null && echo python3 || echo $(PEERS)/bin/python)
peers:
	@if ! $(PEER_PYTHON) -c 'import torch, onnx, onnxscript, numpy' 2> /dev/null; then \
	  echo "set-up: PyTorch, onnx and onnxscript into $(PEERS)"; \
	  { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv && python3 -m venv $(PEERS) && \
	    $(PEERS)/bin/pip install --quiet torch==2.13.0 onnx onnxscript numpy; } > build/peers.log 2>&1 || { tail -5 build/peers.log; echo "no peers: their rows are skipped"; }; \
	fi

# Step times against PyTorch, memory against NNTrainer's, budgets: out/bench/runtime.json. BENCH: options, as --quick or --only "one run".
BENCH :=
bench-runtime: build peers
	@$$([ -x "$$(command -v $(PEER_PYTHON))" ] && echo $(PEER_PYTHON) || echo python3) bench/runtime/run.py --pantoum $(PANTOUM) $(BENCH)

# What the emitted firmware trains and takes in QEMU, in six cases: out/bench/firmware.json. BENCH as above.
firmware-bench: build peers
	@$$([ -x "$$(command -v $(PEER_PYTHON))" ] && echo $(PEER_PYTHON) || echo python3) -W ignore bench/firmware/run.py --pantoum $(PANTOUM) $(BENCH)

# Random PyTorch modules, exported and trained for two steps here and there (tests/programs).
SEEDS := 1:2001
programs: build peers
	@OMP_NUM_THREADS=1 $$([ -x "$$(command -v $(PEER_PYTHON))" ] && echo $(PEER_PYTHON) || echo python3) tests/programs/run.py --pantoum $(PANTOUM) --seeds $(SEEDS) --jobs $(JOBS)

# Boards, emitted projects and the bench's cases, shortened; part of e2e.
firmware-test: build
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target e2e_tests
	@$(CTEST) --test-dir $(RELEASE) -R firmware -j $(JOBS) --output-on-failure

format:
	@git ls-files '*.cc' '*.h' '*.c' | xargs clang-format -i

clean:
	@rm -rf build out
