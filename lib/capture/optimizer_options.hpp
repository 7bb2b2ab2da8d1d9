#pragma once

#include <memory_resource>
#include <string>
#include <string_view>

namespace torch::optim {
class Optimizer;
}

namespace ulpscope::capture {

class Thread;

/// Names of the hyperparameters of one of LibTorch's optimizers ("SGD"), joined by ',', and
/// "params" for how many tensors it trains; empty for a class that it does not have.
[[nodiscard]] std::string_view option_names(std::string_view optimizer_class) noexcept;

/// Writes them as arguments of the innermost frame's event, the optimizer's step, in the order of
/// option_names(). Where groups of parameters disagree, as a list.
void write_options(Thread& thread, std::string_view optimizer_class,
                   const torch::optim::Optimizer& optimizer);

/// Appends them in words, each in a line of its own, in the order of option_names() without
/// "params".
void describe_options(std::string_view optimizer_class, const torch::optim::Optimizer& optimizer,
                      std::pmr::string& words);

}  // namespace ulpscope::capture
