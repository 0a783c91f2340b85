#include "explain/collect.h"

#include "explain/attention_words.h"
#include "explain/head_statistics.h"
#include "explain/memory_key.h"
#include "explain/predictions.h"
#include "explain/readable_tokens.h"
#include "explain/units.h"
#include "generation/generate.h"
#include "models/padded/forward.h"
#include "models/padded/padded.h"
#include "nn/linear/matrix_product.h"
#include "tasks/texts/text_model.h"
#include "tokenizers/files/directory_facts.h"
#include "vision/image_processor.h"

#include <set>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

TokenBatch batch_of(const Ids& ids, const Tensor& types) {
  const Tensor row = ops::tensor(ids, kLong).unsqueeze(0);  // [1, L]
  return Padded(row, {}, "input_ids").batch({}, types);
}

// Collects what one model does with one input.
class Collector {
 public:
  Collector(const PretrainedModel& model, const ExplainOptions& options) : model_(model), options_(options) {
    result_.architecture = model.architecture();
    result_.family = model.family().model_type;
    capture_.hidden_states = capture_.attentions = capture_.scores = true;
    capture_.layers = options.layers;
    pass_.capture = &capture_;
    if (options.bfloat16 && !Bfloat16Products::available())
      fail(
          "products in bfloat16: this machine has no instructions for them (AVX512_BF16), so nothing would "
          "differ; weights can be compared instead (`against_weights` bfloat16)");
    pass_.bfloat16 = options.bfloat16;
  }

  void read_text(const TextModel& text, const ExplainInput& input, const std::filesystem::path& directory) {
    const Tokenizer& tokenizer = text.tokenizer();
    const Encoding encoding =
        input.pair ? tokenizer.encode_pair(input.text, *input.pair) : tokenizer.encode(input.text);
    text.check(encoding, "the text");
    const Ids ids(encoding.ids.begin(), encoding.ids.end());
    const bool typed = takes_types(model_) && tokenizers::gives_token_types(directory);
    Tensor types;
    if (typed)
      types =
          ops::tensor(std::vector<std::int64_t>(encoding.type_ids.begin(), encoding.type_ids.end()), kLong)
              .unsqueeze(0);
    ExplainedSide side{.name = network_->is_encoder_decoder() ? "source" : "text",
                       .texts = {input.text},
                       .tokens = ReadableTokens(tokenizer).read(ids, &encoding)};
    if (input.pair) side.texts.push_back(*input.pair);
    const TokenBatch batch = batch_of(ids, types);
    Stack& stack = network_->encoder ? network_->encoder : network_->decoder;
    side.embedded = embedded(stack, batch);
    Tensor last;
    if (network_->encoder)
      encoded_ = last = network_->encode(batch, pass_);
    else
      last = network_->decode(batch, pass_);
    source_ids_ = ids;
    given_.ids = ops::tensor(ids, kLong);
    if (typed) given_.types = types[0];
    source_offsets_ = batch.offsets;
    keep_side(std::move(side), network_->encoder ? capture_.encoder : capture_.decoder);
    if (network_->is_encoder_decoder()) return;
    std::map<std::string, Tensor> inputs{{"input_ids", ops::tensor(ids, kLong).unsqueeze(0)}};
    if (typed) inputs["token_type_ids"] = types;
    say_what_it_says(last, tokenizer, inputs,
                     capture_.encoder.hidden.empty() ? capture_.decoder : capture_.encoder);
  }

