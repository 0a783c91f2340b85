#include "formats/tensors/pickle.h"

#include "base/error.h"
#include "formats/json/json.h"
#include "formats/tensors/byte_cursor.h"
#include "formats/tensors/pickle_names.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace attend {

using namespace pickle_names;

namespace {

struct Nothing {};
struct Mark {};
struct Storage {
  DType type;
  std::string_view key;
};
// Containers are in a separate table: values stay small, and deeply nested files cause no recursion.
struct Container {
  enum class Kind { tuple, list, dictionary } kind;
  std::size_t index;
};
struct TensorIndex {
  std::size_t index;
};
using Value =
    std::variant<Nothing, Mark, std::int64_t, std::string_view, Name, Storage, Container, TensorIndex>;

enum class Holds { weights, lists };

// The machine that executes a pickle (CPython, Lib/pickletools.py).
class Machine {
 public:
  Machine(std::span<const std::byte> bytes, std::string_view source, Holds holds)
      : bytes_(bytes), source_(source), in_(bytes_, source_), holds_(holds) {}
  Machine(const Machine&) = delete;  // in_ refers to source_
  Machine& operator=(const Machine&) = delete;

  std::map<std::string, std::vector<std::string>> run_lists() {
    while (step()) {
    }
    std::map<std::string, std::vector<std::string>> lists;
    const auto result = get<Container>(pop(), "a dictionary");
    if (result.kind != Container::Kind::dictionary) damaged("expected a dictionary");
    const std::vector<Value>& items = containers_[result.index];
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const auto* list = std::get_if<Container>(&items[i + 1]);
      if (list == nullptr || list->kind != Container::Kind::list) continue;
      std::vector<std::string>& texts = lists[std::string(get<std::string_view>(items[i], "a name"))];
      for (const Value& item : containers_[list->index])
        if (const auto* text = std::get_if<std::string_view>(&item)) texts.emplace_back(*text);
    }
    return lists;
  }

  Pickle run() {
    while (step()) {
    }
    Pickle pickle;
    pickle.size = in_.at();
    pickle.storages = storages_;
    const Value result = pop();
    const auto* container = std::get_if<Container>(&result);
    if (container == nullptr) return pickle;
    const std::vector<Value>& items = containers_[container->index];
    if (container->kind == Container::Kind::dictionary) {
      for (std::size_t i = 0; i + 1 < items.size(); i += 2)
        if (const auto* tensor = std::get_if<TensorIndex>(&items[i + 1]))
          pickle.tensors.emplace_back(get<std::string_view>(items[i], "a name"), tensors_[tensor->index]);
    } else {
      for (const Value& item : items)
        if (const auto* text = std::get_if<std::string_view>(&item)) pickle.keys.emplace_back(*text);
    }
    return pickle;
  }

 private:
  [[noreturn]] void damaged(std::string_view what) const {
    fail("{}: byte {} of the pickle: {}", source_, in_.at(), what);
  }

