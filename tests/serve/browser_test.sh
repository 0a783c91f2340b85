#!/usr/bin/env bash
# The page of attend serve in a browser (page_test.mjs), with models that are made here.
#   tests/serve/browser_test.sh [CHROMIUM]
set -euo pipefail
browser=${1:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$browser" ] || ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "skipped: node, npm and chromium are needed"
  exit 77
fi
root=$(realpath "$(dirname "$0")/../..")
"$root/scripts/build-page" --install
attend=$(realpath "${ATTEND:-build/release/attend}")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
printf 'the lamp is on the table\nnobody saw the second door\nUser: hello\nBot: good day\n' >text
{
  "$attend" tokenizer train --model bpe --vocab-size 300 --output gpt2 text
  "$attend" init gpt2 gpt2 --set n_embd=64 --set n_layer=2 --set n_head=2 --set n_positions=4096
  "$attend" tokenizer train --model wordpiece --vocab-size 120 --output bert text
  "$attend" init bert bert --set hidden_size=32 --set num_hidden_layers=2 --set num_attention_heads=2 \
    --set intermediate_size=64
} >log 2>&1 || { cat log; exit 1; }
"$attend" serve gpt2 bert --port 0 --template 'User: {user}\nBot: {bot}' 2>serve.log &
server=$!
for _ in $(seq 300); do
  if grep -q 'listening on' serve.log; then break; fi
  sleep 0.1
done
node "$root/tests/serve/page_test.mjs" "$(sed -n 's/.*listening on //p' serve.log)" "$root/src/explain/page" "$browser"
kill "$server"
wait "$server"
server=
