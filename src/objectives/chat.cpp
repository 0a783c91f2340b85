#include "objectives/chat.h"

#include "base/log.h"
#include "objectives/base/kinds.h"

namespace attend {

Chat::Chat(const Setting& setting) : expert_balance_(expert_balance(setting)) {
  check_left_to_right(setting);
  const ChatTemplate chat_template = chat_template_of(setting);
  std::vector<TaughtText> texts;
  read_conversations(setting.files, [&](const TaughtConversation& conversation) {
    texts.push_back(assistant_words(chat_template, conversation));
  });
  texts_ = taught_tokens(setting, texts);
  const std::size_t all = texts_.size();
  std::erase_if(texts_, [](const TaughtTokens& text) { return text.taught() == 0; });
  if (texts_.empty())
    fail(
        "nothing is left to learn: no answer begins within the max length of a conversation; expected a "
        "larger `max_length`");
  if (texts_.size() < all)
    warn("left out {} conversations: each loses its answers at the max length", all - texts_.size());
}

std::int64_t Chat::tokens(std::int64_t example) const {
  return std::ssize(texts_[static_cast<std::size_t>(example)].ids);
}

Batch Chat::collate(std::span<const std::int64_t> examples, const Draws&) const {
  std::vector<const TaughtTokens*> texts;
  for (const std::int64_t example : examples) texts.push_back(&texts_[static_cast<std::size_t>(example)]);
  Batch batch = taught_batch(texts);
  count_next_tokens(batch, expert_balance_);
  return batch;
}

Losses Chat::losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const {
  return next_token_losses(trainee, batch, pass, options, expert_balance_);
}

const ObjectiveKind kChat = {
    .name = "chat",
    .summary =
        "the assistant's words in conversations: JSON lines with messages and optionally tools, "
        "documents, chat_template_kwargs",
    .head = Head::causal_language_model,
    .fine_tunes = true,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<Chat>(setting);
    },
    .write_extra_files = write_chat_template,
};

}  // namespace attend
