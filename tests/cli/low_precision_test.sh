#!/usr/bin/env bash
# --weights and attend quantize: the same results stored or not, in any batch and on any number of threads,
# and errors that give the reason.
set -euo pipefail
attend=${ATTEND:-build/release/attend}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
# refuses TEXT COMMAND...: ends with status 1 and one line on standard error that contains the text.
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

# Keys and values in fewer bits.
"$attend" generate plain --cache int8 --max-new-tokens 9 --quiet <text >together
while read -r line; do
  "$attend" generate plain --cache int8 --max-new-tokens 9 --quiet --threads 1 "$line"
done <text >alone
cmp together alone || fail "--cache int8: a text depends on its batch"
"$attend" evaluate perplexity plain text --quiet >exact
"$attend" evaluate perplexity plain text --quiet --cache int8 >rounded
awk '{ sub(",", "", $2); print $2 }' exact rounded |
  awk 'NR == 1 { loss = $1 } END { exit !($1 > 0 && ($1 - loss) ^ 2 < 1e-4) }' ||
  fail "--cache int8: another perplexity: $(cat exact rounded)"
"$attend" evaluate perplexity plain text --quiet --tokens >exact
"$attend" evaluate perplexity plain text --quiet --tokens --cache int8 | cmp -s - exact && fail "--cache has no effect"
"$attend" evaluate language-model plain text --cache int8 2>err && fail "a task without a KV cache takes --cache"
grep -qF "not expected: --cache" err || fail "--cache: $(cat err)"
"$attend" init bert encoder --tokenizer words --set preset=tiny --quiet
refuses "no KV cache that could be int8" "$attend" run fill-mask encoder --cache int8 "the lamp"

# The error of each matrix, the worst first, and matrices that stay float32.
"$attend" quantize plain --measure text --quiet >table
[ "$(wc -l <table)" -gt 4 ] || fail "the table of errors has too few rows: $(cat table)"
sort -s -k1,1 -gr table | cmp - table || fail "the table of errors is not sorted"
"$attend" quantize plain --weights int4 --measure text --quiet >coarse
awk 'NR == FNR { all[$2] = $1; next } $1 <= all[$2] { exit 1 }' table coarse || fail "int4 loses less than int8"
"$attend" quantize plain some --measure text --keep "$(head -1 table | awk '{ print $2 }')" --quiet >/dev/null
grep -q '"float32"' some/config.json || fail "config.json does not name what was kept"
"$attend" quantize plain kept --measure text --keep-above 0 --quiet >/dev/null
"$attend" generate plain --max-new-tokens 9 --quiet <text >exact
"$attend" generate kept --max-new-tokens 9 --quiet <text | cmp - exact || fail "what is kept is not exact"
# Smoothed channels: float32 results are the same, although the stored weights differ.
"$attend" quantize plain even --smooth text --measure text --keep-above 0 --quiet >/dev/null
"$attend" generate even --max-new-tokens 9 --quiet <text | cmp - exact || fail "smoothing changes float32 results"
cmp -s even/model.safetensors kept/model.safetensors && fail "smoothing changes nothing"
"$attend" quantize plain smooth --smooth text --quiet
"$attend" generate smooth --max-new-tokens 9 --quiet "the lamp" >/dev/null
refuses "expected the original float weights" "$attend" quantize stored-int8 other --smooth text
refuses "no norm that matrices alone read" "$attend" quantize encoder other --smooth text
refuses "has no matrix of this name" "$attend" quantize plain other --keep nothing.weight
refuses "expected the directory to create" "$attend" quantize plain

refuses "there already is a model" "$attend" quantize plain stored-int8
refuses "expected int8 or int4" "$attend" quantize plain other --weights float16
[ ! -e other ] || fail "a refused verb left something behind"
refuses "stored as int8" "$attend" generate stored-int8 --weights int4 "the lamp"
refuses "cannot be trained" "$attend" bench plain --work train --weights int8
refuses "cannot be trained" "$attend" train --model stored-int8 --objective causal-lm --train text --steps 1 --length 4 \
  --output trained
refuses "convert writes float32" "$attend" convert plain other --weights int8
refuses "convert the original model instead" "$attend" convert stored-int8 other
printf 'mine' >file
for verb in convert quantize; do
  refuses "file: expected a directory to write to, found a file" "$attend" $verb plain file
  [ "$(cat file)" = mine ] || fail "$verb wrote over a file"
done
mkdir somebody && printf '{"mine": 1}' >somebody/config.json
refuses "there already is a model in it (config.json)" "$attend" convert plain somebody
refuses "there already is a model in it (config.json)" "$attend" quantize plain somebody
[ "$(cat somebody/config.json)" = '{"mine": 1}' ] || fail "somebody's config.json was written over"
# The message names the setting, not the weights.
refuses "temperature: 1e-44 is so small" "$attend" generate plain "the lamp" --sample --temperature 1e-44

# An adapter is trained with quantized weights (QLoRA), with the same result for a stored quantized model.
learn() {
  "$attend" train --objective causal-lm --train text --steps 20 --length 8 --lora 4 --learning-rate 1e-2 --quiet "$@"
}
learn --model plain --weights int8 --output beside
learn --model stored-int8 --output beside-stored
cmp beside/adapter_model.safetensors beside-stored/adapter_model.safetensors ||
  fail "an adapter trained with stored weights differs from one trained with weights made on load"
"$attend" evaluate perplexity plain text --weights int8 --json --quiet >before
"$attend" evaluate perplexity plain text --weights int8 --adapter beside --json --quiet >after
perplexity() { grep -o '"perplexity":[0-9.]*' "$1" | grep -o '[0-9.]*$'; }
awk "BEGIN { exit !($(perplexity after) < 0.9 * $(perplexity before)) }" ||
  fail "the adapter with int8 has not learned: $(cat before after)"
refuses "PiSSA" learn --model plain --weights int8 --lora-init pissa --output refused
refuses "cannot be trained whole" learn --model plain --weights int8 --modules-to-save transformer.h.0.mlp.c_fc --output refused
sed -i 's/"quant_method": "attend"/"quant_method": "hqq"/' stored-int8/config.json
refuses 'found "hqq"' "$attend" generate stored-int8 "the lamp"
head -c 20000 stored-int4/model.safetensors >cut && mv cut stored-int4/model.safetensors
refuses "model.safetensors" "$attend" generate stored-int4 "the lamp"
echo "all well"
