#include "explain/attribute.h"

#include "base/progress.h"
#include "explain/faithfulness.h"
#include "explain/readable_tokens.h"
#include "explain/rollout.h"
#include "explain/value_zeroing.h"
#include "models/families/labels.h"
#include "tokenizers/files/directory_facts.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace attend {
namespace {

constexpr std::array kDifferentiating = {"gradient-input", "integrated-gradients", "gradient-rollout"};

bool differentiates(const std::string& method) {
  return std::ranges::find(kDifferentiating, method) != kDifferentiating.end();
}

// The question, in words as well.
struct AskedQuestion {
  AskedScore asked;
  std::string toward, instead_of = {};
};

class Attributor {
 public:
  Attributor(const PretrainedModel& model, const GivenInput& given, const SideTokenizers& tokenizers,
             const AttributionOptions& options, bool bfloat16, Explanation& result)
      : options_(options),
        tokenizers_(tokenizers),
        result_(result),
        bfloat16_(bfloat16),
        function_(model, given) {
    const bool gradients = std::ranges::any_of(options.methods, differentiates);
    if (gradients && model.weights() != WeightFormat::float32)
      fail("{}: weights as {} have no gradients: attribute with float32, or by {}", model.source(),
           name(model.weights()), "occlusion, value-zeroing or rollout");
  }

  void run() {
    std::vector<AskedQuestion> questions = network()->language_model_head ? of_tokens() : of_labels();
    Progress progress("attributions", questions.size() * options_.methods.size(), "methods");
    std::uint64_t done = 0;
    for (const AskedQuestion& question : questions) {
      AttributedResult found = describe(question);
      const AttributionTask task = task_of(question.asked, found.baseline);
      found.chance = faithfulness_of_chance(task);
      for (const std::string& method : options_.methods) {
        found.methods.push_back(by(method, task));
        progress.update(++done);
      }
      result_.attributions.push_back(std::move(found));
    }
  }

 private:
  Transformer network() const { return function_.network(); }
  const ExplainedSide& last_side() const { return result_.sides.back(); }
  const Tokenizer& last_tokenizer() const {
    return *(tokenizers_.target ? tokenizers_.target : tokenizers_.source);
  }

  // Scores [V or labels] of the unchanged input.
  Tensor scores(const AskedScore& asked) const {
    const Unrecorded no_gradients;
    Pass pass = Pass::inference();
    pass.bfloat16 = bfloat16_;
    std::vector<Tensor> x;
    for (const Tensor& side : function_.inputs()) x.push_back(side.unsqueeze(0));
    return function_.scores(x, asked, pass)[0];
  }

  std::vector<AskedQuestion> of_labels() const {
    const auto& spec = network()->spec().score_head;
    if (!spec || spec->kind != ScoreKind::sequence_classification || network()->is_encoder_decoder())
      fail(
          "{}: attributions are towards a label of a text or picture (...ForSequenceClassification, "
          "...ForImageClassification) or a token (...LMHeadModel and the like)",
          function_.model().architecture());
    if (!options_.places.empty()) fail("a label belongs to the whole text: expected no place");
    const std::vector<std::string> names = read_labels(function_.model().config());
    AskedQuestion question{.asked = {.label = true}, .toward = {}};
    const auto name_of = [&](std::int64_t label) {
      return label < std::ssize(names) ? names[static_cast<std::size_t>(label)] : fmt::format("{}", label);
    };
    question.asked.toward = options_.toward.empty() ? scores(question.asked).argmax().item<std::int64_t>()
                                                    : label(options_.toward, names, spec->labels);
    question.toward = name_of(question.asked.toward);
    if (!options_.instead_of.empty()) {
      question.asked.instead_of = label(options_.instead_of, names, spec->labels);
      question.instead_of = name_of(*question.asked.instead_of);
    }
    return {question};
  }

  static std::int64_t label(const std::string& given, const std::vector<std::string>& names,
                            std::int64_t count) {
    const auto found = std::ranges::find(names, given);
    if (found != names.end()) return found - names.begin();
    std::int64_t number = -1;
    const char* const end = given.data() + given.size();
    const auto [rest, error] = std::from_chars(given.data(), end, number);
    if (error == std::errc() && rest == end && number >= 0 && number < count) return number;
    fail("{}: expected a label, one of {}", given, fmt::join(names, ", "));
  }

