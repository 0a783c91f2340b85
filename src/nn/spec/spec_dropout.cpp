#include "nn/spec/spec_dropout.h"

namespace attend {
namespace {

void set_everywhere(LayerSpec& layer, double rate) {
  layer.self_attention.dropout = rate;
  if (layer.self_attention.distance) layer.self_attention.distance->dropout = rate;
  if (layer.cross_attention) layer.cross_attention->dropout = rate;
  if (layer.feed_forward.dropout) layer.feed_forward.dropout = rate;
  layer.attention_result_dropout = layer.feed_forward_result_dropout = rate;
}

void set_everywhere(StackSpec& stack, double rate) {
  stack.embeddings.dropout = rate;
  if (stack.patches) stack.patches->dropout = rate;
  for (LayerSpec& layer : stack.layers) set_everywhere(layer, rate);
  if (stack.convolution) stack.convolution->dropout = rate;
  if (stack.final_dropout) stack.final_dropout = rate;
}

void set_everywhere(ScoreHeadSpec& head, double rate) {
  head.dense_dropout = head.dropout = rate;
  if (head.block) head.block->dropout = rate;
}

}  // namespace

void set_dropout(ModelSpec& model, const DropoutRates& rates) {
  for (std::optional<StackSpec>* stack : {&model.encoder, &model.decoder}) {
    if (!*stack) continue;
    if (rates.all) set_everywhere(**stack, *rates.all);
    for (LayerSpec& layer : (*stack)->layers) {
      if (rates.attention) layer.self_attention.dropout = *rates.attention;
      if (rates.attention && layer.cross_attention) layer.cross_attention->dropout = *rates.attention;
      if (!rates.activation) continue;
      layer.feed_forward.dropout = *rates.activation;
      if (layer.experts && layer.experts->shared) layer.experts->shared->dropout = *rates.activation;
    }
  }
  if (rates.all && model.score_head) set_everywhere(*model.score_head, *rates.all);
}

}  // namespace attend
