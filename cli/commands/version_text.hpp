#pragma once

namespace ulpscope::cli {

/// `ulpscope --version`: the versions of the program, of HDF5 and of the dump format, and for which
/// LibTorch there is a capture library.
void print_version();

}  // namespace ulpscope::cli
