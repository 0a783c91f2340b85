// The endpoints as one document for tools: OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.0).
#include "serve/http/endpoint.h"

namespace attend::serve {
namespace {

Json with_null(Json schema) {
  if (schema.empty() || schema == schema::nothing()) return schema;
  if (schema.contains("type") && schema["type"].is_string() && !schema.contains("enum")) {
    schema["type"] = Json::array({schema["type"], "null"});
    return schema;
  }
  return schema::any_of({std::move(schema), schema::nothing()});
}

// A form has no null: its values are texts.
Json body_schema(const RequestFields& fields, bool is_form) {
  Json properties = Json::object();
  std::vector<std::string> required;
  for (const RequestField& field : fields) {
    Json schema = field.required || is_form ? field.schema : with_null(field.schema);
    schema["description"] = field.what;
    properties[field.name] = std::move(schema);
    if (field.required) required.push_back(field.name);
  }
  return schema::object(properties, required);
}

// {"text": {"schema": ...}} by content type.
Json content(const std::string& type, const Json& schema) {
  return {{type, {{"schema", schema}}}};
}

// "/v1/models/{model}" has the parameter model.
Json path_parameters(const Endpoint& endpoint) {
  Json all = Json::array();
  for (const RequestField& field : endpoint.fields)
    if (endpoint.path.find("{" + field.name + "}") != std::string::npos)
      all.push_back({{"name", field.name},
                     {"in", "path"},
                     {"required", true},
                     {"description", field.what},
                     {"schema", field.schema}});
  return all;
}

Json operation(const Endpoint& endpoint, bool has_key) {
  Json good = {{"description", "the answer"}, {"content", content(endpoint.type, endpoint.reply)}};
  if (endpoint.streams) good["content"]["text/event-stream"] = Json::object();
  Json operation = {{"summary", endpoint.summary}, {"tags", {endpoint.group}}};
  if (const Json parameters = path_parameters(endpoint); !parameters.empty())
    operation["parameters"] = parameters;
  if (endpoint.method == Method::post) {
    Json types = content("application/json", body_schema(endpoint.fields, false));
    if (endpoint.is_form)
      types.update(content("application/x-www-form-urlencoded", body_schema(endpoint.fields, true)));
    operation["requestBody"] = {{"required", true}, {"content", types}};
  }
  operation["responses"] = {
      {"200", good},
      {"default",
       {{"description", "what was wrong"},
        {"content", content("application/json", {{"$ref", "#/components/schemas/Error"}})}}}};
  if (has_key && !endpoint.is_open) operation["security"] = Json::array({{{"key", Json::array()}}});
  return operation;
}

}  // namespace

Json openapi(const std::vector<Endpoint>& endpoints, bool has_key) {
  Json paths = Json::object();
  for (const Endpoint& endpoint : endpoints)
    if (endpoint.is_listed)
      paths[endpoint.path][endpoint.method == Method::get ? "get" : "post"] = operation(endpoint, has_key);
  const Json error = schema::object({{"message", schema::text()},
                                     {"type", schema::text()},
                                     {"param", schema::anything()},
                                     {"code", schema::integer(400, 599)}},
                                    {"message", "type", "code"});
  Json components = {{"schemas", {{"Error", schema::object({{"error", error}}, {"error"})}}}};
  if (has_key) components["securitySchemes"] = {{"key", {{"type", "http"}, {"scheme", "bearer"}}}};
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "attend serve"},
            {"version", "1"},
            {"description", "Models that stay in memory, for other programs"}}},
          {"paths", paths},
          {"components", components}};
}

}  // namespace attend::serve
