#include "objectives/shared/text_encoder.h"

#include "base/log.h"
#include "base/parallel.h"
#include "models/padded/forward.h"
#include "objectives/shared/token_ids.h"
#include "tokenizers/files/directory_facts.h"

#include <algorithm>

namespace attend {

TextEncoder::TextEncoder(const Setting& setting, std::optional<std::int64_t> longest)
    : tokenizer_(Tokenizer::from_file(setting.directory.path())),
      with_types_(takes_types(setting.spec) && tokenizers::gives_token_types(setting.directory.path())),
      longest_(longest.value_or(longest_text(setting))) {
  // The settings in the tokenizer's file are for other uses.
  tokenizer_.truncation() = Truncation{.max_length = static_cast<std::size_t>(longest_)};
  tokenizer_.padding().reset();
}

std::vector<EncodedText> TextEncoder::encode(const std::vector<std::string>& texts,
                                             const std::vector<std::string>& pairs) const {
  std::vector<EncodedText> all(texts.size());
  const EncodeOptions options{.with_details = false, .with_types = with_types_};
  parallel_for(texts.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const bool paired = !pairs.empty() && !pairs[i].empty();
      const Encoding encoding =
          paired ? tokenizer_.encode_pair(texts[i], pairs[i], options) : tokenizer_.encode(texts[i], options);
      all[i].ids.assign(encoding.ids.begin(), encoding.ids.end());
      if (with_types_) all[i].types.assign(encoding.type_ids.begin(), encoding.type_ids.end());
    }
  });
  const auto cut = std::count_if(all.begin(), all.end(), [&](const EncodedText& text) {
    return static_cast<std::int64_t>(text.ids.size()) >= longest_;
  });
  if (cut > 0) inform("{} of {} texts fill all {} tokens and may have been cut", cut, all.size(), longest_);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].ids.empty()) fail("text {} has no token: \"{:.60}\"", i + 1, texts[i]);
  return all;
}

TokenBatch make_batch(std::span<const EncodedText* const> texts) {
  std::vector<TokenIds> ids, types;
  for (const EncodedText* text : texts) {
    ids.push_back(text->ids);
    types.push_back(text->types);
  }
  TokenBatch batch = TokenBatch::from(ids);
  if (!texts.empty() && !types.front().empty()) batch.types = joined(types);
  return batch;
}

TokenBatch make_batch(std::span<const EncodedText> texts) {
  std::vector<const EncodedText*> places;
  for (const EncodedText& text : texts) places.push_back(&text);
  return make_batch(places);
}

}  // namespace attend
