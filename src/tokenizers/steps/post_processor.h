// The "post_processor" of tokenizer.json: adds the special tokens, joins two sequences, trims offsets.
#pragma once

#include <attend/tokenizer.h>

#include "formats/json/json.h"
#include "tokenizers/steps/encoding.h"

#include <memory>
#include <string>
#include <vector>

namespace attend::tokenizers {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // The number of tokens added to one text or to a pair.
  virtual std::size_t added(bool pair) const = 0;
  // Whether apply() leaves one text unchanged.
  virtual bool leaves_text(bool special_tokens, Details details) const = 0;
  // Changes the sequences, and may add others; their concatenation is the result. `details`: the fields to
  // fill in.
  virtual void apply(std::vector<Encoding>& sequences, bool special_tokens, Details details) const = 0;
};

// `source` names the file and the field in errors; `depth` counts the Sequences around it.
std::unique_ptr<PostProcessor> make_post_processor(const Json& json, const std::string& source,
                                                   int depth = 0);

std::unique_ptr<PostProcessor> make_template_processor(const Json& json, const std::string& source);
std::unique_ptr<PostProcessor> make_byte_level_processor(const Json& json, const std::string& source);
std::unique_ptr<PostProcessor> make_bert_processor(const Json& json, const std::string& source);
std::unique_ptr<PostProcessor> make_roberta_processor(const Json& json, const std::string& source);

}  // namespace attend::tokenizers
