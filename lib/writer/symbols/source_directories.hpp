#pragma once

#include <filesystem>
#include <string>
#include <utility>

namespace ulpscope::writer {

/// Where source files are, seen from the directory in which a recording was started. Nothing is
/// said of what is outside of it: a dump may be mailed.
class SourceDirectories {
 public:
  /// The one that this process is in; a writer that has left it is in "/", which says nothing.
  SourceDirectories();
  explicit SourceDirectories(std::filesystem::path root) : root_(std::move(root)) {}

  /// The text of a call, followed by the directory of its file: "net.cpp:41 main()\t\tsrc", or "."
  /// for the root itself. As it is if the file is elsewhere, or has characters that end a text.
  /// `path` is absolute, or relative to the root.
  [[nodiscard]] std::string placed(std::string call, const std::string& path) const;

 private:
  std::filesystem::path root_;
};

}  // namespace ulpscope::writer
