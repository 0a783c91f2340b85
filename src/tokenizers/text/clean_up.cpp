#include "tokenizers/text/clean_up.h"

#include "base/utf8.h"

#include <utility>

namespace attend::tokenizers {

void clean_up(std::string& text, bool contract_do_not) {
  static constexpr std::pair<const char*, const char*> before[] = {
      {" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}};
  static constexpr std::pair<const char*, const char*> after[] = {
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : before) replace_all(text, from, to);
  if (contract_do_not) replace_all(text, " do not", " don't");
  for (const auto& [from, to] : after) replace_all(text, from, to);
}

}  // namespace attend::tokenizers
