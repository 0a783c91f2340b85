#include "models/forward.h"

#include "models/forward_parts.h"
#include "models/score_outputs.h"

namespace attend {
namespace {

// Labels in the order of the rows of `layout`; Error for one outside the vocabulary.
Tensor ragged_labels(const Tensor& labels, const Padded& layout, std::int64_t vocabulary) {
  layout.check(labels, "labels");
  const Tensor rows = layout.unpad(labels).to(at::kLong);
  const Tensor outside =
      rows.masked_select(rows.lt(0).logical_or(rows.ge(vocabulary)).logical_and(rows.ne(kIgnoredLabel)));
  if (outside.numel() > 0)
    fail("labels: {} is outside the vocabulary, 0 to {} (or {}, which does not count)",
         outside[0].item<std::int64_t>(), vocabulary - 1, kIgnoredLabel);
  return rows;
}

// Row t of the result is the label that row t predicts: the next token of its sequence.
Tensor next_labels(const Tensor& labels, const Offsets& offsets) {
  Tensor next = at::full_like(labels, kIgnoredLabel);
  for (std::int64_t b = 0; b < offsets.count(); ++b)
    if (const std::int64_t n = offsets.length(b); n > 1)
      next.narrow(0, offsets.begin(b), n - 1).copy_(labels.narrow(0, offsets.begin(b) + 1, n - 1));
  return next;
}

// Marian's and BART's shift_tokens_right: the start token, then the labels (or ids) but the last.
Tensor shift_right(const Tensor& labels, const Fields& config, std::int64_t vocabulary) {
  const std::int64_t start = config.integer({"decoder_start_token_id"}, {}, 0, vocabulary - 1);
  const std::int64_t pad = config.integer({"pad_token_id"}, {}, 0, vocabulary - 1);
  Tensor ids = at::empty_like(labels);
  ids.select(1, 0).fill_(start);
  ids.narrow(1, 1, labels.size(1) - 1).copy_(labels.narrow(1, 0, labels.size(1) - 1));
  return ids.masked_fill(ids == kIgnoredLabel, pad);
}

bool takes_types(const StackSpec& stack) {
  const auto& distance = stack.layers.front().self_attention.distance;
  return stack.embeddings.types > 0 || stack.embeddings.types_are_tokens || (distance && distance->segments);
}

// Distances are counted from token to token, the original's from column to column: the same, unless padding
// stands between tokens.
void check_distances(const StackSpec& stack, const Padded& layout) {
  if (!std::holds_alternative<std::monostate>(stack.distances)) layout.spans();
}

// Transformer-XL gives the tokens' losses in place of the scores: [B, L - 1], but cluster by cluster, and
// those that do not count last. scores [T, V] are log-probabilities, labels [T] those of the next tokens.
Tensor losses_by_cluster(const Tensor& scores, const Tensor& labels, const Padded& layout,
                         const ClusterSpec& clusters) {
  const Tensor ignored = labels.eq(kIgnoredLabel);
  const Tensor losses =
      scores.gather(1, labels.masked_fill(ignored, 0).unsqueeze(1)).squeeze(1).neg().masked_fill(ignored, 0);
  Tensor cluster = ignored.to(at::kLong) * static_cast<std::int64_t>(clusters.ends.size());
  for (const std::int64_t end : clusters.ends) cluster += labels.ge(end).to(at::kLong);
  const auto but_last = [&](const Tensor& rows) {
    return layout.pad(rows).narrow(1, 0, layout.length() - 1).flatten();
  };
  const Tensor order = at::argsort(but_last(cluster), /*stable=*/true, 0, /*descending=*/false);
  return but_last(losses).index_select(0, order).view({layout.sequences(), layout.length() - 1});
}

void put_language_model(Result& r, Transformer& net, const Tensor& hidden, const Padded& layout,
                        const Tensor& labels) {
  if (const auto& clusters = net->spec().language_model->clusters; clusters && labels.defined()) {
    const Tensor scores = net->language_model_head(hidden);
    r.out["losses"] = losses_by_cluster(scores, labels, layout, *clusters);
    r.loss = cross_entropy(scores, labels, 0).mean();
    return;
  }
  r.out[std::string(net->spec().language_model->output)] = layout.pad(net->language_model_head(hidden));
  if (labels.defined()) r.loss = net->language_model_head->loss(hidden, labels, 0).mean();
}

// The loss of spans is a softmax over all positions, and transformers has the padding take part in it.
bool counts_padding(const Tensors& inputs) {
  return inputs.count("start_positions") > 0;
}

void keep_real_scores(Tensors& out, const Padded& given) {
  for (const char* name : {"start_logits", "end_logits"}) out[name] = given.pad(given.unpad(out[name]));
}

Result forward_encoder_decoder(const Model& model, const Tensors& inputs, Pass& pass) {
  Result r;
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
  const Memory memory = net->remember(encoded, source_batch.offsets);
  const Tensor hidden = net->decode(target_batch, pass, &memory);
  if (net->language_model_head)
    put_language_model(r, net, hidden, target,
                       labels.defined() ? ragged_labels(labels, target, vocabulary) : labels);
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

// XLM's mask: as many columns as `lengths` says, or as there are ids that are not padding.
Tensor mask_by_length(const Tensors& inputs, std::int64_t padding) {
  const Tensor mask = find(inputs, "attention_mask"), ids = find(inputs, "input_ids");
  if (mask.defined()) return mask;
  check_matrix(ids, "input_ids");
  Tensor lengths = find(inputs, "lengths");
  if (!lengths.defined()) lengths = ids.ne(padding).sum(1);
  if (lengths.numel() != ids.size(0))
    fail("lengths: expected one for each of {} texts, found {}", ids.size(0), lengths.numel());
  return at::arange(ids.size(1)).unsqueeze(0).lt(lengths.reshape({-1, 1}));
}

// Multiple choice: [questions, choices, length] -> [questions * choices, length].
Tensors flatten_choices(Tensors inputs, std::int64_t& choices) {
  const Tensor ids = find(inputs, "input_ids");
  if (ids.dim() != 3)
    fail("input_ids: expected the shape [questions, choices, length], found [{}]",
         fmt::join(ids.sizes(), ", "));
  choices = ids.size(1);
  for (auto& [name, tensor] : inputs)
    if (tensor.dim() == 3) tensor = tensor.flatten(0, 1);
  return inputs;
}

Result forward_single(const Model& model, Tensors inputs, Pass& pass) {
  Result r;
  Transformer net = model.network();
  const bool decoder = static_cast<bool>(net->decoder);
  const StackSpec& stack_spec = (decoder ? net->decoder : net->encoder)->spec();
  const EmbeddingSpec& embeddings = stack_spec.embeddings;
  std::set<std::string> known = {"input_ids", "attention_mask"};
  if (!std::holds_alternative<std::monostate>(embeddings.positions)) known.insert("position_ids");
  if (takes_types(stack_spec)) known.insert("token_type_ids");
  // XLM takes both always, and passes over languages where it has no vectors for them.
  if (stack_spec.padding_is_zero) known.insert({"langs", "lengths"});
  if (net->scores && net->scores->spec().input == HeadInput::chosen_token) known.insert("mc_token_ids");
  known.merge(label_inputs(net));
  check_names(inputs, known);
  std::int64_t choices = 1;
  const bool by_choice = net->scores && net->scores->spec().kind == ScoreKind::multiple_choice;
  if (by_choice) inputs = flatten_choices(std::move(inputs), choices);

  const Padded given(find(inputs, "input_ids"),
                     stack_spec.padding_is_zero ? mask_by_length(inputs, embeddings.padding_id)
                                                : find(inputs, "attention_mask"),
                     "input_ids");
  const bool whole = counts_padding(inputs), zeros = whole && stack_spec.padding_is_zero;
  check_ids(given, stack_spec, "input_ids");
  check_distances(stack_spec, given);
  const Padded layout = whole ? given.whole() : given;
  const Padded& computed = zeros ? given : layout;
  TokenBatch batch = computed.batch(find(inputs, "position_ids"), find(inputs, "token_type_ids"));
  if (const Tensor langs = find(inputs, "langs"); langs.defined()) {
    computed.check(langs, "langs");
    batch.languages = computed.unpad(langs.to(at::kLong));
  }
  if (whole && !zeros) batch.visible = std::make_shared<const VisibleRows>(given.spans());
  const Tensor labels = find(inputs, "labels");
  Tensor hidden = decoder ? net->decode(batch, pass) : net->encode(batch, pass);
  if (zeros) {
    hidden = given.spread(hidden);
    batch = layout.batch({}, {});
  }
  const Tensor pooled = net->pooler ? net->pooler(hidden, batch.offsets) : Tensor();
  if (net->language_model_head) {
    Tensor rows = labels.defined() ? ragged_labels(labels, layout, embeddings.vocabulary) : labels;
    if (rows.defined() && decoder) rows = next_labels(rows, batch.offsets);
    put_language_model(r, net, hidden, layout, rows);
  }
  if (net->scores) {
    const Tensor loss = put_scores(r.out, inputs, net, {hidden, pooled, layout, batch, choices}, pass);
    if (!net->language_model_head)
      r.loss = loss;
    else if (net->scores->spec().loss == "loss")  // two pretraining objectives count only together
      r.loss = loss.defined() && r.loss.defined() ? r.loss + loss : Tensor();
  }
  if (whole) keep_real_scores(r.out, given);
  if (!net->language_model_head && !net->scores) {
    r.out["last_hidden_state"] = layout.pad(hidden);
    if (pooled.defined()) r.out["pooler_output"] = pooled;
  }
  if (pass.capture) {
    Capture::Stack& stack = decoder ? pass.capture->decoder : pass.capture->encoder;
    if (whole && !zeros) keep_real_rows(stack, layout, given);
    put_captured(r.out, "", stack, given);
  }
  if (by_choice && net->language_model_head) {  // what leaves the body knows of the choices again
    const std::string last = fmt::format("hidden_states.{}", net->decoder->spec().layers.size());
    for (const std::string& name : {std::string("logits"), last})
      if (const auto found = r.out.find(name); found != r.out.end())
        found->second = found->second.unflatten(0, {-1, choices});
  }
  return r;
}

[[noreturn]] void fail_without_labels(const Model& model) {
  Transformer net = model.network();
  const std::set<std::string> names = label_inputs(net);
  if (names.empty())
    fail("gradients are those of the loss, and {} has no head with one", model.architecture());
  fail("gradients are those of the loss: expected the input{} {}", names.size() == 1 ? "" : "s",
       fmt::join(names, " and "));
}

}  // namespace

std::map<std::string, Tensor> run_forward(const Model& model, const Tensors& inputs,
                                          const ForwardOptions& options) {
  Transformer net = model.network();
  const char* main_input = net->reads_images() ? "pixel_values" : "input_ids";
  if (inputs.count(main_input) == 0) fail("expected an input named {}", main_input);
  Capture capture;
  capture.hidden_states = options.hidden_states;
  capture.attentions = options.attentions;
  Pass pass = Pass::inference();
  if (options.hidden_states || options.attentions) pass.capture = &capture;

  at::AutoGradMode grad(options.gradients);
  Result r = net->reads_images()         ? forward_images(model, inputs, pass)
             : net->is_encoder_decoder() ? forward_encoder_decoder(model, inputs, pass)
                                         : forward_single(model, inputs, pass);
  if (r.loss.defined()) r.out["loss"] = r.loss;
  if (options.gradients) {
    if (!r.loss.defined()) fail_without_labels(model);
    r.loss.backward();
    const auto gradients = model.by_checkpoint_name(
        [](const std::string&, const Tensor& weight) { return weight.grad(); }, false);
    for (const auto& [name, gradient] : gradients) r.out["grad." + name] = gradient;
  }
  for (auto& [name, tensor] : r.out) tensor = tensor.detach();
  return r.out;
}

}  // namespace attend
