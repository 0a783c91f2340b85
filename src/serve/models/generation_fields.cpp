#include "serve/models/generation_fields.h"

#include "generation/config/config_options.h"

#include <limits>
#include <map>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

// Limits for settings that change scores, which are float32.
constexpr double kLargest = 1e30;

Json one_or_several(const Json& of) {
  return any_of({of, list(of)});
}
// Fields about the user and about storage: texts do not depend on them.
RequestField without_effect(const char* name, Json schema = anything()) {
  return {name, std::move(schema), "has no effect"};
}

// Fields of which requests may have fewer values: `n` is limited, and `logprobs` replaces what returns
// tensors.
const std::map<std::string, Json>& narrower_schemas() {
  static const std::map<std::string, Json> all = {{"num_return_sequences", integer(1, 128)},
                                                  {"output_top_scores", one_of({0})},
                                                  {"output_attentions", one_of({false})},
                                                  {"output_hidden_states", one_of({false})}};
  return all;
}

}  // namespace

const RequestFields& request_fields() {
  using Limits = std::numeric_limits<std::int64_t>;
  static const RequestFields all = {
      {"max_tokens", integer(0),
       "maximum number of new tokens; 256 if neither the request nor the model sets it"},
      {"max_completion_tokens", integer(0), "the same"},
      {"n", integer(1, 128), "texts for each prompt"},
      {"stop", one_or_several(name()), "a text ends before it says one of these"},
      {"seed", integer(Limits::min(), Limits::max()), "of what is drawn: the same seed, the same text"},
      {"stream", flag(), "pieces of the text as they come, as server-sent events"},
      {"stream_options",
       object({{"include_usage", any_of({flag(), nothing()})},
               {"include_obfuscation", any_of({flag(), nothing()})}}),
       "include_usage: the last piece has the numbers of tokens"},
      {"logit_bias",
       Json{{"type", "object"},
            {"propertyNames", {{"pattern", "^[0-9]{1,9}$"}}},  // for programs; here the handler reads them
            {"additionalProperties", number(-kLargest, kLargest)}},
       "numbers by the ids of tokens, added to their scores"},
      {"response_format",
       any_of({object({{"type", one_of({"text", "json_object"})}}, {"type"}),
               object({{"type", one_of({"json_schema"})},
                       {"json_schema", object({{"name", text()},
                                               {"description", any_of({text(), nothing()})},
                                               {"schema", any_of({any_object(), flag()})},
                                               {"strict", any_of({flag(), nothing()})}},
                                              {"schema"})}},
                      {"type", "json_schema"})}),
       "text; json_object: JSON; json_schema: JSON of this schema"},
      {"use_beam_search", flag(), "a beam search with as many beams as best_of or n says, as in vLLM"},
      {"prefix", text(), "what an encoder-decoder's text begins with"},
      {"negative_prompt", text(), "with guidance_scale: what a decoder's text is led away from"},
      without_effect("user", text()),
      without_effect("metadata"),
      without_effect("store"),
      without_effect("service_tier"),
      without_effect("safety_identifier"),
      without_effect("prompt_cache_key"),
  };
  return all;
}

const RequestFields& config_fields() {
  static const RequestFields all = [] {
    RequestFields fields;
    for (const OptionGroup& group : attend::generation_fields())
      for (const Option& option : group.options) {
        const auto own = narrower_schemas().find(option.name);
        fields.push_back(
            {option.name, own == narrower_schemas().end() ? option.schema : own->second, option.description});
      }
    return fields;
  }();
  return all;
}

}  // namespace attend::serve
