// compare-batching MODEL [REQUESTS [TEXTS]]: the same prompts, of unequal lengths and with results of unequal
// lengths, in static batches of TEXTS (32), each of which ends with its longest text, and in a continuous
// batch of at most about as many. Fails unless all make the same tokens.
//
// The lengths of results are drawn: of the vocabulary, one token in forty ends a text.
#include "generation/continuous_batch.h"
#include "models/checkpoint/pretrained_model.h"

#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>

using namespace attend;

namespace {

using Ids = std::vector<std::int64_t>;

struct Work {
  std::vector<Ids> prompts;
  GenerationConfig config;
};

Work make_work(const PretrainedModel& model, std::size_t requests) {
  const std::int64_t vocabulary = model.network()->decoder->spec().embeddings.vocabulary;
  std::mt19937 random(1);
  Work work;
  for (std::size_t i = 0; i < requests; ++i) {
    const double length = std::exp(std::normal_distribution(3.2, 0.8)(random));
    work.prompts.emplace_back();
    for (int j = 0; j < std::clamp(static_cast<int>(length), 1, 300); ++j)
      work.prompts.back().push_back(
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(vocabulary)));
  }
  work.config.do_sample = true;
  work.config.top_k = 0;
  work.config.max_new_tokens = 200;
  for (std::int64_t token = 7; token < vocabulary; token += 40) work.config.eos_token_id.push_back(token);
  return work;
}

// One batch after the other. Each prompt has a seed of its own, for its number is another in each way.
std::vector<Ids> in_static_batches(const PretrainedModel& model, const Work& work, std::size_t texts) {
  std::vector<Ids> all;
  for (std::size_t begin = 0; begin < work.prompts.size(); begin += texts) {
    const std::size_t end = std::min(begin + texts, work.prompts.size());
    ContinuousBatch batch(model, {.batch_tokens = std::int64_t{1} << 40});
    all.resize(end);
    for (std::size_t i = begin; i < end; ++i)
      batch.submit(
          {{work.prompts[i], {}, {}}, batch.prepare(work.config, i), 0, {}, [&all, i](BatchResult result) {
             all[i] = result.texts.at(0).ids;
           }});
    while (batch.step()) {
    }
  }
  return all;
}

std::vector<Ids> in_a_continuous_batch(const PretrainedModel& model, const Work& work,
                                       const BatchOptions& options, QueueStatus& status) {
  std::vector<Ids> all(work.prompts.size());
  ContinuousBatch batch(model, options);
  for (std::size_t i = 0; i < all.size(); ++i)
    batch.submit(
        {{work.prompts[i], {}, {}}, batch.prepare(work.config, i), 0, {}, [&all, i](BatchResult result) {
           all[i] = result.texts.at(0).ids;
         }});
  while (batch.step()) {
  }
  status = batch.status();
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) fail("expected a model directory: compare-batching MODEL [REQUESTS [TEXTS]]");
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(argv[1]), Purpose::inference);
  const Work work = make_work(model, argc > 2 ? std::stoul(argv[2]) : 200);
  const std::size_t texts = argc > 3 ? std::stoul(argv[3]) : 32;
  std::int64_t prompt_tokens = 0;
  for (const Ids& prompt : work.prompts) prompt_tokens += static_cast<std::int64_t>(prompt.size());
  const std::int64_t batch_tokens =
      prompt_tokens * static_cast<std::int64_t>(texts) / static_cast<std::int64_t>(work.prompts.size());

  std::vector<Ids> first;
  const auto measure = [&](const char* name, const auto& run) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Ids> all = run();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    std::size_t tokens = 0;
    for (const Ids& ids : all) tokens += ids.size();
    std::printf("%-28s %7.2f s  %8.0f new tokens/s", name, time.count(),
                static_cast<double>(tokens) / time.count());
    if (first.empty()) first = all;
    if (all != first) fail("{}: other tokens than before", name);
  };
  QueueStatus status;
  for (int round = 0; round < 2; ++round) {
    measure("static batches", [&] { return in_static_batches(model, work, texts); });
    std::printf("\n");
    measure("continuous",
            [&] { return in_a_continuous_batch(model, work, {.batch_tokens = batch_tokens}, status); });
    std::printf("  %ld pages at most, %ld steps\n", status.peak_pages, status.steps);
    const CacheLimit half{.tokens = status.peak_pages / 2 * PagedCache::kPageRows};
    measure("continuous, half the memory", [&] {
      return in_a_continuous_batch(model, work, {.cache = half, .batch_tokens = batch_tokens}, status);
    });
    std::printf("  %ld pages at most, %ld steps, %ld preemptions\n", status.peak_pages, status.steps,
                status.preemptions);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
