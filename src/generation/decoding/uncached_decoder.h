// Decoders without a KV cache: XLM reads the whole text at every step; XLNet and Transformer-XL continue from
// stored hidden states. Each prepares its steps as transformers 4.57.6 does (prepare_inputs_for_generation).
#pragma once

#include "generation/decoding/decoder.h"
#include "models/checkpoint/pretrained_model.h"

namespace attend {

class UncachedDecoder : public Decoder {
 public:
  explicit UncachedDecoder(const PretrainedModel& model);

  void check(const Prompt& prompt) const override;
  std::vector<Sequence> add(std::span<const Prompt* const> prompts) override;
  Sequence fork(Sequence sequence) override;
  void release(Sequence sequence) override;
  Tensor step(std::span<const Feed> feeds) override;
  std::int64_t room(std::int64_t first) const override;
  bool scores_several() const override { return false; }
  bool reads_padding() const override { return true; }

 private:
  struct Text {
    std::vector<std::int64_t> tokens;
    std::vector<Tensor> past;  // per layer [M, d]; empty: nothing is stored, or nothing was read
    bool used = false;
    std::optional<std::int64_t> adapter = {};
  };
  // Texts whose next tokens can be read together: the same number of tokens, past length and adapter.
  using Group = std::vector<std::size_t>;

  const StackSpec& stack() const { return top()->spec(); }
  const Stack& top() const { return network_->decoder ? network_->decoder : network_->encoder; }
  std::vector<std::int64_t> unread(const Text& text) const;
  Tensor read_with_mask(Transformer& network, std::span<Text* const> texts, Pass& pass) const;
  Tensor read_behind_past(Transformer& network, std::span<Text* const> texts, Pass& pass) const;

  PretrainedModel model_;
  Transformer network_;  // all networks of the model agree in what is used of it
  std::vector<Text> texts_;
};

}  // namespace attend
