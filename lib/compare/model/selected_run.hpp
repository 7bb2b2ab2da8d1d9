#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/model/side.hpp"
#include "core/forwarded_run.hpp"

namespace ulpscope::comparison {

/// The events that a recording was asked for, as patterns of core/glob.hpp. No `modules` or `ops`
/// select all of them.
class Selection {
 public:
  std::vector<std::string> modules;
  std::vector<std::string> ops;
  std::vector<std::string> ignore;

  [[nodiscard]] bool operator==(const Selection&) const = default;
  [[nodiscard]] bool wants(const Event& event) const;
  /// A slot of an event of kind `parameters`.
  [[nodiscard]] bool wants(const Slot& parameter) const;

 private:
  [[nodiscard]] bool wants_module(std::string_view path) const;
};

[[nodiscard]] Selection selection_of(const Run& run, std::uint32_t rank);

/// The option and its patterns that one recording alone was made with: "--ops aten::mm"; empty
/// where it selects nothing that the other does not.
[[nodiscard]] std::string selected_alone(const Selection& selection, const Selection& other);

/// A run as it would be if its ranks had been recorded with a selection. What ran inside an event
/// that is left out is inside the event around that one, and what it wrote was written by it.
class SelectedRun : public ForwardedRun {
 public:
  using Selections = std::map<std::uint32_t, Selection>;  ///< by rank

  /// Reads all events of a lane when one of its rank is first requested. `run` must outlive it.
  SelectedRun(const Run& run, Selections selections);

  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override;

 private:
  /// Events that are left out, by position, and the event around each that is not, or kNone.
  using LeftOut = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

  [[nodiscard]] LeftOut read_left_out(std::uint32_t rank, std::uint32_t lane) const;
  [[nodiscard]] const LeftOut& left_out(std::uint32_t rank, std::uint32_t lane) const;
  [[nodiscard]] std::uint64_t shown(std::uint32_t rank, std::uint32_t lane,
                                    std::uint64_t position) const;

  Selections selections_;
  mutable std::mutex mutex_;  ///< of left_out_
  mutable std::map<std::pair<std::uint32_t, std::uint32_t>, LeftOut> left_out_;
};

/// For each run the selections of the other one, by rank; of ranks with the same selection nothing.
[[nodiscard]] Both<SelectedRun::Selections> selections_of_partners(
    const Both<const Run*>& runs, const std::vector<Both<std::uint32_t>>& ranks);

}  // namespace ulpscope::comparison
