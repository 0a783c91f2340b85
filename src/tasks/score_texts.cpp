// The probability of given texts under a model.
#include <attend/tasks.h>

#include "generation/decoding/paged_decoder.h"
#include "generation/scores/selection.h"
#include "models/padded/forward.h"
#include "tasks/texts/text_batches.h"
#include "tasks/texts/text_model.h"
#include "tasks/translate.h"

#include <algorithm>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;
using ScoredTexts = std::vector<std::vector<TokenProbability>>;

// A window for models that read texts of any length.
constexpr std::int64_t kUsualWindow = 1024;
// Scores over a vocabulary are large; this is the max number of them at a time.
constexpr std::int64_t kMaxScoresAtOnce = std::int64_t{1} << 24;

// Tokens that go through a model together. Tokens from `first` on are predicted from the previous ones and,
// with an encoder, from the source.
struct ScoredPiece {
  std::size_t text;
  Ids source, tokens;
  std::size_t first = 1;

  std::span<const std::int64_t> predicted() const { return std::span(tokens).subspan(first); }
};

const StackSpec& spec_of(const Transformer& network) {
  return (network->decoder ? network->decoder : network->encoder)->spec();
}

// The score of one token at its position.
struct Score {
  float log_probability = 0;
  std::vector<TokenScore> likeliest = {};
};

// Adds the scores of log-probabilities [n, V], one row for each label.
void append_scores(const Tensor& scores, std::span<const std::int64_t> labels, std::size_t likeliest,
                   std::vector<Score>& all) {
  const Tensor wanted = ops::tensor(Ids(labels.begin(), labels.end()), kLong).unsqueeze(1);  // [n, 1]
  const std::vector<float> some = numbers(scores.gather(1, wanted));
  const Tensor rows = likeliest > 0 ? scores.contiguous() : scores;
  const std::int64_t max = std::min<std::int64_t>(static_cast<std::int64_t>(likeliest), scores.size(1));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Score& score = all.emplace_back(Score{some[i]});
    if (likeliest == 0) continue;
    const std::span<const float> row(rows.const_data<float>() + static_cast<std::int64_t>(i) * rows.size(1),
                                     static_cast<std::size_t>(rows.size(1)));
    for (const auto& [value, token] : top_k(row, max))
      score.likeliest.push_back({static_cast<TokenId>(token), value});
  }
}

// How hidden row i predicts labels[i]: [n, d] -> n scores.
std::vector<Score> log_probabilities(const Transformer& network, const Tensor& hidden, const Ids& labels,
                                     std::size_t likeliest, Pass& pass) {
  LanguageModelHead head = network->language_model_head;
  const std::int64_t max =
      std::max<std::int64_t>(1, kMaxScoresAtOnce / spec_of(network).embeddings.vocabulary);
  std::vector<Score> all;
  for (std::int64_t begin = 0; begin < hidden.size(0); begin += max) {
    const std::int64_t rows = std::min(max, hidden.size(0) - begin);
    const Tensor scores = ops::log_softmax(head(hidden.narrow(0, begin, rows), pass), 1);  // [rows, V]
    append_scores(scores,
                  std::span(labels).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(rows)),
                  likeliest, all);
  }
  return all;
}

// As predicting_rows, with keys and values in the format of the model's cache: one pass over each piece.
Tensor cached_rows(const PretrainedModel& model, const std::vector<const ScoredPiece*>& pieces,
                   std::optional<std::int64_t> adapter) {
  check_generates(model);
  if (model.network()->decoder->spec().prompts_are_whole())
    fail("{}: {} reads a text at once otherwise than token by token: leave `cache` out",
         model.config().source(), model.architecture());
  PagedDecoder decoder(model);
  std::vector<Prompt> prompts;
  for (const ScoredPiece* piece : pieces) {
    Prompt& prompt = prompts.emplace_back();
    prompt.ids = piece->source;
    prompt.adapter = adapter;
  }
  std::vector<const Prompt*> pointers;
  for (const Prompt& prompt : prompts) pointers.push_back(&prompt);
  const std::vector<Decoder::Sequence> sequences = decoder.add(pointers);
  std::vector<Tensor> hidden(pieces.size());
  std::vector<Decoder::Feed> feeds;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    feeds.push_back({sequences[i], std::span(pieces[i]->tokens).first(pieces[i]->tokens.size() - 1), 1,
                     &hidden[i], /*counts_positions=*/true});
  decoder.step(feeds);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    hidden[i] = hidden[i].slice(0, static_cast<std::int64_t>(pieces[i]->first) - 1);
  return ops::cat(hidden);
}

