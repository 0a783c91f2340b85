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

// N rows of token ids, T in all, stored contiguously; consecutive rows form G groups (a document's
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
  std::int64_t group_of(std::int64_t row) const;  // takes time log G

 private:
  friend class TokenFile;  // token_file.h
  TokenRows() = default;

  std::shared_ptr<const void> owner_;  // owns the memory of the spans
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
  std::filesystem::path tokenizer;  // the directory or file of the tokenizer, for cache_directory
  std::uint64_t max_in_memory = std::uint64_t{64} << 20;  // bytes of text; a longer text is written to a file
};

// A row for every sentence and a group for every document (data/documents.h); sentences without a token are
// left out. Throws Error if no row is left.
TokenRows tokenize_documents(const Tokenizer& tokenizer, const std::vector<std::string>& files,
                             const TokenizeOptions& options = {});
// A row, which is also a group, for every file, including its line ends: ids() is the whole text. Files are
// cut at line ends into parts of about 64 kB, which are encoded in parallel. Lines that are not valid UTF-8
// are bad rows.
TokenRows tokenize_running_text(const Tokenizer& tokenizer, const std::vector<std::string>& files,
                                const TokenizeOptions& options = {});

}  // namespace attend
