#include "arrays.h"

namespace kernelight {

void bind_hash(nb::module_&) {}

}  // namespace kernelight
