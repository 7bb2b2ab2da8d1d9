#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace torch::optim {
class Optimizer;
}

namespace ulpscope::capture {

class Thread;

/// An optimizer steps with these options, as arguments of its event.
void note_step_options(std::string_view optimizer_class, const torch::optim::Optimizer& optimizer,
                       std::span<const std::byte> options);

/// The program writes an optimizer to an archive: sends which hyperparameters have changed since
/// its last step, as settings `saved.optimizer.N.NAME` (compare/diff/outcomes/left_options.hpp).
void send_saved_options(Thread& thread, std::string_view optimizer_class,
                        const torch::optim::Optimizer& optimizer);

/// fork() copies the lock of this table.
void lock_saved_options();
void unlock_saved_options();

}  // namespace ulpscope::capture
