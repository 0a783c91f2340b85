// Pictures as a model reads them, for objectives of images: prepared once where there is room, and moved a
// little where the recipe says so.
#pragma once

#include "data/picture_files.h"
#include "objectives/registry.h"
#include "vision/image_processor.h"

namespace attend {

class Pictures {
 public:
  // Of all files of a setting. Pictures that cannot be read, or of which preprocessor_config.json makes
  // others than config.json has, are left out, counted and named (data/bad_rows.h). To find them, all are
  // read once.
  explicit Pictures(const Setting& setting);

  std::int64_t count() const { return static_cast<std::int64_t>(places_.size()); }
  std::int64_t patches() const;  // of a picture, with the first token
  // Moved by up to Recipe::augment_shift pixels either way, what is uncovered black (He et al. 2015,
  // arXiv:1512.03385, section 4.2), and half of them mirrored with augment_flip: each as its own `random`
  // decides. Pixels and patches are filled in. Not in validation.
  Batch batch(std::span<const std::int64_t> pictures, std::span<Random> random) const;

  // The names of all labels, in the order in which ids are given; empty if one file has none.
  std::vector<std::string> labels() const;
  const std::string& label(std::int64_t picture) const;
  std::string place(std::int64_t picture) const;  // where it comes from, for messages

 private:
  struct Place {
    std::size_t file = 0;
    std::int64_t number = 0;    // in that file
    std::int64_t prepared = 0;  // in prepared_
  };
  void prepare(const std::vector<std::string>& files);
  Tensor read(const Place& place) const;  // [channels, H, W] bytes
  Tensor moved(const Tensor& bytes, Random& random) const;

  std::vector<PictureFiles> files_;
  std::vector<Place> places_;
  ImageProcessor processor_;
  PatchSpec spec_;
  std::int64_t shift_;
  bool flip_;
  Tensor prepared_;  // [count, channels, H, W] bytes; undefined where that would be too much memory
};

}  // namespace attend
