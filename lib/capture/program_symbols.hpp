#pragma once

#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "ring/inlined_calls.hpp"

/// Names of the program's own functions, from the symbol tables of the mapped objects and, for
/// inlined functions, from debug information that the writer reads.
namespace ulpscope::capture {

struct Function {
  std::uintptr_t begin = 0;
  std::string_view name;  ///< mangled; empty if no symbol covers the address
};

/// The C++ member function or local function at an address. Reads an object's symbol table from its
/// file when it is first needed; thread-safe; the result is valid for the process's life.
[[nodiscard]] Function function_at(std::uintptr_t address);

/// A member function that is inlined into another one.
struct InlinedFunction {
  std::uintptr_t id = 0;  ///< the same at every address of this inlined call, no address of code
  std::string_view name;  ///< mangled, up to its own
  ring::SelfPlace self;
};

/// What debug information says about a call instruction.
struct CallPlace {
  explicit CallPlace(std::pmr::memory_resource* memory) : inlined(memory) {}
  bool is_member = false;                     ///< the function whose code it is, if known
  ring::SelfPlace self;                       ///< of that function
  std::pmr::vector<InlinedFunction> inlined;  ///< that it is in too, outermost first
};

/// Empty if there is no debug information, and in libraries. Sends a request to the writer for each
/// new address; thread-safe; the result is valid for the process's life.
[[nodiscard]] const CallPlace& call_place(std::uintptr_t address);

/// Whether a file is LibTorch's, the system's or the recorder's own rather than the program's.
[[nodiscard]] bool is_library(std::string_view path);

/// An address relative to its object's file.
struct Location {
  std::string_view object;  ///< path of the mapped file; empty if nothing is mapped
  std::uint64_t offset = 0;
};
[[nodiscard]] Location location_of(std::uintptr_t address);

void lock_program_symbols();  ///< for fork()
void unlock_program_symbols();

}  // namespace ulpscope::capture
