// Shared by all forward passes: inputs by name, outputs by name, captured states as outputs.
#pragma once

#include "models/padded/forward.h"
#include "models/padded/padded.h"

#include <set>

namespace attend {

using Tensors = std::map<std::string, Tensor>;

struct Result {
  Tensors out;
  Tensor loss;
  Tensor second_loss = {};  // the loss of another head, reported under its own name; training uses the sum

  Tensor whole_loss() const {
    return loss.defined() && second_loss.defined() ? loss + second_loss : loss.defined() ? loss : second_loss;
  }
};

// Undefined if there is none with this name.
Tensor find(const Tensors& inputs, std::string_view name);
// An Error for an unknown input.
void check_names(const Tensors& inputs, const std::set<std::string>& known);
// The labels that this model's heads take.
std::set<std::string> label_inputs(Transformer& net);

// Writes `capture` of one stack under names that begin with `prefix`.
void put_captured(Tensors& out, const std::string& prefix, const Capture::Stack& stack,
                  const Padded& queries);
// Removes the rows that are padding in `given` from what was captured for `whole`.
void keep_real_rows(Capture::Stack& stack, const Padded& whole, const Padded& given);

// A pass for evaluation that fills `capture`, if it captures anything, with the adapter in the options.
Pass capturing(Capture& capture, const ForwardOptions& options);

// Labels in the order of the rows of `layout`; an Error for one outside the vocabulary.
Tensor ragged_labels(const Tensor& labels, const Padded& layout, std::int64_t vocabulary);
// Row t of the result is the label that row t predicts: the next token of its sequence.
Tensor next_labels(const Tensor& labels, const Offsets& offsets);
// Scores over the vocabulary, and the loss if there are labels [T].
void put_language_model(Result& r, Transformer& net, const Tensor& hidden, const Padded& layout,
                        const Tensor& labels, Pass& pass);
// We count distances and windows from token to token, the original from column to column: an Error if padding
// between tokens would make a difference.
void check_distances(const StackSpec& stack, const Padded& layout);
// Whether transformers' softmax over spans includes the padding: the loss of spans is over all positions.
bool counts_padding(const Tensors& inputs);
// Losses over tokens depend on labels, not on padding. Whether a column of padding has a label, or predicts
// one if labels are those of the next token.
bool labels_reach_padding(Transformer& net, const Tensor& labels, const Padded& given, bool next);
// What a cross-attention reads if the inputs have no source text: encoder_hidden_states [B, Ls, d], with the
// real rows in encoder_attention_mask [B, Ls]. None if neither is given.
struct Encoded {
  Padded layout;
  CrossAttentionKV memory;
};
std::optional<Encoded> read_encoded(const Tensors& inputs, Stack& reader, std::int64_t sequences, Pass& pass);
// Writes the weights of cross-attentions in `capture`.
void put_cross_attentions(Tensors& out, const Capture::Stack& capture, const Padded& queries,
                          const Padded& keys);

// Sets padding to zero in these outputs [B, L, ...], if they exist.
void keep_real_scores(Tensors& out, const Padded& given, std::initializer_list<std::string_view> names);

// pixel_values and bool_masked_pos for an encoder of images; an Error if they do not fit it.
ImageBatch read_images(const Tensors& inputs, PatchEmbeddings& patches);
// interpolate_pos_encoding: images of another size are an Error if it is false.
void check_interpolation(const Tensors& inputs, const ImageBatch& images, const PatchSpec& spec);

// For a model with one stack, with two, and for one that reads images: pixel_values [B, channels, H, W], and
// bool_masked_pos [B, patches] if it reconstructs masked patches.
Result forward_text(const PretrainedModel& model, Tensors inputs, const ForwardOptions& options);
Result forward_pair(const PretrainedModel& model, const Tensors& inputs, const ForwardOptions& options);
Result forward_images(const PretrainedModel& model, const Tensors& inputs, const ForwardOptions& options);

}  // namespace attend
