// The values that schemas accept, and the messages for all others.
#include "formats/json/json_schema.h"

#include "expect_error.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace)

void check(const Json& value, const Json& schema) {
  check_schema(value, schema, "it");
}

TEST(Schema, Integers) {
  check(3, integer(1, 5));
  check(3.0, integer(1, 5));
  EXPECT_ERROR("it: expected an integer from 1 to 5, found 6", check(6, integer(1, 5)));
  EXPECT_ERROR("it: expected an integer of at least 1, found 0", check(0, integer(1)));
  EXPECT_ERROR("it: expected an integer of at most 2147483648, found",
               check(std::int64_t{1} << 40, integer(1)));
  EXPECT_ERROR("found 2.5", check(2.5, integer(1, 5)));
  EXPECT_ERROR("found true", check(true, integer(0, 1)));
  const auto most = std::numeric_limits<std::int64_t>::max();
  check(most, integer(0, most));
  EXPECT_ERROR("found 9223372036854775808", check(Json::parse("9223372036854775808"), integer(0, most)));
}

TEST(Schema, NumbersAbove) {
  check(0.5, number_above(0));
  EXPECT_ERROR("it: expected a number above 0, found 0", check(0, number_above(0)));
  EXPECT_ERROR("it: expected a number above 0, found \"a\"", check("a", number_above(0)));
}

TEST(Schema, Pairs) {
  const Json decay = pair(integer(0), number_above(0));
  check({10, 1.5}, decay);
  EXPECT_ERROR("it: expected a pair of an integer of at least 0 and a number above 0, found [10]",
               check({10}, decay));
  EXPECT_ERROR("it[1]: expected a number above 0, found 0", check({10, 0}, decay));
  EXPECT_ERROR("it[0]: expected an integer", check({2.5, 1}, decay));
  EXPECT_EQ(in_words(list(decay)), "a list of pairs");
}

TEST(Schema, ListsAndObjects) {
  check({"a", "b"}, list(text(), 1));
  EXPECT_ERROR("it: expected a list of texts that is not empty, found []",
               check(Json::array(), list(text(), 1)));
  EXPECT_ERROR("it[1]: expected a text, found 2", check({"a", 2}, list(text())));
  EXPECT_ERROR("it: expected an empty list", check({1}, list(anything(), 0, 0)));
  const Json pair = object({{"a", text()}, {"b", integer(0)}}, {"a"});
  check({{"a", "x"}}, pair);
  EXPECT_ERROR("it: expected the field a", check({{"b", 1}}, pair));
  EXPECT_ERROR("it.b: expected an integer", check({{"a", "x"}, {"b", "y"}}, pair));
  EXPECT_ERROR("it: there is no field \"c\": expected a, b", check({{"a", "x"}, {"c", 1}}, pair));
}

TEST(Schema, OneOfSeveral) {
  const Json texts = any_of({text(), list(text(), 1)});
  check("a", texts);
  EXPECT_ERROR("it: expected a text or a list of texts, found 1", check(1, texts));
  EXPECT_ERROR("it[0]: expected a text, found 1", check({1}, texts));
  EXPECT_ERROR("it: expected one of x, y, found \"z\"", check("z", one_of({"x", "y"})));
  check(nullptr, any_of({flag(), nothing()}));
  EXPECT_EQ(in_words(any_of({flag(), nothing()})), "true or false");
}

}  // namespace
}  // namespace attend
