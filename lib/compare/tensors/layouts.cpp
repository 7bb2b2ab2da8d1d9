#include "compare/tensors/layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compare/tensors/tensor_pairs.hpp"
#include "core/glob.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::comparison {
namespace {

void check(const LayoutChange& layout) {
  std::string a = layout.reference;
  std::string b = layout.candidate;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  if (a.empty() || a != b || std::adjacent_find(a.begin(), a.end()) != a.end())
    throw Error(ErrorCode::usage,
                fmt::format("'{}' and '{}' are not the same dimensions in two orders",
                            layout.reference, layout.candidate),
                "name every dimension by one letter, as NCHW=NHWC");
}

}  // namespace

std::vector<std::size_t> same_axes(std::size_t dimensions) {
  std::vector<std::size_t> axes(dimensions);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

std::vector<std::size_t> candidate_axes(const std::vector<LayoutChange>& layouts,
                                        const std::string& path, std::size_t dimensions) {
  for (const LayoutChange& layout : layouts) {
    check(layout);
    if (layout.reference.size() != dimensions ||
        !core::glob_match_module(tensor_path(layout.tensors), path))
      continue;
    std::vector<std::size_t> axes;
    for (const char letter : layout.reference) axes.push_back(layout.candidate.find(letter));
    return axes;
  }
  return same_axes(dimensions);
}

}  // namespace ulpscope::comparison
