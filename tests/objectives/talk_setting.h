// A tiny decoder whose words are w0, w1, ... and the words of turns, with chat templates for it.
#pragma once

#include "nn/losses/loss.h"
#include "objectives/small_setting.h"

namespace attend {

constexpr std::string_view kTurns =
    "{% for m in messages %}{{ m.role + ' ' + m.content + ' end ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant ' }}{% endif %}";
constexpr std::string_view kMarkedTurns =
    "{% for m in messages %}{{ m.role + ' ' }}{% if m.role == 'assistant' %}{% generation %}{{ m.content + ' "
    "end' }}"
    "{% endgeneration %}{{ ' ' }}{% else %}{{ m.content + ' end ' }}{% endif %}{% endfor %}";

class TalkSetting : public SmallSetting {
 public:
  TalkSetting()
      : SmallSetting({{"model_type", "gpt2"},
                      {"architectures", {"GPT2LMHeadModel"}},
                      {"n_embd", 16},
                      {"n_layer", 2},
                      {"n_head", 2},
                      {"n_positions", 64},
                      {"resid_pdrop", 0},
                      {"embd_pdrop", 0},
                      {"attn_pdrop", 0},
                      {"initializer_range", 0.3}},
                     {"<unk>", "user", "assistant", "end", "<bos>"}, {"<bos>"}, {}) {}

  // The tokens, with "-" for a label that is ignored.
  std::string words(const TokenIds& ids) const {
    std::string text;
    for (const std::int64_t id : ids) {
      if (!text.empty()) text += ' ';
      text += id == kIgnoredLabel ? "-" : tokenizer().id_to_token(static_cast<TokenId>(id)).value_or("?");
    }
    return text;
  }
};

}  // namespace attend
