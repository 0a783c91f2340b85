#!/usr/bin/env bash
# --weights and attend quantize: the same results stored or not, in any batch and on any number of threads, and
# refusals that say why.
set -euo pipefail
attend=${ATTEND:-build/release/attend}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
# refuses TEXT COMMAND...: ends with status 1 and one line on standard error that holds the text.
refuses() {
  local text=$1 status=0
  shift
  "$@" >out 2>err || status=$?
  [ $status = 1 ] || fail "$*: exit status $status, not 1: $(cat err)"
  grep -qF -- "$text" err || fail "$*: expected \"$text\", got: $(cat err)"
  [ "$(wc -l <err)" = 1 ] || fail "$*: more than one line: $(cat err)"
}

printf 'the lamp is on the table\nnobody saw the second door\na third line\n' >text
"$attend" tokenizer train --model bpe --vocab-size 300 --output words text 2>/dev/null
"$attend" init gpt2 plain --tokenizer words --set preset=tiny --quiet
for format in float16 bfloat16 int8 int4; do
  "$attend" generate plain --weights "$format" --max-new-tokens 9 --quiet <text >together
  while read -r line; do
    "$attend" generate plain --weights "$format" --max-new-tokens 9 --quiet --threads 1 "$line"
  done <text >alone
  cmp together alone || fail "$format: a text depends on its batch"
done

for format in int8 int4; do
  "$attend" quantize plain "stored-$format" --weights "$format" --quiet
  "$attend" generate plain --weights "$format" --max-new-tokens 9 --quiet <text >loaded
  "$attend" generate "stored-$format" --max-new-tokens 9 --quiet <text >stored
  cmp loaded stored || fail "$format: stored weights give another text"
  [ "$(stat -c %s "stored-$format/model.safetensors")" -lt "$(stat -c %s plain/model.safetensors)" ] ||
    fail "$format: the file is no smaller"
done

refuses "there already is a model" "$attend" quantize plain stored-int8
refuses "expected int8 or int4" "$attend" quantize plain other --weights float16
[ ! -e other ] || fail "a refused verb left something behind"
refuses "stored as int8" "$attend" generate stored-int8 --weights int4 "the lamp"
refuses "are for inference" "$attend" bench plain --work train --weights int8
refuses "are for inference" "$attend" train --model stored-int8 --objective causal-lm --train text --steps 1 --length 4 \
  --output trained
refuses "are for inference" "$attend" convert plain other --weights int8
sed -i 's/"quant_method": "attend"/"quant_method": "gptq"/' stored-int8/config.json
refuses 'quant_method: expected "attend", found "gptq"' "$attend" generate stored-int8 "the lamp"
head -c 20000 stored-int4/model.safetensors >cut && mv cut stored-int4/model.safetensors
refuses "model.safetensors" "$attend" generate stored-int4 "the lamp"
echo "all well"
