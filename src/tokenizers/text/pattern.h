// What Split and Replace search for: a fixed text, or a regular expression in Oniguruma's syntax.
#pragma once

#include <attend/tokenizer.h>

#include "formats/json/json.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

class Pattern {
 public:
  // {"String": "..."} or {"Regex": "..."}; `source` names the field in errors.
  static Pattern from_json(const Json& json, const std::string& source);
  static Pattern text(std::string text);
  static Pattern regex(const std::string& expression, const std::string& source);

  // All matches from left to right without overlaps, as bytes of `text`; clears `matches` first.
  void find_all(std::string_view text, std::vector<TextSpan>& matches) const;

 private:
  std::string text_;
  std::shared_ptr<const void> regex_;  // Oniguruma's; null if text_ is searched for
};

}  // namespace attend::tokenizers
