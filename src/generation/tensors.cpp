#include "generation/tensors.h"

#include "models/families/generates.h"
#include "models/padded/forward_parts.h"

#include <algorithm>

namespace attend {
namespace {

std::vector<std::int64_t> integers_of(const Tensor& t) {
  const Tensor row = t.to(kLong).contiguous();
  return {row.const_data<std::int64_t>(), row.const_data<std::int64_t>() + row.numel()};
}

// As transformers infers it (_prepare_attention_mask_for_generation): padding is every padding token, unless
// that token also ends texts.
Tensor guess_mask(const Tensor& ids, const GenerationConfig& config) {
  const bool known = config.pad_token_id && !is_eos(config, *config.pad_token_id);
  return known ? ids.ne(*config.pad_token_id) : ops::ones_like(ids, kBool);
}

// What a decoder with an encoder has already written: [B, n].
Tensor written(const Tensor& given, std::int64_t rows, const GenerationConfig& config) {
  const Tensor start = ops::full({rows, 1}, start_token(config), kLong);
  if (!given.defined()) return start;
  check_matrix(given, "decoder_input_ids");
  if (given.size(0) != rows)
    fail("decoder_input_ids: expected {} rows, as input_ids has, found {}", rows, given.size(0));
  const Tensor ids = given.to(kLong);
  const bool begins = ids.size(1) > 0 && ids.select(1, 0).eq(start_token(config)).any().item<bool>();
  return begins ? ids : ops::cat({start, ids}, 1);
}

// The index of an adapter for each row, or undefined.
Tensor read_adapters(const Tensor& given, std::int64_t rows) {
  if (given.defined() && (given.dim() != 1 || given.size(0) != rows || !ops::is_integer(given.type(), false)))
    fail("adapters: expected a number for each of {} rows, found {} of shape [{}]", rows,
         name_of(given.type()), fmt::join(given.sizes(), ", "));
  return given;
}

// Padded prompts, and what they belong to.
struct Given {
  Tensor ids, mask;                // [B, L]; undefined: images are read
  Tensor images;                   // [B, channels, H, W], or undefined
  std::optional<Padded> negative;  // [B, N]: the negative prompts
  Tensor adapters;                 // [B], or undefined
  Tensor before;  // [B, n]: the tokens before every text: the prompt, or the decoder's tokens so far
  bool has_encoder;
  bool by_column;  // positions are columns, including padding, instead of counts of tokens

  Given(const PretrainedModel& model, const Tensors& inputs, const GenerationConfig& config);
  std::int64_t rows() const { return images.defined() ? images.size(0) : ids.size(0); }
  std::vector<Prompt> prompts() const;

