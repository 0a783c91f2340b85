#!/usr/bin/env bash
# The symbols that libattend.so exports: those that include/attend marks with ATTEND_API, and no others of
# Attend.
#   tests/exports_test.sh build/release/lib/libattend.so
set -euo pipefail
library=$(realpath "$1")
cd "$(dirname "$0")/.."
fail() {
  echo "FAILED: $*"
  exit 1
}

# Classes, and functions up to their parenthesis.
mapfile -t public < <(sed -nE 's/^(class|struct) ATTEND_API (\w+).*/\2/p; s/^ATTEND_API .*[ *&](\w+)\(.*/\1/p' include/attend/*.h | sort -u)
[ "${#public[@]}" -gt 20 ] || fail "only ${#public[@]} public names found in include/attend"
names=$(IFS='|' && echo "${public[*]}")

# Instances of the standard library's templates may occur in any library.
nm --dynamic --defined-only --demangle "$library" | cut -d ' ' -f 3- | sort -u >/tmp/attend-exports.$$
trap 'rm -f /tmp/attend-exports.$$' EXIT
others=$(grep -vE "^(typeinfo (name )?for |vtable for |guard variable for |non-virtual thunk to |VTT for )?attend::v1::($names)\\b|^(typeinfo (name )?for |vtable for |guard variable for |.* )?(std|__gnu_cxx)::|^(operator|_)" /tmp/attend-exports.$$ || true)
[ -z "$others" ] || fail "these symbols are shown and are not in include/attend:
$(head -n 20 <<<"$others")"
for name in "${public[@]}"; do
  grep --quiet "attend::v1::$name\b" /tmp/attend-exports.$$ || fail "include/attend has $name, the library does not show it"
done
readelf --dynamic "$library" | grep --quiet "soname.*libattend.so.$(sed -nE 's/#define ATTEND_VERSION_M(AJOR|INOR) (.*)/\2/p' include/attend/version.h | paste -sd .)\]" ||
  fail "the library's name for the linker does not carry the version"
echo "${#public[@]} public names"
