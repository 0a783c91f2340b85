// A result does not depend on other texts, and nothing stays in the cache.
#include "generation/generate.h"

#include "generation/decoding/paged_decoder.h"
#include "generation/models.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Prompts = std::vector<std::vector<std::int64_t>>;

struct Case {
  const char* model;
  const char* settings;
};

class Alone : public testing::TestWithParam<Case> {};

TEST_P(Alone, GivesTheSameAsInABatch) {
  const PretrainedModel model = load_model(GetParam().model);
  const GenerationConfig config = config_of(model, Json::parse(GetParam().settings));
  const auto prompts = make_prompts(23);
  const auto together = generate(model, prompts, config, {.seed = 5});
  const auto each = static_cast<std::size_t>(config.num_return_sequences);
  ASSERT_EQ(together.size(), prompts.size() * each);

  // A few at a time: prompts join while others continue.
  std::size_t seen = 0;
  const auto few =
      generate(model, prompts, config,
               {.seed = 5, .batch_tokens = 40, .on_token = {}, .on_result = [&](std::size_t, auto texts) {
                  EXPECT_EQ(texts.size(), each);
                  ++seen;
                }});
  EXPECT_EQ(seen, prompts.size());
  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_EQ(few[i].ids, together[i].ids) << "text " << i;
    if (std::isfinite(together[i].score)) {
      EXPECT_NEAR(few[i].score, together[i].score, 1e-5 * std::abs(together[i].score));
    } else {
      EXPECT_EQ(few[i].score, together[i].score);
    }
  }
  if (config.do_sample) return;  // draws depend on the index of the prompt
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto alone = generate(model, Prompts{prompts[i]}, config);
    for (std::size_t j = 0; j < each; ++j)
      EXPECT_EQ(alone[j].ids, together[i * each + j].ids) << "prompt " << i;
  }
}

constexpr const char* kGreedy = R"({"max_new_tokens": 19})";
constexpr const char* kBeams =
    R"({"max_new_tokens": 17, "num_beams": 4, "num_return_sequences": 3, "length_penalty": 0.6,
                                   "eos_token_id": [0, 1, 26, 28]})";
constexpr const char* kPenalties =
    R"({"max_new_tokens": 17, "num_beams": 3, "repetition_penalty": 1.4, "no_repeat_ngram_size": 2,
                                       "bad_words_ids": [[5, 32], [28]], "early_stopping": true})";
constexpr const char* kSample =
    R"({"max_new_tokens": 12, "do_sample": true, "num_return_sequences": 3, "temperature": 1.5, "top_p": 0.9,
                                    "eos_token_id": [0, 1, 26, 28]})";
constexpr const char* kBeamSample =
    R"({"max_new_tokens": 13, "do_sample": true, "num_beams": 3, "num_return_sequences": 2, "top_k": 6,
                                    "xtc_probability": 0.5, "eos_token_id": [0, 1, 26, 28]})";
constexpr const char* kGroups =
    R"({"max_new_tokens": 17, "num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.7,
                                    "num_return_sequences": 3, "eos_token_id": [0, 1, 26, 28]})";
constexpr const char* kLookup = R"({"max_new_tokens": 19, "prompt_lookup_num_tokens": 3})";
constexpr const char* kForcedWords =
    R"({"max_new_tokens": 17, "num_beams": 4, "force_words_ids": [[11, 12], [[20, 21], [22]], [30]],
                                    "num_return_sequences": 2, "eos_token_id": [0, 1, 26, 28]})";
constexpr const char* kContrastive =
    R"({"max_new_tokens": 17, "penalty_alpha": 0.6, "top_k": 4, "eos_token_id": [0, 1, 26, 28]})";
constexpr const char* kAlternatives =
    R"({"max_new_tokens": 17, "return_alternatives": true, "num_return_sequences": 4, "repetition_penalty": 1.2,
                                    "eos_token_id": [0, 1, 26, 28]})";
constexpr const char* kAlternativeBeams =
    R"({"max_new_tokens": 17, "return_alternatives": true, "num_return_sequences": 3, "num_beams": 2,
                                    "eos_token_id": [0, 1, 26, 28]})";
