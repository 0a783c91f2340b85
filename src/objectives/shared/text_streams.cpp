#include "objectives/shared/text_streams.h"

#include "nn/attention/memories.h"

namespace attend {
namespace {

std::string memory_name(std::size_t layer) {
  return fmt::format("memory.{}", layer);
}

// The memories that the first `texts` texts of the last batch left, or those of a new text.
std::vector<Tensor> recall(const Trainee& trainee, const StackSpec& stack, std::int64_t texts,
                           bool continues) {
  std::vector<Tensor> past;
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    if (!continues) {
      past.push_back(ops::zeros({texts, stack.layers[i].self_attention.empty_keys, stack.width()}));
      continue;
    }
    const auto found = trainee.carried.find(memory_name(i));
    if (found == trainee.carried.end()) fail("{}: expected what the batch before has left", memory_name(i));
    const Tensor& memory = found->second;
    if (memory.dim() != 3 || memory.size(0) < texts || memory.size(2) != stack.width())
      fail(
          "{}: expected memories of {} texts, {} wide, found [{}]; resume with the `batch_tokens` and "
          "`batch_size` that the "
          "run began with",
          memory_name(i), texts, stack.width(), fmt::join(memory.sizes(), ", "));
    past.push_back(memory.narrow(0, 0, texts));
  }
  return past;
}

}  // namespace

std::vector<std::vector<std::int64_t>> stream_batches(std::int64_t blocks, std::int64_t streams, bool all) {
  streams = std::clamp<std::int64_t>(streams, 1, std::max<std::int64_t>(blocks, 1));
  const std::int64_t length = blocks / streams, longer = all ? blocks % streams : 0;
  std::vector<std::vector<std::int64_t>> batches;
  for (std::int64_t t = 0; t < length + (longer > 0 ? 1 : 0); ++t) {
    std::vector<std::int64_t>& batch = batches.emplace_back();
    const std::int64_t reach = t < length ? streams : longer;
    for (std::int64_t stream = 0; stream < reach; ++stream)
      batch.push_back(stream * length + std::min(stream, longer) + t);
  }
  return batches;
}

Tensor read_streams(Trainee& trainee, const Batch& batch, Pass& pass) {
  Transformer model = trainee.network();
  const StackSpec& stack = model->decoder->spec();
  TokenBatch tokens = batch.tokens;
  const std::int64_t texts = tokens.offsets.count();
  tokens.past = recall(trainee, stack, texts, batch.continues);
  for (Tensor& memory : tokens.past) memory = memory;

  Capture states;
  states.hidden_states = true;
  Capture* const wanted = std::exchange(pass.capture, &states);
  const Tensor hidden = model->decode(tokens, pass);
  pass.capture = wanted;
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    const Tensor read = states.decoder.hidden[i].detach().unflatten(0, {texts, -1});  // [B, L, d]
    trainee.carried[memory_name(i)] = next_memory(tokens.past[i], read, stack).contiguous();
  }
  return hidden;
}

}  // namespace attend
