#include "tasks/texts/text_model.h"

#include "models/checkpoint/found_architecture.h"
#include "models/padded/forward.h"
#include "models/padded/padded.h"
#include "tasks/texts/label_scores.h"
#include "tasks/texts/text_batches.h"
#include "tokenizers/files/directory_facts.h"
#include "tokenizers/files/tokenizer_config.h"

#include <algorithm>

namespace attend {
namespace {

// A name for models with such a head, for messages.
const char* describe(ScoreKind kind) {
  switch (kind) {
    case ScoreKind::sequence_classification:
      return "a model that classifies texts (...ForSequenceClassification)";
    case ScoreKind::token_classification:
      return "a model that classifies tokens (...ForTokenClassification)";
    case ScoreKind::question_answering:
      return "a model that finds answers in a text (...ForQuestionAnswering)";
    default:
      return "a model with another head";
  }
}

Head head_for(ScoreKind kind) {
  switch (kind) {
    case ScoreKind::token_classification:
      return Head::token_classification;
    case ScoreKind::question_answering:
      return Head::question_answering;
    default:
      return Head::sequence_classification;
  }
}

// Each sequence in its row, padded with zeros: [B, L].
Tensor rectangle(std::span<const std::vector<std::int32_t>*> rows, std::int64_t length) {
  Tensor filled = ops::zeros({static_cast<std::int64_t>(rows.size()), length}, kLong);
  std::int64_t* to = filled.data<std::int64_t>();
  for (std::size_t b = 0; b < rows.size(); ++b) std::ranges::copy(*rows[b], to + b * length);
  return filled;
}

// The last hidden state of every token. A decoder after an encoder also reads the text, shifted by one token.
Tensor hidden_of_tokens(const PretrainedModel& model, const TokenBatch& tokens, Pass& pass) {
  Transformer network = model.network();
  if (!network->is_encoder_decoder())
    return network->decoder ? network->decode(tokens, pass) : network->encode(tokens, pass);
  const CrossAttentionKV memory = network->project_kv(tokens, pass);
  TokenBatch shifted = tokens;
  shifted.ids = tokens.ids.roll(1).index_fill(0, tokens.offsets.first_rows(),
                                              model.config().integer({"decoder_start_token_id"}, {}, 0));
  return network->decode(shifted, pass, &memory);
}

}  // namespace

TextModel::TextModel(const ModelDirectory& directory, const std::string& architecture, Wants wants,
                     ScoreKind kind)
    : model_(PretrainedModel::load(directory, {.architecture = architecture})),
      tokenizer_(Tokenizer::from_file(directory.path())),
      source_(directory.path().string()),
      longest_(directory.path(), model_),
      wants_(wants),
      kind_(kind) {
  if (model_.network()->reads_images())
    fail("{}: expected a model of text, found {}, which reads images", source_, model_.architecture());
  // Pipelines override both settings of tokenizer.json.
  tokenizer_.truncation().reset();
  tokenizer_.padding().reset();
  for (const char* role : {"mask_token", "pad_token", "unk_token", "cls_token"})
    if (const auto token = tokenizers::special_token(tokenizer_, source_, role))
      special_tokens_.emplace(role, *token);
  const tokenizers::TokenizerConfig config(directory.path());
  cleans_up_ = config.fields().flag({"clean_up_tokenization_spaces"}, false);
  gives_types_ = takes_types(model_) && tokenizers::gives_token_types(directory.path());
}

bool TextModel::has_head(const PretrainedModel& model) const {
  const ModelSpec& spec = model.network()->spec();
  if (wants_ == Wants::token_scores) return spec.language_model_head.has_value();
  return wants_ == Wants::any ||
         (spec.score_head && spec.score_head->kind == kind_ && !spec.language_model_head);
}

void TextModel::fail_without_head(const PretrainedModel& model) const {
  const bool guessed = model.config().texts({"architectures"}).empty();
  fail("{}: expected {}, found {}{}", source_,
       wants_ == Wants::scores ? describe(kind_)
                               : "a model that predicts tokens (...LMHeadModel, ...ForMaskedLM)",
       model.architecture(), guessed ? " (config.json names no architecture, so its tensors decide)" : "");
}

const PretrainedModel& TextModel::model(std::optional<std::int64_t> adapter) const {
  const PretrainedModel& model = model_.with_adapter(adapter);
  if (!has_head(model)) fail_without_head(model);
  return model;
}

std::shared_ptr<TextModel> TextModel::with_scores(const ModelPath& directory, ScoreKind kind) {
  const ModelDirectory at(directory);
  const std::shared_ptr<TextModel> text(
      new TextModel(at, architecture_with(at, head_for(kind)), Wants::scores, kind));
  // If several adapters may bring heads, each text's own is checked when the text arrives.
  if (text->model_.adapters().size() < 2 && !text->has_head(text->model_))
    text->fail_without_head(text->model_);
  return text;
}

std::shared_ptr<TextModel> TextModel::with_token_scores(const ModelPath& directory) {
  const ModelDirectory at(directory);
  const std::shared_ptr<TextModel> text(
      new TextModel(at, architecture_with(at, Head::masked_language_model), Wants::token_scores));
  if (!text->has_head(text->model_)) text->fail_without_head(text->model_);
  return text;
}

std::shared_ptr<TextModel> TextModel::with_any_head(const ModelPath& directory) {
  return std::shared_ptr<TextModel>(new TextModel(ModelDirectory(directory), {}, Wants::any));
}

std::optional<TokenId> TextModel::special_token(std::string_view role) const {
  const auto found = special_tokens_.find(role);
  return found == special_tokens_.end() ? std::nullopt : std::optional(found->second);
}

TokenId TextModel::mask_token() const {
  const auto token = special_token("mask_token");
  if (!token)
    fail("{}: expected a tokenizer with a mask_token in tokenizer_config.json or special_tokens_map.json",
         source_);
  return *token;
}

std::vector<Encoding> TextModel::encode(const std::vector<std::string>& texts,
                                        const RunOptions& options) const {
  std::vector<Encoding> encodings =
      tokenizer_.encode_batch(texts, {.truncation = longest_.truncation(options.truncate)});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    check(encodings[i], name_of_text(i, texts.size()));
    if (!encodings[i].overflowing.empty()) longest_.say_cut(/*asked=*/true, "");
  }
  return encodings;
}

