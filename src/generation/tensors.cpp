#include "generation/tensors.h"

#include "models/model.h"
#include "models/padded.h"

#include <algorithm>

namespace attend {
namespace {

std::vector<std::int64_t> numbers(const Tensor& t) {
  const Tensor row = t.to(at::kLong).contiguous();
  return {row.const_data_ptr<std::int64_t>(), row.const_data_ptr<std::int64_t>() + row.numel()};
}

// As transformers guesses it (_prepare_attention_mask_for_generation): padding is what equals the padding
// token, unless that ends texts as well.
Tensor guess_mask(const Tensor& ids, const GenerationConfig& config) {
  const bool known = config.pad_token_id && !config.is_eos(*config.pad_token_id);
  return known ? ids.ne(*config.pad_token_id) : at::ones_like(ids, at::kBool);
}

}  // namespace

std::map<std::string, Tensor> run_generate(const Model& model, const std::map<std::string, Tensor>& inputs,
                                           const GenerationConfig& config, const GenerateOptions& options) {
  for (const auto& [name, tensor] : inputs)
    if (name != "input_ids" && name != "attention_mask")
      fail("{}: not an input of generate; these are input_ids and attention_mask", name);
  const auto find = [&](const char* name) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? Tensor() : found->second;
  };
  const Tensor ids = find("input_ids");
  check_matrix(ids, "input_ids");
  Tensor mask = find("attention_mask");
  if (!mask.defined()) mask = guess_mask(ids, config);
  const Padded padded(ids, mask, "input_ids");

  const bool has_encoder = model.network()->is_encoder_decoder();
  if (const Transformer network = model.network(); network->decoder) {  // else generate() complains
    check_ids(padded, (has_encoder ? network->encoder : network->decoder)->spec(), "input_ids");
    const std::int64_t vocabulary = network->decoder->spec().embeddings.vocabulary;
    if (config.pad_token_id && (*config.pad_token_id < 0 || *config.pad_token_id >= vocabulary))
      fail("pad_token_id: expected an id of 0 to {}, found {}", vocabulary - 1, *config.pad_token_id);
  }
  if (!has_encoder && !mask.select(1, -1).ne(0).all().item<bool>())
    fail(
        "attention_mask: a decoder continues the last column, so prompts must be padded in front, not "
        "behind");
  std::vector<Prompt> prompts;
  for (std::int64_t b = 0; b < padded.sequences(); ++b) {
    const Tensor columns = padded.columns(b);
    Prompt prompt{numbers(ids[b].index_select(0, columns)), {}, numbers(ids[b])};
    if (has_encoder) prompt.positions = numbers(columns);
    prompts.push_back(std::move(prompt));
  }
  const std::vector<GeneratedSequence> texts = generate(model, prompts, config, options);

  // What stands in front of every text: its prompt with its padding, or the start token.
  const std::int64_t repeats = config.num_return_sequences;
  Tensor before = ids.to(at::kLong).repeat_interleave(repeats, 0);
  if (has_encoder)
    before = at::full({before.size(0), 1},
                      *(config.decoder_start_token_id ? config.decoder_start_token_id : config.bos_token_id),
                      at::kLong);
  std::size_t longest = 0;
  for (const GeneratedSequence& text : texts) longest = std::max(longest, text.ids.size());
  const Tensor after =
      at::full({before.size(0), static_cast<std::int64_t>(longest)}, config.padding(), at::kLong);
  const Tensor scores = at::empty({before.size(0)}, at::kFloat);
  const Tensor transitions = at::zeros(after.sizes(), at::kFloat);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ranges::copy(texts[i].ids, after.data_ptr<std::int64_t>() + i * longest);
    std::ranges::copy(texts[i].log_probabilities, transitions.data_ptr<float>() + i * longest);
    scores.data_ptr<float>()[i] = texts[i].score;
  }
  std::map<std::string, Tensor> outputs = {{"sequences", at::cat({before, after}, 1)}};
  if (config.num_beams > 1) outputs["sequences_scores"] = scores;
  if (config.output_scores) outputs["transition_scores"] = transitions;
  return outputs;
}

}  // namespace attend
