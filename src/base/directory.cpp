#include "base/directory.h"

#include "base/error.h"

#include <initializer_list>

namespace attend {
namespace {

namespace fs = std::filesystem;

void expect_no_file(const fs::path& directory) {
  std::error_code missing;
  if (fs::exists(directory, missing) && !fs::is_directory(directory, missing))
    fail("{}: expected a directory to write to, found a file; give another name, or move the file away",
         directory.string());
}

}  // namespace

void make_directories(const fs::path& directory) {
  expect_no_file(directory);
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail_system("{}: cannot make this directory: {}", directory.string(), error.message());
}

void expect_no_model(const fs::path& directory) {
  expect_no_file(directory);
  std::error_code missing;
  for (const char* name :
       {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "config.json"})
    if (fs::exists(directory / name, missing))
      fail("{}: there already is a model in it ({}); give another directory", directory.string(), name);
}

}  // namespace attend
