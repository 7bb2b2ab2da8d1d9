#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ulpscope::writer {

/// Names return addresses of the recorded program: from its debug information ("train.cpp:41
/// train(Model&)", a line for each inlined call, innermost first), from its symbol table alone
/// ("train+0x1a2b train(Model&)"), or as bare offsets ("train+0x1a2b"). Caches its answers. Reads
/// local files only. Never throws because of a file's content. Calls of Python code arrive with
/// their names: "train.py:41 Net.forward". Behind a tab the text of the line follows if it is
/// known, behind another one the file's directory: see SourceDirectories.
class Symbolizer {
 public:
  Symbolizer();
  Symbolizer(Symbolizer&&) noexcept;
  Symbolizer& operator=(Symbolizer&&) noexcept;
  ~Symbolizer();

  /// `offset`: a return address as the symbol table of the file `object` counts; the line if
  /// `object` is "python:FILE\nFUNCTION".
  [[nodiscard]] std::string operator()(std::string_view object, std::uint64_t offset);

  /// What reads debug information: "libdw 0.188", or "no library (addresses only)".
  [[nodiscard]] static std::string library();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ulpscope::writer
