#!/usr/bin/env bash
# Use of an installed Attend: an install in a new prefix, found by CMake, without naming any other package.
#   tests/install_test.sh            of the build in ATTEND_BUILD (build/release)
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${ATTEND_BUILD:-build/release}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/log"
cmake -S examples -B "$work/examples" -DCMAKE_PREFIX_PATH="$work/prefix" -DEXAMPLE_MODELS="$PWD/tests/data/models"
cmake --build "$work/examples"
ctest --test-dir "$work/examples" --output-on-failure --no-tests=error
model=$work/examples/bert-model
attend=$work/prefix/bin/attend
"$attend" --version
"$attend" embed "$model" "a cat sleeps" >/dev/null                                        # in a module
"$attend" init bert "$work/fresh" --tokenizer "$model" --set preset=tiny                  # in the other
for file in LICENSE NOTICE; do
  [ -s "$work/prefix/share/doc/attend/$file" ] || { echo "FAILED: $file is not installed"; exit 1; }
done
