// Attend for programs: load a Hugging Face model directory, ask it things. Needs no other header.
//
//   attend::Embedder embedder("all-MiniLM-L6-v2");
//   auto vectors = embedder.embed({"A cat sits on the mat.", "Ein Hund rennt."});
//
// Every function throws attend::Error with one line for a person. Any number of threads may use one object at
// a time, but for a Conversation. All classes but GenerationQueue can be copied and moved: copies share the
// model, which does not change, and nothing else. An object that was moved from can only be assigned to or
// destroyed.
#pragma once

#include <attend/error.h>
#include <attend/export.h>
#include <attend/model_path.h>
#include <attend/tokenizer.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
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

// How near two vectors are, as sentence-transformers has it: for the last two minus the distance.
enum class Similarity { cosine, dot, euclidean, manhattan };
ATTEND_API float similarity(const std::vector<float>& a, const std::vector<float>& b, Similarity kind);
// The cosine of the angle between two vectors of the same size: 1 for the same direction.
ATTEND_API float cosine_similarity(const std::vector<float>& a, const std::vector<float>& b);

// One of the vectors that were searched, by its number, and how near it is.
struct Neighbour {
  std::size_t number = 0;
  float similarity = 0;
};
// The `max_count` nearest, the nearest first; of those equally near, in their order.
ATTEND_API std::vector<Neighbour> nearest(const std::vector<float>& vector,
                                          const std::vector<std::vector<float>>& among, std::size_t max_count,
                                          Similarity kind = Similarity::cosine);

// What a text is in a search. Models may have a prompt for each.
enum class TextRole { any, query, document };

struct EmbedOptions : RunOptions {
  // What is put before every text: `prompt`, or the model's prompt of the name `prompt_name`, or that of the
  // role ("query", "document"), or with neither the model's default prompt.
  TextRole role = TextRole::any;
  std::optional<std::string> prompt_name = {}, prompt = {};
  // Vectors are cut to their first numbers, so many, as models trained for that allow (Kusupati et al. 2022,
  // arXiv:2205.13147). Cutting changes their length; `normalize` makes it 1 again. Absent: as the model says.
  std::optional<std::int64_t> dimensions = {};
  // true: vectors have the length 1. false: as they are before a last module that gives them this length.
  // Absent: as the model says.
  std::optional<bool> normalize = {};
  bool truncate = true;  // texts that are longer than the model reads; else they are an Error
};

struct EmbedderOptions {
  // What makes one vector of the states of a text's tokens, as sentence-transformers calls it: "mean", "cls",
  // "max", "lasttoken", "weightedmean" or "mean_sqrt_len_tokens". Absent: as the model's directory says.
  std::optional<std::string> pooling = {};
};

// Sentences to vectors, so that near in meaning is near in space, as sentence-transformers does it. Of a
// directory without modules.json it takes what sentence-transformers takes, and says so (log.h): the mean of
// all tokens, or the last token of a causal language model, not normalized.
class ATTEND_API Embedder {
 public:
  explicit Embedder(const ModelPath& model, const EmbedderOptions& options = {});

  // One vector per text, in order. A text without tokens is pooled to zeros.
  std::vector<std::vector<float>> embed(const std::vector<std::string>& texts,
                                        const EmbedOptions& options = {});
  // How many tokens of each text the model would read, prompt and special tokens included.
  std::vector<std::size_t> count_tokens(const std::vector<std::string>& texts,
                                        const EmbedOptions& options = {}) const;
  std::int64_t size() const;                                  // of vectors, unless options cut them
  Similarity similarity() const;                              // that the model was trained for
  const std::map<std::string, std::string>& prompts() const;  // by name

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct TranslateOptions : RunOptions {
  std::optional<std::int64_t> beams;  // absent: as the model's generation_config.json says
  std::optional<double> length_penalty;
  std::optional<std::int64_t> max_length;  // tokens of a translation
  // A JSON object with fields as in generation_config.json; what is said above counts more.
  std::string settings = "{}";
  std::string prefix;  // what every translation begins with
  // Of a model of many languages (M2M-100, NLLB), both, as transformers' src_lang and tgt_lang ("en",
  // "eng_Latn"). Empty: as the tokenizer is set, and forced_bos_token_id; Error where they name no target
  // language.
  std::string source_language, target_language;
  std::uint64_t seed = 0;  // of sampling, if the settings ask for it
};

// Text to text with an encoder-decoder (Marian and what `attend train` makes).
class ATTEND_API Translator {
 public:
  explicit Translator(const ModelPath& model);

  // One translation per text, in order. Error for a text longer than the model reads, unless `truncate`.
  std::vector<std::string> translate(const std::vector<std::string>& texts,
                                     const TranslateOptions& options = {});
  // num_return_sequences (of the settings) translations per text, the best first. With return_alternatives
  // they begin differently; of a place that no translation took, an empty one.
  std::vector<std::vector<std::string>> translate_several(const std::vector<std::string>& texts,
                                                          const TranslateOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace attend
