#include "serve/routes/vector_routes.h"

#include "base/base64.h"
#include "base/error.h"
#include "formats/json/json_floats.h"

#include <bit>
#include <limits>

namespace attend::serve {
namespace {

static_assert(std::endian::native == std::endian::little);  // numbers are sent in base64 in this order

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

Json ids() {
  return list(integer(0, std::numeric_limits<std::int32_t>::max()), 1);
}

Json several_or_one(const Json& of) {
  return any_of({of, list(of, 1)});
}

// Tokens are decoded to their text, as in text-embeddings-inference.
std::string text_of_tokens(const Json& given, const Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  for (const Json& id : given) {
    if (id.get<double>() >= static_cast<double>(tokenizer.vocabulary_size()))
      fail("input: the model has no token {}", shown(id));
    ids.push_back(static_cast<TokenId>(id.get<double>()));
  }
  return tokenizer.decode(ids, true);
}

std::vector<std::string> read_texts(const Fields& body, const Tokenizer& tokenizer) {
  const Json& input = body.json().at("input");
  const bool is_one = !input.is_array() || input.front().is_number();
  std::vector<std::string> texts;
  for (const Json& each : is_one ? Json::array({input}) : input)
    texts.push_back(each.is_string() ? each.get<std::string>() : text_of_tokens(each, tokenizer));
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (texts[i].empty()) fail("input: text {} is empty", i + 1);
  return texts;
}

// Which prompt the texts get, and how the vectors are processed.
EmbedOptions read_options(const Fields& body, const ChosenModel& chosen) {
  EmbedOptions options;
  options.adapter = chosen.adapter;
  if (body.has({"prompt"})) options.prompt = body.text({"prompt"});
  if (body.has({"prompt_name"})) options.prompt_name = body.text({"prompt_name"});
  if (body.has({"input_type"})) {
    const std::string type = body.text({"input_type"});
    options.role = type.ends_with("query") ? TextRole::query : TextRole::document;
  }
  if (body.has({"prompt"}) + body.has({"prompt_name"}) + body.has({"input_type"}) > 1)
    fail("expected one of prompt, prompt_name and input_type, found more");
  options.dimensions = body.maybe_integer({"dimensions"}, 1);
  if (body.has({"normalize"})) options.normalize = body.flag({"normalize"});
  options.truncate = body.flag({"truncate"}, true);
  return options;
}

// OpenAI's own client requests base64 and decodes it.
Json vector_json(const std::vector<float>& vector, bool packed) {
  if (!packed) return float_list(vector);
  return encode_base64({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
}

Reply embed(ServedModels& models, const Fields& body) {
  const ChosenModel chosen = models.find(body);
  const std::string format = body.text({"encoding_format"}, "float");
  const std::vector<std::string> texts = read_texts(body, *chosen.model.model().tokenizers().source);
  const EmbedOptions options = read_options(body, chosen);
  const auto vectors = chosen.model.embed(texts, options);
  Json data = Json::array();
  for (std::size_t i = 0; i < vectors.size(); ++i)
    data.push_back(
        {{"object", "embedding"}, {"index", i}, {"embedding", vector_json(vectors[i], format == "base64")}});
  std::size_t tokens = 0;
  for (const std::size_t count : chosen.model.embedder().count_tokens(texts, options)) tokens += count;
  return reply({{"object", "list"},
                {"data", std::move(data)},
                {"model", chosen.name},
                {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

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

void add_embedding_route(Server& server, ServedModels& models) {
  const RequestFields fields = {
      models.field(),
      {"input", any_of({name(), list(name(), 1), ids(), list(ids(), 1)}),
       "a text, or the ids of its tokens, or several of either", true, true},
      {"encoding_format", one_of({"float", "base64"}),
       "base64: the numbers as bytes, float32 in little-endian order"},
      {"dimensions", integer(1), "size of the vectors: their first numbers, of length 1 again if the model's vectors are"},
      {"input_type", one_of({"query", "document", "search_query", "search_document"}),
       "the model's prompt for these goes before each text"},
      {"prompt_name", name(), "another of the model's prompts goes before each text"},
      {"prompt", text(), "this goes before each text"},
      {"normalize", flag(), "whether vectors have the length 1; else as the model says"},
      {"truncate", flag(), "cut texts that are longer than the model reads, unless false"},
      {"user", text(), "has no effect"}};
  const Json reply = {{"type", "object"},
                      {"properties",
                       {{"object", one_of({"list"})},
                        {"data", list(any_object())},
                        {"model", text()},
                        {"usage", any_object()}}},
                      {"required", {"object", "data", "model", "usage"}}};
  server.add({.path = "/v1/embeddings",
              .group = "vectors",
              .summary = "Vectors of texts, so that near in meaning is near in space",
              .fields = fields,
              .reply = reply},
             [&models](const Fields& body) { return embed(models, body); });
}

void add_token_routes(Server& server, const ServedModels& models) {
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
                         {"ids", several_or_one(integer(0)), "the tokens", true},
                         {"skip_special_tokens", flag(), "without special tokens"}},
              .reply = object({{"text", text()}}, {"text"})},
             [&models](const Fields& body) { return detokenize(models, body); });
}

}  // namespace attend::serve
