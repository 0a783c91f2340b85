// Which languages a text is in, by CLD2 (optional when Attend is built).
#pragma once

#include <set>
#include <string>
#include <vector>

namespace attend::serve {

struct DetectedLanguage {
  std::string code;  // "en", "zh-Hant"
  double percent;    // of the text
};

// Whether this build can detect languages.
bool detects_languages();
// At most three, those of most of the text first; none if the text is too short or in no known language.
// `likely`: codes of languages that are chosen in case of doubt. An Error in a build that cannot.
std::vector<DetectedLanguage> detect_languages(const std::string& text, const std::set<std::string>& likely);

}  // namespace attend::serve
