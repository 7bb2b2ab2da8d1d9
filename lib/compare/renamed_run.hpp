#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ulpscope/compare.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// A candidate as it would be with the reference's names of modules.
class RenamedRun : public Run {
 public:
  /// Both must outlive it. @throws Error with ErrorCode::usage where a rename cannot be carried
  /// out.
  RenamedRun(const Run& run, const std::vector<ModuleRename>& renames);

  /// Renames that have fitted nothing so far.
  [[nodiscard]] std::vector<const ModuleRename*> unused() const;

  /// For each rename whether it has fitted so far, and what other processes say of that.
  [[nodiscard]] const std::vector<bool>& used() const noexcept { return used_; }
  void add_used(const std::vector<bool>& used);

  [[nodiscard]] const RunInfo& info() const override { return run_.info(); }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const override { return run_.ranks(); }
  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t rank) const override {
    return run_.lanes(rank);
  }
  [[nodiscard]] std::vector<EnvironmentEntry> environment(std::uint32_t rank) const override {
    return run_.environment(rank);
  }
  [[nodiscard]] std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const override {
    return run_.block_count(rank, lane);
  }
  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;
  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t rank,
                                                              const Digest& digest) const override {
    return run_.content(rank, digest);
  }
  [[nodiscard]] std::unique_ptr<ContentReader> open_content(std::uint32_t rank,
                                                            const Digest& digest) const override {
    return run_.open_content(rank, digest);
  }
  [[nodiscard]] std::optional<std::uint64_t> content_size(std::uint32_t rank,
                                                          const Digest& digest) const override {
    return run_.content_size(rank, digest);
  }
  [[nodiscard]] std::optional<Statistics> statistics(std::uint32_t rank, const Digest& digest,
                                                     Dtype dtype) const override {
    return run_.statistics(rank, digest, dtype);
  }

 private:
  /// The name of a module, or of a tensor in it; valid as long as the run.
  [[nodiscard]] std::string_view renamed(std::string_view name) const;

  const Run& run_;
  const std::vector<ModuleRename>& renames_;
  mutable std::vector<bool> used_;
  mutable std::unordered_map<std::string, std::string> names_;
};

/// `path` with the part that `from` fits, from its beginning up to a dot or its end, as `to` has
/// it; empty where it does not fit.
[[nodiscard]] std::optional<std::string> rename(std::string_view path, std::string_view from,
                                                std::string_view to);

}  // namespace ulpscope::comparison
