// Checks JSON schemas before XGrammar reads them: it silently ignores unknown keywords, and in strings with a
// pattern or a length it writes characters that JSON requires to be escaped.
#pragma once

#include <string>
#include <string_view>

namespace attend {

// The same schema in a form of which XGrammar makes nothing but JSON that is valid under it; not all of it,
// as strings of a pattern or a length are without what JSON has to escape. oneOf stays, and is read as anyOf.
// Error for what is no JSON, for a keyword of https://json-schema.org/draft/2020-12 that texts could not be
// kept to, and for a pattern that needs such characters.
std::string readable_json_schema(std::string_view schema);

}  // namespace attend
