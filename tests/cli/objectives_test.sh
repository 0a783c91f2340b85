#!/usr/bin/env bash
# Every objective from the command line: tiny models learn a few steps from tiny data, and a run in two parts ends
# with exactly the weights of a run in one.
#
#   objectives_test.sh                 as in make test
#   objectives_test.sh --kills [SEED]  by hand or at night, not in make test: every run is killed at ten random moments
#                                      and resumed, and writes the same weights and files as an undisturbed
#                                      run
set -euo pipefail
attend=${ATTEND:-build/release/attend}
seed=
if [ "${1:-}" = --kills ]; then
  seed=${2:-$RANDOM}
  echo "moments from seed $seed: $0 --kills $seed"
  RANDOM=$seed
fi
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; [ -n "${KEEP:-}" ] || rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  cat log
  exit 1
}
quietly() { "$attend" "$@" >log 2>&1 || fail "attend $*"; }

# Documents of sentences about numbers, and questions about them.
words=(one two three four five six seven eight nine ten)
for i in {0..119}; do
  a=${words[i % 10]} b=${words[i / 10 % 10]} c=${words[i * 7 % 10]}
  echo "$a and $b and $c" >>text
  ((i % 5 == 4)) && echo >>text
  echo "$a and $b and $c" >>first
  echo "$c or $b or $a" >>second
  printf '%s\t%s\n' "$a and $b" "$((i % 10 < 5))" >>labels.tsv
  printf '%s\t%s\n' "$a and $b" "$((i % 10)).5" >>numbers.tsv
  printf '{"text": "%s and %s", "labels": ["%s", "%s"]}\n' "$a" "$b" "$a" "$b" >>several.jsonl
  printf '%s\tNUM\nand\tCONJ\n%s\tNUM\n\n' "$a" "$b" >>tags.tsv
  printf '{"question": "which one", "context": "it is %s or %s", "answers": {"text": ["%s"], "answer_start": [6]}}\n' \
    "$a" "$b" "$a" >>answers.jsonl
  printf '{"question": "%s and what", "choices": ["%s", "%s"], "label": %s}\n' "$a" "$b" "$c" "$((i % 2))" >>choices.jsonl
  printf '{"messages": [{"role": "user", "content": "%s and %s"}, {"role": "assistant", "content": "%s"}]}\n' \
    "$a" "$b" "$c" >>talk.jsonl
  printf '{"prompt": "%s and ", "chosen": "%s", "rejected": "not %s"}\n' "$a" "$b" "$c" >>better.jsonl
  printf '%s\t%s\n' "$a and $b" "$b and $a" >>pairs.tsv
  printf '%s\t%s\t%s\n' "$((i % 6))" "$a and $b" "$b and $c" >>scored.tsv
done
python3 - <<'PYTHON'
import struct, os
os.mkdir("images")
n, side = 24, 16
with open("images/train-images-idx3-ubyte", "wb") as f:
    f.write(struct.pack(">IIII", 0x803, n, side, side))
    f.write(bytes((x * (i % 3) + y * (i % 5)) % 256 for i in range(n) for y in range(side) for x in range(side)))
with open("images/train-labels-idx1-ubyte", "wb") as f:
    f.write(struct.pack(">II", 0x801, n) + bytes(i % 3 for i in range(n)))
PYTHON

# Tokenizers as in the families.
quietly tokenizer train --model wordpiece --vocab-size 120 --output words text second
quietly tokenizer train --model bpe --preset translation --vocab-size 300 --special-token '<mask>' --output pieces text second
special() { printf -- '--special-token\n%s\n' "$@"; }
mapfile -t sentinels < <(special '</s>' '<pad>' '<unk>' $(seq -f '<extra_id_%g>' 0 9))
quietly tokenizer train text second --model unigram --vocab-size 60 --output unigram "${sentinels[@]}" \
  --single-template '$A </s>' --pair-template '$A </s> $B </s>'
mapfile -t specials < <(special '<sep>' '<cls>' '<mask>' '<pad>' '<unk>')
quietly tokenizer train text second --model unigram --vocab-size 60 --output xlnet-words "${specials[@]}" \
  --single-template '$A <sep> <cls>:2' --pair-template '$A <sep> $B:1 <sep>:1 <cls>:2'

