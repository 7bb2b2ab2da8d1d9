#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compare/model/content.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Gradients that one run alone has accumulated, from nothing, since the thread last reset its
/// gradients. Where nothing reads them they are left all the same: until the program drops them.
class LoneGradients {
 public:
  /// A gradient was accumulated: `anew` if there was none before, `alone` if the other run
  /// accumulates none there.
  void accumulated(const Lane& lane, const Event& gradient, bool anew, bool alone);
  /// The thread has called zero_grad(). Its backward may run in a lane of autograd's.
  void reset(const Lane& lane);
  /// An op has set gradients to zero in place.
  void zeroed(const Event& op);

  struct Gradient {
    std::uint64_t storage = 0;
    Content content;
  };
  [[nodiscard]] std::vector<Gradient> left() const;

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  struct Left {
    Gradient gradient;
    std::uint32_t lane = 0;
    bool of_autograd = false;
  };
  std::unordered_map<std::uint64_t, Left> left_;  ///< by parameter, or memory of one without a name
};

}  // namespace ulpscope::comparison
