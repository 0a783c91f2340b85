// attend evaluate perplexity MODEL FILE...: how likely the model finds texts.
#include <attend/tasks.h>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "cli/evaluate/evaluation.h"
#include "cli/options/model_option.h"
#include "cli/options/text_lines.h"
#include "cli/options/verb.h"

namespace attend::cli {
namespace {

// Texts and the scores of their tokens.
struct Scored {
  std::vector<std::string> texts;
  std::vector<std::vector<TokenProbability>> tokens;
};

void print_tokens(const Scored& scored) {
  for (std::size_t i = 0; i < scored.texts.size(); ++i) {
    Json ids = Json::array(), tokens = Json::array(), scores = Json::array();
    for (const TokenProbability& each : scored.tokens[i]) {
      ids.push_back(each.token);
      tokens.push_back(each.token_text);
      scores.push_back(each.log_probability);
    }
    print_line(Json{
        {"text", scored.texts[i]},
        {"log_probability", likelihood({scored.tokens[i]}).log_probability},
        {"ids", ids},
        {"tokens", tokens},
        {"log_probabilities",
         scores}}.dump());
  }
}

class PerplexityEvaluation final : public Evaluation {
 public:
  void add_options(CLI::App& app, EvaluationInput& input) override {
    add_cache(app, input.model);
    app.add_option("--batch-tokens", options_.batch_tokens, "Tokens per batch")->check(positive());
    app.add_option("--length", length_, "Tokens of a window; 0: all positions of the model, but at most 1024")
        ->check(not_negative());
    app.add_option("--stride", stride_, "Tokens between the starts of two windows; 0: half of a window")
        ->check(not_negative());
    app.add_flag("--lines", lines_, "Decoders: every line is a separate text");
    app.add_flag("--tokens", tokens_,
                 "Print one JSON object per text, with the log-probability of every token");
  }

  void run(const EvaluationInput& input) override {
    const Scored scored = score_texts(input);
    const Likelihood all = likelihood(scored.tokens);
    if (all.tokens == 0) fail("{}: expected a text of at least two tokens", fmt::join(input.data, ", "));
    if (tokens_) return print_tokens(scored);
    print_figures(
        input,
        {{"loss", all.loss()},
         {"perplexity", all.perplexity()},
         {"log_probability", all.log_probability},
         {"tokens", all.tokens}},
        fmt::format("loss {:.4f}, perplexity {:.3f}, {} tokens", all.loss(), all.perplexity(), all.tokens));
  }

 private:
  Scored score_texts(const EvaluationInput& input) {
    TextScorer scorer(input.model);
    ScoreTextOptions options = options_;
    if (length_ > 0) options.length = length_;
    if (stride_ > 0) options.stride = stride_;
    Progress progress("scoring", 0, "parts");
    options.on_progress = [&](std::size_t done, std::size_t) { progress.update(done); };
    if (scorer.method() == ScoringMethod::given_source) {
      auto [sources, targets] = read_pairs(input);
      auto tokens = scorer.score(sources, targets, options);
      return {std::move(targets), std::move(tokens)};
    }
    std::vector<std::string> texts;
    for (const std::string& file : input.data) {
      // Encoders read sentences, decoders running text.
      if (lines_ || scorer.method() == ScoringMethod::masked)
        for (std::string& line : read_lines(file)) texts.push_back(std::move(line));
      else
        texts.emplace_back(TextFile(file).text());
    }
    auto tokens = scorer.score(texts, options);
    return {std::move(texts), std::move(tokens)};
  }

  ScoreTextOptions options_;
  std::int64_t length_ = 0, stride_ = 0;
  bool lines_ = false, tokens_ = false;
};

}  // namespace

EvaluationKind perplexity_evaluation() {
  return {
      {"perplexity"},
      "The perplexity of texts. A decoder reads each file in overlapping windows, an encoder-decoder the "
      "lines of "
      "a source and a target, an encoder single lines with one token masked at a time (pseudo-perplexity).",
      "attend evaluate perplexity gpt2 book.txt --stride 256",
      [](const std::string&) -> std::unique_ptr<Evaluation> {
        return std::make_unique<PerplexityEvaluation>();
      }};
}

}  // namespace attend::cli
