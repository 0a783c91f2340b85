// Splits a template into tokens: text, and the contents of {{ }} and {% %}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend::jinja {

struct Token {
  enum class Kind {
    data,
    block_begin,
    block_end,
    output_begin,
    output_end,
    name,
    string,
    integer,
    real,
    sign,
    end
  };
  Kind kind = Kind::end;
  std::string text;
  std::size_t line = 1;
};

// As in jinja2 with trim_blocks and lstrip_blocks. Comments are removed, {% raw %} is text. An Error, with
// the line, if no token matches. The last token is `end`.
std::vector<Token> split_template(std::string_view text);

}  // namespace attend::jinja
