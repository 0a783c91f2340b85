#!/usr/bin/env bash
# Options of attend train from the command line and from a recipe in TOML: which reach the run, and which are
# rejected. (tests/training/recipe_test.cpp has every field of a recipe.)
set -euo pipefail
attend=${ATTEND:-build/release/attend}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  cat log
  exit 1
}
quietly() { "$attend" "$@" >log 2>&1 || fail "attend $*"; }
refused() { # refused MESSAGE OPTION...: the run ends with the message before it begins
  local message=$1
  shift
  if train refused "$@"; then fail "accepted: $*"; fi
  grep --quiet -F -- "$message" log || fail "expected: $message"
  [ ! -e refused/metrics.jsonl ] || fail "it began: $*"
}

for i in {1..20}; do printf 'one two %s\tgood\nthree four %s\tbad\n' "$i" "$i"; done >rows.tsv
quietly tokenizer train --model wordpiece --vocab-size 80 --output model rows.tsv
quietly init bert model --set preset=tiny --set hidden_size=16 --set num_hidden_layers=1 --set num_attention_heads=2 \
  --set intermediate_size=16
train() { # train OUTPUT OPTION...
  "$attend" train --objective classification --model model --train rows.tsv --batch-size 4 --output "$@" >log 2>&1
}
rates() { # rates OPTION...: those of steps 10, 20, 30 and 40 of 40
  rm -rf run
  train run --epochs 4 --warmup 0 --learning-rate 0.001 "$@" || fail "$*"
  python3 -c 'import json
for line in open("run/metrics.jsonl"):
    values = json.loads(line)
    if "train/rate" in values: print("%.3g" % values["train/rate"], end=" ")'
}
expect() { # expect RATES OPTION...
  local expected=$1 found
  shift
  found=$(rates "$@")
  [ "$found" = "$expected " ] || fail "$*: expected the rates $expected, found $found"
}
# The values of transformers.optimization at its steps 9, 19, 29 and 39.
expect "0.000775 0.000525 0.000275 2.5e-05" --schedule linear
expect "0.000601 0.000276 7.56e-05 6.25e-07" --schedule polynomial --power 2
expect "0.000641 0.000348 0.000168 0.000101" --schedule polynomial --power 2 --lr-end 1e-4
expect "0.00088 0.000539 0.000175 1.54e-06" --schedule cosine
expect "0.000239 0.000383 0.000926 1.38e-05" --schedule cosine --num-cycles 1.5
expect "0.000239 0.000617 0.000926 1.38e-05" --schedule cosine-with-restarts --num-cycles 3

# The same from a recipe of TOML, and the other options of optimizers.
cat >recipe.toml <<'TOML'
schedule = "cosine-with-restarts"
num-cycles = 3
optimizer = "muon"
nesterov = false
momentum = 0.9
ns-steps = 4
adjust-lr-fn = "original"
TOML
expect "0.000239 0.000617 0.000926 1.38e-05" --config recipe.toml
rm -rf run
train run --epochs 1 --optimizer adafactor --relative-step --warmup-init --rate-by-size --clip-threshold 2 \
  --decay-rate -0.7 --beta1 0.9 --epsilon 1e-20 || fail "adafactor"
grep --quiet -E '"train/rate":(1e-05|9.9999[0-9]*e-06)' run/metrics.jsonl || fail "adafactor: $(head -1 run/metrics.jsonl)"
rm -rf run
train run --epochs 1 --optimizer sgd --nesterov --momentum 0.5 || fail "sgd"
rm -rf run
train run --epochs 1 --validation rows.tsv --schedule reduce-on-plateau --plateau-threshold 0.1 --plateau-factor 0.5 \
  --plateau-patience 1 --min-rate 1e-6 || fail "plateau"

# Options without effect, and options that need another one.
refused "--power: it has no effect with --schedule linear; it is for polynomial" --power 2
refused "--nesterov: it has no effect with --optimizer adamw; it is for sgd, muon" --no-nesterov
refused "--mask-rate: it has no effect with --objective classification" --mask-rate 0.5
refused "--patience 2: it needs validation data: say --validation FILE" --patience 2
refused "--best f2: expected one of the figures of classification: loss, accuracy, f1" --validation rows.tsv --best f2
printf 'five\tneutral\n' >other.tsv
refused 'other.tsv, line 1: the label "neutral" is none of the model'"'"'s, which are bad, good' --validation other.tsv
if "$attend" bench model --task causal >log 2>&1; then fail "bench has an option without effect"; fi

# Messages: for a run that stops early, for --resume without a run, and for a reduced length.
rm -rf run
train run --validation rows.tsv --patience 1 --learning-rate 1e-12 --resume --max-length 5000 || fail "patience alone"
grep --quiet "stopped early after step 20: 1 validation without a better accuracy" log || fail "how it stopped"
grep --quiet "the result is that of step 10" log || fail "which step stays"
grep --quiet -- "--resume: there is no run in run to continue" log || fail "--resume of nothing"
grep --quiet -- "--max-length 5000: the model reads" log || fail "the length"

# A classifier continues training with its own labels and their order.
mv run own
sed -i 's/"0": "bad"/"0": "mixed"/; s/"1": "good"/"1": "bad"/; s/"bad": 0/"mixed": 0/; s/"good": 1/"bad": 1/' own/config.json
grep bad rows.tsv >only-bad.tsv
"$attend" train --objective classification --model own --train only-bad.tsv --output again --steps 1 >log 2>&1 ||
  fail "training on"
grep --quiet "own: its head goes on learning, with its labels: mixed, bad" log || fail "the head"
grep --quiet '"1": "bad"' again/config.json || fail "$(cat again/config.json)"
"$attend" train --objective classification --model own --train rows.tsv --output new --steps 1 >log 2>&1 || fail "a new head"
grep --quiet "a new head replaces the trained one, whose labels are mixed, bad: they lack good" log || fail "why it is new"
echo "all well"
