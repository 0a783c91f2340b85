#include "serve/routes/adapter_routes.h"

#include "base/error.h"

#include <algorithm>

namespace attend::serve {
namespace {

namespace fs = std::filesystem;
using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

bool lies_in(const fs::path& path, const fs::path& directory) {
  return std::ranges::mismatch(directory, path).in1 == directory.end();
}

// The directory that a request names. It must be inside `root` with all its files, with links resolved.
fs::path find_adapter(const fs::path& root, const std::string& given) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(root / given, error);
  if (error || !lies_in(path, root))
    refuse(400, fmt::format("lora_path: expected a directory in {}, found {}", root.string(), given));
  if (!fs::is_directory(path, error))
    refuse(404, fmt::format("lora_path: {} is no directory: expected one with adapter_config.json",
                            path.string()));
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, error))
    if (!lies_in(fs::weakly_canonical(entry.path(), error), root))
      refuse(400, fmt::format("lora_path: {} is a link out of {}", entry.path().string(), root.string()));
  if (error) refuse(400, fmt::format("lora_path: {}: {}", path.string(), error.message()));
  return path;
}

RequestFields adapter_name(const char* what) {
  return {{"lora_name", name(), what, true}, {"lora_int_id", integer(0), "has no effect"}};
}

}  // namespace

void add_adapter_routes(Server& server, ServedModels& models, const AdapterLoading& loading) {
  const fs::path root = fs::canonical(loading.directory);
  server.add({.path = "/v1/load_lora_adapter",
              .group = "models",
              .summary = "Loads an adapter that lies on the server, as vLLM has it; only with "
                         "--allow-adapter-loading",
              .fields = adapter_name("what requests call it") +
                        RequestFields{{"lora_path", name(), "its directory, in that of the option", true},
                                      {"model", text(), "its model; may be missing if there is one"},
                                      {"load_inplace", one_of({false}), "unload the old one first"}},
              .reply = any_object()},
             [&models, root, max = loading.max_adapters](const Fields& body) {
               const std::string name = body.text({"lora_name"});
               models.load_adapter(body.text({"model"}, ""), name,
                                   find_adapter(root, body.text({"lora_path"})), max);
               return reply(models.entry(name));
             });
  server.add({.path = "/v1/unload_lora_adapter",
              .group = "models",
              .summary = "Lets an adapter go; requests in flight keep it",
              .fields = adapter_name("the adapter"),
              .reply = object({{"id", text()}, {"deleted", flag()}}, {"id", "deleted"})},
             [&models](const Fields& body) {
               const std::string name = body.text({"lora_name"});
               models.unload_adapter(name);
               return reply({{"id", name}, {"deleted", true}});
             });
}

}  // namespace attend::serve
