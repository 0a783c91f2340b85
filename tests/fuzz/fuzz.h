// The functions that a fuzz target defines in addition to LLVMFuzzerTestOneInput.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace attend::fuzz {

// Valid inputs to start from, made from tests/data.
std::vector<std::string> seeds();

// An input that begins with the byte `kind`, which determines the meaning of the rest.
inline std::string input(unsigned kind, std::string_view bytes) {
  return static_cast<char>(kind) + std::string(bytes);
}
inline std::string input_of_file(unsigned kind, const std::filesystem::path& path) {
  return input(kind, read_file(path));
}

// A folder of this process, for code that reads only files; in memory if there is such a file system.
inline const std::filesystem::path& folder() {
  namespace fs = std::filesystem;
  static const struct Folder {
    Folder() {
      const fs::path memory = "/dev/shm", name = "attend-fuzz-" + std::to_string(::getpid());
      path = (fs::is_directory(memory) ? memory : fs::temp_directory_path()) / name;
      fs::create_directories(path);
    }
    ~Folder() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
    fs::path path;
  } folder;
  return folder.path;
}

}  // namespace attend::fuzz
