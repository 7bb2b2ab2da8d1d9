#include "capture/op_question.hpp"

#include <ATen/Operators.h>
#include <ATen/record_function.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "capture/frames.hpp"
#include "capture/memory.hpp"
#include "capture/op_info.hpp"
#include "capture/thread.hpp"
#include "capture/unwind_row.hpp"

namespace ulpscope::capture {
namespace {

using Question = std::optional<at::StepCallbacks>(at::RecordScope);

/// The function that programs and other ops call an op by: it asks.
struct Caller {
  const void* function = nullptr;
  const char* name = nullptr;
  const char* overload = nullptr;
};

const std::array kFrequent = {
#define ULPSCOPE_OP(op)                                                          \
  Caller{reinterpret_cast<const void*>(&at::_ops::op::call), at::_ops::op::name, \
         at::_ops::op::overload_name},
#include "capture/frequent_ops.def"
#undef ULPSCOPE_OP
};

/// Which op asks from which address. Filled as addresses turn up, read without a lock.
class Askers {
 public:
  Askers() {
    for (std::size_t i = 0; i < kFrequent.size(); ++i)
      infos_[i] = op_info(kFrequent[i].name, kFrequent[i].overload);
  }

  /// Null if it is none of the frequent ones.
  [[nodiscard]] const OpInfo* at(std::uintptr_t address) noexcept {
    const std::size_t begin = (address * 0x9e3779b97f4a7c15ULL) >> (64 - kBits);
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      Place& place = places_[(begin + probe) % places_.size()];
      std::uintptr_t known = place.address.load(std::memory_order_acquire);
      if (known == address) return place.info.load(std::memory_order_acquire);
      if (known != 0) continue;
      const OpInfo* const info = look_up(address);
      if (place.address.compare_exchange_strong(known, address))
        place.info.store(info, std::memory_order_release);
      return info;
    }
    return nullptr;
  }

 private:
  static constexpr unsigned kBits = 12;
  static constexpr std::size_t kProbes = 8;
  struct Place {
    std::atomic<std::uintptr_t> address{0};
    std::atomic<const OpInfo*> info{nullptr};
  };

  [[nodiscard]] const OpInfo* look_up(std::uintptr_t address) const noexcept {
    const std::uintptr_t function = function_begin(address);
    for (std::size_t i = 0; i < kFrequent.size(); ++i)
      if (reinterpret_cast<std::uintptr_t>(kFrequent[i].function) == function) return infos_[i];
    return nullptr;
  }

  std::array<const OpInfo*, kFrequent.size()> infos_{};
  std::array<Place, std::size_t{1} << kBits> places_;
};

std::atomic<Askers*> askers{nullptr};
std::atomic<Question*> next_question{nullptr};
std::atomic<void**> slot{nullptr};
std::atomic<bool> observed{false};

/// Whether ops that begin now may be such that nothing is recorded of them.
bool may_leave_nothing(const Thread& thread) {
  if (only_layers()) return !in_user_code(thread);
  const Frame* const parent = parent_of(thread);
  return parent != nullptr && (is_in_kernel(thread) || copies_number(*parent));
}

/// Whether ops may be called by code of the program's that LibTorch runs in their place, such as
/// the handler of a mode.
bool in_some_mode() {
  return !(c10::impl::tls_local_dispatch_key_set().included_ - c10::default_included_set).empty();
}

bool leaves_nothing(const Thread& thread, const OpInfo& info) {
  const Frame* const parent = parent_of(thread);
  if ((parent != nullptr && parent->traced) || in_some_mode()) return false;
  if (only_layers()) return true;
  const OpInfo& around = *parent->info;
  if (around.foreign || info.foreign || &around == &info) return false;
  return copies_number(*parent) ? is_copy_of_number(info) : is_view_in_kernel(around, info);
}

bool is_asked_in_vain(std::uintptr_t address) {
  const Thread* const thread = Thread::opened();
  if (thread == nullptr || thread->compilers > 0 || !may_leave_nothing(*thread)) return false;
  Askers* const known = askers.load(std::memory_order_acquire);
  const OpInfo* const info = known == nullptr ? nullptr : known->at(address);
  return info != nullptr && leaves_nothing(*thread, *info);
}

/// What getStepCallbacksUnlessEmpty() returns. Other observers see what they see without us, and
/// LibTorch counts each op where some of them see only samples.
std::optional<at::StepCallbacks> answer(at::RecordScope scope) {
  const auto address = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1;
  const bool in_vain = scope == at::RecordScope::FUNCTION && is_asked_in_vain(address);
  auto callbacks = next_question.load(std::memory_order_relaxed)(scope);
  if (in_vain && callbacks && callbacks->callbacks_.size() == 1) callbacks.reset();
  return callbacks;
}

void fill_slot() noexcept {
  void** const place = slot.load(std::memory_order_acquire);
  if (place == nullptr) return;
  Question* const function = observed.load() ? &answer : next_question.load();
  std::atomic_ref(*place).store(reinterpret_cast<void*>(function), std::memory_order_release);
}

}  // namespace

void interpose_question(const UlpscopeSymbol* symbols, std::size_t count) {
  constexpr std::string_view kName = "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE";
  if (slot.load() != nullptr) return;  // in an earlier recording
  for (std::size_t i = 0; i < count; ++i) {
    if (symbols[i].name != kName || *symbols[i].slot == nullptr) continue;
    askers.store(&immortal<Askers>(), std::memory_order_release);
    next_question.store(reinterpret_cast<Question*>(*symbols[i].slot));
    slot.store(symbols[i].slot, std::memory_order_release);
    fill_slot();
  }
}

void answer_question(bool wanted) noexcept {
  observed.store(wanted);
  fill_slot();
}

}  // namespace ulpscope::capture
