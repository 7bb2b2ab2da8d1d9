#include "cli/record/libraries.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>
#include <vector>

#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPreloadName = "libulpscope_preload.so";
constexpr std::string_view kCapturePrefix = "libulpscope_capture-";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string(value);
}

fs::path find_preload() {
  std::error_code error;
  if (const std::string given = environment("ULPSCOPE_PRELOAD"); !given.empty()) {
    const fs::path path = fs::canonical(given, error);
    if (error) {
      throw Error(ErrorCode::io,
                  fmt::format("ULPSCOPE_PRELOAD names '{}', which cannot be read: {}", given,
                              error.message()));
    }
    return path;
  }
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  for (const std::string_view directory :
       {"lib", "lib/ulpscope", ULPSCOPE_LIBRARY_DIRECTORY "/ulpscope"}) {
    const fs::path path = fs::canonical(prefix / directory / kPreloadName, error);
    if (!error) return path;
  }
  throw Error(ErrorCode::io,
              fmt::format("{} was not found in '{}'", kPreloadName, (prefix / "lib").string()),
              "name it in ULPSCOPE_PRELOAD, or install ulpscope again");
}

fs::path find_capture_directory(const fs::path& preload) {
  const std::string given = environment("ULPSCOPE_CAPTURE_LIBRARY");
  if (given.empty()) return preload.parent_path();
  std::error_code error;
  const fs::path path = fs::canonical(given, error);
  if (error) {
    throw Error(ErrorCode::io,
                fmt::format("ULPSCOPE_CAPTURE_LIBRARY names '{}', which cannot be read: {}", given,
                            error.message()));
  }
  return fs::is_directory(path, error) ? path : path.parent_path();
}

bool holds_capture(const fs::path& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().filename().string().starts_with(kCapturePrefix)) return true;
  }
  return false;
}

}  // namespace

RecordingLibraries find_recording_libraries() {
  RecordingLibraries libraries;
  libraries.preload = find_preload();
  // The loader splits LD_PRELOAD at both and knows no quoting.
  if (libraries.preload.string().find_first_of(" :") != std::string::npos) {
    throw Error(ErrorCode::io,
                fmt::format("'{}' cannot be preloaded: its path has a blank or a colon",
                            libraries.preload.string()),
                "move ulpscope to a directory without them");
  }
  libraries.capture_directory = find_capture_directory(libraries.preload);
  libraries.has_capture = holds_capture(libraries.capture_directory);
  return libraries;
}

}  // namespace ulpscope::cli
