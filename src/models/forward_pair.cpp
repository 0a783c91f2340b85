#include "models/forward_parts.h"
#include "models/prompt_inputs.h"
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

// What the encoder reads: a text, or the patches of images, of which none is padding.
struct Source {
  Padded layout;
  Tensor encoded;  // [Ts, d]
  TokenBatch batch;
};

Source read_source(Transformer& net, const Tensors& given, std::optional<std::int64_t> adapter, Pass& pass) {
  if (net->reads_images()) {
    const ImageBatch images = read_images(given, net->encoder->patches);
    const auto [rows, columns] = net->encoder->patches->grid(images.pixels);
    const Padded layout(at::zeros({images.pixels.size(0), 1 + rows * columns}, at::kLong), {},
                        "pixel_values");
    return {layout, net->encode(images, pass), layout.batch({}, {})};
  }
  check_ids(Padded(find(given, "input_ids"), find(given, "attention_mask"), "input_ids"),
            net->encoder->spec(), "input_ids");
  const auto with_prompts = prompted_inputs(given, net, adapter);
  const Tensors& inputs = with_prompts ? *with_prompts : given;
  const Padded layout(find(inputs, "input_ids"), find(inputs, "attention_mask"), "input_ids");
  TokenBatch batch = layout.batch({}, find(inputs, "token_type_ids"));
  batch.prompted = with_prompts.has_value();
  check_distances(net->encoder->spec(), layout);
  return {layout, net->encode(batch, pass), batch};
}

std::set<std::string> pair_inputs(Transformer& net) {
  std::set<std::string> known = {"decoder_input_ids", "decoder_attention_mask"};
  if (net->reads_images())
    known.insert("pixel_values");
  else
    known.insert({"input_ids", "attention_mask"});
  if (net->encoder->spec().embeddings.types > 0) known.insert("token_type_ids");
  known.merge(label_inputs(net));
  return known;
}

}  // namespace

Result forward_pair(const Model& model, const Tensors& inputs, const ForwardOptions& options) {
  Result r;
  Capture capture{options.hidden_states, options.attentions, {}, {}};
  Pass pass = capturing(capture, options);
  Transformer net = model.network();
  check_names(inputs, pair_inputs(net));
  const std::int64_t vocabulary = net->decoder->spec().embeddings.vocabulary;
  const auto [source, encoded, source_batch] = read_source(net, inputs, options.adapter, pass);
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
  TokenBatch target_batch = target.batch({}, {});
  if (whole) target_batch.visible = std::make_shared<const VisibleRows>(given.spans());
  if (source_batch.offsets.count() != target_batch.offsets.count())
    fail("decoder_input_ids: expected {} sequences, as input_ids has, found {}", source_batch.offsets.count(),
         target_batch.offsets.count());
  check_ids(given, net->decoder->spec(), "decoder_input_ids");
  check_distances(net->decoder->spec(), target);
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
    put_cross_attentions(r.out, pass.capture->decoder, given, source);
  }
  return r;
}

}  // namespace attend
