#pragma once

#include <cstdint>
#include <string>

namespace ulpscope::dump {

/// The newest dump format that is read, and the one that is written.
[[nodiscard]] std::uint32_t format_version() noexcept;

/// Of the HDF5 library in use: "1.10.8".
[[nodiscard]] std::string hdf5_version();

}  // namespace ulpscope::dump