small=(--set hidden_size=32 --set num_hidden_layers=2 --set num_attention_heads=2 --set intermediate_size=48)
init() { # FAMILY DIR TOKENIZER OPTION...
  quietly init "$1" "$2" --tokenizer "$3" "${@:4}"
}
init bert bert words --set preset=tiny "${small[@]}"
init albert albert words --set preset=tiny "${small[@]}" --set embedding_size=16
init electra electra words --set preset=tiny "${small[@]}" --set embedding_size=16
init electra generator words --set preset=tiny-generator "${small[@]}" --set embedding_size=16
init gpt2 gpt2 pieces --set preset=tiny --set n_embd=32 --set n_layer=2 --set n_head=2
init transfo-xl transfo-xl pieces --set preset=tiny
init xlnet xlnet xlnet-words --set preset=tiny --set d_model=32 --set n_layer=2 --set n_head=2 --set d_inner=48
init t5 t5 unigram --set preset=tiny
init bart bart pieces --set preset=tiny
init xlm xlm words --set preset=tiny
quietly init vit vit --set image_size=16 --set patch_size=4 --set encoder_stride=4 "${small[@]}"

# in_parts NAME OPTION...: a run in one part, a run in two parts, the same weights.
in_parts() {
  local name=$1
  shift
  quietly "$@" --validate-every 3 --output "$name-whole" --steps 6
  quietly "$@" --validate-every 3 --output "$name-parts" --steps 3
  quietly "$@" --validate-every 3 --output "$name-parts" --steps 6 --resume
  cmp "$name-whole/checkpoints/step-6/model.safetensors" "$name-parts/checkpoints/step-6/model.safetensors" ||
    fail "$name: a run in two parts ends elsewhere"
  grep --quiet '"validation/loss"' "$name-whole/metrics.jsonl" || fail "$name: no validation"
}

# left_by OUTPUT: the names of all files except TensorBoard's, because every start writes one; tensors, and
# losses.
left_by() {
  cd "$1" && find . ! -path './tensorboard/*' | sort
  find . -name '*.safetensors' | sort | xargs sha256sum
  grep --only-matching '"step":[0-9]*\|"[a-z]*/loss":[^,}]*' metrics.jsonl
}

# killed NAME OPTION...: an undisturbed run, and runs that are killed ten times in total. A run that ends
# before that is compared, and another one is started.
killed() {
  local name=$1 kills=0 ends=0 status began time
  shift
  local run=("$@" --validate-every 10 --save-every 3 --steps 40)
  began=${EPOCHREALTIME/[^0-9]/}
  quietly "${run[@]}" --output "$name-whole"
  time=$((${EPOCHREALTIME/[^0-9]/} - began)) # in microseconds
  (left_by "$name-whole") >expected
  while true; do
    "$attend" "${run[@]}" --output "$name-killed" --resume >log 2>&1 & # not a function: $! must be attend itself
    if [ "$kills" -lt 10 ]; then
      sleep "$((RANDOM * (time / 2000) / 32768))e-3"
      kill -9 $! 2>/dev/null || true
    fi
    status=0
    wait $! 2>/dev/null || status=$?
    if [ "$status" -eq 137 ]; then
      kills=$((kills + 1))
      continue
    fi
    [ "$status" -eq 0 ] || fail "$name: after $kills kills it exits with $status"
    (left_by "$name-killed") | diff expected - >log || fail "$name: killed $kills times, it leaves other things (>)"
    ends=$((ends + 1))
    if [ "$kills" -eq 10 ]; then break; fi
    rm -r "$name-killed"
  done
  echo "$name: killed $kills times, $ends runs to the end, each like the undisturbed one"
}

