#include "generation/generate.h"

#include "base/log.h"
#include "generation/foreign_draft.h"
#include "generation/paged_decoder.h"
#include "generation/rereading_decoder.h"
#include "nn/parallel.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace attend {
namespace {

// Rows of scores are held for all texts at once: at most so many numbers of them.
constexpr std::int64_t kMostScores = std::int64_t{1} << 24;

// Works through prompts, the longest first, so that those that are worked on together end at about the same
// time.
class Generation {
 public:
  Generation(const Model& model, const std::vector<Prompt>& prompts, const GenerationConfig& config,
             const GenerateOptions& options)
      : prompts_(prompts),
        options_(options),
        settings_{config, LogitsProcessors(config), options.seed,
                  StopStrings(config.stop_strings, options.tokenizer)},
        decoder_(make_decoder(model.network(), start_token(model, config))),
        first_{decoder_->start()},
        embeddings_(
            (model.network()->decoder ? model.network()->decoder : model.network()->encoder)->embeddings),
        rows_per_prompt_(
            std::max(
                {config.num_beams, config.num_return_sequences, config.is_contrastive() ? config.top_k : 1}) +
            (options.assistant ? config.num_assistant_tokens : config.prompt_lookup_num_tokens.value_or(0))),
        results_(prompts.size() * static_cast<std::size_t>(config.num_return_sequences)) {
    config.check(embeddings_->spec().vocabulary);
    const bool needs_cache = options.assistant || config.prompt_lookup_num_tokens || config.is_contrastive();
    if (needs_cache && !decoder_->scores_several())
      fail(
          "{} reads its text again at every step: expected no assistant, prompt_lookup_num_tokens or "
          "penalty_alpha",
          model.architecture());
    if (options.assistant) add_assistant(*options.assistant);
    if (options.batch_tokens < 1) fail("batch tokens: expected at least 1, found {}", options.batch_tokens);
    for (std::size_t i = 0; i < prompts.size(); ++i) check(i);
    waiting_.resize(prompts.size());
    std::iota(waiting_.begin(), waiting_.end(), 0);
    std::ranges::stable_sort(waiting_, {}, [&](std::size_t i) { return prompts_[i].ids.size(); });
  }

  std::vector<GeneratedSequence> run() {
    while (!waiting_.empty() || !searches_.empty()) {
      admit();
      step();
      retire();
    }
    return std::move(results_);
  }

 private:
  static std::int64_t start_token(const Model& model, const GenerationConfig& config) {
    check_generates(model);
    if (!model.network()->is_encoder_decoder()) return 0;
    const auto start = config.decoder_start_token_id ? config.decoder_start_token_id : config.bos_token_id;
    if (!start) fail("decoder_start_token_id: the decoder needs a token to begin with, and none is given");
    return *start;
  }

  void add_assistant(const Model& assistant) {
    const GenerationConfig& config = settings_.config;
    if (config.num_beams > 1 || config.num_return_sequences > 1 || config.prompt_lookup_num_tokens ||
        config.is_contrastive())
      fail(
          "an assistant guesses for one text per prompt; leave it out, or num_beams, num_return_sequences, "
          "prompt_lookup_num_tokens and penalty_alpha");
    check_generates(assistant);
    if (rereads(assistant.network()))
      fail("{}: {} reads its text again at every step, too slow for an assistant",
           assistant.config().source(), assistant.architecture());
    const std::int64_t own = embeddings_->spec().vocabulary,
                       other = assistant.network()->decoder->spec().embeddings.vocabulary;
    const bool same_kind = assistant.network()->is_encoder_decoder() == decoder_->has_encoder();
    if (!same_kind || (own != other && !options_.assistant_tokenizers))
      fail(
          "{}: an assistant must read and write what the model does, with its vocabulary of {} tokens or a "
          "tokenizer of its own; this one has {} tokens{}",
          assistant.config().source(), own, other, same_kind ? "" : ", and one of the two an encoder");
    const GenerationConfig its = GenerationConfig::of(assistant);
    assistant_ends_ = its.eos_token_id;
    assistant_ = std::make_unique<PagedDecoder>(
        assistant.network(), options_.assistant_tokenizers ? start_token(assistant, its) : decoder_->start());
  }

  std::unique_ptr<Guesser> make_draft(const Prompt& prompt) {
    const std::int64_t most = settings_.config.num_assistant_tokens;
    if (!options_.assistant_tokenizers) return std::make_unique<DraftModel>(most, *assistant_, prompt);
    return std::make_unique<ForeignDraft>(most, *assistant_, assistant_ends_, *options_.tokenizers,
                                          *options_.assistant_tokenizers, prompt);
  }

  // What processors and lengths see as the prompt.
  const std::vector<std::int64_t>& tokens(std::size_t i) const {
    return decoder_->has_encoder() ? first_ : source(i);
  }

  // What the decoder reads first.
  const std::vector<std::int64_t>& first(std::size_t i) const {
    if (decoder_->has_encoder()) return first_;
    return decoder_->reads_padding() ? source(i) : prompts_[i].ids;
  }

  // What processors see as the source.
  const std::vector<std::int64_t>& source(std::size_t i) const {
    return prompts_[i].row.empty() ? prompts_[i].ids : prompts_[i].row;
  }

  LengthLimits limits(std::size_t i) const {
    return settings_.config.lengths(static_cast<std::int64_t>(tokens(i).size()),
                                    embeddings_->max_positions());
  }

  void check(std::size_t i) const {
    try {
      decoder_->check(prompts_[i]);
      if (assistant_ && !options_.assistant_tokenizers) assistant_->check(prompts_[i]);
      limits(i);
      if (room(i) < 1) fail("it leaves no room for another token among the model's positions");
    } catch (const Error& error) {
      fail("prompt {}: {}", i + 1, error.what());
    }
  }

