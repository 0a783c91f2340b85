#include "tasks/texts/longest_text.h"

#include "base/log.h"
#include "tokenizers/files/directory_facts.h"

#include <limits>

namespace attend {

std::int64_t positions_of(const PretrainedModel& model) {
  Transformer network = model.network();
  if (network->reads_images()) return 0;
  return (network->encoder ? network->encoder : network->decoder)->max_positions();
}

LongestText::LongestText(const std::filesystem::path& directory, const PretrainedModel& model)
    : tokens_(tokenizers::model_max_length(directory)), side_(tokenizers::truncation_side(directory)) {
  const std::int64_t positions = positions_of(model);
  if (positions == std::numeric_limits<std::int64_t>::max()) return;
  const auto max = static_cast<std::size_t>(std::max<std::int64_t>(positions, 0));
  tokens_ = std::min(tokens_.value_or(max), max);
}

std::optional<Truncation> LongestText::truncation(bool wanted) const {
  if (!wanted || !tokens_) return {};
  return Truncation{.direction = side_, .max_length = *tokens_};
}

void LongestText::cut(std::vector<std::int64_t>& ids, const Tokenizer& tokenizer, const std::string& text,
                      bool special_tokens) const {
  if (!tokens_ || ids.size() <= *tokens_) return;
  say_cut(/*asked=*/true, "");
  const Encoding short_one =
      tokenizer.encode(text, {.special_tokens = special_tokens, .truncation = truncation(true)});
  ids.assign(short_one.ids.begin(), short_one.ids.end());
}

void LongestText::say_cut(bool asked, std::string_view advice) const {
  if (said_->exchange(true)) return;
  const std::string text =
      fmt::format("a text is longer than the {} tokens that are read of it, and the rest is left out{}{}",
                  tokens_.value_or(0), advice.empty() ? "" : "; ", advice);
  if (asked)
    inform("{}", text);
  else
    warn("{}", text);
}

std::string name_of_text(std::size_t number, std::size_t count) {
  return count == 1 ? "the text" : fmt::format("text {}", number + 1);
}

}  // namespace attend
