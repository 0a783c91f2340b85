#include "generation/generate.h"

#include "generation/continuous_batch.h"

namespace attend {

std::vector<GeneratedSequence> generate(const PretrainedModel& model, const std::vector<Prompt>& prompts,
                                        const GenerationConfig& config, const GenerateOptions& options) {
  const auto each = static_cast<std::size_t>(config.num_return_sequences);
  std::vector<GeneratedSequence> results(prompts.size() * each);
  std::exception_ptr error;
  ContinuousBatch batch(model, {options.cache, options.batch_tokens, options.assistant});
  const auto settings = batch.prepare(config, options.seed, options.tokenizer, options.rule);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    BatchRequest request{prompts[i], settings, i};
    if (options.on_token)
      request.on_token = [&, i](std::size_t text, const ChosenToken& token) {
        options.on_token(i, text, token.id);
      };
    request.on_end = [&, i](BatchResult result) {
      if (result.error) error = result.error;
      if (result.end != BatchResult::End::finished) return;
      try {
        if (options.on_result) options.on_result(i, result.texts);
      } catch (...) {
        error = std::current_exception();
      }
      std::ranges::move(result.texts, results.begin() + static_cast<std::ptrdiff_t>(i * each));
    };
    try {
      batch.submit(std::move(request));
    } catch (const Error& bad) {
      if (prompts.size() == 1) throw;
      throw Error(fmt::format("prompt {}: {}", i + 1, bad.what()), bad.kind());
    }
  }
  while (!error && !(options.stop && options.stop()) && batch.step()) {
  }
  if (error) std::rethrow_exception(error);
  return results;
}

std::vector<GeneratedSequence> generate(const PretrainedModel& model,
                                        const std::vector<std::vector<std::int64_t>>& prompts,
                                        const GenerationConfig& config, const GenerateOptions& options) {
  std::vector<Prompt> all;
  for (const auto& ids : prompts) all.push_back({ids, {}, {}});
  return generate(model, all, config, options);
}

std::vector<std::int64_t> forced_prefix(const Tokenizer& tokenizer, const GenerationConfig& config,
                                        std::string_view text) {
  std::vector<std::int64_t> written = {start_token(config)};
  if (config.forced_bos_token_id) written.push_back(*config.forced_bos_token_id);
  const auto ids = tokenizer.encode(text, {.special_tokens = false, .with_details = false}).ids;
  written.insert(written.end(), ids.begin(), ids.end());
  return written;
}

}  // namespace attend