// The hidden states that predict the pieces' tokens, one piece after another: [n, d].
Tensor predicting_rows(const PretrainedModel& model, const std::vector<const ScoredPiece*>& pieces,
                       std::optional<std::int64_t> adapter, Pass& pass) {
  if (model.cache_differs()) return cached_rows(model, pieces, adapter);
  Transformer network = model.network();
  std::vector<Ids> sources, read;  // nothing is predicted from the last token
  for (const ScoredPiece* piece : pieces) {
    sources.push_back(piece->source);
    read.emplace_back(piece->tokens.begin(), piece->tokens.end() - 1);
  }
  const TokenBatch batch = TokenBatch::from(read);
  Tensor hidden;  // [T, d]
  if (network->is_encoder_decoder()) {
    const CrossAttentionKV memory = network->project_kv(TokenBatch::from(sources), pass);
    hidden = network->decode(batch, pass, &memory);
  } else {
    hidden = network->decode(batch, pass);
  }
  std::vector<Tensor> rows;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    rows.push_back(batch.offsets.part(hidden, static_cast<std::int64_t>(i))
                       .slice(0, static_cast<std::int64_t>(pieces[i]->first) - 1));
  return ops::cat(rows);
}

// XLNet predicts a token from a row that has its position and sees the tokens before it (Yang et al. 2019,
// arXiv:1906.08237, section 2.3, in the order of the text).
std::vector<Score> score_by_streams(const PretrainedModel& model, const ScoredPiece& piece,
                                    std::size_t likeliest, std::optional<std::int64_t> adapter) {
  const auto length = static_cast<std::int64_t>(piece.tokens.size()),
             first = static_cast<std::int64_t>(piece.first);
  const Tensor ids = ops::tensor(piece.tokens, kLong).unsqueeze(0);
  const std::map<std::string, Tensor> inputs = {
      {"input_ids", ids},
      {"perm_mask", ops::ones({1, length, length}).triu()},                // 1: unseen
      {"target_mapping", ops::eye(length).slice(0, first).unsqueeze(0)}};  // [1, P, L]
  const Tensor scores =
      run_forward(model, inputs, {.adapter = adapter, .virtual_rows = false}).at("logits")[0];  // [P, V]
  std::vector<Score> all;
  append_scores(ops::log_softmax(scores, 1), piece.predicted(), likeliest, all);
  return all;
}

// Reads a text longer than `length` in windows that start `stride` tokens apart. Each window predicts the
// tokens that earlier windows have not; shared tokens are context.
void cut(std::size_t text, const Ids& ids, std::size_t length, std::size_t stride,
         std::vector<ScoredPiece>& pieces) {
  for (std::size_t begin = 0, known = 1; known < ids.size(); begin += stride) {
    const std::size_t end = std::min(begin + length, ids.size());
    const auto at = [&](std::size_t place) { return ids.begin() + static_cast<std::ptrdiff_t>(place); };
    known = std::max(known, begin + 1);  // nothing predicts the first token of a window
    if (known < end) pieces.push_back({text, {}, {at(begin), at(end)}, known - begin});
    known = end;
  }
}

}  // namespace

struct TextScorer::State {
  std::shared_ptr<TextModel> text;
  std::shared_ptr<const Tokenizer> target;  // only with an encoder
  ScoringMethod method = ScoringMethod::masked;

  explicit State(const ModelPath& directory) : text(TextModel::with_token_scores(directory)) {
    if (network()->is_encoder_decoder()) {
      method = ScoringMethod::given_source;
      target = TokenizerPair::from_file(ModelDirectory(directory).path()).target;
    } else if (network()->decoder || spec_of(network()).two_streams) {
      method = ScoringMethod::left_to_right;
    } else {
      text->mask_token();
    }
  }

