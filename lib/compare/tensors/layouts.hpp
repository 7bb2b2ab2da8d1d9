#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ulpscope/compare_tensors.hpp"

namespace ulpscope::comparison {

/// Which order the dimensions of tensors are in, and which of the changes asked for fit one.
class Layouts {
 public:
  /// @throws Error with ErrorCode::usage if a layout's letters are not the same, each once.
  explicit Layouts(const std::vector<LayoutChange>& changes);

  /// Of the reference's tensor at `path`, the candidate's dimensions in the reference's order: of
  /// dimension d, its number in the candidate. As they are, if no layout fits.
  [[nodiscard]] std::vector<std::size_t> candidate_axes(const std::string& path,
                                                        std::size_t dimensions);
  /// Those that fitted nothing, as they are asked for: "conv*:OIHW=HWIO".
  [[nodiscard]] std::vector<std::string> unused() const;

 private:
  struct Layout {
    LayoutChange change;
    bool used = false;
  };
  std::vector<Layout> layouts_;
};

/// The dimensions as they are.
[[nodiscard]] std::vector<std::size_t> same_axes(std::size_t dimensions);

}  // namespace ulpscope::comparison
