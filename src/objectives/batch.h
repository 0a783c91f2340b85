// The input of one training pass: a ragged batch with its labels, on the host.
#pragma once

#include "nn/patch_embeddings.h"
#include "nn/ragged.h"

#include <map>

namespace attend {

using TokenIds = std::vector<std::int64_t>;

// An objective fills in what its model and its loss need; the rest stays undefined.
struct Batch {
  std::vector<std::int64_t> examples;  // their indices: for messages, and for data stored by example

  TokenBatch tokens;  // input of the encoder, or of the only stack
  TokenBatch target;  // input of a decoder after an encoder
  ImageBatch images;
  bool continues = false;    // each text continues that of the batch before
  std::int64_t patches = 0;  // of each image, with the first token
  // The texts that belong together, in order: the choices of each question.
  Offsets groups;

  Tensor token_labels;  // [T] ids that the vocabulary head predicts from each row; kIgnoredLabel: none
  Tensor rows;          // [n]: the rows that the head reads, if not all
  Tensor labels;        // labels of the score head: [B], [B, labels] or [T]
  Tensor starts, ends;  // [B]: positions of an answer in its text; -1: none

  // How many labels each of the objective's terms has here.
  std::vector<std::int64_t> counts;

  std::int64_t sequences() const;
  std::int64_t real_tokens() const;    // patches of images count too
  std::int64_t padded_tokens() const;  // the number of tokens if all texts were padded to the longest
};

}  // namespace attend
