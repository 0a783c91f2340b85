// The labels of a picture.
#include "base/base64.h"
#include "base/error.h"
#include "pipelines/label_scores.h"

#include <algorithm>

namespace attend {
namespace {

constexpr std::string_view kDataUri = "data:";

// Base64 may contain line breaks, as the program base64 writes them. For a data: URI, decodes the part after
// its header.
std::string picture_bytes(std::string_view text, const std::string& source) {
  if (text.starts_with(kDataUri)) {
    const std::size_t comma = text.find(',');
    if (!text.substr(0, comma).ends_with(";base64"))
      fail("{}: image: expected a URI such as data:image/png;base64,..., found another", source);
    text.remove_prefix(std::min(comma, text.size() - 1) + 1);
  }
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits),
                       [](char c) { return std::string_view(" \t\r\n").find(c) == std::string_view::npos; });
  if (digits.empty()) fail("{}: image: expected a picture's file in base64, found an empty text", source);
  std::optional<std::string> bytes = decode_base64(digits);
  if (!bytes) fail("{}: image: expected a picture's file in base64, found a text that is not base64", source);
  return std::move(*bytes);
}

// The picture of an input: a file's path, a data: URI (RFC 2397), or what received() made.
Picture read_picture(const Fields& input) {
  const ErrorScope scope(ErrorKind::input);
  const auto found = input.json().find("image");
  if (found != input.json().end() && found->is_binary()) {
    const auto& bytes = found->get_binary();
    return {input.source(), std::string(bytes.begin(), bytes.end())};
  }
  std::string text = input.text({"image", "text", "inputs"});
  if (text.starts_with(kDataUri)) return {input.source(), picture_bytes(text, input.source())};
  return {std::move(text)};
}

class ImageClassification : public Pipeline {
 public:
  Options parameters() override {
    return {option::integer("top_k", options_.top_k, 0, "Max labels per picture, best first; 0: all"),
            function_parameter(options_.function)};
  }
  void load(const ModelPath& model) override { classifier_.emplace(model); }

  std::vector<InputField> fields() const override { return {{{"image", "text", "inputs"}}}; }

  // The text, which is a file in base64 or a data: URI, is replaced by its bytes.
  Json received(const Fields& input) const override {
    const ErrorScope scope(ErrorKind::input);
    const std::string bytes = picture_bytes(input.text({"image", "text", "inputs"}), input.source());
    return {{"image", Json::binary({bytes.begin(), bytes.end()})}};
  }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    std::vector<Picture> pictures;
    for (const Fields& input : inputs) {
      const ErrorScope scope(ErrorKind::input);
      pictures.push_back(read_picture(input));
    }
    static_cast<RunOptions&>(options_) = run;
    std::vector<Json> answers;
    for (const auto& labels : classifier_->classify(pictures, options_))
      answers.push_back(label_list(labels));
    return answers;
  }

 private:
  ImageOptions options_;
  std::optional<ImageClassifier> classifier_;
};

}  // namespace

extern const PipelineKind image_classification_pipeline;
const PipelineKind image_classification_pipeline = {
    "image-classification", "the labels of a picture",
    "Classifies pictures. Texts are the names of files (JPEG, PNG, GIF, WebP, BMP, TIFF) or data: URIs.",
    "attend run image-classification vit-base-patch16-224 cat.jpg --top-k 3",
    make_pipeline<ImageClassification>};

}  // namespace attend
