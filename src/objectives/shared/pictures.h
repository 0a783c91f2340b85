// Pictures as model inputs, for image objectives: cached if there is room, and augmented if the recipe says
// so.
#pragma once

#include "data/picture_files.h"
#include "objectives/base/registry.h"
#include "vision/image_processor.h"

namespace attend {

class Pictures {
 public:
  // All pictures of a setting. Those that cannot be read, or that preprocessor_config.json gives another size
  // than config.json, are skipped, counted and named (data/bad_rows.h). This reads all pictures once.
  explicit Pictures(const Setting& setting);

  std::int64_t count() const { return static_cast<std::int64_t>(places_.size()); }
  std::int64_t patches() const;  // of a picture, with the first token
  // Shifted by up to Recipe::augment_shift pixels in each direction, with black borders (He et al. 2015,
  // arXiv:1512.03385, section 4.2), and with augment_flip mirrored half of the time, by each example's
  // `random`. Fills in pixels and patches. Not in validation.
  Batch batch(std::span<const std::int64_t> pictures, std::span<Random> random) const;

  // The names of all labels, in the order of their ids; empty if one file has none.
  std::vector<std::string> labels() const;
  const std::string& label(std::int64_t picture) const;
  std::string place(std::int64_t picture) const;  // its source, for messages

 private:
  struct Place {
    std::size_t file = 0;
    std::int64_t number = 0;    // index in that file
    std::int64_t prepared = 0;  // index in prepared_
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
  Tensor prepared_;  // [count, channels, H, W] bytes; undefined if that would need too much memory
};

}  // namespace attend
