#!/usr/bin/env bash
# The commands of docs/attention.md run unchanged, and they draw the page's pictures.
#   tests/cli/attention_doc_test.sh --draw   puts the pictures into docs/
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
docs=$(realpath "$(dirname "$0")/../../docs")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin && ln -s "$attend" bin/attend
# shellcheck disable=SC2016 # the backquotes belong to the document
sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$docs/attention.md" >commands.sh
PATH=$work/bin:$PATH bash -euo pipefail commands.sh >output 2>&1 || { cat output; exit 1; }
for page in time.html hidden.html; do
  grep --quiet 'data-explanation' "$page" || { echo "FAILED: $page is no page"; exit 1; }
done
grep --quiet '"token_str":"flies"' output || { cat output; echo "FAILED: the model has not learned its sentence"; exit 1; }
for view in heads model neuron; do
  if [ "${1:-}" = --draw ]; then cp "$view.svg" "$docs/attention-$view.svg"; fi
  # Training rounds differently on other machines, so lines differ a little, but not the words.
  words() { grep --only-matching '<text [^>]*>[^<]*[a-z\[][^<]*</text>' "$1" | sed 's/<text[^>]*>//' | grep -v -- '[0-9.]\{4\}' || true; }
  diff <(words "$view.svg") <(words "$docs/attention-$view.svg") || { echo "FAILED: docs/attention-$view.svg shows something else"; exit 1; }
done
