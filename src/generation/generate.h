// Generates text for many prompts at a time; each result is as if its prompt were alone.
#pragma once

#include "generation/decoding/assistant.h"
#include "generation/search/search.h"

namespace attend {

struct GenerateOptions {
  std::uint64_t seed = 0;  // of sampling: the same seed gives the same texts in any batch
  // Limits the prompt tokens, times beams or texts per prompt, that are processed at a time. At least one
  // prompt always is.
  std::int64_t batch_tokens = 4096;
  CacheLimit cache = {};                 // of keys and values; prompts wait if it is full
  const Tokenizer* tokenizer = nullptr;  // of the generated texts; needed for stop_strings and forms
  ScoreRule rule = {};                   // the caller's rule for the next token
  // A draft model, whose draft tokens are verified several at a time: the same texts, faster. For one text
  // per prompt, and without prompt_lookup_num_tokens.
  AssistantOptions assistant = {};
  // Receives every token as it is chosen, except in a beam search, with the indices of the prompt and of its
  // text. An exception ends the call.
  std::function<void(std::size_t prompt, std::size_t text, std::int64_t token)> on_token = {};
  // Receives the texts of a prompt as soon as they are complete; not in the order of the prompts.
  std::function<void(std::size_t prompt, std::span<const GeneratedSequence> texts)> on_result = {};
  // Called between two steps; if it returns true, incomplete texts stay empty.
  std::function<bool()> stop = {};
};

// num_return_sequences texts for each prompt (a decoder) or source (an encoder-decoder), in the order of the
// prompts, the best first. An Error, with the number of the prompt from 1, for one that is empty or too long.
std::vector<GeneratedSequence> generate(const PretrainedModel& model, const std::vector<Prompt>& prompts,
                                        const GenerationConfig& config, const GenerateOptions& options = {});
std::vector<GeneratedSequence> generate(const PretrainedModel& model,
                                        const std::vector<std::vector<std::int64_t>>& prompts,
                                        const GenerationConfig& config, const GenerateOptions& options = {});

// The tokens that a decoder with an encoder has written (Prompt::written) if its text begins with these
// words.
std::vector<std::int64_t> forced_prefix(const Tokenizer& tokenizer, const GenerationConfig& config,
                                        std::string_view text);

}  // namespace attend
