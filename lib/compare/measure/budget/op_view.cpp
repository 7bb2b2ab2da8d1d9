#include "compare/measure/budget/op_view.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compare/model/value_match.hpp"
#include "compare/model/words.hpp"

namespace ulpscope::comparison::budget {
namespace {

[[nodiscard]] std::vector<std::string_view> split_names(std::string_view joined) {
  std::vector<std::string_view> names;
  while (!joined.empty()) {
    const std::size_t comma = std::min(joined.find(','), joined.size());
    names.push_back(joined.substr(0, comma));
    joined.remove_prefix(std::min(comma + 1, joined.size()));
  }
  return names;
}

/// Numbers whose dimension 1 counts as two where there are groups.
class Grouped {
 public:
  Grouped(const Numbers& numbers, std::int64_t groups) : numbers_(&numbers) {
    if (groups > 0) numbers_ = &split_.emplace(split(numbers, 1, groups));
  }
  [[nodiscard]] const Numbers& operator*() const noexcept { return *numbers_; }

 private:
  const Numbers* numbers_;
  std::optional<Numbers> split_;
};

/// A number beside tensors of a GPU may be the CPU's.
[[nodiscard]] bool is_on_cpu(const Event* event) {
  return event != nullptr &&
         std::any_of(event->slots.begin(), event->slots.end(), [](const Slot& slot) {
           return slot.geometry != nullptr && slot.geometry->device_type == 0 &&
                  !slot.geometry->sizes.empty();
         });
}

}  // namespace

OpView::OpView(const Run& run, std::uint32_t rank, const Event& event)
    : run_(run),
      rank_(rank),
      event_(event),
      op_(event.op),
      argument_names_(split_names(event.argument_names)),
      arguments_(arguments(event)) {}

bool OpView::on_cpu() const { return is_on_cpu(&event_) || is_on_cpu(other_); }

bool OpView::on_gpu() const {
  return !is_on_cpu(&event_) || (other_ != nullptr && !is_on_cpu(other_));
}

Dtype OpView::result_dtype() const noexcept {
  return result_ == nullptr ? Dtype::undefined : result_->geometry->dtype;
}

double OpView::largest_number() const {
  double size = has_tensor("other") ? 0 : std::abs(number("other", 0));
  for (const std::string_view argument : {"self", "other"})
    for (const Slot* slot : slots(argument))
      if (slot->geometry->sizes.empty() && slot->geometry->dtype != result_dtype())
        size = std::max(size, largest(argument));
  return size;
}

void OpView::look_at(const Slot& result) {
  result_ = &result;
  dtype_name_ = ulpscope::name(result.geometry->dtype);
  result_elements_ = static_cast<double>(element_count(*result.geometry));
}

std::vector<const Slot*> OpView::slots(std::string_view argument) const {
  std::vector<const Slot*> found;
  for (const Slot& slot : event_.slots)
    if (is_read(slot) && slot.index < argument_names_.size() &&
        argument_names_[slot.index] == argument)
      found.push_back(&slot);
  return found;
}

const Numbers* OpView::numbers(const Slot& slot) const {
  const auto [at, inserted] = read_.try_emplace(&slot);
  if (inserted) at->second = numbers_of(run_, rank_, slot);
  if (!at->second) lacks_bytes_ = true;
  return at->second ? &*at->second : nullptr;
}

const Numbers* OpView::numbers_in(std::string_view argument) const {
  const auto found = slots(argument);
  return found.empty() ? nullptr : numbers(*found.front());
}

bool OpView::has_tensor(std::string_view argument) const { return !slots(argument).empty(); }

Dtype OpView::dtype(std::string_view argument) const {
  const auto found = slots(argument);
  return found.empty() ? Dtype::undefined : found.front()->geometry->dtype;
}

bool OpView::reads_complex() const {
  return std::any_of(event_.slots.begin(), event_.slots.end(), [](const Slot& slot) {
    return is_read(slot) && is_complex(slot.geometry->dtype);
  });
}

const std::vector<std::int64_t>& OpView::shape(std::string_view argument) const {
  static const std::vector<std::int64_t> kNoShape;
  const auto found = slots(argument);
  return found.empty() ? kNoShape : found.front()->geometry->sizes;
}

double OpView::elements(std::string_view argument) const {
  double count = 0;
  for (const Slot* slot : slots(argument))
    count += static_cast<double>(element_count(*slot->geometry));
  return count;
}

double OpView::largest(std::string_view argument) const {
  double result = 0;
  for (const Slot* slot : slots(argument))
    if (const Numbers* known = numbers(*slot)) result = std::max(result, budget::largest(*known));
  return result;
}

double OpView::smallest(std::string_view argument) const {
  const auto found = slots(argument);
  const Numbers* known = found.empty() ? nullptr : numbers(*found.front());
  if (known == nullptr || known->values.empty()) return 0;
  return *std::min_element(known->values.begin(), known->values.end());
}

double OpView::largest_result() const {
  const Numbers* known = result_ == nullptr ? nullptr : numbers(*result_);
  return known == nullptr ? 0 : budget::largest(*known);
}

double OpView::largest_norm(std::string_view argument, const std::vector<std::size_t>& kept) const {
  double result = 0;
  for (const Slot* slot : slots(argument))
    if (const Numbers* known = numbers(*slot))
      result = std::max(result, budget::largest_norm(*known, kept));
  return result;
}

double OpView::size_of_sum(std::string_view argument, const std::vector<std::size_t>& kept,
                           std::int64_t groups) const {
  double size = 0;
  for (const Slot* slot : slots(argument)) {
    const Numbers* const known = numbers(*slot);
    if (known == nullptr) continue;
    const Grouped grouped(*known, groups);
    size = std::max(size,
                    std::hypot(largest_run(*grouped, kept), budget::largest_norm(*grouped, kept)));
  }
  return size;
}

Normalised OpView::normalised(std::string_view argument, const std::vector<std::size_t>& kept,
                              double eps, std::int64_t groups) const {
  const auto found = slots(argument);
  const Numbers* known = found.empty() ? nullptr : numbers(*found.front());
  return known == nullptr ? Normalised{} : budget::normalised(*Grouped(*known, groups), kept, eps);
}

std::optional<std::string> OpView::text(std::string_view argument) const {
  for (const Argument& known : arguments_)
    if (!known.result && known.name == argument) return known.text;
  return std::nullopt;
}

double OpView::number(std::string_view argument, double otherwise) const {
  return number_in(text(argument).value_or("")).value_or(otherwise);
}

std::int64_t OpView::integer(std::string_view argument, std::int64_t otherwise) const {
  const double value = number(argument, static_cast<double>(otherwise));
  constexpr double kMost = 1LL << 53;
  return std::abs(value) <= kMost ? static_cast<std::int64_t>(value) : otherwise;
}

bool OpView::is_true(std::string_view argument) const {
  const std::string known = text(argument).value_or("");
  return known == "True" || known == "true" || known == "1";
}

std::vector<std::int64_t> OpView::list(std::string_view argument) const {
  const std::string known = text(argument).value_or("");
  std::vector<std::int64_t> result;
  const char* at = known.data();
  const char* const end = at + known.size();
  while (at < end) {
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error == std::errc{}) result.push_back(value);
    at = error == std::errc{} ? rest : at + 1;
  }
  return result;
}

}  // namespace ulpscope::comparison::budget
