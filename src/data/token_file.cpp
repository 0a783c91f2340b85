#include "data/token_file.h"

#include "base/error.h"

#include <algorithm>
#include <cstring>

namespace attend {
namespace {

constexpr std::uint32_t kVersion = 1;

struct Header {
  char mark[16] = "attend-token-id";
  std::uint32_t version = kVersion, byte_order = 0x01020304;
  TokenFileKey key{};
  std::uint64_t unused[3] = {};
};
static_assert(sizeof(Header) == 64);

struct Counts {
  std::int64_t tokens = 0, rows = 0, groups = 0;
};

std::size_t filled_up(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

bool are_starts(std::span<const std::int64_t> starts, std::int64_t end) {
  return !starts.empty() && starts.front() == 0 && starts.back() == end && std::ranges::is_sorted(starts);
}

}  // namespace

TokenRows::TokenRows(std::vector<TokenId> ids, std::vector<std::int64_t> row_starts,
                     std::vector<std::int64_t> group_starts) {
  struct Owned {
    std::vector<TokenId> ids;
    std::vector<std::int64_t> row_starts, group_starts;
  };
  if (!are_starts(row_starts, static_cast<std::int64_t>(ids.size())) ||
      !are_starts(group_starts, static_cast<std::int64_t>(row_starts.size()) - 1))
    fail("expected starts of rows and groups that ascend from 0 to the numbers of tokens and rows");
  const auto owned =
      std::make_shared<const Owned>(Owned{std::move(ids), std::move(row_starts), std::move(group_starts)});
  ids_ = owned->ids;
  row_starts_ = owned->row_starts;
  group_starts_ = owned->group_starts;
  owner_ = owned;
}

std::int64_t TokenRows::group_of(std::int64_t row) const {
  return std::ranges::upper_bound(group_starts_, row) - group_starts_.begin() - 1;
}

TokenRowsWriter::TokenRowsWriter(const std::filesystem::path& path, const TokenFileKey& key)
    : file_(std::in_place, path), path_(path), key_(key) {
  Header header;
  header.key = key;
  file_->write(bytes_of(header));
}

void TokenRowsWriter::append(std::span<const TokenId> ids) {
  total_ += static_cast<std::int64_t>(ids.size());
  if (file_)
    file_->write(std::as_bytes(ids));
  else
    ids_.insert(ids_.end(), ids.begin(), ids.end());
}

void TokenRowsWriter::end_row() {
  if (total_ == row_starts_.back()) return;  // no row without tokens
  if (std::exchange(begins_, false))
    group_starts_.push_back(static_cast<std::int64_t>(row_starts_.size()) - 1);
  row_starts_.push_back(total_);
}

TokenRows TokenRowsWriter::finish() {
  const Counts counts{total_, static_cast<std::int64_t>(row_starts_.size()) - 1,
                      static_cast<std::int64_t>(group_starts_.size())};
  if (counts.rows == 0) fail("no token is left of the texts");
  group_starts_.push_back(counts.rows);
  if (!file_) return TokenRows(std::move(ids_), std::move(row_starts_), std::move(group_starts_));

  const std::size_t ids = static_cast<std::size_t>(total_) * sizeof(TokenId);
  const std::array<std::byte, 8> zeros{};
  file_->write(std::span(zeros).first(filled_up(ids) - ids));
  file_->write(std::as_bytes(std::span(row_starts_)));
  file_->write(std::as_bytes(std::span(group_starts_)));
  file_->write(bytes_of(counts));
  file_->commit();
  auto rows = TokenFile::open(path_, key_);
  if (!rows) fail("{}: written, but another program has changed it since", path_.string());
  return *std::move(rows);
}

std::optional<TokenRows> TokenFile::open(const std::filesystem::path& path, const TokenFileKey& key) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  const auto file = std::make_shared<const MappedFile>(path);
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.size() < sizeof(Header) + sizeof(Counts)) return {};

  Header expected, header;
  expected.key = key;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(&header, &expected, sizeof header) != 0) return {};
  Counts counts;
  std::memcpy(&counts, bytes.data() + bytes.size() - sizeof counts, sizeof counts);
  const auto max = static_cast<std::int64_t>(bytes.size());  // every count is smaller
  for (const std::int64_t count : {counts.tokens, counts.rows, counts.groups})
    if (count < 1 || count > max) return {};
  const auto tokens = static_cast<std::size_t>(counts.tokens), rows = static_cast<std::size_t>(counts.rows),
             groups = static_cast<std::size_t>(counts.groups);
  const std::size_t ids = filled_up(tokens * sizeof(TokenId));
  if (bytes.size() != sizeof header + ids + (rows + 1 + groups + 1) * sizeof(std::int64_t) + sizeof counts)
    return {};

  TokenRows result;
  const std::byte* at = bytes.data() + sizeof header;
  result.ids_ = {reinterpret_cast<const TokenId*>(at), tokens};
  const auto* starts = reinterpret_cast<const std::int64_t*>(at + ids);
  result.row_starts_ = {starts, rows + 1};
  result.group_starts_ = {starts + rows + 1, groups + 1};
  result.owner_ = file;
  if (!are_starts(result.row_starts_, counts.tokens) || !are_starts(result.group_starts_, counts.rows))
    return {};
  return result;
}

}  // namespace attend
