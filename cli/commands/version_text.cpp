#include "cli/commands/version_text.hpp"

#include <fmt/format.h>

#include "cli/record/libraries.hpp"
#include "cli/term/escape.hpp"
#include "cli/version.hpp"
#include "dump/version.hpp"
#include "ulpscope/error.hpp"
#include "writer/symbols/symbolizer.hpp"

namespace ulpscope::cli {
namespace {

void print_capture_libraries() {
  try {
    const RecordingLibraries libraries = find_recording_libraries();
    for (const CaptureLibrary& library : libraries.capture) {
      fmt::print("capture library for LibTorch {}: {}\n", escaped(library.torch_version),
                 escaped(library.path.string()));
    }
    if (libraries.capture.empty()) {
      fmt::print("no capture library in {}\n", escaped(libraries.capture_directory.string()));
    }
  } catch (const Error& error) {
    fmt::print("no capture library: {}\n", escaped(error.what()));
  }
}

}  // namespace

void print_version() {
  fmt::print("ulpscope {}\n", kVersion);
  fmt::print("HDF5 {}\n", dump::hdf5_version());
  fmt::print("dump format {}\n", dump::format_version());
  fmt::print("names of --stacks by {}\n", writer::Symbolizer::library());
  print_capture_libraries();
}

}  // namespace ulpscope::cli
