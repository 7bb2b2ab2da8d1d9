#pragma once

#include <string>

/// Numbers as people read them. Decimals are laid out as Python does: plain from 1e-4 up to 1e16,
/// else with an exponent ("1e-05"); non-finite numbers are "nan", "inf", "-inf".
namespace ulpscope::core {

enum class Integral { bare, with_point };  ///< how 1.0 prints: "1" or "1.0"

/// The shortest decimal that reads back as `value`.
[[nodiscard]] std::string shortest(double value, Integral integral = Integral::bare);
[[nodiscard]] std::string shortest(float value);

/// The lattice of a small binary format, for reading decimals back.
struct Precision {
  int digits;        ///< significant bits, the hidden one included
  int min_exponent;  ///< of the smallest subnormal: 2^min_exponent
};

/// The shortest decimal that reads back as `value`, a number of the format, in that format.
[[nodiscard]] std::string shortest(double value, Precision format);

/// "(1+2j)" from the texts of the parts.
[[nodiscard]] std::string join_complex(const std::string& real, const std::string& imaginary);

}  // namespace ulpscope::core
