// What one pass of training reads: ragged, on the host, the labels beside it.
#pragma once

#include "nn/patch_embeddings.h"
#include "nn/ragged.h"

#include <map>

namespace attend {

using TokenIds = std::vector<std::int64_t>;

// An objective fills in what its model reads and its loss compares with; the rest stays undefined.
struct Batch {
  std::vector<std::int64_t> examples;  // their numbers: for messages, and for what is stored by example

  TokenBatch tokens;  // what the encoder reads, or the only stack
  TokenBatch target;  // what a decoder behind an encoder reads
  ImageBatch images;
  bool continues = false;    // each text goes on where that of the batch before has stopped
  std::int64_t patches = 0;  // of each image, with the first token
  // The texts that belong together, in order: the choices of each question.
  Offsets groups;

  Tensor
      token_labels;  // [T] ids: what the vocabulary head is to predict from each row; kIgnoredLabel: nothing
  Tensor rows;       // [n]: which rows the head reads, where it does not read all
  Tensor labels;     // what the score head is to say: [B], [B, labels] or [T]
  Tensor starts, ends;  // [B]: the places of an answer in its text; -1: there is none

  // How many labels each of the objective's terms has here.
  std::vector<std::int64_t> counts;

  std::int64_t sequences() const;
  std::int64_t real_tokens() const;    // patches of images count too
  std::int64_t padded_tokens() const;  // what they would be, were all as long as the longest
};

}  // namespace attend