  const PretrainedModel& model() const { return text->model(); }
  Transformer network() const { return model().network(); }

  // Without its log-probability.
  TokenProbability token(std::int64_t id, std::size_t text_number) const {
    if (const std::int64_t max = spec_of(network()).embeddings.vocabulary; id >= max)
      fail("text {} has the token {}, but the model's are 0 to {}: is the tokenizer its own?",
           text_number + 1, id, max - 1);
    const auto token = static_cast<TokenId>(id);
    return {token, (target ? *target : text->tokenizer()).id_to_token(token).value_or(""), 0};
  }

  // The tokens that the pieces of each text predict, in order.
  ScoredTexts score(std::size_t texts, const std::vector<ScoredPiece>& pieces, const RunOptions& options,
                    std::size_t likeliest = 0) const {
    const Unrecorded inference;
    const PretrainedModel& own = text->model(options.adapter);
    Pass pass = Pass::inference();
    pass.adapters = choose_adapters({options.adapter});
    ScoredTexts results(texts);
    std::vector<std::size_t> places;  // of a piece's first token in its text's result
    std::vector<std::int64_t> lengths;
    for (const ScoredPiece& piece : pieces) {
      places.push_back(results[piece.text].size());
      lengths.push_back(static_cast<std::int64_t>(piece.source.size() + piece.tokens.size()));
      for (const std::int64_t id : piece.predicted()) results[piece.text].push_back(token(id, piece.text));
    }
    const bool streams = spec_of(network()).two_streams;
    std::size_t done = 0;
    for (const auto& batch : batches_by_length(lengths, streams ? 1 : options.batch_tokens)) {
      std::vector<const ScoredPiece*> together;
      Ids labels;
      for (const std::size_t i : batch) {
        together.push_back(&pieces[i]);
        labels.insert(labels.end(), pieces[i].predicted().begin(), pieces[i].predicted().end());
      }
      const std::vector<Score> scores =
          streams ? score_by_streams(model(), *together.front(), likeliest, options.adapter)
                  : log_probabilities(own.network(), predicting_rows(own, together, options.adapter, pass),
                                      labels, likeliest, pass);
      auto score = scores.begin();
      for (const std::size_t i : batch)
        for (std::size_t j = 0; j < pieces[i].predicted().size(); ++j) {
          TokenProbability& token = results[pieces[i].text][places[i] + j];
          token.log_probability = score->log_probability;
          token.likeliest = (score++)->likeliest;
        }
      done += batch.size();
      if (options.on_progress) options.on_progress(done, pieces.size());
    }
    return results;
  }

  ScoredTexts score_left_to_right(const std::vector<Ids>& encoded, const ScoreTextOptions& options) const {
    const Stack& stack = network()->decoder ? network()->decoder : network()->encoder;
    const std::int64_t max = stack->max_positions(),
                       length = options.length.value_or(std::min(max, kUsualWindow)),
                       stride = options.stride.value_or(std::max<std::int64_t>(1, length / 2));
    if (length < 2 || length > max)
      fail("length: expected 2 to the {} tokens that the model reads, found {}", max, length);
    if (stride < 1 || stride > length)
      fail("stride: expected 1 to the {} tokens of a window, found {}: tokens would be left out", length,
           stride);
    std::vector<ScoredPiece> pieces;
    for (std::size_t i = 0; i < encoded.size(); ++i)
      cut(i, encoded[i], static_cast<std::size_t>(length), static_cast<std::size_t>(stride), pieces);
    return score(encoded.size(), pieces, options, options.likeliest);
  }

