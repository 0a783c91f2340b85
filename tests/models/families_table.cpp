// The table of docs/models.md, made from the registry:
//     families-table            prints it
//     families-table --check F  checks that the file F equals the output
#include "base/file.h"
#include "models/families/family.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attend {
namespace {

constexpr const char* introduction =
    R"(# Models

Made from the registry of families by `build/release/families-table > docs/models.md`; a test compares the two.

Every head runs with `attend forward`, which also computes the gradient of every tensor. Decoders generate with
`attend generate` (encoder-decoders also with `attend translate`) and train with `attend train`. The table shows the
positions, attention and norms of a fresh model (`attend init` with the first preset); a config.json may change them.

Everything here is compared with transformers 4.57.6 by `tests/oracle/check_parity.py`: outputs, hidden states,
attentions, loss and gradients of tiny random models, padded on both sides where the original knows padding.
`check_generation.py` compares generated ids. `attend-gpt3` has no original: it is compared with GPT-2 whose attention
is banded; BigBird's attention in training, for which the original draws other blocks, with its golden. The code of
`nomic_bert`, `new` (GTE v1.5) and `jina_bert` (whose config.json says `bert`) is part of their checkpoints, not of
transformers 4.57: they are compared with definitions of our own, in `tests/oracle/remote_encoders.py`.
`check_conversion.py` compares what `attend convert` writes. `check_configurations.py` draws every field of every
config class, and compares what the originals can build.

A config with one of these fields, or such an input, is an error that names it:

| Field | Reason |
|---|---|
| activations `prelu`, `xielu` | they have weights of their own |
| `is_decoder`, `add_cross_attention` of ALBERT, DeBERTa, DistilBERT and ViT | the original has no decoder there |
| `summary_type` other than `cls_index` for two heads (GPT, GPT-2) | the original treats the choices as tokens |
| `asm` of XLM | an adaptive softmax, which XLM's published checkpoints do not have |
| `attn_type` other than 0 of Transformer-XL | the original has no other |
| states and attentions of BigBird's blocks behind the text, to the end of the last block | they are of padding; with them 63 of 64 texts would have other shapes than they have in other families |
| `encoder_hidden_states` of BigBird | in transformers 4.57 its decoder reads them in place of its own text |
| `talking_head` of DeBERTa | the original has dropped it |
| `layer_norm_elementwise_affine` false of OPT | the original cannot begin such a model, only load it |
| `position_embedding_type` other than `absolute` beside `add_cross_attention` of Megatron's BERT | it alone would count distances between tokens of two texts |
| `rotary_value` of RoFormer | no published checkpoint turns its values |
| RoFormer's own tokenizer (`RoFormerTokenizer`) | it finds Chinese words in jieba's dictionary, which is not part of Attend; token ids work, and so does a tokenizer.json of another class |
| `tie_encoder_decoder` of BART, M2M-100, Marian, T5 and their relatives | their checkpoints have encoders and decoders of their own; models of two (`encoder-decoder`) may have one for both, and compute and generate, but are not trained: each side's matrices are its own here |
| `prenorm`, `causal`, `parallel_block`, `norm_mlp`, `use_rms_norm`, `rotary_emb_scale_base`, `moe_every_n_layers` and a `rotary_emb_fraction` of 0 of NomicBERT | nomic-embed-text-v1, v1.5 and nomic-bert-2048 do not use them; v2's experts are not read |
| `position_embedding_type` other than `rope`, `layer_norm_type` other than `layer_norm`, `logn_attention_scale` of GTE | no published checkpoint has them |
| JinaBERT's checkpoints with norms of queries and keys (jina-embeddings-v2-base-code, -de, -es, -zh) | these are of another model, with two norms after each attention |
| `sparse_prediction` of ModernBERT | its scores have another shape with labels than without |
| `parallel_attn` false with `new_decoder_architecture`, other `num_kv_heads` or `num_ln_in_parallel_attn` of Falcon | the original builds such a model and cannot compute it |
| inputs `head_mask`, `inputs_embeds`, masks of three dimensions | no tokenizer and no collator makes them |
| `attention_mask` with padding between tokens, if attention depends on distances (ALiBi, buckets, relative keys) or the text is longer than a window | Attend stores no padding, so distances between columns are unknown; no tokenizer makes such a mask |

- `attend generate` follows the originals' generate() with a cache, and `attend forward` a single call without one. They
  differ in two cases. With relative keys (`position_embedding_type`), BERT measures the distances of a whole prompt from
  its last token when it reads the prompt into its cache. A model with `is_decoder` false keeps the keys and values that it
  has read.
- BART's and Marian's decoders count the padding before a prompt as positions. The decoders of other families do not.
- A label counts at every position, also on padding.
- XGLM's original halves the gradients of queries and keys of padding before a text: `torch.max` divides the gradient of
  two equal numbers between them. Here they are whole, as in its relatives.
- `rope_scaling` (transformers 5: `rope_parameters`) may be of the types `default`, `linear`, `dynamic`, `yarn`, `longrope`
  and `llama3`; another type is an error. The rotation of `dynamic` and `longrope`, and of NomicBERT's
  `rotary_scaling_factor`, depends on the length of the text. Here it depends on each text alone, so a text has the same
  result in every batch. The original uses the longest text of the batch, and for `dynamic` of earlier calls too.
- If a generated text crosses such a length, the keys in the cache keep their rotation. Phi-3's original then reads the
  whole text again, without hiding later tokens.
- A generated text, prompt included, ends at `max_position_embeddings`, except with `dynamic`; the original goes on.
  `attend forward` reads longer texts if positions are rotary.
- With `sliding_window` 1 a token sees only itself. When transformers 4.57 generates, such a layer sees the whole text: its
  cache keeps all keys, and its mask of one column hides none.
- With `use_sliding_window`, Qwen2 with experts generates what the original generates without a cache. The original's cache
  keeps the last keys, but its mask is that of the first ones.

Where layers have experts, a token reads those that its router chooses, whatever other tokens read. With `output_router_logits`, which a
fresh config.json has, the loss of next tokens gets `router_aux_loss_coef` times a second term that keeps experts equally busy; `attend
train` prints it as a term of its own. An expert that no token chose has a gradient of zeros, and none in the original. As there, all
layers of Qwen2 and Qwen3 with experts see the window of `use_sliding_window`, whatever `max_window_layers` says. gpt-oss is read in
the MXFP4 of its published files as well as in floating point; `--weights int4` keeps its experts small in memory.

)";

