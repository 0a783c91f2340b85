#include "serve/vector_routes.h"

#include "base/base64.h"
#include "base/error.h"
#include "formats/json_floats.h"
#include "formats/known_fields.h"

#include <bit>

namespace attend::serve {
namespace {

static_assert(std::endian::native == std::endian::little);  // as numbers are sent in base64

std::vector<std::string> read_texts(const Fields& body) {
  std::vector<std::string> texts = body.texts({"input"});
  if (texts.empty()) fail("input: expected a text or a list of texts, found none");
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (texts[i].empty()) fail("input: text {} is empty", i + 1);
  return texts;
}

// Which prompt the texts get, and what becomes of the vectors.
EmbedOptions read_options(const Fields& body, const Asked& asked) {
  EmbedOptions options;
  options.adapter = asked.adapter;
  if (body.has({"prompt"})) options.prompt = body.text({"prompt"});
  if (body.has({"prompt_name"})) options.prompt_name = body.text({"prompt_name"});
  if (body.has({"input_type"})) {
    const std::string type = body.text({"input_type"});
    if (type != "query" && type != "document")
      fail("input_type: expected query or document, found {}", shown(type));
    options.role = type == "query" ? TextRole::query : TextRole::document;
  }
  if (body.has({"prompt"}) + body.has({"prompt_name"}) + body.has({"input_type"}) > 1)
    fail("expected one of prompt, prompt_name and input_type, found more");
  options.dimensions = body.maybe_integer({"dimensions"}, 1);
  // OpenAI's vectors that are cut have the length 1 again.
  if (options.dimensions || body.has({"normalize"})) options.normalize = body.flag({"normalize"}, true);
  options.truncate = body.flag({"truncate"}, true);
  return options;
}

// OpenAI's own client asks for base64 and unpacks it.
Json vector_json(const std::vector<float>& vector, bool packed) {
  if (!packed) return float_list(vector);
  return encode_base64({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
}

Reply embed(ServedModels& models, const Fields& body) {
  constexpr std::string_view kFields[] = {"model",      "input",   "encoding_format", "user",
                                          "dimensions", "prompt",  "prompt_name",     "input_type",
                                          "normalize",  "truncate"};
  expect_only(body, kFields);
  const Asked asked = models.find(body);
  const std::string format = body.text({"encoding_format"}, "float");
  if (format != "float" && format != "base64")
    fail("encoding_format: expected float or base64, found {}", format);
  const std::vector<std::string> texts = read_texts(body);
  const EmbedOptions options = read_options(body, asked);
  const auto vectors = asked.model.embed(texts, options);
  Json data = Json::array();
  for (std::size_t i = 0; i < vectors.size(); ++i)
    data.push_back(
        {{"object", "embedding"}, {"index", i}, {"embedding", vector_json(vectors[i], format == "base64")}});
  std::size_t tokens = 0;
  for (const std::size_t count : asked.model.embedder().count_tokens(texts, options)) tokens += count;
  return reply({{"object", "list"},
                {"data", std::move(data)},
                {"model", asked.name},
                {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

Reply tokenize(const ServedModels& models, const Fields& body) {
  constexpr std::string_view kFields[] = {"model", "text", "special_tokens"};
  expect_only(body, kFields);
  const Tokenizer& tokenizer = *models.find(body).model.model().tokenizers().source;
  const Encoding encoding = tokenizer.encode(
      body.text({"text"}), {.special_tokens = body.flag({"special_tokens"}, true), .with_details = false});
  Json tokens = Json::array();
  for (const TokenId id : encoding.ids) tokens.push_back(tokenizer.id_to_token(id).value_or(""));
  return reply({{"ids", encoding.ids}, {"tokens", std::move(tokens)}});
}

Reply detokenize(const ServedModels& models, const Fields& body) {
  constexpr std::string_view kFields[] = {"model", "ids", "skip_special_tokens"};
  expect_only(body, kFields);
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

void add_embedding_route(Server& server, ServedModels& models) {
  server.post("/v1/embeddings", [&models](const Fields& body) { return embed(models, body); });
}

void add_token_routes(Server& server, const ServedModels& models) {
  server.post("/tokenize", [&models](const Fields& body) { return tokenize(models, body); });
  server.post("/detokenize", [&models](const Fields& body) { return detokenize(models, body); });
}

}  // namespace attend::serve
