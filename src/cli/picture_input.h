// Pictures as inputs of tasks: files, or what stands in JSON in their place.
#pragma once

#include <attend/tasks.h>

#include "formats/json.h"

namespace attend::cli {

// The picture of an input that came by HTTP, as read_picture takes it: no file of this machine is read for
// one. In place of the text, which is a file in base64 or a data: URI, stand the bytes that it says.
Json received_picture(const Fields& input);

// The picture of an input: a file by its path, a data: URI (RFC 2397), or what received_picture made.
Picture read_picture(const Fields& input);

}  // namespace attend::cli
