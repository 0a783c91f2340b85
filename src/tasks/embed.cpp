// Sentence embeddings (Reimers & Gurevych 2019, arXiv:1908.10084).
#include <attend/attend.h>

#include "models/forward.h"
#include "models/head.h"
#include "models/pretrained_model.h"
#include "models/sentence_modules.h"
#include "models/sentence_texts.h"
#include "tasks/text_batches.h"
#include "tokenizers/files/directory_facts.h"

namespace attend {
namespace {

// The architecture without a head, whose weights would only cost time.
std::string body_of(const ModelDirectory& directory) {
  const std::vector<std::string> named = directory.architectures();
  if (!named.empty() && has_head(named.front(), Head::body)) return named.front();
  return architecture_for(find_family(directory.model_type()), Head::body);
}

}  // namespace

struct Embedder::State {
  PretrainedModel model;
  Tokenizer tokenizer;
  SentencePooling texts;  // how they are read
  std::unique_ptr<SentenceModules> modules;
  bool gives_types;

  explicit State(const ModelDirectory& directory)
      : model(PretrainedModel::load(directory, {.architecture = body_of(directory)})),
        tokenizer(Tokenizer::from_file(directory.path())),
        gives_types(takes_types(model) && tokenizers::gives_token_types(directory.path())) {
    if (model.network()->is_encoder_decoder() || model.network()->reads_images())
      fail("{}: expected one stack that reads text such as BERT, found {}", directory.path().string(),
           directory.model_type());
    // What is no directory of sentence-transformers is taken to mean the mean, of length 1.
    const SentenceDirectory all =
        read_sentence_directory(directory.path())
            .value_or(SentenceDirectory{
                {}, {{.modes = {SentencePooling::Mode::mean}}, {.kind = SentenceModule::Kind::unit_length}}});
    texts = all.texts;
    modules = std::make_unique<SentenceModules>(all.modules, stack()->spec().width());
    const std::int64_t most = stack()->max_positions();
    const auto length = static_cast<std::size_t>(std::min(most, texts.max_length.value_or(most)));
    // What the tokenizer file itself says of truncation is overruled, as in sentence-transformers.
    tokenizer.truncation() = Truncation{.max_length = length};
    tokenizer.padding().reset();
  }

  Stack stack() const {
    Transformer network = model.network();
    return network->decoder ? network->decoder : network->encoder;
  }

  // XLNet's segments; all other tokenizers say 0 of a text that stands alone.
  bool has_segments() const {
    const auto& distance = stack()->spec().layers.front().self_attention.distance;
    return gives_types && distance && distance->segments;
  }

  std::vector<Encoding> encode(const std::vector<std::string>& given) const {
    const EncodeOptions options{.with_details = has_segments()};
    if (texts.prompt.empty() && !texts.lowercase) return tokenizer.encode_batch(given, options);
    std::vector<std::string> prepared;
    for (const std::string& text : given) prepared.push_back(prepare_text(text, texts));
    return tokenizer.encode_batch(prepared, options);
  }

  TokenBatch batch(const std::vector<Encoding>& encoded, const std::vector<std::size_t>& numbers) const {
    std::vector<std::vector<std::int64_t>> ids;
    std::vector<std::int64_t> types;
    for (const std::size_t i : numbers) {
      ids.emplace_back(encoded[i].ids.begin(), encoded[i].ids.end());
      if (has_segments()) types.insert(types.end(), encoded[i].type_ids.begin(), encoded[i].type_ids.end());
    }
    TokenBatch tokens = TokenBatch::from(ids);
    if (has_segments()) tokens.types = torch::tensor(types, at::kLong);
    // GPT's look types up among the tokens, so that there type 0 is not none.
    if (gives_types && stack()->spec().embeddings.types_are_tokens) tokens.types = at::zeros_like(tokens.ids);
    return tokens;
  }
};

Embedder::Embedder(const ModelPath& model) : state_(std::make_shared<State>(ModelDirectory(model))) {}

std::int64_t Embedder::size() const {
  return state_->modules->size();
}

std::vector<std::vector<float>> Embedder::embed(const std::vector<std::string>& texts,
                                                const RunOptions& options) {
  c10::InferenceMode inference;
  Transformer network = state_->model.network();
  if (options.adapter) state_->model.check_adapter(*options.adapter);
  std::vector<std::vector<float>> vectors(texts.size());
  const std::vector<Encoding> encoded = state_->encode(texts);
  std::vector<std::int64_t> lengths;
  for (const Encoding& encoding : encoded) lengths.push_back(std::ssize(encoding.ids));
  std::size_t done = 0;
  for (const std::vector<std::size_t>& batch : batches_by_length(lengths, options.batch_tokens)) {
    const TokenBatch tokens = state_->batch(encoded, batch);
    Pass pass = Pass::inference();
    pass.adapters = choose_adapters({options.adapter});
    const Tensor hidden = network->decoder ? network->decode(tokens, pass) : network->encode(tokens, pass);
    Tensor pooled = state_->modules->embed(hidden, tokens.offsets);  // [B, size]
    if (!pooled.isfinite().all().item<bool>())
      fail("the model gives numbers that are not finite: are its weights whole?");
    pooled = pooled.contiguous();
    const float* row = pooled.const_data_ptr<float>();
    for (std::size_t i : batch) {
      vectors[i].assign(row, row + pooled.size(1));
      row += pooled.size(1);
    }
    done += batch.size();
    if (options.on_progress) options.on_progress(done, texts.size());
  }
  return vectors;
}

}  // namespace attend
