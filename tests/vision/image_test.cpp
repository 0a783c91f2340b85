#include "vision/image.h"

#include "base/error.h"
#include "base/file.h"
#include "expect_error.h"
#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"
#include "vision/resize.h"

#include <random>

#include <gtest/gtest.h>

namespace attend {
namespace {

const std::filesystem::path kImages = test_data() / "images";

void expect_same(const Image& image, const Json& golden, const std::string& name) {
  EXPECT_EQ(image.width, golden.at("width").get<std::int64_t>()) << name;
  EXPECT_EQ(image.height, golden.at("height").get<std::int64_t>()) << name;
  EXPECT_EQ(image.pixels, golden.at("pixels").get<std::vector<std::uint8_t>>()) << name;
}

// Also for sizes at which either pass comes first.
TEST(Image, IsReadAndResizedAsPillowDoes) {
  const Json goldens = read_json(kImages / "goldens.json");
  for (const auto& [name, golden] : goldens.items()) {
    const Image image = read_image(kImages / name);
    expect_same(image, golden, name);
    for (const Json& wanted : golden.at("resized"))
      expect_same(resized(image, wanted.at("width"), wanted.at("height"),
                          static_cast<Resampling>(wanted.at("resampling").get<int>())),
                  wanted, name);
  }
}

TEST(Image, DamagedFilesAreRefusedByName) {
  const TemporaryDirectory directory;
  std::mt19937 random(7);
  for (const char* name : {"colours.jpg", "progressive.jpg", "turned.jpg", "cmyk.jpg", "colours.png",
                           "palette.png", "turned.png", "rows.gif", "colours.webp", "turned.webp",
                           "colours.bmp", "clear.tif", "turned.tif", "bits.tif"}) {
    const std::string bytes = read_file(kImages / name);
    // Half of a file is never a valid picture.
    EXPECT_ERROR("half: cannot read this picture: ",
                 read_image(directory.file("half", bytes.substr(0, bytes.size() / 2))))
        << name;
    for (int i = 0; i < 100; ++i) {
      std::string damaged = bytes.substr(0, 1 + random() % bytes.size());
      for (int flips = static_cast<int>(random() % 4); flips > 0; --flips)
        damaged[random() % damaged.size()] = static_cast<char>(random());
      const std::filesystem::path path = directory.file("damaged", damaged);
      try {
        const Image image = read_image(path);
        EXPECT_EQ(image.pixels.size(), static_cast<std::size_t>(image.width * image.height * 3)) << name;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
      }
    }
  }
}

TEST(Image, IsDecodedFromBytesToo) {
  const Image image = read_image(kImages / "turned.png");
  EXPECT_EQ(decode_image(read_file(kImages / "turned.png"), "it").pixels, image.pixels);
  EXPECT_EQ(error_of([] { decode_image("", "it"); }),
            "it: expected a picture (JPEG, PNG, GIF, WebP, BMP or TIFF), found nothing");
  EXPECT_TRUE(contains(error_of([] { decode_image("a text", "it"); }), "found something else"));
  EXPECT_TRUE(error_of([] { decode_image("GIF89a", "it"); }).starts_with("it: cannot read this picture: "));
}

TEST(Image, OtherFilesAreRefused) {
  const TemporaryDirectory directory;
  const auto text = directory.file("text.png", "a text");
  EXPECT_EQ(error_of([&] { read_image(text); }),
            text.string() + ": expected a picture (JPEG, PNG, GIF, WebP, BMP or TIFF), found something else");
  EXPECT_TRUE(contains(error_of([&] { read_image(directory.path() / "missing.png"); }), "missing.png"));
}

TEST(Image, FilesAreKnownByTheirEndings) {
  for (const char* name : {"a.jpg", "a.JPEG", "b/a.PNG", "a.gif", "a.webp", "a.bmp", "a.tif", "a.Tiff"})
    EXPECT_TRUE(has_image_ending(name)) << name;
  for (const char* name : {"a.txt", "jpg", "a.png.gz", "a.svg"}) EXPECT_FALSE(has_image_ending(name)) << name;
}

}  // namespace
}  // namespace attend
