#pragma once

#include <cstdint>
#include <string_view>

/// Names of the program's own functions, from the symbol tables of the objects that are mapped.
namespace ulpscope::capture {

struct Function {
  std::uintptr_t begin = 0;
  std::string_view name;  ///< mangled; empty where no symbol covers the address
};

/// The C++ member function or local function that an address lies in. Reads an object's symbol
/// table from its file when it is first met; thread-safe; what it returns is valid for the
/// process's life.
[[nodiscard]] Function function_at(std::uintptr_t address);

/// An address as its object's file counts it.
struct Location {
  std::string_view object;  ///< path of the mapped file; empty where nothing is mapped
  std::uint64_t offset = 0;
};
[[nodiscard]] Location location_of(std::uintptr_t address);

void lock_program_symbols();  ///< for fork()
void unlock_program_symbols();

}  // namespace ulpscope::capture
