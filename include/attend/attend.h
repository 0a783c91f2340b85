// All of Attend's library. A program that uses one class compiles faster with that class's header alone.
//
// Every function throws attend::Error, whose text is one line for a person (error.h). All classes are
// thread-safe except Conversation: any number of threads may use one object at the same time. All classes
// except GenerationQueue can be copied and moved. Copies share the model, which never changes, and nothing
// else. A moved-from object can only be assigned to or destroyed.
//
// Everything is in the inline namespace attend::v1, whose name is part of the library's symbols. A program
// writes attend::Embedder.
#pragma once

#include <attend/array.h>
#include <attend/cache_format.h>
#include <attend/conversation.h>
#include <attend/convert.h>
#include <attend/embedder.h>
#include <attend/error.h>
#include <attend/explain.h>
#include <attend/export.h>
#include <attend/families.h>
#include <attend/generation_config.h>
#include <attend/generation_queue.h>
#include <attend/inspect.h>
#include <attend/log.h>
#include <attend/metrics.h>
#include <attend/model.h>
#include <attend/model_path.h>
#include <attend/queue_status.h>
#include <attend/recipe.h>
#include <attend/reranker.h>
#include <attend/run_options.h>
#include <attend/similarity.h>
#include <attend/tasks.h>
#include <attend/threads.h>
#include <attend/token_weights.h>
#include <attend/tokenizer.h>
#include <attend/tool_calls.h>
#include <attend/training.h>
#include <attend/translator.h>
#include <attend/vectors.h>
#include <attend/version.h>
#include <attend/weight_format.h>
