#include "serve/routes/call_json.h"

#include <random>

namespace attend::serve {

std::string new_call_id() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string id;
  while (id.size() < 9) id += kLetters[random() % kLetters.size()];
  return id;
}

Json call_json(const ToolCall& call, const std::string& id) {
  return {
      {"id", id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

}  // namespace attend::serve
