#!/usr/bin/env bash
# The output of every verb, and wrong calls.
set -euo pipefail
attend=${ATTEND:-build/release/attend}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
# ends STATUS TEXT COMMAND...: exits with this status and one line on standard error that contains the text.
ends() {
  local wanted=$1 text=$2 status=0
  shift 2
  "$@" >out 2>err || status=$?
  [ $status = "$wanted" ] || fail "$*: exit status $status, not $wanted: $(cat err)"
  grep -qF -- "$text" err || fail "$*: expected \"$text\", got: $(cat err)"
  [ "$wanted" != 1 ] || [ "$(wc -l <err)" = 1 ] || fail "$*: more than one line: $(cat err)"
}

printf 'the lamp is on the table\nnobody saw the second door\n' >text
"$attend" tokenizer train --model bpe --vocab-size 300 --output words text 2>/dev/null
ids=$("$attend" tokenize words "the lamp" | tail -1)
[ -n "$ids" ] || fail "tokenize prints nothing"

full() { "$@" >/dev/full; }
ends 1 "standard output: cannot write: No space left on device" full "$attend" tokenize words "the lamp"
ends 1 "standard output: cannot write" full "$attend" --help
# A reader may close the pipe early; no verb reports an error.
for _ in {1..5000}; do echo "the lamp is on the table"; done >many
{ "$attend" tokenize words <many 2>err || true; } | head -1 >out
[ ! -s err ] || fail "a closed pipe: $(cat err)"

ends 2 "there is no verb 'trian'" "$attend" trian
ends 2 "" "$attend" tokenize
ends 2 "" "$attend" tokenize words --no-such-option
ends 1 "nowhere" "$attend" tokenize nowhere "text"
ends 1 "nowhere" "$attend" embed nowhere "text"
ends 2 "there is no task 'fill-mast'" "$attend" run fill-mast words "text"
ends 1 "nowhere" "$attend" run fill-mask nowhere "text"
ends 1 "not valid UTF-8" "$attend" tokenize words $'caf\xe9'
for verb in $("$attend" --help | awk '/^  [a-z]/ {print $1}'); do
  "$attend" "$verb" --help >help || fail "$verb --help fails"
  grep -q "attend $verb" help || [ "$verb" = tokenizer ] || fail "$verb --help shows no example"
done
for task in $("$attend" run --help | awk '/^  [a-z]/ && !/^  attend/ {print $1}'); do
  "$attend" run "$task" --help >help || fail "run $task --help fails"
  grep -q "attend run $task" help || fail "run $task --help shows no example"
done
echo "all well"
