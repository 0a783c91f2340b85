#include "tasks/texts/prompt_texts.h"

#include "models/checkpoint/pretrained_model.h"

#include <algorithm>

namespace attend {

PromptTexts::PromptTexts(const PretrainedModel& model, const TokenizerPair& tokenizers,
                         const GenerationConfig& config)
    : tokenizers_(tokenizers),
      config_(config),
      architecture_(model.architecture()),
      continues_(!model.network()->is_encoder_decoder()) {}

void PromptTexts::begin_with(const std::string& prefix) {
  if (prefix.empty()) return;
  if (continues_) fail("a prefix: {} goes on with its prompt; write the words there", architecture_);
  prefix_ = prefix;
  written_ = forced_prefix(*tokenizers_.target, config_, prefix);
}

void PromptTexts::lead_away_from(const std::string& negative) {
  if (negative.empty()) return;
  if (!continues_ || config_.guidance_scale == 1)
    fail("a negative prompt: expected a decoder-only model, and a guidance_scale other than 1");
  const std::vector<TokenId> ids = tokenizers_.source->encode(negative).ids;
  if (ids.empty())
    fail("a negative prompt: it has no tokens; leave it out to guide by the prompt's last token");
  negative_.assign(ids.begin(), ids.end());
}

std::vector<Prompt> PromptTexts::read(const std::vector<std::string>& texts, bool special_tokens,
                                      const LongestText* longest) const {
  std::vector<Prompt> prompts;
  for (const Encoding& encoding :
       tokenizers_.source->encode_batch(texts, {.special_tokens = special_tokens, .with_details = false})) {
    const std::string& text = texts[prompts.size()];
    Prompt& prompt = prompts.emplace_back();
    prompt.ids.assign(encoding.ids.begin(), encoding.ids.end());
    if (longest != nullptr && continues_) keep_end(prompt.ids, *longest, config_);
    if (longest != nullptr && !continues_)
      longest->cut(prompt.ids, *tokenizers_.source, text, special_tokens);
    if (prompt.ids.empty() && continues_ && config_.bos_token_id) prompt.ids = {*config_.bos_token_id};
    prompt.written = written_;
    prompt.negative = negative_;
  }
  return prompts;
}

Prompt PromptTexts::read(std::span<const TokenId> ids) const {
  Prompt prompt;
  prompt.ids.assign(ids.begin(), ids.end());
  prompt.written = written_;
  prompt.negative = negative_;
  return prompt;
}

TextStream PromptTexts::stream(const Prompt& prompt) const {
  const std::vector<std::int64_t>& ids = continues_ ? prompt.ids : prompt.written;
  return TextStream(*tokenizers_.target, {ids.begin(), ids.end()}, shown_);
}

std::string PromptTexts::text(const Prompt& prompt, std::span<const std::int64_t> ids) const {
  TextStream stream = this->stream(prompt);
  for (const std::int64_t id : ids) stream.add(static_cast<TokenId>(id));
  return stream.finish();
}

void keep_end(std::vector<std::int64_t>& prompt, const LongestText& longest, const GenerationConfig& config) {
  if (!longest.tokens()) return;
  const auto max = static_cast<std::int64_t>(*longest.tokens()), size = std::ssize(prompt);
  const std::int64_t to_come = config.max_new_tokens ? *config.max_new_tokens
                               : config.max_length   ? std::max<std::int64_t>(*config.max_length - size, 1)
                                                     : 1;
  if (size + to_come <= max) return;
  if (to_come >= max)
    fail("{} new tokens leave no room for a prompt among the {} that the model holds: lower max_new_tokens",
         to_come, max);
  longest.say_cut(/*asked=*/true, "of a prompt it is the beginning");
  prompt.erase(prompt.begin(), prompt.end() - (max - to_come));
}

std::vector<TokenScore> token_scores(std::span<const Scored> scores) {
  std::vector<TokenScore> tokens;
  for (const auto& [score, token] : scores) tokens.push_back({static_cast<TokenId>(token), score});
  return tokens;
}

GeneratedText generated_text(const GeneratedSequence& made, std::string text, const GenerationConfig& config,
                             bool log_probabilities) {
  const bool stopped = made.stopped || std::ranges::any_of(config.stop_strings, [&](const std::string& stop) {
                         return text.find(stop) != text.npos;
                       });
  GeneratedText result{std::move(text), {made.ids.begin(), made.ids.end()}, made.score};
  if (log_probabilities) {
    result.log_probabilities = made.log_probabilities;
    for (const std::vector<Scored>& scores : made.likeliest) result.likeliest.push_back(token_scores(scores));
  }
  result.cut_off = !stopped && (made.ids.empty() || !is_eos(config, made.ids.back()));
  return result;
}

bool same_tokens(const Tokenizer& a, const Tokenizer& b) {
  if (a.vocabulary_size() != b.vocabulary_size()) return false;
  for (TokenId id = 0; id < static_cast<TokenId>(a.vocabulary_size()); ++id)
    if (a.id_to_token(id) != b.id_to_token(id)) return false;
  return true;
}

}  // namespace attend
