// The search of one request: token by token (greedy or sampled), or with beams.
#pragma once

#include "generation/decoding/decoder.h"
#include "generation/decoding/guesser.h"
#include "generation/forms/stop_strings.h"
#include "generation/scores/processors.h"
#include "generation/search/token_tree.h"

#include <functional>
#include <memory>

namespace attend {

// One result: the tokens after the prompt (or after the decoder's start token), with the end token if there
// is one.
struct GeneratedSequence {
  std::vector<std::int64_t> ids;
  // Of a beam search: the log-probability divided by length ^ length_penalty. -1e9 for a place in the ranking
  // that no finished text took; `ids` are then what the original returns there, perhaps none.
  float score = 0;
  // One per token of `ids`, if the config's output_scores asks for them: after the processors; of a beam
  // search not normalized again, so that their sum is the score before the division.
  std::vector<float> log_probabilities = {};
  bool stopped = false;  // its last token completes one of the stop_strings
  // One list per token of `ids`, if output_top_scores asks for them: the likeliest tokens in its place, the
  // best first, with their log-probabilities. Those that are ruled out are not among them.
  std::vector<std::vector<Scored>> likeliest = {};
};

// A token as it is chosen, with what is asked for of GeneratedSequence's log_probabilities and likeliest.
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
  std::vector<std::int64_t> start = {};  // what a decoder with an encoder begins with; empty without one
};

// What one search begins with.
struct Request {
  const SearchSettings* settings = nullptr;
  std::size_t number = 0;               // of the prompt
  std::vector<std::int64_t> tokens;     // the prompt as processors see it
  std::span<const std::int64_t> first;  // what the decoder reads in the first step
  LengthLimits limits;
  std::int64_t most_new = 0;  // after so many tokens a text ends, whatever the last one is
  Decoder::Sequence sequence = 0;
  std::function<void(std::size_t text, const ChosenToken& token)> on_token;  // may be empty
  std::span<const std::int64_t> source = {};                                 // ProcessorContext::source
  std::unique_ptr<Guesser> guesser = {};                                     // may be null
};

// In turn: feed(), a step of the decoder, choose(), advance(); until done(). Rows are the texts that go on;
// in the first step there is one, the prompt.
class Search {
 public:
  explicit Search(Request request) : request_(std::move(request)), rows_{{request_.sequence, -1}} {}
  virtual ~Search() = default;

  // Appends one feed per row. They point into this object until advance().
  virtual void feed(std::vector<Decoder::Feed>& feeds) const;
  // scores [rows, V] of the next tokens, which may be changed: logits, or log-probabilities for a beam
  // search. Touches nothing but this object, so that many requests can choose at a time.
  virtual void choose(float* scores, std::int64_t vocabulary) = 0;
  // The texts that go on keep their places in the cache, branches get new ones, the others give theirs back.
  virtual void advance(Decoder& decoder) = 0;
  virtual std::vector<GeneratedSequence> results() const = 0;
  // Gives all places in the cache back: the search is over, wherever it is.
  virtual void release(Decoder& decoder);
  // From now on every text ends with its next token.
  void hurry() { out_of_time_ = true; }

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
  // Is a text of so many new tokens, of which this is the last, at its end? `text` makes all its tokens, with
  // the prompt; that is asked for only if it matters.
  template <class MakeText>
  bool ends(std::int64_t token, std::int64_t new_tokens, MakeText text) const {
    const SearchSettings& settings = *request_.settings;
    return new_tokens >= request_.most_new || config().is_eos(token) || out_of_time_ ||
           (!settings.stop_strings.empty() && settings.stop_strings.completed_by(text(), new_tokens));
  }
  // `stream`: texts of one number have the same luck.
  void process(std::span<float> scores, std::span<const std::int64_t> tokens, std::uint64_t stream,
               std::span<const std::int64_t> others = {}) const;
  // All tokens of a text, with the prompt.
  std::vector<std::int64_t> text(const TokenTree& tree, TokenTree::Node node) const;
  // The likeliest token or, where the config says so, one that is drawn.
  std::int64_t pick(std::span<const float> scores, std::uint64_t stream) const;
  // What the config asks for of a token that was chosen by these scores, put behind what is there.
  void note(std::span<const float> scores, std::int64_t token, GeneratedSequence& text) const;
  // The token number `place` of a text so noted.
  static ChosenToken chosen(const GeneratedSequence& text, std::size_t place);
  // rows_[i] continues the old row parents[i] from now on.
  void follow(Decoder& decoder, std::span<const std::size_t> parents, std::span<const std::int64_t> tokens);

  Request request_;
  std::vector<Row> rows_;
  std::int64_t steps_ = 0;  // that have been chosen
  bool out_of_time_ = false;
};

// What the config asks for.
std::unique_ptr<Search> make_search(Request request);

}  // namespace attend
