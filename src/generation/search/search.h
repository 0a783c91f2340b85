// The search of one request: token by token (greedy or sampled), or with beams.
#pragma once

#include "generation/decoding/decoder.h"
#include "generation/decoding/draft_source.h"
#include "generation/forms/stop_strings.h"
#include "generation/scores/processors.h"
#include "generation/search/token_tree.h"

#include <functional>
#include <memory>

namespace attend {

// One result: the tokens after the prompt (or after the decoder's start token), including the end token if
// there is one.
struct GeneratedSequence {
  std::vector<std::int64_t> ids;
  // In a beam search: the log-probability divided by length ^ length_penalty. -1e9 for a rank without a
  // finished text; `ids` are then what the original returns, perhaps none.
  float score = 0;
  // One per token of `ids`, if the config has output_scores: after the processors; in a beam search not
  // normalized again, so that their sum is the score before the division.
  std::vector<float> log_probabilities = {};
  bool stopped = false;  // its last token completes a stop string
  // One list per token of `ids`, with output_top_scores: the likeliest tokens at its position, the best
  // first, with their log-probabilities. Excluded tokens are left out.
  std::vector<std::vector<Scored>> likeliest = {};
};

// A chosen token, with the requested parts of GeneratedSequence's log_probabilities and likeliest.
struct ChosenToken {
  std::int64_t id = 0;
  float log_probability = 0;
  std::span<const Scored> likeliest = {};
};

// What the searches of one call share.
struct SearchSettings {
  GenerationConfig config;
  LogitsProcessors processors;
  std::uint64_t seed = 0;
  StopStrings stop_strings = {};
  std::vector<std::int64_t> start = {};  // the first tokens of a decoder with an encoder; empty without one
};

// The input of one search.
struct Request {
  const SearchSettings* settings = nullptr;
  std::size_t number = 0;               // index of the prompt
  std::vector<std::int64_t> tokens;     // the prompt as processors see it
  std::span<const std::int64_t> first;  // what the decoder reads in the first step
  LengthLimits limits;
  std::int64_t max_new = 0;  // max new tokens of a text, also if the last one is not an end token
  Decoder::Sequence sequence = 0;
  std::function<void(std::size_t text, const ChosenToken& token)> on_token;  // may be empty
  std::span<const std::int64_t> source = {};                                 // ProcessorContext::source
  std::unique_ptr<DraftSource> draft_source = {};                            // may be null
};

// Call in turn: feed(), a step of the decoder, choose(), advance(); until done(). Rows are the running texts;
// in the first step there is one, the prompt.
class Search {
 public:
  explicit Search(Request request) : request_(std::move(request)), rows_{{request_.sequence, -1}} {}
  virtual ~Search() = default;

  // Appends one feed per row. They refer to this object until advance().
  virtual void feed(std::vector<Decoder::Feed>& feeds) const;
  // scores [rows, V] of the next tokens, which may be changed: logits, or log-probabilities for a beam
  // search. Changes only this object, so several requests can choose concurrently.
  virtual void choose(float* scores, std::int64_t vocabulary) = 0;
  // Running texts keep their sequences in the cache, branches get new ones, the others are freed.
  virtual void advance(Decoder& decoder) = 0;
  virtual std::vector<GeneratedSequence> results() const = 0;
  // Frees all sequences in the cache: the search is over, in any state.
  virtual void release(Decoder& decoder);
  // From now on every text ends with its next token.
  void set_out_of_time() { out_of_time_ = true; }

  std::size_t rows() const { return rows_.size(); }
  virtual bool done() const { return rows_.empty(); }
  std::int64_t steps() const { return steps_; }
  const Request& request() const { return request_; }

 protected:
  struct Row {
    Decoder::Sequence sequence;
    std::int64_t token;  // to be read in the next step
  };
  const GenerationConfig& config() const { return request_.settings->config; }
  bool is_first() const { return steps_ == 0; }
  // Whether a text ends with `token`, its token number `new_tokens`. `text` makes all its tokens, with the
  // prompt; it is called only if needed.
  template <class MakeText>
  bool ends(std::int64_t token, std::int64_t new_tokens, MakeText text) const {
    const SearchSettings& settings = *request_.settings;
    return new_tokens >= request_.max_new || is_eos(config(), token) || out_of_time_ ||
           (!settings.stop_strings.empty() && settings.stop_strings.completed_by(text(), new_tokens));
  }
  // `stream`: texts with the same number use the same random numbers.
  void process(std::span<float> scores, std::span<const std::int64_t> tokens, std::uint64_t stream,
               std::span<const std::int64_t> others = {}) const;
  // All tokens of a text, with the prompt.
  std::vector<std::int64_t> text(const TokenTree& tree, TokenTree::Node node) const;
  // The likeliest token or, if the config samples, a sampled one.
  std::int64_t pick(std::span<const float> scores, std::uint64_t stream) const;
  // Appends the requested details of a token that was chosen from these scores.
  void note(std::span<const float> scores, std::int64_t token, GeneratedSequence& text) const;
  // The token at index `place` of such a text.
  static ChosenToken chosen(const GeneratedSequence& text, std::size_t place);
  // From now on rows_[i] continues the old row parents[i].
  void follow(Decoder& decoder, std::span<const std::size_t> parents, std::span<const std::int64_t> tokens);

  Request request_;
  std::vector<Row> rows_;
  std::int64_t steps_ = 0;  // number of steps so far
  bool out_of_time_ = false;
};

// The search for the config.
std::unique_ptr<Search> make_search(Request request);

}  // namespace attend
