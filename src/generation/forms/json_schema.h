// Checks JSON schemas before XGrammar reads them: it silently ignores unknown keywords, and in strings with a
// pattern or a length it writes characters that JSON requires to be escaped.
#pragma once

#include <string>
#include <string_view>

namespace attend {

// The same schema in a form for which XGrammar generates only valid JSON. It may allow less: strings with a
// pattern or a length have no characters that JSON must escape. oneOf is kept, and treated like anyOf. An
// Error for invalid JSON, for a keyword of https://json-schema.org/draft/2020-12 that cannot be enforced, and
// for a pattern that needs such characters.
std::string readable_json_schema(std::string_view schema);

}  // namespace attend
