#include "cli/record/cost_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/counts.hpp"
#include "writer/dump_directory.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::uint64_t kExampleSteps = 100;
constexpr std::uint64_t kFirstSteps = 2;  // setup and the first step are like no other
constexpr std::uint64_t kMeasuredSteps = 2;

}  // namespace

std::string in_words(const StepCost& cost) {
  std::string text = fmt::format("a step takes about {}", core::byte_size(cost.bytes));
  if (cost.limit != 0 && cost.bytes != 0) {
    return fmt::format("{}: --max-bytes ends the bytes of values after {}", text,
                       core::counted(cost.limit / cost.bytes, "step"));
  }
  const std::uint64_t steps = cost.wanted == 0 ? kExampleSteps : cost.wanted;
  const auto all =
      static_cast<std::uint64_t>(static_cast<double>(cost.bytes) * static_cast<double>(steps));
  text += cost.wanted == 0
              ? fmt::format(", {} of them {}", steps, core::byte_size(all))
              : fmt::format(", the {} of --steps {}", core::grouped(steps), core::byte_size(all));
  text += fmt::format("; the disk has {} free", core::byte_size(cost.disk_free));
  if (all > cost.disk_free) {
    text += fmt::format(", enough for {}", core::counted(cost.disk_free / cost.bytes, "step"));
    text += " (--steps or --max-bytes bound it)";
  }
  return text;
}

std::optional<StepCost> CostEstimate::look(std::uint64_t steps) {
  if (done_ || steps < kFirstSteps) return std::nullopt;
  if (!from_) from_ = Seen{steps, writer::bytes_on_disk(directory_)};
  if (steps < from_->steps + kMeasuredSteps) return std::nullopt;
  const std::uint64_t passed = steps - from_->steps;
  done_ = true;
  const std::uint64_t bytes = writer::bytes_on_disk(directory_);
  StepCost cost{(bytes - std::min(bytes, from_->bytes)) / passed, 0, wanted_, limit_};
  std::error_code error;
  const auto space = std::filesystem::space(directory_, error);
  if (!error) cost.disk_free = space.available;
  return cost;
}

}  // namespace ulpscope::cli
