// The base of all text tasks: texts become encodings, encodings of similar length form a batch, a batch goes
// through the model once, and each text gets its part of the output.
#pragma once

#include <attend/run_options.h>

#include "models/checkpoint/pretrained_model.h"
#include "models/families/head.h"
#include "tasks/texts/longest_text.h"

#include <functional>
#include <map>
#include <span>

namespace attend {

class TextModel {
 public:
  // A model with scores of this kind over its labels.
  static std::shared_ptr<TextModel> with_scores(const ModelPath& directory, ScoreKind kind);
  // A model with scores over its vocabulary.
  static std::shared_ptr<TextModel> with_token_scores(const ModelPath& directory);
  // A model whose hidden states only are needed.
  static std::shared_ptr<TextModel> with_any_head(const ModelPath& directory);

  const PretrainedModel& model() const { return model_; }
  // The model for texts with this adapter (PretrainedModel::with_adapter). Throws Error if it does not have
  // the requested head.
  const PretrainedModel& model(std::optional<std::int64_t> adapter) const;
  const Tokenizer& tokenizer() const { return tokenizer_; }
  // By role: "mask_token", "pad_token", "unk_token" or "cls_token"; none if the tokenizer has none.
  std::optional<TokenId> special_token(std::string_view role) const;
  TokenId mask_token() const;  // throws Error if the tokenizer has none
  const LongestText& longest() const { return longest_; }
  // Whether decoded text loses the spaces before punctuation (tokenizer_config.json).
  bool cleans_up() const { return cleans_up_; }
  // The labels of its config.json, by id.
  std::vector<std::string> labels(std::optional<std::int64_t> adapter) const {
    return read_labels(model(adapter).config());
  }

  // Texts as the model reads them, truncated if the options say so. Throws Error for a bad text, and names
  // it.
  std::vector<Encoding> encode(const std::vector<std::string>& texts, const RunOptions& options) const;
  // Throws Error for a text without tokens or longer than the model allows; `what` names it.
  void check(const Encoding& encoding, const std::string& what) const;

  // The model's output for the text in row `row` of a batch.
  struct Output {
    const std::map<std::string, Tensor>& batch;
    std::int64_t row;
    Tensor operator[](const char* name) const { return batch.at(name)[row]; }
  };
  using Visit = std::function<void(std::size_t text, const Output& output)>;
  // The outputs of models/padded/forward.h for every encoding, in no particular order.
  void run(std::span<const Encoding> encodings, const RunOptions& options, const Visit& visit) const;

  // The last hidden states of each text, [tokens, d]; the head is left out.
  using VisitRows = std::function<void(std::size_t text, const Tensor& rows)>;
  void hidden_states(std::span<const Encoding> encodings, const RunOptions& options,
                     const VisitRows& visit) const;
  // Scores over the vocabulary, [rows, V], for some tokens of each text, before softmax.
  using RowNumbers = std::vector<std::vector<std::int64_t>>;
  void score_tokens(std::span<const Encoding> encodings, const RowNumbers& rows, const RunOptions& options,
                    const VisitRows& visit) const;

 private:
  enum class Wants { any, scores, token_scores };
  // `architecture`: the one to load; empty: the directory's. `kind`: the kind of its scores, if needed.
  TextModel(const ModelDirectory& directory, const std::string& architecture, Wants wants,
            ScoreKind kind = {});
  bool has_head(const PretrainedModel& model) const;
  [[noreturn]] void fail_without_head(const PretrainedModel& model) const;

  using TextNumbers = std::vector<std::size_t>;
  void for_each_batch(
      std::span<const Encoding> encodings, const RunOptions& options,
      const std::function<void(const TextNumbers& batch, std::map<std::string, Tensor> inputs)>& work) const;

  void for_each_hidden(std::span<const Encoding> encodings, const RunOptions& options,
                       const std::function<void(const TextNumbers& batch, const Tensor& hidden,
                                                const Offsets& offsets)>& work) const;

  PretrainedModel model_;
  Tokenizer tokenizer_;
  std::string source_;
  LongestText longest_;
  std::map<std::string, TokenId, std::less<>> special_tokens_;  // by role
  bool cleans_up_, gives_types_;
  Wants wants_;
  ScoreKind kind_;
};

// The values of a vector; throws Error if one is not finite.
std::vector<float> numbers(const Tensor& vector);

}  // namespace attend
