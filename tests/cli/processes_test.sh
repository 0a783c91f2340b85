#!/usr/bin/env bash
# Several processes that train one model: the same model as with one process, for any number of them; and the
# behaviour if one of them is killed, hangs, fails or does not arrive. They are real processes that
# communicate through ports of this machine.
set -euo pipefail
attend=${ATTEND:-build/release/attend}
[ -e "${ATTEND_BUILD:-build/release}/lib/attend-torch.so" ] || { echo "this build has no attend-torch"; exit 77; }
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}

words=(one two three four five six seven eight nine ten)
for i in {0..119}; do
  a=${words[i % 10]} b=${words[i / 10 % 10]} c=${words[i * 7 % 10]}
  if [ $((i % 3)) = 0 ]; then echo "$a and $b"; else echo "$a and $b and $c and then $a"; fi >>train.source
  echo "$c und $b und $a" >>train.target
done
head -20 train.source >held.source
head -20 train.target >held.target
"$attend" tokenizer train --model bpe --preset translation --vocab-size 300 --output fresh train.source train.target 2>log
"$attend" init marian fresh --set preset=transformer-tiny --set encoder_layers=1 --set decoder_layers=1 2>>log

# Command line options override a recipe.
cat >usual.toml <<'TOML'
batch-tokens = 256
warmup = 20
dropout = 0
validate-every = 4
threads = 1
timeout = 60
TOML

# Below the ports that the system assigns to connections (from 32768).
port=$((10000 + $$ % 20000))
# start COUNT RANK OUTPUT STEPS [OPTION...]: one process of COUNT in the background; its number is in $!.
start() {
  RANK=$2 WORLD_SIZE=$1 LOCAL_RANK=$2 LOCAL_WORLD_SIZE=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    "$attend" train --model fresh --train train.source train.target --validation held.source held.target \
    --config usual.toml --output "$3" --steps "$4" "${@:5}" 2>"$3.$2.log" &
}
# together COUNT OUTPUT STEPS [OPTION...]: all of them, until they end.
together() {
  local pids=() rank status=0
  port=$((port + 1))
  for ((rank = 0; rank < $1; ++rank)); do
    start "$1" $rank "${@:2}"
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || status=$?; done
  return $status
}
expect_together() { together "$@" || fail "$1 processes: $(cat "$2".*.log)"; }
# weights_differ A B: the largest difference of two models' numbers, over the largest number.
weights_differ() {
  python3 - "$1/model.safetensors" "$2/model.safetensors" <<'PY'
import array, json, struct, sys
def numbers(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8 : 8 + size])
    tensors.pop("__metadata__", None)
    return {k: array.array("f", data[8 + size + v["data_offsets"][0] : 8 + size + v["data_offsets"][1]])
            for k, v in tensors.items() if v["dtype"] == "F32"}
a, b = map(numbers, sys.argv[1:])
assert a.keys() == b.keys()
# A bias of keys adds the same to all scores of a query, so its gradient is only rounding, which Adam
# enlarges.
counted = [k for k in a if any(a[k]) and not k.endswith("k_proj.bias")]
print(max(max(abs(x - y) for x, y in zip(a[k], b[k])) / max(map(abs, a[k])) for k in counted))
PY
}
expect_close() { # A B MOST
  local difference
  difference=$(weights_differ "$1" "$2")
  python3 -c "import sys; sys.exit(not $difference <= $3)" || fail "$1 and $2 differ by $difference"
}

# One step of plain gradient descent: the change of the weights is the gradient.
descent=(--optimizer sgd --momentum 0 --schedule constant --warmup 0 --learning-rate 1 --max-grad-norm 0 --gradient-accumulation-steps 3)
for count in 1 2 4; do expect_together $count "gradient-$count" 1 "${descent[@]}"; done
expect_close gradient-1 gradient-2 2e-6
expect_close gradient-1 gradient-4 2e-6
# Divided layers add up the gradients of each batch of the step.
expect_together 4 gradient-divided 1 "${descent[@]}" --shard-weights
expect_close gradient-1 gradient-divided 2e-6

# The same curve and the same model.
for count in 1 2 4; do expect_together $count "of-$count" 12 --bleu; done
for count in 2 4; do
  expect_close of-1 of-$count 2e-4
  python3 - "of-1" "of-$count" <<'PY' || fail "other curves"