  // Pseudo-log-likelihoods (Salazar et al. 2020, arXiv:1910.14659): each token in turn is masked and
  // predicted from all others. A text of n tokens needs n inputs.
  ScoredTexts score_masked(const std::vector<std::string>& texts, const RunOptions& options) const {
    ScoredTexts results(texts.size());
    const std::vector<Encoding> encodings = text->tokenizer().encode_batch(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Encoding& whole = encodings[i];
      if (!whole.ids.empty()) text->check(whole, fmt::format("text {}", i + 1));
      std::vector<Encoding> masked;
      TextModel::RowNumbers rows;
      for (std::size_t place = 0; place < whole.ids.size(); ++place) {
        if (whole.special_tokens_mask[place] != 0) continue;
        results[i].push_back(token(whole.ids[place], i));
        Encoding& copy = masked.emplace_back();
        copy.ids = whole.ids;
        copy.ids[place] = text->mask_token();
        copy.attention_mask = whole.attention_mask;
        copy.type_ids = whole.type_ids;
        rows.push_back({static_cast<std::int64_t>(place)});
      }
      RunOptions quietly = options;
      quietly.on_progress = {};
      text->score_tokens(masked, rows, quietly, [&](std::size_t j, const Tensor& scores) {
        results[i][j].log_probability =
            numbers(ops::log_softmax(scores[0], 0)[results[i][j].token].unsqueeze(0)).front();
      });
      if (options.on_progress) options.on_progress(i + 1, texts.size());
    }
    return results;
  }
};

TextScorer::TextScorer(const ModelPath& model) : state_(std::make_shared<State>(model)) {}

ScoringMethod TextScorer::method() const {
  return state_->method;
}

ScoredTexts TextScorer::score(const std::vector<std::string>& texts, const ScoreTextOptions& options) {
  if (state_->method == ScoringMethod::given_source)
    fail("{}: {} scores texts whose source it reads: expected that as well",
         state_->model().config().source(), state_->model().architecture());
  if (state_->method == ScoringMethod::masked) return state_->score_masked(texts, options);
  return state_->score_left_to_right(encode_texts(state_->text->tokenizer(), texts), options);
}

ScoredTexts TextScorer::score_tokens(const std::vector<std::vector<TokenId>>& texts,
                                     const ScoreTextOptions& options) {
  if (state_->method != ScoringMethod::left_to_right)
    fail("{}: expected a model that predicts tokens from those before them, found {}",
         state_->model().config().source(), state_->model().architecture());
  std::vector<Ids> ids;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ids.emplace_back(texts[i].begin(), texts[i].end());
    for (const TokenId id : texts[i]) state_->token(id, i);
  }
  return state_->score_left_to_right(ids, options);
}

ScoredTexts TextScorer::score(const std::vector<std::string>& sources,
                              const std::vector<std::string>& targets, const RunOptions& options) {
  const PretrainedModel& model = state_->model();
  if (state_->method != ScoringMethod::given_source)
    fail("{}: {} has no encoder for a source: expected texts alone", model.config().source(),
         model.architecture());
  if (sources.size() != targets.size())
    fail("expected a source for each of {} targets, found {}", targets.size(), sources.size());
  const std::int64_t start = model.config().integer({"decoder_start_token_id"}, {}, 0),
                     max = model.network()->decoder->max_positions();
  std::vector<Ids> source_ids = encode_sources(model, state_->text->tokenizer(), sources),
                   target_ids = encode_texts(*state_->target, targets);
  std::vector<ScoredPiece> pieces;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (source_ids[i].empty()) fail("source {} is empty: expected at least one token", i + 1);
    if (static_cast<std::int64_t>(target_ids[i].size()) > max)
      fail("target {} has {} tokens, but the model reads {}", i + 1, target_ids[i].size(), max);
    target_ids[i].insert(target_ids[i].begin(), start);
    if (target_ids[i].size() > 1) pieces.push_back({i, std::move(source_ids[i]), std::move(target_ids[i])});
  }
  return state_->score(targets.size(), pieces, options);
}

double Likelihood::loss() const {
  if (tokens == 0) fail("expected a text of two tokens at least");
  return -log_probability / static_cast<double>(tokens);
}

double Likelihood::perplexity() const {
  return std::exp(loss());
}

Likelihood v1::likelihood(const std::vector<std::vector<TokenProbability>>& texts) {
  Likelihood all;
  for (const auto& tokens : texts) {
    all.tokens += tokens.size();
    double sum = 0;
    for (const TokenProbability& token : tokens) sum += token.log_probability;
    all.log_probability += sum;
  }
  return all;
}

}  // namespace attend
