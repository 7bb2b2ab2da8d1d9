#include "dump/rank_origin.hpp"

#include "dump/bytes.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::uint32_t kDeepest = 256;  // processes that created each other
constexpr std::uint32_t kLargestRank = 1 << 24;

}  // namespace

void put(ByteWriter& out, const RankOrigin& origin) {
  out.put(origin.session);
  for (const auto& declared : origin.declared) {
    out.put(std::uint32_t{declared.has_value()});
    out.put(declared.value_or(0));
  }
  out.put(origin.forking_thread);
  out.put(static_cast<std::uint32_t>(origin.path.size()));
  for (const ProcessMark& mark : origin.path) {
    out.put(mark.start_time);
    out.put(mark.pid);
  }
}

RankOrigin get_origin(ByteReader& in) {
  RankOrigin origin;
  origin.session = in.get<std::uint64_t>();
  for (auto& declared : origin.declared) {
    const bool is_set = in.get_up_to(std::uint32_t{1}) == 1;
    const auto rank = in.get_up_to(kLargestRank);
    if (is_set) declared = rank;
  }
  origin.forking_thread = in.get<std::uint32_t>();
  for (auto count = in.get_up_to(kDeepest); count > 0 && in.ok(); --count) {
    ProcessMark mark;
    mark.start_time = in.get<std::uint64_t>();
    mark.pid = in.get<std::uint32_t>();
    origin.path.push_back(mark);
  }
  return origin;
}

}  // namespace ulpscope::dump
