// A model's GGUF files: one, or several that llama.cpp's gguf-split cut it into (NAME-00001-of-00003.gguf).
#pragma once

#include "base/file.h"
#include "formats/gguf.h"

#include <cstdint>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

namespace attend {

class GgufParts {
 public:
  // `path` is the first file, which has the metadata. Error if one of the others is missing or does not fit.
  explicit GgufParts(const std::filesystem::path& path);

  struct Part {
    MappedFile file;
    Gguf gguf;
  };
  const std::list<Part>& parts() const { return parts_; }
  const Gguf& first() const { return parts_.front().gguf; }
  const Fields& metadata() const { return first().metadata(); }
  const std::string& source() const { return first().source(); }

  const GgufTensor* find(const std::string& name) const;    // null: no file has it
  const GgufTensor& tensor(const std::string& name) const;  // Error if no file has it

 private:
  std::list<Part> parts_;
};

}  // namespace attend
