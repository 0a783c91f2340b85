// A path of the server, as data: what checks its requests, and what /openapi.json and the docs say of it.
#pragma once

#include "serve/schema.h"

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
  std::string path;  // with {names} for parts of it that are fields
  std::string group, summary;
  RequestFields fields = {};
  Json reply = schema::anything();  // the schema of its JSON
  std::string type = "application/json";
  bool streams = false;   // with "stream": true server-sent events
  bool is_form = false;   // takes forms (application/x-www-form-urlencoded), too
  bool is_open = false;   // needs no key, and answers while the server stops
  bool is_quick = false;  // answered at once, whatever the load: its handler neither waits nor computes
  bool is_listed = true;  // in the document and on the page; else it is there to say why it is not
};

RequestFields operator+(RequestFields fields, const RequestFields& more);

// Error, naming the field and its neighbours, for a field that the endpoint does not have, one that is
// missing, and a value that is not as its schema has it.
void check_request(const Fields& request, const Endpoint& endpoint);
// Error for a list of more inputs than that.
void check_inputs(const Fields& request, const Endpoint& endpoint, std::size_t most);

// All of them as OpenAPI 3.1.
Json openapi(const std::vector<Endpoint>& endpoints, bool has_key);
// All of them as the tables of docs/serving-api.md.
std::string fields_page(const std::vector<Endpoint>& endpoints);

}  // namespace attend::serve
