#pragma once

#include <atomic>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "ulpscope/run.hpp"

namespace at {
class RecordFunction;
}

namespace ulpscope::capture {

/// How an op treats one of its arguments.
enum class Access : std::uint8_t {
  none,         ///< not a tensor: recorded as an argument
  read,         ///< its content is an input
  written,      ///< read and written: an input before, mutated after
  overwritten,  ///< only written (`out=`, `fill_`): mutated after, never an input
  metadata,     ///< only its shape, dtype or identity matters
};

struct ArgumentInfo {
  Access access = Access::none;
  bool dtype = false;          ///< an int that is a ScalarType
  bool layout = false;         ///< an int that is a Layout
  bool memory_format = false;  ///< an int that is a MemoryFormat
  bool undeclared = false;     ///< written although the schema does not say so
};

/// What is known about an op, autograd node or scope before it runs; looked up once per op.
struct OpInfo {
  std::uint32_t index = 0;  ///< dense, from 1, over the process
  EventKind kind = EventKind::op;
  std::pmr::string name;
  std::pmr::string overload;
  std::pmr::string argument_names;  ///< joined by ','
  std::pmr::string return_names;
  std::pmr::vector<ArgumentInfo> arguments;
  std::pmr::vector<bool> scratch_returns;  ///< whose bytes mean nothing
  std::uint32_t flags = 0;  ///< event_flag bits that hold for every call: view, factory
  bool seeded = false;      ///< may draw from a generator
  bool foreign = false;     ///< none of LibTorch's
  bool generated = false;   ///< does not say which of the arguments it writes it reads, too
  bool wrapper = false;     ///< computes only through the ops it calls
  bool writes = false;      ///< some argument is written
  bool rearranges = false;  ///< changes what a tensor refers to, not its content
  bool adopts =
      false;  ///< `set_data` asks whether its first tensor may refer to the second's memory
  bool copies = false;      ///< `copy_`, which may end before its bytes have come from a device
  bool keeps_rest = false;  ///< writes some elements of its first tensor
  bool converts = false;    ///< returns its first tensor, or a copy of it with another dtype
  bool resolves = false;    ///< returns its first tensor, or a copy of it that is not conjugated
  bool resizes = false;     ///< may enlarge a storage without writing it
  bool handle = false;      ///< returns pointers, not numbers
  bool exchange = false;    ///< of `c10d`: executed by a backend, together with other ranks
  bool collective = false;  ///< its results are complete once the program has waited for them
  bool barrier = false;     ///< what its tensor holds means nothing
  bool waits = false;       ///< for what a collective writes to its argument
  bool engine = false;      ///< the autograd engine's frame around a node
  bool user_node = false;   ///< a backward node that runs the program's own code

  explicit OpInfo(std::pmr::memory_resource* memory)
      : name(memory),
        overload(memory),
        argument_names(memory),
        return_names(memory),
        arguments(memory),
        scratch_returns(memory) {}
};

namespace detail {
extern std::atomic<bool> collective_known;
}
/// Whether an op of the kind `collective` has been looked up.
[[nodiscard]] inline bool any_collective() noexcept {
  return detail::collective_known.load(std::memory_order_relaxed);
}

/// The info of a record that RecordFunction reports. Thread-safe; valid for the process's life.
[[nodiscard]] const OpInfo& op_info(const at::RecordFunction& record);

/// The info of an op; null if this LibTorch has none of that name and overload.
[[nodiscard]] const OpInfo* op_info(const char* name, const char* overload = "");

/// The info of an event that is not a RecordFunction record: a module's forward, an optimizer's
/// step.
/// @param argument_names joined by ','
[[nodiscard]] const OpInfo& named_info(EventKind kind, std::string_view name,
                                       std::string_view argument_names = {});

/// The info of a kernel that a compiler has generated.
/// @param argument_names joined by ','
[[nodiscard]] const OpInfo& kernel_info(std::string_view name, std::string_view argument_names,
                                        const std::vector<ArgumentInfo>& arguments,
                                        std::uint32_t flags);

void lock_op_info();  ///< for fork()
void unlock_op_info();

}  // namespace ulpscope::capture
