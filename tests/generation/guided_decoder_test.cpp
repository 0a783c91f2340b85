#include "generation/decoding/guided_decoder.h"

#include "base/error.h"
#include "generation/continuous_batch.h"
#include "generation/decoding/paged_decoder.h"
#include "generation/generate.h"
#include "generation/models.h"
#include "models/padded/forward.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

GenerationConfig guided(const PretrainedModel& model, double scale, Json settings = Json::object()) {
  settings.update({{"guidance_scale", scale}, {"max_new_tokens", 14}});
  return config_of(model, settings);
}

Ids joined(const Ids& a, std::span<const std::int64_t> b) {
  Ids all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

// [V]: log-probabilities of the next token after a text, which is read from its beginning.
Tensor log_probabilities(const PretrainedModel& model, const Ids& text) {
  PagedDecoder decoder(model);
  const Prompt prompt{text, {}, {}};
  const auto sequence = decoder.add(std::vector<const Prompt*>{&prompt}).front();
  return ops::log_softmax(decoder.step(std::vector<Decoder::Feed>{{sequence, text}})[0], 0);
}

// The same for a model that gets only a text, as the original calls it for guidance: RoBERTa then counts
// positions differently than in generate().
Tensor plain_log_probabilities(const PretrainedModel& model, const Ids& text) {
  const Tensor logits = run_forward(model, {{"input_ids", ops::tensor(text).unsqueeze(0)}}, {}).at("logits");
  return ops::log_softmax(logits[0][-1], 0);
}

// RoBERTa's padding, which it does not count when it reads a whole text, but counts for tokens after cached
// ones: it does not occur here.
constexpr std::int64_t kPadding = 1;
const Json kWithoutPadding = {{"suppress_tokens", {kPadding}}};

// Checks the formula at every token of a text.
void expect_guided(const PretrainedModel& model, const Prompt& prompt, double scale, const Ids& ids) {
  const Unrecorded inference;
  const Ids negative = prompt.negative.empty() ? Ids{prompt.ids.back()} : prompt.negative;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::span<const std::int64_t> before = std::span(ids).first(i);
    const Tensor away = plain_log_probabilities(model, joined(negative, before));
    const Tensor scores = away + scale * (log_probabilities(model, joined(prompt.ids, before)) - away);
    scores[kPadding] = kNever;
    EXPECT_NEAR(scores[ids[i]].item<float>(), scores.max().item<float>(), 1e-4) << "token " << i;
  }
}

std::vector<Prompt> make_guided_prompts() {
  std::vector<Prompt> prompts;
  for (const Ids& ids : make_prompts(9)) {
    prompts.push_back({ids, {}, {}});
    if (prompts.size() % 3 != 0)
      prompts.back().negative = {static_cast<std::int64_t>(prompts.size()) + 1, 7, 9, 4};
  }
  // A text and its unconditional copy that begin with the same page.
  const Ids page = {3, 9, 4, 8, 5, 6, 3, 30, 31, 12, 13, 14, 5, 18, 7, 21, 22};
  prompts.push_back({page, {}, {}});
  prompts.back().negative = page;
  return prompts;
}

struct GuidedCase {
  const char* model;
  std::size_t min_others;  // texts that differ from those without guidance
};
class Guided : public testing::TestWithParam<GuidedCase> {};
INSTANTIATE_TEST_SUITE_P(Guidance, Guided,
                         testing::Values(GuidedCase{"gpt2-generation", 21},
                                         GuidedCase{"roberta-causal-lm", 14}, GuidedCase{"gptj", 21},
                                         GuidedCase{"gpt-neo", 21}, GuidedCase{"ctrl", 21}));

TEST_P(Guided, IsTheFormula) {
  const PretrainedModel model = load_model(GetParam().model);
  const std::vector<Prompt> prompts = make_guided_prompts();
  std::size_t others = 0;
  for (const double scale : {2.5, 0.0, -0.5}) {
    const auto texts = generate(model, prompts, guided(model, scale, kWithoutPadding));
    const auto plain = generate(model, prompts, guided(model, 1, kWithoutPadding));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      expect_guided(model, prompts[i], scale, texts[i].ids);
      others += texts[i].ids == plain[i].ids ? 0 : 1;
    }
  }
  EXPECT_GE(others, GetParam().min_others);
}

TEST(Guidance, IsTheSameWithDraftTokensAndAlone) {
  const PretrainedModel model = load_model("gpt2-generation");
  const std::vector<Prompt> prompts = make_guided_prompts();
  const auto together = generate(model, prompts, guided(model, 2));
  const auto guessed = generate(model, prompts, guided(model, 2, {{"prompt_lookup_num_tokens", 3}}));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(guessed[i].ids, together[i].ids);
    EXPECT_EQ(generate(model, std::vector{prompts[i]}, guided(model, 2)).front().ids, together[i].ids);
  }
}

TEST(Guidance, LeavesNothingInTheCache) {
  const PretrainedModel model = load_model("gpt2-generation");
  for (const Json& settings : {Json::object(), Json{{"do_sample", true}, {"num_return_sequences", 3}},
                               Json{{"return_alternatives", true}, {"num_return_sequences", 4}}}) {
    ContinuousBatch batch(model);
    const auto shared = batch.prepare(guided(model, 1.5, settings), 1);
    std::size_t ended = 0;
    for (const Prompt& prompt : make_guided_prompts())
      batch.submit({prompt, shared, 0, {}, [&](BatchResult result) {
                      ended += result.end == BatchResult::End::finished ? 1 : 0;
                    }});
    while (batch.step()) {
    }
    EXPECT_EQ(ended, 10u);
    EXPECT_EQ(batch.status().pages_in_use, 0);
  }
}

TEST(Guidance, RefusesUnsupportedModelsAndOptions) {
  const PretrainedModel gpt2 = load_model("gpt2-generation"), marian = load_model("marian-generation"),
                        xlnet = load_model("xlnet-generation");
  const std::vector<Prompt> prompts = {{{5, 6}, {}, {}}};
  const auto error = [](const PretrainedModel& model, const std::vector<Prompt>& given,
                        const Json& settings = Json::object()) {
    return error_of([&] { generate(model, given, guided(model, 2, settings)); });
  };
  EXPECT_TRUE(contains(error(marian, prompts), "guidance_scale: expected a decoder-only model"));
  EXPECT_TRUE(contains(error(xlnet, prompts), "guidance_scale: expected a decoder-only model"));
  EXPECT_TRUE(
      contains(error(gpt2, prompts, {{"num_beams", 2}}), "guidance_scale: not together with num_beams"));
  EXPECT_TRUE(contains(error(gpt2, prompts, {{"penalty_alpha", 0.5}, {"top_k", 4}}), "guidance_scale"));
  std::vector<Prompt> bad = prompts;
  bad[0].negative = {5, 100000};
  EXPECT_TRUE(contains(error(gpt2, bad), "token id"));
  bad[0].negative.assign(100000, 5);
  EXPECT_TRUE(contains(error(gpt2, bad), "100000 tokens"));
}

}  // namespace
}  // namespace attend
