// The texts of a verb: arguments, or lines of standard input; some may be bad.
#pragma once

#include "base/error.h"

#include <filesystem>
#include <functional>
#include <istream>
#include <span>
#include <string>
#include <vector>

namespace attend::cli {

class GivenTexts {
 public:
  // The arguments, or without any the lines of standard input. Texts that are not valid UTF-8 are bad.
  explicit GivenTexts(const std::vector<std::string>& arguments);

  // The lines of a file.
  static GivenTexts of_file(const std::filesystem::path& path);

  std::size_t size() const { return texts_.size(); }
  const std::string& operator[](std::size_t number) const { return texts_[number].text; }
  // The error of a text, with its name; empty: none.
  const std::string& error(std::size_t number) const { return texts_[number].error; }

  // Calls `work` for the indices of good texts until it has processed all of them, in order. An Error about a
  // text makes that one bad, and `work` is called again for the others of its call.
  using Numbers = std::span<const std::size_t>;
  void answer(const std::function<void(Numbers numbers)>& work);
  // The texts with these indices.
  std::vector<std::string> some(Numbers numbers) const;

 private:
  struct Text {
    std::string text, place, error;
  };
  GivenTexts() = default;
  void add(std::string text, std::string place);
  void add_lines(std::istream& in, const std::string& source);

  std::vector<Text> texts_;
};

}  // namespace attend::cli
