// Tasks: text (or an image) in, answer out, as Hugging Face's pipelines define them, with their defaults.
//
//   attend::TextClassifier classifier("sentiment");
//   for (const auto& labels : classifier.classify({{"What a day!"}, {"Never again."}}))
//     std::cout << labels[0].label << "\n";
//
// Each class loads a model directory with a fitting head, or shares a Model that is in memory
// (attend/model.h). Answers come in the order of the inputs, whatever went through the model together.
// attend.h has the rules for copies and threads.
#pragma once

#include <attend/attend.h>

#include <functional>
#include <span>

namespace attend {

class TextModel;

struct LabelScore {
  std::string label;
  float score = 0;
};

// What makes scores of a classifier's numbers. by_model: none for a regression, sigmoid for one label or
// where several can hold, else softmax.
enum class ScoreFunction { by_model, softmax, sigmoid, none };

struct ClassifyOptions : RunOptions {
  std::size_t top_k = 1;  // labels per text, the best first; 0: all
  ScoreFunction function = ScoreFunction::by_model;
};

// A text, or a pair that is judged together.
struct TextAndPair {
  std::string text;
  std::optional<std::string> pair = {};
};

class TextClassifier {
 public:
  explicit TextClassifier(const ModelPath& model);
  std::vector<std::vector<LabelScore>> classify(const std::vector<TextAndPair>& texts,
                                                const ClassifyOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

// none: every token alone. simple: neighbours of one type are one entity (B- begins another). The others
// judge whole words: by their first token, by the mean of the scores, by the token with the highest score.
enum class Aggregation { none, simple, first, average, max };

struct TokenOptions : RunOptions {
  Aggregation aggregation = Aggregation::none;
  std::vector<std::string> ignored_labels = {"O"};
  // Texts longer than the model reads are read in pieces that share this many tokens. Without it they are cut
  // off, as the pipeline does, with a warning for the first. Needs an aggregation.
  std::optional<std::size_t> stride;
};

struct Entity {
  std::string label;  // "B-PER"; of an aggregation "PER"
  float score = 0;
  std::string word;
  std::size_t start = 0, end = 0;  // characters of the text
  std::size_t index = 0;           // of the token; without aggregation only
};

class TokenClassifier {
 public:
  explicit TokenClassifier(const ModelPath& model);
  std::vector<std::vector<Entity>> classify(const std::vector<std::string>& texts,
                                            const TokenOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

struct FillOptions : RunOptions {
  std::size_t top_k = 5;             // at most the vocabulary, or the targets
  std::vector<std::string> targets;  // only these may be filled in; of one that is no token, its first token
};

struct Filling {
  float score = 0;
  TokenId token = 0;
  std::string token_text;
  std::string sequence;  // the text with this token; other masks stay
};

class MaskFiller {
 public:
  explicit MaskFiller(const ModelPath& model);
  // Per text and per mask in it, the best first. Error for a text without a mask.
  std::vector<std::vector<std::vector<Filling>>> fill(const std::vector<std::string>& texts,
                                                      const FillOptions& options = {});
  std::string mask() const;  // "[MASK]" or what the tokenizer calls it

 private:
  std::shared_ptr<TextModel> model_;
};

struct Question {
  std::string question, context;
};

// Long contexts are read in pieces; `truncate` cuts a question that leaves no room for its context.
struct AnswerOptions : RunOptions {
  std::size_t top_k = 1;
  std::size_t max_answer_length = 15;     // tokens
  std::optional<std::size_t> max_length;  // of question and context together; 384, or what the model reads
  std::optional<std::size_t> stride;      // tokens that the pieces of a long context share; 128
  bool may_be_impossible = false;         // an empty answer where there seems to be none
  bool whole_words = true;                // an answer does not begin or end inside a word
};

struct Answer {
  float score = 0;
  std::size_t start = 0, end = 0;  // characters of the context
  std::string text;
};

class QuestionAnswerer {
 public:
  explicit QuestionAnswerer(const ModelPath& model);
  // Per question, the best first; fewer than top_k where the context has no more.
  std::vector<std::vector<Answer>> answer(const std::vector<Question>& questions,
                                          const AnswerOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

// Long texts are always cut off, so that the label's sentence stays whole.
struct ZeroShotOptions : RunOptions {
  std::string hypothesis = "This example is {}.";  // {} is the label
  bool several = false;                            // any number of labels may hold: each is judged alone
};

// Labels that the model has never seen, with one that was trained to tell entailment from contradiction.
class ZeroShotClassifier {
 public:
  explicit ZeroShotClassifier(const ModelPath& model);
  // All labels per text, the best first.
  std::vector<std::vector<LabelScore>> classify(const std::vector<std::string>& texts,
                                                const std::vector<std::string>& labels,
                                                const ZeroShotOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

struct ImageOptions : RunOptions {
  std::size_t top_k = 5;  // labels per picture, the best first; 0: all
  ScoreFunction function = ScoreFunction::by_model;
};

// A picture's file: JPEG, PNG, GIF, WebP, BMP or TIFF. With `bytes` these are the file's content, and `path`
// only names it in errors.
struct Picture {
  std::filesystem::path path;
  std::optional<std::string> bytes = {};
};

class ImageClassifier {
 public:
  explicit ImageClassifier(const ModelPath& model);
  // Error, naming the picture, for one that cannot be read.
  std::vector<std::vector<LabelScore>> classify(const std::vector<Picture>& pictures,
                                                const ImageOptions& options = {});
  std::vector<std::vector<LabelScore>> classify(const std::vector<std::filesystem::path>& images,
                                                const ImageOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The last hidden state: a vector of `width` numbers for each token.
struct Features {
  std::size_t tokens = 0, width = 0;
  std::vector<float> values;  // token by token
};

class FeatureExtractor {
 public:
  explicit FeatureExtractor(const ModelPath& model);
  std::vector<Features> extract(const std::vector<std::string>& texts, const RunOptions& options = {});

 private:
  std::shared_ptr<TextModel> model_;
};

// What a generator is asked for. The last three take an encoder-decoder; they differ in the settings and the
// prefix that a model's config.json has for them (task_specific_params).
enum class GenerationTask { text_generation, text2text_generation, summarization, translation };

// A token that might have come, and how likely it was (natural logarithm).
struct TokenScore {
  TokenId token = 0;
  float log_probability = 0;
};

// One of the texts that a generator made.
struct GeneratedText {
  std::string text;
  std::vector<TokenId> ids;  // behind the prompt, with the end token if there is one
  // Of a beam search: the log-probability divided by length ^ length_penalty.
  float score = 0;
  std::vector<float> log_probabilities = {};  // of each token (natural), if they were asked for
  // For each token the likeliest in its place, the best first, if they were asked for.
  std::vector<std::vector<TokenScore>> likeliest = {};
  bool cut_off = false;  // it might not become longer: neither an end token nor a stop string ended it
};

// `truncate`: an encoder-decoder reads the beginning of a text that is too long; a decoder the end of its
// prompt, so that max_new_tokens have room.
struct GenerateTextOptions : RunOptions {
  // A JSON object with fields as in generation_config.json, which win over everything else. Where they and
  // the model say nothing: 256 new tokens; four beams for an encoder-decoder; for a decoder sampling at a
  // temperature of 0.7.
  std::string settings = "{}";
  bool full_text = true;   // of a decoder: what it goes on with comes first
  std::uint64_t seed = 0;  // of sampling
  // If given: a rule of your own, as transformers' LogitsProcessor and prefix_allowed_tokens_fn. It may
  // change the scores of all tokens of the vocabulary (-infinity: may not come) before one follows `tokens`:
  // those of text number `text`, or of an encoder-decoder's result, and what has come since. It is called
  // from several threads at once; what it throws comes out of generate().
  std::function<void(std::size_t text, std::span<const std::int64_t> tokens, std::span<float> scores)> rule;
  bool log_probabilities = false;  // into GeneratedText
  // For keys and values at most; absent: half of the machine's memory.
  std::optional<std::int64_t> cache_bytes;
  // If given, called for every token as it is chosen, except in a beam search: text number `text`, of those
  // made of it number `sequence`, and the whole characters that can be written by now, often none (of a
  // decoder with the spaces in front of punctuation, which the result loses). What it throws comes out of
  // generate().
  std::function<void(std::size_t text, std::size_t sequence, TokenId token, const std::string& more)>
      on_token;
  // If given, asked between two tokens; true: no more of them. Texts that are not complete stay out of the
  // result, so one may have none.
  std::function<bool()> stop;
};

class TextGenerator {
 public:
  // `pair`: of a translation, "en_to_de" picks these languages of a model that has many (M2M-100), or the
  // settings that it has for them (T5).
  TextGenerator(const ModelPath& model, GenerationTask task, const std::string& pair = {});
  // num_return_sequences texts for each one given.
  std::vector<std::vector<std::string>> generate(const std::vector<std::string>& texts,
                                                 const GenerateTextOptions& options = {}) const;
  // The same with their tokens.
  std::vector<std::vector<GeneratedText>> generate_tokens(const std::vector<std::string>& texts,
                                                          const GenerateTextOptions& options = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// How a model is asked for the probability of a token: from those before it (decoders; XLNet, in the order of
// the text), from a source and those before it (encoder-decoders), or masked, from all the others (encoders).
enum class ScoringMethod { left_to_right, given_source, masked };

struct ScoreTextOptions : RunOptions {
  // Left to right only. A longer text is read in windows of `length` tokens (absent: what the model reads, or
  // 1024 where that has no limit) that begin `stride` tokens apart (absent: half of that). A window predicts
  // the tokens that those before it have not; where they share none, its first token is left out.
  std::optional<std::int64_t> length, stride;
  std::size_t likeliest = 0;  // how many of the likeliest tokens in each place; not of masked ones
};

struct TokenProbability {
  TokenId token = 0;
  std::string token_text;
  float log_probability = 0;               // natural
  std::vector<TokenScore> likeliest = {};  // in its place, the best first
};

// How likely a model finds texts. exp(-mean of all log-probabilities) is its perplexity; of masked tokens the
// pseudo-perplexity (Salazar et al. 2020, arXiv:1910.14659).
class TextScorer {
 public:
  explicit TextScorer(const ModelPath& model);
  ScoringMethod method() const;
  // The tokens of each text, as the tokenizer gives them. Left to right all but the first, which nothing
  // predicts; masked all but special tokens.
  std::vector<std::vector<TokenProbability>> score(const std::vector<std::string>& texts,
                                                   const ScoreTextOptions& options = {});
  // The same of texts that are tokens already. Left to right only; a text of one token has no result.
  std::vector<std::vector<TokenProbability>> score_tokens(const std::vector<std::vector<TokenId>>& texts,
                                                          const ScoreTextOptions& options = {});
  // Given sources: all tokens of each target, its end as well.
  std::vector<std::vector<TokenProbability>> score(const std::vector<std::string>& sources,
                                                   const std::vector<std::string>& targets,
                                                   const RunOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// How likely texts are by what a scorer says of their tokens.
struct Likelihood {
  double log_probability = 0;  // of all of them
  std::size_t tokens = 0;

  double loss() const;        // the mean over tokens, negative. Error where there is none
  double perplexity() const;  // exp(loss())
};
Likelihood likelihood(const std::vector<std::vector<TokenProbability>>& texts);

// What a watermark leaves in a text (Kirchenbauer et al. 2023, arXiv:2301.10226).
struct WatermarkFinding {
  std::size_t tokens = 0;
  double share = 0, expected = 0;  // of marked tokens: in this text, and in others
  double z = 0;                    // how many standard deviations more are marked than in other texts
  double p = 0;                    // the share of other texts with so high a z
};

class WatermarkDetector {
 public:
  // Looks for the mark of the watermarking_config that the model's generation_config.json has, or `settings`,
  // a JSON object with fields like those of that file. Error where neither has one.
  explicit WatermarkDetector(const ModelPath& model, const std::string& settings = "{}");
  std::vector<WatermarkFinding> find(const std::vector<std::string>& texts) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

struct ChatMessage {
  std::string role, content;  // role: system, user, assistant, or what else the model's chat template knows
  // In place of both, the message as a JSON object with all its fields, as the chat template reads them:
  // "tool_calls", "reasoning_content", "content" as a list of parts, and so on. Its role is that of `role`.
  std::string fields = {};
};

struct ConversationOptions {
  std::string system;  // what the model is told first
  // How a turn is written: plain text such as "User: {user}\nBot: {bot}", Jinja, or the name of one of the
  // model's templates; empty: as the model's files say.
  std::string chat_template;
  // As in GenerateTextOptions. Where they and the model say nothing: 256 new tokens, sampling at a
  // temperature of 0.7.
  std::string settings = "{}";
  std::uint64_t seed = 0;
  // A JSON object with what else the template is told, as apply_chat_template takes it: "tools", "documents",
  // "enable_thinking" and so on.
  std::string chat_variables = "{}";
};

// Questions and answers with a decoder, which keeps in mind what it has read: for another question it reads
// the last answer and what is new. What is more than the model reads is forgotten turn by turn, the oldest
// first, with a warning; the rest is then read again. A copy has the messages so far and goes its own way
// from there; it reads them again before its first answer.
class Conversation {
 public:
  Conversation(const ModelPath& model, const ConversationOptions& options);
  Conversation(const Conversation& other);
  Conversation(Conversation&& other) noexcept;
  Conversation& operator=(Conversation other) noexcept;
  ~Conversation();

  // Whole characters of an answer as it comes, and nothing at most tokens; false: no more of it.
  using OnAnswer = std::function<bool(const std::string& more)>;
  // The answer, or as much as there was of it when it was stopped. Error, and the conversation is as it was,
  // for a question that is longer than the model reads.
  std::string answer(const std::string& text, const OnAnswer& on_text = {});

  const std::vector<ChatMessage>& messages() const;
  // Error unless they are questions and answers in turn, perhaps behind one message of the system.
  void set_messages(std::vector<ChatMessage> messages);
  bool take_back();  // the last question and its answer; false if there is none
  // What the model would read as the question's turn comes, with all that is before it.
  std::string prompt(const std::string& text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attend
