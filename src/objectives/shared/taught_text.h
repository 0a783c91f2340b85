// Texts in which a model learns to write only some parts: the assistant's words in a conversation, or the
// answer after a prompt.
#pragma once

#include "data/conversations.h"
#include "objectives/base/registry.h"
#include "tasks/chat/chat_template.h"

namespace attend {

// The recipe's template, or the model's own.
ChatTemplate chat_template_of(const Setting& setting);
// ObjectiveKind::accompany: saves the template that was used in training.
void write_chat_template(const Setting& setting, const std::filesystem::path& output);

struct TaughtText {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> parts;  // [begin, end) of what is learned, in bytes
  bool complete = false;  // a chat template wrote it: the tokenizer adds no special tokens
};

// The assistant's words in a conversation. If the template marks them ({% generation %}), the marks decide.
// Otherwise an answer is the text that the template writes for it after the text with add_generation_prompt
// in its place. Throws Error if the conversation has no answer, or if the template changes earlier text when
// more follows.
TaughtText assistant_words(const ChatTemplate& chat_template, const TaughtConversation& conversation);

// Throws Error as above.
TaughtText answer_after(const ChatTemplate& chat_template, const Messages& prompt, const Messages& answer,
                        const Json& variables);
// The same for plain texts. `end`: the token that ends a text, which is also learned; it is added if it is
// missing.
TaughtText answer_after(const std::string& prompt, const std::string& answer, const std::string& end);

// Each token's label is the next token if that one is learned, else kIgnoredLabel.
struct TaughtTokens {
  TokenIds ids, labels;
  std::int64_t taught() const;  // the number of labels
};

// A token is learned if any of its characters is. Longer texts than the setting's limit (default: 1024
// tokens) are truncated at the end, with a warning that gives their number. Uses all cores.
std::vector<TaughtTokens> taught_tokens(const Setting& setting, std::span<const TaughtText> texts);

// The texts one after another in one batch, with token_labels.
Batch taught_batch(std::span<const TaughtTokens* const> texts);

}  // namespace attend