 private:
  std::vector<Prompt> texts() const;
};

Given::Given(const PretrainedModel& model, const Tensors& inputs, const GenerationConfig& config)
    : has_encoder(model.network()->is_encoder_decoder()),
      by_column(has_encoder || model.network()->spec().quirks.prompts_by_column) {
  using Names = std::vector<std::string>;
  const bool reads_images = has_encoder && model.network()->reads_images();
  Names names = reads_images  ? Names{"pixel_values", "interpolate_pos_encoding", "decoder_input_ids"}
                : has_encoder ? Names{"input_ids", "attention_mask", "decoder_input_ids"}
                              : Names{"input_ids", "attention_mask", "negative_prompt_ids",
                                      "negative_prompt_attention_mask"};
  if (!model.adapters().empty()) names.emplace_back("adapters");
  for (const auto& [name, tensor] : inputs)
    if (std::ranges::find(names, name) == names.end())
      fail("{}: not an input of generate; these are {}", name, fmt::join(names, ", "));
  const auto find = [&](const char* name) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? Tensor() : found->second;
  };
  if (reads_images) {
    if (!find("pixel_values").defined()) fail("expected an input named pixel_values");
    images = read_images(inputs, model.network()->encoder->patches).pixels;
    before = written(find("decoder_input_ids"), images.size(0), config);
    adapters = read_adapters(find("adapters"), images.size(0));
    return;
  }
  ids = find("input_ids");
  check_matrix(ids, "input_ids");
  mask = find("attention_mask");
  if (!mask.defined()) mask = guess_mask(ids, config);
  const Padded padded(ids, mask, "input_ids");
  if (const Transformer network = model.network(); network->decoder) {  // else generate() reports the error
    check_ids(padded, (has_encoder ? network->encoder : network->decoder)->spec(), "input_ids");
    const std::int64_t vocabulary = network->decoder->spec().embeddings.vocabulary;
    if (config.pad_token_id && (*config.pad_token_id < 0 || *config.pad_token_id >= vocabulary))
      fail("pad_token_id: expected an id of 0 to {}, found {}", vocabulary - 1, *config.pad_token_id);
  }
  if (!has_encoder && !mask.select(1, -1).ne(0).all().item<bool>())
    fail(
        "attention_mask: expected padding at the start of prompts (left padding), because a decoder "
        "continues the last column; found it at the end");
  if (const Tensor given = find("negative_prompt_ids"); given.defined()) {
    check_matrix(given, "negative_prompt_ids");
    if (given.size(0) != ids.size(0))
      fail("negative_prompt_ids: expected {} rows, as input_ids has, found {}", ids.size(0), given.size(0));
    if (config.guidance_scale == 1)
      fail("negative_prompt_ids: they have no effect without guidance_scale; set it, or leave them out");
    negative.emplace(given, find("negative_prompt_attention_mask"), "negative_prompt_ids");
    for (std::int64_t b = 0; b < given.size(0); ++b)
      if (negative->columns(b).numel() == 0)
        fail(
            "negative_prompt_attention_mask: row {} has no token; leave the negative prompts out to guide by "
            "the prompts' last tokens",
            b);
  } else if (find("negative_prompt_attention_mask").defined()) {
    fail("negative_prompt_attention_mask: it belongs to negative_prompt_ids, which are missing");
  }
  adapters = read_adapters(find("adapters"), ids.size(0));
  before = has_encoder ? written(find("decoder_input_ids"), ids.size(0), config) : ids.to(kLong);
}

std::vector<Prompt> Given::prompts() const {
  std::vector<Prompt> all =
      images.defined() ? std::vector<Prompt>(static_cast<std::size_t>(rows())) : texts();
  for (std::int64_t b = 0; b < rows(); ++b) {
    Prompt& prompt = all[static_cast<std::size_t>(b)];
    if (images.defined()) prompt.image = images[b];
    if (has_encoder) prompt.written = integers_of(before[b]);
    if (adapters.defined()) prompt.adapter = adapters[b].item<std::int64_t>();
  }
  return all;
}

std::vector<Prompt> Given::texts() const {
  std::vector<Prompt> all;
  const Padded padded(ids, mask, "input_ids");
  for (std::int64_t b = 0; b < padded.sequences(); ++b) {
    const Tensor columns = padded.columns(b);
    Prompt prompt{integers_of(ids[b].index_select(0, columns)), {}, integers_of(ids[b])};
    if (negative) prompt.negative = integers_of(negative->ids()[b].index_select(0, negative->columns(b)));
    if (by_column) prompt.positions = integers_of(columns);
    all.push_back(std::move(prompt));
  }
  return all;
}

// The states of the steps. They come from one pass over the whole texts without their last tokens, which no
// step has read. They are the same, because a token does not see later ones.
void put_states(Tensors& outputs, const PretrainedModel& model, const Given& given,
                const std::vector<GeneratedSequence>& texts, const ForwardOptions& options) {
  if (lacks_kv_cache(model.network()->spec()))
    fail("output_attentions, output_hidden_states: {} reads its text again at every step; leave them out",
         model.architecture());
  if (model.network()->decoder->spec().prompts_are_whole())
    fail("output_attentions, output_hidden_states: {} reads a prompt other than a text; leave them out",
         model.architecture());
  const std::int64_t repeats = std::ssize(texts) / given.rows();
  const auto repeated = [&](const Tensor& t) { return t.repeat_interleave(repeats, 0); };
  const Tensor sequences = outputs["sequences"];
  const Tensor read = sequences.narrow(1, 0, sequences.size(1) - 1);
  const std::int64_t before = std::min(given.before.size(1), read.size(1));
  Tensor real = ops::zeros(read.sizes(), kBool);
  real.narrow(1, 0, before).fill_(true);
  if (!given.has_encoder) real.narrow(1, 0, before).copy_(repeated(given.mask.ne(0)).narrow(1, 0, before));
  for (std::int64_t i = 0; i < std::ssize(texts); ++i)
    if (const std::int64_t more = std::ssize(texts[i].ids) - 1; more > 0)
      real[i].narrow(0, before, more).fill_(true);
  Tensors inputs;
  if (given.has_encoder) {
    inputs = {{"decoder_input_ids", read}, {"decoder_attention_mask", real}};
    if (given.images.defined())
      inputs["pixel_values"] = repeated(given.images);
    else
      inputs.insert({{"input_ids", repeated(given.ids)}, {"attention_mask", repeated(given.mask.ne(0))}});
  } else {
    inputs = {{"input_ids", read}, {"attention_mask", real}};
    if (const auto& positions = model.network()->decoder->spec().embeddings.positions;
        !std::holds_alternative<std::monostate>(positions) && !given.by_column)
      inputs["position_ids"] = (real.to(kLong).cumsum(1) - 1).clamp_min(0);
  }
  for (auto& [name, tensor] : run_forward(model, inputs, options)) {
    const bool is_state = name.find("attentions.") != name.npos || name.find("hidden_states.") != name.npos;
    if (is_state)  // states of the encoder, once for each source
      outputs[name] = name.starts_with("encoder_") ? tensor.slice(0, 0, {}, repeats) : tensor;
  }
}

}  // namespace

