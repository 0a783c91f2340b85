// Weights of tokens: SPLADE's, and those of BGE-M3.
#include <attend/token_weights.h>

#include "base/error.h"
#include "base/file.h"
#include "models/checkpoint/sentence_modules.h"
#include "tasks/texts/text_model.h"
#include "tasks/vectors/embedded_texts.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

constexpr std::int64_t kMaxLogits = 1 << 22;  // at once

// The weight of a token by its number in the vocabulary.
using Weights = std::map<TokenId, float>;

// SPLADE: each token of the text predicts words, as in a masked language model. rows [tokens, d].
Weights weigh_predictions(const SentenceModule& module, Transformer network, const Tensor& rows) {
  LanguageModelHead head = network->language_model_head;
  Pass pass = Pass::inference();
  std::vector<float> sums;
  const auto logarithm = [&](float x) {
    x = std::max(x, 0.0f);
    for (int i = 0; i < module.logarithms; ++i) x = std::log1p(x);
    return x;
  };
  const std::int64_t vocabulary =
      (network->decoder ? network->decoder : network->encoder)->spec().embeddings.vocabulary;
  const std::int64_t step = std::max<std::int64_t>(1, kMaxLogits / vocabulary);
  for (std::int64_t begin = 0; begin < rows.size(0); begin += step) {
    const Tensor part = rows.narrow(0, begin, std::min(step, rows.size(0) - begin));
    const Tensor logits = head(part, pass).contiguous();  // [rows, V]
    const float* logit = logits.const_data<float>();
    sums.resize(static_cast<std::size_t>(logits.size(1)));
    for (std::int64_t i = 0; i < logits.size(0); ++i)
      for (float& sum : sums) {
        const float x = *logit++;
        if (!std::isfinite(x)) fail("the model gives numbers that are not finite: are its weights whole?");
        // The logarithm grows with x, so that of the largest is enough.
        sum = module.sums ? sum + logarithm(x) : std::max(sum, x);
      }
  }
  Weights weights;
  for (std::size_t token = 0; token < sums.size(); ++token)
    if (const float weight = module.sums ? sums[token] : logarithm(sums[token]); weight > 0)
      weights[static_cast<TokenId>(token)] = weight;
  return weights;
}

}  // namespace

struct SparseEmbedder::State {
  std::shared_ptr<TextModel> model;
  std::unique_ptr<EmbeddedTexts> texts;
  Linear linear{nullptr};  // BGE-M3's
  std::set<TokenId> left_out;

  explicit State(const ModelPath& path) {
    const ModelDirectory files(path);
    SentenceDirectory directory = read_sentence_directory(files);
    const std::filesystem::path own = files.path() / "sparse_linear.pt";
    if (directory.modules.front().kind == SentenceModule::Kind::splade)
      model = TextModel::with_token_scores(path);
    else if (file_exists(own))
      model = TextModel::with_any_head(path);
    else
      fail("{}: expected SPLADE (a module SpladePooling in modules.json) or BGE-M3 (sparse_linear.pt)",
           files.path().string());
    texts = std::make_unique<EmbeddedTexts>(files, std::move(directory), positions_of(model->model()));
    if (splade()) return;
    linear = read_linear(own, width_of(model->model()), 1);
    static constexpr const char* kRoles[] = {"cls_token", "eos_token", "pad_token", "unk_token"};
    left_out = texts->special_tokens(kRoles);
  }

  bool splade() const { return !texts->directory().makes_vectors(); }

  // BGE-M3: each token of the text has a weight, of equal ones the largest. rows [tokens, d].
  Weights weigh_tokens(const std::vector<TokenId>& ids, const Tensor& rows) {
    Pass pass = Pass::inference();
    const std::vector<float> numbers_of = numbers(linear(rows, pass, Activation::relu).reshape({-1}));
    Weights weights;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (numbers_of[i] <= 0 || left_out.contains(ids[i])) continue;
      float& weight = weights[ids[i]];
      weight = std::max(weight, numbers_of[i]);
    }
    return weights;
  }

  std::vector<TokenWeight> sorted(const Weights& weights) const {
    std::vector<TokenWeight> all;
    for (const auto& [token, weight] : weights)
      all.push_back({token, texts->tokenizer().id_to_token(token).value_or(""), weight});
    std::ranges::stable_sort(all, std::greater(), &TokenWeight::weight);
    return all;
  }
};

SparseEmbedder::SparseEmbedder(const ModelPath& model) : state_(std::make_shared<State>(model)) {}

std::vector<std::vector<TokenWeight>> SparseEmbedder::embed(const std::vector<std::string>& texts,
                                                            const EmbedOptions& options) {
  if (options.dimensions || options.normalize)
    fail("sparse vectors are neither cut to dimensions nor normalized");
  const Unrecorded inference;
  const std::vector<Encoding> encodings = state_->texts->encode(texts, options, /*with_types=*/true);
  for (std::size_t i = 0; i < texts.size(); ++i)
    state_->model->check(encodings[i], name_of_text(i, texts.size()));
  std::vector<std::vector<TokenWeight>> vectors(texts.size());
  Transformer network = state_->model->model(options.adapter).network();
  state_->model->hidden_states(encodings, options, [&](std::size_t i, const Tensor& rows) {
    vectors[i] = state_->sorted(
        state_->splade() ? weigh_predictions(state_->texts->directory().modules.front(), network, rows)
                         : state_->weigh_tokens(encodings[i].ids, rows));
  });
  return vectors;
}

float v1::similarity(const std::vector<TokenWeight>& a, const std::vector<TokenWeight>& b) {
  std::map<TokenId, float> weights;
  for (const TokenWeight& each : a) weights[each.token] = each.weight;
  double sum = 0;
  for (const TokenWeight& each : b)
    if (const auto found = weights.find(each.token); found != weights.end())
      sum += double{found->second} * each.weight;
  return static_cast<float>(sum);
}

}  // namespace attend
