// Pictures with labels, read one at a time on demand.
#pragma once

#include "base/file.h"
#include "data/table.h"
#include "vision/image.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// All functions may be called by several threads.
class PictureFiles {
 public:
  // - A folder with one folder of pictures (vision/image.h) per class, whose name is the label; or a folder
  //   of pictures without labels. Files are sorted by name.
  // - IDX (yann.lecun.com/exdb/mnist): the images' file (NAME-images-idx3-ubyte) or its folder, with the
  //   labels (NAME-labels-idx1-ubyte) in the same folder; if a folder has two such pairs (train, t10k), name
  //   the file. Labels are "0", "1"...; grey becomes three equal channels.
  // - A table of paths and labels (columns image and label; without a header in this order). Paths are
  //   relative to the table's folder; rows whose file is missing are bad (bad_rows.h).
  explicit PictureFiles(const std::filesystem::path& path, const TableOptions& options = {});

  std::int64_t count() const { return static_cast<std::int64_t>(label_ids_.size()); }
  // Throws Error with the file's name if it cannot be read.
  Image image(std::int64_t number) const;
  // The source of the picture, for messages:
  std::string place(std::int64_t number) const;

  // False: pictures without labels; then labels() is empty.
  bool labelled() const { return !labels_.empty(); }
  // All labels, by number if all are integers, else by name.
  const std::vector<std::string>& labels() const { return labels_; }
  // The index of a picture's label in labels(); -1 if there are no labels.
  std::int64_t label_id(std::int64_t number) const { return label_ids_[static_cast<std::size_t>(number)]; }

 private:
  void read_folder(const std::filesystem::path& folder);
  void read_idx(const std::filesystem::path& images);
  void read_rows(const std::filesystem::path& table, const TableOptions& options);
  void set_labels(const std::vector<std::string>& names);  // one per picture

  std::vector<std::filesystem::path> paths_;  // empty: pixels_ holds the pictures
  std::optional<MappedFile> pixels_;
  std::int64_t width_ = 0, height_ = 0;  // of each picture
  std::vector<std::string> labels_;
  std::vector<std::int64_t> label_ids_;
};

}  // namespace attend
