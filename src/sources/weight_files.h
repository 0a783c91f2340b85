// All tensors of a checkpoint, from all of its files.
#pragma once

#include "formats/tensors/tensor_file.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attend {

class WeightFiles {
 public:
  // Adds a file with its tensors. An Error if another file has one of them.
  void add(TensorFile file);

  // Replaces these tensors by one that is made from them; it belongs to the file of the first.
  void replace(const std::vector<std::string>& parts, const std::string& name, const TensorView& tensor);

  const TensorView* find(const std::string& name) const;
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::vector<TensorFile>& files() const { return files_; }
  // The file that holds the tensor, for error messages.
  const std::filesystem::path& file_of(const std::string& name) const;
  // Releases the memory of file pages that have been read; reading them again only costs time.
  void drop_pages() const {
    for (const TensorFile& file : files_) file.mapping().drop_pages();
  }
  // Keeps the tensor's memory alive.
  std::shared_ptr<const void> owner_of(const std::string& name) const {
    return files_[file_index_.at(name)].owner();
  }

 private:
  std::vector<TensorFile> files_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::size_t> file_index_;
};

}  // namespace attend
