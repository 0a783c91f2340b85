// The values of a template: Python's, as far as templates need them.
#pragma once

#include "formats/json/json.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>

namespace attend::jinja {

class Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<Value, Value>>;
// Python's integers have no largest value.
using Integer =
    boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;
// The next item of an iterator; none: there are no more.
using Next = std::function<std::optional<Value>()>;

// The arguments of a call, a filter or a test.
struct Arguments {
  List values;
  std::vector<std::pair<std::string, Value>> named;

  // The argument at this index or with this name; null: not given.
  const Value* find(std::size_t place, std::string_view name) const;
  // The same; an Error if it is not given.
  const Value& get(std::size_t place, std::string_view name) const;
};

// Values with attributes, and callable values: macros, methods, namespaces, loops.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type() const = 0;
  virtual std::optional<Value> attribute(const std::string& name) const;
  virtual bool is_callable() const { return false; }
  virtual Value call(const Arguments& arguments);
  virtual std::size_t depth() const { return 0; }  // the depth of nested values that it holds
};

struct Undefined {
  std::string message;  // the reason, for errors
};
struct None {};

// Strings, lists and dicts are shared and never change, because transformers' sandbox is immutable.
class Value {
 public:
  enum class Kind { undefined, none, boolean, integer, real, string, sequence, dict, object };
  // The kind of a sequence: only lists and tuples can be indexed; a generator can be read once, and does its
  // work when it is read. A group is a tuple of groupby, whose items have names.
  enum class Form { list, tuple, view, generator };
  struct Sequence {
    Form form;
    std::shared_ptr<List> items;  // of a generator: none
    std::shared_ptr<Next> next = nullptr;
    bool is_group = false;
  };

  Value() : data_(None{}) {}
  Value(Undefined value) : data_(std::move(value)) {}
  Value(bool value) : data_(value) {}
  Value(std::int64_t value) : data_(Integer(value)) {}
  Value(Integer value);  // an Error if it has tens of thousands of digits
  Value(double value) : data_(value) {}
  Value(std::string value) : data_(std::make_shared<const std::string>(std::move(value))) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(Dict value);
  template <std::derived_from<Object> Kind>
  Value(std::shared_ptr<Kind> value)
      : depth_(value->depth()), data_(std::shared_ptr<Object>(std::move(value))) {}
  static Value sequence(List items, Form form = Form::list);
  static Value group(Value name, Value items);
  // `source`: what the generator reads.
  static Value generator(const Value& source, Next next);
  static Value from_json(const Json& json);
  // The result of `| safe`: jinja2's Markup. Text added to it is escaped for HTML.
  static Value markup(std::string text);
  bool is_markup() const { return markup_; }

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind which) const { return kind() == which; }
  bool is_undefined() const { return is(Kind::undefined); }
  bool is_none() const { return is(Kind::none); }
  bool is_string() const { return is(Kind::string); }
  bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real); }
  bool is_integral() const { return is(Kind::boolean) || is(Kind::integer); }
  bool is_list_or_tuple() const;
  bool is_generator() const { return is(Kind::sequence) && sequence().form == Form::generator; }

  // For a value of that kind only.
  bool boolean() const { return std::get<bool>(data_); }
  const std::string& text() const { return *std::get<std::shared_ptr<const std::string>>(data_); }
  const Sequence& sequence() const { return std::get<Sequence>(data_); }
  const List& items() const { return *sequence().items; }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  const std::shared_ptr<Object>& object() const { return std::get<std::shared_ptr<Object>>(data_); }
  const Undefined& undefined() const { return std::get<Undefined>(data_); }

  // An Error for another kind. A boolean is an integer and a number, as in Python.
  std::int64_t to_integer() const;  // also for an integer of more than 64 bits
  Integer to_large_integer() const;
  double to_number() const;
  const std::string& to_string() const;

  std::string type() const;  // Python's name: 'str', 'NoneType'
  // The depth of nested values. It is limited, because much code recurses over them.
  std::size_t depth() const { return depth_; }

 private:
  std::size_t depth_ = 0;
  bool markup_ = false;
  std::variant<Undefined, None, bool, Integer, double, std::shared_ptr<const std::string>, Sequence,
               std::shared_ptr<const Dict>, std::shared_ptr<Object>>
      data_;
};

// A C++ function that a template can call.
class Function : public Object {
 public:
  explicit Function(std::function<Value(const Arguments&)> function) : function_(std::move(function)) {}
  std::string type() const override { return "function"; }
  bool is_callable() const override { return true; }
  Value call(const Arguments& arguments) override { return function_(arguments); }

 private:
  std::function<Value(const Arguments&)> function_;
};

// bool(value), len(value); iter(value); list(value), which exhausts a generator.
bool is_true(const Value& value);
std::size_t length_of(const Value& value);
Next iterate(const Value& value);
List items_of(const Value& value);

bool equal(const Value& left, const Value& right);
// left < right; an Error for values without an order.
bool less(const Value& left, const Value& right);
bool contains(const Value& whole, const Value& value);
const Value* find(const Dict& dict, const Value& key);

// str(value) and repr(value).
std::string to_text(const Value& value);
std::string to_repr(const Value& value);

// Escapes & < > ' " for HTML.
std::string escaped(std::string text);

struct JsonStyle {
  std::optional<std::string> indent;
  std::string comma = ", ", colon = ": ";
  bool ascii = false, sorted = false;
};
// json.dumps(value).
std::string to_json(const Value& value, const JsonStyle& style);

// Limits the work of one rendering; a hostile template ends with an Error. Applies to this thread while it
// exists.
class WorkLimit {
 public:
  explicit WorkLimit(std::size_t work);
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

 private:
  std::size_t before_;
};
// Counts this much work as done.
void charge(std::size_t work);

// The largest string or list that a template may make: a hostile template ends with an Error.
inline constexpr std::size_t kMaxSize = std::size_t{1} << 24;
void check_size(std::size_t size);
// `size` times `count`; an Error if that is too large.
std::size_t checked_product(std::size_t size, std::size_t count);

}  // namespace attend::jinja
