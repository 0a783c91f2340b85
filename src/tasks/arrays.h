// Converts between the arrays of programs and tensors.
#pragma once

#include <attend/array.h>

#include "tensor/tensor.h"

namespace attend {

// Throws Error with `name` if the number of values does not match the shape.
Tensor to_tensor(const Array& array, const std::string& name);
Array to_array(const Tensor& tensor);  // integers and booleans become integers, all other types float32

std::map<std::string, Tensor> to_tensors(const Arrays& arrays);
Arrays to_arrays(const std::map<std::string, Tensor>& tensors);

}  // namespace attend
