"""A random model of every family, of half the size of the usual ones: 6 layers of 384, 6 heads."""

import json
from pathlib import Path

import torch
import transformers as tf

BERT = dict(vocab_size=30000, hidden_size=384, num_hidden_layers=6, num_attention_heads=6, intermediate_size=1536,
            max_position_embeddings=514, pad_token_id=0)  # fmt: skip
GPT = dict(vocab_size=30000, n_embd=384, n_layer=6, n_head=6, n_positions=512)
PAIR = dict(vocab_size=30000, d_model=384, max_position_embeddings=512) | {
    f"{stack}_{name}": count
    for stack in ("encoder", "decoder")
    for name, count in (("layers", 6), ("attention_heads", 6), ("ffn_dim", 1536))
}
CONFIGS = {
    "bert": lambda: tf.BertConfig(**BERT),
    "roberta": lambda: tf.RobertaConfig(**BERT),
    "xlm-roberta": lambda: tf.XLMRobertaConfig(**BERT),
    "distilbert": lambda: tf.DistilBertConfig(vocab_size=30000, dim=384, n_layers=6, n_heads=6, hidden_dim=1536),
    "electra": lambda: tf.ElectraConfig(**BERT),
    "albert": lambda: tf.AlbertConfig(**BERT),
    "deberta": lambda: tf.DebertaConfig(**BERT, relative_attention=True, pos_att_type=["p2c", "c2p"]),
    "deberta-v2": lambda: tf.DebertaV2Config(**BERT, relative_attention=True, pos_att_type=["p2c", "c2p"],
                                             position_buckets=256, share_att_key=True, norm_rel_ebd="layer_norm"),
    "big_bird": lambda: tf.BigBirdConfig(**BERT | {"max_position_embeddings": 4096}),
    "xlnet": lambda: tf.XLNetConfig(vocab_size=30000, d_model=384, n_layer=6, n_head=6, d_inner=1536),
    "xlm": lambda: tf.XLMConfig(vocab_size=30000, emb_dim=384, n_layers=6, n_heads=6),
    "vit": lambda: tf.ViTConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=6, intermediate_size=1536),
    "gpt2": lambda: tf.GPT2Config(**GPT),
    "attend-gpt3": lambda: tf.GPT2Config(**GPT),  # has no original: against GPT-2, which sees all
    "openai-gpt": lambda: tf.OpenAIGPTConfig(**GPT),
    "ctrl": lambda: tf.CTRLConfig(**GPT, dff=1536),
    "gpt_neo": lambda: tf.GPTNeoConfig(vocab_size=30000, hidden_size=384, num_layers=6, num_heads=6, window_size=64,
                                       attention_types=[[["global", "local"], 3]]),
    "gptj": lambda: tf.GPTJConfig(**GPT, rotary_dim=32),
    "transfo-xl": lambda: tf.TransfoXLConfig(vocab_size=30000, cutoffs=[5000, 15000], d_model=384, d_embed=384,
                                             n_head=6, d_head=64, d_inner=1536, n_layer=6, mem_len=0, clamp_len=400,
                                             same_length=False),
    "t5": lambda: tf.T5Config(vocab_size=30000, d_model=384, d_kv=64, d_ff=1536, num_layers=6, num_heads=6),
    "bart": lambda: tf.BartConfig(**PAIR),
    "m2m_100": lambda: tf.M2M100Config(**PAIR),
    "marian": lambda: tf.MarianConfig(**PAIR, pad_token_id=0, decoder_start_token_id=0),
}  # fmt: skip


def make_family(family: str, directory: str) -> None:
    tf.AutoModel.from_config(CONFIGS[family]()).save_pretrained(directory)
    if family == "attend-gpt3":
        path = Path(directory) / "config.json"
        config = json.loads(path.read_text())
        path.write_text(json.dumps(config | {"model_type": family, "architectures": ["AttendGPT3Model"],
                                             "window_size": 64}))  # fmt: skip


def load_original(family: str, directory: str) -> tf.PreTrainedModel:
    """With its fastest attention."""
    kind = tf.GPT2Model if family == "attend-gpt3" else tf.AutoModel
    more = {"config": CONFIGS[family]()} if family == "attend-gpt3" else {}
    try:
        return kind.from_pretrained(directory, attn_implementation="sdpa", **more)
    except ValueError:  # has none but its own
        return kind.from_pretrained(directory, **more)


def type_as(tensor: torch.Tensor, other: torch.Tensor | None = None, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Transformer-XL of transformers 4.57 calls it with a dtype, which torch does not take."""
    return TYPE_AS(tensor, other) if other is not None else tensor.to(dtype)


TYPE_AS = torch.Tensor.type_as
torch.Tensor.type_as = type_as


def family_inputs(family: str, ids: torch.Tensor, mask: torch.Tensor) -> dict[str, torch.Tensor]:
    """Of its forward: padded texts; a picture for each of them."""
    if family == "vit":
        return {"pixel_values": torch.zeros(len(ids), 3, 224, 224)}
    if family == "transfo-xl":  # knows no masks
        return {"input_ids": ids}
    texts = {"input_ids": ids, "attention_mask": mask}
    if CONFIGS[family]().is_encoder_decoder:
        texts |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    return texts
