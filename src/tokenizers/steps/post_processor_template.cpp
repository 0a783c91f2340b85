// TemplateProcessing: special tokens and sequences in the order of a template; one template for a text, one
// for a pair.
#include "base/error.h"
#include "tokenizers/steps/component.h"
#include "tokenizers/steps/encoding.h"
#include "tokenizers/steps/post_processor.h"

#include <algorithm>
#include <map>

namespace attend::tokenizers {
namespace {

struct SpecialToken {
  std::vector<TokenId> ids;
  std::vector<std::string> tokens;
};

struct TemplatePiece {
  int sequence;                 // 0 or 1; -1: a special token
  const SpecialToken* special;  // of a special token
  std::int32_t type;
  bool repeated = false;  // whether the sequence occurred before
};

class Template : public PostProcessor {
 public:
  Template(const Json& json, const std::string& source) {
    const Json& specials = component_field(json, "special_tokens", source);
    if (!specials.is_object()) fail("{}: special_tokens is not an object", source);
    for (const auto& [name, value] : specials.items()) {
      const Fields read(value, source + ".special_tokens." + name);
      SpecialToken special;
      for (const std::int64_t id : read.integers({"ids"})) {
        if (id < 0 || id > INT32_MAX) fail("{}: an id of {} is out of range: {}", source, name, id);
        special.ids.push_back(static_cast<TokenId>(id));
      }
      special.tokens = read.texts({"tokens"});
      if (special.ids.size() != special.tokens.size())
        fail("{}: {} has {} ids but {} tokens", source, name, special.ids.size(), special.tokens.size());
      specials_.emplace(name, std::move(special));
    }
    single_ = read_pieces(component_field(json, "single", source), false, source + ".single");
    pair_ = read_pieces(component_field(json, "pair", source), true, source + ".pair");
  }

  std::size_t added(bool pair) const override {
    std::size_t sum = 0;
    for (const TemplatePiece& piece : pair ? pair_ : single_)
      if (piece.sequence < 0) sum += piece.special->ids.size();
    return sum;
  }

  bool leaves_text(bool special_tokens, Details details) const override {
    const auto count = std::count_if(single_.begin(), single_.end(),
                                     [](const TemplatePiece& piece) { return piece.sequence == 0; });
    return count == 1 && details == Details::ids && (!special_tokens || added(false) == 0);
  }

  void apply(std::vector<Encoding>& sequences, bool special_tokens, Details details) const override {
    if (sequences.empty() || sequences.size() > 2)
      fail("TemplateProcessing cannot follow another post-processor that adds tokens");
    std::vector<Encoding> result;
    for (const TemplatePiece& piece : sequences.size() == 2 ? pair_ : single_) {
      if (piece.sequence >= 0) {
        Encoding& sequence = sequences[static_cast<std::size_t>(piece.sequence)];
        if (piece.repeated)
          result.push_back(sequence);
        else
          result.push_back(std::move(sequence));
        result.back().type_ids.assign(result.back().type_ids.size(), piece.type);
      } else if (special_tokens) {
        Encoding& added = result.emplace_back();
        for (std::size_t i = 0; i < piece.special->ids.size(); ++i)
          append_special(added, piece.special->ids[i], piece.special->tokens[i], piece.type, details);
      }
    }
    sequences = std::move(result);
  }

 private:
  std::vector<TemplatePiece> read_pieces(const Json& json, bool pair, const std::string& source) const {
    if (!json.is_array()) fail("{}: expected a list of pieces", source);
    std::vector<TemplatePiece> pieces;
    for (const Json& item : json) {
      if (!item.is_object() || item.size() != 1)
        fail("{}: a piece must be {{\"Sequence\": ...}} or {{\"SpecialToken\": ...}}", source);
      const std::string& kind = item.begin().key();
      const Fields read(item.begin().value(), source + "." + kind);
      const std::string id = read.text({"id"});
      const auto type = static_cast<std::int32_t>(read.integer({"type_id"}, {}, 0, INT32_MAX));
      if (kind == "Sequence") {
        if (id != "A" && !(pair && id == "B")) fail("{}: unknown sequence '{}'", source, id);
        pieces.push_back({id == "A" ? 0 : 1, nullptr, type});
      } else if (kind == "SpecialToken") {
        const auto found = specials_.find(id);
        if (found == specials_.end()) fail("{}: '{}' is not among the special_tokens", source, id);
        pieces.push_back({-1, &found->second, type});
      } else {
        fail("{}: unknown piece '{}', expected Sequence or SpecialToken", source, kind);
      }
    }
    for (std::size_t i = 0; i < pieces.size(); ++i)
      pieces[i].repeated =
          std::any_of(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1, pieces.end(),
                      [&](const TemplatePiece& other) { return other.sequence == pieces[i].sequence; });
    return pieces;
  }

  std::map<std::string, SpecialToken> specials_;
  std::vector<TemplatePiece> single_, pair_;
};

}  // namespace

std::unique_ptr<PostProcessor> make_template_processor(const Json& json, const std::string& source) {
  return std::make_unique<Template>(json, source);
}

}  // namespace attend::tokenizers
