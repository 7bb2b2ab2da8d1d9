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

Layouts::Layouts(const std::vector<LayoutChange>& changes) {
  for (const LayoutChange& change : changes) {
    check(change);
    layouts_.push_back({change});
  }
}

std::vector<std::size_t> Layouts::candidate_axes(const std::string& path, std::size_t dimensions) {
  for (auto& [change, used] : layouts_) {
    if (change.reference.size() != dimensions ||
        !core::glob_match_module(tensor_path(change.tensors), path))
      continue;
    used = true;
    std::vector<std::size_t> axes;
    for (const char letter : change.reference) axes.push_back(change.candidate.find(letter));
    return axes;
  }
  return same_axes(dimensions);
}

std::vector<std::string> Layouts::unused() const {
  std::vector<std::string> unused;
  for (const auto& [change, used] : layouts_)
    if (!used)
      unused.push_back(fmt::format("{}{}={}", change.tensors == "*" ? "" : change.tensors + ":",
                                   change.reference, change.candidate));
  return unused;
}

}  // namespace ulpscope::comparison
