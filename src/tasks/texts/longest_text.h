// The max length of a text for a model and its tokenizer, and truncation to it.
#pragma once

#include <attend/tokenizer.h>

#include "models/checkpoint/pretrained_model.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace attend {

// How many tokens of a text the model's encoder, or else its decoder, reads; 0 if it reads images.
std::int64_t positions_of(const PretrainedModel& model);

class LongestText {
 public:
  // The smaller of the tokenizer's model_max_length and the model's maximum. Reads the directory once, here.
  LongestText(const std::filesystem::path& directory, const PretrainedModel& model);

  // Tokens, including special ones; absent: no limit.
  std::optional<std::size_t> tokens() const { return tokens_; }
  // The truncation at this length, on the tokenizer's side, if wanted and if there is a limit.
  std::optional<Truncation> truncation(bool wanted) const;
  // Truncates the ids of `text`, and logs it. `special_tokens`: as in the encoding.
  void cut(std::vector<std::int64_t>& ids, const Tokenizer& tokenizer, const std::string& text,
           bool special_tokens = true) const;
  // Logs once that texts are truncated: as a warning if the caller did not ask for it. `advice` may be empty.
  void say_cut(bool asked, std::string_view advice) const;

 private:
  std::optional<std::size_t> tokens_;
  Truncation::Direction side_;
  std::shared_ptr<std::atomic<bool>> said_ = std::make_shared<std::atomic<bool>>(false);  // shared with
                                                                                          // copies
};

// "the text" if it is the only one, else "text 3": for errors.
std::string name_of_text(std::size_t number, std::size_t count);

}  // namespace attend
