#!/usr/bin/env bash
# Tables and pictures as users have them: every verb reads a file in the same way, and reports how it was
# read.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
images=$(realpath "$(dirname "$0")/../data/images")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
quietly() { "$attend" "$@" >log 2>&1 || fail "attend $*: $(cat log)"; }
says() { grep -qF -- "$1" "$2" || fail "expected \"$1\", found: $(cat "$2")"; }
same() { cmp -s "$1" "$2" || fail "$1 and $2 differ: $(diff "$1" "$2")"; }

# A classifier of texts, from a table with an unknown header.
printf 'line,mood\n' >train.csv
for i in {0..19}; do printf '"so, %s",%s\n' "$((i % 7))" "$((i % 2))" >>train.csv; done
quietly tokenizer train --model wordpiece --vocab-size 60 --output words train.csv
quietly init bert bert --tokenizer words --set hidden_size=16 --set num_hidden_layers=1 --set num_attention_heads=2 \
  --set intermediate_size=16
train() { quietly train --model bert --steps 1 "$@"; }
train --objective classification --train train.csv --output moods
says 'train.csv: columns line (text), mood (label); labels 0, 1; 20 rows; header: yes' log
train --objective classification --train train.csv --column text=line --column label=mood --output named
says 'header: yes' log
train --objective classification --train train.csv --no-header --output headless
says 'labels 0, 1, mood; 21 rows; header: no' log

# Quotes have no meaning in TSV, in every verb.
classify() { "$attend" run text-classification moods "$@" 2>err; }
printf '%s\n' '"whole"' '"lone' 'a "b" c' | classify >lines
printf 'text\tlabel\n%s\t0\n%s\t1\n%s\t0\n' '"whole"' '"lone' 'a "b" c' >quotes.tsv
cut -f 1 quotes.tsv >texts.tsv
classify --input-format tsv <texts.tsv >table
same lines table
"$attend" evaluate classification moods quotes.tsv --save-scores scores --json >figures 2>err
says 'quotes.tsv: columns text, label; labels 0, 1; 3 rows; header: yes' err
# The same rows as CSV of several programs.
printf '\xef\xbb\xbftext\r\n"""whole"""\r\n"""lone"\r\n"a ""b"" c"\r\n' | classify --input-format csv >table
same lines table
printf 'text\r"""whole"""\r"""lone"\r"a ""b"" c"' | classify --input-format csv >table
same lines table
printf 'n;text\n1;"""whole"""\n2,5;"""lone"\n3;a "b" c\n' | classify --input-format csv >table
same lines table
! printf 'text\nso\n' | iconv -t UTF-16 | classify --input-format csv >table || fail "UTF-16 is read"
says 'expected UTF-8, found UTF-16' err

# A column for each label.
printf 'id,what,toxic,insult\n1,so so,1,0\n2,so,0,1\n3,no,0,0\n4,two,1,1\n' >labels.csv
train --objective multi-label --train labels.csv --output several
says 'columns what (text), toxic, insult (labels); 4 rows' log
"$attend" run text-classification several --top-k 0 so 2>err | grep -q '"toxic"' || fail "the labels have other names"
printf 'so\tx,y\nno\tx\n' >joined.tsv
train --objective multi-label --train joined.tsv --output joined
says '"x,y" is read as one label; several are written as a list' log

# Validation scores have the scale of the training scores.
printf '4.5\tso\tso so\n1\tno\ttwo\n0\tso\ttwo\n' >scored.tsv
printf '0.5\tso\tno\n1\tno\tso\n' >held-out.tsv
train --objective scored-pairs --train scored.tsv --validation held-out.tsv --output vectors
says 'scored.tsv: scores from 0 to 5 become cosines from 0 to 1' log
says 'held-out.tsv: scores from 0 to 5 become cosines from 0 to 1' log
train --objective scored-pairs --train scored.tsv --score-range 0,10 --output vectors-of-10
says 'scores from 0 to 10 become cosines' log

# Pictures: one damaged picture among many is skipped, and all formats are read.
quietly init vit vit --set preset=tiny --set image_size=8 --set patch_size=4 --set encoder_stride=4 --set hidden_size=16 \
  --set num_hidden_layers=1 --set num_attention_heads=2 --set intermediate_size=16
mkdir -p pictures/cat pictures/dog
cp "$images"/*.webp "$images"/*.tif pictures/cat
cp "$images"/*.gif "$images"/*.bmp "$images"/cmyk.jpg pictures/dog
head -c 200 "$images/colours.jpg" >pictures/dog/broken.jpg
quietly train --objective image-classification --model vit --train pictures --steps 1 --output animals
says 'left out 1 of' log
says 'broken.jpg: cannot read this picture' log
see() { "$attend" run image-classification animals "$@" 2>err; }
see "$images"/{turned.png,palette.gif,cmyk.jpg,colours.webp,colours.bmp,clear.tif} >files
[ "$(wc -l <files)" = 6 ] || fail "six pictures have other than six answers: $(cat files err)"
see "$images/turned.png" >file
see "data:image/png;base64,$(base64 -w 0 "$images/turned.png")" >uri
same file uri

python3 - "$attend" "$images/turned.png" file <<'PYTHON'
import atexit, base64, json, subprocess, sys, urllib.error, urllib.request

attend, picture, file = sys.argv[1:]
server = subprocess.Popen([attend, "serve", "animals", "--port", "0"], stderr=subprocess.PIPE, text=True)
atexit.register(server.kill)
port = next(line.rsplit(":", 1)[1].strip() for line in server.stderr if "listening on" in line)


def see(inputs):
    body = json.dumps({"model": "animals", "inputs": inputs}).encode()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/run/image-classification", body) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        return json.load(error)["error"]["message"]


data = open(picture, "rb").read()
expected = json.load(open(file))
for inputs in (base64.b64encode(data).decode(), base64.encodebytes(data).decode(),
               "data:image/png;base64," + base64.b64encode(data).decode(),
               {"image": base64.b64encode(data).decode()}):  # fmt: skip
    assert see(inputs) == expected, (inputs[:40], see(inputs))
for inputs, words in (("", "found an empty text"), ("?", "found a text that is not base64"), ("data:text/plain,a", "data:image/png;base64"),
                      (base64.b64encode(b"a text").decode(), "expected a picture"), ("/etc/passwd", "image:")):  # fmt: skip
    assert words in see(inputs) and "/proc" not in see(inputs), (inputs, see(inputs))
PYTHON
echo "all well"