  void read_image(const std::filesystem::path& directory, const std::filesystem::path& file) {
    const ImageProcessor processor(directory);
    const Image image = attend::read_image(file);
    const Tensor bytes = processor.sized(image);  // [C, H, W]
    const Tensor pixels = processor.normalized(bytes).unsqueeze(0);
    PatchEmbeddings& patches = network_->encoder->patches;
    if (patches->spec().channels != processor.channels())
      fail(
          "{}: expected a model of pictures with {} channels, as preprocessor_config.json has them, found {}",
          directory.string(), processor.channels(), patches->spec().channels);
    const auto [rows, columns] = patches->grid(pixels);
    ExplainedSide side{.name = "picture", .texts = {file.filename().string()}, .tokens = {}};
    side.picture =
        ExplainedPicture{.rows = rows,
                         .columns = columns,
                         .width = image.width,
                         .height = image.height,
                         .pixels = bytes.expand({3, -1, -1}).permute({1, 2, 0}).to(kByte).contiguous()};
    side.tokens.push_back({.text = "whole picture", .piece = "[CLS]", .special = true});
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        side.tokens.push_back({.text = fmt::format("row {}, column {}", row + 1, column + 1),
                               .piece = "patch",
                               .id = row * columns + column});
    given_.pixels = pixels;
    const Tensor last = encoded_ = network_->encode(ImageBatch{pixels, {}}, pass_);
    source_offsets_ = Offsets(std::vector<std::int64_t>{last.size(0)});
    keep_side(std::move(side), capture_.encoder);
    if (network_->score_head && !network_->is_encoder_decoder())
      keep_labels(run_forward(model_, {{"pixel_values", pixels}}, {}));
  }

  // The decoder's input: the start token, and all but the last token of `target` or of the generated text.
  void read_target(const Tokenizer& tokenizer, const std::optional<std::string>& target) {
    GenerationConfig config = generation_config_of(model_);
    const ReadableTokens readable(tokenizer);
    Ids written;
    if (target) {
      const Encoding encoding = tokenizer.encode(*target);
      written.assign(encoding.ids.begin(), encoding.ids.end());
    } else {
      written = write(config, readable);
    }
    Ids ids = {start_token(config)};
    if (!written.empty()) ids.insert(ids.end(), written.begin(), written.end() - 1);
    const std::int64_t max = network_->decoder->max_positions();
    if (static_cast<std::int64_t>(ids.size()) > max)
      fail("the target has {} tokens, but the model reads {}: shorten it", ids.size(), max);
    const TokenBatch batch = batch_of(ids, {});
    given_.target_ids = ops::tensor(ids, kLong);
    ExplainedSide side{.name = "target", .texts = {}, .tokens = readable.read(ids)};
    side.texts.push_back(
        target ? *target : tokenizer.decode(std::vector<TokenId>(written.begin(), written.end()), true));
    side.embedded = embedded(network_->decoder, batch);
    const CrossAttentionKV memory = network_->project_kv(encoded_, source_offsets_, pass_);
    const Tensor last = network_->decode(batch, pass_, &memory);
    keep_side(std::move(side), capture_.decoder);
    if (network_->language_model_head) keep_predictions(last, tokenizer, capture_.decoder);
  }

  // What the result depends on: all sides.
  void attribute(const SideTokenizers& tokenizers) {
    attend::attribute(model_, given_, tokenizers, options_.attribution, options_.bfloat16, result_);
  }

  Explanation finish() {
    if (network_->encoder) {
      const bool two = network_->is_encoder_decoder();
      keep_attention(two ? "encoder" : "self", 0, 0, network_->encoder->spec(),
                     capture_.encoder.self_attentions, capture_.encoder.self_scores);
    }
    if (network_->decoder) {
      const bool two = network_->is_encoder_decoder();
      keep_attention(two ? "decoder" : "self", two ? 1 : 0, two ? 1 : 0, network_->decoder->spec(),
                     capture_.decoder.self_attentions, capture_.decoder.self_scores);
      if (two)
        keep_attention("cross", 1, 0, network_->decoder->spec(), capture_.decoder.cross_attentions,
                       capture_.decoder.cross_scores);
    }
    return std::move(result_);
  }

