#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ulpscope/run.hpp"

namespace ulpscope::test {

namespace detail {

struct StoredSlot {
  Slot slot;
  Geometry geometry;
  std::string name;
};

/// An event that owns its text and slots.
struct StoredEvent {
  Event event;
  std::string op, overload, argument_names, return_names, root, module, module_type, stack;
  std::vector<StoredSlot> slots;
  std::vector<std::byte> arguments;
  std::int64_t step = kSetup;
};

struct StoredLane {
  Lane lane;
  std::vector<StoredEvent> events;
  std::vector<std::size_t> open;  ///< indices of events that have not ended
};

}  // namespace detail

/// A run held in memory.
class MemoryRun : public Run {
 public:
  MemoryRun();
  ~MemoryRun() override;

  RunInfo details;
  std::uint32_t rank = 0;
  std::vector<detail::StoredLane> stored;
  std::vector<EnvironmentEntry> settings;
  std::map<Digest, std::vector<std::byte>> contents;
  std::size_t block_events = ~std::size_t{0};

  [[nodiscard]] const RunInfo& info() const override { return details; }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const override;
  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t rank) const override;
  [[nodiscard]] std::vector<EnvironmentEntry> environment(std::uint32_t rank) const override;
  [[nodiscard]] std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const override;
  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;
  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t rank,
                                                              const Digest& digest) const override;

 private:
  using Range = std::pair<std::size_t, std::size_t>;
  [[nodiscard]] const std::vector<Range>& ranges(std::uint32_t lane) const;

  mutable std::map<std::uint32_t, std::vector<Range>> ranges_;
};

}  // namespace ulpscope::test
