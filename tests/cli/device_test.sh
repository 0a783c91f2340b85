#!/usr/bin/env bash
# Devices (docs/devices.md), on libtorch's CPU: the golden outputs, losses, gradients and generated texts of all
# families; training that gives the same weights as the CPU; what is refused.
set -euo pipefail
attend=${ATTEND:-build/release/attend} build=${ATTEND_BUILD:-build/release}
[ -e "$build/lib/attend-torch.so" ] || { echo "this build has no attend-torch"; exit 77; }
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# A text's last bits may depend on its batch there.
ATTEND_ENGINE=torch "$build/model-tests" --gtest_brief=1 \
  --gtest_filter='Goldens/ForwardTest.*:Models/GenerationGoldens.*:Families/Attributed.*:Families/Recomputed.*-*DoesNotDependOnItsBatch*'
# The variable decides where these tests compute: an unknown engine stops every one of them.
if ATTEND_ENGINE=none "$build/model-tests" --gtest_brief=1 --gtest_filter='Goldens/ForwardTest.GivesWhatTheOriginalGives/*:Models/GenerationGoldens.*' >/dev/null; then
  echo "FAILED: the tests do not read ATTEND_ENGINE"
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}

words=(one two three four five six seven eight nine ten)
for i in {0..59}; do
  a=${words[i % 10]} b=${words[i / 10 % 10]}
  echo "$a and $b" >>train.source
  echo "$b und $a" >>train.target
done
"$attend" tokenizer train --model bpe --preset translation --vocab-size 300 --output fresh train.source train.target 2>log
"$attend" init marian fresh --set preset=transformer-tiny --set encoder_layers=1 --set decoder_layers=1 2>>log
# Adam would turn a gradient's rounding errors around zero into whole steps.
for engine in attend torch; do
  "$attend" train --model fresh --engine $engine --train train.source train.target --output trained-$engine --batch-tokens 256 \
    --optimizer sgd --learning-rate 0.1 --dropout 0.1 --attention-dropout 0.1 --steps 10 --label-smoothing 0.1 2>>log || { cat log; fail "training with $engine"; }
  "$attend" translate trained-attend --engine $engine <train.source >said-$engine 2>>log || { cat log; fail "translating with $engine"; }
done
cmp said-attend said-torch || fail "the same model translates otherwise on a device"

# Two processes that go their own steps, or divide the layers; what they send passes through the program's memory.
port=$((10000 + $$ % 20000))
for run in "attend local --local-steps 3" "torch local --local-steps 3" "attend divided --shard-weights" "torch divided --shard-weights"; do
  read -r engine name options <<<"$run"
  for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$attend" train --model fresh --engine $engine \
      --train train.source train.target --output $name-$engine --batch-tokens 256 --optimizer sgd --learning-rate 0.1 \
      --dropout 0 --steps 6 $options --threads 1 --timeout 60 2>>log-$rank &
    runs[rank]=$!
  done
  for rank in 0 1; do wait "${runs[rank]}" || { cat log-0 log-1; fail "$name with $engine"; }; done
  port=$((port + 1))
done

python3 - <<'E2' || fail "training on a device gives other weights"
import json, struct, sys

def tensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    for name, view in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = view["data_offsets"]
            yield name, struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin : 8 + size + end])

for run in ("trained", "local", "divided"):
    ours, theirs = (dict(tensors(f"{run}-{engine}/model.safetensors")) for engine in ("attend", "torch"))
    assert ours.keys() == theirs.keys()
    most = max(abs(a - b) for name in ours for a, b in zip(ours[name], theirs[name]))
    print(f"{run}: the weights differ by {most:.1e} at most")
    if not most < 2e-5:
        sys.exit(1)
E2

# refused TEXT OPTION...: the command fails with this text.
refused() {
  local text=$1
  shift
  if "$attend" translate trained-attend "$@" "one and two" >out 2>err; then fail "not refused: $*"; fi
  grep -qF -- "$text" err || { cat err; fail "expected '$text' from $*"; }
}
refused "expected cpu, cuda, cuda:N or auto, found gpu" --device gpu
refused "int8 weights are for the CPU" --engine torch --weights int8
refused "a cache of int8 is for models in float32 on the CPU" --engine torch --cache int8
refused "the device cuda:9 cannot be used: this libtorch has no CUDA, or finds no GPU." --device cuda:9
if "$attend" train --model fresh --train train.source train.target --output tf32 --steps 1 --precision tf32 2>err; then fail "tf32 on the CPU"; fi
grep -qF "tf32: it is for GPUs" err || { cat err; fail "tf32 on the CPU"; }
# Factors of less precision change a loss a little; the training goes on.
for precision in tf32 bfloat16; do
  "$attend" train --model fresh --engine torch --train train.source train.target --output $precision --batch-tokens 256 --steps 2 \
    --precision $precision 2>err || { cat err; fail "--precision $precision on a device"; }
done
"$attend" translate trained-attend --device auto <train.source >said-auto 2>err || { cat err; fail "--device auto"; }
[ -e /dev/nvidia0 ] || grep -qF "no GPU is used: the device cuda:0 cannot be used" err || { cat err; fail "--device auto does not say that it found no GPU"; }
[ -e /dev/nvidia0 ] || cmp said-attend said-auto || fail "--device auto translates otherwise"
echo "device: passed"
