// Reads Python pickles that describe tensors. Nothing is executed.
//
// A pickle is a program that builds objects by calling named functions. This reader knows the instructions
// that build containers of tensors, and the few names for these; it rejects any other name. (libtorch has an
// unpickler as well, but it reads an OrderedDict, which every state_dict is, as None, and it trusts the sizes
// in the file.)
#pragma once

#include "formats/tensors/tensor_file.h"

namespace attend {

// A tensor as a pickle describes it, before its storage is looked up.
struct PickledTensor {
  DType type = DType::f32;
  std::string storage;      // the key of its storage
  std::int64_t offset = 0;  // in elements, like the strides
  std::vector<std::int64_t> shape, strides;
};

struct Pickle {
  std::vector<std::pair<std::string, PickledTensor>> tensors;  // of a dictionary; other values are left out
  std::vector<std::string> keys;                               // or a list of strings
  struct Storage {
    DType type = DType::u8;
    std::uint64_t count = 0;  // of elements
  };
  std::map<std::string, Storage, std::less<>> storages;
  std::size_t size = 0;  // bytes read
};

// The lists of strings in a dictionary, by key: for a pickle of plain values (numbers, strings, lists,
// dictionaries, counters). Ignores the other objects that transformers' TransfoXLTokenizer stores with them.
// An Error for anything else.
std::map<std::string, std::vector<std::string>> read_pickled_lists(std::span<const std::byte> bytes,
                                                                   std::string_view source);

// Reads the pickle at the beginning of `bytes`. An Error, with `source`, for anything else.
Pickle read_pickle(std::span<const std::byte> bytes, std::string_view source);

}  // namespace attend
