#include "data/documents.h"

namespace attend {

DocumentReader::DocumentReader(std::vector<std::string> files)
    : files_(std::move(files)), bad_(name_of_files(files_), "a sentence a line, in UTF-8", "lines") {}

std::optional<DocumentReader::Sentence> DocumentReader::next() {
  for (;;) {
    const auto line = lines_ ? lines_->next() : std::nullopt;
    if (!line) {
      if (file_ == files_.size()) return {};
      bytes_before_ = bytes_read();
      text_.emplace(files_[file_]);
      lines_.emplace(text_->text(), files_[file_++]);
      begins_ = true;
      continue;
    }
    text_->have_read(lines_->position());
    const std::string_view sentence = trimmed(*line);
    if (sentence.empty()) {
      begins_ = true;
      continue;
    }
    bool good = false;
    bad_.read([&] {
      check_utf8(sentence, lines_->place());
      good = true;
    });
    if (good) return Sentence{sentence, std::exchange(begins_, false)};
  }
}

std::vector<Document> read_documents(const std::vector<std::string>& files) {
  std::vector<Document> documents;
  DocumentReader reader(files);
  while (const auto sentence = reader.next()) {
    if (sentence->begins_document) documents.emplace_back();
    documents.back().emplace_back(sentence->text);
  }
  reader.report();
  return documents;
}

}  // namespace attend