constexpr const char* kMirostat =
    R"({"max_new_tokens": 17, "do_sample": true, "mirostat": 2, "num_return_sequences": 2})";
INSTANTIATE_TEST_SUITE_P(
    Generate, Alone,
    testing::Values(Case{"gpt2-generation", kForcedWords}, Case{"marian-generation", kForcedWords},
                    Case{"gpt2-generation", kContrastive}, Case{"marian-generation", kContrastive},
                    Case{"gpt2-generation", kAlternatives}, Case{"marian-generation", kAlternatives},
                    Case{"gpt2-generation", kAlternativeBeams}, Case{"marian-generation", kAlternativeBeams},
                    Case{"gpt2-generation", kMirostat}, Case{"marian-generation", kMirostat},
                    Case{"gpt2-generation", kGreedy}, Case{"gpt2-generation", kBeams},
                    Case{"gpt2-generation", kPenalties}, Case{"gpt2-generation", kSample},
                    Case{"marian-generation", kGreedy}, Case{"marian-generation", kBeams},
                    Case{"marian-generation", kPenalties}, Case{"marian-generation", kSample},
                    Case{"gpt2-generation", kBeamSample}, Case{"marian-generation", kBeamSample},
                    Case{"gpt2-generation", kLookup}, Case{"marian-generation", kLookup},
                    Case{"gpt2-generation", kGroups}, Case{"marian-generation", kGroups}));

// As in transformers (tests/oracle/check_generation.py): beams continue after a forced word that is an end
// token, and stop when each of them ends in one.
TEST(ForcedEnds, StopTheSearchIfAllBeamsEnd) {
  const PretrainedModel model = load_model("gpt2-generation");
  const GenerationConfig config = config_of(
      model,
      Json::parse(
          R"({"max_new_tokens": 17, "num_beams": 2, "force_words_ids": [[28], [26]], "eos_token_id": [0, 1, 26, 28]})"));
  const auto made = generate(model, Prompts{{5, 9, 14, 3}}, config);
  EXPECT_EQ(made.front().ids, (std::vector<std::int64_t>{26, 28, 0}));
}

TEST(Generate, SeedDecidesWhatIsDrawn) {
  const PretrainedModel model = load_model("gpt2-generation");
  const GenerationConfig config = config_of(
      model,
      {{"do_sample", true}, {"max_new_tokens", 20}, {"temperature", 3.0}, {"num_return_sequences", 2}});
  const auto prompts = make_prompts(4);
  const auto ids = [&](std::uint64_t seed) {
    std::vector<std::vector<std::int64_t>> all;
    for (const auto& text : generate(model, prompts, config, {.seed = seed})) all.push_back(text.ids);
    return all;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
  EXPECT_NE(ids(1)[0], ids(1)[1]);  // two texts for one prompt
}

TEST(Generate, LogProbabilityOfEveryToken) {
  const PretrainedModel model = load_model("gpt2-generation");
  const auto prompts = make_prompts(4);
  const auto greedy =
      generate(model, prompts, config_of(model, {{"max_new_tokens", 9}, {"output_scores", true}}));
  const Unrecorded inference;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_EQ(greedy[i].log_probabilities.size(), greedy[i].ids.size());
    PagedDecoder decoder(model);
    const std::vector<Prompt> one = {{prompts[i], {}, {}}};
    const std::vector<const Prompt*> pointers = {&one[0]};
    const auto sequence = decoder.add(pointers)[0];
    std::vector<std::int64_t> next = prompts[i];
    for (std::size_t j = 0; j < greedy[i].ids.size(); ++j) {
      const std::vector<Decoder::Feed> feeds = {{sequence, next}};
      const Tensor logs = ops::log_softmax(decoder.step(feeds)[0], 0);
      next = {greedy[i].ids[j]};
      EXPECT_NEAR(greedy[i].log_probabilities[j], logs[next[0]].item<float>(), 1e-5);
    }
  }
  const auto beams = generate(
      model, prompts,
      config_of(model,
                {{"num_beams", 3}, {"length_penalty", 0.5}, {"max_new_tokens", 9}, {"output_scores", true}}));
  for (const GeneratedSequence& text : beams) {
    const double sum = std::accumulate(text.log_probabilities.begin(), text.log_probabilities.end(), 0.0);
    EXPECT_NEAR(sum / std::sqrt(static_cast<double>(text.ids.size())), text.score, 1e-5);
  }
  EXPECT_TRUE(
      generate(model, prompts, config_of(model, {{"max_new_tokens", 2}}))[0].log_probabilities.empty());
}

