// Tasks: text (or an image) in, answer out, as in Hugging Face's pipelines, with their defaults.
//
//   attend::TextClassifier classifier("sentiment");
//   for (const auto& labels : classifier.classify({{"What a day!"}, {"Never again."}}))
//     std::cout << labels[0].label << "\n";
//
// Each class loads a model directory with a suitable head, or shares a loaded Model (attend/model.h). Answers
// are in the order of the inputs, however these are batched. attend/attend.h has the rules for copies and
// threads.
#pragma once

#include <attend/conversation.h>
#include <attend/export.h>
#include <attend/generation_config.h>
#include <attend/run_options.h>
#include <attend/tokenizer.h>
#include <attend/tool_calls.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attend {
class TextModel;

inline namespace v1 {

struct LabelScore {
  std::string label;
  float score = 0;
};

// The function applied to the logits. by_model: none for a regression, sigmoid for a single label or
// multi-label models, else softmax.
enum class ScoreFunction { by_model, softmax, sigmoid, none };

struct ClassifyOptions : RunOptions {
  std::size_t top_k = 1;  // labels per text, best first; 0: all
  ScoreFunction function = ScoreFunction::by_model;
};

// A text, or a pair of texts that is classified together.
struct TextAndPair {
  std::string text;
  std::optional<std::string> pair = {};
};

class ATTEND_API TextClassifier {
 public:
  explicit TextClassifier(const ModelPath& model);
  // For each text its best labels. Throws Error for a model without a classification head.
  std::vector<std::vector<LabelScore>> classify(const std::vector<TextAndPair>& texts,
                                                const ClassifyOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

// none: each token alone. simple: adjacent tokens of one type form an entity (B- starts a new one). The
// others classify whole words: by their first token, by the mean of the scores, or by the token with the
// highest score.
enum class Aggregation { none, simple, first, average, max };

struct TokenOptions : RunOptions {
  Aggregation aggregation = Aggregation::none;
  std::vector<std::string> ignored_labels = {"O"};
  // Reads texts longer than the model's maximum in overlapping windows that share this many tokens. Absent:
  // such texts are truncated, as in the pipeline, with a warning for the first. Needs an aggregation.
  std::optional<std::size_t> stride;
};

struct Entity {
  std::string label;  // "B-PER"; with aggregation "PER"
  float score = 0;
  std::string word;
  std::size_t start = 0, end = 0;  // in characters of the text
  std::size_t index = 0;           // index of the token; only without aggregation
};

class ATTEND_API TokenClassifier {
 public:
  explicit TokenClassifier(const ModelPath& model);
  std::vector<std::vector<Entity>> classify(const std::vector<std::string>& texts,
                                            const TokenOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

struct FillOptions : RunOptions {
  std::size_t top_k = 5;             // limited by the vocabulary or the targets
  std::vector<std::string> targets;  // only these; else a text's first token
};

struct Filling {
  float score = 0;
  TokenId token = 0;
  std::string token_text;
  std::string sequence;  // the text with this token; other masks stay
};

class ATTEND_API MaskFiller {
 public:
  explicit MaskFiller(const ModelPath& model);
  // For each text and each of its masks the best tokens, best first. Throws Error for a text without a mask.
  std::vector<std::vector<std::vector<Filling>>> fill(const std::vector<std::string>& texts,
                                                      const FillOptions& options = {});
  std::string mask() const;  // the tokenizer's mask token, such as "[MASK]"

 private:
  std::shared_ptr<TextModel> model_;
};

struct Question {
  std::string question, context;
};

// Long contexts are read in overlapping windows. `truncate` cuts a question that leaves no room for its
// context.
struct AnswerOptions : RunOptions {
  std::size_t top_k = 1;
  std::size_t max_answer_length = 15;     // tokens
  std::optional<std::size_t> max_length;  // of question and context in tokens; 384, or the model's maximum
  std::optional<std::size_t> stride;      // tokens shared by two windows of a long context; 128
  bool may_be_impossible = false;         // allow an empty answer for a question without one
  bool whole_words = true;                // start and end answers at word boundaries
};

struct Answer {
  float score = 0;
  std::size_t start = 0, end = 0;  // in characters of the context
  std::string text;
};

class ATTEND_API QuestionAnswerer {
 public:
  explicit QuestionAnswerer(const ModelPath& model);
  // For each question the best answers, best first; fewer than top_k if the context has no more.
  std::vector<std::vector<Answer>> answer(const std::vector<Question>& questions,
                                          const AnswerOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

// Long texts are always truncated, so that the hypothesis stays whole.
struct ZeroShotOptions : RunOptions {
  std::string hypothesis = "This example is {}.";  // {} is replaced by the label
  bool several = false;                            // multi-label: each label is scored alone
};

// Classifies by labels that the model has never seen, with a model trained on entailment (NLI).
class ATTEND_API ZeroShotClassifier {
 public:
  explicit ZeroShotClassifier(const ModelPath& model);
  // All labels for each text, best first.
  std::vector<std::vector<LabelScore>> classify(const std::vector<std::string>& texts,
                                                const std::vector<std::string>& labels,
                                                const ZeroShotOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

struct ImageOptions : RunOptions {
  std::size_t top_k = 5;  // labels per picture, best first; 0: all
  ScoreFunction function = ScoreFunction::by_model;
};

// A picture file: JPEG, PNG, GIF, WebP, BMP or TIFF. If `bytes` is set, it is the content of the file, and
// `path` is only its name in errors.
struct Picture {
  std::filesystem::path path;
  std::optional<std::string> bytes = {};
};

class ATTEND_API ImageClassifier {
 public:
  explicit ImageClassifier(const ModelPath& model);
  // Throws Error with the name of the picture if one cannot be read.
  std::vector<std::vector<LabelScore>> classify(const std::vector<Picture>& pictures,
                                                const ImageOptions& options = {});
  std::vector<std::vector<LabelScore>> classify(const std::vector<std::filesystem::path>& images,
                                                const ImageOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The last hidden state: a vector of `width` numbers per token.
struct Features {
  std::size_t tokens = 0, width = 0;
  std::vector<float> values;  // [tokens, width]
};

class ATTEND_API FeatureExtractor {
 public:
  explicit FeatureExtractor(const ModelPath& model);
  std::vector<Features> extract(const std::vector<std::string>& texts, const RunOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

// The task of a generator. The last three need an encoder-decoder. They differ in the settings and the prefix
// that config.json has for them (task_specific_params).
enum class GenerationTask { text_generation, text2text_generation, summarization, translation };

// A candidate token and its log-probability (natural logarithm).
struct TokenScore {
  TokenId token = 0;
  float log_probability = 0;
};

// One generated text.
struct GeneratedText {
  std::string text;
  std::vector<TokenId> ids;  // after the prompt, including an end token
  // Beam search only: the log-probability divided by length ^ length_penalty.
  float score = 0;
  std::vector<float> log_probabilities = {};  // of each token (natural logarithm), if requested
  // For each position the most likely tokens, best first, if requested.
  std::vector<std::vector<TokenScore>> likeliest = {};
  bool cut_off = false;  // ended by the length limit, not by an end token or a stop string
  // Conversations only: what is not part of `text`.
  std::string reasoning = {};
  std::vector<ToolCall> calls = {};
};

// `truncate`: an encoder-decoder keeps the start of a long text; a decoder keeps the end of its prompt and
// leaves room for max_new_tokens.
struct GenerateTextOptions : RunOptions {
  // Changes the config for the task. Where the model says nothing it has 256 new tokens, and four beams for
  // an encoder-decoder or sampling at a temperature of 0.7 for a decoder.
  Configure configure = {};
  bool full_text = true;   // decoders only: the result starts with the prompt
  std::uint64_t seed = 0;  // for sampling
  // A custom rule, like transformers' LogitsProcessor and prefix_allowed_tokens_fn. It may change the scores
  // of all tokens of the vocabulary (-infinity: forbidden) for the position after `tokens`: the prompt of
  // text number `text` (or the start of an encoder-decoder's output) and the tokens so far. It is called from
  // several threads at once. Its exceptions leave generate().
  std::function<void(std::size_t text, std::span<const std::int64_t> tokens, std::span<float> scores)> rule;
  bool log_probabilities = false;  // fills GeneratedText::log_probabilities
  // Max bytes of the KV cache; absent: half of the machine's memory.
  std::optional<std::int64_t> cache_bytes;
  // Called for every chosen token, except in beam search: index of the input text, index of the output among
  // its num_return_sequences, the token, and the new text in whole characters, often empty. (For a decoder it
  // includes spaces before punctuation, which the result drops.) Its exceptions leave generate().
  std::function<void(std::size_t text, std::size_t sequence, TokenId token, const std::string& more)>
      on_token;
  // Called between tokens; return true to stop. Unfinished texts are left out of the result, so a text may
  // have none.
  std::function<bool()> stop;
};

class ATTEND_API TextGenerator {
 public:
  // `pair`: for translation, "en_to_de" selects the languages of a multilingual model (M2M-100), or the
  // model's settings for them (T5).
  TextGenerator(const ModelPath& model, GenerationTask task, const std::string& pair = {});
  // num_return_sequences outputs for each text.
  std::vector<std::vector<std::string>> generate(const std::vector<std::string>& texts,
                                                 const GenerateTextOptions& options = {}) const;
  // The same, with tokens.
  std::vector<std::vector<GeneratedText>> generate_tokens(const std::vector<std::string>& texts,
                                                          const GenerateTextOptions& options = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// How a model computes the probability of a token: from the tokens before it (decoders; XLNet in text order),
// from a source and the tokens before it (encoder-decoders), or, masked, from all other tokens (encoders).
enum class ScoringMethod { left_to_right, given_source, masked };

struct ScoreTextOptions : RunOptions {
  // Left to right only. A longer text is read in windows of `length` tokens (absent: the model's maximum, but
  // at most 1024) that start `stride` tokens apart (absent: half of that). A window predicts the
  // tokens that earlier windows have not predicted. If windows do not overlap, the first token of each is
  // skipped.
  std::optional<std::int64_t> length, stride;
  std::size_t likeliest = 0;  // how many of the likeliest tokens per position; not if masked
};

struct TokenProbability {
  TokenId token = 0;
  std::string token_text;
  float log_probability = 0;               // natural logarithm
  std::vector<TokenScore> likeliest = {};  // at its position, best first
};

// Computes the log-probabilities of texts. exp(-mean) of all of them is the perplexity; for masked tokens it
// is the pseudo-perplexity (Salazar et al. 2020, arXiv:1910.14659).
class ATTEND_API TextScorer {
 public:
  explicit TextScorer(const ModelPath& model);
  ScoringMethod method() const;
  // The tokens of each text, as the tokenizer gives them. Left to right, the first token has no prediction
  // and is left out. Masked, special tokens are left out.
  std::vector<std::vector<TokenProbability>> score(const std::vector<std::string>& texts,
                                                   const ScoreTextOptions& options = {});
  // The same for token ids. Left to right only; a text of one token has an empty result.
  std::vector<std::vector<TokenProbability>> score_tokens(const std::vector<std::vector<TokenId>>& texts,
                                                          const ScoreTextOptions& options = {});
  // With sources: all tokens of each target, including its end token.
  std::vector<std::vector<TokenProbability>> score(const std::vector<std::string>& sources,
                                                   const std::vector<std::string>& targets,
                                                   const RunOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The likelihood of texts, summed over the tokens of a scorer's results.
struct ATTEND_API Likelihood {
  double log_probability = 0;  // sum over all tokens
  std::size_t tokens = 0;

  double loss() const;        // negative mean over tokens; throws Error without tokens
  double perplexity() const;  // exp(loss())
};
ATTEND_API Likelihood likelihood(const std::vector<std::vector<TokenProbability>>& texts);

// The traces of a watermark in a text (Kirchenbauer et al. 2023, arXiv:2301.10226).
struct WatermarkFinding {
  std::size_t tokens = 0;
  double share = 0, expected = 0;  // fraction of marked tokens: here, and in unmarked texts
  double z = 0;                    // standard deviations above the mean of unmarked texts
  double p = 0;                    // fraction of unmarked texts with at least this z
};

class ATTEND_API WatermarkDetector {
 public:
  // Looks for `watermark` or, without it, for that of the model's generation_config.json. Throws Error if
  // there is none.
  explicit WatermarkDetector(const ModelPath& model, const std::optional<Watermark>& watermark = {});
  std::vector<WatermarkFinding> find(const std::vector<std::string>& texts) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace v1
}  // namespace attend
