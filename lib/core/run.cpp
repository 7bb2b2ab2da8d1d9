#include "ulpscope/run.hpp"

namespace ulpscope {

std::string_view name(Phase phase) noexcept {
  switch (phase) {
    case Phase::setup:
      return "setup";
    case Phase::data:
      return "data";
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::optimizer:
      return "optimizer";
    case Phase::eval:
      return "eval";
  }
  return "unknown";
}

std::string_view name(Role role) noexcept {
  switch (role) {
    case Role::input:
      return "input";
    case Role::output:
      return "output";
    case Role::mutated:
      return "mutated";
  }
  return "unknown";
}

}  // namespace ulpscope