 private:
  std::vector<std::pair<std::string, Tensor>> embedded(Stack& stack, const TokenBatch& batch) {
    Pass pass = Pass::inference();
    std::vector<std::pair<std::string, Tensor>> named;
    for (const auto& summand : stack->embeddings->summands(batch, pass))
      named.emplace_back(summand.name, summand.rows.dim() == 1
                                           ? summand.rows.unsqueeze(0).expand({batch.ids.size(0), -1}).clone()
                                           : summand.rows);
    return named;
  }

  void keep_side(ExplainedSide side, const Capture::Stack& states) {
    side.hidden = states.hidden;
    number_units(side);
    result_.sides.push_back(std::move(side));
  }

  // The text that the model generates from its source; all texts of a beam search are kept.
  Ids write(GenerationConfig& config, const ReadableTokens& readable) {
    if (!network_->language_model_head)
      fail("{} writes no text: give what its decoder is to read as the target (`target`)",
           model_.architecture());
    if (network_->reads_images())
      fail("for a model of pictures and text give the text as the target (`target`)");
    config.do_sample = false;
    config.output_scores = true;
    config.num_return_sequences = config.num_beam_groups > 1 ? 1 : config.num_beams;
    const auto texts = generate(model_, std::vector<Ids>{source_ids_}, config);
    if (config.num_beams > 1)
      for (const GeneratedSequence& text : texts)
        result_.beams.push_back({readable.read(text.ids), text.log_probabilities, text.score});
    return texts.front().ids;
  }

  void say_what_it_says(const Tensor& last, const Tokenizer& tokenizer,
                        const std::map<std::string, Tensor>& inputs, const Capture::Stack& states) {
    if (network_->language_model_head) keep_predictions(last, tokenizer, states);
    const auto& scores = network_->spec().score_head;
    if (scores && scores->kind == ScoreKind::sequence_classification && !network_->language_model_head)
      keep_labels(run_forward(model_, inputs, {}));
  }

  void keep_labels(const std::map<std::string, Tensor>& outputs) {
    const auto found = outputs.find("logits");
    if (found == outputs.end() || found->second.dim() != 2) return;
    const std::vector<std::string> names = read_labels(model_.config());
    const std::vector<float> logits = numbers(found->second[0]);
    for (std::size_t i = 0; i < logits.size(); ++i)
      result_.labels.push_back({i < names.size() ? names[i] : fmt::format("{}", i), logits[i]});
  }

  void keep_predictions(const Tensor& last, const Tokenizer& tokenizer, const Capture::Stack& states) {
    result_.predictions =
        predict(model_, result_.sides.size() - 1, last, states.hidden, options_.predictions, options_.lens);
    const ReadableTokens readable(tokenizer);
    std::set<std::int64_t> named;
    const auto name = [&](const TokenRanking& ranking) {
      const Tensor ids = ranking.ids.flatten().contiguous();
      const std::int64_t* first = ids.const_data<std::int64_t>();
      named.insert(first, first + ids.numel());
    };
    name(result_.predictions->last);
    for (const TokenRanking& ranking : result_.predictions->lens) name(ranking);
    for (const std::int64_t id : named) result_.vocabulary.emplace_back(id, readable.text(id));
  }

  void keep_attention(const char* name, std::size_t queries, std::size_t keys, const StackSpec& stack,
                      std::vector<std::vector<Tensor>>& weights,
                      std::vector<std::vector<ScoreTerms>>& scores) {
    ExplainedAttention attention{.name = name, .queries = queries, .keys = keys};
    const bool cross = attention.name == "cross";
    const AttentionSpec& first =
        cross ? *stack.layers.front().cross_attention : stack.layers.front().self_attention;
    attention.causal = first.causal || stack.looks_back;
    attention.family = describe_attention(cross ? StackSpec{} : stack, first);
    attention.all_layers = static_cast<std::int64_t>(weights.size());
    const auto length = static_cast<std::int64_t>(result_.sides[keys].tokens.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i].empty()) continue;
      ExplainedAttention::Layer layer{static_cast<std::int64_t>(i), std::move(weights[i].front()), {}};
      if (!layer.weights.isfinite().all().item<bool>())
        fail("the model gives numbers that are not finite: are its weights whole?");
      if (!scores[i].empty()) layer.scores = std::move(scores[i].front());
      attention.memory = layer.weights.size(2) - length;
      fold_memory(layer, attention.memory);
      layer.statistics =
          head_statistics(layer.weights, result_.sides[queries], result_.sides[keys], attention.memory);
      attention.layers.push_back(std::move(layer));
    }
    result_.attentions.push_back(std::move(attention));
  }

  const PretrainedModel& model_;
  const ExplainOptions& options_;
  Transformer network_ = model_.network();
  Capture capture_;
  Pass pass_ = Pass::inference();
  Explanation result_;
  GivenInput given_;
  Ids source_ids_;
  Offsets source_offsets_;
  Tensor encoded_;  // [Ts, d]
};

