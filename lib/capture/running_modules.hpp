#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "capture/call_stack.hpp"
#include "capture/pointer_map.hpp"

/// Which of the program's own modules are running, read from the call stack: a frame of one of a
/// known module's member functions, in which that module's address is found. A function that the
/// compiler has inlined into its caller counts like one with a frame, if debug information
/// describes it.
namespace ulpscope::capture {

struct RunningModule {
  std::uint32_t module = 0;     ///< 0: one of its class, unknown which
  std::string_view method;      ///< "forward"
  std::uintptr_t function = 0;  ///< where it begins, or the id of an inlined call
  std::uintptr_t frame = 0;     ///< where its stack frame ends: distinguishes nested calls
};

/// Members of Module that a class may override, and what LibTorch's recurrent modules call in
/// theirs, that give a module its tensors: whatever they read, they are not a forward.
[[nodiscard]] bool prepares(std::string_view method);

/// Reads the stack of the calling thread.
class RunningModules {
 public:
  explicit RunningModules(std::pmr::memory_resource* memory)
      : stack_(memory), running_(memory), memory_(memory), code_(memory), places_(memory) {}

  /// Outermost first; a member function that is called by another one of the same module is left
  /// out, unless the caller only prepares the module. Each module is named by evidence: it is the
  /// only one of its class, or its address is where the function keeps `this`. Without evidence the
  /// module is 0, and an inlined call is left out.
  /// @param child the module whose forward is about to begin, 0 for none: the modules above it show
  /// where functions keep `this`.
  [[nodiscard]] std::span<const RunningModule> look(std::uint32_t child);

  [[nodiscard]] const CallStack& stack() const noexcept { return stack_; }

 private:
  struct Known {
    std::uintptr_t begin = 0;
    std::uint32_t module_class = 0;
    std::uint32_t classes = 0;  ///< that were known at that time
    std::string_view method;
    std::string_view name;
    bool is_described = false;  ///< debug information says where `this` is, or that it is not kept
    ring::SelfPlace self;
  };

  /// The functions that contain a call instruction.
  struct Code {
    explicit Code(std::pmr::memory_resource* memory) : inlined(memory) {}
    Known function;
    std::pmr::vector<Known> inlined;  ///< outermost first
  };

  /// Where a function keeps the module that it runs on.
  struct Place {
    static constexpr std::ptrdiff_t kNowhere = -1;
    std::ptrdiff_t preserved = kNowhere;  ///< which callee-saved register
    std::ptrdiff_t word = kNowhere;       ///< which word, counted from the frame's end
  };

  Code& code_at(std::uintptr_t address);
  static void find_class(Known& function);
  void add(std::size_t frame, const Known& function, std::uint32_t module);
  std::uint32_t module_at_self(std::size_t frame, const Known& function) const;
  std::uint32_t module_of(std::size_t frame, const Known& function, std::uint32_t child);
  std::uint32_t module_in(std::size_t frame, const Known& function, std::uint32_t child);
  bool learn(std::size_t frame, const Known& function, std::uintptr_t module);

  CallStack stack_;
  std::pmr::vector<RunningModule> running_;
  std::pmr::memory_resource* memory_;
  PointerMap<Code> code_;     ///< by return address
  PointerMap<Place> places_;  ///< by function
};

}  // namespace ulpscope::capture
