#!/usr/bin/env bash
# The public headers fit programs that were compiled with those of the last release, and scripts/check-abi finds
# headers that do not.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() {
  echo "FAILED: $*"
  exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# after FILE SED_COMMAND: what check-abi says of headers in which FILE is edited; the last line is its exit status.
after() {
  rm -rf "$scratch/include"
  cp -r include "$scratch"
  sed -i -E "$2" "$scratch/include/attend/$1"
  ! cmp --silent "include/attend/$1" "$scratch/include/attend/$1" || fail "$1 has nothing to edit: $2"
  local status=0
  scripts/check-abi include "$scratch/include" 2>&1 || status=$?
  echo "$status"
}
expect() {
  local name=$1 status=$2 text=$3 output=$4
  [ "$(tail -n 1 <<<"$output")" = "$status" ] || fail "$name: expected status $status, found: $output"
  grep --quiet -e "$text" <<<"$output" || fail "$name: expected \"$text\", found: $output"
}

expect "a comment" 0 "functions are unchanged" "$(after version.h '1a // A line.')"
expect "a field" 1 "'int inserted'" "$(after generation_config.h 's/^  double length_penalty/  int inserted = 0;\n&/')"
expect "an enumerator" 1 "inserted" "$(after weight_format.h 's/^(enum class \w+ \{)/\1 inserted,/')"
expect "a function" 1 "attend::v1::version()" "$(after version.h '/^ATTEND_API/d')"
expect "a method" 1 "attend::v1::Tokenizer::encode" "$(after tokenizer.h 's/\bencode\(/encode_text(/')"
expect "another version" 0 "that is allowed" \
  "$(after version.h '/^ATTEND_API/d; s/(MINOR) [0-9]+/\1 999/')"
scripts/check-abi
