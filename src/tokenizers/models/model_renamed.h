// A model whose tokens have other ids, and other names, in the vocabulary than in the model itself.
#pragma once

#include "tokenizers/models/model.h"

#include <memory>
#include <vector>

namespace attend::tokenizers {

// `ids`: by the id in `model`, that in `vocabulary`. It cannot be written as a tokenizer.json.
std::unique_ptr<Model> make_renamed(std::unique_ptr<Model> model, Vocabulary vocabulary,
                                    std::vector<TokenId> ids);

}  // namespace attend::tokenizers
