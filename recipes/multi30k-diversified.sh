#!/usr/bin/env bash
# English to German on Multi30k, as multi30k.toml, but in three trainings, for a point of BLEU more:
#
#   recipes/multi30k-diversified.sh DATA OUTPUT [SEED]
#   attend evaluate translation OUTPUT/en-de test.en test.de --beams 5 --lowercase --length-penalty 1
#
# DATA holds train.en, train.de, val.en and val.de as they come (the tokenizer lower-cases), OUTPUT gets the models; the
# last one is OUTPUT/en-de. One model first learns both directions (Ding et al. 2021, arXiv:2109.07780) and then says
# every training sentence in its own words, in either language. The second training is on these as well (Nguyen et al.
# 2020, "Data diversification", arXiv:1911.01986), the third one on the given sentences alone. The more often a
# training sees the same sentences, the more dropout it gets: against so much new text, 0.3 only slows learning down.
set -euo pipefail
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "usage: recipes/multi30k-diversified.sh DATA OUTPUT [SEED]" >&2
  exit 2
fi
data=$1 output=$2 seed=${3:-1}
attend=${ATTEND:-attend}
recipe=$(dirname "$0")/multi30k.toml
mkdir -p "$output"

train() { # MODEL TRAIN OUTPUT OPTION...
  local model=$1 text=$2 result=$3
  shift 3
  "$attend" train --config "$recipe" --model "$model" --train "$text.en" "$text.de" \
    --validation "$data/val.en" "$data/val.de" --output "$result" --seed "$seed" \
    --precision bfloat16 "$@"
}

"$attend" tokenizer train --model bpe --preset translation --vocab-size 10000 --lowercase \
  --output "$output/fresh" "$data/train.en" "$data/train.de"
"$attend" init marian "$output/fresh" --set preset=transformer-tiny --seed "$seed"

cat "$data/train.en" "$data/train.de" >"$output/both.en"
cat "$data/train.de" "$data/train.en" >"$output/both.de"
train "$output/fresh" "$output/both" "$output/both" --steps 3800 --cooldown 0 --dropout 0.1

"$attend" translate "$output/both" --beams 5 <"$data/train.en" >"$output/own.de"
"$attend" translate "$output/both" --beams 5 <"$data/train.de" >"$output/own.en"
cat "$data/train.en" "$data/train.en" "$output/own.en" >"$output/diverse.en"
cat "$data/train.de" "$output/own.de" "$data/train.de" >"$output/diverse.de"
train "$output/both" "$output/diverse" "$output/diverse" --steps 3600 --cooldown 2300 --dropout 0.2 \
  --learning-rate 0.003 --warmup 400

train "$output/diverse" "$data/train" "$output/en-de" --steps 2700 --cooldown 2000 --dropout 0.3 \
  --learning-rate 0.003 --warmup 100
