#include "tokenizers/trainers/trainer_unigram.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "tokenizers/text/unicode.h"
#include "tokenizers/trainers/repeated_substrings.h"
#include "tokenizers/trainers/unigram_lattice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

namespace attend::tokenizers {
namespace {

// SentencePiece's settings, which `tokenizers` uses too.
constexpr std::size_t max_seeds = 1'000'000;
constexpr std::uint32_t longest_piece = 16;  // in characters
constexpr int steps_per_round = 2;           // of expectation maximization between two prunings
constexpr double kept_per_round = 0.75;
constexpr double min_expected = 0.5;  // pieces that are expected less often are dropped

// The derivative of the logarithm of the gamma function, for x > 0: its asymptotic series around x - 1/2.
double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  const double square = 1 / ((x - 0.5) * (x - 0.5));
  return result + std::log(x - 0.5) +
         square * (1.0 / 24 - square * (7.0 / 960 - square * (31.0 / 8064 - square * (127.0 / 30720))));
}

class UnigramTrainer {
 public:
  UnigramTrainer(const std::vector<WordCount>& words, const UnigramTraining& training)
      : words_(words),
        training_(training),
        target_(training.vocabulary_size + training.vocabulary_size / 10) {
    count_characters();
    if (characters_.empty()) fail("there is no text to train a tokenizer from, only zero bytes");
    const std::size_t min = characters_.size() + training.special_tokens.size();
    if (min > training.vocabulary_size)
      fail("the vocabulary size is {}, but the special tokens and the characters alone are {}",
           training.vocabulary_size, min);
  }

  std::vector<UnigramPiece> train() {
    std::vector<UnigramPiece> pieces = seeds();
    const double share = static_cast<double>(target_) / static_cast<double>(pieces.size());
    const double rounds = 1 + std::max(0.0, std::ceil(std::log(share) / std::log(kept_per_round)));
    Progress progress("training the tokenizer", static_cast<std::uint64_t>(rounds) * (steps_per_round + 1),
                      "passes");
    for (std::uint64_t passes = 0;; progress.update(++passes)) {
      for (int step = 0; step < steps_per_round; ++step, progress.update(++passes))
        pieces = maximize(UnigramModel(std::move(pieces)));
      if (pieces.size() <= target_) break;
      pieces = prune(UnigramModel(std::move(pieces)));
    }
    return finish(pieces);
  }

 private:
  void count_characters() {
    for (const WordCount& word : words_)
      for (std::size_t at = 0; at < word.word.size();) {
        const auto [c, size] = unicode::decode(word.word.data() + at);
        if (c != 0) characters_[c] += word.count;
        at += size;
      }
    for (const auto& [c, count] : characters_) by_count_.emplace_back(count, c);
    std::sort(by_count_.rbegin(), by_count_.rend());
    if (training_.limit_alphabet == 0 || by_count_.size() <= training_.limit_alphabet) return;
    for (std::size_t i = training_.limit_alphabet; i < by_count_.size(); ++i)
      characters_.erase(by_count_[i].second);
    by_count_.resize(training_.limit_alphabet);
  }

  static std::string text_of(char32_t c) {
    std::string text;
    append_utf8(text, c);
    return text;
  }

  // The characters, and substrings with several occurrences in the distinct words; those with more
  // occurrences and more characters are preferred.
  std::vector<UnigramPiece> seeds() const {
    std::string text;  // all words; zero bytes follow each and replace characters outside the alphabet
    for (const WordCount& word : words_) {
      for (std::size_t at = 0; at < word.word.size();) {
        const auto [c, size] = unicode::decode(word.word.data() + at);
        if (characters_.contains(c))
          text.append(word.word, at, size);
        else
          text += '\0';
        at += size;
      }
      text += '\0';
    }
    std::vector<Substring> found = repeated_substrings(text, longest_piece);
    std::erase_if(found, [](const Substring& item) { return item.characters < 2; });
    const auto weight = [](const Substring& item) { return std::uint64_t{item.count} * item.characters; };
    const auto view = [&](const Substring& item) {
      return std::string_view(text).substr(item.begin, item.size);
    };
    std::sort(found.begin(), found.end(), [&](const Substring& a, const Substring& b) {
      return weight(a) != weight(b) ? weight(a) > weight(b) : view(a) > view(b);
    });
    if (by_count_.size() + found.size() > max_seeds)
      found.resize(max_seeds - std::min(max_seeds, by_count_.size()));

    std::vector<UnigramPiece> pieces = {{"", 0}};
    double sum = 0;
    const auto add = [&](std::string piece, std::uint64_t count) {
      pieces.push_back({std::move(piece), static_cast<double>(count)});
      sum += static_cast<double>(count);
    };
    for (const auto& [count, c] : by_count_) add(text_of(c), count);
    for (const Substring& item : found) add(std::string(view(item)), weight(item));
    for (std::size_t i = unknown_piece + 1; i < pieces.size(); ++i)
      pieces[i].score = std::log(pieces[i].score) - std::log(sum);
    return pieces;
  }

  // The sum over all words, on all cores, of what add(lattice, word, totals) adds to `totals`, one per piece.
  template <class Add>
  std::vector<double> sum_over_words(const UnigramModel& model, Add add) const {
    // A fixed number of parts, added in order, so that the result does not depend on the number of threads.
    constexpr std::size_t parts = 16;
    std::vector<std::vector<double>> totals(parts);
    parallel_for(parts, 1, [&](std::size_t part, std::size_t) {
      totals[part].assign(model.pieces.size(), 0);
      UnigramLattice lattice(model);
      for (std::size_t i = words_.size() * part / parts; i < words_.size() * (part + 1) / parts; ++i) {
        if (interrupted()) fail("interrupted");
        lattice.set(words_[i].word);
        add(lattice, words_[i], totals[part]);
      }
    });
    for (std::size_t part = 1; part < parts; ++part)
      for (std::size_t i = 0; i < model.pieces.size(); ++i) totals[0][i] += totals[part][i];
    return std::move(totals[0]);
  }

