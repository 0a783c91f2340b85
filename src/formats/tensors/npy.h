// NumPy's file of one array (numpy.lib.format), of which Attend reads and writes tables of float32 numbers
// and of bytes.
#pragma once

#include "formats/tensors/tensor_file.h"

namespace attend {

// The array is the tensor "vectors", [rows, columns]. The header is checked completely when the file is
// opened, and that the file is as long as it says. An Error for another number of dimensions, other numbers
// and Fortran's order.
class NpyFile : public TensorFile {
 public:
  explicit NpyFile(const std::filesystem::path& path);
};

// A table of float32 numbers or of bytes. Through a temporary file and a rename.
void write_npy(const std::filesystem::path& path, const TensorView& table);

}  // namespace attend
