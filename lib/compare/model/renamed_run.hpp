#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/forwarded_run.hpp"
#include "ulpscope/compare.hpp"

namespace ulpscope::comparison {

/// A candidate as it would be with the reference's names of modules.
class RenamedRun : public ForwardedRun {
 public:
  /// Both must outlive it. @throws Error with ErrorCode::usage if a rename is not possible.
  RenamedRun(const Run& run, const std::vector<ModuleRename>& renames);

  /// Renames that have fitted nothing so far.
  [[nodiscard]] std::vector<const ModuleRename*> unused() const;

  /// For each rename whether it has fitted so far, and what other processes say of that.
  [[nodiscard]] const std::vector<bool>& used() const noexcept { return used_; }
  void add_used(const std::vector<bool>& used);

  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;

 private:
  /// The name of a module, or of a tensor in it; valid as long as the run.
  [[nodiscard]] std::string_view renamed(std::string_view name) const;

  const std::vector<ModuleRename>& renames_;
  mutable std::vector<bool> used_;
  mutable std::unordered_map<std::string, std::string> names_;
};

/// `path` with the part that `from` matches, from its beginning up to a dot or its end, replaced by
/// `to`; empty if it does not match.
[[nodiscard]] std::optional<std::string> rename(std::string_view path, std::string_view from,
                                                std::string_view to);

}  // namespace ulpscope::comparison
