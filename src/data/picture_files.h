// Pictures with labels, read one at a time when they are asked for.
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
  // - A folder with a folder of pictures (vision/image.h) for each class, whose name is the label; or one
  // with
  //   pictures in it, which have no labels. Files are in the order of their names.
  // - IDX (yann.lecun.com/exdb/mnist): the images' file (NAME-images-idx3-ubyte) or the folder that holds it,
  //   with the labels (NAME-labels-idx1-ubyte) beside it; in a folder with two such pairs (train, t10k) name
  //   the file. Labels are "0", "1"...; grey becomes three equal channels.
  // - A table of paths and labels (columns image and label; without a header in this order). Paths are
  // relative
  //   to the table's folder; rows whose file is not there are bad (bad_rows.h).
  explicit PictureFiles(const std::filesystem::path& path, const TableOptions& options = {});

  std::int64_t count() const { return static_cast<std::int64_t>(label_ids_.size()); }
  // Error, naming the file, if it cannot be read.
  Image image(std::int64_t number) const;
  // Where the picture comes from, for messages: "train/cat/3.png", "train-images-idx3-ubyte, picture 17".
  std::string place(std::int64_t number) const;

  // False: pictures without labels; then labels() is empty.
  bool labelled() const { return !labels_.empty(); }
  // All labels, by number if all are integers, else by name.
  const std::vector<std::string>& labels() const { return labels_; }
  // The place of a picture's label in labels(); -1 if there are none.
  std::int64_t label_id(std::int64_t number) const { return label_ids_[static_cast<std::size_t>(number)]; }

 private:
  void read_folder(const std::filesystem::path& folder);
  void read_idx(const std::filesystem::path& images);
  void read_rows(const std::filesystem::path& table, const TableOptions& options);
  void set_labels(const std::vector<std::string>& names);  // one a picture

  std::vector<std::filesystem::path> paths_;  // empty: pixels_ holds the pictures
  std::optional<MappedFile> pixels_;
  std::int64_t width_ = 0, height_ = 0;  // of those
  std::vector<std::string> labels_;
  std::vector<std::int64_t> label_ids_;
};

}  // namespace attend
