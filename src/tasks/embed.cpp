// Sentence embeddings (Reimers & Gurevych 2019, arXiv:1908.10084).
#include <attend/attend.h>

#include "base/python_text.h"
#include "base/utf8.h"
#include "models/model.h"
#include "tasks/text_batches.h"

namespace attend {
namespace {

// [T, d] -> [B, d].
Tensor pool(const Tensor& hidden, const Offsets& offsets, SentencePooling::Mode mode) {
  if (mode == SentencePooling::Mode::cls) return hidden.index_select(0, offsets.first_rows());
  std::vector<Tensor> pooled;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const Tensor rows = offsets.part(hidden, b);
    pooled.push_back(mode == SentencePooling::Mode::max ? rows.amax(0) : rows.mean(0));
  }
  return at::stack(pooled);
}

// The architecture without a head, whose weights would only cost time.
std::string base_architecture(const ModelDirectory& directory) {
  const Family& family = find_family(directory.model_type());
  for (std::string_view name : family.architectures)
    if (name.ends_with("Model") && !name.ends_with("HeadModel")) return std::string(name);
  return std::string(family.architectures.front());
}

}  // namespace

struct Embedder::State {
  Model model;
  Tokenizer tokenizer;
  SentencePooling pooling;

  explicit State(const ModelDirectory& directory)
      : model(Model::load(directory, Purpose::inference, base_architecture(directory))),
        tokenizer(Tokenizer::from_file(directory.path())) {
    if (!model.network()->encoder || model.network()->decoder || model.network()->reads_images())
      fail("{}: expected an encoder of text such as BERT, found {}", directory.path().string(),
           directory.model_type());
    pooling = directory.sentence_pooling().value_or(SentencePooling{});
    const std::int64_t most = model.network()->encoder->embeddings->max_positions();
    const auto length = static_cast<std::size_t>(std::min(most, pooling.max_length.value_or(most)));
    // What the tokenizer file itself says of truncation is overruled, as in sentence-transformers.
    tokenizer.truncation() = Truncation{.max_length = length};
    tokenizer.padding().reset();
  }

  std::vector<std::vector<std::int64_t>> encode(const std::vector<std::string>& texts) const {
    if (pooling.prompt.empty() && !pooling.lowercase) return encode_texts(tokenizer, texts);
    std::vector<std::string> prepared;
    for (const std::string& text : texts) {
      const std::string whole = pooling.prompt + text;
      // The tokenizer will say what is wrong with text that is no UTF-8.
      prepared.push_back(pooling.lowercase && !find_invalid_utf8(whole) ? lowercase(whole) : whole);
    }
    return encode_texts(tokenizer, prepared);
  }
};

Embedder::Embedder(const std::filesystem::path& model)
    : state_(std::make_unique<State>(ModelDirectory(model))) {}
Embedder::Embedder(Embedder&&) noexcept = default;
Embedder::~Embedder() = default;

std::int64_t Embedder::size() const {
  return state_->model.network()->spec().encoder->embeddings.width;
}

std::vector<std::vector<float>> Embedder::embed(const std::vector<std::string>& texts,
                                                const RunOptions& options) {
  c10::InferenceMode inference;
  Transformer network = state_->model.network();
  std::vector<std::vector<float>> vectors(texts.size());
  const auto encoded = state_->encode(texts);
  std::size_t done = 0;
  for (const std::vector<std::size_t>& batch : batches_by_length(encoded, options.batch_tokens)) {
    std::vector<std::vector<std::int64_t>> ids;
    for (std::size_t i : batch) ids.push_back(encoded[i]);
    const TokenBatch tokens = TokenBatch::from(ids);
    Pass pass = Pass::inference();
    Tensor pooled = pool(network->encode(tokens, pass), tokens.offsets, state_->pooling.mode);  // [B, d]
    if (state_->pooling.normalize)
      pooled = pooled / at::linalg_vector_norm(pooled, 2, {1}, true).clamp_min(1e-12);
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
