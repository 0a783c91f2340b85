#include "tokenizers/models/model_renamed.h"

#include "base/error.h"

namespace attend::tokenizers {
namespace {

class Renamed : public Model {
 public:
  Renamed(std::unique_ptr<Model> model, Vocabulary vocabulary, std::vector<TokenId> ids)
      : Model(std::move(vocabulary), Json()), model_(std::move(model)), ids_(std::move(ids)) {}

  bool depends_on_chance(const ModelScratch& scratch) const override {
    return model_->depends_on_chance(scratch);
  }
  bool reads_bytes() const override { return model_->reads_bytes(); }
  std::string tables() const override {
    fail(
        "this tokenizer cannot be saved: its tokens have other names in the merges than in the vocabulary, "
        "which a tokenizer.json cannot express");
  }
  void tokenize_word(std::string_view word, bool bytes, ModelScratch& scratch,
                     std::vector<TokenPart>& parts) const override {
    model_->tokenize_word(word, bytes, scratch, parts);
    for (TokenPart& part : parts) part.id = ids_[static_cast<std::size_t>(part.id)];
  }

 private:
  std::unique_ptr<Model> model_;
  std::vector<TokenId> ids_;
};

}  // namespace

std::unique_ptr<Model> make_renamed(std::unique_ptr<Model> model, Vocabulary vocabulary,
                                    std::vector<TokenId> ids) {
  return std::make_unique<Renamed>(std::move(model), std::move(vocabulary), std::move(ids));
}

}  // namespace attend::tokenizers
