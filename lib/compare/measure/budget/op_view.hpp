#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/measure/budget/numbers.hpp"
#include "facts/ops.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::comparison::budget {

/// An op as the error models see it: its arguments by their names in the schema, and its results.
/// Tensors are those of the given run.
class OpView {
 public:
  OpView(const Run& run, std::uint32_t rank, const Event& event);

  /// The same op in a different run, perhaps on a different device.
  void add_other(const Event& other) { other_ = &other; }

  [[nodiscard]] const facts::Op& op() const noexcept { return op_; }
  [[nodiscard]] std::string_view name() const noexcept { return op_.plain_name(); }
  [[nodiscard]] std::string_view dtype_name() const noexcept { return dtype_name_; }

  /// The schema's name of an argument; empty beyond the last one.
  [[nodiscard]] std::string_view argument_name(std::size_t index) const noexcept {
    return index < argument_names_.size() ? argument_names_[index] : std::string_view();
  }
  /// The logical shape of an argument; empty if it is not a tensor.
  [[nodiscard]] const std::vector<std::int64_t>& shape(std::string_view argument) const;
  /// Of results.
  [[nodiscard]] double result_elements() const noexcept { return result_elements_; }
  [[nodiscard]] Dtype result_dtype() const noexcept;
  [[nodiscard]] double largest_result() const;

  // Of the numbers of an argument; 0 if it has no tensor.
  [[nodiscard]] double elements(std::string_view argument) const;
  [[nodiscard]] double largest(std::string_view argument) const;
  [[nodiscard]] double smallest(std::string_view argument) const;  ///< with its sign
  [[nodiscard]] double largest_norm(std::string_view argument,
                                    const std::vector<std::size_t>& kept) const;
  /// The size of partial sums of such slices, in any order. With `groups` dimension 1 counts as
  /// two: so many groups, and the channels of each.
  [[nodiscard]] double size_of_sum(std::string_view argument, const std::vector<std::size_t>& kept,
                                   std::int64_t groups = 0) const;
  [[nodiscard]] Normalised normalised(std::string_view argument,
                                      const std::vector<std::size_t>& kept, double eps,
                                      std::int64_t groups = 0) const;
  [[nodiscard]] bool has_tensor(std::string_view argument) const;
  [[nodiscard]] Dtype dtype(std::string_view argument) const;  ///< undefined: no tensor
  /// One that it reads is of complex numbers.
  [[nodiscard]] bool reads_complex() const;
  /// One of the runs computes it on the CPU.
  [[nodiscard]] bool on_cpu() const;
  [[nodiscard]] bool on_gpu() const;
  /// The size of the numbers of another dtype that it takes beside tensors, as arguments or as
  /// tensors without dimensions; 0 if there are none.
  [[nodiscard]] double largest_number() const;

  [[nodiscard]] std::optional<std::string> text(std::string_view argument) const;
  [[nodiscard]] double number(std::string_view argument, double otherwise) const;
  [[nodiscard]] std::int64_t integer(std::string_view argument, std::int64_t otherwise) const;
  [[nodiscard]] bool is_true(std::string_view argument) const;
  /// "[1, 2]", "2" or nothing.
  [[nodiscard]] std::vector<std::int64_t> list(std::string_view argument) const;

  /// Of a tensor; null if it has none, or the run does not hold its bytes.
  [[nodiscard]] const Numbers* numbers_in(std::string_view argument) const;

  /// True if a model needs numbers that the run does not hold.
  [[nodiscard]] bool lacks_bytes() const noexcept { return lacks_bytes_; }

  void look_at(const Slot& result);

 private:
  [[nodiscard]] std::vector<const Slot*> slots(std::string_view argument) const;
  [[nodiscard]] const Numbers* numbers(const Slot& slot) const;

  const Run& run_;
  std::uint32_t rank_;
  const Event& event_;
  const Event* other_ = nullptr;
  facts::Op op_;
  std::string_view dtype_name_;
  double result_elements_ = 0;
  const Slot* result_ = nullptr;
  std::vector<std::string_view> argument_names_;
  std::vector<Argument> arguments_;
  mutable std::map<const Slot*, std::optional<Numbers>> read_;
  mutable bool lacks_bytes_ = false;
};

}  // namespace ulpscope::comparison::budget
