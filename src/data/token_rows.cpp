#include "data/token_rows.h"

#include "base/content_hash.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "data/documents.h"
#include "data/token_file.h"
#include "tokenizers/files/tokenizer_files.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// Text that is encoded at a time, in bytes and in texts: enough for many threads.
constexpr std::size_t kBatchBytes = std::size_t{32} << 20, kBatchTexts = std::size_t{1} << 15;
// Bytes of running text that one thread encodes at a time.
constexpr std::size_t kPiece = std::size_t{1} << 16;

std::uint64_t size_of(const std::vector<std::string>& files) {
  std::uint64_t size = 0;
  for (const std::string& file : files) size += TextFile(file).text().size();
  return size;
}

// so their content cannot be hashed first
bool are_regular(const std::vector<std::string>& files) {
  return std::ranges::all_of(files, [](const std::string& file) {
    std::error_code ignored;
    return fs::is_regular_file(file, ignored);
  });
}

// Hashes everything that determines the ids: the texts, the tokenizer and the options.
class KeyMaker {
 public:
  KeyMaker(std::string_view kind, const Tokenizer& tokenizer, const TokenizeOptions& options) {
    hash_.add_text(kind);
    hash_.add_text(options.special_tokens ? "with special tokens" : "without special tokens");
    if (options.tokenizer.empty()) fail("a cache of tokens needs the place that the tokenizer was read from");
    if (fs::is_directory(options.tokenizer)) {
      for (const std::string& name : tokenizers::tokenizer_files(options.tokenizer))
        add_file(name, options.tokenizer / name);
    } else {
      add_file("", options.tokenizer);
    }
    // Detects changes of the tokenizer in memory, or between versions of Attend.
    hash_.add_text(std::to_string(tokenizer.vocabulary_size()));
    const Encoding sample =
        tokenizer.encode("The 3 quick brown foxes aren't\n  über-LAZY, \xE4\xBD\xA0\xE5\xA5\xBD!",
                         {.special_tokens = options.special_tokens, .with_details = false});
    hash_.add(std::as_bytes(std::span(sample.ids)));
  }

  TokenFileKey of(const std::vector<std::string>& files, std::uint64_t size) {
    constexpr std::size_t piece = std::size_t{1} << 26;
    Progress progress("Looking for tokenized text", size >> 20, "MB");
    std::uint64_t done = 0;
    for (const std::string& file : files) {
      TextFile text(file);
      hash_.add_text(std::to_string(text.text().size()));
      for (std::string_view rest = text.text(); !rest.empty();
           rest.remove_prefix(std::min(piece, rest.size()))) {
        hash_.add(std::as_bytes(std::span(rest.substr(0, piece))));
        done += std::min(piece, rest.size());
        text.have_read(text.text().size() - rest.size());
        progress.update(done >> 20);
      }
    }
    return hash_.value();
  }

 private:
  void add_file(std::string_view name, const fs::path& path) {
    hash_.add_text(name);
    hash_.add_text(read_file(path));
  }

  ContentHash hash_;
};

// Encodes texts many at a time and gives them to a writer.
class Encoder {
 public:
  Encoder(const Tokenizer& tokenizer, bool special_tokens, TokenRowsWriter& writer, std::uint64_t size)
      : tokenizer_(tokenizer),
        options_{.special_tokens = special_tokens, .with_details = false},
        writer_(writer),
        progress_("Tokenizing", size >> 20, "MB") {
    if (tokenizer.truncation() || tokenizer.padding())
      fail("the tokenizer truncates or pads, which would spoil running text; reset that first");
  }

