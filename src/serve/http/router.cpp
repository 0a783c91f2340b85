#include "serve/http/router.h"

#include "base/error.h"
#include "base/utf8.h"
#include "serve/http/metrics.h"
#include "serve/http/request_log.h"

#include <algorithm>

namespace attend::serve {
namespace {

// Takes constant time, independent of the number of matching characters.
bool is_same(const std::string& a, const std::string& b) {
  unsigned different = a.size() != b.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^
                 static_cast<unsigned char>(b[i % std::max<std::size_t>(1, b.size())]);
  return different == 0;
}

const char* methods_of(const Endpoint& endpoint) {
  return endpoint.method == Method::get ? "GET, HEAD" : "POST";
}

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool is_escape = text[i] == '%' && i + 2 < text.size() &&
                           std::sscanf(std::string(text.substr(i + 1, 2)).c_str(), "%2x", &value) == 1;
    plain += is_escape ? static_cast<char>(value) : text[i] == '+' ? ' ' : text[i];
    if (is_escape) i += 2;
  }
  return plain;
}

// "q=A+dog&alternatives=2" as an object. All values of forms are texts.
Json form_as_json(std::string_view body, const Endpoint& endpoint) {
  Json form = Json::object();
  while (!body.empty()) {
    const std::string_view pair = body.substr(0, body.find('&'));
    body.remove_prefix(std::min(body.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string name = decoded(pair.substr(0, equals)),
                      value = decoded(pair.substr(std::min(pair.size(), equals + 1)));
    const auto field = std::ranges::find(endpoint.fields, name, &RequestField::name);
    const Json number = Json::parse(value, nullptr, /*allow_exceptions=*/false);
    const bool is_number = field != endpoint.fields.end() && field->schema.value("type", "") == "integer" &&
                           number.is_number_integer();
    form[name] = is_number ? number : Json(value);
  }
  try {
    return parse_json(form.dump(), "the request");
  } catch (const Json::exception&) {
    fail("the request: expected UTF-8");
  }
}

// The fields of a request: those of its body, or the parts of its path.
Json fields_of(const RequestHead& request, const std::string& body, const Endpoint& endpoint) {
  if (endpoint.method == Method::get) {
    Json parts = Json::object();
    const std::size_t begin = endpoint.path.find('{');
    if (begin != endpoint.path.npos)
      parts[endpoint.path.substr(begin + 1, endpoint.path.size() - begin - 2)] = request.path.substr(begin);
    return parts;
  }
  const bool is_form = endpoint.is_form && !body.starts_with('{') &&
                       request.content_type.starts_with("application/x-www-form-urlencoded");
  return is_form ? form_as_json(body, endpoint) : parse_json(body, "the request");
}

}  // namespace

void Router::add(const Endpoint& endpoint, Server::Handler handler) {
  endpoints_.push_back(endpoint);
  handlers_.push_back(std::move(handler));
}

std::size_t Router::find(const std::string& path) const {
  const auto found = std::ranges::find_if(endpoints_, [&](const Endpoint& each) {
    const std::size_t variable = each.path.find('{');
    return variable == each.path.npos
               ? each.path == path
               : path.size() > variable && path.starts_with(each.path.substr(0, variable));
  });
  return static_cast<std::size_t>(found - endpoints_.begin());
}

bool Router::is_quick(const RequestHead& request) const {
  const std::size_t number = find(request.path);
  return number < endpoints_.size() && endpoints_[number].is_quick;
}

std::optional<HttpReply> Router::early_reply(const RequestHead& request, bool stopping) const {
  try {
    // A browser asks for permission (preflight) before it sends a key.
    if (request.method == "OPTIONS" && !options_.origins.empty() && !request.origin.empty()) {
      HttpReply leave{204};
      allow_origin(request, leave);
      leave.headers.insert(leave.headers.end(), {{"Access-Control-Allow-Methods", "GET, HEAD, POST"},
                                                 {"Access-Control-Allow-Headers", "*, Authorization"},
                                                 {"Access-Control-Max-Age", "600"}});
      return leave;
    }
    check(request, stopping);
    return std::nullopt;
  } catch (...) {
    HttpReply refusal = error_reply(request, std::current_exception());
    const std::size_t number = find(request.path);
    if (refusal.status == 405)
      refusal.headers.emplace_back(
          "Allow", number < endpoints_.size() ? methods_of(endpoints_[number]) : "GET, HEAD, POST");
    allow_origin(request, refusal);
    return refusal;
  }
}

void Router::check(const RequestHead& request, bool stopping) const {
  if (find_invalid_utf8(request.path)) refuse(400, "expected a path in UTF-8");
  const std::size_t number = find(request.path);
  const bool is_open = number < endpoints_.size() && endpoints_[number].is_open;
  if (stopping && !is_open) refuse(503, "the server is stopping");
  if (!is_open && !has_key(request))
    refuse(401, "expected the header Authorization: Bearer KEY, with the key of this server");
  check_path(request);
  // A few compressed bytes can expand to any size.
  if (!request.content_encoding.empty())
    refuse(415, "expected a body that is not compressed, found Content-Encoding: " +
                    repair_utf8(request.content_encoding));
  if (request.length && *request.length > options_.largest_body)
    refuse(413, fmt::format("expected a body of at most {} bytes, found {}", options_.largest_body,
                            *request.length));
}

void Router::check_path(const RequestHead& request) const {
  const std::size_t number = find(request.path);
  if (number == endpoints_.size()) {
    std::string all;
    for (const Endpoint& endpoint : endpoints_) all += (all.empty() ? "" : ", ") + endpoint.path;
    refuse(404, fmt::format("there is no {}; there are {}", request.path, all));
  }
  const bool gets = endpoints_[number].method == Method::get;
  const bool suits = gets ? request.method == "GET" || request.method == "HEAD" : request.method == "POST";
  if (!suits) refuse(405, fmt::format("{} is not for {}", request.path, request.method));
}

bool Router::has_key(const RequestHead& request) const {
  bool found = options_.keys.empty();
  for (const std::string& key : options_.keys)
    found = is_same(request.authorization, "Bearer " + key) || found;
  return found;
}

void Router::allow_origin(const RequestHead& request, HttpReply& reply) const {
  if (request.origin.empty()) return;
  const bool all = std::ranges::find(options_.origins, "*") != options_.origins.end();
  if (!all && std::ranges::find(options_.origins, request.origin) == options_.origins.end()) return;
  reply.headers.emplace_back("Access-Control-Allow-Origin", all ? "*" : request.origin);
  if (!all) reply.headers.emplace_back("Vary", "Origin");
}

HttpReply Router::answer(const RequestHead& request, const std::string& body) const {
  HttpReply answer;
  present_request() = {};
  const std::size_t number = find(request.path);
  try {
    const ErrorScope scope(ErrorKind::input);
    const Fields fields(fields_of(request, body, endpoints_[number]), "the request");
    check_request(fields, endpoints_[number]);
    check_inputs(fields, endpoints_[number], options_.inputs);
    answer.content = handlers_[number](fields);
  } catch (...) {
    answer = error_reply(request, std::current_exception());
  }
  answer.facts = std::move(present_request().facts);
  allow_origin(request, answer);
  return answer;
}

void Router::count(const RequestHead& request, int status) {
  const std::size_t number = find(request.path);
  const std::lock_guard lock(counting_);
  ++counts_[{number < endpoints_.size() ? endpoints_[number].path : "other", status}];
}

std::string Router::metrics() const {
  std::string lines;
  {
    const std::lock_guard lock(counting_);
    for (const auto& [what, count] : counts_)
      lines += fmt::format("attend_requests_total{} {}\n",
                           in_braces({{"path", what.first}, {"status", std::to_string(what.second)}}), count);
  }
  MetricPage page;
  page.add("attend_requests_total", "counter", "Requests that were answered.", lines);
  return page.text();
}

}  // namespace attend::serve
