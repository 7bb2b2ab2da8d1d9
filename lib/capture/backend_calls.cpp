#include "capture/backend_calls.hpp"

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>

#include "capture/collectives.hpp"
#include "capture/op_observer.hpp"

namespace ulpscope::capture {
namespace {

const c10d::Backend& as_backend(const void* backend) {
  return *static_cast<const c10d::Backend*>(backend);
}

}  // namespace

c10::IValue BackendCall::group_of(const void* backend) {
  return told_by_group(as_backend(backend).getRank(), as_backend(backend).getSize());
}

void BackendCall::begin(const OpInfo& info, const void* backend,
                        c10::ArrayRef<const c10::IValue> arguments) {
  if (begin_backend_call(*thread_, info, {as_backend(backend).getRank(), backend}, arguments))
    frames_ = thread_->frames.size();
}

void BackendCall::end(bool threw, c10::ArrayRef<const c10::IValue> results) {
  end_direct_call(*thread_, std::exchange(frames_, 0), threw, results);
}

BackendCall::~BackendCall() {
  if (!is_recorded()) return;
  const Thread::Inside inside(*thread_);
  guarded("the end of a collective", [&] { end(/*threw=*/true, {}); });
}

}  // namespace ulpscope::capture
