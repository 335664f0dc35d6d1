// CHECK for numbers that may differ by rounding.
#pragma once

#include <cmath>

#include "check.hpp"

#define CHECK_NEAR(a, b, tolerance) CHECK(std::abs((a) - (b)) <= (tolerance))
