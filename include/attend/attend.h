// Attend for programs: load a Hugging Face model directory, ask it things. Needs no other header.
//
//   attend::Embedder embedder("all-MiniLM-L6-v2");
//   auto vectors = embedder.embed({"A cat sits on the mat.", "Ein Hund rennt."});
//
// Every function throws attend::Error with one line for a person. Any number of threads may use one object at
// a time, but for a Conversation.
#pragma once

#include <attend/error.h>
#include <attend/model_path.h>
#include <attend/tokenizer.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// Called now and then with how many of how many are done.
using OnProgress = std::function<void(std::size_t done, std::size_t total)>;

struct RunOptions {
  std::int64_t batch_tokens = 4096;  // how many tokens go through the model at once
  OnProgress on_progress;
  // The one of the model's adapters that the texts are read with, counted from 0 (-1: none); absent: all.
  std::optional<std::int64_t> adapter = {};
  // Texts longer than the model and its tokenizer (model_max_length) allow are cut off there, and the first
  // of them is a remark. Otherwise they are an Error, unless a task says that it always cuts.
  bool truncate = false;
};

// Sentences to vectors of one length, so that near in meaning is near in angle: sentence-transformers'
// directories with their pooling, other encoders by the mean of their token vectors.
class Embedder {
 public:
  explicit Embedder(const ModelPath& model);
  Embedder(Embedder&&) noexcept;
  ~Embedder();

  // One vector of size() per text, in order. Longer texts than the model reads are cut off, as
  // sentence-transformers does.
  std::vector<std::vector<float>> embed(const std::vector<std::string>& texts,
                                        const RunOptions& options = {});
  std::int64_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The cosine of the angle between two vectors of the same size: 1 for the same direction.
float cosine_similarity(const std::vector<float>& a, const std::vector<float>& b);

// One of the vectors that were searched, by its number, and its cosine with the one that was looked for.
struct Neighbour {
  std::size_t number = 0;
  float similarity = 0;
};
// The `most` nearest, the nearest first; of those equally near, in their order.
std::vector<Neighbour> nearest(const std::vector<float>& vector, const std::vector<std::vector<float>>& among,
                               std::size_t most);

struct TranslateOptions : RunOptions {
  std::optional<std::int64_t> beams;  // absent: as the model's generation_config.json says
  std::optional<double> length_penalty;
  std::optional<std::int64_t> max_length;  // tokens of a translation
  // A JSON object with fields as in generation_config.json; what is said above counts more.
  std::string settings = "{}";
  std::string prefix;      // what every translation begins with
  std::uint64_t seed = 0;  // of sampling, if the settings ask for it
};

// Text to text with an encoder-decoder (Marian and what `attend train` makes).
class Translator {
 public:
  explicit Translator(const ModelPath& model);
  Translator(Translator&&) noexcept;
  ~Translator();

  // One translation per text, in order. Error for a text longer than the model reads, unless `truncate`.
  std::vector<std::string> translate(const std::vector<std::string>& texts,
                                     const TranslateOptions& options = {});
  // num_return_sequences (of the settings) translations per text, the best first. With return_alternatives
  // they begin differently; of a place that no translation took, an empty one.
  std::vector<std::vector<std::string>> translate_several(const std::vector<std::string>& texts,
                                                          const TranslateOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attend
