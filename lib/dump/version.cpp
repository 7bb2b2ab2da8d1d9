#include "dump/version.hpp"

#include <hdf5.h>

#include "dump/rows.hpp"

namespace ulpscope::dump {

std::uint32_t format_version() noexcept { return kFormatVersion; }

std::string hdf5_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace ulpscope::dump
