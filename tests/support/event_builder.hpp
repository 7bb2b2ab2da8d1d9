#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/memory_run.hpp"
#include "tests/support/values.hpp"

namespace ulpscope::test {

class RunBuilder;

/// One event under construction. It ends with the builder's destruction: what is recorded while the
/// builder lives runs inside it.
class EventBuilder {
 public:
  EventBuilder(RunBuilder& run, std::uint32_t lane, std::size_t index);
  EventBuilder(const EventBuilder&) = delete;
  EventBuilder& operator=(const EventBuilder&) = delete;
  ~EventBuilder();

  /// Reads `tensor`.
  EventBuilder& in(const Tensor& tensor, std::string_view name = {}, std::uint32_t flags = 0);
  /// A tensor list as one argument.
  EventBuilder& in_list(const std::vector<Tensor>& tensors, std::string_view name = {});
  /// An optional tensor that was not passed.
  EventBuilder& in_none(std::string_view name = {});
  /// Takes `tensor` only to write it, or only for its shape.
  EventBuilder& given(const Tensor& tensor, std::uint32_t flag = slot_flag::overwritten);
  /// A number that travels as a tensor without dimensions.
  EventBuilder& in_number(double number, Dtype dtype = Dtype::float64);
  EventBuilder& arg(std::string_view name, double value);
  EventBuilder& arg(std::string_view name, int value);
  EventBuilder& arg(std::string_view name, bool value);
  EventBuilder& arg(std::string_view name, std::vector<std::int64_t> values);
  EventBuilder& arg(std::string_view name, std::string_view value);
  EventBuilder& device_arg(std::string_view name, std::uint8_t type);
  EventBuilder& result(double value);
  EventBuilder& returns_object();
  /// Which optimizer it is, from 1.
  EventBuilder& of_object(std::uint64_t number);
  EventBuilder& overload(std::string_view name);
  EventBuilder& flag(std::uint32_t event_flags);
  /// Where in the program it was called: "train.cpp:41 main", innermost first, a line each.
  EventBuilder& stack(std::string calls);
  /// Draws `count` numbers from the generator; 0 for an op that could have.
  EventBuilder& draws(int count);
  /// Likewise, from a generator of the program's own instead of the default one; `which` of them,
  /// from 1.
  EventBuilder& draws_from_own(int count, std::uint64_t which = 1);
  /// Runs `body` inside this event.
  EventBuilder& calls(const std::function<void()>& body);
  /// Leaves new contents in a tensor that exists. With `whole` false the memory around a value with
  /// uninitialized parts stays uninitialized.
  EventBuilder& writes(const Tensor& tensor, const Values& values, bool whole = true);
  /// The same of memory that nothing has filled, at places that its arguments choose.
  EventBuilder& fills_part(const Tensor& tensor, const Values& values);
  /// What it returns from now on is numbered from `first`.
  EventBuilder& numbered(std::uint16_t first);
  /// Returns a tensor that shares memory with an argument.
  EventBuilder& returns_view(const Tensor& view);
  /// Returns a tensor that exists already (an inner op's result, passed on).
  EventBuilder& returns(const Tensor& tensor, std::uint32_t flags = 0);
  /// Returns a new tensor.
  Tensor out(const Values& values, std::uint32_t flags = 0);
  /// Returns a new tensor with the given strides; `values` in memory order.
  Tensor out_strided(const Values& memory, std::vector<std::int64_t> sizes,
                     std::vector<std::int64_t> strides);
  /// Returns memory that nothing has written.
  Tensor out_uninitialised(const Values& garbage);

  [[nodiscard]] std::uint64_t position() const;

 private:
  friend class RunBuilder;
  [[nodiscard]] detail::StoredEvent& stored() const;
  void add_slot(Role role, std::uint16_t index, std::uint16_t element, const Tensor& tensor,
                std::uint32_t flags);
  /// Appends what `write` writes to the event's arguments.
  template <class Write>
  void store(Write write);
  template <class Write>
  EventBuilder& add_argument(std::string_view name, Write write);

  RunBuilder& run_;
  std::uint32_t lane_;
  std::size_t index_;
  std::uint16_t arguments_ = 0;
  std::uint16_t returns_ = 0;
};

}  // namespace ulpscope::test
