#pragma once

#include <string>

namespace ulpscope::comparison::budget {

/// What rounding can explain of one result. |d| of an element r may reach
///
///     eps * sqrt((relative * |r|)^2 + (absolute * scale)^2)
///
/// where eps is the distance from 1 to the next number of the dtype that the op computes in, and
/// `scale` the size of what was added up or cancelled on the way. Both zero: no bit may differ.
struct Allowance {
  double relative = 0;  ///< ULP of the result itself
  double absolute = 0;  ///< ULP of `scale`
  double scale = 0;
  std::string why;  ///< "sum of 4608 float32 products"
  /// The size of what may be added to a result of 16 bits only after that was rounded, so that it
  /// is rounded twice: a bias. 0: nothing.
  double added_late = 0;
};

}  // namespace ulpscope::comparison::budget
