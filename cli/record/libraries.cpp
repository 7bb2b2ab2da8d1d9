#include "cli/record/libraries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "cli/base/capture_prefix.hpp"
#include "cli/base/library_beside.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPreloadName = "libulpscope_preload.so";
constexpr std::string_view kCaptureSuffix = ".so";

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
  if (const auto path = library_beside(kPreloadName)) return *path;
  if (!fs::exists("/proc/self/exe", error))
    throw Error(ErrorCode::io, "there is no /proc, which recording needs",
                "mount it in the container or chroot: mount -t proc proc /proc");
  throw Error(ErrorCode::io,
              fmt::format("{} was not found in '{}'", kPreloadName, library_directory().string()),
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

/// Files named libulpscope_capture-VERSION.so.
std::vector<CaptureLibrary> capture_libraries(const fs::path& directory) {
  std::vector<CaptureLibrary> libraries;
  std::error_code error;
  for (fs::directory_iterator i(directory, error), end; i != end; i.increment(error)) {
    const std::string name = i->path().filename().string();
    if (!name.starts_with(kCapturePrefix) || !name.ends_with(kCaptureSuffix)) continue;
    const std::size_t length = name.size() - kCapturePrefix.size() - kCaptureSuffix.size();
    libraries.push_back({name.substr(kCapturePrefix.size(), length), i->path()});
  }
  std::sort(libraries.begin(), libraries.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return libraries;
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
  libraries.capture = capture_libraries(libraries.capture_directory);
  return libraries;
}

}  // namespace ulpscope::cli
