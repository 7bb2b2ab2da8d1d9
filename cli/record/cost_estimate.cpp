#include "cli/record/cost_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "cli/record/dump_directory.hpp"
#include "cli/term/numbers.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::uint64_t kExampleSteps = 100;

}  // namespace

std::string in_words(const StepCost& cost) {
  std::string text = fmt::format("a step takes {}", byte_size(cost.bytes));
  if (cost.limit != 0 && cost.bytes != 0) {
    return fmt::format("{}: --max-bytes ends the bytes of values after about {}", text,
                       counted(cost.limit / cost.bytes, "step"));
  }
  const std::uint64_t steps = cost.wanted == 0 ? kExampleSteps : cost.wanted;
  const auto all =
      static_cast<std::uint64_t>(static_cast<double>(cost.bytes) * static_cast<double>(steps));
  text += cost.wanted == 0 ? fmt::format(", {} of them {}", steps, byte_size(all))
                           : fmt::format(", the {} of --steps {}", grouped(steps), byte_size(all));
  text += fmt::format("; the disk has {} free", byte_size(cost.disk_free));
  if (all > cost.disk_free) {
    text += fmt::format(", enough for {}", counted(cost.disk_free / cost.bytes, "step"));
    text += " (--steps or --max-bytes bound it)";
  }
  return text;
}

std::optional<StepCost> CostEstimate::look(std::uint64_t steps) {
  if (done_ || steps == 0) return std::nullopt;
  if (!first_steps_) {
    first_steps_ = steps;
    first_bytes_ = steps == 1 ? bytes_on_disk(directory_) : 0;
    if (steps == 1) return std::nullopt;
  }
  const std::uint64_t over = first_bytes_ == 0 ? steps : steps - *first_steps_;
  if (over == 0) return std::nullopt;
  done_ = true;
  const std::uint64_t bytes = bytes_on_disk(directory_);
  StepCost cost{(bytes - std::min(bytes, first_bytes_)) / over, 0, wanted_, limit_};
  std::error_code error;
  const auto space = std::filesystem::space(directory_, error);
  if (!error) cost.disk_free = space.available;
  return cost;
}

}  // namespace ulpscope::cli
