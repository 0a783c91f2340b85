// Reads tokens one after another.
#pragma once

#include "base/error.h"
#include "formats/jinja/lexer.h"

#include <algorithm>
#include <initializer_list>

namespace attend::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  std::size_t line() const { return peek().line; }

  bool at(Token::Kind kind) const { return peek().kind == kind; }
  bool at_sign(std::string_view text) const { return at(Token::Kind::sign) && peek().text == text; }
  bool at_name(std::string_view text) const { return at(Token::Kind::name) && peek().text == text; }
  bool at_name_of(std::initializer_list<std::string_view> texts) const {
    for (const std::string_view text : texts)
      if (at_name(text)) return true;
    return false;
  }
  bool accept_sign(std::string_view text) { return at_sign(text) && (next(), true); }
  bool accept_name(std::string_view text) { return at_name(text) && (next(), true); }

  void expect_sign(std::string_view text) {
    if (!accept_sign(text)) wrong(fmt::format("'{}'", text));
  }
  void expect_name(std::string_view text) {
    if (!accept_name(text)) wrong(fmt::format("'{}'", text));
  }
  void expect(Token::Kind kind, std::string_view what) {
    if (!at(kind)) wrong(what);
    next();
  }
  std::string name() {
    if (!at(Token::Kind::name)) wrong("a name");
    return next().text;
  }

  [[noreturn]] void wrong(std::string_view expected) const {
    fail("line {}: expected {}, found {}", line(), expected, shown_token());
  }

 private:
  std::string shown_token() const {
    switch (peek().kind) {
      case Token::Kind::end:
        return "the template's end";
      case Token::Kind::block_end:
        return "'%}'";
      case Token::Kind::output_end:
        return "'}}'";
      case Token::Kind::string:
        return "a string";
      default:
        return "'" + peek().text + "'";
    }
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace attend::jinja