  // How many new tokens the model has places for. A contrastive search reads its last token too.
  std::int64_t room(std::size_t i) const {
    return decoder_->room(static_cast<std::int64_t>(first(i).size())) -
           (settings_.config.is_contrastive() ? 1 : 0);
  }

  std::int64_t cost(std::size_t i) const {
    return static_cast<std::int64_t>(prompts_[i].ids.size()) * rows_per_prompt_;
  }

  // New prompts come in when half of the room is free: each time the encoded sources are laid out anew.
  void admit() {
    std::int64_t used = 0, rows = 0;
    for (const auto& search : searches_) {
      used += cost(search->request().number);
      rows += rows_per_prompt_;
    }
    const std::int64_t most_rows = kMostScores / embeddings_->spec().vocabulary;
    if (waiting_.empty() || 2 * used > options_.batch_tokens || 2 * rows > most_rows) return;
    std::vector<std::size_t> numbers;
    std::vector<const Prompt*> prompts;
    while (!waiting_.empty()) {
      const std::size_t i = waiting_.back();
      used += cost(i);
      rows += rows_per_prompt_;
      const bool fits = used <= options_.batch_tokens && rows <= most_rows;
      if (!fits && (!searches_.empty() || !numbers.empty())) break;
      waiting_.pop_back();
      numbers.push_back(i);
      prompts.push_back(&prompts_[i]);
    }
    if (numbers.empty()) return;
    const std::vector<Decoder::Sequence> sequences = decoder_->add(prompts);
    for (std::size_t j = 0; j < numbers.size(); ++j) searches_.push_back(start(numbers[j], sequences[j]));
  }

  std::unique_ptr<Search> start(std::size_t i, Decoder::Sequence sequence) {
    Request request;
    request.settings = &settings_;
    request.number = i;
    request.tokens = tokens(i);
    request.source = source(i);
    request.first = first(i);
    request.limits = limits(i);
    request.most_new = request.limits.most - request.limits.prompt;
    const std::int64_t room = this->room(i);
    if (request.most_new > room) {
      request.most_new = room;
      if (!warned_) warn("texts end at the {} tokens the model can hold", embeddings_->max_positions());
      warned_ = true;
    }
    request.sequence = sequence;
    if (assistant_) request.guesser = make_draft(prompts_[i]);
    if (options_.on_token)
      request.on_token = [this, i](std::size_t text, std::int64_t token) {
        options_.on_token(i, text, token);
      };
    return make_search(std::move(request));
  }

  void step() {
    std::vector<Decoder::Feed> feeds;
    std::vector<std::int64_t> first_rows;  // of scores
    std::int64_t rows = 0;
    for (const auto& search : searches_) {
      first_rows.push_back(rows);
      const std::size_t before = feeds.size();
      search->feed(feeds);
      for (std::size_t i = before; i < feeds.size(); ++i) rows += static_cast<std::int64_t>(feeds[i].scored);
    }
    Tensor scores = decoder_->step(feeds);  // [rows, V]
    if (settings_.config.num_beams > 1) scores = at::log_softmax(scores, 1);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
    settings_.out_of_time = settings_.config.max_time && elapsed.count() > *settings_.config.max_time;
    const std::int64_t vocabulary = scores.size(1);
    float* data = scores.data_ptr<float>();
    parallel_ranges(static_cast<std::int64_t>(searches_.size()), rows_per_prompt_ * vocabulary,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i)
                        searches_[i]->choose(data + first_rows[i] * vocabulary, vocabulary);
                    });
    for (const auto& search : searches_) search->advance(*decoder_);
  }

  void retire() {
    const auto done =
        std::ranges::stable_partition(searches_, [](const auto& search) { return !search->done(); });
    for (const auto& search : done) {
      std::vector<GeneratedSequence> texts = search->results();
      const std::size_t prompt = search->request().number;
      if (options_.on_result) options_.on_result(prompt, texts);
      std::ranges::move(texts, results_.begin() + static_cast<std::ptrdiff_t>(prompt * texts.size()));
    }
    searches_.erase(done.begin(), done.end());
  }

  const std::vector<Prompt>& prompts_;
  const GenerateOptions& options_;
  SearchSettings settings_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<PagedDecoder> assistant_;
  std::vector<std::int64_t> assistant_ends_;
  std::vector<std::int64_t> first_;  // what a decoder with an encoder begins with
  Embeddings embeddings_;
  std::int64_t rows_per_prompt_;
  std::vector<std::size_t> waiting_;  // prompts, the next one last
  std::vector<std::unique_ptr<Search>> searches_;
  std::vector<GeneratedSequence> results_;
  bool warned_ = false;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

void check_generates(const Model& model) {
  Transformer network = model.network();
  const bool grows = network->decoder || rereads(network);
  if (!grows || network->reads_images() || !network->language_model_head)
    fail("{}: {} cannot generate text: that takes a decoder with a language-model head",
         model.config().source(), model.architecture());
}

std::vector<GeneratedSequence> generate(const Model& model, const std::vector<Prompt>& prompts,
                                        const GenerationConfig& config, const GenerateOptions& options) {
  const c10::InferenceMode inference;
  return Generation(model, prompts, config, options).run();
}

std::vector<GeneratedSequence> generate(const Model& model,
                                        const std::vector<std::vector<std::int64_t>>& prompts,
                                        const GenerationConfig& config, const GenerateOptions& options) {
  std::vector<Prompt> all;
  for (const auto& ids : prompts) all.push_back({ids, {}, {}});
  return generate(model, all, config, options);
}

}  // namespace attend
