// Reads tool calls from JSON text while it arrives.
#pragma once

#include <attend/tool_calls.h>

#include <string>
#include <string_view>
#include <vector>

namespace attend {

// Adds to the last piece if that is of the same call.
void append(std::vector<ToolCallPiece>& pieces, ToolCallPiece more);

// One JSON value: an object with "name" and "arguments" (or "parameters"), or {"f": {...}}, or a list of such
// objects.
// Arguments are returned as they arrive, without white space around them.
class CallReader {
 public:
  enum class State { reading, ended, failed };  // failed: the text is not a call

  // `index`: of the first call.
  explicit CallReader(std::size_t index) : index_(index) {}
  // The value is the arguments of this function.
  CallReader(std::size_t index, std::string name);
  // Calls of other functions are not calls. Empty: any function.
  void accept_only(std::vector<std::string> names) { names_ = std::move(names); }
  // The objects are {"f": {...}}.
  void take_keys_as_names() { names_are_keys_ = true; }

  // Reads until the value ends or fails, and returns the number of bytes that it has read.
  std::size_t put(std::string_view text, std::vector<ToolCallPiece>& pieces);
  State state() const { return state_; }
  std::size_t index() const { return index_; }  // index of the current call, or of the next one
  bool has_begun() const { return begun_ || begun_any_; }

 private:
  enum class Part { nothing, key, name, arguments, other };

  void feed(char c, std::vector<ToolCallPiece>& pieces);
  void feed_outside(char c, std::vector<ToolCallPiece>& pieces);
  void feed_object(char c, std::vector<ToolCallPiece>& pieces);
  void feed_value(char c, std::vector<ToolCallPiece>& pieces);
  void begin_object();
  void begin_value();
  void end_value(std::vector<ToolCallPiece>& pieces);
  void end_object(std::vector<ToolCallPiece>& pieces);
  void keep(char c, std::vector<ToolCallPiece>& pieces);
  void give(std::string arguments, std::vector<ToolCallPiece>& pieces);

  std::size_t index_;
  std::vector<std::string> names_;
  State state_ = State::reading;
  bool alone_ = false;  // the value is arguments
  bool is_list_ = false, names_are_keys_ = false;
  int depth_ = 0;         // open brackets
  int object_depth_ = 0;  // inside of a call's object
  Part part_ = Part::nothing;
  bool quoted_ = false, escaped_ = false;
  std::string text_;            // the key or value that is read, if it is not handed out at once
  std::string space_;           // of arguments: white space that may be followed by more
  bool streams_ = false;        // arguments are handed out at once
  std::string name_, pending_;  // arguments that came before the name
  bool begun_ = false;          // the name of this call was handed out
  bool begun_any_ = false;      // of an earlier one
  bool has_arguments_ = false;
};

}  // namespace attend