  // Adds a text, and whether it begins a group and ends a row.
  void add(std::string_view text, bool begins_group, bool ends_row) {
    bytes_ += text.size();
    texts_.emplace_back(text);
    borders_.emplace_back(begins_group, ends_row);
    if (bytes_ >= kBatchBytes || texts_.size() >= kBatchTexts) encode();
  }
  void encode() {
    if (interrupted()) fail("interrupted while the texts were tokenized");
    const std::vector<Encoding> encodings = tokenizer_.encode_batch(texts_, options_);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (borders_[i].first) writer_.begin_group();
      writer_.append(encodings[i].ids);
      if (borders_[i].second) writer_.end_row();
    }
    progress_.update((done_ += bytes_) >> 20);
    texts_.clear();
    borders_.clear();
    bytes_ = 0;
  }

 private:
  const Tokenizer& tokenizer_;
  EncodeOptions options_;
  TokenRowsWriter& writer_;
  Progress progress_;
  std::vector<std::string> texts_;
  std::vector<std::pair<bool, bool>> borders_;
  std::size_t bytes_ = 0;
  std::uint64_t done_ = 0;
};

// read from the cache if possible, written to it if the text is long
template <class Encode>
TokenRows make_rows(std::string_view kind, const Tokenizer& tokenizer, const std::vector<std::string>& files,
                    const TokenizeOptions& options, const Encode& encode) {
  const std::string name = name_of_files(files);
  const bool regular = are_regular(files);
  const std::uint64_t size = regular ? size_of(files) : 0;
  const auto run = [&](TokenRowsWriter writer) {
    {
      Encoder encoder(tokenizer, options.special_tokens, writer, size);
      encode(encoder);
      encoder.encode();
    }
    return writer.finish();
  };
  if (!regular || options.cache_directory.empty() || size <= options.max_in_memory)
    return run(TokenRowsWriter());

  const TokenFileKey key = KeyMaker(kind, tokenizer, options).of(files, size);
  const fs::path path = options.cache_directory / fmt::format("tokens-{:016x}{:016x}.bin", key[0], key[1]);
  if (auto rows = TokenFile::open(path, key)) {
    inform("{}: already tokenized, {} tokens in {}", name, rows->total(), path.string());
    return *std::move(rows);
  }
  std::error_code error;
  fs::create_directories(options.cache_directory, error);
  if (error) fail("{}: cannot make this directory: {}", options.cache_directory.string(), error.message());
  const DirectoryLock lock(options.cache_directory);
  if (file_exists(path)) warn("{}: not whole or of another version; it is made anew", path.string());
  return run(TokenRowsWriter(path, key));
}

// Passes on a file's text in parts that end with a line. Bad lines are left out.
void add_pieces(const std::string& file, BadRows& bad, Encoder& encoder) {
  TextFile whole(file);
  const std::string_view text = whole.text();
  bool begins = true;
  std::size_t lines_before = 0;
  std::string mended;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', std::min(text.size(), begin + kPiece));
    end = end == text.npos ? text.size() : end + 1;
    std::string_view piece = text.substr(begin, end - begin);
    begin = end;
    const bool valid = !find_invalid_utf8(piece);
    if (!valid) mended.clear();
    std::size_t lines = lines_before;
    for (std::string_view rest = piece; !rest.empty();) {
      const std::string_view line = rest.substr(0, std::min(rest.size(), rest.find('\n')) + 1);
      rest.remove_prefix(line.size());
      ++lines;
      bad.read([&] {
        if (valid) return;
        check_utf8(line, fmt::format("{}, line {}", file, lines));
        mended += line;
      });
    }
    lines_before = lines;
    encoder.add(valid ? piece : std::string_view(mended), std::exchange(begins, false), begin == text.size());
    whole.have_read(begin);
  }
}

}  // namespace

TokenRows tokenize_documents(const Tokenizer& tokenizer, const std::vector<std::string>& files,
                             const TokenizeOptions& options) {
  return make_rows("documents", tokenizer, files, options, [&](Encoder& encoder) {
    DocumentReader reader(files);
    while (const auto sentence = reader.next()) encoder.add(sentence->text, sentence->begins_document, true);
    reader.report();
  });
}

TokenRows tokenize_running_text(const Tokenizer& tokenizer, const std::vector<std::string>& files,
                                const TokenizeOptions& options) {
  return make_rows("running text", tokenizer, files, options, [&](Encoder& encoder) {
    BadRows bad(name_of_files(files), "text in UTF-8", "lines");
    for (const std::string& file : files) add_pieces(file, bad, encoder);
    bad.report();
  });
}

}  // namespace attend
