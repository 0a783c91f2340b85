#include "data/picture_files.h"

#include "base/error.h"
#include "base/log.h"
#include "base/utf8.h"
#include "data/labeled_texts.h"
#include "data/lines.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace attend {
namespace {

namespace fs = std::filesystem;

// The entries of a folder, sorted by name, without hidden files.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (!entry->path().filename().string().starts_with('.')) paths.push_back(entry->path());
  if (error) fail("{}: cannot read the folder: {}", folder.string(), error.message());
  std::ranges::sort(paths);
  return paths;
}

constexpr std::string_view kImages = "-images-idx3-ubyte", kLabels = "-labels-idx1-ubyte";
// Some copies have a dot where the original has a dash.
constexpr std::string_view kDottedImages = "-images.idx3-ubyte", kDottedLabels = "-labels.idx1-ubyte";

bool is_idx_images(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(kImages) || name.ends_with(kDottedImages);
}

// An IDX file of bytes with `Dimensions` dimensions: a magic number, the dimensions in big-endian order, the
// bytes. https://yann.lecun.com/exdb/mnist
template <std::size_t Dimensions>
struct Idx {
  MappedFile file;
  std::array<std::int64_t, Dimensions> sizes;
  std::span<const std::byte> data;

  explicit Idx(const fs::path& path) : file(path) {
    const std::span<const std::byte> bytes = file.bytes();
    constexpr std::size_t header = 4 + 4 * Dimensions;
    const auto number = [&](std::size_t at) {
      std::int64_t value = 0;
      for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::int64_t>(bytes[at + i]);
      return value;
    };
    constexpr std::int64_t magic = 0x0800 + static_cast<std::int64_t>(Dimensions);
    if (bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B})
      fail("{}: this file is compressed; unpack it (gunzip)", path.string());
    if (bytes.size() < header || number(0) != magic)
      fail("{}: expected an IDX file of bytes in {} dimensions, which begins with 0x{:08x}", path.string(),
           Dimensions, magic);
    constexpr std::uint64_t max = std::uint64_t{1} << 40;
    std::uint64_t size = 1;
    for (std::size_t i = 0; i < Dimensions; ++i) {
      sizes[i] = number(4 + 4 * i);
      size = sizes[i] == 0 || size <= max / static_cast<std::uint64_t>(sizes[i])
                 ? size * static_cast<std::uint64_t>(sizes[i])
                 : max;
      if (sizes[i] == 0) fail("{}: expected pictures or labels, found none", path.string());
    }
    data = bytes.subspan(header);
    if (data.size() != size)
      fail("{}: expected {} bytes after the header, as it says, found {}; the file is truncated or damaged",
           path.string(), size, data.size());
  }
};

}  // namespace

PictureFiles::PictureFiles(const fs::path& path, const TableOptions& options) {
  if (!file_exists(path)) fail("{}: there is no such file or folder", path.string());
  if (path.extension() == ".gz") fail("{}: this file is compressed; unpack it (gunzip)", path.string());
  if (fs::is_directory(path))
    read_folder(path);
  else if (is_idx_images(path))
    read_idx(path);
  else
    read_rows(path, options);
}

void PictureFiles::read_folder(const fs::path& folder) {
  std::vector<fs::path> classes, idx, compressed;
  std::vector<std::string> names;
  std::size_t others = 0;
  const auto add = [&](const fs::path& path, const std::string& name) {
    if (!has_image_ending(path)) {
      ++others;
      return;
    }
    paths_.push_back(path);
    if (!name.empty()) names.push_back(name);
  };
  for (const fs::path& path : entries(folder)) {
    if (fs::is_directory(path))
      classes.push_back(path);
    else if (is_idx_images(path))
      idx.push_back(path);
    else if (is_idx_images(fs::path(path).replace_extension()) && path.extension() == ".gz")
      compressed.push_back(path);
    else
      add(path, "");
  }
  if (idx.size() == 1 && classes.empty() && paths_.empty()) return read_idx(idx.front());
  if (idx.size() > 1)
    fail("{}: expected one file of pictures, found several, such as {} and {}; name the one", folder.string(),
         idx[0].filename().string(), idx[1].filename().string());
  if (!paths_.empty() && !classes.empty())
    fail("{}: expected either pictures or a folder of them for each class, found both", folder.string());
  for (const fs::path& path : classes)
    for (const fs::path& picture : entries(path)) add(picture, path.filename().string());
  if (paths_.empty() && !compressed.empty())
    fail("{}: the files are compressed; unpack {} (gunzip)", folder.string(),
         compressed.front().filename().string());
  if (paths_.empty())
    fail("{}: expected folders of pictures ({}), one for each class, or IDX files (NAME{}); found none",
         folder.string(), kImageFormats, kImages);
  if (others > 0)
    warn("{}: skipped {} files whose names do not end as pictures' do ({})", folder.string(), others,
         kImageFormats);
  for (const std::string& name : names) check_utf8(name, folder.string());
  set_labels(names);
}

