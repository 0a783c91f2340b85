// Pictures as inputs of tasks: files, or their content in JSON.
#pragma once

#include <attend/tasks.h>

#include "formats/json.h"

namespace attend::cli {

// The picture of an HTTP input, for read_picture. It reads no files of this machine: the text, which is a
// file in base64 or a data: URI, is replaced by its bytes.
Json received_picture(const Fields& input);

// The picture of an input: a file path, a data: URI (RFC 2397), or the result of received_picture.
Picture read_picture(const Fields& input);

}  // namespace attend::cli
