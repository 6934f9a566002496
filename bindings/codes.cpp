#include "arrays.h"

namespace kernelight {

void bind_codes(nb::module_&) {}

}  // namespace kernelight
