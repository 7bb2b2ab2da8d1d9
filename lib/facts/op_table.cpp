#include "facts/op_table.hpp"

#include <algorithm>
#include <array>

namespace ulpscope::facts {
namespace {

constexpr auto kRows = [] {
  using enum ErrorModel;
  using namespace fact;
  auto rows = std::to_array<Row>({
#include "facts/ops.def"
  });
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.name() < b.name(); });
  return rows;
}();

static_assert(std::adjacent_find(kRows.begin(), kRows.end(),
                                 [](const Row& a, const Row& b) { return a.name() == b.name(); }) ==
                  kRows.end(),
              "one row an op");

}  // namespace

std::span<const Row> op_table() noexcept { return kRows; }

}  // namespace ulpscope::facts
