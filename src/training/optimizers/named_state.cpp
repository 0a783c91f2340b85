#include "training/optimizers/named_state.h"

namespace attend {

void restore_state(const std::map<std::string, Tensor>& to, const std::map<std::string, Tensor>& from,
                   const char* what) {
  Unrecorded no_grad;
  for (const auto& [name, tensor] : to) {
    const auto found = from.find(name);
    if (found == from.end())
      fail("the checkpoint's {} does not fit: {} is missing; it may be of another model or of other options",
           what, name);
    const Tensor& other = found->second;
    if (other.sizes() != tensor.sizes() || other.type() != tensor.type())
      fail("the checkpoint's {} does not fit: {}: expected {} {}, found {} {}", what, name,
           ops::name_of(tensor.type()), tensor.sizes(), ops::name_of(other.type()), other.sizes());
    if (!ops::isfinite(other).all().item<bool>())
      fail("the checkpoint's {} is damaged: {} holds a number that is not finite", what, name);
  }
  for (const auto& [name, tensor] : to) Tensor(tensor).copy_(from.at(name));
}

}  // namespace attend
