// A path of the server, as data: it checks requests, and makes /openapi.json and the documentation.
#pragma once

#include "formats/json/json_schema.h"

namespace attend::serve {

struct RequestField {
  std::string name;
  Json schema;       // of its value; null is the same as leaving it out
  std::string what;  // one sentence, without a full stop
  bool required = false;
  bool is_input = false;  // a list of it counts as several inputs (ServerOptions::inputs)
};
using RequestFields = std::vector<RequestField>;

enum class Method { get, post };

struct Endpoint {
  Method method = Method::post;
  std::string path;  // with {names} for parts that are fields
  std::string group, summary;
  RequestFields fields = {};
  Json reply = schema::anything();  // the schema of its JSON
  std::string type = "application/json";
  bool streams = false;   // with "stream": true it sends server-sent events
  bool is_form = false;   // also accepts forms (application/x-www-form-urlencoded)
  bool is_open = false;   // needs no key, and answers while the server stops
  bool is_quick = false;  // answered immediately under any load: its handler does not wait or compute
  bool is_listed = true;  // in the document and on the page; false: it exists only to explain why it is not
                          // supported
};

RequestFields operator+(RequestFields fields, const RequestFields& more);

// Throws Error, with the field and similar names, for an unknown field, a missing field, and a value that
// violates its schema.
void check_request(const Fields& request, const Endpoint& endpoint);
// Throws Error for a list of more inputs than that.
void check_inputs(const Fields& request, const Endpoint& endpoint, std::size_t max);

// All endpoints as OpenAPI 3.1.
Json openapi(const std::vector<Endpoint>& endpoints, bool has_key);
// All endpoints as the tables of docs/serving-api.md.
std::string fields_page(const std::vector<Endpoint>& endpoints);

}  // namespace attend::serve
