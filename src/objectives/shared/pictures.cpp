#include "objectives/shared/pictures.h"

#include "base/progress.h"
#include "data/bad_rows.h"
#include "data/labeled_texts.h"
#include "data/lines.h"
#include "tensor/parallel.h"

#include <atomic>

namespace attend {
namespace {

constexpr std::int64_t kMaxPrepared = std::int64_t{1} << 31;  // bytes
constexpr std::int64_t kCost = 1 << 16;                       // of reading a picture, for parallel_ranges

const PatchSpec& read_spec(const Setting& setting) {
  if (!setting.spec.encoder || !setting.spec.encoder->patches)
    fail("{}: expected a model that reads pictures such as ViT, found {}", setting.directory.path().string(),
         setting.directory.model_type());
  return *setting.spec.encoder->patches;
}

}  // namespace

Pictures::Pictures(const Setting& setting)
    : processor_(setting.directory.path()),
      spec_(read_spec(setting)),
      shift_(setting.held_out ? 0 : setting.recipe.augment_shift),
      flip_(!setting.held_out && setting.recipe.augment_flip) {
  for (const std::string& file : setting.files) {
    files_.emplace_back(file, table_options(setting));
    for (std::int64_t i = 0; i < files_.back().count(); ++i) places_.push_back({files_.size() - 1, i, 0});
  }
  if (places_.empty()) fail("{}: expected pictures, found none", fmt::join(setting.files, ", "));
  if (shift_ < 0 || shift_ >= std::min(spec_.height, spec_.width))
    fail("`augment_shift` {}: expected at most {} pixels for pictures of {} x {}", shift_,
         std::min(spec_.height, spec_.width) - 1, spec_.width, spec_.height);
  prepare(setting.files);
}

// Reads all pictures, caches them if there is room, and skips bad ones.
void Pictures::prepare(const std::vector<std::string>& files) {
  Tensor prepared;
  if (count() <= kMaxPrepared / (spec_.channels * spec_.height * spec_.width))
    prepared = ops::empty({count(), spec_.channels, spec_.height, spec_.width}, kByte);
  std::vector<std::string> errors(places_.size());
  Progress progress("preparing", static_cast<std::uint64_t>(count()), "pictures");
  std::atomic<std::uint64_t> done = 0;
  parallel_ranges(count(), kCost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      try {
        const Tensor bytes = read(places_[static_cast<std::size_t>(i)]);
        if (prepared.defined()) prepared[i].copy_(bytes);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(i)] = error.what();
      }
      progress.update(++done);
    }
  });
  BadRows bad(name_of_files(files), "pictures", "pictures");
  std::vector<Place> good;
  for (std::size_t i = 0; i < places_.size(); ++i)
    bad.read([&] {
      if (!errors[i].empty()) throw Error(errors[i]);
      good.push_back(places_[i]);
      good.back().prepared = static_cast<std::int64_t>(i);
    });
  bad.report();
  places_ = std::move(good);
  prepared_ = prepared;
}

std::int64_t Pictures::patches() const {
  return 1 + spec_.rows() * spec_.columns();
}

Tensor Pictures::read(const Place& place) const {
  if (prepared_.defined()) return prepared_[place.prepared];
  const auto& [file, number, _] = place;
  const Tensor bytes = processor_.sized(files_[file].image(number));
  if (bytes.sizes() != Dimensions({spec_.channels, spec_.height, spec_.width}))
    fail(
        "{}: preprocessor_config.json makes it {} x {} pixels of {} channels: expected {} x {} of {}, as "
        "config.json "
        "has them",
        files_[file].place(number), bytes.size(2), bytes.size(1), bytes.size(0), spec_.width, spec_.height,
        spec_.channels);
  return bytes;
}

Tensor Pictures::moved(const Tensor& bytes, Random& random) const {
  Tensor picture = bytes;
  if (shift_ > 0) {
    const auto places = static_cast<std::uint64_t>(2 * shift_ + 1);
    const auto down = static_cast<std::int64_t>(random.below(places));
    const auto right = static_cast<std::int64_t>(random.below(places));
    picture = ops::with_margins(picture, {shift_, shift_, shift_, shift_}, 0)
                  .narrow(1, down, spec_.height)
                  .narrow(2, right, spec_.width);
  }
  return flip_ && random.uniform() < 0.5 ? picture.flip({2}) : picture;
}

Batch Pictures::batch(std::span<const std::int64_t> pictures, std::span<Random> random) const {
  std::vector<Tensor> bytes(pictures.size());
  const std::int64_t cost = prepared_.defined() ? 1 : kCost;
  parallel_ranges(static_cast<std::int64_t>(pictures.size()), cost,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                      bytes[i] = moved(read(places_[static_cast<std::size_t>(pictures[i])]), random[i]);
                  });
  Batch batch;
  batch.images.pixels = processor_.normalized(ops::stack(bytes));
  batch.patches = patches();
  return batch;
}

std::vector<std::string> Pictures::labels() const {
  std::vector<std::string> names;
  for (const PictureFiles& file : files_) {
    if (!file.labelled()) return {};
    names.insert(names.end(), file.labels().begin(), file.labels().end());
  }
  return in_label_order(std::move(names));
}

std::string Pictures::place(std::int64_t picture) const {
  const auto& [file, number, _] = places_[static_cast<std::size_t>(picture)];
  return files_[file].place(number);
}

const std::string& Pictures::label(std::int64_t picture) const {
  const Place& place = places_[static_cast<std::size_t>(picture)];
  const PictureFiles& file = files_[place.file];
  return file.labels()[static_cast<std::size_t>(file.label_id(place.number))];
}

}  // namespace attend
