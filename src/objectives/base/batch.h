// The input of one training pass: a ragged batch with its labels, on the host.
#pragma once

#include "nn/layers/patch_embeddings.h"
#include "nn/pass/ragged.h"

#include <map>

namespace attend {

using TokenIds = std::vector<std::int64_t>;

// An objective sets the fields that its model and its loss need; the others stay undefined.
struct Batch {
  std::vector<std::int64_t> examples;  // their indices: for messages, and for data stored by example

  TokenBatch tokens;  // input of the encoder, or of the only stack
  TokenBatch target;  // input of a decoder after an encoder
  ImageBatch images;
  bool continues = false;    // each text continues that of the previous batch
  std::int64_t patches = 0;  // per image, including the first token
  // The texts that form one group, in order: the choices of each question.
  Offsets groups;

  Tensor token_labels;  // [T] ids that the vocabulary head predicts from each row; kIgnoredLabel: none
  Tensor rows;          // the rows that the head reads, if not all
  Tensor labels;        // labels of the score head: [B], [B, labels] or [T]
  Tensor starts, ends;  // [B]: positions of an answer in its text; -1: none

  // The number of labels of each of the objective's terms.
  std::vector<std::int64_t> counts;

  std::int64_t sequences() const;
  std::int64_t real_tokens() const;    // includes patches of images
  std::int64_t padded_tokens() const;  // the number of tokens if all texts were padded to the longest
};

}  // namespace attend
