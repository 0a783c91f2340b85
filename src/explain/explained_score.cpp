#include "explain/explained_score.h"

#include "models/padded/score_outputs.h"
#include "nn/transformer/head_rows.h"

namespace attend {
namespace {

// Hidden states of this many rows at a time; a layer's inner states are several times as large.
constexpr std::int64_t kRows = 2048;

Tensor repeated(const Tensor& ids, std::int64_t copies) {
  return ids.defined() ? ids.unsqueeze(0).repeat({copies, 1}) : ids;
}

// The batch of copies of a text, and its padded layout.
struct CopiedText {
  Padded layout;
  TokenBatch batch;

  CopiedText(const Tensor& ids, const Tensor& types, std::int64_t copies)
      : layout(repeated(ids, copies), {}, "input_ids"), batch(layout.batch({}, repeated(types, copies))) {}
};

// While it exists, the caller gives the vectors of a batch's tokens: virtual tokens
// (nn/layers/virtual_tokens.h) replace the batch's own.
class GivenVectors {
 public:
  // x: [copies, n, d].
  GivenVectors(Embeddings& embeddings, const TokenBatch& batch, const Tensor& x)
      : embeddings_(embeddings), batch_(batch) {
    const EmbeddingSpec& spec = embeddings->spec();
    std::int64_t skipped = -1;  // ids without a position, such as RoBERTa's padding, are unchanged
    if (const auto* learned = std::get_if<LearnedPositions>(&spec.positions)) skipped = learned->skipped_id;
    if (const auto* fixed = std::get_if<SinusoidalPositions>(&spec.positions)) skipped = fixed->skipped_id;
    embeddings_->prompts.push_back({.count = batch.ids.size(0), .numbers = x.flatten(0, 1)});
    const Tensor numbers = ops::arange(batch.ids.size(0), kLong) + spec.vocabulary;
    batch_.ids = ops::where(batch.ids.eq(skipped), batch.ids, numbers);
    batch_.prompted = true;
  }
  GivenVectors(const GivenVectors&) = delete;
  GivenVectors& operator=(const GivenVectors&) = delete;
  ~GivenVectors() { embeddings_->prompts.pop_back(); }

  const TokenBatch& batch() const { return batch_; }

 private:
  Embeddings& embeddings_;
  TokenBatch batch_;
};

// Converts between pixels and patches: [copies, C, H, W] <-> [copies, 1 + patches, C * h * w]. The first row
// is not a patch. Pixels that no patch covers are ignored.
Tensor patches_of(const Tensor& pixels, PatchEmbeddings& patches) {
  const PatchSpec& spec = patches->spec();
  const auto [rows, columns] = patches->grid(pixels);
  const Tensor cut = pixels.narrow(2, 0, rows * spec.patch_height)
                         .narrow(3, 0, columns * spec.patch_width)
                         .reshape({-1, spec.channels, rows, spec.patch_height, columns, spec.patch_width})
                         .permute({0, 2, 4, 1, 3, 5})
                         .reshape({pixels.size(0), rows * columns, -1});
  return ops::cat({ops::zeros_like(cut.narrow(1, 0, 1)), cut}, 1);
}
Tensor pixels_of(const Tensor& x, const Tensor& like, PatchEmbeddings& patches) {
  const PatchSpec& spec = patches->spec();
  const auto [rows, columns] = patches->grid(like);
  return x.narrow(1, 1, x.size(1) - 1)
      .reshape({-1, rows, columns, spec.channels, spec.patch_height, spec.patch_width})
      .permute({0, 3, 1, 4, 2, 5})
      .reshape({-1, spec.channels, rows * spec.patch_height, columns * spec.patch_width});
}

Tensor token_vectors(Embeddings& embeddings, const Tensor& ids) {
  Pass pass = Pass::inference();
  const CopiedText text(ids, {}, 1);
  return embeddings->input_vectors(text.batch, pass);
}

}  // namespace

Tensor AskedScore::of(const Tensor& scores) const {
  const Tensor own = scores.select(1, toward);
  return instead_of ? own - scores.select(1, *instead_of) : own;
}

// The copies of one input in a pass.
struct ExplainedScore::Copies {
  std::int64_t count;
  std::optional<CopiedText> source, target;

