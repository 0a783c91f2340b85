#include "generation/guided_decoder.h"

#include "base/error.h"
#include "generation/continuous_batch.h"
#include "generation/generate.h"
#include "generation/models.h"
#include "generation/paged_decoder.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

GenerationConfig guided(const Model& model, double scale, Json settings = Json::object()) {
  settings.update({{"guidance_scale", scale}, {"max_new_tokens", 14}});
  return config_of(model, settings);
}

Ids joined(const Ids& a, std::span<const std::int64_t> b) {
  Ids all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

// [V]: log-probabilities of what follows a text, read from its beginning.
Tensor log_probabilities(const Model& model, const Ids& text) {
  PagedDecoder decoder(model.network());
  const Prompt prompt{text, {}, {}};
  const auto sequence = decoder.add(std::vector<const Prompt*>{&prompt}).front();
  return at::log_softmax(decoder.step(std::vector<Decoder::Feed>{{sequence, text}})[0], 0);
}

// The formula, at every token of a text.
void expect_guided(const Model& model, const Prompt& prompt, double scale, const Ids& ids) {
  const c10::InferenceMode inference;
  const Ids negative = prompt.negative.empty() ? Ids{prompt.ids.back()} : prompt.negative;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::span<const std::int64_t> before = std::span(ids).first(i);
    const Tensor away = log_probabilities(model, joined(negative, before));
    const Tensor scores = away + scale * (log_probabilities(model, joined(prompt.ids, before)) - away);
    EXPECT_NEAR(scores[ids[i]].item<float>(), scores.max().item<float>(), 1e-4) << "token " << i;
  }
}

std::vector<Prompt> make_guided_prompts() {
  std::vector<Prompt> prompts;
  for (const Ids& ids : make_prompts(9)) {
    prompts.push_back({ids, {}, {}});
    if (prompts.size() % 3 != 0)
      prompts.back().negative = {static_cast<std::int64_t>(prompts.size()), 7, 9, 4};
  }
  return prompts;
}

TEST(Guidance, IsTheFormula) {
  const Model model = load_model("gpt2-generation");
  const std::vector<Prompt> prompts = make_guided_prompts();
  std::size_t others = 0;
  for (const double scale : {2.5, 0.0, -0.5}) {
    const auto texts = generate(model, prompts, guided(model, scale));
    const auto plain = generate(model, prompts, guided(model, 1));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      expect_guided(model, prompts[i], scale, texts[i].ids);
      others += texts[i].ids == plain[i].ids ? 0 : 1;
    }
  }
  EXPECT_GT(others, 20u);
}

TEST(Guidance, IsTheSameWithGuessesAndAlone) {
  const Model model = load_model("gpt2-generation");
  const std::vector<Prompt> prompts = make_guided_prompts();
  const auto together = generate(model, prompts, guided(model, 2));
  const auto guessed = generate(model, prompts, guided(model, 2, {{"prompt_lookup_num_tokens", 3}}));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(guessed[i].ids, together[i].ids);
    EXPECT_EQ(generate(model, std::vector{prompts[i]}, guided(model, 2)).front().ids, together[i].ids);
  }
}

TEST(Guidance, LeavesNothingInTheCache) {
  const Model model = load_model("gpt2-generation");
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
    EXPECT_EQ(ended, 9u);
    EXPECT_EQ(batch.status().pages_in_use, 0);
  }
}

TEST(Guidance, RefusesWhatItIsNotFor) {
  const Model gpt2 = load_model("gpt2-generation"), marian = load_model("marian-generation"),
              xlnet = load_model("xlnet-generation");
  const std::vector<Prompt> prompts = {{{5, 6}, {}, {}}};
  EXPECT_THROW(generate(marian, prompts, guided(marian, 2)), Error);
  EXPECT_THROW(generate(xlnet, prompts, guided(xlnet, 2)), Error);
  EXPECT_THROW(generate(gpt2, prompts, guided(gpt2, 2, {{"num_beams", 2}})), Error);
  EXPECT_THROW(generate(gpt2, prompts, guided(gpt2, 2, {{"penalty_alpha", 0.5}, {"top_k", 4}})), Error);
  std::vector<Prompt> bad = prompts;
  bad[0].negative = {5, 100000};
  EXPECT_THROW(generate(gpt2, bad, guided(gpt2, 2)), Error);
  bad[0].negative.assign(100000, 5);
  EXPECT_THROW(generate(gpt2, bad, guided(gpt2, 2)), Error);
}

}  // namespace
}  // namespace attend