void PictureFiles::read_idx(const fs::path& images) {
  Idx<3> pictures(images);
  constexpr std::int64_t max_pixels = std::int64_t{1} << 28;
  width_ = pictures.sizes[2];
  height_ = pictures.sizes[1];
  if (width_ > max_pixels / height_)
    fail("{}: pictures of {} x {} pixels are too large", images.string(), width_, height_);
  pixels_ = pictures.file;
  label_ids_.assign(static_cast<std::size_t>(pictures.sizes[0]), -1);

  std::string name = images.filename().string();
  const bool dotted = name.ends_with(kDottedImages);
  name.resize(name.size() - kImages.size());
  const fs::path path = images.parent_path() / (name + std::string(dotted ? kDottedLabels : kLabels));
  if (!file_exists(path)) {
    if (file_exists(path.string() + ".gz"))
      fail("{}.gz: this file is compressed; unpack it (gunzip)", path.string());
    return;
  }
  const Idx<1> labels(path);
  if (labels.sizes[0] != pictures.sizes[0])
    fail("{}: expected {} labels, one for each picture, found {}", path.string(), pictures.sizes[0],
         labels.sizes[0]);
  std::vector<std::string> names;
  names.reserve(labels.data.size());
  for (const std::byte label : labels.data) names.push_back(std::to_string(std::to_integer<int>(label)));
  set_labels(names);
}

void PictureFiles::read_rows(const fs::path& table, const TableOptions& options) {
  std::vector<std::string> names;
  read_table({table.string()}, options, {"a picture's path and its label", {{"image", "label"}}},
             [&](const Fields& row) {
               const fs::path path = table.parent_path() / row.text({"image"});
               std::string name = label_name(row.json()["label"], row.source());
               if (!file_exists(path)) fail("{}: there is no file {}", row.source(), path.string());
               paths_.push_back(path);
               names.push_back(std::move(name));
             });
  set_labels(names);
}

void PictureFiles::set_labels(const std::vector<std::string>& names) {
  label_ids_.assign(names.empty() ? paths_.size() : names.size(), -1);
  labels_ = in_label_order(names);
  std::unordered_map<std::string_view, std::int64_t> ids;
  for (const std::string& label : labels_) ids.emplace(label, ids.size());
  for (std::size_t i = 0; i < names.size(); ++i) label_ids_[i] = ids.at(names[i]);
}

Image PictureFiles::image(std::int64_t number) const {
  const auto at = static_cast<std::size_t>(number);
  if (!pixels_) return read_image(paths_.at(at));
  constexpr std::size_t header = 16;
  const auto size = static_cast<std::size_t>(width_ * height_);
  Image image{width_, height_, std::vector<std::uint8_t>(size * 3)};
  const std::span<const std::byte> grey = pixels_->bytes().subspan(header + at * size, size);
  for (std::size_t i = 0; i < size; ++i)
    std::fill_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i), 3,
                std::to_integer<std::uint8_t>(grey[i]));
  return image;
}

std::string PictureFiles::place(std::int64_t number) const {
  if (!pixels_) return paths_.at(static_cast<std::size_t>(number)).string();
  return fmt::format("{}, picture {}", pixels_->path().string(), number);
}

}  // namespace attend
