#include "generation/config/config.h"

#include "generation/config/config_options.h"
#include "generation/models.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

GenerationConfig read(const Json& json, FieldsFrom from = FieldsFrom::caller) {
  GenerationConfig config;
  apply_fields(config, Fields(json, "g.json"), from);
  check_config(config, 100);
  return config;
}

TEST(GenerationConfig, Defaults) {
  const GenerationConfig config = read(Json::object());
  EXPECT_EQ(config.top_k, 50);
  EXPECT_EQ(config.num_beams, 1);
  const LengthLimits limits = length_limits(config, 7, 1000);
  EXPECT_EQ(limits.max, 27);
  EXPECT_EQ(limits.min, 0);
  EXPECT_EQ(length_limits(config, 7, 20).max, 20);
}

TEST(GenerationConfig, Lengths) {
  EXPECT_EQ(length_limits(read({{"max_length", 20}}), 7, 1000).max, 20);
  EXPECT_EQ(length_limits(read({{"max_length", 20}, {"max_new_tokens", 5}}), 7, 1000).max, 12);
  EXPECT_EQ(length_limits(read({{"min_length", 9}}), 7, 1000).min, 9);
  EXPECT_EQ(length_limits(read({{"min_length", 9}, {"min_new_tokens", 4}}), 7, 1000).min, 11);
  EXPECT_TRUE(contains(error_of([] { length_limits(read({{"max_length", 7}}), 7, 1000); }), "at most 7"));
}

TEST(GenerationConfig, Padding) {
  EXPECT_EQ(padding_token(read({{"eos_token_id", {4, 5}}})), 4);
  EXPECT_EQ(padding_token(read({{"eos_token_id", 4}, {"pad_token_id", 0}})), 0);
  // Beam search treats a padding id of 0 as absent.
  EXPECT_EQ(padding_token(read({{"eos_token_id", 4}, {"pad_token_id", 0}, {"num_beams", 2}})), 4);
  EXPECT_EQ(padding_token(read({{"eos_token_id", 4}, {"pad_token_id", 6}, {"num_beams", 2}})), 6);
  EXPECT_EQ(padding_token(read({{"pad_token_id", 6}, {"num_beams", 2}})), -1);
}

TEST(GenerationConfig, LaterOnesOverrideAndNullResets) {
  GenerationConfig config =
      read({{"top_k", 7}, {"eos_token_id", {1, 2}}, {"early_stopping", "never"}, {"max_new_tokens", 3}});
  EXPECT_EQ(config.early_stopping, EarlyStopping::never);
  apply_fields(config,
               Fields(Json{{"top_k", nullptr},
                           {"eos_token_id", nullptr},
                           {"early_stopping", true},
                           {"max_new_tokens", nullptr}},
                      "h.json"),
               FieldsFrom::caller);
  EXPECT_EQ(config.top_k, 0);
  EXPECT_TRUE(config.eos_token_id.empty());
  EXPECT_EQ(config.early_stopping, EarlyStopping::yes);
  EXPECT_FALSE(config.max_new_tokens);
}

// What a file may have without an effect is no reason to refuse a call that does not change it.
TEST(GenerationConfig, ChangesMustBeInRange) {
  GenerationConfig config;
  config.min_p = 1.1;
  apply_changes(config, [](GenerationConfig& mine) { mine.num_beams = 3; });
  EXPECT_EQ(config.num_beams, 3);
  const auto error = [&](const Configure& changes) {
    return error_of([&, copy = config]() mutable { apply_changes(copy, changes); });
  };
  EXPECT_EQ(error([](GenerationConfig& mine) { mine.num_beams = 0; }),
            "num_beams: expected an integer from 1 to 4096, found 0");
  EXPECT_EQ(error([](GenerationConfig& mine) { mine.top_p = 2; }),
            "top_p: expected a number from 0 to 1, found 2.0");
  EXPECT_TRUE(
      contains(error(with_fields(R"({"num_beams": 0})")), "num_beams: expected an integer from 1 to 4096"));
}

