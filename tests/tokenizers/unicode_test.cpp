// The Unicode tables against checksums of `tokenizers`' properties of every code point. If this fails after
// an update of utf8proc, run tests/oracle/make_unicode_corrections.py again.
#include "tokenizers/text/unicode.h"

#include "base/utf8.h"
#include "formats/json/json.h"
#include "test_data.h"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace attend::unicode {
namespace {

struct Checksum {
  std::uint64_t value = 0xCBF29CE484222325u;  // FNV-1a over code points
  std::size_t count = 0;
  void add(char32_t number) {
    value = (value ^ number) * 0x100000001B3u;
    ++count;
  }
};

template <class Visit>
void for_each_code_point(Visit visit) {
  for (char32_t c = 0; c < 0x110000; ++c)
    if (c < 0xD800 || c > 0xDFFF) visit(c);
}

class UnicodeTables : public testing::Test {
 protected:
  void expect(const char* name, const Checksum& checksum) {
    EXPECT_EQ(checksum.count, expected_.at(name).at(0).get<std::size_t>()) << name;
    EXPECT_EQ(fmt::format("{:016x}", checksum.value), expected_.at(name).at(1).get<std::string>()) << name;
  }
  void expect_class(const char* name, int wanted) {
    Checksum checksum;
    for_each_code_point([&](char32_t c) {
      // Control characters that BERT keeps.
      if (wanted == other && (c == 0 || c == '\t' || c == '\n' || c == '\r')) return;
      if (is(c, wanted)) checksum.add(c);
    });
    expect(name, checksum);
  }
  template <class Map>
  void expect_mapping(const char* name, Map map) {
    Checksum checksum;
    std::vector<Step> steps;
    for_each_code_point([&](char32_t c) {
      steps.clear();
      map(c, steps);
      if (steps.size() == 1 && steps[0].value == c) return;
      checksum.add(c);
      for (const Step& step : steps) checksum.add(step.value);
    });
    expect(name, checksum);
  }

 private:
  const Json expected_ = read_json(test_data() / "tokenizers/unicode.json");
};

TEST_F(UnicodeTables, ClassesAreThoseOfTokenizers) {
  expect_class("letter", letter);
  expect_class("number", number);
  expect_class("whitespace", whitespace);
  expect_class("numeric", numeric);
  expect_class("punctuation", punctuation);
  expect_class("other", other);
  expect_class("nonspacing_mark", nonspacing_mark);
  expect_class("mark", mark);
  expect_class("word", word);
}

TEST_F(UnicodeTables, LowercaseIsThatOfTokenizers) {
  expect_mapping("lowercase", append_lowercase);
}

TEST_F(UnicodeTables, NormalFormsAreThoseOfTokenizers) {
  const std::pair<const char*, Form> forms[] = {
      {"nfc", Form::nfc}, {"nfd", Form::nfd}, {"nfkc", Form::nfkc}, {"nfkd", Form::nfkd}};
  for (const auto& [name, form] : forms)
    expect_mapping(name, [form = form](char32_t c, std::vector<Step>& steps) {
      std::string text;
      append_utf8(text, c);
      normalize(text, form, steps);
    });
}

TEST(Utf8, DecodesWhatBaseEncodes) {
  for (const char32_t c :
       {U'\0', U'a', U'\u007F', U'\u0080', U'\u07FF', U'\u0800', U'\uFFFF', U'\U00010000', U'\U0010FFFF'}) {
    std::string text;
    append_utf8(text, c);
    EXPECT_EQ(decode(text.data()).value, c);
    EXPECT_EQ(decode(text.data()).size, text.size());
    EXPECT_EQ(encoded_size(c), text.size());
  }
  EXPECT_EQ(count("aß語🙂"), 4u);
}

}  // namespace
}  // namespace attend::unicode