// For any draft tokens, even if they are often wrong.
TEST(Generate, PromptLookupChangesNothing) {
  std::size_t repeated = 0;
  for (const char* name : {"gpt2-generation", "marian-generation"}) {
    const PretrainedModel model = load_model(name);
    const auto prompts = make_prompts(9);
    for (const Json& settings :
         {Json{{"eos_token_id", nullptr}}, Json{{"repetition_penalty", 1.2}, {"output_scores", true}},
          Json{{"do_sample", true}, {"top_k", 2}, {"temperature", 0.5}},
          Json{{"do_sample", true}, {"xtc_probability", 0.4}, {"xtc_threshold", 0.02}}})
      for (const std::int64_t guesses : {1, 4, 30}) {
        GenerationConfig config = config_of(model, settings);
        config.max_new_tokens = 24;
        const auto plain = generate(model, prompts, config, {.seed = 3});
        config.prompt_lookup_num_tokens = guesses;
        config.max_matching_ngram_size = 1 + guesses % 3;
        const auto fast = generate(model, prompts, config, {.seed = 3});
        for (std::size_t i = 0; i < plain.size(); ++i) {
          EXPECT_EQ(fast[i].ids, plain[i].ids) << name << settings << guesses << ", prompt " << i;
          ASSERT_EQ(fast[i].log_probabilities.size(), plain[i].log_probabilities.size());
          for (std::size_t j = 0; j < plain[i].log_probabilities.size(); ++j)
            EXPECT_NEAR(fast[i].log_probabilities[j], plain[i].log_probabilities[j], 1e-5);
          const std::set<std::int64_t> different(plain[i].ids.begin(), plain[i].ids.end());
          repeated += plain[i].ids.size() - different.size();
        }
      }
  }
  EXPECT_GT(repeated, 1000u);  // so there were many draft tokens
}

// The model itself proposes the right tokens, another one wrong ones; neither changes a token.
TEST(Generate, AssistantChangesNothing) {
  for (const auto& [name, other] : {std::pair{"gpt2-generation", "gpt2"}, {"marian-generation", "marian"}}) {
    const PretrainedModel model = load_model(name), small = load_model(other);
    for (const Json& settings :
         {Json{{"num_assistant_tokens", 5}}, Json{{"do_sample", true}, {"temperature", 0.7}},
          Json{{"num_assistant_tokens", 1}, {"no_repeat_ngram_size", 2}}}) {
      GenerationConfig config = config_of(model, settings);
      config.max_new_tokens = 21;
      const auto prompts = make_prompts(7);
      const auto plain = generate(model, prompts, config, {.seed = 4});
      for (const PretrainedModel* assistant : {&model, &small}) {
        const auto assisted = generate(model, prompts, config, {.seed = 4, .assistant = {assistant}});
        for (std::size_t i = 0; i < plain.size(); ++i)
          EXPECT_EQ(assisted[i].ids, plain[i].ids) << name << settings << ", prompt " << i;
      }
    }
    GenerationConfig config = config_of(model, {{"num_beams", 2}});
    EXPECT_TRUE(contains(error_of([&] { generate(model, make_prompts(1), config, {.assistant = {&small}}); }),
                         "one text per prompt"));
  }
  const PretrainedModel gpt2 = load_model("gpt2-generation"), marian = load_model("marian-generation");
  EXPECT_TRUE(contains(error_of([&] {
                         generate(gpt2, make_prompts(1), config_of(gpt2, Json::object()),
                                  {.assistant = {&marian}});
                       }),
                       "an assistant must"));
}

