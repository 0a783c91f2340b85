#include "training/objective.h"

#include "base/file.h"
#include "base/log.h"
#include "training/random.h"

namespace attend {
namespace {

std::vector<TokenIds> encode(const Tokenizer& tokenizer, std::span<const std::string> texts,
                             EncodeOptions options) {
  options.with_details = false;
  std::vector<TokenIds> all;
  for (const Encoding& encoding : tokenizer.encode_batch(texts, options))
    all.emplace_back(encoding.ids.begin(), encoding.ids.end());
  return all;
}

Tensor make_labels(const std::vector<const TokenIds*>& parts) {
  TokenIds labels;
  for (const TokenIds* part : parts) labels.insert(labels.end(), part->begin(), part->end());
  return torch::tensor(labels, at::kLong);
}

// Pieces of about 64 kB that end with a line, so that they can be encoded side by side.
std::vector<std::string> cut_at_lines(const std::string& text) {
  constexpr std::size_t kPiece = 1 << 16;
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', std::min(text.size(), begin + kPiece));
    end = end == std::string::npos ? text.size() : end + 1;
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

}  // namespace

SequenceToSequence::SequenceToSequence(TokenizerPair tokenizers, std::span<const std::string> sources,
                                       std::span<const std::string> targets, std::int64_t start_token,
                                       std::int64_t max_length, double bpe_dropout)
    : tokenizers_(std::move(tokenizers)),
      bpe_dropout_(bpe_dropout),
      start_token_(start_token),
      max_length_(max_length) {
  if (sources.size() != targets.size())
    fail("the source has {} lines and the target {}: line n of one must belong to line n of the other",
         sources.size(), targets.size());
  std::vector<TokenIds> source_ids = encode(*tokenizers_.source, sources, {}),
                        target_ids = encode(*tokenizers_.target, targets, {});
  std::size_t empty = 0, too_long = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto longest = static_cast<std::int64_t>(std::max(source_ids[i].size(), target_ids[i].size()));
    if (sources[i].empty() || targets[i].empty())
      ++empty;
    else if (longest > max_length)
      ++too_long;
    else {
      sources_.push_back(std::move(source_ids[i]));
      targets_.push_back(std::move(target_ids[i]));
      if (bpe_dropout > 0) {
        source_texts_.push_back(sources[i]);
        target_texts_.push_back(targets[i]);
      }
    }
  }
  if (empty > 0) warn("left out {} pairs with an empty side", empty);
  if (too_long > 0) warn("left out {} pairs with more than {} tokens", too_long, max_length);
  if (sources_.empty()) fail("no pair of lines is left to learn from");
}

void SequenceToSequence::begin_epoch(std::uint64_t seed, std::int64_t epoch) {
  if (bpe_dropout_ == 0) return;
  Random random(seed, epoch);
  const auto cut_anew = [&](const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                            std::vector<TokenIds>& ids) {
    std::vector<TokenIds> cut = encode(tokenizer, texts, {.dropout = bpe_dropout_, .seed = random.next()});
    for (std::size_t i = 0; i < ids.size(); ++i) {
      // Smaller pieces are more of them, perhaps too many: then the usual ones, and not those of the last
      // epoch, of which a resumed run knows nothing.
      const bool fits = static_cast<std::int64_t>(cut[i].size()) <= max_length_;
      ids[i] = fits ? std::move(cut[i]) : std::move(encode(tokenizer, {&texts[i], 1}, {}).front());
    }
  };
  cut_anew(*tokenizers_.source, source_texts_, sources_);
  cut_anew(*tokenizers_.target, target_texts_, targets_);
}

std::int64_t SequenceToSequence::tokens(std::int64_t example) const {
  return static_cast<std::int64_t>(std::max(sources_[example].size(), targets_[example].size()));
}

LossSum SequenceToSequence::loss(Transformer& model, std::span<const std::int64_t> examples, Pass& pass,
                                 const LossOptions& options) const {
  std::vector<TokenIds> sources, inputs;
  std::vector<const TokenIds*> labels;
  for (std::int64_t example : examples) {
    const TokenIds& target = targets_[example];
    sources.push_back(sources_[example]);
    inputs.push_back({start_token_});
    inputs.back().insert(inputs.back().end(), target.begin(), target.end() - 1);
    labels.push_back(&target);
  }
  const TokenBatch source = TokenBatch::from(sources).to(model->device());
  const Memory memory = model->remember(model->encode(source, pass), source.offsets);
  const Tensor hidden = model->decode(TokenBatch::from(inputs).to(model->device()), pass, &memory);
  return model->language_model_head->loss(hidden, make_labels(labels).to(hidden.device()), options);
}

CausalLanguageModel::CausalLanguageModel(const Tokenizer& tokenizer, const std::vector<std::string>& files,
                                         std::int64_t length)
    : length_(length) {
  for (const std::string& file : files)
    for (const TokenIds& ids : encode(tokenizer, cut_at_lines(read_file(file)), {.special_tokens = false}))
      text_.insert(text_.end(), ids.begin(), ids.end());
  if (static_cast<std::int64_t>(text_.size()) <= length)
    fail("{}: {} tokens are too few for blocks of {}", fmt::join(files, ", "), text_.size(), length);
}

void CausalLanguageModel::begin_epoch(std::uint64_t seed, std::int64_t epoch) {
  const auto slack = std::min<std::int64_t>(length_, static_cast<std::int64_t>(text_.size()) - length_);
  first_ = static_cast<std::int64_t>(Random(seed, epoch).below(static_cast<std::uint64_t>(slack)));
}

std::int64_t CausalLanguageModel::examples() const {
  return (static_cast<std::int64_t>(text_.size()) - 1 - first_) / length_;
}

LossSum CausalLanguageModel::loss(Transformer& model, std::span<const std::int64_t> examples, Pass& pass,
                                  const LossOptions& options) const {
  std::vector<TokenIds> inputs, next;
  std::vector<const TokenIds*> labels;
  for (std::int64_t example : examples) {
    const auto begin = text_.begin() + first_ + example * length_;
    inputs.emplace_back(begin, begin + length_);
    next.emplace_back(begin + 1, begin + length_ + 1);
  }
  for (const TokenIds& ids : next) labels.push_back(&ids);
  const Tensor hidden = model->decode(TokenBatch::from(inputs).to(model->device()), pass);
  return model->language_model_head->loss(hidden, make_labels(labels).to(hidden.device()), options);
}

}  // namespace attend
