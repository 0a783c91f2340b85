#include "sources/weight_files.h"

#include "base/error.h"
#include "formats/json/json.h"

namespace attend {

void WeightFiles::add(TensorFile given) {
  const TensorFile& file = files_.emplace_back(std::move(given));
  for (const auto& [name, tensor] : file.tensors()) {
    const auto [place, is_new] = file_index_.emplace(name, files_.size() - 1);
    if (!is_new)
      fail("{}: tensor {} is also in {}", file.path().string(), shown(name),
           files_[place->second].path().filename().string());
    tensors_.emplace(name, tensor);
  }
}

void WeightFiles::replace(const std::vector<std::string>& parts, const std::string& name,
                          const TensorView& tensor) {
  const std::size_t file = file_index_.at(parts.at(0));
  for (const std::string& part : parts) {
    tensors_.erase(part);
    file_index_.erase(part);
  }
  if (!tensors_.emplace(name, tensor).second)
    fail("{}: {} exists both as a plain and as a quantized tensor", files_[file].path().string(),
         shown(Json(name)));
  file_index_.emplace(name, file);
}

const TensorView* WeightFiles::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const std::filesystem::path& WeightFiles::file_of(const std::string& name) const {
  const auto found = file_index_.find(name);
  if (found == file_index_.end()) fail("the checkpoint has no tensor {}", shown(name));
  return files_[found->second].path();
}

}  // namespace attend
