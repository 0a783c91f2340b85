#include "tokenizers/clean_up.h"

#include <utility>

namespace attend::tokenizers {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void clean_up(std::string& text, bool contract_do_not) {
  static constexpr std::pair<const char*, const char*> before[] = {
      {" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}};
  static constexpr std::pair<const char*, const char*> behind[] = {
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : before) replace_all(text, from, to);
  if (contract_do_not) replace_all(text, " do not", " don't");
  for (const auto& [from, to] : behind) replace_all(text, from, to);
}

}  // namespace attend::tokenizers
