#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tensors/source.hpp"

struct zip;

namespace ulpscope::tensors {

struct ZipMember {
  std::string name;
  std::uint64_t index = 0;
  std::uint64_t bytes = 0;  ///< unpacked, as the archive claims
  bool stored = false;      ///< not compressed
};

/// A zip archive, by libzip. Names are only names: nothing is unpacked to the file system.
class ZipArchive {
 public:
  /// @throws Error with ErrorCode::corrupt if it is damaged, if a name comes twice, or if a member
  /// is encrypted.
  explicit ZipArchive(std::filesystem::path path);
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;
  ~ZipArchive();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const std::vector<ZipMember>& members() const noexcept { return members_; }
  [[nodiscard]] const ZipMember* find(std::string_view name) const;
  [[nodiscard]] ::zip* handle() const noexcept { return archive_; }

 private:
  void list();

  std::filesystem::path path_;
  ::zip* archive_ = nullptr;
  std::vector<ZipMember> members_;  ///< in the archive's order
};

/// The content of a member. A member that unpacks to another size is found when it is read.
[[nodiscard]] std::shared_ptr<const Source> member_of(std::shared_ptr<const ZipArchive> archive,
                                                      const ZipMember& member);

}  // namespace ulpscope::tensors
