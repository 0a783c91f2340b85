# On a new machine, use `make demo` or `make test`. Both first install missing packages.
#
#   make demo     search and translation on real text, including training a Transformer (~5 minutes)
#   make test     builds everything and runs every check; the last line counts the passed ones
#   make          builds build/release/attend
#   make check    builds PRESET and runs its ctest tests: make check PRESET=dev (CONTRIBUTING.md)
#   make asan     the tests under the address and undefined-behaviour sanitizers (tsan: thread sanitizer)
#   make fuzz     libFuzzer on the readers of files and text, a minute each (needs clang; see scripts/fuzz)
#   make format   formats all sources; make lint: clang-tidy over all of them (slow)
#   make install PREFIX=/usr/local
#   make package  Debian packages in build/release/packages: attend, libattend-dev
#   make clean    removes build/ (not the cache folder with downloads; see scripts/setup)
PRESET ?= release
PREFIX ?= /usr/local
# A group of sixteen files (ATTEND_UNITY) takes up to 2 GB to compile.
JOBS ?= $(shell awk -v cores=$$(nproc) '/MemAvailable/ {n = int($$2 / 2e6); print n < 1 ? 1 : n < cores ? n : cores}' /proc/meminfo)
export JOBS

.PHONY: build setup demo test check asan tsan fuzz format lint install package clean
# The prefix is known when configuring, because the library folder depends on it (cmake/Install.cmake).
build: setup
	cmake --preset $(PRESET) -DATTEND_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build --preset $(PRESET) --parallel $(JOBS)

setup:
	scripts/setup $(setup_options)

demo: build
	scripts/demo

test:
	scripts/test

check:
	scripts/setup --checks
	cmake --preset $(PRESET) -DATTEND_BUILD_TESTS=ON
	cmake --build --preset $(PRESET) --parallel $(JOBS)
	ctest --preset $(PRESET) --parallel $(JOBS)

asan tsan:
	$(MAKE) check PRESET=$@

fuzz:
	scripts/setup
	scripts/fuzz

format:
	scripts/format

lint:
	scripts/lint

install: build
	cmake --install build/$(PRESET)

package: setup_options = --packages
package: PREFIX = /usr
package: build
	rm -rf build/$(PRESET)/packages
	cd build/$(PRESET) && cpack && rm -rf packages/_CPack_Packages
	ls -l build/$(PRESET)/packages

clean:
	rm -rf build
