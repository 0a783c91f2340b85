#include "serve/models/language_detection.h"

#include "base/error.h"

#include <fmt/ranges.h>

#ifdef ATTEND_DETECTS_LANGUAGES
#include <cstdio>  // first: CLD2's header needs it

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#endif

namespace attend::serve {

#ifdef ATTEND_DETECTS_LANGUAGES

bool detects_languages() {
  return true;
}

std::vector<DetectedLanguage> detect_languages(const std::string& text, const std::set<std::string>& likely) {
  constexpr int kBestEffort = 0x4000;  // an answer for short texts too (kCLDFlagBestEffort)
  const std::string hint = fmt::format("{}", fmt::join(likely, ","));
  const CLD2::CLDHints hints = {hint.c_str(), nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
  CLD2::Language languages[3];
  int percents[3], bytes = 0, valid = 0;
  double scores[3];
  bool reliable = false;
  CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), /*is_plain_text=*/true,
                                          &hints, kBestEffort, languages, percents, scores,
                                          /*resultchunkvector=*/nullptr, &bytes, &reliable, &valid);
  std::vector<DetectedLanguage> found;
  for (int i = 0; i < 3; ++i)
    if (languages[i] != CLD2::UNKNOWN_LANGUAGE && percents[i] > 0)
      found.push_back({CLD2::LanguageCode(languages[i]), static_cast<double>(percents[i])});
  return found;
}

#else

bool detects_languages() {
  return false;
}

std::vector<DetectedLanguage> detect_languages(const std::string&, const std::set<std::string>&) {
  fail("this build of Attend does not detect languages: it was made without CLD2 (libcld2-dev)");
}

#endif

}  // namespace attend::serve
