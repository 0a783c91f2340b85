// A model's GGUF files: one, or several from llama.cpp's gguf-split (NAME-00001-of-00003.gguf).
#pragma once

#include "base/file.h"
#include "sources/gguf/gguf.h"

#include <cstdint>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

namespace attend {

class GgufParts {
 public:
  // `path` is the first file, which has the metadata. An Error if another one is missing or does not fit.
  explicit GgufParts(const std::filesystem::path& path);

  struct Part {
    MappedFile file;
    Gguf gguf;
  };
  const std::list<Part>& parts() const { return parts_; }
  const Gguf& first() const { return parts_.front().gguf; }
  const Fields& metadata() const { return first().metadata(); }
  const std::string& source() const { return first().source(); }

  const GgufTensor* find(const std::string& name) const;    // null: in no file
  const GgufTensor& tensor(const std::string& name) const;  // an Error if it is in no file

 private:
  std::list<Part> parts_;
};

}  // namespace attend
