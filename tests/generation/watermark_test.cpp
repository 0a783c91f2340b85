#include "generation/config/watermark.h"

#include "base/error.h"
#include "generation/generate.h"
#include "generation/models.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

// The new tokens of a few prompts, drawn with or without a mark.
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

// What is put in is found, by whoever has the key and by nobody else.
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
  for (const char* json : {"3", R"({"bias": "x"})", R"({"greenlist_ration": 0.5})",
                           R"({"seeding_scheme": "x"})", R"({"context_width": 0})", R"({"keys": [1]})",
                           R"({"ngram_len": 2, "keys": []})", R"({"ngram_len": 2, "keys": [1], "bias": 2})",
                           R"({"ngram_len": 2, "keys": [1], "sampling_table_size": 99999999999})"}) {
    SCOPED_TRACE(json);
    EXPECT_THROW(make_watermark(Json::parse(json), "here"), Error);
  }
}

}  // namespace
}  // namespace attend
