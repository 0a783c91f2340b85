// A template as tokens: text, and what stands in {{ }} and {% %}.
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

// As jinja2 does with trim_blocks and lstrip_blocks; comments are gone, {% raw %} is text. Error, with the
// line, for what no token begins with. The last token is `end`.
std::vector<Token> split_template(std::string_view text);

}  // namespace attend::jinja
