// Alternative texts that begin differently.
#include "generation/generate.h"
#include "generation/models.h"
#include "generation/scores/selection.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// The scores of a prompt's next token.
std::vector<float> next_scores(const PretrainedModel& model, const Prompt& prompt,
                               const std::vector<std::int64_t>& tokens) {
  const Unrecorded inference;
  const auto decoder = make_decoder(model, {});
  const auto sequence = add_prompts(*decoder, {prompt})[0];
  const std::vector<Decoder::Feed> feeds = {{sequence, tokens}};
  const Tensor scores = decoder->step(feeds)[0].contiguous();
  return {scores.const_data<float>(), scores.const_data<float>() + scores.numel()};
}

constexpr std::int64_t kNewTokens = 11;

TEST(Alternatives, AreWhatThePromptWithTheirFirstTokenGives) {
  for (const char* name : {"gpt2-generation", "marian-generation"})
    for (const Json& settings :
         {Json{{"num_beams", 1}}, Json{{"num_beams", 3}, {"length_penalty", 0.5}},
          Json{{"repetition_penalty", 1.5}, {"eos_token_id", Json::array({0, 1, 26, 28})}},
          Json{{"num_beams", 2}, {"num_beam_groups", 2}, {"diversity_penalty", 0.7}}}) {
      const PretrainedModel model = load_model(name);
      const bool has_encoder = model.network()->is_encoder_decoder();
      GenerationConfig config = config_of(model, settings);
      for (const std::vector<std::int64_t>& ids : make_prompts(5)) {
        const std::vector<std::int64_t> begin =
            has_encoder ? std::vector<std::int64_t>{start_token(config)} : std::vector<std::int64_t>();
        const Prompt prompt{ids, {}, {}};
        config.return_alternatives = true;
        config.num_return_sequences = 6;
        config.max_new_tokens = kNewTokens;
        const auto alternatives = generate(model, {prompt}, config);
        ASSERT_EQ(alternatives.size(), 6u);

        std::vector<float> scores = next_scores(model, prompt, has_encoder ? begin : ids);
        if (config.num_beams > 1) {
          const Tensor logs = ops::log_softmax(tensor_of(scores), 0);
          scores.assign(logs.const_data<float>(), logs.const_data<float>() + logs.numel());
        }
        const std::vector<std::int64_t>& said = has_encoder ? begin : ids;
        LogitsProcessors(config).apply(scores, {said, {}, ids});
        const auto likeliest = top_k(scores, 6);
        config.return_alternatives = false;
        config.num_return_sequences = 1;
        config.max_new_tokens = kNewTokens - 1;
        for (std::size_t i = 0; i < 6; ++i) {
          const std::int64_t token = likeliest[i].second;
          std::vector<std::int64_t> wanted = {token};
          Prompt longer = prompt;
          std::vector<std::int64_t>& text = has_encoder ? longer.written : longer.ids;
          if (has_encoder) text = begin;
          text.push_back(token);
          if (!is_eos(config, token)) {
            const auto rest = generate(model, {longer}, config)[0].ids;
            wanted.insert(wanted.end(), rest.begin(), rest.end());
          }
          EXPECT_EQ(alternatives[i].ids, wanted) << name << settings << i;
        }
      }
    }
}

// If a token is forced, the tokens after it differ.
TEST(Alternatives, BeginWhereThereIsAChoice) {
  const PretrainedModel model = load_model("marian-generation");
  const auto texts = generate(model, make_prompts(1),
                              config_of(model, {{"forced_bos_token_id", 12},
                                                {"return_alternatives", true},
                                                {"num_return_sequences", 5},
                                                {"output_scores", true},
                                                {"max_new_tokens", 4}}));
  std::set<std::int64_t> second;
  for (const GeneratedSequence& text : texts) {
    ASSERT_EQ(text.ids.size(), text.log_probabilities.size());
    ASSERT_GE(text.ids.size(), 2u);
    EXPECT_EQ(text.ids[0], 12);
    EXPECT_EQ(text.log_probabilities[0], 0);
    second.insert(text.ids[1]);
  }
  EXPECT_EQ(second.size(), 5u);
}

TEST(Alternatives, MayBeFewerThanRequested) {
  const PretrainedModel model = load_model("gpt2-generation");
  std::vector<std::int64_t> all_but_two;
  for (std::int64_t id = 2; id < model.network()->decoder->spec().embeddings.vocabulary; ++id)
    all_but_two.push_back(id);
  const auto texts = generate(model, make_prompts(1),
                              config_of(model, {{"begin_suppress_tokens", all_but_two},
                                                {"return_alternatives", true},
                                                {"num_return_sequences", 3}}));
  EXPECT_FALSE(texts[0].ids.empty());
  EXPECT_FALSE(texts[1].ids.empty());
  EXPECT_TRUE(texts[2].ids.empty());
  EXPECT_EQ(texts[2].score, -1e9f);
}

// For all texts that exist, also after a forced token.
TEST(Alternatives, StreamEveryToken) {
  const PretrainedModel model = load_model("marian-generation");
  std::vector<std::int64_t> bad;
  for (std::int64_t id = 3; id < model.network()->decoder->spec().embeddings.vocabulary; ++id)
    bad.push_back(id);
  for (const Json& settings : {Json{{"forced_bos_token_id", 12}}, Json{{"num_return_sequences", 2}},
                               Json{{"forced_bos_token_id", 12}, {"begin_suppress_tokens", bad}}}) {
    GenerationConfig config = config_of(model, settings);
    config.return_alternatives = true;
    config.num_return_sequences = 3 + 4 * static_cast<std::int64_t>(settings.size() - 1);
    config.max_new_tokens = 7;
    std::map<std::size_t, std::vector<std::int64_t>> streamed;
    const auto texts = generate(model, make_prompts(1), config,
                                {.on_token = [&](std::size_t, std::size_t text,
                                                 std::int64_t token) { streamed[text].push_back(token); },
                                 .on_result = {}});
    for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(streamed[i], texts[i].ids) << settings << i;
    EXPECT_EQ(texts.back().ids.empty(), settings.size() == 2) << settings;
  }
}

TEST(Alternatives, RefuseContradictingOptions) {
  const PretrainedModel model = load_model("gpt2-generation");
  const auto error = [&](const Json& settings) {
    GenerationConfig config = config_of(model, settings);
    config.return_alternatives = true;
    return error_of([&] { generate(model, make_prompts(1), config); });
  };
  EXPECT_TRUE(contains(error({{"num_return_sequences", 1000}}), "at most 41 alternatives"));
  EXPECT_TRUE(contains(error({{"penalty_alpha", 0.5}, {"top_k", 4}}), "return_alternatives"));
  EXPECT_TRUE(contains(error({{"prompt_lookup_num_tokens", 3}, {"num_return_sequences", 2}}),
                       "prompt_lookup_num_tokens"));
}

}  // namespace
}  // namespace attend
