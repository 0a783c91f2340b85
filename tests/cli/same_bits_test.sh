#!/usr/bin/env bash
# A model's results do not depend on the machine's instruction set, to the last bit: every family's results
# with AVX2 and with AVX-512, for every weight format, and sampled texts.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
models=$(realpath "$(dirname "$0")/../data/models")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
for set in avx2 avx512; do
  if ! ATTEND_ISA=$set "$attend" forward "$models/bert-model" --inputs "$models/bert-model/inputs.safetensors" \
    --outputs out.safetensors --quiet 2>/dev/null; then
    echo "skipped, nothing to compare: this machine has no $set"
    exit 77
  fi
done

compared=0
for model in "$models"/*; do
  [ -f "$model/inputs.safetensors" ] || continue
  for weights in float32 bfloat16 int8 int4; do
    for set in avx2 avx512; do
      ATTEND_ISA=$set "$attend" forward "$model" --inputs "$model/inputs.safetensors" --outputs $set.safetensors \
        --hidden-states --weights $weights --quiet 2>err || fail "$model, $weights, $set: $(cat err)"
    done
    cmp avx2.safetensors avx512.safetensors || fail "$model with $weights"
    compared=$((compared + 1))
  done
done
[ $compared -gt 200 ] || fail "only $compared results were compared"

printf 'the lamp is on the table\nnobody saw the second door\na third line\n' >text
"$attend" tokenizer train --model bpe --vocab-size 300 --output words text 2>/dev/null
"$attend" init gpt2 plain --tokenizer words --set preset=tiny --quiet
for options in "--sample --seed 7" "--beams 3" "--sample --seed 8 --weights int8" "--sample --seed 9 --weights int4 --cache int8"; do
  for set in avx2 avx512; do
    # shellcheck disable=SC2086
    ATTEND_ISA=$set "$attend" generate plain $options --log-probabilities --max-new-tokens 40 --quiet <text >$set.json
  done
  cmp avx2.json avx512.json || fail "generate $options"
done
echo "$compared results of models and four searches are the same with AVX2 and AVX-512"