// What every option gives back sets it again.
TEST(GenerationConfig, OptionsGiveBackWhatTheySet) {
  const Json given = {{"max_new_tokens", 3},
                      {"stop_strings", {"a, b"}},
                      {"early_stopping", "never"},
                      {"force_words_ids", Json::parse("[[1, 2], [[3], [4, 5]]]")},
                      {"sequence_bias", Json::parse("[[[10, 45], -2.0]]")},
                      {"exponential_decay_length_penalty", {3, 1.5}},
                      {"eos_token_id", 7},
                      {"json_schema", {{"type", "object"}}},
                      {"watermarking_config", {{"bias", 2.5}, {"seeding_scheme", "selfhash"}}},
                      {"mirostat", 2}};
  GenerationConfig config, other;
  apply_fields(config, Fields(given, "given"), FieldsFrom::caller);
  const Options from = options_of(config), to = options_of(other);
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i].set(from[i].get());
    EXPECT_EQ(to[i].get(), from[i].get()) << from[i].name;
    if (!given.contains(from[i].name)) {
      GenerationConfig usual;
      EXPECT_EQ(from[i].get(), options_of(usual)[i].get()) << from[i].name;
    }
  }
  EXPECT_EQ(other.force_words_ids, config.force_words_ids);
  EXPECT_EQ(other.eos_token_id, std::vector<std::int64_t>{7});
  EXPECT_EQ(other.form, config.form);
}

TEST(GenerationConfig, OfAModel) {
  const GenerationConfig config = generation_config_of(load_model("marian-generation"));
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
      "not sampled"));
  EXPECT_TRUE(contains(error({{"guidance_scale", 1.5}, {"num_beams", 2}}), "num_beams"));
  EXPECT_TRUE(contains(error({{"watermarking_config", {{"greenlist_ratio", 1}}}}), "below 1"));
  EXPECT_TRUE(contains(error({{"watermarking_config", {{"ratio", 0.5}}}}), "watermarking_config: \"ratio\""));
  EXPECT_TRUE(contains(error({{"do_sample", true}, {"min_p", 1.1}}), "min_p"));
  EXPECT_TRUE(contains(error({{"do_sample", true}, {"typical_p", 0}}), "typical_p"));
  EXPECT_TRUE(contains(error({{"do_sample", true}, {"eta_cutoff", -0.5}}), "eta_cutoff"));
  EXPECT_TRUE(
      contains(error({{"sequence_bias", {{1, 2.0}}}}), "sequence_bias[0][0]: expected a list of integers"));
  EXPECT_TRUE(contains(error({{"sequence_bias", Json::parse("[[[100], 2]]")}}), "outside"));
  EXPECT_TRUE(contains(error({{"exponential_decay_length_penalty", {3, -1}}}),
                       "exponential_decay_length_penalty[1]: expected a number above 0"));
  EXPECT_TRUE(contains(error({{"exponential_decay_length_penalty", {3, 1.5}}}), "no eos_token_id"));
  EXPECT_TRUE(contains(error({{"encoder_repetition_penalty", 0}}), "encoder_repetition_penalty"));
  EXPECT_TRUE(contains(error({{"prompt_lookup_num_tokens", 3}, {"num_beams", 2}}), "one text per prompt"));
  EXPECT_TRUE(contains(error({{"dry_multiplier", -1}}), "dry_multiplier"));
  EXPECT_TRUE(contains(error({{"dola_layers", "high"}}), "dola_layers: \"high\" is not supported yet"));
  EXPECT_TRUE(contains(error({{"forced_bos_token_id", 100}}), "forced_bos_token_id"));
  EXPECT_TRUE(contains(error({{"temprature", 1}}), "temprature"));
  // In a model's file, without effect unless sampling.
  read({{"min_p", 1.1}}, FieldsFrom::model);
  EXPECT_TRUE(contains(error({{"min_p", 1.1}}), "min_p: expected a number from 0"));
  read({{"penalty_alpha", 0}, {"num_beam_groups", 1}, {"use_cache", true}, {"constraints", nullptr}});
  read({{"temprature", 1}}, FieldsFrom::model);
}

}  // namespace
}  // namespace attend
