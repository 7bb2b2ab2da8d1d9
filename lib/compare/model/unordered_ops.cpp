#include "compare/model/unordered_ops.hpp"

#include "compare/model/device.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison {

std::string_view why_unordered(const Event& event) {
  using namespace facts;
  if (event.flags & event_flag::deterministic) return {};
  if (event.flags & event_flag::not_deterministic) return "LibTorch says so itself";
  const Op op(event.op);
  if (runs_on_gpu(event)) return op.has(fact::unordered_on_gpu) ? "it adds in no fixed order" : "";
  return event.threads > 1 && op.has(fact::unordered_on_threads)
             ? "its threads write in no fixed order"
             : "";
}

}  // namespace ulpscope::comparison
