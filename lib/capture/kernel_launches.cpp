#include "capture/kernel_launches.hpp"

#include <string>
#include <string_view>

#include "capture/filter.hpp"
#include "capture/frames.hpp"
#include "capture/library_beside.hpp"
#include "capture/op_info.hpp"
#include "capture/recorder.hpp"
#include "capture/step_window.hpp"
#include "capture/thread.hpp"
#include "device/launches.hpp"

namespace ulpscope::capture {
namespace {

const device::LaunchFunctions* open_launches() noexcept {
  const auto functions = reinterpret_cast<decltype(&ulpscope_launch_functions)>(
      function_beside("libulpscope_cupti.so", "ulpscope_launch_functions"));
  return functions == nullptr ? nullptr : functions(device::LaunchFunctions::kVersion);
}

/// Ulpscope's own kernels are launched inside hooks, where no thread is current.
void on_launch(const char* symbol) noexcept {
  Thread* const thread = Thread::current();
  if (thread == nullptr) return;
  const Thread::Inside inside(*thread);
  guarded("the launch of a kernel", [&] {
    const Frame* const around = parent_of(*thread);
    const bool unwanted = around == nullptr ? is_filtered() : around->position == ring::kNone;
    if (idle() || only_layers() || unwanted) return;
    const OpInfo& kernel =
        named_info(EventKind::kernel, symbol == nullptr ? "graph" : std::string_view(symbol));
    thread->frames.push_back(new_event(*thread, kernel));
    end_innermost(*thread);
  });
}

/// False with a reason if launches cannot be observed.
bool begin(std::string& reason) {
  static const device::LaunchFunctions* const launches = open_launches();
  if (launches == nullptr) {
    reason = "this build has no CUPTI, or the program has none";
    return false;
  }
  static const bool begun = launches->begin(&on_launch);
  if (!begun) reason = launches->trouble();
  return begun;
}

}  // namespace

void begin_kernel_launches() {
  if (settings().kernels == 0) return;
  std::string reason;
  const bool begun = begin(reason);
  Thread* const thread = Thread::current();
  if (thread == nullptr) return;
  const Thread::Inside inside(*thread);
  if (begun)
    thread->send_environment("capture.kernels", "recorded");
  else
    thread->send_notice("the names of kernels are not recorded: " + reason, false);
}

}  // namespace ulpscope::capture
