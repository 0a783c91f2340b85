#include "serve/models/language_detection.h"

#include "base/error.h"
#include "base/utf8.h"

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

namespace {

// CLD2 reads no text with other characters, which become spaces.
bool is_readable(char32_t c) {
  const bool is_space = c == '\t' || c == '\n' || c == '\r';
  const bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  const bool is_no_character = (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe;
  return is_space || (!is_control && !is_no_character);
}

std::string readable(const std::string& text) {
  std::string result;
  for (const char32_t c : decode_utf8(text)) append_utf8(result, is_readable(c) ? c : U' ');
  return result;
}

}  // namespace

std::vector<DetectedLanguage> detect_languages(const std::string& given,
                                               const std::set<std::string>& likely) {
  constexpr int kBestEffort = 0x4000;  // an answer for short texts too (kCLDFlagBestEffort)
  const std::string text = readable(given);
  const std::string hint = fmt::format("{}", fmt::join(likely, ","));
  const CLD2::CLDHints hints = {hint.c_str(), nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
  CLD2::Language languages[3] = {CLD2::UNKNOWN_LANGUAGE, CLD2::UNKNOWN_LANGUAGE, CLD2::UNKNOWN_LANGUAGE};
  int percents[3] = {}, bytes = 0, valid = 0;
  double scores[3] = {};
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
