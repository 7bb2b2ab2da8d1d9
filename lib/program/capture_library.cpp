#include "program/capture_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "capture/program_calls.hpp"
#include "preload/capture_library.h"
#include "preload/jumps.h"
#include "program/location.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::program {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libulpscope_capture-";

/// "2.11, 2.15": the LibTorch versions that there are capture libraries for.
std::string supported_versions() {
  std::set<std::string> versions;
  for (const fs::path& folder : capture_folders()) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().stem().string();
      if (name.starts_with(kPrefix)) versions.insert(name.substr(kPrefix.size()));
    }
  }
  std::string list;
  for (const std::string& version : versions) list += (list.empty() ? "" : ", ") + version;
  return list;
}

[[noreturn]] void refuse() {
  const UlpscopeTorchVersion version = ulpscope_torch_version();
  if (version.major == 0) {
    throw Error(ErrorCode::io, "this program has not loaded a shared LibTorch");
  }
  const std::string supported = supported_versions();
  throw Error(ErrorCode::io,
              "no capture library fits LibTorch " + std::to_string(version.major) + "." +
                  std::to_string(version.minor) +
                  (supported.empty() ? ": none is installed" : ": there is " + supported),
              "install Ulpscope built for it, or name its folder in ULPSCOPE_CAPTURE_LIBRARY");
}

void* open_handle() {
  if (void* mapped = ulpscope_mapped_capture()) return mapped;
  for (const fs::path& folder : capture_folders()) {
    if (void* opened = ulpscope_open_capture(folder.c_str())) return opened;
  }
  refuse();
}

}  // namespace

CaptureLibrary CaptureLibrary::open() {
  void* handle = open_handle();
  const auto get =
      reinterpret_cast<capture::GetProgramCalls*>(dlsym(handle, "ulpscope_program_calls"));
  const capture::ProgramCalls* calls = get == nullptr ? nullptr : get();
  if (calls == nullptr || calls->version != capture::kProgramCallsVersion) {
    throw Error(ErrorCode::io, "the capture library has a different version than libulpscope.so",
                "install Ulpscope again");
  }
  return {handle, calls};
}

void CaptureLibrary::start(const std::string& socket_path) const {
  const auto start =
      reinterpret_cast<UlpscopeCaptureStart*>(dlsym(handle_, "ulpscope_capture_start_recorder"));
  if (start != nullptr && ulpscope_start_with_jumps(start, socket_path.c_str()) == 0) return;
  throw Error(ErrorCode::io, "recording could not begin: " + std::string(calls_->refusal()));
}

}  // namespace ulpscope::program
