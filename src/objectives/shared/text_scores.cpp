#include "objectives/shared/text_scores.h"

#include "nn/transformer/head_rows.h"

namespace attend {
namespace {

// Each text after `start`, without its last token.
TokenBatch shifted(const TokenBatch& tokens, std::int64_t start) {
  TokenBatch target = tokens;
  target.ids = tokens.ids.roll(1);
  target.ids.index_fill_(0, tokens.offsets.first_rows(), start);
  return target;
}

}  // namespace

Tensor text_scores(const PretrainedModel& model, const TokenBatch& given, Pass& pass, Tensor* last_hidden) {
  Transformer network = model.network();
  const ScoreHeadSpec& spec = network->score_head->spec();
  const TokenBatch tokens = given;
  TokenBatch read = tokens;
  Tensor hidden;  // [T, d]
  if (network->is_encoder_decoder()) {
    const Fields& config = model.config();
    const CrossAttentionKV memory = network->project_kv(tokens, pass);
    read = shifted(tokens,
                   config.integer({"decoder_start_token_id"}, config.integer({"pad_token_id"}, {}, 0), 0));
    hidden = network->decode(read, pass, &memory);
  } else if (spec.input == HeadInput::every_token) {
    hidden = network->decoder ? network->decode(tokens, pass) : network->encode(tokens, pass);
  } else {  // includes rows of virtual tokens
    HiddenText text = network->read(tokens, pass);
    hidden = std::move(text.hidden);
    read = std::move(text.batch);
  }
  if (last_hidden != nullptr) *last_hidden = hidden;
  if (spec.input == HeadInput::pooled)
    return network->score_head(network->pooler(hidden, read.offsets, pass), pass);
  return network->score_head(head_rows(spec, read, hidden, &tokens), pass);
}

}  // namespace attend
