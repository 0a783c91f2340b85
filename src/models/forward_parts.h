// Shared by all forward passes: inputs by name, results by name, captured states as outputs.
#pragma once

#include "models/forward.h"
#include "models/padded.h"

#include <set>

namespace attend {

using Tensors = std::map<std::string, Tensor>;

struct Result {
  Tensors out;
  Tensor loss;
  Tensor second_loss =
      {};  // of another head, reported under a name of its own; what is trained on is the sum

  Tensor whole_loss() const {
    return loss.defined() && second_loss.defined() ? loss + second_loss : loss.defined() ? loss : second_loss;
  }
};

// Undefined where there is none of this name.
Tensor find(const Tensors& inputs, std::string_view name);
// Error for an input that is not known.
void check_names(const Tensors& inputs, const std::set<std::string>& known);
// The labels that this model's heads take.
std::set<std::string> label_inputs(Transformer& net);

// `capture` of one stack, under the names that begin with `prefix`.
void put_captured(Tensors& out, const std::string& prefix, const Capture::Stack& stack,
                  const Padded& queries);
// What was captured of `whole`, without the rows that are padding in `given`.
void keep_real_rows(Capture::Stack& stack, const Padded& whole, const Padded& given);

// Evaluation that fills `capture`, if it wants anything, with the adapter that the options name.
Pass capturing(Capture& capture, const ForwardOptions& options);

// Labels in the order of the rows of `layout`; Error for one outside the vocabulary.
Tensor ragged_labels(const Tensor& labels, const Padded& layout, std::int64_t vocabulary);
// Row t of the result is the label that row t predicts: the next token of its sequence.
Tensor next_labels(const Tensor& labels, const Offsets& offsets);
// Scores over the vocabulary, and the loss where there are labels [T].
void put_language_model(Result& r, Transformer& net, const Tensor& hidden, const Padded& layout,
                        const Tensor& labels, Pass& pass);
// Distances are counted from token to token, the original's from column to column: Error where padding
// between tokens would make that a difference.
void check_distances(const StackSpec& stack, const Padded& layout);
// The loss of spans is a softmax over all positions, and transformers has the padding take part in it.
bool counts_padding(const Tensors& inputs);
// Losses over tokens know labels and no padding: is there a label that a column of padding carries, or
// predicts where labels are those of the next token?
bool labels_reach_padding(Transformer& net, const Tensor& labels, const Padded& given, bool next);
// What a cross-attention reads of inputs that hold no source text: encoder_hidden_states [B, Ls, d], of which
// encoder_attention_mask [B, Ls] says which rows are real. Nothing where neither is given.
struct Encoded {
  Padded layout;
  EncoderMemory memory;
};
std::optional<Encoded> read_encoded(const Tensors& inputs, Stack& reader, std::int64_t sequences, Pass& pass);
// The weights of cross-attentions that `capture` holds.
void put_cross_attentions(Tensors& out, const Capture::Stack& capture, const Padded& queries,
                          const Padded& keys);

// Zeroes what belongs to padding in these outputs [B, L, ...], where they are there.
void keep_real_scores(Tensors& out, const Padded& given, std::initializer_list<std::string_view> names);

// pixel_values and bool_masked_pos as an encoder of images reads them; Error where they do not fit it.
ImageBatch read_images(const Tensors& inputs, PatchEmbeddings& patches);
// interpolate_pos_encoding: other sizes than the model's own are read only if it is not denied.
void check_interpolation(const Tensors& inputs, const ImageBatch& images, const PatchSpec& spec);

// For a model with one stack, with two, and for one that reads images: pixel_values [B, channels, H, W], and
// bool_masked_pos [B, patches] where it fills in hidden patches.
Result forward_text(const PretrainedModel& model, Tensors inputs, const ForwardOptions& options);
Result forward_pair(const PretrainedModel& model, const Tensors& inputs, const ForwardOptions& options);
Result forward_images(const PretrainedModel& model, const Tensors& inputs, const ForwardOptions& options);

}  // namespace attend