# check NAME OBJECTIVE MODEL DATA...
checked=0
check() {
  local name=$1 objective=$2 model=$3
  shift 3
  "$([ -n "$seed" ] && echo killed || echo in_parts)" "$name" train --objective "$objective" --model "$model" "$@" \
    --batch-tokens 128 --batch-size 8 --schedule constant --warmup 0 --learning-rate 1e-3 --dropout 0.1 --threads 2
  checked=$((checked + 1))
}
text=(--train text --validation text)
check causal causal-lm gpt2 "${text[@]}" --length 16
check memories causal-lm transfo-xl "${text[@]}" --length 16
check masked masked-lm bert "${text[@]}"
check next next-sentence bert "${text[@]}" --max-length 32
check order sentence-order albert "${text[@]}" --max-length 32
check replaced replaced-tokens electra "${text[@]}" --generator generator
check languages translation-lm bert --train first second --validation first second
check permuted permutation-lm xlnet "${text[@]}"
check spans span-corruption t5 "${text[@]}" --max-length 32
check denoised denoising bart "${text[@]}" --max-length 32
check pairs-of-lines sequence-to-sequence bart --train first second --validation first second
check label classification bert --train labels.tsv --validation labels.tsv
check number regression bert --train numbers.tsv --validation numbers.tsv
check several multi-label bert --train several.jsonl --validation several.jsonl
check tags token-classification bert --train tags.tsv --validation tags.tsv
check answers question-answering bert --train answers.jsonl --validation answers.jsonl
check choices multiple-choice bert --train choices.jsonl --validation choices.jsonl
turns='{% for m in messages %}{{ m.role + ": " + m.content + "\n" }}{% endfor %}{% if add_generation_prompt %}{{ "assistant: " }}{% endif %}'
check talk chat gpt2 --train talk.jsonl --validation talk.jsonl --template "$turns"
check better preferences gpt2 --train better.jsonl --validation better.jsonl
check pairs pairs bert --train pairs.tsv --validation pairs.tsv
check scored scored-pairs bert --train scored.tsv --validation scored.tsv
check pictures image-classification vit --train images --validation images
check hidden masked-images vit --train images --validation images
check taught classification bert --train labels.tsv --validation labels.tsv --teacher label-whole --keep-layers 0
[ "$checked" -eq 24 ] || fail "$checked of 24 objectives were checked"
if [ -n "$seed" ]; then
  echo "all well"
  exit
fi

# The trained models are measured and used.
for task in "classification label labels.tsv" "regression number numbers.tsv" "token-classification tags tags.tsv" \
  "question-answering answers answers.jsonl" "similarity scored scored.tsv" "image-classification pictures images"; do
  read -r verb run data <<<"$task"
  "$attend" evaluate "$verb" "$run-whole" "$data" --json 2>log | python3 -c 'import json, sys; assert json.load(sys.stdin)' ||
    fail "evaluate $verb"
done
quietly evaluate chat talk-whole talk.jsonl --template "$turns"
grep --quiet perplexity log || fail "evaluate chat"
quietly evaluate preferences better-whole better.jsonl --reference gpt2
grep --quiet rewards/accuracies log || fail "evaluate preferences"
grep --quiet '"validation/rewards/margins"' better-whole/metrics.jsonl || fail "preferences: no margins"
# An adapter is compared with the model without it.
quietly train --objective preferences --model gpt2 --train better.jsonl --lora 2 --output better-adapter --steps 2
quietly evaluate preferences gpt2 better.jsonl --adapter better-adapter
"$attend" run text-classification label-whole "one and two" 2>log | grep --quiet '"label"' || fail "run text-classification"

# Messages for data that cannot be learned.
! "$attend" train --objective question-answering --model gpt2 --train labels.tsv --output no 2>log || fail "answers of labels"
! "$attend" train --objective replaced-tokens --model electra --train text --output no --steps 1 2>log || fail "no generator"
! "$attend" train --objective masked-lm --model gpt2 --train text --output no --steps 1 2>log || fail "gpt2 has no masks"
grep --quiet 'gpt2' log || fail "the message names no family"
! "$attend" train --objective chat --model gpt2 --train talk.jsonl --output no --steps 1 2>log || fail "no template"
! "$attend" train --objective chat --model gpt2 --train talk.jsonl --beta 2 --output no --steps 1 2>log || fail "--beta"
grep --quiet 'it is for preferences' log || fail "the message does not say what --beta is for"
! "$attend" evaluate preferences gpt2 better.jsonl 2>log || fail "no reference"
[ ! -e no/model.safetensors ] || fail "something was left behind"
echo "all well"
