#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "capture/given_tensor.hpp"
#include "capture/python_tensors.hpp"
#include "capture/recorder.hpp"
#include "capture/thread.hpp"

#define ULPSCOPE_FOR_PYTHON extern "C" __attribute__((visibility("default")))

/// What the functions for the Python hooks (lib/python/hooks) have in common.
namespace ulpscope::capture {

/// The program's tensors behind their addresses, held by Python meanwhile.
class GivenTensors {
 public:
  explicit GivenTensors(const PythonTensors& found) {
    for (c10::TensorImpl* const address : found.get()) tensors_.push_back(given_tensor(address));
    for (const at::Tensor& tensor : tensors_) pointers_.push_back(&tensor);
  }
  GivenTensors(const GivenTensors&) = delete;
  GivenTensors& operator=(const GivenTensors&) = delete;

  [[nodiscard]] std::span<const at::Tensor* const> get() const noexcept {
    return {pointers_.data(), pointers_.size()};
  }

 private:
  static constexpr unsigned kUsual = 4;
  c10::SmallVector<at::Tensor, kUsual> tensors_;
  c10::SmallVector<const at::Tensor*, kUsual> pointers_;
};

/// Runs `body` with the calling thread, if something is recorded.
template <class Body>
void with_thread(std::string_view call, Body&& body) noexcept {
  Thread* const thread = Thread::current();
  if (thread == nullptr) return;
  const Thread::Inside inside(*thread);
  guarded(call, [&] { body(*thread); });
}

}  // namespace ulpscope::capture
