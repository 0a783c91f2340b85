"""How a batch is arranged: the layouts of each family and of each head."""

from __future__ import annotations

from model_families import BERT_LIKE, FAIRSEQ_DECODERS, GPT_LIKE, LINEAR_LIKE, LLAMA_LIKE, MARIAN_LIKE, T5_LIKE

# `single` and `plain` have no mask, `single` also has no labels (so no loss). `right` and `left` have padding on
# that side; `left` counts padding as positions, as the original does. `positions` is left padding with
# generate()'s position ids. `types` has token types, which GPT treats as tokens. `lengths` are XLM's, instead of
# a mask. `larger` has images that are larger than the model's own, with interpolated positions. `targets` has
# labels but no decoder inputs: Marian makes them. `permuted` hides tokens from each other and predicts some
# (XLNet's second stream). `memory` continues an earlier segment.
ENCODER_LAYOUTS = ["right", "left", "plain", "single"]
LAYOUTS = {
    **{family: ENCODER_LAYOUTS for family in BERT_LIKE},
    **{family: ["right", "left", "positions", "types", "plain", "single"] for family in GPT_LIKE},
    **{family: ["right", "left", "positions", "plain", "single"] for family in LLAMA_LIKE},
    **{family: ["right", "left", "positions", "plain", "single"] for family in FAIRSEQ_DECODERS},
    **{family: ENCODER_LAYOUTS for family in LINEAR_LIKE},
    "falcon": ["right", "left", "positions", "plain", "single"],
    "modernbert": ["right", "left", "positions", "plain", "single"],
    **{family: ENCODER_LAYOUTS for family in ("nomic_bert", "jina_bert")},
    "new": [*ENCODER_LAYOUTS, "positions"],
    "xlm": ["right", "left", "types", "lengths", "plain", "single"],
    **{family: ["plain", "larger", "single"] for family in ("vit", "vit_msn")},
    **{family: ["right", "left", "targets", "single"] for family in (*MARIAN_LIKE, *T5_LIKE)},
    "xlnet": [*ENCODER_LAYOUTS, "permuted", "memory"],
    "transfo-xl": ["plain", "single", "memory"],  # has no padding
    "big_bird": ["plain", "single"],  # the original's result depends on the padded length, attend's does not
    "encoder-decoder": ["right", "left", "targets", "single"],
    "vision-encoder-decoder": ["right", "left", "targets", "larger", "single"],
}


def layouts_of(family: str, head: str, causal: bool = False) -> list[str]:
    """The layouts in which the head's results have a meaning. A head that scores a sentence reads column 0, even if it is
    padding. Without a head there are no labels, so no targets."""
    if head in ("XLNetForMultipleChoice", "XLNetForQuestionAnswering"):
        return [layout for layout in LAYOUTS[family] if layout not in ("permuted", "memory")]
    if family == "xlnet" and "For" in head:  # tokens around the text have no labels
        return [layout for layout in LAYOUTS[family] if layout != "permuted"]
    if head.endswith("T5Model"):
        return [layout for layout in LAYOUTS[family] if layout != "targets"]
    of_tokens = ("ForMaskedLM", "ForCausalLM", "LMHeadModel", "ForTokenClassification", "ForQuestionAnswering")
    pooled = family in BERT_LIKE and causal and not head.endswith(of_tokens)
    pooled |= family == "xlm" and causal
    pooled |= head.endswith("T5ForQuestionAnswering")  # its float64 result is NaN there: no noise can be measured
    counted = head.startswith("FalconFor") and head != "FalconForCausalLM"  # takes no positions
    left_out = ("left", "positions") if pooled else ("positions",) if counted else ()
    return [layout for layout in LAYOUTS[family] if layout not in left_out]