void TextModel::check(const Encoding& encoding, const std::string& what) const {
  const ErrorScope scope(ErrorKind::input);
  if (encoding.ids.empty()) fail("{} has no tokens: expected at least one", what);
  const std::int64_t max = positions_of(model_);
  if (static_cast<std::int64_t>(encoding.ids.size()) > max)
    fail("{} has {} tokens, but the model reads {}: shorten it, or cut it off with `truncate`", what,
         encoding.ids.size(), max);
}

void TextModel::for_each_batch(
    std::span<const Encoding> encodings, const RunOptions& options,
    const std::function<void(const TextNumbers& batch, std::map<std::string, Tensor> inputs)>& work) const {
  const Unrecorded inference;
  const ErrorScope scope(ErrorKind::input);
  const PretrainedModel& model = this->model(options.adapter);
  std::vector<std::int64_t> lengths;
  for (const Encoding& encoding : encodings)
    lengths.push_back(static_cast<std::int64_t>(encoding.ids.size()));
  // Three kinds of heads depend on other texts of their batch: those where all texts need the same number of
  // end tokens, those where config.json does not name the padding token, and those that read the last column,
  // padding or not.
  const auto& scores = model.network()->spec().score_head;
  const bool alone =
      scores && (scores->input == HeadInput::end_token || scores->input == HeadInput::last_column ||
                 (scores->input == HeadInput::last_token && !scores->token_id));
  std::size_t done = 0;
  for (const TextNumbers& batch : batches_by_length(lengths, alone ? 1 : options.batch_tokens)) {
    std::vector<const std::vector<std::int32_t>*> ids, masks, types;
    for (const std::size_t i : batch) {
      ids.push_back(&encodings[i].ids);
      masks.push_back(&encodings[i].attention_mask);
      types.push_back(&encodings[i].type_ids);
    }
    const std::int64_t length = lengths[batch.front()];
    std::map<std::string, Tensor> inputs = {{"input_ids", rectangle(ids, length)},
                                            {"attention_mask", rectangle(masks, length)}};
    if (gives_types_) inputs["token_type_ids"] = rectangle(types, length);
    work(batch, std::move(inputs));
    done += batch.size();
    if (options.on_progress) options.on_progress(done, encodings.size());
  }
}

