// Errors in tests: the text tells which Error was thrown, because any other Error would also be caught.
#pragma once

#include <attend/error.h>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace attend {

// The message of the Error that `work` throws; a failure of the test if it throws none.
template <class Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an Error";
  return "";
}

inline ::testing::AssertionResult contains(const std::string& text, std::string_view part) {
  if (text.find(part) != text.npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << text << "\" does not contain \"" << part << "\"";
}

}  // namespace attend

// Expects that the expression, or the statements, throw an Error whose message contains the text.
#define EXPECT_ERROR(text, ...) \
  EXPECT_TRUE(::attend::contains(::attend::error_of([&] { __VA_ARGS__; }), text))
