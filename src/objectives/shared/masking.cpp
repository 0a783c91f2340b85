#include "objectives/shared/masking.h"

#include "nn/losses/loss.h"
#include "tokenizers/files/directory_facts.h"

#include <algorithm>

namespace attend {
namespace {

// Which tokens continue a word: those with the prefix of a WordPiece model; otherwise those whose text does
// not start with a space, if some tokens' does.
std::vector<bool> continuing_tokens(const Tokenizer& tokenizer) {
  const auto count = static_cast<TokenId>(tokenizer.vocabulary_size());
  std::vector<bool> continues(static_cast<std::size_t>(count));
  const std::string prefix = tokenizer.continuing_subword_prefix();
  if (!prefix.empty()) {
    for (TokenId id = 0; id < count; ++id)
      continues[static_cast<std::size_t>(id)] = tokenizer.id_to_token(id).value_or("").starts_with(prefix);
    return continues;
  }
  const std::vector<std::string> texts = tokenizer.token_texts();
  for (std::size_t id = 0; id < continues.size() && id < texts.size(); ++id)
    continues[id] = !texts[id].empty() && texts[id].front() != ' ' && texts[id].front() != '\n';
  return continues;
}

// n in 1 .. `most` with a probability proportional to 1 / n.
std::size_t harmonic(std::int64_t max, Random& random) {
  double sum = 0;
  for (std::int64_t n = 1; n <= max; ++n) sum += 1 / static_cast<double>(n);
  double left = random.uniform() * sum;
  for (std::int64_t n = 1; n < max; ++n)
    if ((left -= 1 / static_cast<double>(n)) < 0) return static_cast<std::size_t>(n);
  return static_cast<std::size_t>(max);
}

// By id: whether a token is special and so cannot come from a text. An encoding of the empty text shows the
// frame's tokens; the others have a role.
std::vector<bool> special_tokens(const Setting& setting) {
  const Tokenizer& tokenizer = *setting.tokenizers.source;
  std::vector<bool> special(tokenizer.vocabulary_size());
  const auto mark = [&](std::int64_t id) { special.at(static_cast<std::size_t>(id)) = true; };
  const Encoding framed = tokenizer.encode_pair("a", "a");
  for (std::size_t i = 0; i < framed.ids.size(); ++i)
    if (framed.special_tokens_mask[i] != 0) mark(framed.ids[i]);
  for (const char* role : {"mask_token", "pad_token", "cls_token", "sep_token"})
    if (const auto id = tokenizers::special_token(tokenizer, setting.directory.path(), role)) mark(*id);
  return special;
}

}  // namespace

std::int64_t find_mask_token(const ModelDirectory& directory, const Tokenizer& tokenizer) {
  const auto mask = tokenizers::special_token(tokenizer, directory.path(), "mask_token");
  if (!mask)
    fail("{}: expected a tokenizer with a mask_token in tokenizer_config.json or special_tokens_map.json",
         directory.path().string());
  return *mask;
}

Masking::Masking(const Setting& setting, const MaskOptions& options)
    : options_(options), mask_(find_mask_token(setting.directory, *setting.tokenizers.source)) {
  const Tokenizer& tokenizer = *setting.tokenizers.source;
  const StackSpec& stack = setting.spec.encoder ? *setting.spec.encoder : *setting.spec.decoder;
  vocabulary_ = std::min(stack.embeddings.vocabulary, static_cast<std::int64_t>(tokenizer.vocabulary_size()));
  special_ = special_tokens(setting);
  if (options.whole_words || options.ngram > 1) continues_ = continuing_tokens(tokenizer);
}

void Masking::replace(TokenIds& ids, TokenIds& labels, std::size_t place, Random& random) const {
  labels[place] = ids[place];
  const double fate = random.uniform();
  if (fate < options_.masked)
    ids[place] = mask_;
  else if (fate < options_.masked + options_.random)
    ids[place] = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(vocabulary_)));
}

std::vector<std::pair<std::size_t, std::size_t>> Masking::words(const TokenIds& ids) const {
  std::vector<std::pair<std::size_t, std::size_t>> words;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    if (special_[id]) continue;
    const bool goes_on = !words.empty() && words.back().second == i && continues_[id];
    if (goes_on)
      ++words.back().second;
    else
      words.emplace_back(i, i + 1);
  }
  return words;
}

TokenIds Masking::hide(TokenIds& ids, Random& random) const {
  TokenIds labels(ids.size(), kIgnoredLabel);
  if (continues_.empty()) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (!special_[static_cast<std::size_t>(ids[i])] && random.uniform() < options_.rate)
        replace(ids, labels, i, random);
    return labels;
  }
  const auto all = words(ids);
  std::size_t tokens = 0;
  for (const auto& [begin, end] : all) tokens += end - begin;
  // The rate is met on average for texts of any length.
  const double wanted = options_.rate * static_cast<double>(tokens);
  std::size_t left = static_cast<std::size_t>(wanted + random.uniform());
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  random.shuffle(order);
  for (std::size_t first : order) {
    if (left == 0) break;
    const std::size_t count = harmonic(options_.ngram, random);
    for (std::size_t word = first; word < std::min(first + count, all.size()); ++word) {
      const auto [begin, end] = all[word];
      if (labels[begin] != kIgnoredLabel || end - begin > left) break;
      for (std::size_t i = begin; i < end; ++i) replace(ids, labels, i, random);
      left -= end - begin;
    }
  }
  return labels;
}

}  // namespace attend
