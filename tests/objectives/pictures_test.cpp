#include "objectives/shared/pictures.h"

#include "models/derived/fresh.h"
#include "objectives/image_classification.h"
#include "objectives/masked_images.h"
#include "objectives/word_setting.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

std::string number(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

// Ten grey pictures of 12 x 8, each dark except for a bright row of its own, and a new model that reads them.
struct PictureSetting {
  TemporaryDirectory directory;
  Recipe recipe;
  std::optional<ModelDirectory> model;
  ModelSpec spec;
  TokenizerPair tokenizers;
  std::vector<std::string> files;

  explicit PictureSetting(const std::string& architecture, const std::vector<std::string>& more = {}) {
    FreshModel fresh;
    fresh.family = "vit";
    fresh.directory = directory.path() / "model";
    fresh.settings = {"preset=tiny",         "image_size=[8, 12]", "patch_size=2",
                      "encoder_stride=2",    "hidden_size=16",     "num_attention_heads=2",
                      "num_hidden_layers=1", "intermediate_size=8"};
    fresh.settings.insert(fresh.settings.end(), more.begin(), more.end());
    make_fresh_model(fresh);
    model.emplace(fresh.directory);
    spec = find_family("vit").spec(model->config(), architecture);
    std::string pixels, labels;
    for (int i = 0; i < 10; ++i) {
      for (int y = 0; y < 8; ++y) pixels += std::string(12, static_cast<char>(y == i % 8 ? 200 : 10));
      labels += static_cast<char>(i % 3 + 4);
    }
    directory.file("train-labels-idx1-ubyte", number(0x801) + number(10) + labels);
    files = {
        directory
            .file("train-images-idx3-ubyte", number(0x803) + number(10) + number(8) + number(12) + pixels)
            .string()};
  }
  Setting setting(bool held_out = false) const {
    return {recipe, *model, spec, tokenizers, files, held_out, {}};
  }
  PretrainedModel network(const std::string& architecture) const {
    return PretrainedModel::load(
        *model, {.purpose = Purpose::training, .architecture = architecture, .fresh = FreshHead{1}});
  }
};

constexpr const char* kClassifier = "ViTForImageClassification";
constexpr const char* kFiller = "ViTForMaskedImageModeling";

std::vector<std::int64_t> examples_of(const Objective& objective) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < objective.examples(); ++i) all.push_back(i);
  return all;
}

// The index of the bright row of each picture.
std::vector<std::int64_t> bright_rows(const Tensor& pixels) {
  const Tensor rows = pixels.select(1, 0).mean(2).argmax(1);
  return {rows.const_data<std::int64_t>(), rows.const_data<std::int64_t>() + rows.numel()};
}

TEST(ImageClassification, AHeadThatKnowsTheLabelsKeepsItsOwn) {
  const PictureSetting given(kClassifier);
  Setting setting = given.setting();
  setting.head_labels = Labels{{"6", "shirt", "4", "5"}, {}};
  const ImageClassification objective(setting);
  EXPECT_EQ(objective.labels()->names, setting.head_labels->names);
  // The first pictures have the labels 4, 5, 6.
  const Batch batch = objective.collate(std::vector<std::int64_t>{0, 1, 2}, {});
  EXPECT_TRUE(ops::equal(batch.labels, ops::tensor({2, 3, 0}, kLong)));

  setting.head_labels = Labels{{"4", "5", "shirt"}, {}};
  EXPECT_EQ(ImageClassification(setting).labels()->names, (std::vector<std::string>{"4", "5", "6"}));
}

TEST(ImageClassification, PicturesAreAsTheirPreprocessorHasThem) {
  const PictureSetting setting(kClassifier);
  const ImageClassification objective(setting.setting());
  EXPECT_EQ(objective.labels()->names, (std::vector<std::string>{"4", "5", "6"}));
  const Batch batch = objective.collate(std::vector<std::int64_t>{3, 1}, {});
  EXPECT_EQ(batch.images.pixels.sizes(), Dimensions({2, 1, 8, 12}));
  EXPECT_EQ(bright_rows(batch.images.pixels), (std::vector<std::int64_t>{3, 1}));
  EXPECT_FLOAT_EQ(batch.images.pixels[0][0][3][5].item<float>(), (200 / 255.0f - 0.5f) / 0.5f);
  EXPECT_FLOAT_EQ(batch.images.pixels[0][0][4][5].item<float>(), (10 / 255.0f - 0.5f) / 0.5f);
  EXPECT_TRUE(ops::equal(batch.labels, ops::tensor({0, 1}, kLong)));
  EXPECT_EQ(batch.real_tokens(), 2 * (1 + 4 * 6));
}

TEST(ImageClassification, PicturesAreAugmentedInTrainingOnly) {
  PictureSetting setting(kClassifier);
  setting.recipe.noise.augment_shift = 2;
  const ImageClassification training(setting.setting()), held_out(setting.setting(/*held_out=*/true));
  const auto rows = [&](const Objective& objective, std::int64_t epoch) {
    return bright_rows(objective.collate(examples_of(objective), {7, epoch}).images.pixels);
  };
  EXPECT_EQ(rows(held_out, 0), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1}));
  std::set<std::int64_t> moves;
  for (std::int64_t epoch = 0; epoch < 30; ++epoch) {
    EXPECT_EQ(rows(training, epoch), rows(training, epoch));
    moves.insert(rows(training, epoch)[4] - 4);
  }
  EXPECT_EQ(moves, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
}

