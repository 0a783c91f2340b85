#include "models/padded/forward_parts.h"
#include "models/padded/prompt_inputs.h"
#include "models/padded/score_outputs.h"
#include "models/padded/streams.h"
#include "models/padded/text_inputs.h"

namespace attend {
namespace {

std::int64_t padding_of(const Fields& config, std::int64_t vocabulary) {
  return config.integer({"pad_token_id"}, {}, 0, vocabulary - 1);
}

// shift_tokens_right: the start token, then the labels (or ids) without the last. The start token of Marian
// and BART is that of config.json; mBART's is the last token that is not padding.
Tensor shift_right(const Tensor& labels, const Fields& config, std::int64_t vocabulary,
                   bool begins_with_last) {
  const std::int64_t pad = padding_of(config, vocabulary);
  const Tensor real = labels.masked_fill(labels == kIgnoredLabel, pad);
  Tensor ids = ops::empty_like(labels);
  if (begins_with_last) {
    const Tensor last = (real.ne(pad).sum(1) - 1).clamp_min(0);
    ids.select(1, 0).copy_(real.gather(1, last.unsqueeze(1)).squeeze(1));
  } else {
    ids.select(1, 0).fill_(config.integer({"decoder_start_token_id"}, {}, 0, vocabulary - 1));
  }
  ids.narrow(1, 1, labels.size(1) - 1).copy_(real.narrow(1, 0, labels.size(1) - 1));
  return ids;
}

// Whether encoder and decoder are separate models, which also take the inputs that each takes alone.
bool is_composed(Transformer& net) {
  return !net->spec().encoder_family.empty();
}

// The encoder's input: a text, or patches of images, which have no padding.
struct Source {
  Padded layout;
  Tensor encoded;  // [Ts, d]
  Offsets offsets;
};

// For an XLNet that sees only earlier tokens, or reads half of the batch backwards.
Tensor encode_stream(Transformer& net, const Tensors& inputs, const Padded& layout, Pass& pass) {
  const Streams streams(layout, inputs, net->encoder->spec(), {}, false);
  const auto real = [&](const Tensor& rows) {
    return layout.unpad(streams.content(rows).unflatten(0, {layout.sequences(), layout.length()}));
  };
  const Tensor encoded = real(net->encode(streams.batch, pass));
  if (!pass.capture) return encoded;
  for (Tensor& hidden : pass.capture->encoder.hidden) hidden = real(hidden);
  for (std::vector<Tensor>& layer : pass.capture->encoder.self_attentions)
    layer = streams.real_weights(layer, layout);
  return encoded;
}

Source read_source(Transformer& net, const Tensors& given, std::optional<std::int64_t> adapter, Pass& pass) {
  if (net->reads_images()) {
    const ImageBatch images = read_images(given, net->encoder->patches);
    const auto [rows, columns] = net->encoder->patches->grid(images.pixels);
    const Padded layout(ops::zeros({images.pixels.size(0), 1 + rows * columns}, kLong), {}, "pixel_values");
    check_interpolation(given, images, net->encoder->patches->spec());
    return {layout, net->encode(images, pass), layout.batch({}, {}).offsets};
  }
  const StackSpec& stack = net->encoder->spec();
  check_ids(Padded(find(given, "input_ids"), read_mask(given, stack), "input_ids"), stack, "input_ids");
  const auto with_prompts = prompted_inputs(given, net, adapter);
  const Tensors& inputs = with_prompts ? *with_prompts : given;
  const Padded layout(find(inputs, "input_ids"), read_mask(inputs, stack), "input_ids");
  TokenBatch batch = read_text(inputs, layout, stack);
  batch.prompted = with_prompts.has_value();
  check_distances(stack, layout);
  const bool own_keys = stack.looks_back || stack.half_backwards;
  return {layout, own_keys ? encode_stream(net, inputs, layout, pass) : net->encode(batch, pass),
          batch.offsets};
}

std::set<std::string> pair_inputs(Transformer& net) {
  std::set<std::string> known = {"input_ids", "attention_mask"};
  if (net->reads_images())
    known = {"pixel_values", "interpolate_pos_encoding"};
  else if (is_composed(net))
    known = text_inputs(net->encoder->spec());
  if (is_composed(net))
    for (const std::string& name : text_inputs(net->decoder->spec())) known.insert("decoder_" + name);
  known.insert({"decoder_input_ids", "decoder_attention_mask"});
  known.merge(label_inputs(net));
  return known;
}

// A decoder's rows if some keys are hidden from all rows: seen [B, L] bool.
std::shared_ptr<const KeyMask> hide_keys(const Tensor& seen) {
  const std::int64_t L = seen.size(1);
  constexpr double lowest = std::numeric_limits<float>::lowest();
  const Tensor later = ops::full({L, L}, -std::numeric_limits<double>::infinity(), kFloat).triu(1);
  auto visible = std::make_shared<KeyMask>();
  for (std::int64_t b = 0; b < seen.size(0); ++b) {
    visible->first.push_back(0);
    visible->count.push_back(L);
    const Tensor hidden = seen[b].logical_not().to(kFloat) * lowest;
    visible->own.push_back({later + hidden.unsqueeze(0), ops::arange(L), {}});
  }
  return visible;
}

// The labels of the rows of `target`; undefined: none. VisionEncoderDecoderModel has the loss of a decoder
// alone: labels are one column after the row that predicts them.
Tensor labels_of_rows(Transformer& net, const Tensor& labels, const Padded& target, std::int64_t vocabulary) {
  if (!labels.defined()) return labels;
  const Tensor rows = ragged_labels(labels, target, vocabulary);
  return net->reads_images() ? next_labels(rows, target.batch({}, {}).offsets) : rows;
}

}  // namespace

Result forward_pair(const PretrainedModel& model, const Tensors& inputs, const ForwardOptions& options) {
  Result r;
  Capture capture{options.hidden_states, options.attentions, {}, {}};
  Pass pass = capturing(capture, options);
  Transformer net = model.network();
  check_names(inputs, pair_inputs(net));
  const std::int64_t vocabulary = net->decoder->spec().embeddings.vocabulary;
  const auto [source, encoded, source_offsets] = read_source(net, inputs, options.adapter, pass);
  const Tensor labels = find(inputs, "labels");
  Tensor decoder_ids = find(inputs, "decoder_input_ids");
  const bool made = !decoder_ids.defined();
  if (made) {
    // A model without a language model head reads its own input there, shifted.
    const bool predicts = static_cast<bool>(net->language_model_head);
    if (predicts && !labels.defined()) fail("expected decoder_input_ids or labels");
    if (predicts) check_matrix(labels, "labels");
    decoder_ids = shift_right(predicts ? labels : source.ids(), model.config(), vocabulary,
                              net->spec().quirks.begins_with_last_label);
  }
  const Padded given(decoder_ids, find(inputs, "decoder_attention_mask"), "decoder_input_ids");
  const bool whole = counts_padding(inputs) || labels_reach_padding(net, labels, given, net->reads_images());
  const Padded target = whole ? given.whole() : given;
  TokenBatch target_batch = read_text(inputs, target, net->decoder->spec(), "decoder_");
  if (whole) target_batch.visible = std::make_shared<const KeyMask>(given.spans());
  const bool masked = find(inputs, "decoder_attention_mask").defined();
  if (made && !masked && is_composed(net) && !net->reads_images()) {
    // EncoderDecoderModel hides padding in inputs that it makes from labels.
    const Tensor seen = decoder_ids.ne(padding_of(model.config(), vocabulary));
    if (!seen.all().item<bool>()) target_batch.visible = hide_keys(seen);
  }
  if (source_offsets.count() != target_batch.offsets.count())
    fail("decoder_input_ids: expected {} sequences, as input_ids has, found {}", source_offsets.count(),
         target_batch.offsets.count());
  check_ids(given, net->decoder->spec(), "decoder_input_ids");
  check_distances(net->decoder->spec(), target);
  const CrossAttentionKV memory = net->project_kv(encoded, source_offsets, pass);
  const Tensor hidden = net->decode(target_batch, pass, &memory);
  if (net->language_model_head)
    put_language_model(r, net, hidden, target, labels_of_rows(net, labels, target, vocabulary), pass);
  else if (net->score_head)
    r.loss = put_scores(
        r.out, inputs, net,
        {.hidden = hidden, .pooled = {}, .layout = target, .batch = target_batch, .source = &source}, pass);
  else
    r.out["last_hidden_state"] = target.pad(hidden);
  if (whole) keep_real_scores(r.out, given, {"start_logits", "end_logits", "logits"});
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
