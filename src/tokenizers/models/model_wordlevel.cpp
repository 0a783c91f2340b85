// One token per word.
#include "base/error.h"
#include "tokenizers/models/model.h"

namespace attend::tokenizers {
namespace {

class WordLevel : public Model {
 public:
  WordLevel(const Json& json, ModelTables tables, const std::string& source)
      : Model(std::move(tables.vocabulary), json), added_(std::move(tables.added_words)) {
    unknown_ = Fields(json, source).text({"unk_token"}, "<unk>");
    unknown_id_ = vocabulary().find(unknown_);
  }

 private:
  void tokenize_word(std::string_view word, bool, ModelScratch&,
                     std::vector<TokenPart>& parts) const override {
    TokenId id = vocabulary().find(word);
    if (const auto found = id < 0 ? added_.find(word) : added_.end(); found != added_.end())
      id = found->second;
    if (id < 0) id = unknown_id_;
    if (id < 0) fail("WordLevel: neither '{}' nor the unk_token '{}' is in the vocabulary", word, unknown_);
    parts.push_back({id, static_cast<std::uint32_t>(word.size())});
  }

  std::string unknown_;
  TokenId unknown_id_;
  std::map<std::string, TokenId, std::less<>> added_;
};

}  // namespace

std::unique_ptr<Model> make_wordlevel(const Json& fields, ModelTables tables, const std::string& source) {
  return std::make_unique<WordLevel>(fields, std::move(tables), source);
}

}  // namespace attend::tokenizers
