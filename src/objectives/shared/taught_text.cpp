#include "objectives/shared/taught_text.h"

#include "base/file.h"
#include "base/log.h"
#include "nn/losses/loss.h"
#include "objectives/shared/token_ids.h"

#include <algorithm>

namespace attend {
namespace {

std::string written(const ChatTemplate& chat_template, std::span<const ChatMessage> messages, Json variables,
                    bool answer_follows) {
  variables["add_generation_prompt"] = answer_follows;
  return chat_template.prompt(messages, variables);
}

constexpr const char* kOtherwise =
    "the chat template writes the text before it otherwise when it follows, so where it begins is unknown; "
    "expected a template with {% generation %} marks (`template`), or one that only appends";

}  // namespace

ChatTemplate chat_template_of(const Setting& setting) {
  return {setting.recipe.chat_template, setting.directory.path()};
}

void write_chat_template(const Setting& setting, const std::filesystem::path& output) {
  const std::string& given = setting.recipe.chat_template;
  const bool jinja = given.find("{{") != given.npos || given.find("{%") != given.npos;
  if (jinja) write_file_atomically(output / "chat_template.jinja", given);
}

TaughtText assistant_words(const ChatTemplate& chat_template, const TaughtConversation& conversation) {
  const std::span<const ChatMessage> messages = conversation.messages;
  Json variables = conversation.variables;
  variables["add_generation_prompt"] = false;
  JinjaTemplate::Rendered whole = chat_template.render(messages, variables);
  TaughtText result{std::move(whole.text), std::move(whole.generated), true};
  std::erase_if(result.parts, [](const auto& part) { return part.first == part.second; });
  if (!result.parts.empty()) return result;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    const std::string before = written(chat_template, messages.first(i), variables, true);
    const std::string through = i + 1 == messages.size()
                                    ? result.text
                                    : written(chat_template, messages.first(i + 1), variables, false);
    if (!through.starts_with(before)) fail("message {}: {}", i + 1, kOtherwise);
    if (!result.text.starts_with(through))
      fail(
          "message {}: the chat template writes it otherwise when more messages follow, so it is unknown "
          "where it ends; expected a template with {{% generation %}} marks (`template`), or conversations "
          "that end there",
          i + 1);
    if (through.size() > before.size()) result.parts.emplace_back(before.size(), through.size());
  }
  if (result.parts.empty()) fail("messages: expected one of the assistant, found none");
  return result;
}

TaughtText answer_after(const ChatTemplate& chat_template, const Messages& prompt, const Messages& answer,
                        const Json& variables) {
  Messages all = prompt;
  all.insert(all.end(), answer.begin(), answer.end());
  const std::string before = written(chat_template, prompt, variables, true);
  TaughtText result{written(chat_template, all, variables, false), {}, true};
  if (!result.text.starts_with(before)) fail("the answer: {}", kOtherwise);
  result.parts.emplace_back(before.size(), result.text.size());
  return result;
}

TaughtText answer_after(const std::string& prompt, const std::string& answer, const std::string& end) {
  TaughtText result{prompt + answer, {}};
  if (!answer.ends_with(end)) result.text += end;
  result.parts.emplace_back(prompt.size(), result.text.size());
  return result;
}

std::int64_t TaughtTokens::taught() const {
  return std::ssize(labels) - std::ranges::count(labels, kIgnoredLabel);
}

namespace {

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

// For each character of the text, whether it is learned.
std::vector<bool> taught_characters(const TaughtText& text) {
  std::vector<bool> taught;
  auto part = text.parts.begin();
  for (std::size_t i = 0; i < text.text.size(); ++i) {
    while (part != text.parts.end() && part->second <= i) ++part;
    if (begins_character(text.text[i])) taught.push_back(part != text.parts.end() && part->first <= i);
  }
  return taught;
}

TaughtTokens tokens_of(const Encoding& encoding, const TaughtText& text, std::int64_t longest) {
  const std::vector<bool> characters = taught_characters(text);
  const auto begin = characters.begin();
  const std::size_t size = std::min(encoding.ids.size(), static_cast<std::size_t>(longest));
  TaughtTokens tokens;
  for (std::size_t i = 0; i < size; ++i) {
    tokens.ids.push_back(encoding.ids[i]);
    if (i == 0) continue;
    const auto first = static_cast<std::ptrdiff_t>(encoding.offsets[i].begin),
               last = static_cast<std::ptrdiff_t>(encoding.offsets[i].end);
    const bool taught = std::find(begin + first, begin + last, true) != begin + last;
    tokens.labels.push_back(taught ? encoding.ids[i] : kIgnoredLabel);
  }
  tokens.labels.push_back(kIgnoredLabel);  // the last token predicts nothing
  return tokens;
}

}  // namespace

std::vector<TaughtTokens> taught_tokens(const Setting& setting, std::span<const TaughtText> texts) {
  constexpr std::size_t kTogether = 1000;  // encodings with offsets are large
  constexpr std::int64_t kUsualLength = 1024;
  const Tokenizer tokenizer = plain_tokenizer(setting);
  const std::int64_t longest = longest_text(setting, kUsualLength);
  std::vector<TaughtTokens> all;
  std::size_t cut = 0;
  while (all.size() < texts.size()) {
    const auto some = texts.subspan(all.size(), std::min(kTogether, texts.size() - all.size()));
    const bool complete = some.front().complete;  // the same for all texts of one objective
    std::vector<std::string> plain;
    for (const TaughtText& text : some) plain.push_back(text.text);
    const std::vector<Encoding> encodings = tokenizer.encode_batch(plain, {.special_tokens = !complete});
    for (std::size_t i = 0; i < some.size(); ++i) {
      cut += std::ssize(encodings[i].ids) > longest ? 1 : 0;
      all.push_back(tokens_of(encodings[i], some[i], longest));
    }
  }
  if (cut > 0)
    warn("{} of {} texts have more than {} tokens and lose their end; `max_length` is the limit", cut,
         texts.size(), longest);
  return all;
}

Batch taught_batch(std::span<const TaughtTokens* const> texts) {
  std::vector<TokenIds> ids, labels;
  for (const TaughtTokens* text : texts) {
    ids.push_back(text->ids);
    labels.push_back(text->labels);
  }
  Batch batch;
  batch.tokens = TokenBatch::from(ids);
  batch.token_labels = joined(labels);
  return batch;
}

}  // namespace attend
