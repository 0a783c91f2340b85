// Which model translates between which languages.
#pragma once

#include "serve/models/served_model.h"

#include <set>

namespace attend::serve {

// The languages of one model. A multilingual model translates between any two of them, another one from one
// language into one: according to its tokenizer_config.json (source_lang, target_lang), or else its name
// ("opus-mt-en-de").
class ModelLanguages {
 public:
  explicit ModelLanguages(const ServedModel& model);

  bool many() const { return many_; }
  const std::set<std::string>& sources() const { return sources_; }
  const std::set<std::string>& targets() const { return many_ ? sources_ : targets_; }
  bool translates(const std::string& source, const std::string& target) const {
    return sources_.contains(source) && targets().contains(target);
  }

 private:
  bool many_ = false;
  std::set<std::string> sources_, targets_;
};

}  // namespace attend::serve
