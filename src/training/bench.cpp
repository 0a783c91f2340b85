#include "training/bench.h"

#include "training/optimizers/parameter_groups.h"

namespace attend {

std::function<void()> training_work(const PretrainedModel& model,
                                    const std::vector<std::vector<std::int64_t>>& sequences, bool bfloat16) {
  auto optimizer = std::make_shared<Optimizer>(parameter_groups(named_parameters(*model.network())),
                                               OptimizerOptions{.weight_decay = 0.01});
  return [=, step = std::uint64_t{0}]() mutable {
    Transformer network = model.network();
    Pass pass = Pass::training(++step);
    pass.bfloat16 = bfloat16;
    const PassScope scope(pass);
    const TokenBatch tokens = TokenBatch::from(sequences);
    Tensor hidden;
    if (network->is_encoder_decoder()) {
      const CrossAttentionKV memory =
          network->project_kv(network->encode(tokens, pass), tokens.offsets, pass);
      hidden = network->decode(tokens, pass, &memory);
    } else {
      hidden = network->decoder ? network->decode(tokens, pass) : network->encode(tokens, pass);
    }
    Tensor labels = tokens.ids.flip(0);
    if (!network->decoder)  // masked language modelling scores about 15 % of the tokens
      labels = labels.masked_fill(ops::arange(labels.numel()).remainder(7) != 0, kIgnoredLabel);
    const LossSum loss = network->language_model_head->loss(hidden, labels, {}, pass);
    loss.sum.backward();
    const GradientNorm norm = gradient_norm(optimizer->parameters());  // as in the training loop, for
                                                                       // clipping
    if (!norm.not_finite.empty()) fail("the gradient of {} is not finite", norm.not_finite);
    optimizer->step(1e-4, 1 / static_cast<double>(loss.count));
  };
}

}  // namespace attend
