#!/usr/bin/env bash
# The kernels on ARM, from any machine: compiles them and their tests for 64-bit ARM and runs the tests under
# an emulator. This checks results (integer kernels: to the last bit), not speed.
#   tests/arm_test.sh
# Needs apt's g++-aarch64-linux-gnu, qemu-user-static, googletest and libfmt-dev. Not part of `make test`: the
# compiler takes 200 MB.
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=aarch64-linux-gnu-g++
emulator=qemu-aarch64-static
gtest=/usr/src/googletest/googletest
for needed in "$(command -v "$compiler")" "$(command -v "$emulator")" "$gtest/src/gtest-all.cc" /usr/include/fmt/format.h; do
  [ -e "$needed" ] || {
    echo "arm_test: expected $compiler, $emulator, $gtest and fmt's headers, and one is not there:" \
      "apt-get install g++-aarch64-linux-gnu qemu-user-static googletest libfmt-dev" >&2
    exit 1
  }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The system's headers of other libraries, without those of the C library, which are for another processor.
mkdir "$work/include"
ln -s /usr/include/fmt "$work/include/fmt"
flags=(-std=c++20 -O3 -Wall -Wextra -Werror -Wno-psabi -ffp-contract=off -Iinclude -Isrc -Itests -isystem "$work/include" -isystem "$gtest/include"
  -DFMT_HEADER_ONLY -DATTEND_ARM -fno-math-errno -fno-trapping-math)
jobs=()
# compile NAME SOURCE FLAG...
compile() {
  local name=$1 source=$2
  shift 2
  "$compiler" "${flags[@]}" "$@" -c "$source" -o "$work/$name.o" &
  jobs+=($!)
  if [ ${#jobs[@]} -ge "$(nproc)" ]; then
    wait "${jobs[0]}"
    jobs=("${jobs[@]:1}")
  fi
}
for source in src/kernels/*.cpp src/kernels/int8/*.cpp; do
  name=$(basename "$(dirname "$source")")-$(basename "$source" .cpp)
  case $source in
    src/kernels/int8/*.simd.cpp)
      compile "$name-portable" "$source" -DATTEND_ISA=int8_portable
      compile "$name-neon_dot" "$source" -DATTEND_ISA=int8_neon_dot -march=armv8.2-a+dotprod
      ;;
    *.simd.cpp) compile "$name" "$source" -DATTEND_ISA=portable ;;
    *) compile "$name" "$source" ;;
  esac
done
compile error src/base/error.cpp
compile gtest "$gtest/src/gtest-all.cc" -I"$gtest" -O1 -w
compile main "$gtest/src/gtest_main.cc" -I"$gtest" -O1 -w
for source in tests/kernels/*.cpp; do compile "test-$(basename "$source" .cpp)" "$source" -O1; done
for job in "${jobs[@]}"; do wait "$job"; done
"$compiler" -static "$work"/*.o -o "$work/tests"
"$emulator" "$work/tests" --gtest_brief=1