  Copies(const GivenInput& given, std::int64_t copies, std::int64_t picture_rows) : count(copies) {
    if (given.pixels.defined())
      source.emplace(ops::zeros({picture_rows}, kLong), Tensor(), copies);
    else
      source.emplace(given.ids, given.types, copies);
    if (given.target_ids.defined()) target.emplace(given.target_ids, Tensor(), copies);
  }
};

ExplainedScore::ExplainedScore(const PretrainedModel& model, GivenInput given)
    : model_(model), network_(model.network()), given_(std::move(given)) {
  if (is_picture()) {
    inputs_.push_back(patches_of(given_.pixels, network_->encoder->patches)[0]);
  } else {
    Stack& stack = network_->encoder ? network_->encoder : network_->decoder;
    inputs_.push_back(token_vectors(stack->embeddings, given_.ids));
  }
  if (given_.target_ids.defined())
    inputs_.push_back(token_vectors(network_->decoder->embeddings, given_.target_ids));
}

Tensor ExplainedScore::vector_of(std::size_t side, std::int64_t id) const {
  Stack& stack = side == 0 && network_->encoder ? network_->encoder : network_->decoder;
  return token_vectors(stack->embeddings, ops::full({1}, id, kLong))[0];
}

Tensor ExplainedScore::encoded(const Tensor& x, const Copies& copies, Pass& pass) const {
  if (is_picture()) {
    PatchEmbeddings& patches = network_->encoder->patches;
    return network_->encode(ImageBatch{pixels_of(x, given_.pixels, patches), {}}, pass);
  }
  Stack& stack = network_->encoder ? network_->encoder : network_->decoder;
  const GivenVectors vectors(stack->embeddings, copies.source->batch, x);
  return network_->encoder ? network_->encode(vectors.batch(), pass)
                           : network_->decode(vectors.batch(), pass);
}

Tensor ExplainedScore::scores(const std::vector<Tensor>& x, const AskedScore& asked, Pass& pass) const {
  const Copies copies(given_, x.front().size(0), x.front().size(1));
  Tensor hidden = encoded(x.front(), copies, pass);  // [copies * n, d]
  const CopiedText* last = &*copies.source;
  if (copies.target) {
    const CrossAttentionKV memory = network_->project_kv(hidden, copies.source->batch.offsets, pass);
    const GivenVectors vectors(network_->decoder->embeddings, copies.target->batch, x.back());
    hidden = network_->decode(vectors.batch(), pass, &memory);
    last = &*copies.target;
  }
  if (!asked.label) {
    const Tensor rows = last->batch.offsets.first_rows() + asked.place;
    return network_->language_model_head(hidden.index_select(0, rows), pass);
  }
  std::map<std::string, Tensor> out;
  const std::map<std::string, Tensor> named{{"input_ids", last->layout.ids()}};
  const Tensor pooled = network_->pooler ? network_->pooler(hidden, last->batch.offsets, pass) : Tensor();
  put_scores(out, named, network_,
             {.hidden = hidden, .pooled = pooled, .layout = last->layout, .batch = last->batch}, pass);
  const Tensor scores = out.at(std::string(network_->score_head->spec().quirks.output));
  return scores.dim() == 1 ? scores.unsqueeze(1) : scores;
}

std::vector<std::int64_t> ExplainedScore::rows_read(const AskedScore& asked) const {
  if (!asked.label) return {asked.place};
  const Copies one(given_, 1, inputs_.front().size(0));
  const Tensor rows = head_row_numbers(network_->score_head->spec(), one.source->batch, nullptr);
  return rows.defined() ? std::vector<std::int64_t>{rows[0].item<std::int64_t>()}
                        : std::vector<std::int64_t>{};
}

bool ExplainedScore::has_probability(const AskedScore& asked) const {
  if (!asked.label || asked.instead_of) return true;
  const ScoreHeadSpec& spec = network_->score_head->spec();
  return spec.problem != ProblemType::regression && spec.labels > 1;
}

Tensor ExplainedScore::certainty(const Tensor& scores, const AskedScore& asked) const {
  const Tensor score = asked.of(scores);
  if (!has_probability(asked)) return score;
  const bool single = asked.label && network_->score_head->spec().problem == ProblemType::multi_label;
  if (asked.instead_of || single) return ops::sigmoid(score);
  return ops::softmax(scores, 1).select(1, asked.toward);
}

std::int64_t ExplainedScore::copies_at_once() const {
  // Without an id for padding, some heads score only one text at a time.
  const auto& spec = network_->spec().score_head;
  const bool alone = spec && !network_->language_model_head && !spec->token_id &&
                     (spec->input == HeadInput::last_token || spec->input == HeadInput::before_token);
  if (alone) return 1;
  std::int64_t rows = 0;
  for (const Tensor& side : inputs_) rows += side.size(0);
  return std::max<std::int64_t>(1, kRows / std::max<std::int64_t>(1, rows));
}

void in_parts(std::int64_t total, std::int64_t max,
              const std::function<void(std::int64_t first, std::int64_t count)>& work) {
  for (std::int64_t first = 0; first < total; first += max) work(first, std::min(max, total - first));
}

}  // namespace attend
