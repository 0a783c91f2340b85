// Draft tokens of a model with another vocabulary, which are translated through text.
#include "generation/decoding/foreign_draft.h"

#include "generation/generate.h"
#include "generation/models.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <numeric>

#include <gtest/gtest.h>

namespace attend {
namespace {

// Token i is the word "w<words[i]>".
TokenizerPair word_tokenizers(const TemporaryDirectory& directory, const std::vector<std::int64_t>& words) {
  Json vocabulary = Json::object();
  for (std::size_t i = 0; i < words.size(); ++i) vocabulary["w" + std::to_string(words[i])] = i;
  const Json json = {{"version", "1.0"},
                     {"added_tokens", Json::array()},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                     {"post_processor", nullptr},
                     {"decoder", nullptr},
                     {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}};
  const auto tokenizer =
      std::make_shared<const Tokenizer>(Tokenizer::from_file(directory.file("tokenizer.json", json.dump())));
  return {tokenizer, tokenizer};
}

// The same words in another order, and a model trained with them.
struct Foreign {
  explicit Foreign(const std::string& name)
      : model(PretrainedModel::load(ModelDirectory(model_path(name)), {.packs = false})) {
    const Unrecorded no_grad;
    Tensor& tokens = model.network()->decoder->embeddings->tokens;
    const std::int64_t count = tokens.size(0);
    for (std::int64_t i = 0; i < count; ++i) order.push_back(count - 1 - i);
    tokens.set_data(tokens.flip(0).contiguous());
  }
  PretrainedModel model;
  std::vector<std::int64_t> order;
};

std::vector<std::int64_t> in_order(std::int64_t count) {
  std::vector<std::int64_t> words(static_cast<std::size_t>(count));
  std::iota(words.begin(), words.end(), 0);
  return words;
}

// A model that differs only in its tokens proposes exactly what the model itself generates.
TEST(ForeignDraft, DraftTokensAreTranslated) {
  const Unrecorded inference;
  const PretrainedModel model = load_model("gpt2-generation");
  const Foreign foreign("gpt2-generation");
  const TemporaryDirectory here, there;
  const TokenizerPair own = word_tokenizers(here, in_order(std::ssize(foreign.order))),
                      other = word_tokenizers(there, foreign.order);
  PagedDecoder decoder(foreign.model);
  GenerationConfig config = generation_config_of(model);
  config.eos_token_id = {};
  config.max_new_tokens = 12;
  for (const auto& prompt : make_prompts(4)) {
    const auto said = generate(model, {prompt}, config)[0].ids;
    {
      ForeignDraft draft(5, decoder, config, own, other, {});
      std::vector<std::int64_t> text = prompt;
      for (std::size_t i = 0; i + 5 <= said.size(); ++i) {
        EXPECT_EQ(draft.propose(text, 5), std::vector(said.begin() + i, said.begin() + i + 5));
        text.push_back(said[i]);
      }
      text = {7};  // the cached tokens are no longer usable
      EXPECT_EQ(draft.propose(text, 1).size(), 1u);
    }
    EXPECT_EQ(decoder.cache().pages_in_use(), 0);
  }
}

TEST(ForeignDraft, ChangesNothing) {
  for (const char* name : {"gpt2-generation", "marian-generation"}) {
    const PretrainedModel model = load_model(name);
    const Foreign foreign(name);
    const TemporaryDirectory here, there;
    const TokenizerPair own = word_tokenizers(here, in_order(std::ssize(foreign.order))),
                        other = word_tokenizers(there, foreign.order);
    for (const Json& settings :
         {Json{{"num_assistant_tokens", 4}}, Json{{"do_sample", true}, {"temperature", 0.7}},
          Json{{"num_assistant_tokens", 1}, {"no_repeat_ngram_size", 2}}}) {
      GenerationConfig config = generation_config_of(model);
      apply_fields(config, Fields(settings, "settings"), FieldsFrom::caller);
      config.max_new_tokens = 18;
      const auto prompts = make_prompts(5);
      const auto plain = generate(model, prompts, config, {.seed = 4});
      const auto assisted =
          generate(model, prompts, config, {.seed = 4, .assistant = {&foreign.model, &own, &other}});
      for (std::size_t i = 0; i < plain.size(); ++i)
        EXPECT_EQ(assisted[i].ids, plain[i].ids) << name << settings << ", prompt " << i;
    }
  }
}

}  // namespace
}  // namespace attend
