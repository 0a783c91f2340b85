#include "objectives/shared/text_vectors.h"

#include "base/file.h"
#include "nn/layers/pooling.h"

#include <algorithm>
#include <unordered_map>

namespace attend {
namespace {

std::vector<std::int64_t> read_widths(const Setting& setting) {
  const std::int64_t whole = setting.spec.encoder->width();
  std::vector<std::int64_t> widths = setting.recipe.matryoshka;
  for (const std::int64_t width : widths)
    if (width < 1 || width > whole)
      fail("`matryoshka` {}: expected widths from 1 to {}, which is that of the model's vectors", width,
           whole);
  widths.push_back(whole);
  std::ranges::sort(widths, std::greater<>());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  return widths;
}

// In tokens: from the recipe, else from the directory, else the default of all objectives.
std::int64_t longest(const Setting& setting, const SentencePooling& pooling) {
  const std::int64_t otherwise = longest_text(setting);
  return setting.recipe.max_length > 0 ? otherwise
                                       : std::min(pooling.max_length.value_or(otherwise),
                                                  readable_tokens(setting, *setting.spec.encoder));
}

SentencePooling read_pooling(const Setting& setting) {
  const ModelSpec& spec = setting.spec;
  if (!spec.encoder || spec.decoder || spec.encoder->patches)
    fail("{}: expected an encoder of text such as BERT for vectors of texts, found {}",
         setting.directory.path().string(), setting.directory.model_type());
  return setting.directory.sentence_pooling().value_or(SentencePooling{});
}

}  // namespace

TextVectors::TextVectors(const Setting& setting, const std::vector<TextPair>& pairs)
    : pooling_(read_pooling(setting)), widths_(read_widths(setting)) {
  if (pairs.empty()) fail("{}: expected pairs of texts, found none", fmt::join(setting.files, ", "));
  std::vector<std::string> texts;
  std::unordered_map<std::string, std::size_t> numbers;
  const auto number = [&](const std::string& text) {
    const auto [place, is_new] = numbers.emplace(pooling_.prompt + text, texts.size());
    if (is_new) texts.push_back(place->first);
    return place->second;
  };
  for (const TextPair& pair : pairs) {
    firsts_.push_back(number(pair.text));
    seconds_.push_back(number(pair.pair));
  }
  TextEncoder encoder(setting, longest(setting, pooling_));
  if (pooling_.lowercase) encoder.lower_case();
  texts_ = encoder.encode(texts);
}

std::int64_t TextVectors::tokens(std::int64_t pair) const {
  const auto i = static_cast<std::size_t>(pair);
  return static_cast<std::int64_t>(std::max(texts_[firsts_[i]].ids.size(), texts_[seconds_[i]].ids.size()));
}

std::pair<std::int64_t, std::int64_t> TextVectors::numbers(std::int64_t pair) const {
  const auto i = static_cast<std::size_t>(pair);
  return {static_cast<std::int64_t>(firsts_[i]), static_cast<std::int64_t>(seconds_[i])};
}

TokenBatch TextVectors::batch(std::span<const std::int64_t> pairs) const {
  std::vector<const EncodedText*> texts;
  for (const std::int64_t pair : pairs) texts.push_back(&texts_[firsts_[static_cast<std::size_t>(pair)]]);
  for (const std::int64_t pair : pairs) texts.push_back(&texts_[seconds_[static_cast<std::size_t>(pair)]]);
  return make_batch(texts);
}

std::pair<Tensor, Tensor> TextVectors::operator()(Trainee& trainee, const TokenBatch& batch,
                                                  Pass& pass) const {
  Transformer network = trainee.network();
  const TokenBatch tokens = batch;
  const Tensor vectors = pool(network->encode(tokens, pass), tokens.offsets, pooling_.mode);  // [2B, d]
  const std::int64_t B = vectors.size(0) / 2;
  return {vectors.narrow(0, 0, B), vectors.narrow(0, B, B)};
}

std::vector<Term> TextVectors::terms() const {
  if (widths_.size() == 1) return {{"loss"}};
  std::vector<Term> terms;
  for (const std::int64_t width : widths_) terms.push_back({fmt::format("loss_{}", width)});
  return terms;
}

std::vector<Score> by_width(const std::vector<std::int64_t>& widths,
                            const std::vector<std::vector<Score>>& scores) {
  std::vector<Score> all;
  for (std::size_t k = 0; k < widths.size(); ++k)
    for (Score score : scores[k]) {
      if (k > 0) score.name += fmt::format("_{}", widths[k]);
      all.push_back(std::move(score));
    }
  return all;
}

void write_pooling(const Setting& setting, const std::filesystem::path& output) {
  if (file_exists(output / "modules.json")) return;
  SentencePooling pooling = read_pooling(setting);
  pooling.max_length = longest(setting, pooling);
  write_sentence_modules(output, pooling, setting.spec.encoder->width());
}

}  // namespace attend