import json, sys
a, b = ([json.loads(line) for line in open(f"{d}/metrics.jsonl")] for d in sys.argv[1:])
assert len(a) == len(b) > 3
for x, y in zip(a, b):
    assert x.keys() == y.keys() and x["step"] == y["step"], (x, y)
    for k in x:
        if k.endswith(("loss", "gradient_norm")): assert abs(x[k] - y[k]) <= 1e-3 * abs(x[k]), (k, x, y)
PY
done
[ ! -s of-2.1.log ] || fail "rank 1 talks: $(cat of-2.1.log)"

# The same number of processes gives the same bits again, also with dropout and with a sharded optimizer
# state.
expect_together 2 dropout-a 8 --dropout 0.2 --ema 0.9
expect_together 2 dropout-b 8 --dropout 0.2 --ema 0.9
expect_together 2 sharded 8 --dropout 0.2 --ema 0.9 --shard-optimizer
cmp dropout-a/model.safetensors dropout-b/model.safetensors || fail "repeated, it gives other bits"
cmp dropout-a/model.safetensors sharded/model.safetensors || fail "sharded, it gives other bits"
for optimizer in adamw muon; do
  expect_together 3 "$optimizer" 6 --optimizer $optimizer
  expect_together 3 "$optimizer-sharded" 6 --optimizer $optimizer --shard-optimizer
  cmp $optimizer/model.safetensors $optimizer-sharded/model.safetensors || fail "$optimizer, sharded, gives other bits"
done

# Divided layers give the same bits as recomputed ones: two processes add in one order only. Three differ by rounding;
# with a batch of two examples, one of them has none.
expect_together 2 recomputed 8 --dropout 0.2 --gradient-checkpointing
expect_together 2 divided 8 --dropout 0.2 --shard-weights
cmp recomputed/model.safetensors divided/model.safetensors || fail "divided layers give other bits"
expect_together 3 few 6 --optimizer muon --batch-size 2 --bleu
expect_together 3 few-divided 6 --optimizer muon --batch-size 2 --bleu --shard-weights
expect_close few few-divided 2e-4

# Another number of processes continues, sharded, divided or not, from a checkpoint of any number.
expect_together 2 resumed 4 --shard-weights
expect_together 3 resumed 6 --resume --shard-weights
expect_together 4 resumed 8 --resume --shard-optimizer
expect_together 1 resumed 12 --resume
expect_together 1 whole 12
expect_close whole resumed 2e-4

# Local steps (DiLoCo): the same bits again, also from a checkpoint; all processes have the same result, and
# with a single process local steps change nothing. tests/training/local_steps_test.cpp compares the outer
# step with the paper's.
local=(--local-steps 3 --outer-rate 1 --outer-momentum 0 --dropout 0.2)
expect_together 2 local-a 12 "${local[@]}"
expect_together 2 local-b 8 "${local[@]}"
expect_together 2 local-b 12 "${local[@]}" --resume
cmp local-a/model.safetensors local-b/model.safetensors || fail "resumed with local steps, it gives other bits"
expect_together 1 local-one 8 "${local[@]}"
expect_together 1 plain-one 8 --dropout 0.2
cmp local-one/model.safetensors plain-one/model.safetensors || fail "local steps of one process give other bits"
python3 - local-a <<'PY' || fail "with local steps it does not learn"
import json, sys
losses = [row["validation/loss"] for row in map(json.loads, open(sys.argv[1] + "/metrics.jsonl")) if "validation/loss" in row]
assert len(losses) == 3 and losses[0] > losses[2], losses
PY

# until_step OUTPUT: waits until the run has its first checkpoint.
until_step() {
  for _ in {1..1200}; do
    if compgen -G "$1/checkpoints/step-*/training.json" >/dev/null; then
      sleep 2.5 # until each process has reported its step
      return
    fi
    sleep 0.05
  done
  fail "$1 did not begin: $(cat "$1".*.log)"
}
# If one process ends, the other ends too and names it.
expect_end() { # OUTPUT PID SECONDS TEXT
  local began=$SECONDS status=0
  wait "$2" || status=$?
  [ $status = 1 ] || fail "$1: it ends with $status: $(cat "$1".*.log)"
  [ $((SECONDS - began)) -le "$3" ] || fail "$1: it ended only after $((SECONDS - began)) s"
  grep -q "$4" "$1.0.log" || fail "$1: expected '$4': $(cat "$1".*.log)"
  ! grep -q "GLHF" "$1.0.log" || fail "$1: Gloo's advice is not for users: $(cat "$1.0.log")"
}

