// A model whose tokens have other ids and names in the vocabulary than inside the model.
#pragma once

#include "tokenizers/models/model.h"

#include <memory>
#include <vector>

namespace attend::tokenizers {

// `ids`: for each id in `model`, the one in `vocabulary`. Cannot be written as a tokenizer.json.
std::unique_ptr<Model> make_renamed(std::unique_ptr<Model> model, Vocabulary vocabulary,
                                    std::vector<TokenId> ids);

}  // namespace attend::tokenizers
