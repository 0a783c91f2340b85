// Embedding and translation: load a Hugging Face model directory and use it. Includes all headers that it
// needs.
//
//   attend::Embedder embedder("all-MiniLM-L6-v2");
//   auto vectors = embedder.embed({"A cat sits on the mat.", "Ein Hund rennt."});
//
// Every function throws attend::Error, whose text is one line for a person. All classes are thread-safe
// except Conversation: any number of threads may use one object at the same time. All classes except
// GenerationQueue can be copied and moved. Copies share the model, which never changes, and nothing else. A
// moved-from object can only be assigned to or destroyed.
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

// Called from time to time with the number of finished items and the total.
using OnProgress = std::function<void(std::size_t done, std::size_t total)>;

struct RunOptions {
  std::int64_t batch_tokens = 4096;  // tokens per forward pass
  OnProgress on_progress;
  // Index of the adapter to use, from 0 (-1: no adapter); absent: all adapters of the model.
  std::optional<std::int64_t> adapter = {};
  // Truncates texts at the maximum of the model and its tokenizer (model_max_length), and logs the first one.
  // If false, a longer text is an Error, unless a task says that it always truncates.
  bool truncate = false;
};

// Similarity of two vectors, as in sentence-transformers. For euclidean and manhattan it is the negative
// distance.
enum class Similarity { cosine, dot, euclidean, manhattan };
ATTEND_API float similarity(const std::vector<float>& a, const std::vector<float>& b, Similarity kind);
// Cosine similarity of two vectors of the same size, from -1 to 1.
ATTEND_API float cosine_similarity(const std::vector<float>& a, const std::vector<float>& b);

// A search result: the index of a vector and its similarity to the query.
struct Neighbour {
  std::size_t number = 0;
  float similarity = 0;
};
// The `max_count` most similar vectors, best first. Equal ones keep their order.
ATTEND_API std::vector<Neighbour> nearest(const std::vector<float>& vector,
                                          const std::vector<std::vector<float>>& among, std::size_t max_count,
                                          Similarity kind = Similarity::cosine);

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

struct TranslateOptions : RunOptions {
  std::optional<std::int64_t> beams;  // absent: from the model's generation_config.json
  std::optional<double> length_penalty;
  std::optional<std::int64_t> max_length;  // max tokens of a translation
  // A JSON object with fields of generation_config.json. The fields above override it.
  std::string settings = "{}";
  std::string prefix;  // the start of every translation
  // For multilingual models (M2M-100, NLLB): both languages, as transformers' src_lang and tgt_lang ("en",
  // "eng_Latn"). Empty: the tokenizer's settings and forced_bos_token_id; an Error if they give no target
  // language.
  std::string source_language, target_language;
  std::uint64_t seed = 0;  // for sampling
};

// Translates text with an encoder-decoder (Marian, or a model from `attend train`).
class ATTEND_API Translator {
 public:
  explicit Translator(const ModelPath& model);

  // One translation per text, in order. Throws Error for a text longer than the model's maximum, unless
  // `truncate`.
  std::vector<std::string> translate(const std::vector<std::string>& texts,
                                     const TranslateOptions& options = {});
  // num_return_sequences translations per text (from `settings`), best first. With return_alternatives they
  // start with different tokens; a missing alternative is an empty text.
  std::vector<std::vector<std::string>> translate_several(const std::vector<std::string>& texts,
                                                          const TranslateOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace attend
