#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace ulpscope::cli {

/// Indices of [0, count), ascending.
using IndexSet = std::vector<std::size_t>;

/// A smallest set for which `fails` holds: without any one of its members it does not. All of them
/// together must fail, and the empty set must not. Delta debugging: A. Zeller and R. Hildebrandt,
/// "Simplifying and isolating failure-inducing input", IEEE Transactions on Software Engineering
/// 28(2), 2002, algorithm ddmin.
[[nodiscard]] IndexSet smallest_failing_set(std::size_t count,
                                            const std::function<bool(const IndexSet&)>& fails);

}  // namespace ulpscope::cli