  std::vector<AskedQuestion> of_tokens() const {
    std::vector<AskedQuestion> questions;
    for (const std::int64_t place : places()) {
      AskedQuestion question{.asked = {.place = place}, .toward = {}};
      const Tensor all = scores(question.asked);
      const std::optional<std::int64_t> there = written_at(place);
      question.asked.toward = !options_.toward.empty() ? token(options_.toward, all)
                              : there                  ? *there
                                                       : all.argmax().item<std::int64_t>();
      if (!options_.instead_of.empty()) question.asked.instead_of = token(options_.instead_of, all);
      const ReadableTokens readable(last_tokenizer());
      question.toward = readable.text(question.asked.toward);
      if (question.asked.instead_of) question.instead_of = readable.text(*question.asked.instead_of);
      questions.push_back(std::move(question));
    }
    return questions;
  }

  // The token that follows a position in a target.
  std::optional<std::int64_t> written_at(std::int64_t place) const {
    const Tensor& ids = function_.input().target_ids;
    if (!ids.defined() || place + 1 >= ids.size(0)) return {};
    return ids[place + 1].item<std::int64_t>();
  }

  std::vector<std::int64_t> places() const {
    const auto count = static_cast<std::int64_t>(last_side().tokens.size());
    for (const std::int64_t place : options_.places)
      if (place < 0 || place >= count)
        fail("place {}: expected one from 0 to {}, where the {}'s tokens are", place, count - 1,
             last_side().name);
    if (!options_.places.empty()) return options_.places;
    std::vector<std::int64_t> found;
    if (network()->is_encoder_decoder()) {
      std::optional<std::int64_t> wanted;
      if (!options_.toward.empty()) wanted = token(options_.toward, {});
      for (std::int64_t place = 0; place + 1 < count; ++place)
        if (!wanted || written_at(place) == wanted) found.push_back(place);
      if (found.empty() && wanted)
        fail("{}: the target has no such token; pass its position as `place`", options_.toward);
      return found.empty() ? std::vector<std::int64_t>{count - 1} : found;
    }
    if (network()->decoder) return {count - 1};
    const auto mask = tokenizers::special_token(last_tokenizer(), tokenizers_.directory, "mask_token");
    for (std::int64_t place = 0; place < count; ++place)
      if (mask && last_side().tokens[static_cast<std::size_t>(place)].id == *mask) found.push_back(place);
    if (found.empty())
      fail("this model predicts the token at a position: put {} there, or pass the position as `place`",
           mask ? last_tokenizer().id_to_token(*mask).value_or("[MASK]") : "a mask token");
    return found;
  }

  // A token given by its spelling or as a text: if several tokens mean the text, the likeliest by `all` [V],
  // or the first.
  std::int64_t token(const std::string& given, const Tensor& all) const {
    std::vector<std::int64_t> found;
    const auto text = [&](const std::string& as_text) {
      const Encoding encoding = last_tokenizer().encode(as_text, {.special_tokens = false});
      if (encoding.ids.size() == 1) found.push_back(encoding.ids.front());
    };
    text(given);
    if (!given.starts_with(' ')) text(" " + given);
    if (const auto spelled = last_tokenizer().token_to_id(given); spelled && found.empty())
      found.push_back(*spelled);
    if (found.empty()) {
      const Encoding encoding = last_tokenizer().encode(given, {.special_tokens = false});
      fail("{}: expected one token of the model's, found {} ({}): name one of them", given,
           encoding.tokens.size(), fmt::join(encoding.tokens, ", "));
    }
    if (!all.defined()) return written_form(found);
    return *std::ranges::max_element(found, {}, [&](std::int64_t id) { return all[id].item<float>(); });
  }

  // Those of them that occur in the target.
  std::int64_t written_form(const std::vector<std::int64_t>& ids) const {
    for (std::int64_t place = 0; place + 1 < std::ssize(last_side().tokens); ++place)
      for (const std::int64_t id : ids)
        if (written_at(place) == id) return id;
    return ids.front();
  }

  AttributedResult describe(const AskedQuestion& question) const {
    AttributedResult found{.label = question.asked.label,
                           .toward = question.toward,
                           .instead_of = question.instead_of,
                           .toward_id = question.asked.toward,
                           .instead_of_id = question.asked.instead_of.value_or(-1),
                           .side = result_.sides.size() - 1,
                           .place = question.asked.label ? -1 : question.asked.place,
                           .baseline = {}};
    const Tensor all = scores(question.asked).unsqueeze(0);
    found.score = question.asked.of(all).item<double>();
    found.certainty = function_.certainty(all, question.asked).item<double>();
    found.has_probability = function_.has_probability(question.asked);
    return found;
  }

