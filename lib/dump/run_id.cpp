#include "dump/run_id.hpp"

#include <random>

namespace ulpscope::dump {

RunId new_run_id() {
  std::random_device random;
  const auto word = [&random] { return std::uint64_t{random()} << 32 | random(); };
  return {word(), word()};
}

}  // namespace ulpscope::dump
