// A vector for each token, for late interaction.
#include <attend/token_weights.h>

#include "pipelines/vector_parameters.h"

namespace attend {

extern const PipelineKind token_vectors_pipeline;
const PipelineKind token_vectors_pipeline = {
    "token-vectors", "a vector for each token, for late interaction",
    "Prints the vectors of BGE-M3 for late interaction (colbert_linear.pt), a list of numbers for each token "
    "after the first. Texts are cut at the model's maximum.",
    "attend run token-vectors bge-m3 \"A dog runs.\"",
    make_pipeline<EmbeddingPipeline<TokenEmbedder, token_rows>>};

}  // namespace attend
