#!/usr/bin/env bash
# Interrupted training: killed at any moment, stopped by SIGTERM, started twice, on a full disk.
set -euo pipefail
attend=${ATTEND:-build/release/attend}
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
attend() { "$attend" "$@"; }
fail() {
  echo "FAILED: $*"
  exit 1
}

# Numbers in words, and the same backwards.
words=(one two three four five six seven eight nine ten)
for i in {0..199}; do
  a=${words[i % 10]} b=${words[i / 10 % 10]} c=${words[i * 7 % 10]}
  echo "$a and $b and $c" >>train.source
  echo "$c und $b und $a" >>train.target
done
head -20 train.source >held.source
head -20 train.target >held.target
attend tokenizer train --model bpe --preset translation --vocab-size 300 --output fresh train.source train.target 2>log
attend init marian fresh --set preset=transformer-tiny --set encoder_layers=1 --set decoder_layers=1 2>>log

common=(train --model fresh --train train.source train.target --validation held.source held.target
  --batch-tokens 256 --warmup 20 --dropout 0.2 --validate-every 5 --average 3)
train() { # train OUTPUT STEPS [OPTION...]
  "$attend" "${common[@]}" --output "$1" --steps "$2" "${@:3}"
}

train whole 60 2>>log

# The result does not depend on the number of threads.
for threads in 1 2 3; do train "with-$threads" 6 --threads $threads 2>>log; done
for threads in 2 3; do
  cmp with-1/model.safetensors "with-$threads/model.safetensors" || fail "$threads threads train otherwise than one"
done

# SIGKILL at any moment: existing files load, and the resumed run ends with the same weights as the
# undisturbed one.
kills=0
for wait in 0.25 0.3 0.35 0.28 0.4 0.32; do
  "$attend" "${common[@]}" --output killed --steps 60 --resume 2>>log & # not a function: $! must be attend itself
  sleep $wait
  kill -9 $! 2>/dev/null && kills=$((kills + 1))
  wait $! 2>/dev/null || true
done
train killed 60 --resume 2>>log
[ "$kills" -gt 0 ] || fail "nothing was killed: the test is too slow to test anything"
cmp whole/model.safetensors killed/model.safetensors || fail "a killed and resumed run ends with other weights"
if find killed -name '*.tmp' | grep -q .; then fail "left behind: $(find killed -name '*.tmp')"; fi

# Stopped: saves, says how to continue, exits with 130.
"$attend" "${common[@]}" --output stopped --steps 100000 2>stopped.log &
stopped=$!
for _ in {1..600}; do
  if [ -e stopped/checkpoints ]; then break; fi
  sleep 0.05
done
if train stopped 60 2>second.log; then fail "two runs write to one directory"; fi
grep -q "another run is writing here" second.log || fail "the second run printed: $(cat second.log)"
kill -TERM $stopped
status=0
wait $stopped || status=$?
[ $status = 130 ] || fail "stopped politely, it exits with $status"
grep -q "stopped and saved at step [0-9]*; the same command with --resume" stopped.log || fail "$(tail -2 stopped.log)"
if train stopped 60 2>again.log; then fail "it began anew where a run has been"; fi
grep -q -- "--resume goes on with it" again.log || fail "$(cat again.log)"

# A rejected run changes nothing: here the two would even have other tokenizers.
attend tokenizer train --model bpe --preset translation --vocab-size 290 --output other train.source 2>>log
attend init marian other --set preset=transformer-tiny --set encoder_layers=1 --set decoder_layers=1 2>>log
listing() { find "$1" -type f -exec sha256sum {} + | sort -k2; }
listing stopped >before
if attend train --model other --train train.source train.target --output stopped --steps 1 2>refused.log; then
  fail "it began anew where a run has been"
fi
listing stopped | cmp before - || fail "a refused run has changed what another left: $(listing stopped | diff before -)"
listing other >before
if attend train --model fresh --train train.source train.target --output other --steps 1 2>refused.log; then
  fail "it trained over a model"
fi
grep -q "there already is a model in it" refused.log || fail "$(cat refused.log)"
listing other | cmp before - || fail "a refused run has changed a model: $(listing other | diff before -)"

# A disk that is full when a checkpoint is written (here: files may grow to 100 kB).
status=0
(trap '' XFSZ; ulimit -f 100; train full 60 2>full.log) || status=$?
[ $status = 1 ] || fail "on a full disk it exits with $status: $(tail -1 full.log)"
grep -q "safetensors: cannot write: File too large" full.log || fail "$(tail -1 full.log)"
if [ -e full/model.safetensors ] || find full -name '*.safetensors' -path '*/step-*' ! -path '*unfinished*' | grep -q .; then
  fail "half-written: $(find full)"
fi

# Lines that do not belong together.
head -n -1 train.target >short.target
if attend train --model fresh --train train.source short.target --output x --steps 1 2>lines.log; then fail "unequal lines"; fi
grep -q "train.source has 200 lines and short.target has 199" lines.log || fail "$(cat lines.log)"
echo "killed $kills times; all well"
