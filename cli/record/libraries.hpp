#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ulpscope::cli {

struct CaptureLibrary {
  std::string torch_version;  ///< "2.11"
  std::filesystem::path path;
};

/// What enters the recorded program.
struct RecordingLibraries {
  std::filesystem::path preload;            ///< libulpscope_preload.so
  std::filesystem::path capture_directory;  ///< holds libulpscope_capture-VERSION.so
  std::vector<CaptureLibrary> capture;      ///< those in there, by name
};

/// Beside this program as built or as installed, unless ULPSCOPE_PRELOAD (a file) or
/// ULPSCOPE_CAPTURE_LIBRARY (a directory, or a file in it) is set.
///
/// @throws Error with ErrorCode::io if there is no preload library that can be passed on.
[[nodiscard]] RecordingLibraries find_recording_libraries();

}  // namespace ulpscope::cli
