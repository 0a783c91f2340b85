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

`tests/oracle/check_parity.py` compares all families with transformers 4.57.6: outputs, hidden states, attentions, loss
and gradients of tiny random models, padded on both sides if the original supports it. `check_generation.py` compares
generated ids, and `check_conversion.py` the files that `attend convert` writes. `check_configurations.py` draws a value
for every field of every config class, and compares all models that the originals can build. There are two exceptions:
`attend-gpt3` has no original, so it is compared with a GPT-2 with banded attention. BigBird's attention in training is
compared with a stored result, because the original draws other blocks.

A config with one of these fields is an error that names the field:

| Field | Reason |
|---|---|
| activations `prelu`, `xielu` | they have weights of their own |
| `is_decoder`, `add_cross_attention` of ALBERT, DeBERTa, DistilBERT and ViT | the original has no decoder there |
| `summary_type` other than `cls_index` for two heads (GPT, GPT-2) | the original treats the choices as tokens |
| `asm` of XLM | an adaptive softmax, which XLM's published checkpoints do not have |
| `attn_type` other than 0 of Transformer-XL | the original supports only 0 |
| hidden states and attentions of BigBird's last block after the end of the text | they belong to padding; with them the outputs of 63 of 64 texts would have other shapes than in other families |
| `encoder_hidden_states` of BigBird | in transformers 4.57 its decoder reads them instead of its own text |
| `talking_head` of DeBERTa | the original no longer has it |
| `layer_norm_elementwise_affine` false of OPT | the original can load such a model, but not initialize it |
| `position_embedding_type` other than `absolute` with `add_cross_attention` of Megatron's BERT | it would be the only family with distances between tokens of two texts |
| `rotary_value` of RoFormer | no published checkpoint rotates its values |
| RoFormer's own tokenizer (`RoFormerTokenizer`) | it finds Chinese words with jieba's dictionary, which is not part of Attend; token ids and a tokenizer.json of another class work |
| `tie_encoder_decoder` of BART, M2M-100, Marian, T5 and their relatives | their checkpoints have separate encoders and decoders; `encoder-decoder` models with the field compute and generate, but cannot be trained, because Attend has separate matrices for the two |
| `sparse_prediction` of ModernBERT | the shape of its scores depends on whether there are labels |
| `parallel_attn` false with `new_decoder_architecture`, other `num_kv_heads` or `num_ln_in_parallel_attn` of Falcon | the original can build such a model, but not run it |
| inputs `head_mask`, `inputs_embeds`, masks of three dimensions | no tokenizer or collator makes them |

Some results of the originals depend on how they are called:

- `attend generate` follows the originals' generate() with a cache, and `attend forward` a single call without one. They
  differ in two cases. With relative keys (`position_embedding_type`), BERT measures the distances of a whole prompt from
  its last token when it reads the prompt into its cache. A model with `is_decoder` false keeps the keys and values that it
  has read.
- BART's and Marian's decoders count the padding before a prompt as positions. The decoders of other families do not.
- A label counts at every position, also on padding.

Falcon adds ALiBi's biases once. So did its authors in training, and so does the original with its default attention
(`sdpa`). With `eager` attention, or if attentions are returned, transformers 4.57 adds them twice. MPT always uses ALiBi
with `alibi_bias_max` 8 and no biases in its layers, like the original: these fields of its config.json have no effect.

Rotary positions (`rope_scaling`, or `rope_parameters` as transformers 5 writes it) may have the types `default`,
`linear`, `dynamic`, `yarn`, `longrope` and `llama3`; another type is an error. `dynamic` and `longrope` depend on the
length of a text: here on the length of each text, in the original on the longest text of a batch, and for `dynamic` also of
earlier calls. If a generated text passes such a length, the keys in the cache keep their rotation. The original's Phi-3 then
reads the text again, without a causal mask. A generated text ends at `max_position_embeddings`, except with `dynamic`; the
original continues.

If layers have experts, the router chooses the experts of each token independently of other tokens. With
`output_router_logits`, which a fresh config.json sets, the loss of next tokens gets `router_aux_loss_coef` times a second
term, which balances the load of the experts; `attend train` logs it as a separate term. An expert that no token chose has a
gradient of zeros; in the original it has none. As in the original, all layers of Qwen2 and Qwen3 with experts use the window
of `use_sliding_window`, and `max_window_layers` has no effect. gpt-oss can be read in the MXFP4 of its published files and in
floating point; `--weights int4` keeps its experts small in memory.

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
  const std::string_view shared = attention.heads_of_keys() < attention.heads ? ", fewer key-value heads" : "";
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
