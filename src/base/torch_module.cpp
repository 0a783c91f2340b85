#include "base/torch_module.h"

#include "base/error.h"
#include "base/file.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <dlfcn.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = "attend-torch.so";
constexpr const char* kAdvice =
    "pip install torch, and ATTEND_TORCH=$(python3 -c 'import torch; print(torch.__path__[0])')";

// The number after TORCH_VERSION_<part> in a header of libtorch.
std::string version_part(const std::string& header, const std::string& part) {
  const std::size_t name = header.find("TORCH_VERSION_" + part + " ");
  if (name == std::string::npos) return "?";
  const std::size_t begin = header.find_first_of("0123456789", name);
  return header.substr(begin, header.find_first_not_of("0123456789", begin) - begin);
}

// The version of the libtorch in a folder, such as "2.13"; empty if it is unknown.
std::string version_of(const fs::path& torch) {
  for (const char* file :
       {"include/torch/headeronly/version.h", "include/torch/csrc/api/include/torch/version.h"})
    if (file_exists(torch / file)) {
      const std::string header = read_file(torch / file);
      if (const std::string major = version_part(header, "MAJOR"); major != "?")
        return major + "." + version_part(header, "MINOR");
    }
  return {};
}

// Loads the libtorch that ATTEND_TORCH names before the module, which then finds it by name.
void load_torch(const fs::path& torch, bool with_gpus) {
  std::vector<std::string> files{"libc10.so", "libtorch_cpu.so"};
  if (with_gpus) files.insert(files.end(), {"libc10_cuda.so", "libtorch_cuda.so"});
  for (const std::string& file : files) {
    const fs::path path = torch / "lib" / file;
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
      fail("ATTEND_TORCH={}: expected a libtorch with lib/{}: {}", torch.string(), file, dlerror());
  }
}

void* load_module(const std::string& torch, std::string_view needed_by) {
  // Next to the library, or in the program's run path (cmake/Install.cmake).
  void* const module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  if (module != nullptr) return module;
  const std::string why = dlerror();
  if (why.find(kModule) == std::string::npos || why.find("undefined symbol") != std::string::npos ||
      why.find("libtorch") != std::string::npos || why.find("libc10") != std::string::npos)
    fail("{} a libtorch of the version with which {} was built{}: {}. {}", needed_by, kModule,
         torch.empty() ? "" : ", and ATTEND_TORCH=" + torch + " is not one", why, kAdvice);
  fail("{} {} (the package attend-torch; in a build, a libtorch that CMake finds): {}", needed_by, kModule,
       why);
}

void* find(void* module, const char* name) {
  void* const symbol = dlsym(module, name);
  if (symbol == nullptr) fail("{} belongs to another version of Attend: {}", kModule, dlerror());
  return symbol;
}

}  // namespace

void* find_in_torch_module(const char* name, std::string_view needed_by, bool with_gpus) {
  const char* const given = std::getenv("ATTEND_TORCH");
  const std::string torch = given != nullptr ? given : "";
  if (!torch.empty()) load_torch(torch, with_gpus);
  void* const module = load_module(torch, needed_by);
  using Version = const char* (*)();
  const std::string expected = reinterpret_cast<Version>(find(module, "attend_torch_version"))();
  const std::string found = torch.empty() ? std::string() : version_of(torch);
  if (!found.empty() && found != expected)
    fail("{} was built with libtorch {}, but ATTEND_TORCH={} is libtorch {}; expected the same version",
         kModule, expected, torch, found);
  return find(module, name);
}

}  // namespace attend
