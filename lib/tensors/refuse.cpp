#include "tensors/refuse.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "ulpscope/error.hpp"

namespace ulpscope::tensors {

void damaged(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorCode::corrupt, fmt::format("'{}' is damaged: {}", file.string(), what),
              "write the file again with the program that made it");
}

void unsupported(const std::filesystem::path& file, const std::string& what, std::string hint) {
  throw Error(ErrorCode::version, fmt::format("'{}' cannot be read: {}", file.string(), what),
              std::move(hint));
}

void not_readable(const std::filesystem::path& file) {
  throw Error(ErrorCode::io, fmt::format("'{}' could not be read: {}", file.string(),
                                         std::generic_category().message(errno)));
}

}  // namespace ulpscope::tensors
