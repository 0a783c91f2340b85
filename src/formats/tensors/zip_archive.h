// Reads the entries of a ZIP archive with uncompressed data, as torch.save writes them (PKWARE APPNOTE.TXT,
// sections 4.3 and 4.5.3).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace attend {

using ZipEntries = std::map<std::string, std::span<const std::byte>, std::less<>>;

// Whether the file begins like an archive.
bool is_zip_archive(std::span<const std::byte> file);

// All entries by name; the spans are parts of `file`. An Error, with `source`, for a damaged archive and for
// a compressed or encrypted entry.
ZipEntries read_zip_archive(std::span<const std::byte> file, std::string_view source);

}  // namespace attend
