// A tree of named parameters, like PyTorch's Module.
#pragma once

#include "tensor/ops.h"

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attend::ops {

// Names and values in insertion order.
template <class Value>
class OrderedDict {
 public:
  class Item {
   public:
    Item(std::string key, Value value) : pair_(std::move(key), std::move(value)) {}
    const std::string& key() const { return pair_.first; }
    Value& value() { return pair_.second; }
    const Value& value() const { return pair_.second; }
    const std::pair<std::string, Value>& pair() const { return pair_; }

   private:
    std::pair<std::string, Value> pair_;
  };

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::size_t size() const { return items_.size(); }
  bool is_empty() const { return items_.empty(); }
  Value& insert(std::string key, Value value) {
    if (contains(key)) fail("the name '{}' exists already", key);
    return items_.emplace_back(std::move(key), std::move(value)).value();
  }
  const Value* find(const std::string& key) const {
    for (const Item& item : items_)
      if (item.key() == key) return &item.value();
    return nullptr;
  }
  Value* find(const std::string& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  bool contains(const std::string& key) const { return find(key) != nullptr; }
  Value& operator[](const std::string& key) {
    Value* const found = find(key);
    if (found == nullptr) fail("there is no '{}'", key);
    return *found;
  }
  const Value& operator[](const std::string& key) const { return const_cast<OrderedDict&>(*this)[key]; }

 private:
  std::vector<Item> items_;
};

namespace nn {

class Module;
template <class Contained>
class ModuleHolder;

class Module : public std::enable_shared_from_this<Module> {
 public:
  virtual ~Module() = default;
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<Tensor> named_parameters(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::shared_ptr<Module>> named_modules(const std::string& prefix = "",
                                                     bool include_self = true) const;
  OrderedDict<std::shared_ptr<Module>> named_children() const { return children_; }

  Tensor& register_parameter(std::string name, Tensor tensor, bool learns = true);
  template <class Contained>
  std::shared_ptr<Contained> register_module(std::string name, std::shared_ptr<Contained> module) {
    children_.insert(std::move(name), module);
    return module;
  }
  template <class Contained>
  std::shared_ptr<Contained> register_module(std::string name, const ModuleHolder<Contained>& holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <class Contained>
  std::shared_ptr<Contained> replace_module(const std::string& name, const ModuleHolder<Contained>& holder) {
    return replace_module(name, holder.ptr());
  }
  template <class Contained>
  std::shared_ptr<Contained> replace_module(const std::string& name, std::shared_ptr<Contained> module) {
    children_[name] = module;
    return module;
  }
  template <class Contained>
  Contained* as() {
    return dynamic_cast<Contained*>(this);
  }

 protected:
  void collect(OrderedDict<Tensor>& into, const std::string& prefix, bool recurse) const;
  void collect(OrderedDict<std::shared_ptr<Module>>& into, const std::string& prefix) const;

  OrderedDict<Tensor> parameters_;
  OrderedDict<std::shared_ptr<Module>> children_;
};

// Holds a module and creates it; copies of the holder share the module.
template <class Contained>
class ModuleHolder {
 public:
  using ContainedType = Contained;
  ModuleHolder(std::nullptr_t) {}
  ModuleHolder(std::shared_ptr<Contained> module) : module_(std::move(module)) {}
  template <class First, class... More>
  requires(!std::derived_from<std::remove_cvref_t<First>, ModuleHolder> &&
           std::constructible_from<Contained, First, More...>) explicit ModuleHolder(First&& first,
                                                                                     More&&... more)
      : module_(std::make_shared<Contained>(std::forward<First>(first), std::forward<More>(more)...)) {}

  Contained* operator->() const { return module_.get(); }
  Contained& operator*() const { return *module_; }
  const std::shared_ptr<Contained>& ptr() const { return module_; }
  Contained* get() const { return module_.get(); }
  bool is_empty() const { return module_ == nullptr; }
  explicit operator bool() const { return module_ != nullptr; }
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return module_->forward(std::forward<Arguments>(arguments)...);
  }

 private:
  std::shared_ptr<Contained> module_;
};

class ModuleListImpl : public Module {
 public:
  template <class Contained>
  void push_back(const ModuleHolder<Contained>& holder) {
    register_module(std::to_string(size()), holder);
  }
  std::size_t size() const { return children_.size(); }
  std::shared_ptr<Module> operator[](std::size_t i) const {
    return (children_.begin() + static_cast<std::ptrdiff_t>(i))->value();
  }
  template <class Contained>
  Contained& at(std::size_t i) const {
    return dynamic_cast<Contained&>(*(*this)[i]);
  }
  template <class Contained>
  std::shared_ptr<Contained> ptr(std::size_t i) const {
    return std::dynamic_pointer_cast<Contained>((*this)[i]);
  }
};

class ModuleList : public ModuleHolder<ModuleListImpl> {
 public:
  ModuleList() : ModuleHolder(std::make_shared<ModuleListImpl>()) {}
  std::shared_ptr<Module> operator[](std::size_t i) const { return (**this)[i]; }
};

}  // namespace nn
}  // namespace attend::ops

#define ATTEND_MODULE(Name)                                          \
  class Name : public ::attend::ops::nn::ModuleHolder<Name##Impl> {  \
   public:                                                           \
    using ::attend::ops::nn::ModuleHolder<Name##Impl>::ModuleHolder; \
  }
