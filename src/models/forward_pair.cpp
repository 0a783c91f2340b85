#include "models/forward_parts.h"
#include "models/score_outputs.h"

namespace attend {
namespace {

// Marian's and BART's shift_tokens_right: the start token, then the labels (or ids) but the last.
Tensor shift_right(const Tensor& labels, const Fields& config, std::int64_t vocabulary) {
  const std::int64_t start = config.integer({"decoder_start_token_id"}, {}, 0, vocabulary - 1);
  const std::int64_t pad = config.integer({"pad_token_id"}, {}, 0, vocabulary - 1);
  Tensor ids = at::empty_like(labels);
  ids.select(1, 0).fill_(start);
  ids.narrow(1, 1, labels.size(1) - 1).copy_(labels.narrow(1, 0, labels.size(1) - 1));
  return ids.masked_fill(ids == kIgnoredLabel, pad);
}

}  // namespace

Result forward_pair(const Model& model, const Tensors& inputs, const ForwardOptions& options) {
  Result r;
  Capture capture{options.hidden_states, options.attentions, {}, {}};
  Pass pass = capturing(capture, options);
  Transformer net = model.network();
  std::set<std::string> known = {"input_ids", "attention_mask", "decoder_input_ids",
                                 "decoder_attention_mask"};
  known.merge(label_inputs(net));
  check_names(inputs, known);
  const std::int64_t vocabulary = net->decoder->spec().embeddings.vocabulary;
  const Padded source(find(inputs, "input_ids"), find(inputs, "attention_mask"), "input_ids");
  const Tensor labels = find(inputs, "labels");
  Tensor decoder_ids = find(inputs, "decoder_input_ids");
  if (!decoder_ids.defined()) {
    // A model without a language model reads its own input there, shifted.
    const bool predicts = static_cast<bool>(net->language_model_head);
    if (predicts && !labels.defined()) fail("expected decoder_input_ids or labels");
    if (predicts) check_matrix(labels, "labels");
    decoder_ids = shift_right(predicts ? labels : source.ids(), model.config(), vocabulary);
  }
  const Padded given(decoder_ids, find(inputs, "decoder_attention_mask"), "decoder_input_ids");
  const bool whole = counts_padding(inputs);
  const Padded target = whole ? given.whole() : given;
  const TokenBatch source_batch = source.batch({}, {});
  TokenBatch target_batch = target.batch({}, {});
  if (whole) target_batch.visible = std::make_shared<const VisibleRows>(given.spans());
  if (source_batch.offsets.count() != target_batch.offsets.count())
    fail("decoder_input_ids: expected {} sequences, as input_ids has, found {}", source_batch.offsets.count(),
         target_batch.offsets.count());
  check_ids(source, net->encoder->spec(), "input_ids");
  check_ids(given, net->decoder->spec(), "decoder_input_ids");
  check_distances(net->encoder->spec(), source);
  check_distances(net->decoder->spec(), target);
  const Tensor encoded = net->encode(source_batch, pass);
  const Memory memory = net->remember(encoded, source_batch.offsets, pass);
  const Tensor hidden = net->decode(target_batch, pass, &memory);
  if (net->language_model_head)
    put_language_model(r, net, hidden, target,
                       labels.defined() ? ragged_labels(labels, target, vocabulary) : labels, pass);
  else if (net->scores)
    r.loss = put_scores(
        r.out, inputs, net,
        {.hidden = hidden, .pooled = {}, .layout = target, .batch = target_batch, .source = &source}, pass);
  else
    r.out["last_hidden_state"] = target.pad(hidden);
  if (whole) keep_real_scores(r.out, given);
  r.out["encoder_last_hidden_state"] = source.pad(encoded);
  if (pass.capture) {
    put_captured(r.out, "encoder_", pass.capture->encoder, source);
    if (whole) keep_real_rows(pass.capture->decoder, target, given);
    put_captured(r.out, "decoder_", pass.capture->decoder, given);
    const auto& cross = pass.capture->decoder.cross_attentions;
    for (std::size_t i = 0; i < cross.size(); ++i)
      r.out[fmt::format("cross_attentions.{}", i)] = pad_weights(cross[i], given, source);
  }
  return r;
}

}  // namespace attend
