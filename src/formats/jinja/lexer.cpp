#include "formats/jinja/lexer.h"

#include "base/error.h"
#include "base/python_text.h"
#include "base/utf8.h"

#include <algorithm>
#include <optional>

namespace attend::jinja {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_byte(char c) {
  return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const CodePoint c = decode_utf8(text, at);
    if (!is_space(c.value)) break;
    at += c.size;
  }
  return at;
}

// Line breaks as "\n", without one at the end.
std::string unix_lines(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    result += text[at] == '\r' ? '\n' : text[at];
    if (text.substr(at, 2) == "\r\n") ++at;
  }
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

class Lexer {
 public:
  explicit Lexer(std::string text) : text_(std::move(text)) {}

  std::vector<Token> all() {
    try {
      while (at_ < text_.size()) next_part();
    } catch (const Error& error) {
      fail("line {}: {}", line_of(at_), error.what());
    }
    add(Token::Kind::end, "", text_.size());
    return std::move(tokens_);
  }

 private:
  std::string_view rest(std::size_t from) const { return std::string_view(text_).substr(from); }
  bool begins(std::string_view with) const { return rest(at_).starts_with(with); }

  std::size_t line_of(std::size_t at) {
    line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                                 text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    counted_ = at;
    return line_;
  }

  void add(Token::Kind kind, std::string text, std::size_t at) {
    tokens_.push_back({kind, std::move(text), line_of(std::max(at, counted_))});
  }

  // Reads the text up to a tag, and the tag.
  void next_part() {
    std::size_t tag = at_;
    while (tag + 1 < text_.size() &&
           (text_[tag] != '{' || std::string_view("{%#").find(text_[tag + 1]) == std::string_view::npos))
      ++tag;
    if (tag + 1 >= text_.size()) tag = text_.size();
    std::string_view data = rest(at_).substr(0, tag - at_);
    const std::size_t data_at = at_;
    at_ = tag + 2;
    if (tag < text_.size()) data = cut_before_tag(data, text_[tag + 1] != '{');
    if (!data.empty()) add(Token::Kind::data, std::string(data), data_at);
    if (tag == text_.size()) {
      at_ = tag;
    } else if (text_[tag + 1] == '#') {
      const std::size_t end = rest(at_).find("#}");
      if (end == std::string_view::npos)
        fail("expected '#}}' at the end of a comment, found the template's end");
      at_ += end;
      end_of_block(text_[at_ - 1], end > 0);
    } else if (text_[tag + 1] == '%' && raw(tag)) {
      return;
    } else {
      inside(text_[tag + 1] == '%');
    }
  }

  // Removes white space at the end of the text before a tag; reads the tag's sign.
  std::string_view cut_before_tag(std::string_view data, bool is_block) {
    const char sign = at_ < text_.size() ? text_[at_] : ' ';
    if (sign == '-' || sign == '+') ++at_;
    if (sign == '-') return strip_end(data);
    if (sign == '+' || !is_block) return data;
    const std::size_t line = data.rfind('\n') + 1;  // npos + 1 is 0
    if ((line > 0 || line_begins_) && strip_end(data.substr(line)).empty()) return data.substr(0, line);
    return data;
  }

  // At "%}" or "#}", after its sign. trim_blocks: removes the following line break.
  void end_of_block(char sign, bool has_sign) {
    at_ += 2;
    if (has_sign && sign == '-')
      at_ = skip_space(text_, at_);
    else if (!(has_sign && sign == '+') && begins("\n"))
      ++at_;
    line_begins_ = at_ > 0 && text_[at_ - 1] == '\n';
  }

  // {% raw %} up to {% endraw %}; false: this is another block.
  bool raw(std::size_t tag) {
    std::size_t at = skip_space(text_, at_);
    if (!rest(at).starts_with("raw")) return false;
    at = skip_space(text_, at + 3);
    const bool cuts = rest(at).starts_with("-%}");
    if (!cuts && !rest(at).starts_with("%}")) return false;
    at_ = cuts ? skip_space(text_, at + 3) : at + 2;
    for (std::size_t end = at_; (end = text_.find("{%", end)) != text_.npos; end += 2) {
      std::size_t after = end + 2;
      const bool signed_begin = after < text_.size() && (text_[after] == '-' || text_[after] == '+');
      after = skip_space(text_, after + (signed_begin ? 1 : 0));
      if (!rest(after).starts_with("endraw")) continue;
      after = skip_space(text_, after + 6);
      const bool sign = after < text_.size() && (text_[after] == '-' || text_[after] == '+');
      if (!rest(after + (sign ? 1 : 0)).starts_with("%}")) continue;
      const std::size_t begin = at_;
      line_begins_ = begin > 0 && text_[begin - 1] == '\n';
      at_ = end + 2;
      const std::string_view data = cut_before_tag(rest(begin).substr(0, end - begin), true);
      if (!data.empty()) add(Token::Kind::data, std::string(data), begin);
      at_ = after + (sign ? 1 : 0);
      end_of_block(text_[after], sign);
      return true;
    }
    at_ = tag;
    fail("expected {{% endraw %}}, found the template's end");
  }

