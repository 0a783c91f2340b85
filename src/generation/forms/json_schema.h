// JSON schemas as XGrammar reads them: it passes over keywords that it does not know without a word, and
// writes strings of a pattern or a length with characters in them that JSON has to escape.
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
