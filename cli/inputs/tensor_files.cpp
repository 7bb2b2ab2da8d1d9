#include "cli/inputs/tensor_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/inputs/dump_path.hpp"
#include "dump/layout.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

/// Entries of a directory that are looked at to see what it is.
constexpr std::size_t kMostEntries = 100'000;

/// Arrays lie in it, or below it, and no dump does.
bool holds_arrays(const fs::path& directory) {
  const fs::path status = dump::status_path({}).filename();
  bool found = false;
  std::error_code error;
  fs::recursive_directory_iterator at(directory, error);
  for (std::size_t count = 0; !error && at != fs::end(at) && count < kMostEntries;
       at.increment(error), ++count) {
    if (at->path().filename() == status) return false;
    found = found || at->path().extension() == ".npy";
  }
  return found;
}

}  // namespace

bool names_tensors(const std::string& argument) {
  const fs::path path(argument);
  std::error_code ignored;
  if (!fs::exists(path, ignored) || is_in_dump(path)) return false;
  if (!fs::is_directory(path, ignored)) return true;
  return !fs::exists(dump::status_path(path), ignored) && dump::list_ranks(path).empty() &&
         holds_arrays(path);
}

void require_tensors(const std::string& reference, const std::string& candidate) {
  const bool has_tensors = names_tensors(reference);
  if (has_tensors == names_tensors(candidate)) return;
  const std::string& file = has_tensors ? reference : candidate;
  const std::string& other = has_tensors ? candidate : reference;
  static_cast<void>(open_tensor_file(file));
  require_dump(other);
  throw Error(
      ErrorCode::usage,
      fmt::format("'{}' is a dump, and '{}' holds tensors: they cannot be compared", other, file),
      "`ulpscope export` writes values of a dump as .npy or .h5, which can be");
}

LayoutChange parse_layout(const std::string& source, const std::string& value) {
  LayoutChange layout;
  std::string orders = value;
  if (const std::size_t colon = value.rfind(':'); colon != value.npos) {
    layout.tensors = value.substr(0, colon);
    orders = value.substr(colon + 1);
  }
  const std::size_t equals = orders.find('=');
  layout.reference = orders.substr(0, equals);
  layout.candidate = equals == orders.npos ? std::string() : orders.substr(equals + 1);
  std::string one = layout.reference;
  std::string other = layout.candidate;
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  if (layout.tensors.empty() || one.empty() || one != other ||
      std::adjacent_find(one.begin(), one.end()) != one.end())
    throw Error(ErrorCode::usage,
                fmt::format("{} takes the same dimensions in two orders, not '{}'", source, value),
                fmt::format("give it as {0} NCHW=NHWC, or for some tensors as {0} "
                            "conv*:OIHW=HWIO",
                            source));
  return layout;
}

}  // namespace ulpscope::cli
