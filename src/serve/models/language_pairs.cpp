#include "serve/models/language_pairs.h"

#include "tasks/languages.h"
#include "tokenizers/files/tokenizer_config.h"

#include <regex>

namespace attend::serve {

ModelLanguages::ModelLanguages(const ServedModel& model) {
  if (model.queue() == nullptr || !model.is_encoder_decoder()) return;
  const std::filesystem::path directory = ModelPath(model.model()).directory;
  const TokenizerPair& tokenizers = model.model().tokenizers();
  if (const Languages languages(tokenizers, directory); languages.many()) {
    many_ = true;
    for (const std::string& name : languages.names()) sources_.insert(name);
    return;
  }
  const tokenizers::TokenizerConfig config(directory);
  std::string source = config.fields().text({"source_lang"}, ""),
              target = config.fields().text({"target_lang"}, "");
  if (source.empty() || target.empty()) {
    static const std::regex pair("(?:.*[-_])?([a-z]{2,3})-([a-z]{2,3})");
    std::smatch found;
    if (!std::regex_match(model.name(), found, pair)) return;
    source = found[1];
    target = found[2];
  }
  sources_ = {source};
  targets_ = {target};
}

}  // namespace attend::serve
