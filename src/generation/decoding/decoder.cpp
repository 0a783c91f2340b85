#include "generation/decoding/decoder.h"

#include "generation/decoding/paged_decoder.h"
#include "generation/decoding/uncached_decoder.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/families/generates.h"
#include "tensor/parallel.h"

#include <unistd.h>

namespace attend {
namespace {

std::int64_t pages_within(const PretrainedModel& model, const CacheLimit& limit) {
  const std::int64_t page_bytes = PagedDecoder::page_bytes(model);
  const std::int64_t given = std::max(limit.bytes, limit.tokens);
  std::int64_t pages = std::numeric_limits<std::int32_t>::max();  // page numbers have 32 bits
  if (limit.bytes > 0) pages = std::min(pages, limit.bytes / page_bytes);
  if (limit.tokens > 0) pages = std::min(pages, limit.tokens / PagedCache::kPageRows);
  if (given > 0 && pages < 1)
    fail("the memory for keys and values is too small: one page, of {} tokens, takes {} bytes",
         PagedCache::kPageRows, page_bytes);
  if (given > 0) return pages;
  const std::int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
  return std::clamp<std::int64_t>(memory / 2 / page_bytes, 1, pages);
}

}  // namespace

bool generates(const PretrainedModel& model) {
  Transformer network = model.network();
  return generates(network->spec());
}

void check_generates(const PretrainedModel& model) {
  Transformer network = model.network();
  if (!generates(model))
    fail("{}: {} cannot generate text: that takes a decoder with a language-model head",
         model.config().source(), model.architecture());
  if (model.cache_format() == CacheFormat::float32) return;
  if (lacks_kv_cache(network->spec()))
    fail("{}: {} has no KV cache that could be {}: it reads its text again in each step",
         model.config().source(), model.architecture(), name(model.cache_format()));
  if (!on_kernels(network->decoder->embeddings->tokens))
    fail("{}: a cache of {} is for models in float32 on the CPU", model.config().source(),
         name(model.cache_format()));
}

std::unique_ptr<Decoder> make_decoder(const PretrainedModel& model, const CacheLimit& limit) {
  if (lacks_kv_cache(model.network()->spec())) return std::make_unique<UncachedDecoder>(model);
  return std::make_unique<PagedDecoder>(model, pages_within(model, limit));
}

}  // namespace attend
