#!/usr/bin/env bash
# The program does not load torch, and gradients and objectives are available in every way of requesting them.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
models=$(realpath "$(dirname "$0")/../data/models")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  cat log
  exit 1
}

# The libraries that the linker finds for each file, without addresses, which may contain any letters.
libraries() { ldd "$@" | sed 's/ (0x.*//' >log; }
libraries "$attend"
if grep -iE 'torch|c10|gomp|not found' log; then fail "the program loads torch, or something that is not there"; fi

# gradients_with EXPECTED ARGUMENTS...: whether the outputs have them.
gradients_with() {
  local expected=$1 found=no
  shift
  "$attend" forward "$models/bert-masked-lm" --inputs "$models/bert-masked-lm/inputs.safetensors" --outputs made "$@" >log 2>&1 ||
    fail "attend forward $*"
  if grep --quiet --text 'grad\.bert' made; then found=yes; fi
  [ "$found" = "$expected" ] || fail "gradients with '$*': expected $expected, found $found"
  rm made
}
gradients_with no
gradients_with yes --gradients
gradients_with yes --gradients=true
echo 'gradients = true' >gradients.toml
gradients_with yes --config gradients.toml

printf 'work = "train"\nlength = 8\nrounds = 1\n' >train.toml
"$attend" bench "$models/bert-masked-lm" --config train.toml >log 2>&1 || fail "attend bench of training, from a file"
grep --quiet 'tokens/s' log || fail "a rate of training"

# Errors there have the usual messages.
status=0
"$attend" evaluate classification nowhere data.tsv >log 2>&1 || status=$?
[ "$status" = 1 ] && grep --quiet '^attend: nowhere: no such directory' log || fail "one line and status 1, found $status"
echo ok
