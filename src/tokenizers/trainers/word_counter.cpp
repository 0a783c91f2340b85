#include "tokenizers/trainers/word_counter.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "tokenizers/models/vocabulary.h"
#include "tokenizers/text/byte_level.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace attend::tokenizers {
namespace {

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return hash_text(text); }
};
using Counts = std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>>;

constexpr std::size_t block_size = std::size_t{1} << 24;
constexpr std::size_t max_line = std::size_t{1} << 27;

class Counter {
 public:
  Counter(const Normalizer* normalizer, const PreTokenizer* pre_tokenizer)
      : normalizer_(normalizer), pre_tokenizer_(pre_tokenizer) {}

  void add(std::string_view line) {
    pieces_.clear(pre_tokenizer_ != nullptr && pre_tokenizer_->needs_alignment());
    NormalizedText text(line, {0, static_cast<std::uint32_t>(line.size())}, pieces_.aligned);
    if (normalizer_ != nullptr) normalizer_->apply(text);
    if (text.text().empty()) return;
    pieces_.append(text);
    if (pre_tokenizer_ != nullptr) pre_tokenizer_->apply(pieces_);
    byte_level_ = pieces_.byte_level;
    for (const Piece& piece : pieces_.pieces) {
      const std::string_view word = pieces_.view(piece);
      const auto found = counts_.find(word);
      if (found != counts_.end())
        ++found->second;
      else
        counts_.emplace(word, 1);
    }
  }
  const Counts& counts() const { return counts_; }
  bool byte_level() const { return byte_level_; }

 private:
  const Normalizer* normalizer_;
  const PreTokenizer* pre_tokenizer_;
  Pieces pieces_;
  Counts counts_;
  bool byte_level_ = false;
};

}  // namespace

std::vector<WordCount> count_words(const std::vector<std::filesystem::path>& files,
                                   const Normalizer* normalizer, const PreTokenizer* pre_tokenizer) {
  std::uint64_t total = 0, done = 0;
  for (const auto& file : files) {
    std::error_code error;
    total += std::filesystem::file_size(file, error);
    if (error) fail("{}: {}", file.string(), error.message());
  }
  Progress progress("counting words", total, "bytes");
  std::vector<std::unique_ptr<Counter>> counters;  // one per working thread; those in `idle` are unused
  std::vector<Counter*> idle;
  std::mutex mutex;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail("{}: cannot be read", path.string());
    std::string block;
    std::size_t line_number = 0;
    while (file || !block.empty()) {
      if (interrupted()) fail("interrupted");
      const std::size_t kept = block.size();
      block.resize(kept + block_size);
      file.read(block.data() + kept, block_size);
      if (file.bad()) fail("{}: cannot be read", path.string());
      const auto got = static_cast<std::size_t>(file.gcount());
      block.resize(kept + got);
      done += got;
      // Whole lines; the rest is kept for the next block.
      const std::size_t end = file ? block.rfind('\n') + 1 : block.size();
      std::vector<std::string_view> lines;
      for (std::size_t begin = 0; begin < end;) {
        const std::size_t next = std::min(block.find('\n', begin), end - 1) + 1;
        lines.push_back(std::string_view(block).substr(begin, next - begin));
        begin = next;
      }
      if (block.size() - end > max_line)
        fail("{}, line {}: longer than {} bytes", path.string(), line_number + lines.size() + 1, max_line);
      parallel_for(lines.size(), 512, [&](std::size_t first, std::size_t last) {
        Counter* counter;
        {
          const std::lock_guard lock(mutex);
          if (idle.empty()) {
            counters.push_back(std::make_unique<Counter>(normalizer, pre_tokenizer));
            idle.push_back(counters.back().get());
          }
          counter = idle.back();
          idle.pop_back();
        }
        for (std::size_t i = first; i < last; ++i) {
          if (const auto at = find_invalid_utf8(lines[i]))
            fail("{}, line {}: invalid UTF-8 at byte {}", path.string(), line_number + i + 1, *at);
          counter->add(lines[i]);
        }
        const std::lock_guard lock(mutex);
        idle.push_back(counter);
      });
      line_number += lines.size();
      block.erase(0, end);
      progress.update(done);
    }
  }
  Counts all;
  bool byte_level = false;
  for (const auto& counter : counters) {
    byte_level = byte_level || counter->byte_level();
    for (const auto& [word, count] : counter->counts()) all[word] += count;
  }
  std::vector<WordCount> words;
  words.reserve(all.size());
  for (auto& [word, count] : all) words.push_back({byte_level ? to_byte_level(word) : word, count});
  std::sort(words.begin(), words.end(),
            [](const WordCount& a, const WordCount& b) { return a.word < b.word; });
  return words;
}

}  // namespace attend::tokenizers
