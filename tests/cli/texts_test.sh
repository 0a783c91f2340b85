#!/usr/bin/env bash
# Texts as arguments, as lines and in files: each is used unchanged.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
# same EXPECTED FOUND WHAT
same() { [ "$1" = "$2" ] || fail "$3: expected \"$1\", found \"$2\""; }
# refuses TEXT COMMAND...
refuses() {
  local text=$1
  shift
  if "$@" >out 2>err; then fail "$*: accepted"; fi
  grep -qF -- "$text" err || fail "$*: expected \"$text\", found: $(cat err)"
}
count() { wc -l | tr -d ' '; }

printf 'the lamp is on the table [ ] , a b\nnobody saw the second door and [ 1 ]\n' >text
mark=$'\xef\xbb\xbf'
"$attend" tokenizer train --quiet --preset bert --model wordpiece --vocab-size 300 --output words text
"$attend" tokenizer train --quiet --preset gpt2 --model bpe --vocab-size 300 --output bytes text

# Square brackets, in arguments and on standard input.
for line in '[a, b]' '[]' '[the lamp] [ a' '["a"]' '{}' '%%' '[MASK], [a]'; do
  same "$(printf '%s\n' "$line" | "$attend" tokenize bytes)" "$("$attend" tokenize bytes "$line")" "tokenize $line"
done
same "[CLS] [MASK] [SEP]" "$("$attend" tokenize words "[MASK]")" "a special token alone"
same 3 "$("$attend" tokenize words "[a, b]" a "[b]" | count)" "three texts"
same 3 "$("$attend" tokenize words a --json "[b]" "[c]" | count)" "texts around an option"
same "$("$attend" tokenize words "x")" "$("$attend" tokenize words -- "x")" "a text after --"

