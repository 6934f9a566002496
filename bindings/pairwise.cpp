#include "arrays.h"

namespace kernelight {

void bind_pairwise(nb::module_&) {}

}  // namespace kernelight
