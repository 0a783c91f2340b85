#include "generation/config/watermark.h"

#include "base/error.h"
#include "expect_error.h"
#include "generation/generate.h"
#include "generation/models.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

// The new tokens of a few prompts, drawn with or without a watermark.
Ids write(const PretrainedModel& model, const std::optional<Watermark>& watermark) {
  GenerationConfig config;
  config.do_sample = true;
  config.max_new_tokens = 40;
  config.watermark = watermark;
  Ids all;
  for (const GeneratedSequence& text :
       generate(model, {Ids{5, 6}, Ids{9}, Ids{3, 8, 4}}, config, {.seed = 1}))
    all.insert(all.end(), text.ids.begin(), text.ids.end());
  return all;
}

Watermark parse(const char* json) {
  return *make_watermark(Json::parse(json), "here");
}

// A watermark is found with its key, and with no other key.
TEST(Watermark, IsFoundWhereItWasPut) {
  const PretrainedModel model = load_model("gpt2-generation");
  const std::int64_t vocabulary = model.network()->decoder->spec().embeddings.vocabulary;
  const Ids plain = write(model, {});
  const std::pair<const char*, const char*> keys[] = {
      {R"({"bias": 6})", R"({"bias": 6, "hashing_key": 77})"},
      {R"({"bias": 6, "seeding_scheme": "selfhash", "context_width": 2})",
       R"({"bias": 6, "seeding_scheme": "selfhash", "context_width": 2, "hashing_key": 77})"},
      {R"({"ngram_len": 3, "keys": [1, 2, 3, 4, 5, 6]})",
       R"({"ngram_len": 3, "keys": [7, 8, 9, 10, 11, 12]})"}};
  for (const auto& [own, other] : keys) {
    SCOPED_TRACE(own);
    const Ids marked = write(model, parse(own));
    EXPECT_GT(count_marks(parse(own), vocabulary, marked).z, 5);
    EXPECT_LT(count_marks(parse(own), vocabulary, marked).p, 1e-6);
    EXPECT_LT(std::abs(count_marks(parse(other), vocabulary, marked).z), 4);
    EXPECT_LT(std::abs(count_marks(parse(own), vocabulary, plain).z), 4);
  }
}

TEST(Watermark, ShortTextsHaveNoPlaceForIt) {
  EXPECT_EQ(count_marks(GreenListWatermark{}, 50, Ids{}).tokens, 0);
  EXPECT_EQ(count_marks(GreenListWatermark{}, 50, Ids{3}).p, 1);
  EXPECT_EQ(count_marks(GreenListWatermark{}, 50, Ids{3, 4}).tokens, 1);
  EXPECT_EQ(count_marks(parse(R"({"ngram_len": 3, "keys": [1]})"), 50, Ids{3, 4}).tokens, 0);
}

TEST(Watermark, WrongFieldsAreNamed) {
  EXPECT_FALSE(make_watermark(nullptr, "here"));
  struct Case {
    const char *json, *error;
  };
  for (const Case& wrong :
       {Case{"3", "here: expected a JSON object, found 3"},
        {R"({"bias": "x"})", "here: bias: expected a number"},
        {R"({"greenlist_ration": 0.5})", "here: \"greenlist_ration\" is not a field of it"},
        {R"({"seeding_scheme": "x"})", "here: seeding_scheme: expected \"lefthash\" or \"selfhash\""},
        {R"({"context_width": 0})", "here: context_width: expected an integer"},
        {R"({"keys": [1]})", "here: ngram_len: expected an integer"},
        {R"({"ngram_len": 2, "keys": []})", "here: keys: expected 1 to 1024 of them, found 0"},
        {R"({"ngram_len": 2, "keys": [1], "bias": 2})", "here: \"bias\" is not a field of it"},
        {R"({"ngram_len": 2, "keys": [1], "sampling_table_size": 99999999999})",
         "here: sampling_table_size: expected an integer"}}) {
    SCOPED_TRACE(wrong.json);
    EXPECT_ERROR(wrong.error, make_watermark(Json::parse(wrong.json), "here"));
  }
}

}  // namespace
}  // namespace attend
