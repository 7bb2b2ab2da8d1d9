#include "writer/symbols/source_directories.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace ulpscope::writer {
namespace {

namespace fs = std::filesystem;

[[nodiscard]] fs::path current_directory() {
  std::error_code error;
  return fs::current_path(error);
}

}  // namespace

SourceDirectories::SourceDirectories() : SourceDirectories(current_directory()) {}

std::string SourceDirectories::placed(std::string call, const std::string& path) const {
  const bool is_no_file = path.empty() || path.front() == '<';  // "<string>"
  if (is_no_file || root_.empty() || root_ == root_.root_path()) return call;
  const bool ends_text =
      std::any_of(path.begin(), path.end(), [](unsigned char c) { return c < ' '; });
  const fs::path below = (root_ / path).lexically_normal().lexically_relative(root_);
  if (ends_text || below.empty() || *below.begin() == "..") return call;
  const fs::path directory = below.parent_path();
  const bool has_source = call.find('\t') != std::string::npos;
  return call + (has_source ? "\t" : "\t\t") + (directory.empty() ? "." : directory.string());
}

}  // namespace ulpscope::writer
