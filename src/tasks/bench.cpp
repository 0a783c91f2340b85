#include "tasks/bench.h"

#include "base/random.h"
#include "generation/generate.h"
#include "models/checkpoint/pretrained_model.h"
#include "tasks/texts/text_batches.h"

#include <chrono>
#include <functional>
#include <thread>

namespace attend {
namespace {

using Sequences = std::vector<std::vector<std::int64_t>>;

Sequences random_sequences(const BenchOptions& options, std::int64_t vocabulary) {
  std::vector<std::int64_t> lengths = options.lengths;
  if (lengths.empty()) lengths.assign(options.batch, options.length);
  Random random(1);
  const std::int64_t first = vocabulary > 1000 ? 1000 : 1,
                     last = std::min<std::int64_t>(vocabulary - 1, 30000);
  Sequences sequences;
  for (std::int64_t length : lengths) {
    sequences.emplace_back();
    for (std::int64_t i = 0; i < length; ++i)
      sequences.back().push_back(first + static_cast<std::int64_t>(random.below(last - first)));
  }
  return sequences;
}

std::function<void()> encode_work(const PretrainedModel& model, const Sequences& sequences) {
  return [=] {
    Unrecorded inference;
    Transformer network = model.network();
    constexpr std::int64_t kBatchTokens = 4096;
    for (const auto& batch : batches_by_length(sequences, kBatchTokens)) {
      Sequences part;
      for (std::size_t i : batch) part.push_back(sequences[i]);
      Pass pass = Pass::inference();
      const TokenBatch tokens = TokenBatch::from(part);
      if (network->is_encoder_decoder()) {
        const CrossAttentionKV memory =
            network->project_kv(network->encode(tokens, pass), tokens.offsets, pass);
        network->decode(tokens, pass, &memory);
      } else {
        network->encoder ? network->encode(tokens, pass) : network->decode(tokens, pass);
      }
    }
  };
}

std::function<void()> image_work(const PretrainedModel& model, std::int64_t count) {
  const PatchSpec& patches = *model.network()->spec().encoder->patches;
  const ImageBatch images{ops::empty({count, patches.channels, patches.height, patches.width}), {}};
  Random random(1);
  for (float& pixel : std::span(images.pixels.data<float>(), images.pixels.numel()))
    pixel = static_cast<float>(random.below(1000)) / 500 - 1;
  return [=] {
    Unrecorded inference;
    Pass pass = Pass::inference();
    model.network()->encode(images, pass);
  };
}

std::function<void()> generate_work(const PretrainedModel& model, const Sequences& sequences,
                                    const BenchOptions& options) {
  GenerationConfig config = generation_config_of(model);
  config.do_sample = false;
  config.num_beams = options.beams;
  config.eos_token_id = {};
  config.forced_eos_token_id = {};
  config.max_length.reset();
  config.max_new_tokens = options.new_tokens;
  config.pad_token_id = 0;
  std::vector<Prompt> prompts;
  const auto adapters = static_cast<std::int64_t>(model.adapters().size());
  for (const auto& sequence : sequences) {
    Prompt& prompt = prompts.emplace_back();
    prompt.ids = sequence;
    prompt.row = {};
    if (adapters > 0) prompt.adapter = static_cast<std::int64_t>(prompts.size() - 1) % adapters;
  }
  return [=] { generate(model, prompts, config); };
}

}  // namespace

BenchResult bench(const BenchOptions& options, const TrainingWork& training_work) {
  const bool training = options.work == "train";
  if (options.bfloat16 && !training) fail("`precision` bfloat16: only with `work` train");
  if (options.bfloat16 && !Bfloat16Products::available())
    fail("`precision` bfloat16: this machine has no instructions for it (AVX512_BF16)");
  const PretrainedModel model =
      PretrainedModel::load(ModelDirectory(options.model), training ? Purpose::training : Purpose::inference);
  Transformer network = model.network();
  const StackSpec& reader = network->encoder ? *network->spec().encoder : *network->spec().decoder;
  const bool images = network->reads_images();
  const Sequences sequences = images ? Sequences() : random_sequences(options, reader.embeddings.vocabulary);

  BenchResult result;
  std::function<void()> work;
  if (images) {
    if (options.work != "encode" && options.work != "image")
      fail("`work` {}: a model of images only encodes", options.work);
    result.items =
        options.lengths.empty() ? options.batch : static_cast<std::int64_t>(options.lengths.size());
    work = image_work(model, result.items);
    result.unit = "images";
  } else if (options.work == "encode") {
    work = encode_work(model, sequences);
    result.items = static_cast<std::int64_t>(sequences.size());
    result.unit = "sentences";
  } else if (options.work == "generate" || options.work == "translate") {
    work = generate_work(model, sequences, options);
    result.items = static_cast<std::int64_t>(sequences.size()) * options.new_tokens;
    result.unit = "tokens";
  } else if (training) {
    if (!network->language_model_head) fail("`work` train: expected a model with a language model head");
    if (!training_work) fail("`work` train: this part of attend does not train");
    work = training_work(model, sequences, options.bfloat16);
    for (const auto& sequence : sequences) result.items += static_cast<std::int64_t>(sequence.size());
    result.unit = "tokens";
  } else {
    fail("`work` {}: expected encode, generate, translate or train, as the model reads text", options.work);
  }
  for (std::int64_t round = -1; round < options.rounds; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(options.pause));
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (round >= 0) result.seconds_per_round.push_back(seconds.count());
  }
  return result;
}

}  // namespace attend