port=$((port + 1))
start 2 0 killed 100000; first=$!
start 2 1 killed 100000; second=$!
until_step killed
kill -9 $second
expect_end killed $first 20 "rank 0 of 2, at \(step\|validation\).*rank 1 is lost or hangs (at \(step\|validation\)"
wait $second 2>/dev/null || true

port=$((port + 1))
start 2 0 killed-divided 100000 --shard-weights; first=$!
start 2 1 killed-divided 100000 --shard-weights; second=$!
until_step killed-divided
kill -9 $second
expect_end killed-divided $first 20 "rank 0 of 2, at .*rank 1 is lost or hangs (at "
wait $second 2>/dev/null || true

port=$((port + 1))
start 2 0 hung 100000 --timeout 4; first=$!
start 2 1 hung 100000 --timeout 4; second=$!
until_step hung
kill -STOP $second
expect_end hung $first 20 "rank 1 is lost or hangs (at \(step\|validation\)"
kill -9 $second
wait $second 2>/dev/null || true

# Rank 0 has the store.
port=$((port + 1))
start 2 1 headless 100000; second=$!
start 2 0 headless 100000; first=$!
until_step headless
kill -9 $first
status=0
wait $second || status=$?
[ $status = 1 ] && grep -q "rank 0 is lost" headless.1.log || fail "without rank 0: $status, $(cat headless.1.log)"
wait $first 2>/dev/null || true

# A process reports its own error to the others: a full disk (here: files may grow to 100 kB).
port=$((port + 1))
start 2 1 full 60; second=$!
(trap '' XFSZ; ulimit -f 100; start 2 0 full 60; wait $!) || true
status=0
wait $second || status=$?
[ $status = 1 ] && grep -q "rank 0 has ended: .*cannot write: File too large" full.1.log ||
  fail "a full disk: $status, $(cat full.*.log)"
port=$((port + 1))
start 2 1 full-divided 60 --shard-weights; second=$!
(trap '' XFSZ; ulimit -f 100; start 2 0 full-divided 60 --shard-weights; wait $!) || true
status=0
wait $second || status=$?
[ $status = 1 ] && grep -q "rank 0 has ended: .*cannot reserve .* bytes: File too large" full-divided.1.log ||
  fail "a full disk with divided layers: $status, $(cat full-divided.*.log)"

# A process that does not arrive, a port in use, an invalid address.
port=$((port + 1))
start 2 0 lonely 1 --timeout 2; first=$!
expect_end lonely $first 10 "has waited for 2 s at 127.0.0.1:$port, and another has not arrived: rank 1"
port=$((port + 1))
python3 -c "
import socket, time
s = socket.socket(socket.AF_INET6); s.bind(('::', $port)); s.listen(); print('ready', flush=True); time.sleep(600)" >taken &
until grep -q ready taken; do sleep 0.05; done
start 2 0 taken-port 1 --timeout 5; first=$!
expect_end taken-port $first 10 "cannot open port $port, which another program uses; set MASTER_PORT"
start 2 5 nowhere 1; first=$!
wait $first && fail "rank 5 of 2"
grep -q "RANK=5: expected a number from 0 to 1" nowhere.5.log || fail "$(cat nowhere.5.log)"

# On SIGTERM all save once and stop; the same command continues the run.
port=$((port + 1))
start 2 0 stopped 100000; first=$!
start 2 1 stopped 100000; second=$!
until_step stopped
kill -TERM $second
for pid in $first $second; do
  status=0
  wait $pid || status=$?
  [ $status = 130 ] || fail "stopped politely: $status, $(cat stopped.*.log)"
done

if ldd "$attend" | grep -iE 'torch|libc10|gomp'; then fail "attend itself loads torch"; fi
echo "all well"
