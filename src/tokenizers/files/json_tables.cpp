#include "tokenizers/files/json_tables.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text_lines.h"
#include "base/utf8.h"

#include <algorithm>
#include <charconv>

namespace attend::tokenizers {
namespace {

// Scans JSON text. Reads strings, numbers, and the structure around the tables; any other value is skipped
// and passed to the general parser, which checks it.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  [[noreturn]] void wrong(std::string_view expected) const {
    const std::string_view before = text_.substr(0, at_);
    const std::size_t line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    fail("{}: expected {} in line {} (byte {})", source_, expected, line, at_);
  }

  // The next character that is not white space; '\0' at the end.
  char peek() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool skip(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!skip(c)) wrong(fmt::format("'{}'", c));
  }

  // The items of { } or [ ]: visit() reads one item.
  template <class Visit>
  void items(char open, char close, Visit visit) {
    expect(open);
    if (skip(close)) return;
    do visit();
    while (skip(','));
    expect(close);
  }

  // Valid until the next call.
  std::string_view string() {
    if (peek() != '"') wrong("a string");
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') check_control(text_[at_++]);
    if (at_ < text_.size() && text_[at_] == '"') return text_.substr(begin, at_++ - begin);
    buffer_.assign(text_.substr(begin, at_ - begin));
    while (true) {
      if (at_ >= text_.size()) wrong("the end of a string");
      const char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        escape();
      } else {
        check_control(c);
        buffer_ += c;
        ++at_;
      }
    }
    ++at_;
    return buffer_;
  }

  template <class Number>
  Number number(std::string_view expected) {
    peek();
    Number value{};
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) wrong(expected);
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && std::string_view(",]} \n\r\t").find(text_[at_]) == std::string_view::npos)
      wrong(expected);
    return value;
  }

  // The text of one value of any kind.
  std::string_view value() {
    peek();
    const std::size_t begin = at_;
    std::size_t depth = 0;
    do {
      const char c = peek();
      if (c == '\0') wrong("a value");
      if (c == '"') {
        string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') {
        if (depth == 0) wrong("a value");
        --depth;
      }
      ++at_;
      if (depth == 0 && c != '}' && c != ']')
        while (at_ < text_.size() &&
               std::string_view(",]} \n\r\t").find(text_[at_]) == std::string_view::npos)
          ++at_;
    } while (depth > 0);
    return text_.substr(begin, at_ - begin);
  }

  std::size_t place() const { return at_; }
  void go_to(std::size_t place) { at_ = place; }
  std::size_t rest() const { return text_.size() - at_; }  // remaining bytes
  bool at_end() { return peek() == '\0' && at_ == text_.size(); }

 private:
  void check_control(char c) const {
    if (static_cast<unsigned char>(c) < 0x20) wrong("no control character in a string");
  }

  char32_t four_digits() {
    unsigned value = 0;
    if (at_ + 4 > text_.size()) wrong("four hexadecimal digits");
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, value, 16);
    if (error != std::errc() || end != text_.data() + at_ + 4) wrong("four hexadecimal digits");
    at_ += 4;
    return value;
  }

  void escape() {
    ++at_;
    static constexpr std::string_view names = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (const std::size_t i = names.find(c); c != '\0' && i != names.npos) {
      buffer_ += values[i];
      ++at_;
      return;
    }
    if (c != 'u') wrong("an escape sequence");
    ++at_;
    char32_t code_point = four_digits();
    if (code_point >= 0xD800 && code_point < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const char32_t low = four_digits();
      if (low < 0xDC00 || low > 0xDFFF) wrong("the second half of a surrogate pair");
      code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
    } else if (code_point >= 0xD800 && code_point <= 0xDFFF) {
      wrong("a whole surrogate pair");
    }
    append_utf8(buffer_, code_point);
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  std::string buffer_;
};

// Texts that are looked up together (Vocabulary::find).
class Lookups {
 public:
  bool is_full() const { return ends_.size() >= 256; }
  void add(std::string_view text) {
    texts_ += text;
    ends_.push_back(texts_.size());
  }
  // Valid until a text is added.
  const std::vector<std::string_view>& views() {
    views_.clear();
    for (std::size_t begin = 0; const std::size_t end : ends_) {
      views_.push_back(std::string_view(texts_).substr(begin, end - begin));
      begin = end;
    }
    return views_;
  }
  void clear() {
    texts_.clear();
    ends_.clear();
  }

 private:
  std::string texts_;
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> views_;
};

