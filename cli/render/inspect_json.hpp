#pragma once

#include <ostream>
#include <string>

#include "cli/render/json_values.hpp"
#include "cli/render/recorded_modules.hpp"
#include "ulpscope/run.hpp"

/// What `inspect --format json` prints: a document with one of several lists.
namespace ulpscope::cli {

enum class Listed : std::uint8_t { lanes, steps, settings, modules, checks, events, values };

/// A document about a run in which all lists but one are null.
[[nodiscard]] Json inspect_json(const Run& run, Listed listed, Json list);

/// Prints a document whose list may be longer than memory holds: item by item, byte for byte as
/// text_of() would. Nothing is printed before the first item.
class InspectStream {
 public:
  InspectStream(const Run& run, Listed listed, std::ostream& out);

  void add(const Json& item);
  /// @pre there was an item.
  void finish();

 private:
  std::string head_;  ///< up to the list's "["
  std::string tail_;  ///< from its "]" on
  std::ostream& out_;
  bool begun_ = false;
};

[[nodiscard]] Json lanes_json(const Run& run);
[[nodiscard]] Json steps_json(const Run& run);
[[nodiscard]] Json settings_json(const Run& run);
[[nodiscard]] Json checks_json(const Run& run);
/// Modules with the numbers of their calls, or with all calls.
enum class Calls : bool { counted, listed };
[[nodiscard]] Json modules_json(const std::vector<RecordedModule>& modules, Calls calls);

}  // namespace ulpscope::cli
