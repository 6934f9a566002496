#include "simd/levels.h"