// Throws Error for a model with rows that are not part of its text, and for layers that it does not have.
void check(const PretrainedModel& model, const std::vector<std::int64_t>& layers) {
  Transformer network = model.network();
  std::size_t depth = 0;
  for (const Stack* stack : {&network->encoder, &network->decoder}) {
    if (!*stack) continue;
    if ((*stack)->embeddings && !(*stack)->embeddings->prompts.empty())
      fail("{}: its adapter puts virtual tokens before the text (prompt tuning), which cannot be shown",
           model.source());
    depth = std::max(depth, (*stack)->spec().layers.size());
  }
  for (const std::int64_t layer : layers)
    if (layer < 0 || layer >= static_cast<std::int64_t>(depth))
      fail("layer {}: expected one from 0 to {}", layer, depth - 1);
}

bool reads_images(const ModelDirectory& directory) {
  const Family& family = find_family(directory.config());
  const std::vector<std::string> named = directory.architectures();
  const ModelSpec spec = family.spec(
      directory.config(), named.empty() ? family.architectures.front() : std::string_view(named.front()));
  return spec.encoder && spec.encoder->patches;
}

}  // namespace

Explanation collect_explanation(const ModelPath& given, const ExplainInput& input,
                                const ExplainOptions& options) {
  const Unrecorded no_gradients;  // except those of an attribution
  ModelPath path = given;
  path.low_memory = true;  // few passes, and gradients of inputs: both need unpacked matrices
  const ModelDirectory directory(path);
  Explanation result;
  const auto finish = [&](Collector& collector, const PretrainedModel& model, const Tokenizer* source) {
    std::shared_ptr<const Tokenizer> target;
    if (model.network()->is_encoder_decoder()) {
      target = TokenizerPair::from_file(directory.path()).target;
      collector.read_target(*target, input.target);
    } else if (input.target) {
      fail("{}: a target is for a decoder with an encoder, found {}", directory.path().string(),
           model.architecture());
    }
    collector.attribute({source, target.get(), directory.path()});
    result = collector.finish();
  };
  if (input.image) {
    const PretrainedModel model = PretrainedModel::load(directory, Purpose::inference).with_adapter({});
    if (!model.network()->reads_images())
      fail("{}: expected a model of pictures, found {}, which reads text", directory.path().string(),
           model.architecture());
    check(model, options.layers);
    Collector collector(model, options);
    collector.read_image(directory.path(), *input.image);
    finish(collector, model, nullptr);
  } else {
    if (reads_images(directory))
      fail("{}: the model reads pictures: give it one (`image`)", directory.path().string());
    const auto text = TextModel::with_any_head(path);
    const PretrainedModel& model = text->model({});
    check(model, options.layers);
    Collector collector(model, options);
    collector.read_text(*text, input, directory.path());
    finish(collector, model, &text->tokenizer());
  }
  const std::filesystem::path named = std::filesystem::weakly_canonical(directory.path());
  result.model =
      named.filename().empty() ? named.parent_path().filename().string() : named.filename().string();
  return result;
}

}  // namespace attend
