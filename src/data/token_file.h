// Rows of tokens in a mapped file, so that they may exceed the memory.
//
// 64 bytes of header (a mark, the version, the order of bytes, the key), T ids of 32 bits filled up to 8
// bytes, N + 1 and G + 1 starts of 64 bits, T, N and G. The numbers come last because they are known last:
// ids are written as they come.
#pragma once

#include "base/file.h"
#include "data/token_rows.h"

#include <array>
#include <optional>

namespace attend {

// a hash of everything that determines the ids (base/content_hash.h)
using TokenFileKey = std::array<std::uint64_t, 2>;

// Takes rows one by one, into memory or into a file.
class TokenRowsWriter {
 public:
  TokenRowsWriter() = default;  // into memory
  // Into a file, which appears under its name when finish() returns.
  TokenRowsWriter(const std::filesystem::path& path, const TokenFileKey& key);

  void begin_group() { begins_ = true; }  // the next row begins a group; a group without rows does not count
  void append(std::span<const TokenId> ids);
  void end_row();

  TokenRows finish();

 private:
  std::optional<AtomicFile> file_;
  std::filesystem::path path_;
  TokenFileKey key_{};
  std::vector<TokenId> ids_;  // in memory
  std::int64_t total_ = 0;
  std::vector<std::int64_t> row_starts_ = {0}, group_starts_;
  bool begins_ = true;
};

// Maps the file's rows: its pages are read on first access.
class TokenFile {
 public:
  // None if the file is missing, incomplete, of another version, or has another key.
  static std::optional<TokenRows> open(const std::filesystem::path& path, const TokenFileKey& key);
};

}  // namespace attend