  // One step of expectation maximization. The digamma function instead of the logarithm makes rare pieces
  // even rarer: it is the mean under a Dirichlet prior (Liang and Klein 2007), and gives a sparser model.
  std::vector<UnigramPiece> maximize(UnigramModel model) const {
    const std::vector<double> expected = sum_over_words(
        model, [](UnigramLattice& lattice, const WordCount& word, std::vector<double>& totals) {
          lattice.add_expected(static_cast<double>(word.count), totals);
        });
    std::vector<UnigramPiece> pieces = {{"", 0}};
    double sum = 0;
    for (std::size_t i = unknown_piece + 1; i < model.pieces.size(); ++i) {
      if (expected[i] < min_expected) continue;
      pieces.push_back({std::move(model.pieces[i].text), digamma(expected[i])});
      sum += expected[i];
    }
    const double all = digamma(sum);
    for (std::size_t i = unknown_piece + 1; i < pieces.size(); ++i) pieces[i].score -= all;
    return pieces;
  }

  // Drops the pieces with the smallest loss: each is assumed to be replaced, wherever the best segmentations
  // contain it, by the best segmentation of the piece itself.
  std::vector<UnigramPiece> prune(UnigramModel model) const {
    const std::size_t count = model.pieces.size();
    const std::vector<double> uses = sum_over_words(
        model, [](UnigramLattice& lattice, const WordCount& word, std::vector<double>& totals) {
          for (const std::uint32_t piece : lattice.best().pieces)
            totals[piece] += static_cast<double>(word.count);
        });
    double sum = 0;
    for (const double use : uses) sum += use;
    std::vector<UnigramPiece> kept = {{"", 0}};
    std::vector<std::pair<double, std::uint32_t>> losses;
    UnigramLattice lattice(model);
    for (std::uint32_t i = unknown_piece + 1; i < count; ++i) {
      UnigramPiece& piece = model.pieces[i];
      lattice.set(piece.text);
      const auto [score, parts] = lattice.best(true);
      if (uses[i] == 0 && !parts.empty()) continue;
      if (parts.empty() || score > piece.score) {
        kept.push_back(std::move(piece));  // a character, or a piece that is almost never more than its parts
        continue;
      }
      // The uses of its parts would increase the sum of all uses. The amount follows SentencePiece, which
      // uses the number of all pieces instead of that of the parts.
      const double others = std::log(sum + uses[i] * static_cast<double>(count - 1));
      double loss = std::log(uses[i]) - std::log(sum);
      for (const std::uint32_t part : parts) loss -= std::log(uses[part] + uses[i]) - others;
      losses.emplace_back(uses[i] * loss, i);
    }
    std::stable_sort(losses.begin(), losses.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    const std::size_t wanted =
        std::max(target_, static_cast<std::size_t>(static_cast<double>(count) * kept_per_round));
    for (std::size_t i = 0; i < losses.size() && kept.size() < wanted; ++i)
      kept.push_back(std::move(model.pieces[losses[i].second]));
    return kept;
  }

  // Exactly the requested size, with every character, including those that no word needs.
  std::vector<UnigramPiece> finish(const std::vector<UnigramPiece>& pieces) const {
    std::unordered_set<std::string> known(training_.special_tokens.begin(), training_.special_tokens.end());
    double min = 0;
    std::map<std::string, double> scores;
    for (std::size_t i = unknown_piece + 1; i < pieces.size(); ++i) {
      min = std::min(min, pieces[i].score);
      if (unicode::count(pieces[i].text) == 1) scores.emplace(pieces[i].text, pieces[i].score);
    }
    std::vector<UnigramPiece> chosen;
    double penalty = 0;
    for (const auto& [c, count] : characters_) {
      const std::string text = text_of(c);
      if (!known.insert(text).second) continue;
      const auto found = scores.find(text);
      chosen.push_back({text, found != scores.end() ? found->second : min + penalty});
      if (found == scores.end()) penalty += 0.0001;  // so that no two are equal
    }
    const std::size_t wanted = training_.vocabulary_size - training_.special_tokens.size();
    for (std::size_t i = unknown_piece + 1; i < pieces.size() && chosen.size() < wanted; ++i)
      if (known.insert(pieces[i].text).second) chosen.push_back(pieces[i]);
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const UnigramPiece& a, const UnigramPiece& b) { return a.score > b.score; });
    std::vector<UnigramPiece> result;
    for (const std::string& token : training_.special_tokens) result.push_back({token, 0});
    result.insert(result.end(), chosen.begin(), chosen.end());
    return result;
  }

  const std::vector<WordCount>& words_;
  const UnigramTraining& training_;
  const std::size_t target_;                                  // number of pieces before the final selection
  std::map<char32_t, std::uint64_t> characters_;              // of the alphabet
  std::vector<std::pair<std::uint64_t, char32_t>> by_count_;  // the same, the most frequent first
};

}  // namespace

std::vector<UnigramPiece> train_unigram(const std::vector<WordCount>& words,
                                        const UnigramTraining& training) {
  return UnigramTrainer(words, training).train();
}

}  // namespace attend::tokenizers
