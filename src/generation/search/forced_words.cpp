#include "generation/search/forced_words.h"

#include "base/error.h"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace attend {

ForcedWords::ForcedWords(const std::vector<ForcedWord>& words) : words_(words) {
  for (const ForcedWord& word : words) {
    const auto longest = std::ranges::max_element(word, {}, &std::vector<std::int64_t>::size);
    longest_of_.push_back(std::ssize(*longest));
    longest_ = std::max(longest_, longest_of_.back());
  }
}

ForcedWords::Progress ForcedWords::begin(std::span<const std::int64_t> tokens) const {
  Progress progress;
  progress.pending_.resize(words_.size());
  std::iota(progress.pending_.begin(), progress.pending_.end(), 0);
  for (const std::int64_t token : tokens) add(progress, token);
  return progress;
}

void ForcedWords::add(Progress& progress, std::int64_t token) const {
  std::vector<std::size_t>& pending = progress.pending_;
  std::optional<Begun> now;
  if (progress.begun_) {
    now = longer(*progress.begun_, token);
    if (!now) pending.push_back(progress.begun_->word);
  } else {
    for (std::size_t i = 0; i < pending.size() && !now; ++i) {
      now = longer({pending[i], 0, 0}, token);
      if (now) pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  const bool whole = now && is_whole(*now);
  progress.complete_ += whole;
  progress.begun_ = whole ? std::nullopt : now;
}

std::int64_t ForcedWords::bank(const Progress& progress) const {
  const std::int64_t complete = progress.complete_ * longest_;
  if (!progress.begun_) return complete;
  const auto left = longest_of_[progress.begun_->word] - static_cast<std::int64_t>(progress.begun_->length);
  return complete + longest_ - left;
}

std::vector<ForcedWords::Advance> ForcedWords::advances(const Progress& progress) const {
  std::vector<Advance> result;
  if (!progress.begun_) {
    for (const std::size_t word : progress.pending_)
      for (const std::int64_t token : next_tokens({word, 0, 0})) {
        Progress next = progress;
        add(next, token);
        result.push_back({token, bank(next)});
      }
    return result;
  }
  // In the original, all continuations of one word share the memory of its progress: what one of them adds
  // counts for the others too.
  Begun shared = *progress.begun_;
  std::vector<std::size_t> unfinished;  // of the result
  for (const std::int64_t token : next_tokens(shared)) {
    Progress next = progress;
    next.begun_ = shared;
    const std::optional<Begun> more = longer(shared, token);
    if (more) shared = *more;
    add(next, token);
    if (next.begun_) unfinished.push_back(result.size());
    result.push_back({token, bank(next)});
  }
  Progress last = progress;
  last.begun_ = shared;
  for (const std::size_t i : unfinished) result[i].bank = bank(last);
  return result;
}

// In the order in which they occur in the phrases.
std::vector<std::int64_t> ForcedWords::next_tokens(const Begun& begun) const {
  const ForcedWord& word = words_[begun.word];
  std::vector<std::int64_t> tokens;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i].size() <= begun.length) continue;
    const std::int64_t token = word[i][begun.length];
    if (std::equal(word[i].begin(), word[i].begin() + static_cast<std::ptrdiff_t>(begun.length),
                   word[begun.phrase].begin()) &&
        std::ranges::find(tokens, token) == tokens.end())
      tokens.push_back(token);
  }
  return tokens;
}

std::optional<ForcedWords::Begun> ForcedWords::longer(const Begun& begun, std::int64_t token) const {
  const ForcedWord& word = words_[begun.word];
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i].size() <= begun.length || word[i][begun.length] != token) continue;
    if (std::equal(word[i].begin(), word[i].begin() + static_cast<std::ptrdiff_t>(begun.length),
                   word[begun.phrase].begin()))
      return Begun{begun.word, i, begun.length + 1};
  }
  return {};
}

// No phrase is the beginning of another one, so the end of a phrase is the end of the word.
bool ForcedWords::is_whole(const Begun& begun) const {
  return words_[begun.word][begun.phrase].size() == begun.length;
}

ForcedWord forced_word(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = [&](const std::string& part) {
    return tokenizer.encode(part, {.special_tokens = false, .with_details = false}).ids;
  };
  if (text.empty()) fail("force words: expected a word or phrase, found nothing");
  const std::string before = "a";  // so that the word is not the beginning of a text
  ForcedWord word;
  for (const auto part : std::views::split(text, '|')) {
    const std::string phrase(part.begin(), part.end());
    if (phrase.empty())
      fail("force words: expected a word, or several with | between them, found \"{}\"", text);
    const auto first = ids(before), all = ids(before + " " + phrase);
    const bool apart = std::ranges::mismatch(first, all).in1 == first.end() && all.size() > first.size();
    const auto found = apart ? std::vector(all.begin() + std::ssize(first), all.end()) : ids(phrase);
    if (found.empty()) fail("force words: the tokenizer has no token for \"{}\"", phrase);
    word.emplace_back(found.begin(), found.end());
  }
  return word;
}

}  // namespace attend
