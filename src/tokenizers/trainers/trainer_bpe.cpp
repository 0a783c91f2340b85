#include "tokenizers/trainers/trainer_bpe.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "tokenizers/text/unicode.h"

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace attend::tokenizers {
namespace {

using Symbol = std::uint32_t;
using Pair = std::uint64_t;  // left << 32 | right: ordered as (left, right)

Pair pair_of(Symbol left, Symbol right) {
  return static_cast<Pair>(left) << 32 | right;
}

struct PairHash {
  std::size_t operator()(Pair pair) const {
    const std::uint64_t mixed = pair * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }
};

class BpeTrainer {
 public:
  BpeTrainer(const std::vector<WordCount>& words, const BpeTraining& training) : training_(training) {
    for (const std::string& token : training.special_tokens) id_of(token);
    add_alphabet(words);
    add_words(words);
    if (tokens_.size() > training.vocabulary_size)
      fail("the vocabulary size is {}, but the special tokens and the characters alone are {}",
           training.vocabulary_size, tokens_.size());
  }

  BpeResult train() {
    count_pairs();
    Progress progress("training the tokenizer", training_.vocabulary_size - tokens_.size(), "merges");
    while (tokens_.size() < training_.vocabulary_size && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      const std::int64_t count = pairs_[top.pair].count;
      if (top.count != count) {  // has changed since it was queued
        top.count = count;
        queue_.push(top);
        continue;
      }
      if (count < 1 || static_cast<std::uint64_t>(count) < training_.min_frequency) break;
      merge(top);
      progress.update(merges_.size());
      if (merges_.size() % 64 == 0 && interrupted()) fail("interrupted");
    }
    return {std::move(tokens_), kept_merges()};
  }

 private:
  struct Word {
    std::size_t begin;
    std::uint32_t size;
    std::int64_t count;
  };
  struct PairState {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // those that gained the pair since it was last queued
  };
  // A pair may be in the queue several times, each time for the words that gained it in one step.
  // `tokenizers` does this too, and it determines the order of some merges.
  struct Candidate {
    std::int64_t count;
    Pair pair;
    std::uint32_t places;                           // index into places_
    bool operator<(const Candidate& other) const {  // the top is the largest
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  Symbol id_of(const std::string& token) {
    const auto [found, added] = ids_.try_emplace(token, static_cast<Symbol>(tokens_.size()));
    if (added) tokens_.push_back(token);
    return found->second;
  }

  template <class Visit>
  static void for_each_character(const std::string& word, Visit visit) {
    for (std::size_t at = 0; at < word.size();) {
      const unsigned size = unicode::decode(word.data() + at).size;
      visit(at, size);
      at += size;
    }
  }

  void add_alphabet(const std::vector<WordCount>& words) {
    std::map<std::string, std::uint64_t> counts;  // UTF-8 sorts like code points
    std::unordered_map<std::string, std::uint64_t> fast;
    for (const WordCount& word : words)
      for_each_character(
          word.word, [&](std::size_t at, unsigned size) { fast[word.word.substr(at, size)] += word.count; });
    counts.insert(fast.begin(), fast.end());
    for (const std::string& character : training_.alphabet) counts[character] = UINT64_MAX;
    if (training_.limit_alphabet > 0 && counts.size() > training_.limit_alphabet) {
      std::vector<std::pair<std::uint64_t, std::string>> rarest;
      for (const auto& [character, count] : counts) rarest.emplace_back(count, character);
      std::stable_sort(rarest.begin(), rarest.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      rarest.resize(counts.size() - training_.limit_alphabet);
      for (const auto& [count, character] : rarest) counts.erase(character);
    }
    for (const auto& [character, count] : counts) id_of(character);
  }

  void add_words(const std::vector<WordCount>& words) {
    std::string symbol;
    for (const WordCount& word : words) {
      const std::size_t begin = symbols_.size();
      for_each_character(word.word, [&](std::size_t at, unsigned size) {
        symbol.assign(word.word, at, size);
        if (!ids_.contains(symbol)) return;  // outside the limited alphabet
        if (at > 0) symbol.insert(0, training_.prefix);
        symbols_.push_back(id_of(symbol));
      });
      const std::size_t size = symbols_.size() - begin;
      if (words_.size() >= UINT32_MAX || size > UINT32_MAX) fail("too many words to train a tokenizer from");
      words_.push_back({begin, static_cast<std::uint32_t>(size), static_cast<std::int64_t>(word.count)});
    }
  }

  void change(Pair pair, std::int64_t by, std::uint32_t word) {
    PairState& state = pairs_[pair];
    state.count += by;
    if (by < 0) return;
    if (state.words.empty()) touched_.push_back(pair);
    if (state.words.empty() || state.words.back() != word) state.words.push_back(word);
  }

  void count_pairs() {
    for (std::uint32_t index = 0; index < words_.size(); ++index) {
      const Word& word = words_[index];
      for (std::uint32_t i = 0; i + 1 < word.size; ++i)
        change(pair_of(symbols_[word.begin + i], symbols_[word.begin + i + 1]), word.count, index);
    }
    queue_touched();
  }

  void queue_touched() {
    for (const Pair pair : touched_) {
      PairState& state = pairs_[pair];
      if (state.count > 0) {
        std::uint32_t place = static_cast<std::uint32_t>(places_.size());
        if (free_places_.empty()) {
          places_.emplace_back();
        } else {
          place = free_places_.back();
          free_places_.pop_back();
        }
        places_[place] = std::move(state.words);
        queue_.push({state.count, pair, place});
      }
      state.words = {};
    }
    touched_.clear();
  }

  void merge(const Candidate& top) {
    const auto left = static_cast<Symbol>(top.pair >> 32), right = static_cast<Symbol>(top.pair & 0xFFFFFFFF);
    std::string joined = tokens_[left];
    const std::string& second = tokens_[right];
    joined.append(second, second.starts_with(training_.prefix) ? training_.prefix.size() : 0);
    const Symbol result = id_of(joined);
    merges_.push_back(top.pair);
    const std::vector<std::uint32_t> places = std::move(places_[top.places]);
    places_[top.places] = {};
    free_places_.push_back(top.places);
    for (const std::uint32_t index : places) merge_in_word(index, left, right, result);
    queue_touched();
  }

  void merge_in_word(std::uint32_t index, Symbol left, Symbol right, Symbol result) {
    Word& word = words_[index];
    Symbol* const symbols = symbols_.data() + word.begin;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < word.size;) {
      if (symbols[i] != left || i + 1 == word.size || symbols[i + 1] != right) {
        symbols[kept++] = symbols[i++];
        continue;
      }
      if (kept > 0) {
        change(pair_of(symbols[kept - 1], left), -word.count, index);
        change(pair_of(symbols[kept - 1], result), word.count, index);
      }
      if (i + 2 < word.size) {
        change(pair_of(right, symbols[i + 2]), -word.count, index);
        change(pair_of(result, symbols[i + 2]), word.count, index);
      }
      symbols[kept++] = result;
      i += 2;
    }
    word.size = kept;
  }

  // A pair that was merged in several steps keeps its last position.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> kept_merges() const {
    std::unordered_map<Pair, std::size_t, PairHash> last;
    for (std::size_t i = 0; i < merges_.size(); ++i) last[merges_[i]] = i;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> kept;
    for (std::size_t i = 0; i < merges_.size(); ++i)
      if (last.at(merges_[i]) == i)
        kept.emplace_back(static_cast<Symbol>(merges_[i] >> 32),
                          static_cast<Symbol>(merges_[i] & 0xFFFFFFFF));
    return kept;
  }

  const BpeTraining& training_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, Symbol> ids_;
  std::vector<Symbol> symbols_;  // of all words, one after another; a word shrinks in place
  std::vector<Word> words_;
  std::unordered_map<Pair, PairState, PairHash> pairs_;
  std::vector<Pair> touched_;  // pairs with new words
  std::vector<std::vector<std::uint32_t>> places_;
  std::vector<std::uint32_t> free_places_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> merges_;
};

}  // namespace

BpeResult train_bpe(const std::vector<WordCount>& words, const BpeTraining& training) {
  return BpeTrainer(words, training).train();
}

}  // namespace attend::tokenizers
