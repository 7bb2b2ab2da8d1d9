#include "cli/check/dump_folder.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>

#include "ulpscope/error.hpp"
#include "writer/dump_directory.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDump = "run-";

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ErrorCode::usage, fmt::format("'{}' cannot hold the dumps: {}", path.string(), why),
              "choose a new directory with -o");
}

fs::path first_free(const std::string& name) {
  const fs::path parent = "runs";
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) refuse(parent, error.message());
  for (std::uint64_t n = 1;; ++n) {
    fs::path path = parent / fmt::format("{}-{}", name, n);
    if (fs::create_directory(path, error)) return path;
    if (error) refuse(path, error.message());
  }
}

fs::path made(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) refuse(path, error.message());
  if (!fs::is_empty(path, error)) refuse(path, "it is not empty");
  return path;
}

}  // namespace

DumpFolder::DumpFolder(const fs::path& wanted, const std::string& name)
    : path_(wanted.empty() ? first_free(name) : made(wanted)) {}

DumpFolder::~DumpFolder() {
  if (kept_) return;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored))
    if (entry.path().filename().string().starts_with(kDump)) fs::remove_all(entry, ignored);
  fs::remove(path_, ignored);  // fails if something else is in it
}

fs::path DumpFolder::dump_of(std::size_t run) const {
  return path_ / fmt::format("{}{}", kDump, run);
}

void DumpFolder::remove(std::size_t run) const {
  std::error_code ignored;
  fs::remove_all(dump_of(run), ignored);
}

std::uint64_t DumpFolder::bytes() const { return writer::bytes_on_disk(path_); }

std::uint64_t DumpFolder::room() const {
  std::error_code error;
  const fs::space_info space = fs::space(path_, error);
  return error ? ~std::uint64_t{0} : space.available;
}

}  // namespace ulpscope::cli
