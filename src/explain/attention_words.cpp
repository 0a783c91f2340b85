#include "explain/attention_words.h"

#include <fmt/format.h>

namespace attend {
namespace {

std::string describe_distances(const StackSpec& stack) {
  if (std::holds_alternative<BucketedBias>(stack.distances))
    return "Each head adds a trained number for how far the key is from the query (T5: Raffel et al. 2019, "
           "section "
           "2.1).";
  if (std::holds_alternative<SinusoidalDistances>(stack.distances))
    return "The query also meets sines and cosines of the distance (Transformer-XL: Dai et al. 2019, section "
           "3.3).";
  if (std::holds_alternative<LearnedDistances>(stack.distances))
    return "Query and key also meet trained vectors of their distance (DeBERTa: He et al. 2020, section "
           "3.1).";
  if (std::holds_alternative<HeadDistances>(stack.distances))
    return "The query also meets a trained vector of the distance (Shaw et al. 2018, section 3.2).";
  if (std::holds_alternative<LinearDistances>(stack.distances))
    return fmt::format(
        "Each head adds a number that {}, by a slope of its own that is not trained (ALiBi: Press et al. "
        "2021).",
        stack.layers.front().self_attention.causal ? "grows with the place of the key"
                                                   : "falls with the distance of the key");
  return {};
}

}  // namespace

std::string describe_attention(const StackSpec& stack, const AttentionSpec& attention) {
  std::string words;
  const auto say = [&](const std::string& sentence) {
    if (!sentence.empty()) words += (words.empty() ? "" : " ") + sentence;
  };
  if (attention.scale == 1)
    say("The product of query and key is not scaled.");
  else if (std::abs(attention.scale * std::sqrt(static_cast<double>(attention.head_size)) - 1) < 1e-6)
    say(
        fmt::format("The product of query and key is divided by the square root of a head's size, {} "
                    "(Vaswani et al. 2017, "
                    "section 3.2.1).",
                    attention.head_size));
  else
    say(fmt::format(
        "The product of query and key is multiplied by {:.6g} (the square root of a head's size {} would "
        "give 1/{:.4g}: Vaswani et al. 2017, section 3.2.1).",
        attention.scale, attention.head_size, std::sqrt(static_cast<double>(attention.head_size))));
  if (attention.causal) say("A token sees itself and those before it.");
  if (attention.window > 0)
    say(attention.causal
            ? fmt::format("It sees the last {} tokens only.", attention.window)
            : fmt::format("A token sees those up to {} places away on each side.", attention.window - 1));
  if (const std::int64_t keys = attention.heads_of_keys(); keys < attention.heads)
    say(fmt::format("Each of {} heads of keys and values serves {} heads of queries (Ainslie et al. 2023).",
                    keys, attention.heads / keys));
  if (attention.query_key_norm)
    say("Queries and keys are normed (Henry et al. 2020); they are shown as normed.");
  if (attention.rotary)
    say(fmt::format(
        "The first {} numbers of query and key are turned by their positions (rotary: Su et al. 2021); "
        "they are shown as turned.",
        stack.rotaries.at(*attention.rotary).size));
  if (attention.soft_cap > 0)
    say(fmt::format("A score s becomes {0:.6g} tanh(s / {0:.6g}) (Gemma Team 2024, section 2).",
                    attention.soft_cap));
  if (attention.sinks)
    say("A trained score per head takes a share of the weights, which then sum to less than 1.");
  if (attention.blocks)
    say(fmt::format(
        "In long texts blocks of {} tokens see the first and the last block, their neighbours and {} "
        "others (BigBird: Zaheer et al. 2020).",
        attention.blocks->size, attention.blocks->random));
  if (attention.empty_keys > 0)
    say(fmt::format("Before the text stand {} empty places of memory.", attention.empty_keys));
  if (attention.distance || std::holds_alternative<BucketedBias>(stack.distances))
    say(describe_distances(stack));
  if (attention.distance && attention.distance->segments)
    say("Keys of the query's own segment get another number than the others (XLNet: Yang et al. 2019, "
        "section 2.5).");
  return words;
}

}  // namespace attend