  AttributionTask task_of(const AskedScore& asked, std::string& baseline) const {
    AttributionTask task{.function = function_, .asked = asked, .replaceable = {}, .baseline = {}};
    task.bfloat16 = bfloat16_;
    const bool causal = static_cast<bool>(network()->decoder);
    for (std::size_t side = 0; side < function_.sides(); ++side) {
      const auto& tokens = result_.sides[side].tokens;
      const bool last = side + 1 == function_.sides();
      Tensor rows = function_.inputs()[side].clone();
      const Tensor instead = baseline_vector(side, baseline);
      for (std::int64_t i = 0; i < std::ssize(tokens); ++i) {
        if (tokens[static_cast<std::size_t>(i)].special) continue;
        // Later tokens of a decoder do not affect the result, and a position in question must stay unchanged.
        if (last && !asked.label && (causal ? i > asked.place : i == asked.place)) continue;
        task.replaceable.push_back({side, i});
        rows[i].copy_(instead);
      }
      task.baseline.push_back(rows);
    }
    return task;
  }

  // The replacement of a removed token on a side: [d]; and in words.
  Tensor baseline_vector(std::size_t side, std::string& words) const {
    const Tensor zeros = ops::zeros({function_.inputs()[side].size(1)});
    if (side == 0 && function_.is_picture()) {
      words = "grey";
      return zeros;
    }
    const Tokenizer& tokenizer = side == 0 ? *tokenizers_.source : last_tokenizer();
    for (const std::string role : {"mask", "pad", "unk"}) {
      if (!options_.baseline.empty() && options_.baseline != role) continue;
      const auto id = tokenizers::special_token(tokenizer, tokenizers_.directory, role + "_token");
      if (!id) continue;
      words = tokenizer.id_to_token(*id).value_or(role);
      return function_.vector_of(side, *id);
    }
    if (!options_.baseline.empty() && options_.baseline != "zeros")
      fail("the tokenizer has no {} token: expected another baseline", options_.baseline);
    words = "a vector of zeros";
    return zeros;
  }

  Attribution by(const std::string& method, const AttributionTask& task) const {
    Attribution attribution{.method = method};
    TokenScores scores;
    if (method == "gradient-input") {
      scores = gradient_times_input(task);
    } else if (method == "integrated-gradients") {
      IntegratedGradients found = integrated_gradients(task, options_.steps);
      scores = std::move(found.scores);
      attribution.completeness = found.completeness;
    } else if (method == "occlusion") {
      scores = occlusion(task);
    } else if (method == "value-zeroing") {
      scores = value_zeroing(task);
    } else if (method == "rollout") {
      scores = attention_rollout(task);
    } else if (method == "gradient-rollout") {
      scores = gradient_rollout(task);
    } else {
      fail("{}: expected a method, one of {}", method, fmt::join(attribution_methods(), ", "));
    }
    for (const Tensor& side : scores) {
      const Tensor row = side.to(kFloat).contiguous();
      if (!row.isfinite().all().item<bool>())
        fail("{} gives numbers that are not finite: are the model's weights whole?", method);
      const float* first = row.const_data<float>();
      attribution.scores.emplace_back(first, first + row.numel());
    }
    attribution.faithfulness = faithfulness(task, scores);
    return attribution;
  }

  const AttributionOptions& options_;
  const SideTokenizers& tokenizers_;
  Explanation& result_;
  bool bfloat16_;
  ExplainedScore function_;
};

}  // namespace

const std::vector<std::string>& v1::attribution_methods() {
  static const std::vector<std::string> methods = {
      "gradient-input", "integrated-gradients", "occlusion", "value-zeroing", "rollout", "gradient-rollout"};
  return methods;
}

void attribute(const PretrainedModel& model, const GivenInput& given, const SideTokenizers& tokenizers,
               const AttributionOptions& options, bool bfloat16, Explanation& result) {
  if (options.methods.empty()) return;
  Attributor(model, given, tokenizers, options, bfloat16, result).run();
}

}  // namespace attend
