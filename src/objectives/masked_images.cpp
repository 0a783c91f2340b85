#include "objectives/masked_images.h"

#include "models/padded/reconstruction.h"
#include "objectives/base/kinds.h"

#include <cmath>
#include <numeric>

namespace attend {

MaskedImages::MaskedImages(const Setting& setting) : pictures_(setting) {
  const double rate = setting.recipe.noise.mask_rate.value_or(0.6);
  const PatchSpec& patches = *setting.spec.encoder->patches;
  const std::int64_t count = patches.rows() * patches.columns();
  hidden_ = std::clamp<std::int64_t>(std::llround(rate * static_cast<double>(count)), 1, count);
  patch_size_ = patches.patch_height * patches.patch_width * patches.channels;
  const std::int64_t stride = setting.spec.pixel_head->stride;
  if (stride != patches.patch_height || stride != patches.patch_width)
    fail("{}: encoder_stride: expected patch_size, found {}: hidden patches cannot be made again",
         setting.directory.path().string(), stride);
}

Batch MaskedImages::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<Random> random;
  for (const std::int64_t example : examples) random.push_back(draws.of(example));
  Batch batch = pictures_.batch(examples, random);
  const std::int64_t patches = batch.patches - 1;
  batch.images.hidden = ops::zeros({batch.sequences(), patches}, kBool);
  auto hidden = batch.images.hidden.accessor<bool, 2>();
  for (std::int64_t b = 0; b < batch.sequences(); ++b) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(patches));
    std::iota(order.begin(), order.end(), 0);
    random[static_cast<std::size_t>(b)].shuffle(order);
    for (std::int64_t i = 0; i < hidden_; ++i) hidden[b][order[static_cast<std::size_t>(i)]] = true;
  }
  batch.counts = {batch.sequences() * hidden_ * patch_size_};
  return batch;
}

Losses MaskedImages::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                            const LossOptions& options) const {
  Transformer network = trainee.network();
  const ImageBatch images{batch.images.pixels, batch.images.hidden};
  const Tensor hidden = network->encode(images, pass);  // [B * (1 + patches), d]
  const PatchEmbeddings& patches = network->encoder->patches;
  const auto [rows, columns] = patches->grid(images.pixels);
  const Tensor seen = hidden.reshape({batch.sequences(), batch.patches, -1}).narrow(1, 1, batch.patches - 1);
  return {{reconstruction_distance(images, network->pixel_head(seen, rows, columns), patches)}};
}

const ObjectiveKind kMaskedImages = {
    .name = "masked-images",
    .summary = "hidden patches of pictures, with labels or without: folders, IDX files, or a table",
    .head = Head::masked_images,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<MaskedImages>(setting);
    },
};

}  // namespace attend
