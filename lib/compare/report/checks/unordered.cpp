#include "compare/report/checks/unordered.hpp"

#include <fmt/format.h>

#include "compare/model/unordered_ops.hpp"
#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {

void UnorderedCollector::see(const Lane& /*lane*/, const Block& block) {
  for (const Event& event : block.events) {
    if (event.kind != EventKind::op) continue;
    const std::string_view why = why_unordered(event);
    if (why.empty()) continue;
    Calls& calls = ops_[std::string(event.op)];
    if (calls.count++ == 0) {
      calls.first = fmt::format("event {} ({})", event.position, step_words(block.step));
      calls.why = why;
    }
  }
}

Check UnorderedCollector::check() const {
  Check check{
      "ops", Check::Result::ok, "no op is known to give different results from equal inputs", {}};
  if (ops_.empty()) return check;
  check.result = Check::Result::look;
  check.text =
      "ops that may give different results from equal inputs outside of deterministic mode";
  for (const auto& [op, calls] : ops_)
    check.details.push_back(fmt::format("{}: {}, the first at {}: {}", op,
                                        core::counted(calls.count, "call"), calls.first,
                                        calls.why));
  return check;
}

}  // namespace ulpscope::comparison