std::string positions_of(const StackSpec& stack) {
  if (stack.patches) return "learned for patches, interpolated";
  struct Name {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(const LearnedPositions& p) const {
      return p.skipped_id >= 0 ? "learned, after the padding id"
             : p.skips_padding ? "learned, padding not counted"
                               : "learned";
    }
    std::string operator()(const SinusoidalPositions&) const { return "sines"; }
    std::string operator()(const RotaryPositions&) const { return "rotary"; }
    std::string operator()(const DistantPositions&) const { return "none"; }
  };
  struct Distance {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(const BucketedBias&) const { return "relative: a bias per bucket"; }
    std::string operator()(const SinusoidalDistances&) const { return "relative: sines"; }
    std::string operator()(const LearnedDistances&) const { return "relative: learned"; }
    std::string operator()(const HeadDistances&) const { return "relative: learned, of every layer"; }
    std::string operator()(const LinearDistances&) const { return "relative: linear (ALiBi)"; }
  };
  const std::string absolute = std::visit(Name{}, stack.embeddings.positions),
                    relative = std::visit(Distance{}, stack.distances);
  if (relative.empty()) return absolute;
  return absolute == "none" ? relative : absolute + ", " + relative;
}

std::string attention_of(const StackSpec& stack) {
  bool local = false, all = true;
  for (const LayerSpec& layer : stack.layers) {
    local = local || layer.self_attention.window > 0;
    all = all && layer.self_attention.window > 0;
  }
  const AttentionSpec& attention = stack.layers.front().self_attention;
  if (attention.blocks) return "block-sparse";
  const std::string_view windows = !local ? "" : all ? ", local" : ", some layers local";
  const std::string_view shared =
      attention.heads_of_keys() < attention.heads ? ", fewer key-value heads" : "";
  return fmt::format("{}{}{}{}", attention.causal ? "causal" : "full", windows, shared,
                     stack.layers.front().cross_attention ? ", cross" : "");
}

std::string norm_of(const StackSpec& stack) {
  switch (stack.layers.front().order) {
    case NormOrder::post:
      return "after";
    case NormOrder::pre:
      return "before";
    case NormOrder::parallel:
      return stack.layers.front().two_norms ? "before each, side by side" : "before, side by side";
    case NormOrder::result:
      return "of results";
    case NormOrder::around:
      return "before and of results";
  }
  return "";
}

// "BertForMaskedLM" -> "MaskedLM", in a family whose model without a head is "BertModel".
std::vector<std::string> heads_of(const Family& family) {
  std::string_view common = *std::ranges::min_element(family.architectures, {}, &std::string_view::size);
  common.remove_suffix(std::string_view("Model").size());
  std::vector<std::string> heads;
  for (std::string_view name : family.architectures) {
    // "Gemma3ForCausalLM" next to "Gemma3TextModel".
    const auto [own, shared] = std::ranges::mismatch(name, common);
    name.remove_prefix(static_cast<std::size_t>(own - name.begin()));
    if (name.starts_with("For")) name.remove_prefix(3);
    heads.emplace_back(name);
  }
  return heads;
}

std::string row(const Family& family) {
  const Fields config(family.fresh_config(family.presets.front()), std::string(family.model_type));
  const ModelSpec spec = family.spec(config, config.texts({"architectures"}).front());
  std::string stacks, positions, attention, norms;
  const auto add = [](std::string& cell, const std::string& text) {
    if (cell != text) cell += (cell.empty() ? "" : " / ") + text;
  };
  for (const auto* stack : {&spec.encoder, &spec.decoder}) {
    if (!*stack) continue;
    const bool experts = std::ranges::any_of(
        (*stack)->layers, [](const LayerSpec& layer) { return layer.experts.has_value(); });
    add(stacks,
        std::string(stack == &spec.encoder ? "encoder" : "decoder") + (experts ? " with experts" : ""));
    add(positions, positions_of(**stack));
    add(attention, attention_of(**stack));
    add(norms, norm_of(**stack));
  }
  return fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", family.model_type, stacks, positions,
                     attention, norms, fmt::join(heads_of(family), ", "), fmt::join(family.presets, ", "));
}

std::string table() {
  std::string text = introduction;
  text += "| model_type | Stacks | Positions | Attention | Norms | Heads | Presets of `attend init` |\n";
  text += "|---|---|---|---|---|---|---|\n";
  for (const Family* family : families()) text += row(*family);
  return text;
}

}  // namespace
}  // namespace attend

int main(int argc, char** argv) {
  const std::string text = attend::table();
  if (argc == 1) {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  if (argc != 3 || std::string(argv[1]) != "--check") {
    std::fputs("expected nothing, or --check and a file\n", stderr);
    return 2;
  }
  if (attend::read_file(argv[2]) == text) return 0;
  std::fprintf(stderr, "%s differs from the registry of families; run %s > %s\n", argv[2], argv[0], argv[2]);
  return 1;
}
