#include "objectives/image_classification.h"

#include "nn/transformer/head_rows.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/label_choice.h"
#include "objectives/shared/label_numbers.h"
#include "objectives/shared/meters.h"

namespace attend {

ImageClassification::ImageClassification(const Setting& setting) : pictures_(setting) {
  const std::vector<std::string> names = pictures_.labels();
  if (names.empty())
    fail(
        "{}: expected pictures with labels (a folder for each class, IDX files with their label files, or a "
        "table)",
        fmt::join(setting.files, ", "));
  labels_ = choose_labels(setting, names, ProblemType::single_label);
  for (std::int64_t i = 0; i < pictures_.count(); ++i)
    targets_.push_back(label_number(labels_, pictures_.label(i), pictures_.place(i)));
}

Batch ImageClassification::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<std::int64_t> targets;
  std::vector<Random> random;
  for (const std::int64_t example : examples) {
    targets.push_back(targets_[static_cast<std::size_t>(example)]);
    random.push_back(draws.of(example));
  }
  Batch batch = pictures_.batch(examples, random);
  batch.labels = ops::tensor(targets, kLong);
  batch.counts = {batch.labels.numel()};
  return batch;
}

Losses ImageClassification::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                                   const LossOptions& options) const {
  Transformer network = trainee.network();
  const ImageBatch images{batch.images.pixels, {}};
  const Tensor hidden = network->encode(images, pass);  // [B * patches, d]
  TokenBatch rows;
  rows.offsets =
      Offsets(std::vector<std::int64_t>(static_cast<std::size_t>(batch.sequences()), batch.patches));
  const Tensor scores = network->score_head(head_rows(network->score_head->spec(), rows, hidden), pass);
  return {{cross_entropy(scores, batch.labels, options).sum}, scores, hidden};
}

std::unique_ptr<Meter> ImageClassification::meter() const {
  return single_label_meter(static_cast<std::int64_t>(labels_.names.size()));
}

const ObjectiveKind kImageClassification = {
    .name = "image-classification",
    .summary = "a label for each picture: a folder for each class, IDX files, or a table of paths and labels",
    .head = Head::image_classification,
    .fine_tunes = true,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<ImageClassification>(setting);
    },
};

}  // namespace attend
