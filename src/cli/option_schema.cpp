#include "cli/option_schema.h"

#include "serve/schema.h"

namespace attend::cli {
namespace {

using namespace serve::schema;  // NOLINT(google-build-using-namespace)

// "ENUM:value in {first->2,max->4} OR {2,4}" and "TEXT:{cls,max}": the names.
std::vector<Json> choices(const std::string& type) {
  const std::size_t begin = type.find('{') + 1, end = type.find('}', begin);
  std::vector<Json> names;
  for (const std::string& each : CLI::detail::split(type.substr(begin, end - begin), ','))
    names.emplace_back(each.substr(0, each.find("->")));
  return names;
}

}  // namespace

// CLI11 knows an option's type and checks only by the words that its help shows.
Json option_schema(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return flag();
  const std::string type = option.get_type_name();
  if (type.find('{') != type.npos) return one_of(choices(type));
  if (type.starts_with("INT") || type.starts_with("UINT")) {
    const bool at_least_1 = type.find("POSITIVE") != type.npos,
               at_least_0 = type.starts_with("UINT") || type.find("NONNEGATIVE") != type.npos;
    return integer(at_least_1 ? 1 : at_least_0 ? 0 : -kMaxInteger);
  }
  if (type.starts_with("FLOAT")) return number();
  if (option.get_items_expected_max() > 1) return any_of({name(), list(name(), 1)});
  return text();
}

}  // namespace attend::cli
