#include "tasks/quantization/watched_matrix.h"

#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"
#include "models/padded/forward.h"
#include "nn/linear/linear.h"

#include <algorithm>

namespace attend {
namespace {

constexpr std::size_t kMaxWatchedTokens = 16384;

// The texts' tokens, one text each.
std::vector<Tensor> read_ids(const ModelDirectory& directory, const PretrainedModel& model,
                             const std::filesystem::path& file) {
  Tokenizer tokenizer = Tokenizer::from_file(directory.path());
  Transformer network = model.network();
  const Stack stack = network->encoder ? network->encoder : network->decoder;
  tokenizer.truncation() =
      Truncation{.max_length = static_cast<std::size_t>(std::min<std::int64_t>(
                     stack->embeddings->max_positions(), static_cast<std::int64_t>(kMaxWatchedTokens)))};
  tokenizer.padding().reset();
  std::vector<Tensor> texts;
  std::size_t tokens = 0;
  for (const std::string& line : read_lines(file)) {
    const Encoding encoding = tokenizer.encode(line, {.with_details = false});
    if (encoding.ids.empty()) continue;
    if ((tokens += encoding.ids.size()) > kMaxWatchedTokens && !texts.empty()) break;
    texts.push_back(
        ops::tensor(std::vector<std::int64_t>(encoding.ids.begin(), encoding.ids.end())).unsqueeze(0));
  }
  if (texts.empty()) fail("{}: there is no text in it", file.string());
  return texts;
}

}  // namespace

Tensor WatchedMatrix::multiply(const Tensor& x, const Tensor& bias, Activation activation,
                               const Tensor& residual) const {
  see_product(x, 0, out_);
  return linear(x, weight_, bias, nullptr, activation, residual);
}

Tensor WatchedMatrix::part(const Tensor& x, std::int64_t first, std::int64_t count) const {
  see_product(x, first, count);
  return linear(x, weight_.narrow(0, first, count), {}, nullptr);
}

Tensor WatchedMatrix::rows(const Tensor& ids) const {
  see_rows(ids);
  return weight_.index_select(0, ids);
}

void read_texts_through(const PretrainedModel& model, const ModelDirectory& directory,
                        const std::filesystem::path& file) {
  if (model.network()->reads_images())
    fail("{}: expected a model that reads text, found {}", directory.path().string(), model.architecture());
  for (const Tensor& ids : read_ids(directory, model, file)) {
    std::map<std::string, Tensor> inputs = {{"input_ids", ids}};
    if (model.network()->is_encoder_decoder()) inputs["decoder_input_ids"] = ids;
    run_forward(model, inputs, {});
  }
}

}  // namespace attend