# Padding and truncation do not follow the tokenizer's file.
python3 - <<'PYTHON'
import json
tokenizer = json.load(open("words/tokenizer.json"))
tokenizer["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
tokenizer["padding"] = {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
json.dump(tokenizer, open("words/tokenizer.json", "w"))
PYTHON
same "[CLS] the lamp is on the table [SEP]" "$("$attend" tokenize words "the lamp is on the table")" "nothing saved counts"
same "[CLS] the lamp [SEP] [PAD] [PAD] [PAD] [PAD]" "$("$attend" tokenize words --truncation saved --padding saved "the lamp is on the table")" "what is saved"
same "[CLS] the lamp is [SEP]" "$("$attend" tokenize words --max-length 5 "the lamp is on the table")" "a length"
same "[CLS] a [SEP] [PAD]" "$("$attend" tokenize words --padding longest a "the lamp" | head -1)" "the longest"
printf 'the lamp\n\nthe lamp is on the table\r\n' >lines
same 8 "$("$attend" tokenize words --count lines | python3 -c 'import json; print(json.load(__import__("sys").stdin)["tokens"])')" "--count"

# Byte order marks and UTF-16.
same "[CLS] the lamp [SEP]" "$(printf '%sthe lamp\r\n' "$mark" | "$attend" tokenize words)" "a byte order mark"
printf '%sthe lamp\n' "$mark" >marked
same 2 "$("$attend" tokenize words --count marked | python3 -c 'import json; print(json.load(__import__("sys").stdin)["tokens"])')" "--count of a marked file"
printf 'the lamp\n' | iconv -t UTF-16 >wide
refuses "wide: expected UTF-8, found UTF-16" "$attend" tokenize words --count wide
refuses "standard input: expected UTF-8, found UTF-16" "$attend" tokenize words <wide

# A bad line is named once, and the exit status shows it.
printf 'a\tb\nc\n' >pairs
refuses "attend: standard input, line 2: --pair expects two texts" "$attend" tokenize words --pair <pairs
printf '{"text": "a"}\nb\n{"text": "c"}\n' >objects
refuses "1 of 3 texts are bad" "$attend" tokenize words --json <objects
same 3 "$(count <out)" "a line for each"
printf '{"ids": [5]}\n{"ids": "x"}\n' >ids
refuses "1 of 2 texts are bad" "$attend" detokenize words --json <ids

# The verbs that run models.
cp -r words model
"$attend" init bert model --quiet --set preset=tiny --set hidden_size=16 --set intermediate_size=16 --set num_hidden_layers=2 --set num_attention_heads=2
same 1 "$("$attend" embed model "[a, b]" | count)" "embed"
same "$(printf '[a, b]\n' | "$attend" embed model)" "$("$attend" embed model "[a, b]")" "embed of an argument and of a line"
same "$(printf 'the lamp\n' | "$attend" embed model)" "$(printf '%sthe lamp\n' "$mark" | "$attend" embed model)" "embed of a marked line"
same "the lamp" "$("$attend" embed model --search marked "[the, lamp]" | sed 's/^[^ ]*  //')" "the lines of a marked file"
same 1 "$("$attend" embed model --search marked --json "[the, lamp]" | count)" "one query"
"$attend" run feature-extraction model "[a, b]" >argument
printf '[a, b]\n' | "$attend" run feature-extraction model >line
cmp -s argument line || fail "run: an argument is not the line"
printf '%s[a, b]\n' "$mark" | "$attend" run feature-extraction model >line
cmp -s argument line || fail "run: a byte order mark counts"
cp -r bytes decoder
"$attend" init gpt2 decoder --quiet --set n_embd=16 --set n_layer=1 --set n_head=2
same 1 "$("$attend" generate decoder "[INST] hi, you [/INST]" --max-new-tokens 1 --json | count)" "generate"
"$attend" generate decoder "[a, b]" "[]" --max-new-tokens 2 --no-sample --stop "[x, y]" --json >argument
same 2 "$(count <argument)" "two prompts"
printf '[a, b]\n[]\n' | "$attend" generate decoder --max-new-tokens 2 --no-sample --json >line
cmp -s argument line || fail "generate: arguments are not the lines"
same 1 "$("$attend" run text-generation decoder "[a, b]" --max-new-tokens 1 | count)" "run text-generation"
# An option of sampling turns it on, so its value matters.
refuses "typical_p: expected a number above 0" "$attend" generate decoder a --max-new-tokens 1 --typical-p 0

# No file is overwritten, and none is written that the model does not need.
mkdir mine
echo '{"mine": 1}' >mine/config.json
refuses "there already is a model in it (config.json)" "$attend" convert model mine
refuses "there already is a model in it (config.json)" "$attend" quantize model mine
same '{"mine": 1}' "$(cat mine/config.json)" "somebody's config.json"
"$attend" quantize model small 2>/dev/null
[ ! -e small/generation_config.json ] || fail "quantize: a generation_config.json for BERT"
refuses "expected a directory to write to, found a file" "$attend" convert model text

# Layers that config.json does not count.
cp -r model shallow
sed -i 's/"num_hidden_layers": 2/"num_hidden_layers": 1/' shallow/config.json
"$attend" embed shallow a 2>err >/dev/null
grep -q "16 of the checkpoint's tensors are not used by .*: .*layer\.1" err || fail "a layer too many: $(cat err)"

# A multilingual model needs the languages.
python3 - <<'PYTHON'
import json, os
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "eng_Latn", "deu_Latn", "the", "lamp"]
def special(token, i):
    return {"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
os.mkdir("many")
json.dump({"version": "1.0", "added_tokens": [special(t, i) for i, t in enumerate(tokens[:7])],
           "pre_tokenizer": {"type": "Whitespace"},
           "post_processor": {"type": "TemplateProcessing",
                              "single": [{"SpecialToken": {"id": "eng_Latn", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                              "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                              "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for i, t in enumerate(tokens[:7])}},
           "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {t: i for i, t in enumerate(tokens)}}}, open("many/tokenizer.json", "w"))
json.dump({"pad_token": "[PAD]", "eos_token": "[SEP]"}, open("many/tokenizer_config.json", "w"))
PYTHON
"$attend" init m2m_100 many --quiet --set d_model=16 --set encoder_layers=1 --set decoder_layers=1 --set encoder_attention_heads=2 --set decoder_attention_heads=2 --set encoder_ffn_dim=16 --set decoder_ffn_dim=16
asks="expected --src-lang and --tgt-lang"
refuses "$asks" "$attend" translate many "the lamp"
refuses "$asks" "$attend" run translation many "the lamp"
refuses "--src-lang requires --tgt-lang" "$attend" translate many "the lamp" --src-lang eng_Latn
refuses "the model knows no language 'de': expected a code such as eng_Latn" "$attend" translate many "the lamp" --src-lang eng_Latn --tgt-lang de
languages=(--src-lang deu_Latn --tgt-lang eng_Latn)
same 2 "$("$attend" translate many "[the, lamp]" lamp "${languages[@]}" --max-new-tokens 3 | count)" "translate"
beams=(--max-new-tokens 4)
same "$("$attend" run translation many "the lamp" "${languages[@]}" --num-beams 1 "${beams[@]}" | python3 -c 'import json; print(json.load(__import__("sys").stdin)[0]["translation_text"])')" \
  "$("$attend" translate many "the lamp" "${languages[@]}" --beams 1 "${beams[@]}")" "translate as run translation"
echo "all well"
