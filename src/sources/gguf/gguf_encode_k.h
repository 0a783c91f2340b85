// Blocks of 256 numbers with scales for groups of them: GGUF's types Q4_K and Q6_K. The layouts are those
// that gguf_blocks.cpp reads. llama.cpp's reader defines them; which integers are chosen is up to the writer.
#pragma once

#include <cstddef>

namespace attend {

// One block: 256 numbers into 144 bytes. Groups of 32 are scale * integer (0 to 15) - minimum.
void encode_q4_k(const float* from, std::byte* to);
// One block: 256 numbers into 210 bytes. Groups of 16 are scale * integer (-32 to 31).
void encode_q6_k(const float* from, std::byte* to);

}  // namespace attend
