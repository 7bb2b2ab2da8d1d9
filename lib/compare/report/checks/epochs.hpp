#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compare/report/checks/batches.hpp"
#include "compare/report/checks/check.hpp"

namespace ulpscope::comparison {

/// Where epochs start, if that can be determined from outside the program's loop.
struct Epochs {
  enum class Source : std::uint8_t {
    unknown,
    notes,   ///< the program calls note("epoch", ...)
    orders,  ///< an order of samples was drawn (randperm), as RandomSampler does at a loader's
             ///< begin
  };
  Source source = Source::unknown;
  std::vector<std::int64_t> begins;  ///< first step of each
};

/// The steps from which orders of so many samples apply.
struct DrawnOrder {
  std::int64_t step = 0;
  std::int64_t samples = 0;
  bool goes_on = false;  ///< drawn from where the order before has left a generator of its own
};

class OrderCollector {
 public:
  void see(const Lane& lane, const Block& block);
  [[nodiscard]] const std::vector<DrawnOrder>& orders() const noexcept { return orders_; }

 private:
  std::vector<DrawnOrder> orders_;
  std::uint32_t lane_ = 0;
  std::int64_t step_ = kSetup;  ///< of the block that was seen last
  bool has_trained_ = false;    ///< in this step: what is drawn is for the next one
  std::optional<Digest> left_;  ///< the state in which the last order left its own generator
};

[[nodiscard]] Epochs epochs_of(const std::vector<EnvironmentEntry>& environment,
                               const std::vector<DrawnOrder>& orders,
                               const std::vector<Batch>& batches);

/// Have all epochs as many steps?
[[nodiscard]] Check check_epochs(const Epochs& epochs, const std::vector<Batch>& batches);

/// Is an epoch the one before over again?
[[nodiscard]] Check check_order(const Epochs& epochs, const std::vector<Batch>& batches);

/// Does a batch come twice in an epoch?
[[nodiscard]] Check check_batches(const Epochs& epochs, const std::vector<Batch>& batches);

}  // namespace ulpscope::comparison
