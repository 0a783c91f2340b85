#include "training/translation_scores.h"

#include "base/file.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/rouge.h"
#include "tasks/translate.h"
#include "training/evaluate.h"
#include "training/packed.h"

namespace attend {
namespace {

// Greedy translations of all sources. Processes share the work; the first one has all of them.
std::vector<std::string> translate_together(Trainee& trainee, const TokenizerPair& tokenizers,
                                            const std::vector<std::string>& sources, Ranks& ranks) {
  const auto rank = static_cast<std::size_t>(ranks.rank()), count = static_cast<std::size_t>(ranks.size());
  ranks.at("translating the validation's sources");
  std::vector<std::string> own;
  for (std::size_t i = rank; i < sources.size(); i += count) own.push_back(sources[i]);
  TranslateOptions greedy;
  greedy.configure = [](GenerationConfig& config) { config.num_beams = 1; };
  std::vector<std::string> said = translate(trainee.model(), tokenizers, own, greedy);
  if (ranks.alone()) return said;
  Packer packer;
  for (const std::string& text : said) packer.add(text);
  const std::vector<std::string> packed = ranks.gather(packer.text());
  said.assign(sources.size(), {});
  for (std::size_t other = 0; ranks.first() && other < count; ++other) {
    Unpacker texts(packed[other]);
    for (std::size_t i = other; i < sources.size(); i += count) said[i] = texts.name();
  }
  return said;
}

}  // namespace

std::function<std::vector<Score>(Trainee&)> greedy_translation(const Recipe& recipe,
                                                               const TokenizerPair& tokenizers,
                                                               Ranks& ranks) {
  return [&recipe, &tokenizers, &ranks, sources = read_lines(recipe.validation.at(0)),
          references = read_lines(recipe.validation.at(1))](Trainee& trainee) -> std::vector<Score> {
    const std::vector<std::string> said = translate_together(trainee, tokenizers, sources, ranks);
    if (!ranks.first()) return share_scores({}, ranks);
    std::vector<Score> scores = {
        {"bleu", corpus_bleu(said, references, {.lowercase = recipe.lowercase_bleu}).score, true},
        {"chrf", corpus_chrf(said, references, {.lowercase = recipe.lowercase_bleu}).score, true}};
    RougeMetric rouge;
    for (std::size_t i = 0; i < said.size(); ++i) rouge.add(said[i], references[i]);
    for (const auto& [name, value] : rouge.figures()) scores.push_back({name, value, true});
    return share_scores(scores, ranks);
  };
}

}  // namespace attend