void TextModel::run(std::span<const Encoding> encodings, const RunOptions& options,
                    const Visit& visit) const {
  for_each_batch(encodings, options, [&](const TextNumbers& batch, std::map<std::string, Tensor> inputs) {
    const std::map<std::string, Tensor> outputs =
        run_forward(model_, inputs, {.adapter = options.adapter, .virtual_rows = false});
    for (std::size_t b = 0; b < batch.size(); ++b)
      visit(batch[b], Output{outputs, static_cast<std::int64_t>(b)});
  });
}

void TextModel::for_each_hidden(std::span<const Encoding> encodings, const RunOptions& options,
                                const std::function<void(const TextNumbers& batch, const Tensor& hidden,
                                                         const Offsets& offsets)>& work) const {
  for_each_batch(encodings, options, [&](const TextNumbers& batch, std::map<std::string, Tensor> inputs) {
    Pass pass = Pass::inference();
    pass.adapters = choose_adapters({options.adapter});
    const Padded layout(inputs["input_ids"], inputs["attention_mask"], "input_ids");
    const TokenBatch tokens = layout.batch({}, inputs["token_type_ids"]);
    work(batch, hidden_of_tokens(model(options.adapter), tokens, pass), tokens.offsets);
  });
}

void TextModel::hidden_states(std::span<const Encoding> encodings, const RunOptions& options,
                              const VisitRows& visit) const {
  for_each_hidden(encodings, options,
                  [&](const TextNumbers& batch, const Tensor& hidden, const Offsets& offsets) {
                    for (std::size_t b = 0; b < batch.size(); ++b) visit(batch[b], offsets.part(hidden, b));
                  });
}

void TextModel::score_tokens(std::span<const Encoding> encodings, const RowNumbers& rows,
                             const RunOptions& options, const VisitRows& visit) const {
  Transformer network = model(options.adapter).network();
  for_each_hidden(
      encodings, options, [&](const TextNumbers& batch, const Tensor& hidden, const Offsets& offsets) {
        // Only the rows in question go through the head: a vocabulary is large.
        std::vector<std::int64_t> wanted, counts;
        for (std::size_t b = 0; b < batch.size(); ++b) {
          for (const std::int64_t row : rows[batch[b]]) wanted.push_back(offsets.begin(b) + row);
          counts.push_back(static_cast<std::int64_t>(rows[batch[b]].size()));
        }
        const Tensor chosen = hidden.index_select(0, ops::tensor(wanted, kLong));
        Pass pass = Pass::inference();
        pass.adapters = choose_adapters({options.adapter});
        const std::vector<Tensor> parts = network->language_model_head(chosen, pass).split_with_sizes(counts);
        for (std::size_t b = 0; b < batch.size(); ++b) visit(batch[b], parts[b]);
      });
}

std::vector<float> numbers(const Tensor& vector) {
  const Tensor flat = vector.to(kFloat).contiguous();
  if (!flat.isfinite().all().item<bool>())
    fail("the model gives numbers that are not finite: are its weights whole?");
  return {flat.const_data<float>(), flat.const_data<float>() + flat.numel()};
}

}  // namespace attend
