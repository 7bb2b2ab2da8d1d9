#include "compare/align/course.hpp"

#include <algorithm>
#include <bit>

#include "compare/model/hash.hpp"
#include "compare/model/structure.hpp"

namespace ulpscope::comparison {

void Course::add(const Event& op) {
  KeyHash key;
  key.add(key_).add(structure_key(op, Place::ignored));
  if (what_ == Of::values) key.add(input_key(op)).add(output_key(op));
  key_ = key.value();
  if (std::has_single_bit(++ops_)) prefixes_.push_back(key_);
}

std::size_t common(const Course& a, const Course& b) {
  const auto [end, other] =
      std::mismatch(a.prefixes_.begin(), a.prefixes_.end(), b.prefixes_.begin(), b.prefixes_.end());
  return static_cast<std::size_t>(end - a.prefixes_.begin());
}

}  // namespace ulpscope::comparison
