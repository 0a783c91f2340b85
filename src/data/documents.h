// Running text in documents: one sentence per line, an empty line between documents. The end of a file ends a
// document.
#pragma once

#include "data/bad_rows.h"
#include "data/lines.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// The sentences of the files, one after another. Lines that are not valid UTF-8 are bad rows.
class DocumentReader {
 public:
  struct Sentence {
    std::string_view text;  // valid until the next one is read; without spaces at its ends, never empty
    bool begins_document = false;
  };

  explicit DocumentReader(std::vector<std::string> files);
  std::optional<Sentence> next();
  std::uint64_t bytes_read() const { return bytes_before_ + (lines_ ? lines_->position() : 0); }
  // Call after the last sentence: warns of bad lines (bad_rows.h).
  void report() const { bad_.report(); }

 private:
  std::vector<std::string> files_;
  BadRows bad_;
  std::size_t file_ = 0;  // index of the next file
  std::optional<TextFile> text_;
  std::optional<LineReader> lines_;
  std::uint64_t bytes_before_ = 0;  // of the files read so far
  bool begins_ = true;
};

using Document = std::vector<std::string>;  // its sentences
std::vector<Document> read_documents(const std::vector<std::string>& files);

}  // namespace attend
