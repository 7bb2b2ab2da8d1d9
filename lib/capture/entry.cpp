#include <torch/version.h>

#include <cstdlib>

#include "capture/interpose.hpp"
#include "capture/op_observer.hpp"
#include "capture/recorder.hpp"
#include "capture/step_window.hpp"
#include "capture/thread.hpp"

/// Called by the preloaded object, once, where LibTorch is mapped and a writer is waiting.
extern "C" __attribute__((visibility("default"))) int ulpscope_capture_start(
    const UlpscopeSymbol* symbols, std::size_t count) {
  using namespace ulpscope::capture;
  const char* socket_path = std::getenv("ULPSCOPE_SOCKET");
  if (socket_path == nullptr) return 1;
  int started = 1;
  guarded("the start of recording", [&] {
    if (!start_recording(socket_path, TORCH_VERSION)) return;
    install_op_observer();
    begin_step_window();
    interpose(symbols, count);
    std::atexit(+[] { Thread::close_current(); });
    started = 0;
  });
  return started;
}
