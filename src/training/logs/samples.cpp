#include "training/logs/samples.h"

#include "base/text_lines.h"
#include "base/utf8.h"
#include "generation/generate.h"
#include "tasks/translate.h"
#include "training/logs/readings.h"

#include <fstream>

namespace attend {
namespace {

constexpr std::int64_t kSamples = 4;

// The first non-blank lines; the rest of the file is not read.
std::vector<std::string> first_lines(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  StreamLines reader(in, file);
  while (std::ssize(lines) < kSamples) {
    std::optional<std::string> line = reader.next();
    if (!line) break;
    if (!line->empty() && !find_invalid_utf8(*line)) lines.push_back(std::move(*line));
  }
  return lines;
}

std::vector<Sample> translations(const Trainee& trainee, const TokenizerPair& tokenizers,
                                 const std::vector<std::string>& sources,
                                 const std::vector<std::string>& references) {
  TranslateOptions greedy;
  greedy.configure = [](GenerationConfig& config) { config.num_beams = 1; };
  const std::vector<std::string> said = translate(trainee.model(), tokenizers, sources, greedy);
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < said.size(); ++i)
    samples.push_back({sources[i], i < references.size() ? references[i] : "", said[i]});
  return samples;
}

// Prompts the model with the first half of each line.
std::vector<Sample> continuations(const Trainee& trainee, const Tokenizer& tokenizer,
                                  const std::vector<std::string>& lines) {
  GenerationConfig config = generation_config_of(trainee.model());
  config.max_length.reset();
  config.max_new_tokens = 40;
  config.do_sample = false;
  config.num_beams = 1;
  std::vector<Sample> samples;
  std::vector<std::vector<std::int64_t>> prompts;
  for (const std::string& line : lines) {
    const auto ids = tokenizer.encode(line, {.special_tokens = false, .with_details = false}).ids;
    const auto half = std::span(ids).first(std::min<std::size_t>(16, (ids.size() + 1) / 2));
    if (half.empty()) continue;
    prompts.emplace_back(half.begin(), half.end());
    samples.push_back({tokenizer.decode(half), tokenizer.decode(std::span(ids).subspan(half.size())), ""});
  }
  if (prompts.empty()) return {};
  const auto texts = generate(trainee.model(), prompts, config);
  for (std::size_t i = 0; i < texts.size(); ++i)
    samples[i].said = tokenizer.decode(std::vector<TokenId>(texts[i].ids.begin(), texts[i].ids.end()));
  return samples;
}

}  // namespace

std::function<std::vector<Sample>(Trainee&)> make_sampler(const Recipe& recipe, const ModelSpec& spec,
                                                          const TokenizerPair& tokenizers,
                                                          const Objective* held_out) {
  if (held_out == nullptr) return {};
  const std::vector<std::string> lines = spec.language_model_head && spec.decoder
                                             ? first_lines(recipe.validation.front())
                                             : std::vector<std::string>();
  if (recipe.objective == "sequence-to-sequence" && !lines.empty())
    return [&tokenizers, lines, references = first_lines(recipe.validation.back())](Trainee& trainee) {
      return translations(trainee, tokenizers, lines, references);
    };
  if (recipe.objective == "causal-lm" && !spec.encoder && !lines.empty())
    return
        [&tokenizers, lines](Trainee& trainee) { return continuations(trainee, *tokenizers.source, lines); };
  return [&tokenizers, held_out](Trainee& trainee) {
    return readings(trainee, *held_out, tokenizers.source ? &*tokenizers.source : nullptr, kSamples);
  };
}

}  // namespace attend