// A rule that expresses the same as fields gives the same texts; one that depends on its prompt gives
// different texts for each.
TEST(Generate, CustomProcessor) {
  for (const char* name : {"gpt2-generation", "marian-generation"})
    for (const std::int64_t beams : {1, 3}) {
      const PretrainedModel model = load_model(name);
      const Json settings = {{"max_new_tokens", 12}, {"num_beams", beams}};
      Json suppressed = settings;
      for (std::int64_t id = 1; id < 40; id += 2) suppressed["suppress_tokens"].push_back(id);
      const auto rule = [](std::size_t number, std::span<const std::int64_t> tokens,
                           std::span<float> scores) {
        EXPECT_FALSE(tokens.empty());
        if (number > 0)
          for (std::size_t id = 1; id < 40; id += 2) scores[id] = kNever;
      };
      const auto prompts = make_prompts(4);
      const auto ruled = generate(model, prompts, config_of(model, settings), {.rule = rule});
      const auto wanted = generate(model, prompts, config_of(model, suppressed));
      EXPECT_EQ(ruled[0].ids, generate(model, prompts, config_of(model, settings))[0].ids);
      for (std::size_t i = 1; i < prompts.size(); ++i) EXPECT_EQ(ruled[i].ids, wanted[i].ids);
    }
}

TEST(Generate, CustomProcessorThatThrows) {
  const PretrainedModel model = load_model("gpt2-generation");
  const GenerationConfig config = config_of(model, {{"max_new_tokens", 5}});
  const ScoreRule throws = [](auto...) { throw std::runtime_error("no rule for this"); };
  EXPECT_THROW(generate(model, make_prompts(3), config, {.rule = throws}), std::runtime_error);
  const ScoreRule forbids_all = [](std::size_t, std::span<const std::int64_t>, std::span<float> scores) {
    std::ranges::fill(scores, kNever);
  };
  EXPECT_TRUE(contains(error_of([&] { generate(model, make_prompts(3), config, {.rule = forbids_all}); }),
                       "no token may come next"));
}

TEST(Generate, BeamsThatAreDrawn) {
  const PretrainedModel model = load_model("gpt2-generation");
  const auto texts = [&](std::uint64_t seed, const Json& settings) {
    return generate(model, make_prompts(3), config_of(model, settings), {.seed = seed});
  };
  const Json drawn = {{"do_sample", true}, {"num_beams", 3}, {"max_new_tokens", 15}, {"temperature", 3.0}};
  std::vector<std::vector<std::int64_t>> one, other;
  for (const auto& text : texts(1, drawn)) one.push_back(text.ids);
  for (const auto& text : texts(2, drawn)) other.push_back(text.ids);
  EXPECT_NE(one, other);
}

TEST(Generate, StreamsEveryToken) {
  const PretrainedModel model = load_model("gpt2-generation");
  std::vector<std::int64_t> streamed;
  const auto texts = generate(model, make_prompts(1), config_of(model, {{"max_new_tokens", 9}}),
                              {.on_token =
                                   [&](std::size_t prompt, std::size_t text, std::int64_t token) {
                                     EXPECT_EQ(prompt + text, 0u);
                                     streamed.push_back(token);
                                   },
                               .on_result = {}});
  EXPECT_EQ(streamed, texts.at(0).ids);
  EXPECT_EQ(streamed.size(), 9u);
}

TEST(Generate, EndsAtTheModelsPositions) {
  const PretrainedModel model = load_model("gpt2-generation");  // 40 positions
  const auto texts =
      generate(model, {{2, 3, 4}}, config_of(model, {{"max_new_tokens", 1000}, {"eos_token_id", nullptr}}));
  EXPECT_EQ(texts.at(0).ids.size(), 38u);  // the last token is never read
}

