#include "formats/chat_answers/answer_parser.h"

#include <algorithm>
#include <span>
#include <utility>

namespace attend {
namespace {

constexpr std::string_view kSpace = " \n\t\r";
constexpr std::string_view kMessage = "<|message|>";

// Where the text ends with the beginning of `mark`; its size if it does not.
std::size_t held_back(std::string_view text, std::string_view mark) {
  if (mark.empty()) return text.size();
  for (std::size_t length = std::min(mark.size() - 1, text.size()); length > 0; --length)
    if (text.ends_with(mark.substr(0, length))) return text.size() - length;
  return text.size();
}

// The first of the marks in a text.
struct Found {
  std::size_t at = std::string::npos;
  std::string_view mark = {};
};

Found find_first(std::string_view text, std::span<const std::string_view> marks) {
  Found found;
  for (const std::string_view mark : marks) {
    const std::size_t at = mark.empty() ? text.npos : text.find(mark);
    if (at != text.npos && (found.at == text.npos || at < found.at)) found = {at, mark};
  }
  return found;
}

std::size_t certain_size(std::string_view text, std::span<const std::string_view> marks) {
  std::size_t size = text.size();
  for (const std::string_view mark : marks) size = std::min(size, held_back(text, mark));
  return size;
}

}  // namespace

void AnswerPieces::append(AnswerPieces more) {
  content += more.content;
  reasoning += more.reasoning;
  for (ToolCallPiece& piece : more.calls) attend::append(calls, std::move(piece));
}

AnswerParser::AnswerParser(AnswerFormat format, std::vector<std::string> tools, bool in_reasoning,
                           Json schemas)
    : format_(std::move(format)), tools_(std::move(tools)), schemas_(std::move(schemas)) {
  enter(in_reasoning ? State::reasoning : has_headers() ? State::header : State::content);
}

bool AnswerParser::has_headers() const {
  return format_.calls != nullptr && format_.calls->has_headers;
}

// A new part of the answer.
void AnswerParser::enter(State state) {
  state_ = state;
  has_text_ = false;
  at_start_ = state == State::content && !has_headers();
  space_.clear();
}

AnswerPieces AnswerParser::put(std::string_view more) {
  buffer_ += more;
  AnswerPieces pieces;
  while (!buffer_.empty() && step(pieces)) {
  }
  return pieces;
}

bool AnswerParser::step(AnswerPieces& pieces) {
  switch (state_) {
    case State::header:
      return step_header();
    case State::content:
      return step_content(pieces);
    case State::reasoning:
      return step_reasoning(pieces);
    case State::name:
      return step_name();
    case State::call:
      return step_call(pieces);
    case State::whole:
      return step_whole(pieces);
    case State::after_call:
      return step_after_call();
  }
  return false;
}

// White space waits for the text after it, which may be a mark.
void AnswerParser::say(std::string_view text, std::string& to) {
  const std::size_t end = text.find_last_not_of(kSpace);
  if (end == text.npos) {
    if (has_text_) space_ += text;
    return;
  }
  if (!has_text_) text.remove_prefix(text.find_first_not_of(kSpace));
  const std::size_t size = text.find_last_not_of(kSpace) + 1;
  to += std::exchange(space_, {});
  to += text.substr(0, size);
  space_ = text.substr(size);
  has_text_ = true;
}

// Harmony: "<|channel|>commentary to=functions.NAME <|constrain|>json", also with the name in front.
bool AnswerParser::step_header() {
  const std::size_t end = buffer_.find(kMessage);
  if (end == buffer_.npos) return false;
  const std::string header = buffer_.substr(0, end);
  buffer_.erase(0, end + kMessage.size());
  any_message_ = true;
  constexpr std::string_view kTo = "to=functions.";
  if (const std::size_t to = header.find(kTo); to != header.npos && may_call()) {
    const std::size_t begin = to + kTo.size();
    const std::string name = header.substr(begin, header.find_first_of(" <\n", begin) - begin);
    opened_ = header;
    is_bare_ = false;
    reader_ = CallReader(calls_, name);
    state_ = State::call;
    return true;
  }
  enter(header.find("<|channel|>analysis") == header.npos ? State::content : State::reasoning);
  return true;
}

// Where content may begin: reasoning, and calls without a mark, begin only here. False: it needs more text.
bool AnswerParser::step_start() {
  const bool bare = may_call() && format_.calls->is_bare;
  const std::size_t first = buffer_.find_first_not_of(bare && calls_ > 0 ? " \n\t\r;," : kSpace);
  if (first == buffer_.npos) return false;
  const std::string_view rest = std::string_view(buffer_).substr(first), open = format_.reasoning.open;
  if (!open.empty() && rest.size() < open.size() && open.starts_with(rest)) return false;
  at_start_ = false;
  if (!open.empty() && rest.starts_with(open)) {
    buffer_.erase(0, first + open.size());
    enter(State::reasoning);
  } else if (bare && rest.front() == '{') {
    begin_call(buffer_.substr(0, first), true);
    buffer_.erase(0, first);
  }
  return true;
}

bool AnswerParser::step_content(AnswerPieces& pieces) {
  if (at_start_) return step_start();
  std::vector<std::string_view> marks(format_.silent);
  if (may_call() && !has_headers()) marks.push_back(format_.calls->open);
  const Found found = find_first(buffer_, marks);
  const std::size_t size = found.at == buffer_.npos ? certain_size(buffer_, marks) : found.at;
  say(std::string_view(buffer_).substr(0, size), pieces.content);
  buffer_.erase(0, size + found.mark.size());
  if (found.at == std::string::npos) return false;
  if (has_headers())
    state_ = State::header;
  else if (may_call() && found.mark == format_.calls->open)
    begin_call(std::string(found.mark), false);
  return true;
}

bool AnswerParser::step_reasoning(AnswerPieces& pieces) {
  const std::string_view marks[] = {format_.reasoning.close};
  const Found found = find_first(buffer_, marks);
  const std::size_t size = found.at == buffer_.npos ? certain_size(buffer_, marks) : found.at;
  say(std::string_view(buffer_).substr(0, size), pieces.reasoning);
  if (found.at == buffer_.npos) {
    buffer_.erase(0, size);
    return false;
  }
  buffer_.erase(0, size + found.mark.size());
  enter(has_headers() ? State::header : State::content);
  return true;
}

void AnswerParser::begin_call(std::string opened, bool bare) {
  opened_ = std::move(opened);
  is_bare_ = bare;
  reader_ = CallReader(calls_);
  if (bare) reader_.accept_only(tools_);
  if (format_.calls->name.empty()) reader_.take_keys_as_names();
  state_ = format_.calls->separator.empty() ? State::call : State::name;
}

// "NAME[ARGS]", with optional parts between them: an id, or the kind of the arguments.
bool AnswerParser::step_name() {
  const std::size_t end = buffer_.find(format_.calls->separator);
  if (end == buffer_.npos) {
    // Older models of this family write a list.
    const std::size_t first = buffer_.find_first_not_of(kSpace);
    if (first == buffer_.npos || buffer_[first] != '[' || format_.calls->separator.front() != '[')
      return false;
    state_ = State::call;
    return true;
  }
  const std::size_t first = buffer_.find_first_not_of(kSpace),
                    last = std::min(buffer_.find_first_of(" \n[<:", first), end);
  opened_ += buffer_.substr(0, end) + std::string(format_.calls->separator);
  reader_ = CallReader(calls_, buffer_.substr(first, last - first));
  buffer_.erase(0, end + format_.calls->separator.size());
  state_ = State::call;
  return true;
}

// Whether the value is JSON, although it may have another notation. Nothing: it needs more text.
std::optional<bool> AnswerParser::begins_json() const {
  std::size_t first = buffer_.find_first_not_of(kSpace);
  // A list of calls in Python begins like one in JSON.
  if (first != buffer_.npos && buffer_[first] == '[' && format_.calls->is_list)
    first = buffer_.find_first_not_of(kSpace, first + 1);
  if (first == buffer_.npos) return std::nullopt;
  return buffer_[first] == '{' || buffer_[first] == '[' || buffer_[first] == ']';
}

bool AnswerParser::step_call(AnswerPieces& pieces) {
  const CallFormat& format = *format_.calls;
  if (!format.fence.empty() && !reader_.has_begun() && opened_ == format.open) {
    const std::size_t first = std::min(buffer_.find_first_not_of(kSpace), buffer_.size());
    const std::string_view rest = std::string_view(buffer_).substr(first);
    if (rest.size() < format.fence.size() && format.fence.starts_with(rest) && !is_over_) return false;
    if (rest.starts_with(format.fence)) {
      opened_ += buffer_.substr(0, first + format.fence.size());
      buffer_.erase(0, first + format.fence.size());
    }
  }
  if (format.notation != CallNotation::json && !is_bare_ && !reader_.has_begun() && opened_ == format.open) {
    const std::optional<bool> is_json = begins_json();
    if (!is_json) return false;
    if (!*is_json) {
      state_ = State::whole;
      return true;
    }
  }
  std::vector<ToolCallPiece> calls;
  const std::size_t read = reader_.put(buffer_, calls);
  if (!reader_.has_begun()) opened_ += buffer_.substr(0, read);
  buffer_.erase(0, read);
  for (ToolCallPiece& piece : calls) append(pieces.calls, std::move(piece));
  if (reader_.state() == CallReader::State::reading) return false;
  calls_ = reader_.index();
  if (!reader_.has_begun()) {
    give_back(pieces);
    return true;
  }
  opened_.clear();
  space_.clear();
  state_ = State::after_call;
  return true;
}

// The mark is content, and the text after it is read again.
void AnswerParser::give_back(AnswerPieces& pieces) {
  state_ = State::content;
  at_start_ = false;
  const std::string_view open = is_bare_ ? "{" : format_.calls->open;
  const std::size_t at = opened_.find(open);
  const std::size_t end = at == opened_.npos ? opened_.size() : at + open.size();
  say(std::string_view(opened_).substr(0, end), pieces.content);
  buffer_.insert(0, opened_, end);
  opened_.clear();
}

// Another notation than JSON.
bool AnswerParser::step_whole(AnswerPieces& pieces) {
  const std::string_view close = format_.calls->close;
  std::size_t end = close.empty() ? buffer_.npos : buffer_.find(close);
  if (end == buffer_.npos && !is_over_) return false;
  end = std::min(end, buffer_.size());
  const std::string_view text = std::string_view(buffer_).substr(0, end);
  const std::vector<WholeCall> calls = read_whole_calls(text, *format_.calls, schemas_);
  if (calls.empty()) {
    give_back(pieces);
    return true;
  }
  for (const WholeCall& call : calls) append(pieces.calls, {calls_++, call.name, call.arguments});
  buffer_.erase(0, end);
  opened_.clear();
  space_.clear();
  state_ = State::after_call;
  return true;
}

bool AnswerParser::step_after_call() {
  std::string_view close = format_.calls->close;
  close.remove_prefix(std::min(close.find_first_not_of(kSpace), close.size()));
  if (!is_bare_ && !close.empty()) {
    const std::size_t first = buffer_.find_first_not_of(kSpace);
    if (first == buffer_.npos) return false;
    const std::string_view rest = std::string_view(buffer_).substr(first);
    if (rest.size() < close.size() && close.starts_with(rest)) return false;
    // Objects on lines, of which each is a call.
    if (rest.starts_with('{') && format_.calls->is_list && format_.calls->list_open == "\n") {
      begin_call("", false);
      return true;
    }
    if (rest.starts_with(close)) buffer_.erase(0, first + close.size());
  }
  enter(has_headers() ? State::header : State::content);
  return true;
}

AnswerPieces AnswerParser::finish() {
  AnswerPieces pieces;
  is_over_ = true;
  while (!buffer_.empty() && step(pieces)) {
  }
  switch (state_) {
    case State::header:
      if (!any_message_) say(buffer_, pieces.content);
      break;
    case State::name:
    case State::call:
    case State::whole:
      if (reader_.has_begun()) break;
      say(opened_, pieces.content);
      [[fallthrough]];
    case State::content:
      say(buffer_, pieces.content);
      break;
    case State::reasoning:
      say(buffer_, pieces.reasoning);
      break;
    case State::after_call:
      break;
  }
  const bool called = calls_ > 0 || reader_.has_begun();
  if (state_ != State::reasoning && !called && has_text_) pieces.content += space_;
  buffer_.clear();
  space_.clear();
  return pieces;
}

}  // namespace attend
