#include "data/picture_files.h"

#include "temporary_directory.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Strings = std::vector<std::string>;

std::string picture(const std::string& name) {
  return read_file(test_data() / "images" / name);
}

std::string number(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

const std::string kTwoPictures = number(0x803) + number(2) + number(1) + number(2) + "\x01\x02\x03\xFF";
const std::string kTwoLabels = number(0x801) + number(2) + std::string("\x07\x00", 2);

TEST(PictureFiles, OfAFolderForEachClass) {
  const TemporaryDirectory directory;
  directory.file("dog/2.PNG", picture("colours.png"));
  directory.file("dog/1.jpg", picture("colours.jpg"));
  directory.file("cat/1.png", picture("grey.png"));
  directory.file(".hidden/1.png", "");
  const PictureFiles files(directory.path());
  EXPECT_EQ(files.labels(), (Strings{"cat", "dog"}));
  ASSERT_EQ(files.count(), 3);
  EXPECT_EQ(files.label_id(0), 0);
  EXPECT_EQ(files.label_id(2), 1);
  EXPECT_TRUE(contains(files.place(2), "dog/2.PNG"));
  EXPECT_EQ(files.image(2).pixels, read_image(directory.path() / "dog/2.PNG").pixels);
}

TEST(PictureFiles, OfAFolderWithoutClasses) {
  const TemporaryDirectory directory;
  directory.file("1.png", picture("grey.png"));
  const PictureFiles files(directory.path());
  EXPECT_FALSE(files.labelled());
  EXPECT_EQ(files.count(), 1);
  EXPECT_EQ(files.label_id(0), -1);
  directory.file("cat/1.png", picture("grey.png"));
  EXPECT_TRUE(contains(error_of([&] { PictureFiles{directory.path()}; }), "found both"));
  const TemporaryDirectory empty;
  EXPECT_TRUE(contains(error_of([&] { PictureFiles{empty.path()}; }), "found none"));
  EXPECT_TRUE(contains(error_of([&] { PictureFiles{empty.path() / "no"}; }), "no such file or folder"));
}

TEST(PictureFiles, OfIdx) {
  const TemporaryDirectory directory;
  const auto images = directory.file("t10k-images-idx3-ubyte", kTwoPictures);
  EXPECT_FALSE(PictureFiles(images).labelled());
  directory.file("t10k-labels-idx1-ubyte", kTwoLabels);
  for (const auto& path : {images, directory.path()}) {
    const PictureFiles files(path);
    EXPECT_EQ(files.labels(), (Strings{"0", "7"}));
    ASSERT_EQ(files.count(), 2);
    EXPECT_EQ(files.label_id(0), 1);
    const Image image = files.image(1);
    EXPECT_EQ(image.width, 2);
    EXPECT_EQ(image.height, 1);
    EXPECT_EQ(image.pixels, (std::vector<std::uint8_t>{3, 3, 3, 255, 255, 255}));
  }
  directory.file("train-images-idx3-ubyte", kTwoPictures);
  EXPECT_TRUE(contains(error_of([&] { PictureFiles{directory.path()}; }), "found several"));
}

TEST(PictureFiles, RefuseIdxThatIsNotWhole) {
  const auto reason = [](const std::string& images, const std::string& labels) {
    const TemporaryDirectory directory;
    const auto path = directory.file("a-images-idx3-ubyte", images);
    directory.file("a-labels-idx1-ubyte", labels);
    return error_of([&] { PictureFiles{path}; });
  };
  for (std::size_t size = 0; size < kTwoPictures.size(); ++size)
    EXPECT_TRUE(contains(reason(kTwoPictures.substr(0, size), kTwoLabels), "a-images-idx3-ubyte: expected"))
        << size;
  EXPECT_TRUE(contains(reason(kTwoPictures + "x", kTwoLabels), "truncated or damaged"));
  const std::string max = number(0xFFFFFFFF);
  EXPECT_TRUE(contains(reason(number(0x803) + max + max + max + "x", kTwoLabels), "truncated or damaged"));
  EXPECT_TRUE(contains(reason(number(0x803) + number(0) + max + max, kTwoLabels), "found none"));
  EXPECT_TRUE(contains(reason(kTwoPictures, number(0x801) + number(1) + "x"), "expected 2 labels"));
  EXPECT_TRUE(contains(reason("\x1F\x8B" + kTwoPictures, kTwoLabels), "gunzip"));
}

TEST(PictureFiles, RefuseCompressedOnesWithAdvice) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a-images-idx3-ubyte.gz", "\x1F\x8B");
  EXPECT_TRUE(contains(error_of([&] { PictureFiles{path}; }), "gunzip"));
  EXPECT_TRUE(contains(error_of([&] { PictureFiles{directory.path()}; }), "gunzip"));
}

TEST(PictureFiles, OfATable) {
  const TemporaryDirectory directory;
  directory.file("pictures/a.png", picture("grey.png"));
  directory.file("pictures/b.jpg", picture("colours.jpg"));
  const auto table =
      directory.file("train.tsv", "pictures/a.png\tgrey\nno.png\tgrey\npictures/b.jpg\tbright\n");
  testing::internal::CaptureStderr();
  const PictureFiles files(table);
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "train.tsv, line 2: there is no file"));
  EXPECT_EQ(files.labels(), (Strings{"bright", "grey"}));
  EXPECT_EQ(files.label_id(0), 1);
  EXPECT_EQ(files.image(1).pixels, read_image(directory.path() / "pictures/b.jpg").pixels);
  const PictureFiles json(directory.file("metadata.jsonl", R"({"file_name": "pictures/a.png", "label": 3})"));
  EXPECT_EQ(json.labels(), Strings{"3"});
}

}  // namespace
}  // namespace attend
