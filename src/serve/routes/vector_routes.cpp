#include "serve/routes/vector_routes.h"

#include "base/base64.h"
#include "base/error.h"
#include "formats/json/json_floats.h"
#include "serve/routes/reply_ids.h"
#include "tasks/vectors/vector_bits.h"

#include <bit>
#include <limits>

namespace attend::serve {
namespace {

static_assert(std::endian::native == std::endian::little);  // numbers are sent in base64 in this order

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

Json ids() {
  return list(integer(0, std::numeric_limits<std::int32_t>::max()), 1);
}

// Tokens are decoded to their text, as in text-embeddings-inference.
std::string text_of_tokens(const Json& given, const Tokenizer& tokenizer, const char* field) {
  std::vector<TokenId> ids;
  for (const Json& id : given) {
    if (id.get<double>() >= static_cast<double>(tokenizer.vocabulary_size()))
      fail("{}: the model has no token {}", field, shown(id));
    ids.push_back(static_cast<TokenId>(id.get<double>()));
  }
  return tokenizer.decode(ids, true);
}

std::vector<std::string> read_texts(const Fields& body, const char* field, const Tokenizer& tokenizer) {
  const Json& input = body.json().at(field);
  const bool is_one = !input.is_array() || input.front().is_number();
  std::vector<std::string> texts;
  for (const Json& each : is_one ? Json::array({input}) : input)
    texts.push_back(each.is_string() ? each.get<std::string>() : text_of_tokens(each, tokenizer, field));
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (texts[i].empty()) fail("{}: text {} is empty", field, i + 1);
  return texts;
}

struct Embedded {
  ServedModel::Vectors vectors;
  std::size_t tokens = 0;
};

Embedded embed_texts(const ChosenModel& chosen, const std::vector<std::string>& texts,
                     const EmbedOptions& options) {
  Embedded all{chosen.model.embed(texts, options)};
  for (const std::size_t count : chosen.model.embedder().count_tokens(texts, options)) all.tokens += count;
  return all;
}

RequestFields input_fields(const char* name, const ServedModels& models) {
  return {models.field(),
          {name, any_of({schema::name(), list(schema::name(), 1), ids(), list(ids(), 1)}),
           "a text, or the ids of its tokens, or several of either", true, true}};
}

// The fields that OpenAI's and text-embeddings-inference's requests share.
RequestFields shared_fields() {
  return {{"dimensions", integer(1),
           "size of the vectors: their first numbers, of length 1 again if the model's vectors are"},
          {"prompt_name", name(), "one of the model's prompts goes before each text"},
          {"normalize", flag(), "whether vectors have the length 1"},
          {"truncate", flag(), "cut texts that are longer than the model reads, unless false"}};
}

EmbedOptions read_shared(const Fields& body, const ChosenModel& chosen) {
  EmbedOptions options;
  options.adapter = chosen.adapter;
  if (body.has({"prompt_name"})) options.prompt_name = body.text({"prompt_name"});
  options.dimensions = body.maybe_integer({"dimensions"}, 1);
  options.truncate = body.flag({"truncate"}, true);
  return options;
}

// OpenAI's

EmbedOptions read_openai(const Fields& body, const ChosenModel& chosen) {
  EmbedOptions options = read_shared(body, chosen);
  if (body.has({"prompt"})) options.prompt = body.text({"prompt"});
  if (body.has({"input_type"})) {
    const std::string type = body.text({"input_type"});
    options.role = type.ends_with("query") ? TextRole::query : TextRole::document;
  }
  if (body.has({"prompt"}) + body.has({"prompt_name"}) + body.has({"input_type"}) > 1)
    fail("expected one of prompt, prompt_name and input_type, found more");
  if (body.has({"normalize"})) options.normalize = body.flag({"normalize"});
  return options;
}

Json base64_of(const std::vector<float>& vector) {
  return encode_base64({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
}

Reply embed_for_openai(const ChosenModel& chosen, const Fields& body) {
  // OpenAI's own client requests base64 and decodes it.
  const bool packed = body.text({"encoding_format"}, "float") == "base64";
  const Embedded all =
      embed_texts(chosen, read_texts(body, "input", *chosen.model.model().tokenizers().source),
                  read_openai(body, chosen));
  Json data = Json::array();
  for (const std::vector<float>& vector : all.vectors)
    data.push_back({{"object", "embedding"},
                    {"index", data.size()},
                    {"embedding", packed ? base64_of(vector) : float_list(vector)}});
  return reply({{"object", "list"},
                {"data", std::move(data)},
                {"model", chosen.name},
                {"usage", {{"prompt_tokens", all.tokens}, {"total_tokens", all.tokens}}}});
}

Endpoint openai(const ServedModels& models) {
  const RequestFields own = {{"encoding_format", one_of({"float", "base64"}),
                              "base64: the numbers as bytes, float32 in little-endian order"},
                             {"input_type", one_of({"query", "document", "search_query", "search_document"}),
                              "the model's prompt for these goes before each text"},
                             {"prompt", text(), "this goes before each text"},
                             {"user", text(), "has no effect"}};
  return {.path = "/v1/embeddings",
          .group = "vectors",
          .summary = "Vectors of texts, so that near in meaning is near in space",
          .fields = input_fields("input", models) + shared_fields() + own,
          .reply = open_object({{"object", one_of({"list"})},
                                {"data", list(any_object())},
                                {"model", text()},
                                {"usage", any_object()}},
                               {"object", "data", "model", "usage"})};
}

// text-embeddings-inference's

Reply embed_for_tei(const ChosenModel& chosen, const Fields& body) {
  EmbedOptions options = read_shared(body, chosen);
  options.normalize = body.flag({"normalize"}, true);
  const Embedded all =
      embed_texts(chosen, read_texts(body, "inputs", *chosen.model.model().tokenizers().source), options);
  Json vectors = Json::array();
  for (const std::vector<float>& vector : all.vectors) vectors.push_back(float_list(vector));
  return reply(vectors);
}

Endpoint tei(const ServedModels& models) {
  const RequestFields own = {{"truncation_direction", one_of({"right", "Right"}), "texts lose their end"}};
  return {.path = "/embed",
          .group = "vectors",
          .summary = "The same, as text-embeddings-inference has it",
          .fields = input_fields("inputs", models) + shared_fields() + own,
          .reply = list(list(number()))};
}

// Cohere's

EmbedOptions read_cohere(const Fields& body, const ChosenModel& chosen) {
  EmbedOptions options;
  options.adapter = chosen.adapter;
  options.dimensions = body.maybe_integer({"output_dimension"}, 1);
  options.truncate = body.text({"truncate"}, "END") == "END";
  // A search_query has the prompt of this name, or else the one of queries.
  const std::string type = body.text({"input_type"}, "");
  for (const std::string& name : {type, type.substr(type.find('_') + 1)})
    if (!options.prompt_name && chosen.model.embedder().prompts().contains(name)) options.prompt_name = name;
  return options;
}

// One form of vectors, such as "int8".
Json in_form(const std::string& form, const std::vector<float>& vector) {
  if (form == "float") return float_list(vector);
  if (form == "base64") return base64_of(vector);
  Json numbers = Json::array();
  if (form == "binary" || form == "ubinary") {
    for (const int byte : signs_of(vector)) numbers.push_back(form == "binary" ? byte - 128 : byte);
  } else {
    for (const int number : as_int8(vector).numbers)
      numbers.push_back(form == "uint8" ? number + 128 : number);
  }
  return numbers;
}

Reply embed_for_cohere(const ChosenModel& chosen, const Fields& body, bool is_first_version) {
  const std::vector<std::string> texts = body.texts({"texts"});
  const Embedded all = embed_texts(chosen, texts, read_cohere(body, chosen));
  std::vector<std::string> forms = body.texts({"embedding_types"});
  const bool by_type = !is_first_version || !forms.empty();
  if (forms.empty()) forms = {"float"};
  Json embeddings = Json::object();
  for (const std::string& form : forms) {
    Json vectors = Json::array();
    for (const std::vector<float>& vector : all.vectors) vectors.push_back(in_form(form, vector));
    embeddings[form] = std::move(vectors);
  }
  return reply({{"response_type", by_type ? "embeddings_by_type" : "embeddings_floats"},
                {"id", new_id("embed-")},
                {"embeddings", by_type ? embeddings : embeddings["float"]},
                {"texts", texts},
                {"meta",
                 {{"api_version", {{"version", is_first_version ? "1" : "2"}}},
                  {"billed_units", {{"input_tokens", all.tokens}}}}}});
}

Endpoint cohere(const ServedModels& models, bool is_first_version) {
  const Json types = list(one_of({"float", "int8", "uint8", "binary", "ubinary", "base64"}), 0, 6);
  const Json embeddings = is_first_version ? any_of({any_object(), list(list(number()))}) : any_object();
  return {
      .path = is_first_version ? "/v1/embed" : "/v2/embed",
      .group = "vectors",
      .summary = "The same, as Cohere has it",
      .fields = {models.field(),
                 {"texts", list(name(), 1), "the texts", true, true},
                 {"input_type", one_of({"search_query", "search_document", "classification", "clustering"}),
                  "the model's prompt for these goes before each text, if it has one", !is_first_version},
                 {"embedding_types", types,
                  "forms of the vectors: float; int8: times 127 divided by the largest number of the vector; "
                  "uint8: 128 more; ubinary: the signs, 8 in a byte; binary: 128 less; base64: float32"},
                 {"output_dimension", integer(1),
                  "size of the vectors: their first numbers, of length 1 again if the model's vectors are"},
                 {"truncate", one_of({"NONE", "END"}),
                  "END: cut texts that are longer than the model reads; NONE: reject them"},
                 {"priority", integer(0, 999), "has no effect"}},
      .reply = open_object({{"id", text()}, {"embeddings", embeddings}, {"texts", list(text())}},
                           {"id", "embeddings", "texts"})};
}

}  // namespace

void add_vector_routes(Server& server, const ServedModels& models) {
  server.add(openai(models),
             [&models](const Fields& body) { return embed_for_openai(models.find(body), body); });
  server.add(tei(models), [&models](const Fields& body) { return embed_for_tei(models.find(body), body); });
  for (const bool is_first_version : {true, false})
    server.add(cohere(models, is_first_version), [&models, is_first_version](const Fields& body) {
      return embed_for_cohere(models.find(body), body, is_first_version);
    });
}

}  // namespace attend::serve
