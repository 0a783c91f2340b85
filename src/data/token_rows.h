// Tokenized text that may be larger than memory: rows of ids, in memory or in a mapped file.
#pragma once

#include <attend/tokenizer.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attend {

// N rows of token ids, T in all, that lie end to end; rows follow each other in G groups (a document's
// sentences). Copies share the ids. All functions may be called by several threads.
class TokenRows {
 public:
  // In memory. `row_starts` [N + 1] and `group_starts` [G + 1] begin with 0, ascend and end with T and N.
  TokenRows(std::vector<TokenId> ids, std::vector<std::int64_t> row_starts,
            std::vector<std::int64_t> group_starts);

  std::int64_t count() const { return static_cast<std::int64_t>(row_starts_.size()) - 1; }  // N
  std::int64_t total() const { return static_cast<std::int64_t>(ids_.size()); }             // T
  std::span<const TokenId> operator[](std::int64_t row) const {
    return ids_.subspan(static_cast<std::size_t>(row_starts_[static_cast<std::size_t>(row)]),
                        static_cast<std::size_t>(length(row)));
  }
  std::int64_t length(std::int64_t row) const {
    return row_starts_[static_cast<std::size_t>(row) + 1] - row_starts_[static_cast<std::size_t>(row)];
  }
  std::span<const TokenId> ids() const { return ids_; }  // of all rows

  std::int64_t groups() const { return static_cast<std::int64_t>(group_starts_.size()) - 1; }  // G
  // The first row of a group; for G the number of rows.
  std::int64_t first_of_group(std::int64_t group) const {
    return group_starts_[static_cast<std::size_t>(group)];
  }
  std::int64_t group_of(std::int64_t row) const;  // log G

 private:
  friend class TokenFile;  // token_file.h
  TokenRows() = default;

  std::shared_ptr<const void> owner_;  // of the memory that the spans show
  std::span<const TokenId> ids_;
  std::span<const std::int64_t> row_starts_, group_starts_;
};

// Error if the tokenizer truncates or pads; reset that before.
struct TokenizeOptions {
  bool special_tokens = false;
  // The cache folder for ids of long texts, in a file named by a hash of the text files, the tokenizer and
  // these options. Empty: no cache, everything is in memory. The folder is for this purpose only: it is
  // locked while a file is written.
  std::filesystem::path cache_directory;
  std::filesystem::path tokenizer;  // the directory or file it was read from, for cache_directory
  std::uint64_t max_in_memory = std::uint64_t{64} << 20;  // bytes of text up to which no file is made
};

// A row for every sentence and a group for every document (data/documents.h); sentences without a token are
// left out. Error if no row is left.
TokenRows tokenize_documents(const Tokenizer& tokenizer, const std::vector<std::string>& files,
                             const TokenizeOptions& options = {});
// A row, which is a group too, for every file, with its line ends: ids() is all of the text. Files are cut at
// line ends into pieces of some 64 kB that are encoded side by side. Lines that are not valid UTF-8 are bad
// rows.
TokenRows tokenize_running_text(const Tokenizer& tokenizer, const std::vector<std::string>& files,
                                const TokenizeOptions& options = {});

}  // namespace attend
