#!/usr/bin/env bash
# Files too large for one process: their parts, written by any number of processes, equal the output of one
# process.
set -euo pipefail
attend=${ATTEND:-build/release/attend}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}

words=(one two three four five six seven)
for i in {0..40}; do echo "${words[i % 7]} and ${words[i / 7 % 7]}" >>texts; done
printf 'the last line has no end' >>texts
"$attend" tokenizer train --model bpe --preset translation --vocab-size 300 --output model texts 2>log
"$attend" init marian model --set preset=transformer-tiny --set encoder_layers=1 --set decoder_layers=1 2>>log

translate() { "$attend" translate model --json --max-length 12 "$@"; }
translate <texts >whole 2>>log
for parts in 1 3 60; do  # with 60 parts, some are empty
  for ((part = parts - 1; part >= 0; --part)); do
    translate --input texts --shard $part/$parts --output "in-$parts" 2>>log </dev/null
  done
  cat "in-$parts"/part-* | cmp - whole || fail "$parts parts are not the whole"
done
[ "$(ls in-3)" = "$(printf 'part-%05d-of-00003\n' 0 1 2)" ] || fail "$(ls in-3)"

# Complete parts are skipped; missing parts are made.
echo mine >in-3/part-00001-of-00003
translate --input texts --shard 1/3 --output in-3 2>there
grep -q "part-00001-of-00003 exists already" there || fail "$(cat there)"
[ "$(cat in-3/part-00001-of-00003)" = mine ] || fail "it was made again"

# A process that fails leaves no file.
printf 'good\n\xff\n' >broken
status=0
translate --strict --input broken --shard 0/1 --output strict 2>strict.log || status=$?
[ $status = 1 ] && [ -z "$(ls strict)" ] || fail "--strict: $status, $(ls strict)"
status=0
translate --input broken --shard 0/1 --output lenient 2>lenient.log || status=$?
[ $status = 1 ] && [ "$(wc -l <lenient/part-00000-of-00001)" = 2 ] || fail "a bad line: $status, $(cat lenient/*)"
status=0
(trap '' XFSZ; ulimit -f 1; translate --input texts --shard 0/1 --output full 2>full.log) || status=$?
[ $status = 1 ] && [ -z "$(ls full)" ] || fail "a full disk: $status, $(cat full.log), $(ls full)"

refused() { # TEXT OPTION...
  if translate "${@:2}" 2>refused.log </dev/null; then fail "${*:2}"; fi
  grep -q -- "$1" refused.log || fail "expected '$1': $(cat refused.log)"
}
refused "expected PART/PARTS" --input texts --shard 3/3 --output x
refused "expected PART/PARTS" --input texts --shard one --output x
refused "requires --input" --shard 0/3 --output x
refused "expected no other texts" --input texts --shard 0/3 --output x "a text"
refused "cannot read" --input nothing --shard 0/3 --output x
echo "all well"
