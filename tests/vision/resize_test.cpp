#include "vision/resize.h"

#include "vision/orientation.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// A grey picture.
Image grey(std::int64_t width, std::int64_t height, const std::vector<int>& values) {
  Image image{width, height, {}};
  for (const int value : values) image.pixels.insert(image.pixels.end(), 3, static_cast<std::uint8_t>(value));
  return image;
}

std::vector<int> reds(const Image& image) {
  std::vector<int> values;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) values.push_back(image.pixels[i]);
  return values;
}

TEST(Resize, LeavesAPictureOfThatSizeAlone) {
  const Image image = grey(2, 2, {1, 2, 3, 4});
  EXPECT_EQ(reds(resized(image, 2, 2, Resampling::bilinear)), (std::vector<int>{1, 2, 3, 4}));
}

TEST(Resize, MixesNeighboursByTheirDistance) {
  // Between the centres of two pixels: three quarters of the nearer one.
  EXPECT_EQ(reds(resized(grey(2, 1, {0, 100}), 4, 1, Resampling::bilinear)),
            (std::vector<int>{0, 25, 75, 100}));
  EXPECT_EQ(reds(resized(grey(1, 2, {0, 100}), 1, 4, Resampling::bilinear)),
            (std::vector<int>{0, 25, 75, 100}));
}

TEST(Resize, TakesMorePixelsTogetherWhereItMakesAPictureSmaller) {
  EXPECT_EQ(reds(resized(grey(4, 1, {0, 0, 200, 200}), 2, 1, Resampling::box)), (std::vector<int>{0, 200}));
  const std::vector<int> smooth = reds(resized(grey(4, 1, {0, 0, 200, 200}), 2, 1, Resampling::bilinear));
  EXPECT_EQ(smooth, (std::vector<int>{29, 171}));  // weights 3, 3, 1
}

TEST(Orientation, TurnsAPictureUpright) {
  const Image image = grey(3, 2, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(reds(oriented(image, 1)), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reds(oriented(image, 3)), (std::vector<int>{6, 5, 4, 3, 2, 1}));
  const Image clockwise = oriented(image, 6);
  EXPECT_EQ(clockwise.width, 2);
  EXPECT_EQ(reds(clockwise), (std::vector<int>{4, 1, 5, 2, 6, 3}));
  EXPECT_EQ(reds(oriented(image, 8)), (std::vector<int>{3, 6, 2, 5, 1, 4}));
}

TEST(Orientation, IsReadInBothByteOrders) {
  const std::string little("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 28);
  const std::string big("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0", 28);
  EXPECT_EQ(exif_orientation(little), 6);
  EXPECT_EQ(exif_orientation(big), 6);
  EXPECT_EQ(exif_orientation(big.substr(0, 20)), 0);
  EXPECT_EQ(exif_orientation(little.substr(6)), 6);  // as in PNG and WebP, without a header
  EXPECT_EQ(exif_orientation("JFIF"), 0);
}

TEST(Orientation, IsReadFromXmp) {
  EXPECT_EQ(xmp_orientation(R"(<rdf:Description tiff:Orientation="6"/>)"), 6);
  EXPECT_EQ(xmp_orientation("<tiff:Orientation>3</tiff:Orientation>"), 3);
  EXPECT_EQ(xmp_orientation("<tiff:Orientation>9</tiff:Orientation>"), 0);
  EXPECT_EQ(xmp_orientation("tiff:Orientation"), 0);
}

}  // namespace
}  // namespace attend
