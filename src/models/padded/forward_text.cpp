#include "models/adapters/adapter.h"
#include "models/padded/forward_parts.h"
#include "models/padded/prompt_inputs.h"
#include "models/padded/score_outputs.h"
#include "models/padded/span_outputs.h"
#include "models/padded/streams.h"
#include "models/padded/text_inputs.h"

namespace attend {
namespace {

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

// All inputs except the labels.
std::set<std::string> all_inputs(Transformer& net, const StackSpec& stack) {
  std::set<std::string> known = text_inputs(stack);
  if (stack.layers.front().cross_attention) known.insert({"encoder_hidden_states", "encoder_attention_mask"});
  if (stack.two_streams || stack.memory)
    for (std::size_t i = 0; i < stack.layers.size(); ++i) known.insert(fmt::format("mems.{}", i));
  if (net->score_head && net->score_head->spec().quirks.label_input == "mc_labels")
    known.insert("mc_token_ids");
  if (net->score_head && net->score_head->spec().question_end) known.insert("question_lengths");
  return known;
}

// A head that reads a chosen token reads the last column if none is chosen.
bool chooses_last_column(Transformer& net, const Tensors& inputs) {
  return net->score_head->spec().input == HeadInput::chosen_token && inputs.count("mc_token_ids") == 0;
}

// Whether labels are those of the token after each row.
bool predicts_next(Transformer& net) {
  return net->decoder && net->language_model_head && !net->spec().language_model_head->quirks.labels_in_place;
}

// Whether the head reads every row, including padding.
bool reads_padding(Transformer& net, const Tensors& inputs, const Padded& given, bool prompted) {
  return counts_padding(inputs) || net->span_search ||
         labels_reach_padding(net, find(inputs, "labels"), given, predicts_next(net)) ||
         (net->score_head &&
          ((prompted && net->score_head->spec().input == HeadInput::last_token) ||
           net->score_head->spec().input == HeadInput::last_column ||
           net->score_head->spec().input == HeadInput::counted_column ||
           net->score_head->spec().input == HeadInput::mean || chooses_last_column(net, inputs)));
}

// Whether a head reads the first column, including padding.
bool reads_first_column(Transformer& net) {
  return net->pooler || (net->score_head && net->score_head->spec().input == HeadInput::first_token);
}

// What the heads read: hidden states, whose rows are the tokens of `batch` with this layout.
struct Body {
  Tensor hidden;  // [T, d]
  Padded layout;
  TokenBatch batch;
  Tensor first = {};  // [B, d]: of the first column, if a head reads it
};

Tensor run(Transformer& net, const TokenBatch& batch, const CrossAttentionKV* memory, Pass& pass) {
  return net->decoder ? net->decode(batch, pass, memory) : net->encode(batch, pass, memory);
}

void put_hidden(Result& r, const std::vector<Tensor>& states, std::size_t step, std::size_t first,
                const auto& padded) {
  for (std::size_t i = 0; i < states.size(); ++i)
    r.out[fmt::format("hidden_states.{}", first + step * i)] = padded(states[i]);
}

// The same without the rows of virtual tokens. The columns of `asked` are the last ones of `given`.
Body without_virtual(const Body& body, const Padded& given, const Padded& asked) {
  const bool whole = body.hidden.size(0) == given.sequences() * given.length();
  const Padded layout = whole ? asked.whole() : asked;
  const std::int64_t first = given.length() - asked.length();
  const Tensor columns = body.layout.pad(body.hidden);  // [B, P + L, d]
  return {layout.unpad(columns.narrow(1, first, asked.length())), layout, layout.batch({}, {}), body.first};
}

// What the network reads, and what it reports.
struct Reading {
  Transformer& net;
  const Tensors& inputs;
  const Padded& given;
  Pass& pass;
  Capture::Stack& states;
};

// For an XLNet whose rows have different visible keys.
Body read_streams(Result& r, const Reading& reading, bool whole, bool weights) {
  const auto& [net, inputs, given, pass, states] = reading;
  const StackSpec& stack = net->encoder->spec();
  const Streams streams(given, inputs, stack, read_past(inputs, given.sequences(), stack), weights);
  const Tensor rows = run(net, streams.batch, nullptr, pass);
  const Padded columns = given.whole();
  if (streams.targets() > 0) {  // a pair of states and weights for each layer
    for (std::size_t i = 0; i < states.self_attentions.size(); ++i) {
      const std::vector<Tensor> content = streams.real_weights(states.self_attentions[i], given);
      r.out[fmt::format("attentions.{}.0", i)] = pad_own_weights(content, given);
      r.out[fmt::format("attentions.{}.1", i)] = streams.query_weights(states.self_attentions[i], given);
    }
    put_hidden(r, states.hidden, 2, 1, [&](const Tensor& x) {
      return streams.predicted(x).unflatten(0, {given.sequences(), streams.targets()});
    });
    std::vector<Tensor> content;
    for (const Tensor& x : states.hidden) content.push_back(streams.content(x));
    put_hidden(r, content, 2, 0, [&](const Tensor& x) { return given.pad(given.unpad(columns.pad(x))); });
  }
  if (streams.targets() > 0) states.self_attentions.clear();
  for (std::vector<Tensor>& layer : states.self_attentions) layer = streams.real_weights(layer, given);
  for (Tensor& x : states.hidden) x = given.unpad(columns.pad(streams.content(x)));
  if (streams.targets() > 0) {
    const Padded targets(ops::zeros({given.sequences(), streams.targets()}, kLong), {}, "target_mapping");
    return {streams.predicted(rows), targets, targets.batch({}, {})};
  }
  const Tensor content =
      streams.content(rows).unflatten(0, {given.sequences(), given.length()});  // [B, L, d]
  const Tensor first = content.select(1, 0);
  if (whole) return {content.flatten(0, 1), columns, columns.batch({}, {}), first};
  return {given.unpad(content), given, given.batch({}, {}), first};
}

Body read_rows(const Reading& reading, bool prompted, bool all_read, const CrossAttentionKV* memory) {
  const auto& [net, inputs, given, pass, states] = reading;
  const StackSpec& stack = (net->decoder ? net->decoder : net->encoder)->spec();
  const bool first_read = reads_first_column(net);
  const bool whole = all_read || (first_read && given.padding().select(1, 0).any().item<bool>());
  check_distances(stack, given);
  const bool zeros = whole && stack.quirks.padding_is_zero;
  const Padded layout = whole ? given.whole() : given;
  const Padded& computed = zeros ? given : layout;
  Tensors own = inputs;
  // After virtual tokens, peft counts positions itself unless next tokens are predicted, and passes types
  // only to heads.
  if ((net->decoder ? net->decoder : net->encoder)
          ->prefix_length(pass.adapters ? pass.adapters->only : std::nullopt) > 0) {
    if (!net->decoder || !net->language_model_head) own.erase("position_ids");
    if (!net->score_head) own.erase("token_type_ids");
  }
  if (net->score_head && !find(own, "token_type_ids").defined())
    if (const Tensor types = types_by_question(net->score_head->spec(), inputs); types.defined())
      own["token_type_ids"] = types;
  TokenBatch batch = read_text(own, computed, stack);
  batch.prompted = prompted;
  if (whole && !zeros && given.padding().any().item<bool>())
    batch.visible = std::make_shared<const KeyMask>(given.spans());
  batch.past = read_past(inputs, given.sequences(), stack);
  Tensor hidden = run(net, batch, memory, pass);
  if (zeros) {
    hidden = given.spread(hidden);
    batch = layout.batch({}, {});
  } else if (whole) {
    keep_real_rows(states, layout, given);
  }
  const Tensor first = first_read ? hidden.index_select(0, batch.offsets.first_rows()) : Tensor();
  if (whole && !all_read) return {given.collect(hidden), given, given.batch({}, {}), first};
  return {hidden, layout, batch, first};
}

void put_heads(Result& r, Transformer& net, const Tensors& inputs, const Padded& given, const Body& body,
               std::int64_t choices, Pass& pass) {
  const Tensor labels = find(inputs, "labels");
  const Offsets single(std::vector<std::int64_t>(given.sequences(), 1));
  const Tensor pooled = net->pooler ? net->pooler(body.first, single, pass) : Tensor();
  if (net->language_model_head) {
    const std::int64_t vocabulary =
        (net->decoder ? net->decoder : net->encoder)->spec().embeddings.vocabulary;
    Tensor rows = labels.defined() ? ragged_labels(labels, body.layout, vocabulary) : labels;
    if (rows.defined() && predicts_next(net)) rows = next_labels(rows, body.batch.offsets);
    put_language_model(r, net, body.hidden, body.layout, rows, pass);
    if (reads_padding(net, inputs, given, body.batch.prompted))
      keep_real_scores(r.out, given, {net->spec().language_model_head->quirks.output});
  }
  if (net->span_search)
    r.loss = put_spans(r.out, inputs, net->span_search,
                       body.hidden.unflatten(0, {given.sequences(), given.length()}), pass);
  if (net->score_head) {
    const Tensor loss = put_scores(r.out, inputs, net,
                                   {.hidden = body.hidden,
                                    .pooled = pooled,
                                    .first = body.first,
                                    .layout = body.layout,
                                    .batch = body.batch,
                                    .choices = choices},
                                   pass);
    if (!net->language_model_head)
      r.loss = loss;
    else if (net->score_head->spec().quirks.loss == "loss")  // two pretraining objectives count only together
      r.loss = loss.defined() && r.loss.defined() ? r.loss + loss : Tensor();
    else if (loss.defined())
      r.out[std::string(net->score_head->spec().quirks.loss)] = r.second_loss = loss;
  }
  keep_real_scores(r.out, given, {"start_logits", "end_logits"});
  if (net->score_head && net->score_head->spec().kind == ScoreKind::token_classification)
    keep_real_scores(r.out, given, {"logits"});
  if (!net->language_model_head && !net->score_head && !net->span_search) {
    r.out["last_hidden_state"] = body.layout.pad(body.hidden);
    if (pooled.defined()) r.out["pooler_output"] = pooled;
  }
}

}  // namespace

Result forward_text(const PretrainedModel& model, Tensors inputs, const ForwardOptions& options) {
  Result r;
  Transformer net = model.network();
  const StackSpec& stack = (net->decoder ? net->decoder : net->encoder)->spec();
  std::set<std::string> known = all_inputs(net, stack);
  known.merge(label_inputs(net));
  check_names(inputs, known);
  std::int64_t choices = 1;
  const bool by_choice = net->score_head && net->score_head->spec().kind == ScoreKind::multiple_choice;
  if (by_choice) inputs = flatten_choices(std::move(inputs), choices);
  if (hides_types(model, options.adapter))
    for (const char* name : {"token_type_ids", "position_ids"}) inputs.erase(name);

  const Padded asked(find(inputs, "input_ids"), read_mask(inputs, stack), "input_ids");
  check_ids(asked, stack, "input_ids");
  const Tensor labels = find(inputs, "labels");  // without the labels of virtual tokens
  const auto with_prompts = prompted_inputs(inputs, net, options.adapter);
  if (with_prompts) inputs = *with_prompts;
  const bool prompted = with_prompts.has_value();
  const Padded given =
      prompted ? Padded(find(inputs, "input_ids"), read_mask(inputs, stack), "input_ids") : asked;
  Capture capture{options.hidden_states || stack.memory, options.attentions, {}, {}};
  capture.routing = net->spec().router_loss && labels.defined();
  Pass pass = capturing(capture, options);
  Capture::Stack& states = net->decoder ? capture.decoder : capture.encoder;

  const bool whole = reads_padding(net, inputs, given, prompted);
  const bool streams =
      stack.two_streams && (((whole || reads_first_column(net)) && given.padding().any().item<bool>()) ||
                            inputs.count("perm_mask") > 0 || inputs.count("target_mapping") > 0 ||
                            inputs.count("mems.0") > 0 || stack.looks_back || stack.half_backwards);
  const auto encoded =
      read_encoded(inputs, net->decoder ? net->decoder : net->encoder, given.sequences(), pass);
  const Reading reading{net, inputs, given, pass, states};
  Body body = streams ? read_streams(r, reading, whole, options.attentions)
                      : read_rows(reading, prompted, whole, encoded ? &encoded->memory : nullptr);
  const bool cut = prompted && !options.virtual_rows;
  if (cut) {
    body = without_virtual(body, given, asked);
    if (labels.defined()) inputs["labels"] = labels;
  }
  put_heads(r, net, inputs, cut ? asked : given, body, choices, pass);
  if (capture.routing && r.loss.defined())
    r.loss = r.loss +
             router_loss(states.routing, net->spec().router_loss->chosen) * net->spec().router_loss->factor;

  if (stack.memory) {
    std::vector<Tensor> layer_inputs;
    for (const Tensor& x : states.hidden) layer_inputs.push_back(given.pad(x));
    std::vector<Tensor> past = read_past(inputs, given.sequences(), stack);
    if (const std::int64_t empty = stack.layers.front().self_attention.empty_keys; past.empty() && empty > 0)
      past.assign(stack.layers.size(), ops::zeros({given.sequences(), empty, stack.width()}));
    put_memories(r.out, layer_inputs, past, stack);
  }
  if (!options.hidden_states || r.out.count("hidden_states.0") > 0) states.hidden.clear();
  put_captured(r.out, "", states, given);
  // The original's outputs of other heads do not include them.
  if (encoded && !net->score_head && (net->decoder || !net->language_model_head))
    put_cross_attentions(r.out, states, given, encoded->layout);
  if (by_choice && net->language_model_head) {  // what leaves the body has the dimension of choices again
    const std::string last = fmt::format("hidden_states.{}", stack.layers.size());
    for (const std::string& name : {std::string("logits"), last})
      if (const auto found = r.out.find(name); found != r.out.end())
        found->second = found->second.unflatten(0, {-1, choices});
  }
  return r;
}

}  // namespace attend
