#include "sources/directory_files.h"

#include "base/error.h"
#include "base/file.h"

namespace attend {

namespace fs = std::filesystem;

fs::path inside(const fs::path& directory, const std::string& name, const std::string& source) {
  const fs::path path(name);
  const bool plain =
      !name.empty() && name != "." && name != ".." && path == path.filename() && name.find('\0') == name.npos;
  if (!plain) fail("{}: expected a name inside the directory, found {}", source, shown(name));
  return directory / path;
}

bool holds_checkpoint(const fs::path& directory) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"})
    if (file_exists(directory / name)) return true;
  return false;
}

Fields read_fields(const fs::path& path) {
  return Fields(read_json(path), path.string());
}

Fields read_optional_fields(const fs::path& path) {
  return file_exists(path) ? read_fields(path) : Fields(Json::object(), path.string());
}

}  // namespace attend
