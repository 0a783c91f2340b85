#!/usr/bin/env bash
# Makes pages for every kind of model and tests them in a browser (page_test.mjs).
#   tests/explain/browser_test.sh [CHROMIUM]
set -euo pipefail
browser=${1:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$browser" ] || ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "skipped: node, npm and chromium are needed"
  exit 77
fi
"$(dirname "$0")/../../scripts/build-page" --install
attend=$(realpath "${ATTEND:-build/release/attend}")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bash "$here/make_models.sh" "$attend" "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work"
head -3 text >lines.txt
text="time flies like an arrow"
page() { "$attend" explain "m-$1" "${@:3}" --output "$2.html"; }
page bert bert "$text" --pair "the lamp is on the table"
page gpt2 gpt2 "$text 🙂 Zoë "$'\u202e'"</script>"
for model in gptj deberta xlnet xl; do page $model $model "$text"; done
page bigbird bigbird "$(for _ in 1 2 3 4 5 6 7 8 9; do echo "$text"; done)"
page t5 t5 "$text" --target "the lamp"
page marian marian "$text"
page vit vit --image portrait.png --attribute all
page twelve twelve "$text" --pair "the lamp is on the table"
page many many "$text"
page bert why "$text the [MASK] is on the table" --attribute all --toward lamp --instead-of door --ablate lines.txt
page marian written "$text" --attribute integrated-gradients,rollout
page gpt2 one a
page bert two "$text" --against-text "fruit flies like a door"
# On a machine without bfloat16 products attend fails; weights in bfloat16 make the same kind of page.
"$attend" explain m-bert "$text" --against-bfloat16 --output rounded.html 2>refusal ||
  { grep -q AVX512_BF16 refusal && page bert rounded "$text" --against-weights bfloat16; }
page bert nasty "</script><script>window.attacked = 1</script><!-- "$'\u202e\u2066'" <b onclick=x>&lt; 東京 e"$'\u0301'
page bert long "$(for _ in $(seq 102); do echo "$text"; done)"
node "$here/page_test.mjs" "$work" "$here/../../src/explain/page" "$browser"
