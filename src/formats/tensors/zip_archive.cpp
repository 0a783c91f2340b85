#include "formats/tensors/zip_archive.h"

#include "base/error.h"

#include <cstdint>
#include <cstring>

namespace attend {
namespace {

constexpr std::uint32_t kEntry = 0x04034b50, kDirectoryEntry = 0x02014b50, kEnd = 0x06054b50,
                        kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr std::uint32_t kIn64 = 0xffffffff;  // "the number is in the 64-bit field"

class Archive {
 public:
  Archive(std::span<const std::byte> file, std::string_view source) : file_(file), source_(source) {}

  ZipEntries read() {
    auto [at, count] = find_directory();
    ZipEntries entries;
    for (std::uint64_t i = 0; i < count; ++i) at = read_entry(at, entries);
    return entries;
  }

 private:
  [[noreturn]] void damaged() const { fail("{}: the archive is damaged", source_); }

  std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) const {
    if (at > file_.size() || size > file_.size() - at) damaged();
    return file_.subspan(at, size);
  }
  template <class Number>
  Number number(std::uint64_t at) const {
    Number value;
    std::memcpy(&value, part(at, sizeof value).data(), sizeof value);
    return value;
  }
  bool is(std::uint64_t at, std::uint32_t signature) const {
    return at <= file_.size() && file_.size() - at >= 4 && number<std::uint32_t>(at) == signature;
  }

  struct Directory {
    std::uint64_t at, count;
  };
  // From the record at the end of the file, after which a comment of up to 64 KB may follow.
  Directory find_directory() const {
    constexpr std::uint64_t size = 22, max_comment = 0xffff;
    if (file_.size() < size) damaged();
    const std::uint64_t last = file_.size() - size;
    for (std::uint64_t at = last + 1; at-- > 0 && last - at <= max_comment;) {
      if (!is(at, kEnd)) continue;
      if (at < 20 || !is(at - 20, kEnd64Locator))
        return {number<std::uint32_t>(at + 16), number<std::uint16_t>(at + 10)};
      const auto end64 = number<std::uint64_t>(at - 12);
      if (!is(end64, kEnd64)) damaged();
      return {number<std::uint64_t>(end64 + 48), number<std::uint64_t>(end64 + 32)};
    }
    damaged();
  }

  // Adds the entry whose directory record is at `at`; returns the position of the next record.
  std::uint64_t read_entry(std::uint64_t at, ZipEntries& entries) const {
    if (!is(at, kDirectoryEntry)) damaged();
    const auto flags = number<std::uint16_t>(at + 8), method = number<std::uint16_t>(at + 10);
    std::uint64_t stored = number<std::uint32_t>(at + 20), size = number<std::uint32_t>(at + 24),
                  local = number<std::uint32_t>(at + 42);
    const std::uint64_t name_size = number<std::uint16_t>(at + 28), extra = number<std::uint16_t>(at + 30),
                        comment = number<std::uint16_t>(at + 32), name_at = at + 46;
    const auto name_bytes = part(name_at, name_size);
    std::string name(reinterpret_cast<const char*>(name_bytes.data()), name_bytes.size());
    std::uint64_t field = name_at + name_size;
    const std::uint64_t fields_end = field + extra;
    while (field + 4 <= fields_end) {
      const auto id = number<std::uint16_t>(field), length = number<std::uint16_t>(field + 2);
      std::uint64_t value = field + 4;
      if (id == 1)  // the 64-bit numbers, in this order, of the fields that did not fit
        for (std::uint64_t* wanted : {&size, &stored, &local})
          if (*wanted == kIn64) {
            *wanted = number<std::uint64_t>(value);
            value += 8;
          }
      field += 4 + std::uint64_t{length};
    }
    if ((flags & 1) != 0 || method != 0 || stored != size)
      fail("{}: {} is compressed or encrypted, which torch.save never does", source_, name);
    if (!is(local, kEntry)) damaged();
    const std::uint64_t data =
        local + 30 + number<std::uint16_t>(local + 26) + number<std::uint16_t>(local + 28);
    if (!entries.emplace(std::move(name), part(data, size)).second) damaged();
    return fields_end + comment;
  }

  std::span<const std::byte> file_;
  std::string_view source_;
};

}  // namespace

bool is_zip_archive(std::span<const std::byte> file) {
  return file.size() >= 4 && std::memcmp(file.data(), "PK\3\4", 4) == 0;
}

ZipEntries read_zip_archive(std::span<const std::byte> file, std::string_view source) {
  return Archive(file, source).read();
}

}  // namespace attend