  std::string_view line() {
    const auto rest = bytes_.subspan(in_.at());
    const auto end = std::ranges::find(rest, std::byte{'\n'});
    const auto text = in_.take(static_cast<std::uint64_t>(end - rest.begin()), "a name");
    in_.take(1, "the end of a name");
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  Value pop() {
    if (stack_.empty()) damaged("there is nothing left to take");
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  template <class Kind>
  Kind get(const Value& value, std::string_view wanted) const {
    const Kind* found = std::get_if<Kind>(&value);
    if (found == nullptr) damaged(fmt::format("expected {}", wanted));
    return *found;
  }
  // Removes and returns the values above the last mark, and removes the mark.
  std::vector<Value> pop_marked() {
    std::size_t first = stack_.size();
    while (first > 0 && !std::holds_alternative<Mark>(stack_[first - 1])) --first;
    if (first == 0) damaged("there is no mark");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<Value> values(begin, stack_.end());
    stack_.erase(begin - 1, stack_.end());
    return values;
  }
  std::vector<Value> pop_many(std::size_t count) {
    std::vector<Value> values(count);
    for (std::size_t i = count; i-- > 0;) values[i] = pop();
    return values;
  }
  void push(Container::Kind kind, std::vector<Value> items = {}) {
    stack_.emplace_back(Container{kind, containers_.size()});
    containers_.push_back(std::move(items));
  }
  void append(std::vector<Value> values, bool pairs) {
    if (stack_.empty()) damaged("there is nothing to add to");
    const auto container = get<Container>(stack_.back(), "a container");
    const bool dictionary = container.kind == Container::Kind::dictionary;
    if (container.kind == Container::Kind::tuple || dictionary != pairs || (pairs && values.size() % 2 != 0))
      damaged("this cannot be added here");
    std::vector<Value>& items = containers_[container.index];
    items.insert(items.end(), values.begin(), values.end());
  }

  void push_name(std::string_view module, std::string_view name) {
    const Name asked{module, name};
    const bool passed_over = holds_ == Holds::lists && is_passed_over(asked);
    if (holds_ == Holds::lists && !passed_over && !is_dictionary(asked))
      fail(
          "{}: the file uses {}, but a vocabulary may contain only lists, dictionaries and numbers; it was "
          "not read",
          source_, shown(Json(asked.text())));
    if (!passed_over && !storage_type(asked) && !is_dictionary(asked) && !is_tensor(asked) &&
        !is_parameter(asked))
      fail("{}: the file uses {}, but a file of weights may contain only tensors; it was not read", source_,
           shown(Json(asked.text())));
    stack_.emplace_back(asked);
  }

  void remember(std::uint64_t place) {
    if (stack_.empty()) damaged("there is nothing to remember");
    if (place > in_.at()) damaged("a number is too large");
    if (place >= memo_.size()) memo_.resize(place + 1);
    memo_[place] = stack_.back();
  }
  void recall(std::uint64_t place) {
    if (place >= memo_.size()) damaged("nothing was stored there");
    stack_.push_back(memo_[place]);
  }

  std::vector<Value> items_of(const Value& value) const {
    return containers_[get<Container>(value, "a tuple").index];
  }
  std::vector<std::int64_t> numbers_of(const Value& value) const {
    constexpr std::size_t max_dimensions = 64;
    const std::vector<Value> items = items_of(value);
    if (items.size() > max_dimensions) damaged("a tensor has too many dimensions");
    std::vector<std::int64_t> numbers;
    for (const Value& item : items) numbers.push_back(get<std::int64_t>(item, "a number"));
    return numbers;
  }

  // The format is ('storage', type, key, device, count, ...).
  void push_storage(const Value& id) {
    const std::vector<Value> items = items_of(id);
    if (items.size() < 5 || get<std::string_view>(items[0], "a storage") != "storage")
      damaged("expected a storage");
    const auto type = storage_type(get<Name>(items[1], "a storage's type"));
    const auto count = get<std::int64_t>(items[4], "a number");
    if (!type || count < 0) damaged("expected a storage's type and size");
    const auto key = get<std::string_view>(items[2], "a key");
    stack_.emplace_back(Storage{*type, key});
    storages_[std::string(key)] = {*type, static_cast<std::uint64_t>(count)};
  }

  void call(const Name& name, const Value& arguments) {
    if (holds_ == Holds::lists && is_passed_over(name)) {
      stack_.emplace_back(Nothing{});
      return;
    }
    if (is_dictionary(name)) {
      if (!items_of(arguments).empty()) damaged("expected an empty dictionary");
      return push(Container::Kind::dictionary);
    }
    const std::vector<Value> items = items_of(arguments);
    if (is_parameter(name) && !items.empty()) {
      stack_.emplace_back(get<TensorIndex>(items[0], "a tensor"));
      return;
    }
    if (!is_tensor(name) || items.size() < 4) damaged("this cannot be called");
    const auto storage = get<Storage>(items[0], "a storage");
    stack_.emplace_back(TensorIndex{tensors_.size()});
    tensors_.push_back({storage.type, std::string(storage.key), get<std::int64_t>(items[1], "a number"),
                        numbers_of(items[2]), numbers_of(items[3])});
  }

  // Runs an instruction; false after the last. Each of the functions below runs its group of instructions,
  // and returns false for others.
  bool step() {
    const auto operation = in_.number<std::uint8_t>("an instruction");
    if (operation == '.') return false;
    if (!push_constant(operation) && !use_memo(operation) && !use_container(operation) &&
        !use_object(operation))
      damaged(fmt::format("the instruction {:#04x} is not allowed in a file of weights", operation));
    return true;
  }

  // Numbers and texts, and the headers of frames, which contain nothing.
  bool push_constant(std::uint8_t operation) {
    switch (operation) {
      case 0x80:  // PROTO
        in_.take(1, "the version");
        return true;
      case 0x95:  // FRAME
        in_.take(8, "the size of a frame");
        return true;
      case 'N':
        stack_.emplace_back(Nothing{});
        return true;
      case 0x88:  // True, False
      case 0x89:
        stack_.emplace_back(std::int64_t{operation == 0x88});
        return true;
      case 'J':
        stack_.emplace_back(std::int64_t{in_.number<std::int32_t>("a number")});
        return true;
      case 'K':
        stack_.emplace_back(std::int64_t{in_.number<std::uint8_t>("a number")});
        return true;
      case 'M':
        stack_.emplace_back(std::int64_t{in_.number<std::uint16_t>("a number")});
        return true;
      case 0x8a: {  // LONG1, little-endian two's complement; longer ones than int64 are magic numbers
        const auto digits = in_.text<std::uint8_t>("a number");
        std::int64_t value = !digits.empty() && (digits.back() & 0x80) != 0 ? -1 : 0;
        std::memcpy(&value, digits.data(), std::min(digits.size(), sizeof value));
        stack_.emplace_back(value);
        return true;
      }
      case 'G':  // a floating-point number; no tensor uses them
        in_.take(8, "a number");
        stack_.emplace_back(Nothing{});
        return true;
      case 'X':
      case 'T':
        stack_.emplace_back(in_.text<std::uint32_t>("a text"));
        return true;
      case 0x8c:
      case 'U':
        stack_.emplace_back(in_.text<std::uint8_t>("a text"));
        return true;
      default:
        return false;
    }
  }

  bool use_memo(std::uint8_t operation) {
    switch (operation) {
      case 'q':
        remember(in_.number<std::uint8_t>("a place"));
        return true;
      case 'r':
        remember(in_.number<std::uint32_t>("a place"));
        return true;
      case 0x94:
        remember(memo_.size());
        return true;
      case 'h':
        recall(in_.number<std::uint8_t>("a place"));
        return true;
      case 'j':
        recall(in_.number<std::uint32_t>("a place"));
        return true;
      default:
        return false;
    }
  }

  bool use_container(std::uint8_t operation) {
    switch (operation) {
      case '(':
        stack_.emplace_back(Mark{});
        return true;
      case ')':
        push(Container::Kind::tuple);
        return true;
      case 't':
        push(Container::Kind::tuple, pop_marked());
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        push(Container::Kind::tuple, pop_many(operation - 0x84u));
        return true;
      case 0x8f:  // EMPTY_SET; its items are not used
        if (holds_ == Holds::weights) damaged("a file of weights has no sets");
        push(Container::Kind::list);
        return true;
      case ']':
        push(Container::Kind::list);
        return true;
      case 'a':
        append(pop_many(1), /*pairs=*/false);
        return true;
      case 'e':
      case 0x90:  // ADDITEMS
        append(pop_marked(), /*pairs=*/false);
        return true;
      case '}':
        push(Container::Kind::dictionary);
        return true;
      case 's':
        append(pop_many(2), /*pairs=*/true);
        return true;
      case 'u':
        append(pop_marked(), /*pairs=*/true);
        return true;
      default:
        return false;
    }
  }

  // Names, calls, storages.
  bool use_object(std::uint8_t operation) {
    switch (operation) {
      case 'c': {
        const std::string_view module = line();
        push_name(module, line());
        return true;
      }
      case 0x93: {  // STACK_GLOBAL
        const Value name = pop(), module = pop();
        push_name(get<std::string_view>(module, "a module"), get<std::string_view>(name, "a name"));
        return true;
      }
      case 'Q':
        push_storage(pop());
        return true;
      case 0x81:  // NEWOBJ
      case 'R': {
        const Value arguments = pop(), callable = pop();
        call(get<Name>(callable, "something to call"), arguments);
        return true;
      }
      case 'b':  // attributes of a state_dict, its versions: not used
        pop();
        return true;
      default:
        return false;
    }
  }

  std::span<const std::byte> bytes_;
  std::string source_;
  ByteCursor in_;
  Holds holds_;
  std::vector<Value> stack_, memo_;
  std::vector<std::vector<Value>> containers_;
  std::vector<PickledTensor> tensors_;
  std::map<std::string, Pickle::Storage, std::less<>> storages_;
};

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, std::string_view source) {
  return Machine(bytes, source, Holds::weights).run();
}

std::map<std::string, std::vector<std::string>> read_pickled_lists(std::span<const std::byte> bytes,
                                                                   std::string_view source) {
  return Machine(bytes, source, Holds::lists).run_lists();
}

}  // namespace attend
