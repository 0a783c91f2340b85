#include "serve/http/endpoint.h"

#include "base/error.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace attend::serve {
namespace {

// Whether only one value is possible, so that the error explains why.
bool has_one_value(const Json& schema) {
  return (schema.contains("enum") && schema["enum"].size() == 1) || schema.value("maxItems", Json()) == 0 ||
         schema == schema::nothing();
}

}  // namespace

RequestFields operator+(RequestFields fields, const RequestFields& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

void check_request(const Fields& request, const Endpoint& endpoint) {
  const RequestFields& fields = endpoint.fields;
  for (const auto& [name, value] : request.json().items()) {
    const auto field = std::ranges::find(fields, name, &RequestField::name);
    if (field == fields.end()) {
      if (constexpr std::size_t kFew = 12; fields.size() > kFew)
        fail("the request: there is no field {}: /openapi.json has those of {}", shown(Json(name)),
             endpoint.path);
      std::vector<std::string> names;
      for (const RequestField& each : fields) names.push_back(each.name);
      fail("the request: there is no field {}: expected {}", shown(Json(name)), fmt::join(names, ", "));
    }
    if (value.is_null()) continue;
    if (has_one_value(field->schema)) {
      try {
        check_schema(value, field->schema, name);
      } catch (const Error& error) {
        fail("{}: {}", error.what(), field->what);
      }
    } else {
      check_schema(value, field->schema, name);
    }
  }
  for (const RequestField& field : fields)
    if (field.required && !request.has({field.name}))
      fail("{}: expected {}, found none", field.name, in_words(field.schema));
}

void check_inputs(const Fields& request, const Endpoint& endpoint, std::size_t max) {
  for (const RequestField& field : endpoint.fields) {
    if (!field.is_input || !request.has({field.name})) continue;
    const Json& given = request.json().at(field.name);
    const bool several = given.is_array() && !given.empty() && !given.front().is_number();
    if (several && given.size() > max)
      fail("{}: expected at most {} inputs in a request, found {}", field.name, max, given.size());
  }
}

std::string fields_page(const std::vector<Endpoint>& endpoints) {
  std::string page;
  for (const Endpoint& endpoint : endpoints) {
    if (!endpoint.is_listed) continue;
    page += fmt::format("\n## `{} {}`\n\n{}.\n", endpoint.method == Method::get ? "GET" : "POST",
                        endpoint.path, endpoint.summary);
    if (endpoint.fields.empty()) continue;
    page += "\n| Field | What it may be | |\n|---|---|---|\n";
    for (const RequestField& field : endpoint.fields) {
      std::string words = in_words(field.schema) + (field.required ? " (required)" : "");
      for (std::size_t i = 0; (i = words.find('|', i)) != words.npos; i += 2) words.insert(i, "\\");
      page += fmt::format("| `{}` | {} | {} |\n", field.name, words, field.what);
    }
  }
  return page;
}

}  // namespace attend::serve
