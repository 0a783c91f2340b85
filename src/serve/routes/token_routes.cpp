#include "serve/routes/token_routes.h"

#include "base/error.h"

namespace attend::serve {
namespace {

Reply tokenize(const ServedModels& models, const Fields& body) {
  const Tokenizer& tokenizer = *models.find(body).model.model().tokenizers().source;
  const Encoding encoding = tokenizer.encode(
      body.text({"text"}), {.special_tokens = body.flag({"special_tokens"}, true), .with_details = false});
  Json tokens = Json::array();
  for (const TokenId id : encoding.ids) tokens.push_back(tokenizer.id_to_token(id).value_or(""));
  return reply({{"ids", encoding.ids}, {"tokens", std::move(tokens)}});
}

Reply detokenize(const ServedModels& models, const Fields& body) {
  const Tokenizer& tokenizer = *models.find(body).model.model().tokenizers().target;
  std::vector<TokenId> ids;
  for (const std::int64_t id : body.integers({"ids"})) {
    if (id < 0 || id >= static_cast<std::int64_t>(tokenizer.vocabulary_size()))
      fail("ids: the model has no token {}", id);
    ids.push_back(static_cast<TokenId>(id));
  }
  return reply({{"text", tokenizer.decode(ids, body.flag({"skip_special_tokens"}, false))}});
}

}  // namespace

void add_token_routes(Server& server, const ServedModels& models) {
  using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas
  server.add({.path = "/tokenize",
              .group = "tokens",
              .summary = "The tokens of a text",
              .fields = {models.field(),
                         {"text", text(), "the text", true},
                         {"special_tokens", flag(), "with those that the tokenizer adds, unless false"}},
              .reply = object({{"ids", list(integer(0))}, {"tokens", list(text())}}, {"ids", "tokens"})},
             [&models](const Fields& body) { return tokenize(models, body); });
  server.add({.path = "/detokenize",
              .group = "tokens",
              .summary = "The text of tokens",
              .fields = {models.field(),
                         {"ids", any_of({integer(0), list(integer(0), 1)}), "the tokens", true},
                         {"skip_special_tokens", flag(), "without special tokens"}},
              .reply = object({{"text", text()}}, {"text"})},
             [&models](const Fields& body) { return detokenize(models, body); });
}

}  // namespace attend::serve