std::map<std::string, Tensor> run_generate(const PretrainedModel& model, const Tensors& inputs,
                                           const GenerationConfig& config, const GenerateOptions& options) {
  const Given given(model, inputs, config);
  const std::vector<GeneratedSequence> texts = generate(model, given.prompts(), config, options);

  const Tensor before = given.before.repeat_interleave(config.num_return_sequences, 0);
  std::size_t longest = 0;
  for (const GeneratedSequence& text : texts) longest = std::max(longest, text.ids.size());
  const Tensor after =
      ops::full({before.size(0), static_cast<std::int64_t>(longest)}, padding_token(config), kLong);
  const Tensor scores = ops::empty({before.size(0)}, kFloat);
  const Tensor transitions = ops::zeros(after.sizes(), kFloat);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ranges::copy(texts[i].ids, after.data<std::int64_t>() + i * longest);
    std::ranges::copy(texts[i].log_probabilities, transitions.data<float>() + i * longest);
    scores.data<float>()[i] = texts[i].score;
  }
  Tensors outputs = {{"sequences", ops::cat({before, after}, 1)}};
  if (config.num_beams > 1) outputs["sequences_scores"] = scores;
  if (config.output_scores) outputs["transition_scores"] = transitions;
  if ((config.output_attentions || config.output_hidden_states) && given.adapters.defined())
    fail("adapters: expected no output_attentions or output_hidden_states with adapters of single requests");
  if ((config.output_attentions || config.output_hidden_states) && model.cache_differs())
    fail("output_attentions, output_hidden_states: expected the cache format auto, found {}",
         name(model.cache_format()));
  if (config.output_attentions || config.output_hidden_states)
    put_states(outputs, model, given, texts,
               {.hidden_states = config.output_hidden_states, .attentions = config.output_attentions});
  return outputs;
}

}  // namespace attend
