#include "generation/decoding/assistant.h"

#include "models/families/generates.h"

namespace attend {
namespace {

const PretrainedModel& checked(const PretrainedModel& assistant, const Transformer& network,
                               bool same_tokens) {
  check_generates(assistant);
  if (lacks_kv_cache(assistant.network()->spec()))
    fail("{}: {} reads its text again at every step, too slow for an assistant", assistant.config().source(),
         assistant.architecture());
  const std::int64_t
      own = (network->decoder ? network->decoder : network->encoder)->spec().embeddings.vocabulary,
      other = assistant.network()->decoder->spec().embeddings.vocabulary;
  const bool same_kind = assistant.network()->is_encoder_decoder() == network->is_encoder_decoder();
  if (!same_kind || (same_tokens && own != other))
    fail(
        "{}: an assistant must read and write what the model does, with its vocabulary of {} tokens or a "
        "tokenizer of its own; this one has {} tokens{}",
        assistant.config().source(), own, other, same_kind ? "" : ", and one of the two has an encoder");
  return assistant;
}

}  // namespace

Assistant::Assistant(const Transformer& network, const AssistantOptions& options)
    : options_(options),
      config_(generation_config_of(*options.model)),
      decoder_(checked(*options.model, network, !is_foreign())) {}

void Assistant::check(const Prompt& prompt) const {
  if (!is_foreign()) decoder_.check(prompt);
}

std::unique_ptr<DraftSource> Assistant::draft_source(const Prompt& prompt, std::int64_t max) {
  if (!is_foreign()) return std::make_unique<DraftModel>(max, decoder_, prompt);
  return std::make_unique<ForeignDraft>(max, decoder_, config_, *options_.tokenizers,
                                        *options_.assistant_tokenizers, prompt);
}

}  // namespace attend
