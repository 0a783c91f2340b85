// A draft model with another vocabulary (universal assisted decoding: Timor et al. 2025, arXiv:2502.05202,
// string matching): it gets the text as characters, and its draft comes back as characters.
#pragma once

#include <attend/tokenizer.h>

#include "generation/config/config.h"
#include "generation/decoding/draft_source.h"

namespace attend {

class ForeignDraft : public DraftSource {
 public:
  // The caller owns the decoder and the config, which are the draft model's, and both tokenizers.
  ForeignDraft(std::int64_t max, PagedDecoder& decoder, const GenerationConfig& config,
               const TokenizerPair& own, const TokenizerPair& foreign, const Prompt& prompt);
  ~ForeignDraft() override;
  std::vector<std::int64_t> propose(std::span<const std::int64_t> text, std::size_t count) override;

 private:
  using Ids = std::vector<std::int64_t>;
  void begin();
  // At most `count` of the draft model's tokens after these.
  Ids continuation(const Ids& ids, std::size_t count);

  PagedDecoder* decoder_;
  const GenerationConfig* config_;
  const TokenizerPair *own_, *foreign_;
  Prompt prompt_;               // in the draft model's tokens
  Decoder::Sequence sequence_;  // has read the beginning of the text
  Ids read_;                    // by sequence_
};

}  // namespace attend
