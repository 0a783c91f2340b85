#include "vision/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attend {
namespace {

double sinc(double x) {
  return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

struct Filter {
  double radius;
  double (*weight)(double distance);
};

Filter filter_of(Resampling resampling) {
  switch (resampling) {
    case Resampling::lanczos:
      return {3, [](double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0.0; }};
    case Resampling::bicubic:
      return {2, [](double x) {
                constexpr double a = -0.5;
                x = std::abs(x);
                if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
                return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
              }};
    case Resampling::box:
      return {0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }};
    case Resampling::hamming:
      return {1, [](double x) {
                x = std::abs(x);
                return x < 1 ? sinc(x) * (0.54 + 0.46 * std::cos(std::numbers::pi * x)) : 0.0;
              }};
    case Resampling::bilinear:
      break;
  }
  return {1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }};
}

// Weights are whole numbers of 2^-22, so that the sum of a byte times each fits into an int.
constexpr int kBits = 22;

// The source pixels and weights of one result pixel.
struct Taps {
  std::int64_t first;
  std::vector<int> weights;
};

std::vector<Taps> make_taps(std::int64_t from, std::int64_t to, const Filter& filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), spread = std::max(scale, 1.0);
  const double radius = filter.radius * spread;
  std::vector<Taps> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = std::max<std::int64_t>(static_cast<std::int64_t>(center - radius + 0.5), 0);
    const auto end = std::min(static_cast<std::int64_t>(center + radius + 0.5), from);
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j)
      sum += weights.emplace_back(filter.weight((static_cast<double>(j) - center + 0.5) * (1 / spread)));
    Taps taps{begin, {}};
    for (const double weight : weights) {
      const double whole = (sum == 0 ? weight : weight / sum) * (1 << kBits);
      taps.weights.push_back(static_cast<int>(whole < 0 ? whole - 0.5 : whole + 0.5));
    }
    all.push_back(std::move(taps));
  }
  return all;
}

// One byte of the result: `step` bytes lie between those it is made of.
std::uint8_t mix(const std::uint8_t* from, std::int64_t step, const Taps& taps) {
  int sum = 1 << (kBits - 1);
  from += taps.first * step;
  for (const int weight : taps.weights) {
    sum += *from * weight;
    from += step;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kBits, 0, 255));
}

Image empty(std::int64_t width, std::int64_t height) {
  return {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * 3))};
}

Image with_width(const Image& image, std::int64_t width, const Filter& filter) {
  if (width == image.width) return image;
  const std::vector<Taps> taps = make_taps(image.width, width, filter);
  Image result = empty(width, image.height);
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        result.row(y)[x * 3 + c] = mix(image.row(y) + c, 3, taps[static_cast<std::size_t>(x)]);
  return result;
}

Image with_height(const Image& image, std::int64_t height, const Filter& filter) {
  if (height == image.height) return image;
  const std::vector<Taps> taps = make_taps(image.height, height, filter);
  Image result = empty(image.width, height);
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t i = 0; i < image.width * 3; ++i)
      result.row(y)[i] = mix(image.pixels.data() + i, image.width * 3, taps[static_cast<std::size_t>(y)]);
  return result;
}

}  // namespace

Image resized(const Image& image, std::int64_t width, std::int64_t height, Resampling resampling) {
  const Filter filter = filter_of(resampling);
  // The order shows in the last bit of a byte, since both passes round.
  const std::int64_t less_height = image.height - height, less_width = image.width - width;
  if (less_height > 0 && less_height > 2 * less_width)
    return with_width(with_height(image, height, filter), width, filter);
  return with_height(with_width(image, width, filter), height, filter);
}

}  // namespace attend
