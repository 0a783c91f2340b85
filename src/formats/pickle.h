// Reads Python pickles that describe tensors. Nothing is executed.
//
// A pickle is a program that builds objects by calling what it names. This reader knows the instructions that
// build containers of tensors, and the few names that go with them; it rejects any other name. (libtorch has
// an unpickler as well, but it reads an OrderedDict, which every state_dict is, as None, and it trusts the
// sizes in the file.)
#pragma once

#include "formats/tensor_file.h"

namespace attend {

// A tensor as a pickle describes it, not yet looked up.
struct PickledTensor {
  DType type = DType::f32;
  std::string storage;      // the key of what holds its numbers
  std::int64_t offset = 0;  // in numbers, as the strides
  std::vector<std::int64_t> shape, strides;
};

struct Pickle {
  std::vector<std::pair<std::string, PickledTensor>> tensors;  // of a dictionary; other values are left out
  std::vector<std::string> keys;                               // or a list of strings
  struct Storage {
    DType type = DType::u8;
    std::uint64_t count = 0;  // of numbers
  };
  std::map<std::string, Storage, std::less<>> storages;
  std::size_t size = 0;  // bytes read
};

// The lists of texts in a dictionary, by their keys: what a pickle of plain values (numbers, texts, lists,
// dictionaries, counters) holds. Of the objects that transformers' TransfoXLTokenizer puts beside them
// nothing is made. Error for anything else.
std::map<std::string, std::vector<std::string>> read_pickled_lists(std::span<const std::byte> bytes,
                                                                   std::string_view source);

// One pickle at the beginning of `bytes`. Error, with `source`, for anything else than said above.
Pickle read_pickle(std::span<const std::byte> bytes, std::string_view source);

}  // namespace attend