void read_vocabulary(Scanner& scanner, ModelTables& tables, const std::string& source) {
  tables.has_vocabulary = true;
  const bool has_scores = scanner.peek() == '[';
  tables.vocabulary.reserve(scanner.rest() / 64);  // a token with its id, and usually a merge
  // A list has a token for each index; if an object has several members with one name, the last counts.
  const auto earlier = has_scores ? Vocabulary::Earlier::kept : Vocabulary::Earlier::forgotten;
  Lookups lookups;
  std::vector<std::int64_t> ids;
  const auto flush = [&] {
    const std::vector<std::string_view>& views = lookups.views();
    for (const std::string_view token : views) tables.vocabulary.prefetch(token);
    for (std::size_t i = 0; const std::string_view token : views)
      tables.vocabulary.add(token, ids[i++], source, earlier);
    lookups.clear();
    ids.clear();
  };
  const auto read_token = [&] {
    if (lookups.is_full()) flush();
    lookups.add(scanner.string());
  };
  if (has_scores)
    scanner.items('[', ']', [&] {
      scanner.expect('[');
      read_token();
      scanner.expect(',');
      ids.push_back(static_cast<std::int64_t>(tables.scores.size()));
      tables.scores.push_back(scanner.number<double>("a score"));
      scanner.expect(']');
    });
  else
    scanner.items('{', '}', [&] {
      read_token();
      scanner.expect(':');
      ids.push_back(scanner.number<std::int64_t>("an id"));
    });
  flush();
}

// Each is ["left", "right"] or, in older files, "left right".
void read_merges(Scanner& scanner, ModelTables& tables, const std::string& source) {
  tables.has_merges = true;
  Lookups lookups;
  std::size_t count = 0;
  const auto flush = [&] {
    tables.add_merges(lookups.views(), source);
    lookups.clear();
  };
  scanner.items('[', ']', [&] {
    if (lookups.is_full()) flush();
    if (scanner.peek() == '[') {
      scanner.expect('[');
      lookups.add(scanner.string());
      scanner.expect(',');
      lookups.add(scanner.string());
      scanner.expect(']');
    } else {
      const std::string_view line = scanner.string();
      if (line.starts_with("#version")) return;
      const std::size_t space = line.find(' ');
      if (space == line.npos || line.find(' ', space + 1) != line.npos)
        fail("{}: merges[{}] is '{}', expected two tokens and a space between them", source, count, line);
      lookups.add(line.substr(0, space));
      lookups.add(line.substr(space + 1));
    }
    ++count;
  });
  flush();
}

// The text of a file that must be UTF-8, without a byte order mark.
std::string_view checked(std::string_view text, const std::string& source) {
  text = without_byte_order_mark(text, source);
  if (const auto at = find_invalid_utf8(text)) fail("{}: invalid UTF-8 at byte {}", source, *at);
  return text;
}

}  // namespace

ModelTables read_vocab_json(const std::filesystem::path& path) {
  const std::string text = read_file(path), source = path.string();
  Scanner scanner(checked(text, source), source);
  if (scanner.peek() != '{') scanner.wrong("'{'");
  ModelTables tables;
  read_vocabulary(scanner, tables, source);
  if (!scanner.at_end()) scanner.wrong("the end of the file");
  return tables;
}

TokenizerJson read_tokenizer_json(std::string_view text, const std::string& source) {
  TokenizerJson result;
  Scanner scanner(checked(text, source), source);
  std::string fields = "{", model;
  std::size_t merges = 0;  // where they begin; 0: none
  const auto add = [](std::string& object, const std::string& name, std::string_view value) {
    if (object.size() > 1) object += ',';
    object += Json(name).dump();
    object += ':';
    object += value;
  };
  const std::string model_source = source + ": model";
  scanner.items('{', '}', [&] {
    const std::string name(scanner.string());
    scanner.expect(':');
    if (name != "model" || scanner.peek() != '{') {
      add(fields, name, scanner.value());
      return;
    }
    if (!model.empty()) fail("{}: the field model appears twice", source);
    model = "{";
    scanner.items('{', '}', [&] {
      const std::string field(scanner.string());
      scanner.expect(':');
      const char next = scanner.peek();
      if (field == "vocab" && (next == '{' || next == '[')) {
        if (result.tables.has_vocabulary) fail("{}: the field vocab appears twice", model_source);
        read_vocabulary(scanner, result.tables, model_source);
      } else if (field == "merges" && next == '[') {
        merges = scanner.place();
        if (result.tables.has_vocabulary)
          read_merges(scanner, result.tables, model_source);
        else
          scanner.value();  // read after the vocabulary
      } else
        add(model, field, scanner.value());
    });
    model += '}';
    if (merges == 0 || result.tables.has_merges || !result.tables.has_vocabulary) return;
    const std::size_t end = scanner.place();
    scanner.go_to(merges);
    read_merges(scanner, result.tables, model_source);
    scanner.go_to(end);
  });
  if (!scanner.at_end()) scanner.wrong("the end of the file");
  if (!model.empty()) add(fields, "model", model);
  result.fields = parse_json(fields + '}', source);
  return result;
}

}  // namespace attend::tokenizers
