// Sentences to vectors: load a Hugging Face model directory and use it.
//
//   attend::Embedder embedder("all-MiniLM-L6-v2");
//   auto vectors = embedder.embed({"A cat sits on the mat.", "Ein Hund rennt."});
#pragma once

#include <attend/export.h>
#include <attend/model_path.h>
#include <attend/run_options.h>
#include <attend/similarity.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

// The role of a text in a search. Models may have a prompt for each role.
enum class TextRole { any, query, document };

struct EmbedOptions : RunOptions {
  // The prompt before every text: `prompt`, else the model's prompt named `prompt_name`, else the prompt of
  // the role ("query", "document"), else the model's default prompt.
  TextRole role = TextRole::any;
  std::optional<std::string> prompt_name = {}, prompt = {};
  // Keeps only the first `dimensions` numbers of a vector, for models trained for that (Kusupati et al. 2022,
  // arXiv:2205.13147). If the model's vectors have length 1, so do the shorter ones. Absent: the model's
  // setting (truncate_dim), after which vectors are not scaled again, as in sentence-transformers.
  std::optional<std::int64_t> dimensions = {};
  // true: scale vectors to length 1. false: skip the model's final Normalize module. Absent: the model's
  // setting.
  std::optional<bool> normalize = {};
  bool truncate = true;  // if false, texts longer than the model's maximum are an Error
};

struct EmbedderOptions {
  // How token states become one vector, with sentence-transformers' names: "mean", "cls", "max", "lasttoken",
  // "weightedmean" or "mean_sqrt_len_tokens". Absent: the setting of the model's directory.
  std::optional<std::string> pooling = {};
};

// Turns sentences into vectors, as sentence-transformers does: similar meanings get similar vectors. For a
// directory without modules.json it uses sentence-transformers' defaults and logs them (log.h): the mean of
// all tokens, or the last token of a causal language model, not normalized.
class ATTEND_API Embedder {
 public:
  explicit Embedder(const ModelPath& model, const EmbedderOptions& options = {});

  // One vector per text, in order. A text without tokens gives a vector of zeros.
  std::vector<std::vector<float>> embed(const std::vector<std::string>& texts,
                                        const EmbedOptions& options = {});
  // The number of tokens that the model reads of each text, including prompt and special tokens.
  std::vector<std::size_t> count_tokens(const std::vector<std::string>& texts,
                                        const EmbedOptions& options = {}) const;
  std::int64_t size() const;      // dimensions of a vector, without EmbedOptions::dimensions
  Similarity similarity() const;  // the one that the model was trained for
  const std::map<std::string, std::string>& prompts() const;  // by name

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace v1
}  // namespace attend
