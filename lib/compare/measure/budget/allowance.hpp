#pragma once

#include <string>

namespace ulpscope::comparison::budget {

/// What rounding can explain of one result. |d| of an element r may reach
///
///     eps * sqrt((relative * |r|)^2 + (absolute * scale)^2)
///
/// where eps is the distance from 1 to the next number of the dtype that the op computes in, and
/// `scale` the size of what was summed or canceled. Both zero: no bit may differ.
struct Allowance {
  double relative = 0;  ///< ULP of the result itself
  double absolute = 0;  ///< ULP of `scale`
  double scale = 0;
  std::string why;  ///< "sum of 4608 float32 products"
  /// The additional error of a 16-bit result, in units of its own dtype: of the result, and of 1.
  /// Intermediate values may be rounded to 16 bits, too.
  double kept_relative = 0;
  double kept_size = 0;
};

}  // namespace ulpscope::comparison::budget
