// What a JSON value may contain: a subset of JSON schema. The same schema checks the fields of a request and
// the parameters of a pipeline, is part of /openapi.json, and makes error messages.
#pragma once

#include "formats/json/json.h"

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

namespace schema {

constexpr std::int64_t kMaxInteger = std::int64_t{1} << 31;

Json text();
Json name();  // a text that is not empty
Json flag();
Json integer(std::int64_t min, std::int64_t max = kMaxInteger);
Json number();
Json number(double min, double max = std::numeric_limits<double>::max());
Json number_above(double min);
Json one_of(const std::vector<Json>& values);
Json list(Json of, std::size_t min = 0, std::size_t max = std::numeric_limits<std::size_t>::max());
Json pair(Json first, Json second);  // a list of these two
Json any_of(const std::vector<Json>& schemas);
Json nothing();  // null
Json or_null(Json schema);
Json anything();
// `required`: the names of required fields. Other names are not allowed.
Json object(const Json& properties, const std::vector<std::string>& required = {});
// The same, and other names are allowed.
Json open_object(const Json& properties, const std::vector<std::string>& required = {});
Json any_object();

}  // namespace schema

// What the schema allows, in words for error messages: "an integer from 1 to 128", "a text or a list of
// texts".
std::string in_words(const Json& schema);

// An Error that begins with `name`, unless the value matches the schema.
void check_schema(const Json& value, const Json& schema, const std::string& name);

}  // namespace attend
