#include "generation/decoder.h"

#include "generation/paged_decoder.h"
#include "generation/rereading_decoder.h"

namespace attend {

std::unique_ptr<Decoder> make_decoder(const Transformer& network, std::int64_t start) {
  if (rereads(network)) return std::make_unique<RereadingDecoder>(network);
  return std::make_unique<PagedDecoder>(network, start);
}

}  // namespace attend
