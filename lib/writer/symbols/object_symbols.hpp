#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ulpscope::writer {

/// The debug information and the symbol table of one file.
class ObjectSymbols {
 public:
  explicit ObjectSymbols(const std::string& path);
  ObjectSymbols(const ObjectSymbols&) = delete;
  ObjectSymbols& operator=(const ObjectSymbols&) = delete;
  ~ObjectSymbols();

  struct Call {
    std::string path;  ///< of the source file, as the compiler noted it; empty if it is not known
    int line = 0;
    std::string function;  ///< demangled; empty if it is not known
  };

  /// The calls at an address of the file: inlined ones innermost first, then the function itself.
  /// Empty if nothing is known about it.
  [[nodiscard]] std::vector<Call> calls(std::uint64_t address);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ulpscope::writer
