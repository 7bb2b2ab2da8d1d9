#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// What a fuzzer is: one function that takes any bytes. Anything but a return is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ulpscope::test {

inline std::span<const std::byte> fuzz_input(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

}  // namespace ulpscope::test
