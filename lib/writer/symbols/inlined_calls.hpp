#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "ring/inlined_calls.hpp"

namespace ulpscope::writer {

/// Reads from debug information which member functions the compiler has inlined into the code at an
/// address, and where they keep `this`. A unit of a file is read when an address in it is first
/// looked up. Reads local files only. Never throws because of a file's content.
class InlinedCallReader {
 public:
  InlinedCallReader();
  InlinedCallReader(InlinedCallReader&&) noexcept;
  InlinedCallReader& operator=(InlinedCallReader&&) noexcept;
  ~InlinedCallReader();

  /// `address`: inside a call instruction, as the file `object` counts.
  void read(std::string_view object, std::uint64_t address, ring::InlinedCalls& answer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ulpscope::writer