TEST(ImageClassification, HalfOfThePicturesAreMirrored) {
  PictureSetting setting(kClassifier);
  std::string pixels;
  for (int i = 0; i < 8 * 12; ++i) pixels += static_cast<char>(i % 12);
  setting.directory.file("train-labels-idx1-ubyte", number(0x801) + number(2) + std::string("\1\2"));
  setting.directory.file("train-images-idx3-ubyte",
                         number(0x803) + number(2) + number(8) + number(12) + pixels + pixels);
  setting.recipe.noise.augment_flip = true;
  const ImageClassification objective(setting.setting());
  int mirrored = 0;
  for (std::int64_t epoch = 0; epoch < 400; ++epoch) {
    const Tensor row = objective.collate(std::vector<std::int64_t>{1}, {3, epoch}).images.pixels[0][0][0];
    mirrored += row[0].item<float>() > row[11].item<float>();
  }
  EXPECT_NEAR(mirrored, 200, 40);
}

TEST(ImageClassification, PicturesThatTheModelCannotReadAreRefused) {
  PictureSetting other(kClassifier, {"image_size=28"});
  other.directory.file("model/preprocessor_config.json",
                       R"({"image_mean": [0.5], "image_std": [0.5], "size": {"height": 8, "width": 12}})");
  EXPECT_TRUE(contains(error_of([&] { ImageClassification(other.setting()); }), "expected 28 x 28 of 1"));
  const PictureSetting setting(kClassifier);
  std::filesystem::remove(setting.directory.path() / "train-labels-idx1-ubyte");
  EXPECT_TRUE(
      contains(error_of([&] { ImageClassification(setting.setting()); }), "expected pictures with labels"));
}

TEST(ImageClassification, BrokenPicturesAreLeftOutAndNamed) {
  PictureSetting setting(kClassifier);
  const std::filesystem::path images = test_data() / "images";
  for (const char* label : {"cat", "dog"})
    for (const char* name : {"colours.png", "colours.webp", "palette.gif"})
      setting.directory.file(std::string("pictures/") + label + "/" + name, read_file(images / name));
  setting.directory.file("pictures/cat/a.jpg", read_file(images / "colours.jpg").substr(0, 300));
  setting.directory.file("pictures/dog/b.bmp", "");
  setting.files = {(setting.directory.path() / "pictures").string()};
  testing::internal::CaptureStderr();
  const ImageClassification objective(setting.setting());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(said, "left out 2 of 8 pictures that cannot be read: "));
  EXPECT_TRUE(contains(said, "cat/a.jpg: cannot read this picture"));
  EXPECT_TRUE(contains(said, "dog/b.bmp: expected a picture"));
  ASSERT_EQ(objective.examples(), 6);
  const Batch batch = objective.collate(examples_of(objective), {});
  EXPECT_TRUE(ops::equal(batch.labels, ops::tensor({0, 0, 0, 1, 1, 1}, kLong)));
  EXPECT_TRUE(ops::equal(batch.images.pixels[0], batch.images.pixels[3]));
  EXPECT_FALSE(ops::equal(batch.images.pixels[0], batch.images.pixels[2]));
}

TEST(MaskedImages, EquallyManyPatchesOfEachPictureAreHidden) {
  PictureSetting setting(kFiller);
  setting.recipe.noise.mask_rate = 0.4;
  const MaskedImages objective(setting.setting());
  Tensor often = ops::zeros({24}, kLong);
  for (std::int64_t epoch = 0; epoch < 100; ++epoch) {
    const Batch batch = objective.collate(examples_of(objective), {5, epoch});
    EXPECT_TRUE(batch.images.hidden.sum(1).eq(10).all().item<bool>()) << "of 24";
    EXPECT_EQ(batch.counts, (std::vector<std::int64_t>{10 * 10 * 4}));
    often += batch.images.hidden.sum(0);
  }
  // 416.7 of 1000 pictures on average, with a standard deviation of 15.6.
  EXPECT_GT(often.min().item<std::int64_t>(), 340);
  EXPECT_LT(often.max().item<std::int64_t>(), 500);
}

TEST(MaskedImages, TheLossIsOfHiddenPixelsAlone) {
  const PictureSetting setting(kFiller);
  const MaskedImages objective(setting.setting());
  Batch batch = objective.collate(std::vector<std::int64_t>{2, 5, 7}, {});
  EXPECT_EQ(batch.images.hidden.sum().item<std::int64_t>(), 3 * 14) << "0.6 of 24";
  Trainee trainee(setting.network(kFiller));
  Pass pass = Pass::inference();
  const double loss = objective.losses(trainee, batch, pass, {}).sums[0].item<double>();
  // What is visible may change the prediction, but not the target; without weights the prediction is 0.
  const Unrecorded no_grad;
  for (Tensor& weight : trainee.network()->pixel_head->parameters()) weight.zero_();
  const Tensor hidden =
      batch.images.hidden.view({3, 1, 4, 6}).repeat_interleave(2, 2).repeat_interleave(2, 3);
  const double expected = (batch.images.pixels.abs() * hidden).sum().item<double>();
  EXPECT_NEAR(objective.losses(trainee, batch, pass, {}).sums[0].item<double>(), expected, 1e-3);
  EXPECT_NE(loss, expected);
}

TEST(MaskedImages, APatchMustBecomeAsLargeAsItWas) {
  const PictureSetting setting(kFiller, {"encoder_stride=4"});
  EXPECT_TRUE(contains(error_of([&] { MaskedImages(setting.setting()); }), "encoder_stride"));
}

}  // namespace
}  // namespace attend