  void inside(bool is_block) {
    add(is_block ? Token::Kind::block_begin : Token::Kind::output_begin, "", at_);
    const std::string_view closing = is_block ? "%}" : "}}";
    std::string open;  // open brackets
    for (;;) {
      at_ = skip_space(text_, at_);
      if (at_ == text_.size()) fail("expected '{}', found the template's end", closing);
      const char c = text_[at_];
      const bool sign = c == '-' || (is_block && c == '+');
      if (open.empty() && rest(at_ + (sign ? 1 : 0)).starts_with(closing)) break;
      token(open);
    }
    const char sign = text_[at_];
    const bool has_sign = sign == '-' || sign == '+';
    add(is_block ? Token::Kind::block_end : Token::Kind::output_end, "", at_);
    if (has_sign) ++at_;
    if (is_block) return end_of_block(sign, has_sign);
    at_ += 2;
    if (has_sign) at_ = skip_space(text_, at_);
    line_begins_ = has_sign && text_[at_ - 1] == '\n';
  }

  void token(std::string& open) {
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (c == '\'' || c == '"') {
      std::string value = string_token();
      add(Token::Kind::string, std::move(value), begin);
    } else if (is_digit(c)) {
      number_token();
    } else if (is_name_byte(c)) {
      while (at_ < text_.size() && is_name_byte(text_[at_])) ++at_;
      add(Token::Kind::name, text_.substr(begin, at_ - begin), begin);
    } else {
      sign_token(open);
    }
  }

  void digits_of_base(const std::string& prefix) {
    const std::size_t begin = at_;
    const std::string_view known = prefix == "0x"   ? "0123456789abcdefABCDEF"
                                   : prefix == "0o" ? "01234567"
                                                    : "01";
    std::string text = prefix;
    for (at_ += 2; at_ < text_.size() && (text_[at_] == '_' || known.find(text_[at_]) != known.npos); ++at_)
      if (text_[at_] != '_') text += text_[at_];
    if (text == prefix) fail("expected digits after '{}'", prefix);
    add(Token::Kind::integer, std::move(text), begin);
  }

  void number_token() {
    const std::size_t begin = at_;
    const auto digits = [&] {
      while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '_')) ++at_;
    };
    const std::string prefix = ascii_lowercase(std::string(rest(at_).substr(0, 2)));
    if (prefix == "0x" || prefix == "0o" || prefix == "0b") return digits_of_base(prefix);
    digits();
    bool real = false;
    const auto digit_at = [&](std::size_t at) { return at < text_.size() && is_digit(text_[at]); };
    if (begins(".") && digit_at(at_ + 1)) {
      real = true;
      ++at_;
      digits();
    }
    if (begins("e") || begins("E")) {
      const std::size_t sign =
          at_ + 1 < text_.size() && (text_[at_ + 1] == '+' || text_[at_ + 1] == '-') ? 1 : 0;
      if (digit_at(at_ + 1 + sign)) {
        real = true;
        at_ += 1 + sign;
        digits();
      }
    }
    std::string text = text_.substr(begin, at_ - begin);
    std::erase(text, '_');
    add(real ? Token::Kind::real : Token::Kind::integer, std::move(text), begin);
  }

  void sign_token(std::string& open) {
    const std::string_view pair = rest(at_).substr(0, 2);
    const bool two =
        pair == "==" || pair == "!=" || pair == "<=" || pair == ">=" || pair == "//" || pair == "**";
    const char c = text_[at_];
    if (!two && std::string_view("+-~*/%.|()[]{}:<>=,;").find(c) == std::string_view::npos)
      fail("expected an expression, found '{}'", c);
    if (const auto kind = std::string_view("([{").find(c); kind != std::string_view::npos)
      open += ")]}"[kind];
    else if (std::string_view(")]}").find(c) != std::string_view::npos) {
      if (!open.ends_with(c))
        fail("expected {}, found '{}'", open.empty() ? "no bracket" : open.substr(open.size() - 1), c);
      open.pop_back();
    }
    add(Token::Kind::sign, std::string(rest(at_).substr(0, two ? 2 : 1)), at_);
    at_ += two ? 2 : 1;
  }

  // Python's escapes; unknown ones stay as they are.
  std::string string_token() {
    const char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] != '\\')
        value += text_[at_++];
      else
        escape(value);
    }
    if (at_ >= text_.size()) fail("expected {} at the end of a string, found the template's end", quote);
    ++at_;
    return value;
  }

  void escape(std::string& value) {
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
    at_ += 2;
    if (const auto known = std::string_view("ntrabfv\\'\"\n").find(c); known != std::string_view::npos) {
      if (c != '\n') value += "\n\t\r\a\b\f\v\\'\""[known];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      append_code(value, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
    } else if (c >= '0' && c <= '7') {
      --at_;
      std::size_t count = 0;
      while (count < 3 && at_ + count < text_.size() && text_[at_ + count] >= '0' &&
             text_[at_ + count] <= '7')
        ++count;
      append_code(value, count, 8);
    } else {
      (value += '\\') += c;
    }
  }

  void append_code(std::string& value, std::size_t count, unsigned base) {
    char32_t code = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const char c = at_ < text_.size() ? text_[at_] : ' ';
      const auto digit =
          std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
      if (digit >= base) fail("expected {} digits in an escape of a string, found '{}'", count, c);
      code = code * base + static_cast<char32_t>(digit);
      ++at_;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail("an escape in a string is not a character");
    append_utf8(value, code);
  }

  const std::string text_;
  std::size_t at_ = 0, line_ = 1, counted_ = 0;
  bool line_begins_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> split_template(std::string_view text) {
  return Lexer(unix_lines(text)).all();
}

}  // namespace attend::jinja
