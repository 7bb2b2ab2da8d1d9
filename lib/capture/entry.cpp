#include <dlfcn.h>
#include <torch/version.h>

#include <cstdlib>
#include <string_view>

#include "capture/device_values.hpp"
#include "capture/environment_flags.hpp"
#include "capture/filter.hpp"
#include "capture/interpose.hpp"
#include "capture/kernel_launches.hpp"
#include "capture/op_observer.hpp"
#include "capture/op_question.hpp"
#include "capture/recorder.hpp"
#include "capture/step_window.hpp"
#include "capture/thread.hpp"

namespace ulpscope::capture {
namespace {

/// What the preloaded object has to say of Python's hooks, which it loads before anything is
/// recorded.
void tell_failure_of_hooks() {
  using Failure = const char*();
  auto* const failure = reinterpret_cast<Failure*>(dlsym(RTLD_DEFAULT, "ulpscope_hooks_failure"));
  const std::string_view sentence = failure != nullptr ? failure() : "";
  Thread* const thread = sentence.empty() ? nullptr : Thread::current();
  if (thread != nullptr) thread->send_notice(sentence, /*fatal=*/false);
}

int start(const char* socket_path, const UlpscopeSymbol* symbols, std::size_t count,
          Follow follow) {
  int started = 1;
  guarded("the start of recording", [&] {
    if (!start_recording(socket_path, TORCH_VERSION, follow)) return;
    set_flags_at_start();
    begin_filter();
    install_op_observer();
    begin_step_window();
    begin_kernel_launches();
    interpose(symbols, count);
    interpose_question(symbols, count);
    static const int at_exit = std::atexit(+[] {
      // The program may have ended CUDA already, and results that were pending then never come.
      finish_device_values(std::chrono::seconds(1));
      Thread::close_current();
    });
    tell_failure_of_hooks();
    started = at_exit;
  });
  return started;
}

}  // namespace
}  // namespace ulpscope::capture

/// Called by the preloaded object, once, where LibTorch is mapped and a writer is waiting.
extern "C" __attribute__((visibility("default"))) int ulpscope_capture_start(
    const char* socket_path, const UlpscopeSymbol* symbols, std::size_t count) {
  using namespace ulpscope::capture;
  return start(socket_path, symbols, count, Follow::children);
}

/// Called for a program's own Recorder, which may be followed by others. As ulpscope_capture_start;
/// why it failed is what ProgramCalls::refusal says.
extern "C" __attribute__((visibility("default"))) int ulpscope_capture_start_recorder(
    const char* socket_path, const UlpscopeSymbol* symbols, std::size_t count) {
  using namespace ulpscope::capture;
  return start(socket_path, symbols, count, Follow::nobody);
}
