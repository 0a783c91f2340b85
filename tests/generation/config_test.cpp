#include "generation/config/config.h"

#include "generation/models.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

GenerationConfig read(const Json& json, bool strict = true) {
  GenerationConfig config;
  config.apply(Fields(json, "g.json"), strict);
  config.check(100);
  return config;
}

TEST(GenerationConfig, Defaults) {
  const GenerationConfig config = read(Json::object());
  EXPECT_EQ(config.top_k, 50);
  EXPECT_EQ(config.num_beams, 1);
  const LengthLimits limits = config.lengths(7, 1000);
  EXPECT_EQ(limits.most, 27);
  EXPECT_EQ(limits.least, 0);
  EXPECT_EQ(config.lengths(7, 20).most, 20);
}

TEST(GenerationConfig, Lengths) {
  EXPECT_EQ(read({{"max_length", 20}}).lengths(7, 1000).most, 20);
  EXPECT_EQ(read({{"max_length", 20}, {"max_new_tokens", 5}}).lengths(7, 1000).most, 12);
  EXPECT_EQ(read({{"min_length", 9}}).lengths(7, 1000).least, 9);
  EXPECT_EQ(read({{"min_length", 9}, {"min_new_tokens", 4}}).lengths(7, 1000).least, 11);
  EXPECT_TRUE(contains(error_of([] { read({{"max_length", 7}}).lengths(7, 1000); }), "at most 7"));
}

TEST(GenerationConfig, Padding) {
  EXPECT_EQ(read({{"eos_token_id", {4, 5}}}).padding(), 4);
  EXPECT_EQ(read({{"eos_token_id", 4}, {"pad_token_id", 0}}).padding(), 0);
  // Beam search treats a padding id of 0 as absent.
  EXPECT_EQ(read({{"eos_token_id", 4}, {"pad_token_id", 0}, {"num_beams", 2}}).padding(), 4);
  EXPECT_EQ(read({{"eos_token_id", 4}, {"pad_token_id", 6}, {"num_beams", 2}}).padding(), 6);
  EXPECT_EQ(read({{"pad_token_id", 6}, {"num_beams", 2}}).padding(), -1);
}

TEST(GenerationConfig, LaterOnesOverrideAndNullResets) {
  GenerationConfig config =
      read({{"top_k", 7}, {"eos_token_id", {1, 2}}, {"early_stopping", "never"}, {"max_new_tokens", 3}});
  EXPECT_EQ(config.early_stopping, EarlyStopping::never);
  config.apply(Fields(Json{{"top_k", nullptr},
                           {"eos_token_id", nullptr},
                           {"early_stopping", true},
                           {"max_new_tokens", nullptr}},
                      "h.json"),
               true);
  EXPECT_EQ(config.top_k, 0);
  EXPECT_TRUE(config.eos_token_id.empty());
  EXPECT_EQ(config.early_stopping, EarlyStopping::yes);
  EXPECT_FALSE(config.max_new_tokens);
}

TEST(GenerationConfig, OfAModel) {
  const GenerationConfig config = GenerationConfig::of(load_model("marian-generation"));
  EXPECT_EQ(config.decoder_start_token_id, 40);
  EXPECT_EQ(config.forced_eos_token_id, std::vector<std::int64_t>{0});
  EXPECT_EQ(config.eos_token_id, std::vector<std::int64_t>{0});
}

TEST(GenerationConfig, RefusesNonsense) {
  const auto error = [](const Json& json) { return error_of([&] { read(json); }); };
  EXPECT_TRUE(contains(error({{"top_k", -1}}), "g.json: top_k"));
  EXPECT_TRUE(contains(error({{"num_beams", 0}}), "num_beams"));
  EXPECT_TRUE(contains(error({{"max_new_tokens", 0}}), "max_new_tokens"));
  EXPECT_TRUE(contains(error({{"early_stopping", "soon"}}), "early_stopping"));
  EXPECT_TRUE(contains(error({{"bad_words_ids", {1, 2}}}), "bad_words_ids"));
  EXPECT_TRUE(contains(error({{"bad_words_ids", {{100}}}}), "outside"));
  EXPECT_TRUE(contains(error({{"do_sample", true}, {"temperature", 0}}), "temperature"));
  EXPECT_TRUE(contains(error({{"do_sample", true}, {"top_p", 1.5}}), "top_p"));
  EXPECT_TRUE(contains(error({{"num_return_sequences", 2}}), "num_return_sequences"));
  EXPECT_TRUE(contains(error({{"num_beams", 2}, {"num_return_sequences", 3}}), "num_return_sequences"));
  EXPECT_TRUE(contains(error({{"num_beam_groups", 2}}), "num_beam_groups: expected a divisor"));
  EXPECT_TRUE(contains(error({{"num_beam_groups", 2}, {"num_beams", 4}}), "diversity_penalty"));
  EXPECT_TRUE(contains(error({{"diversity_penalty", 0.5}}), "num_beam_groups above 1"));
  EXPECT_TRUE(contains(
      error({{"num_beam_groups", 2}, {"num_beams", 2}, {"diversity_penalty", 1}, {"do_sample", true}}),
      "not drawn"));
  EXPECT_TRUE(contains(error({{"guidance_scale", 1.5}, {"num_beams", 2}}), "num_beams"));
  EXPECT_TRUE(contains(error({{"watermarking_config", {{"greenlist_ratio", 1}}}}), "below 1"));
  EXPECT_TRUE(contains(error({{"watermarking_config", {{"ratio", 0.5}}}}), "watermarking_config: \"ratio\""));
  EXPECT_TRUE(contains(error({{"do_sample", true}, {"min_p", 1.1}}), "min_p"));
  EXPECT_TRUE(contains(error({{"do_sample", true}, {"typical_p", 0}}), "typical_p"));
  EXPECT_TRUE(contains(error({{"do_sample", true}, {"eta_cutoff", -0.5}}), "eta_cutoff"));
  EXPECT_TRUE(contains(error({{"sequence_bias", {{1, 2.0}}}}), "sequence_bias: expected a list of pairs"));
  EXPECT_TRUE(contains(error({{"sequence_bias", Json::parse("[[[100], 2]]")}}), "outside"));
  EXPECT_TRUE(contains(error({{"exponential_decay_length_penalty", {3, -1}}}), "above 0 ([10, 1.05])"));
  EXPECT_TRUE(contains(error({{"exponential_decay_length_penalty", {3, 1.5}}}), "no eos_token_id"));
  EXPECT_TRUE(contains(error({{"encoder_repetition_penalty", 0}}), "encoder_repetition_penalty"));
  EXPECT_TRUE(contains(error({{"prompt_lookup_num_tokens", 3}, {"num_beams", 2}}), "one text per prompt"));
  EXPECT_TRUE(contains(error({{"dry_multiplier", -1}}), "dry_multiplier"));
  EXPECT_TRUE(contains(error({{"dola_layers", "high"}}), "dola_layers: \"high\" is not supported yet"));
  EXPECT_TRUE(contains(error({{"forced_bos_token_id", 100}}), "forced_bos_token_id"));
  EXPECT_TRUE(contains(error({{"temprature", 1}}), "temprature"));
  read({{"min_p", 1.1}});  // without effect unless sampling
  read({{"penalty_alpha", 0}, {"num_beam_groups", 1}, {"use_cache", true}, {"constraints", nullptr}});
  read({{"temprature", 1}}, false);
}

}  // namespace
}  // namespace attend
