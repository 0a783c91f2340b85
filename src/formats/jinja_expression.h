// Expressions of Jinja: message['role'] == 'user' and not loop.last.
#pragma once

#include "formats/json.h"

#include <string>
#include <string_view>
#include <vector>

namespace attend::jinja {

struct Token {
  enum class Kind { name, string, integer, sign, end } kind = Kind::end;
  std::string text;
};

// The tokens of an expression or a statement; Error with what cannot be read.
std::vector<Token> split_tokens(std::string_view text);

// The value of tokens[at], ... up to the end. `variables` is an object; what is not in it is null, as none
// is.
Json evaluate(const std::vector<Token>& tokens, std::size_t at, const Json& variables);

bool is_true(const Json& value);
// As {{ value }} writes it.
std::string written(const Json& value);

}  // namespace attend::jinja
