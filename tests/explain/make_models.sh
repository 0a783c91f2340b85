#!/usr/bin/env bash
# Makes tiny random models of every kind in the folder it is given, for the tests of `attend explain`.
set -euo pipefail
attend=$1
cd "$2"
printf 'time flies like an arrow\nthe lamp is on the table\nnobody saw the second door\nZoë läuft\n' >text
tokenizer() { "$attend" tokenizer train --quiet --preset "$1" --model "$2" --vocab-size 320 --output "$1" text; }
tokenizer bert wordpiece
tokenizer gpt2 bpe
tokenizer translation bpe
tokenizer plain bpe
tokenizer t5 unigram
tokenizer xlnet unigram
fresh() { "$attend" init "$1" "$2" --quiet --tokenizer "$3" "${@:4}"; }
small=(--set preset=tiny --set hidden_size=32 --set intermediate_size=48 --set num_hidden_layers=2 --set num_attention_heads=4)
fresh bert m-bert bert "${small[@]}" --set max_position_embeddings=512
fresh bert m-twelve bert --set preset=tiny --set hidden_size=48 --set intermediate_size=48 --set num_hidden_layers=3 --set num_attention_heads=12
fresh bert m-many bert --set preset=tiny --set hidden_size=96 --set intermediate_size=48 --set num_hidden_layers=1 --set num_attention_heads=24
fresh gpt2 m-gpt2 gpt2 --set preset=tiny --set n_embd=32 --set n_layer=3 --set n_head=4
fresh gptj m-gptj gpt2 --set n_embd=32 --set n_layer=2 --set n_head=2 --set rotary_dim=8
fresh deberta-v2 m-deberta bert "${small[@]}" --set pos_att_type='["c2p","p2c"]' --set relative_attention=true
fresh big_bird m-bigbird bert "${small[@]}" --set block_size=4 --set num_random_blocks=1 --set max_position_embeddings=512
fresh xlnet m-xlnet xlnet --set preset=tiny --set d_model=32 --set n_layer=2 --set n_head=4 --set d_inner=48
fresh transfo-xl m-xl plain --set preset=tiny
fresh t5 m-t5 t5 --set preset=tiny --set num_layers=6 --set num_decoder_layers=2
fresh marian m-marian translation --set preset=transformer-tiny --set encoder_layers=3 --set decoder_layers=1 --set num_beams=3 --set max_length=8
"$attend" init vit m-vit --quiet --set preset=tiny
# A picture higher than wide: a PNG of 12 x 20 pixels.
python3 - <<'PYTHON'
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\0" + bytes(v for x in range(12) for v in (x * 20, y * 12, 200 if (x - 6) ** 2 + (y - 10) ** 2 < 20 else 40)) for y in range(20))
open("portrait.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 12, 20, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
PYTHON