TEST(Generate, NamesTheBadPrompt) {
  const PretrainedModel gpt2 = load_model("gpt2-generation"), marian = load_model("marian-generation");
  const GenerationConfig config = generation_config_of(gpt2);
  EXPECT_TRUE(contains(error_of([&] {
                         generate(gpt2, Prompts{{3}, {}}, config);
                       }),
                       "prompt 2: the prompt has no tokens"));
  EXPECT_TRUE(contains(error_of([&] { generate(gpt2, Prompts{std::vector<std::int64_t>(41, 3)}, config); }),
                       "the prompt has 41 tokens, but the model reads"));
  EXPECT_TRUE(contains(error_of([&] { generate(gpt2, Prompts{{41}}, config); }), "token id 41"));
  EXPECT_TRUE(contains(error_of([&] {
                         generate(gpt2, Prompts{{2, 3}}, config_of(gpt2, {{"max_length", 2}}));
                       }),
                       "at most 2"));
  EXPECT_TRUE(contains(error_of([&] {
                         generate(marian, Prompts{std::vector<std::int64_t>(41, 3)},
                                  generation_config_of(marian));
                       }),
                       "the text has 41 tokens, but the model reads 40"));
  EXPECT_TRUE(
      contains(error_of([&] {
                 generate(marian, Prompts{{3}}, config_of(marian, {{"decoder_start_token_id", nullptr}}));
               }),
               "decoder_start_token_id"));
  const PretrainedModel bert = load_model("bert-masked-lm");
  EXPECT_TRUE(
      contains(error_of([&] { generate(bert, Prompts{{3}}, config); }), "BertForMaskedLM cannot generate"));
}

TEST(Generate, RefusesScoresThatAreNoNumbers) {
  const PretrainedModel model = load_model("gpt2-generation");
  const Tensor numbers = ops::full(model.network()->decoder->embeddings->tokens.sizes(), NAN, kFloat);
  model.network()->pack("decoder.embeddings.tokens", PackedMatrix::make(numbers, WeightFormat::float32));
  for (const Json& settings : {Json::object(), Json{{"num_beams", 3}}, Json{{"do_sample", true}}})
    EXPECT_TRUE(
        contains(error_of([&] { generate(model, make_prompts(3), config_of(model, settings)); }), "NaN"));
}

// The state after a search.
TEST(DecoderCache, EmptyAfterEverySearch) {
  for (const char* name : {"gpt2-generation", "marian-generation"})
    for (const char* settings : {kGreedy, kBeams, kPenalties, kSample, kBeamSample, kLookup, kGroups,
                                 kForcedWords, kContrastive, kMirostat, kAlternatives, kAlternativeBeams}) {
      const PretrainedModel model = load_model(name);
      const Unrecorded inference;
      SearchSettings shared{config_of(model, Json::parse(settings)), {}, 1};
      PagedDecoder decoder(model);
      const std::vector<Prompt> prompts = {{{3, 4, 5}, {}, {}}, {{9}, {}, {}}};
      const std::vector<std::int64_t> start = {40};
      const auto sequences = add_prompts(decoder, prompts);
      std::vector<std::unique_ptr<Search>> searches;
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        const auto& first = decoder.has_encoder() ? start : prompts[i].ids;
        searches.push_back(make_search({&shared,
                                        i,
                                        first,
                                        first,
                                        {static_cast<std::int64_t>(first.size()), 20, 0},
                                        8,
                                        sequences[i],
                                        {}}));
      }
      std::int64_t steps = 0;
      while (!std::ranges::all_of(searches, &Search::done)) {
        ASSERT_LE(++steps, 9);  // a contrastive search reads its last token too
        for (const auto& search : searches) {
          if (search->done()) continue;
          std::vector<Decoder::Feed> feeds;
          search->feed(feeds);
          Tensor scores = decoder.step(feeds);
          if (shared.config.num_beams > 1) scores = ops::log_softmax(scores, 1);
          search->choose(scores.data<float>(), scores.size(1));
          EXPECT_GT(decoder.cache().pages_in_use(), 0);
          search->advance(decoder);
        }
      }
      EXPECT_EQ(decoder.cache().pages_in_use(), 0) << name << settings;
    }
}

}  // namespace
}  // namespace attend
