#include "capture/optimizer_options.hpp"

#include <torch/optim.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/saved_options.hpp"
#include "capture/thread.hpp"
#include "core/argument_writer.hpp"

namespace ulpscope::capture {
namespace {

using namespace torch::optim;
using Groups = std::vector<OptimizerParamGroup>;

/// The fields of a class of options (torch/csrc/api/include/torch/optim), in the order of `kNames`,
/// whose last is the number of parameters.
template <class Options>
struct Fields;

template <>
struct Fields<SGDOptions> {
  static constexpr std::string_view kNames = "lr,momentum,dampening,weight_decay,nesterov,params";
  static auto of(const SGDOptions& one) {
    return std::make_tuple(one.lr(), one.momentum(), one.dampening(), one.weight_decay(),
                           one.nesterov());
  }
};

template <class Options>
struct AdamFields {
  static constexpr std::string_view kNames = "lr,betas,eps,weight_decay,amsgrad,params";
  static auto of(const Options& one) {
    return std::make_tuple(one.lr(), one.betas(), one.eps(), one.weight_decay(), one.amsgrad());
  }
};
template <>
struct Fields<AdamOptions> : AdamFields<AdamOptions> {};
template <>
struct Fields<AdamWOptions> : AdamFields<AdamWOptions> {};

template <>
struct Fields<AdagradOptions> {
  static constexpr std::string_view kNames =
      "lr,lr_decay,weight_decay,initial_accumulator_value,eps,params";
  static auto of(const AdagradOptions& one) {
    return std::make_tuple(one.lr(), one.lr_decay(), one.weight_decay(),
                           one.initial_accumulator_value(), one.eps());
  }
};

template <>
struct Fields<RMSpropOptions> {
  static constexpr std::string_view kNames = "lr,alpha,eps,weight_decay,momentum,centered,params";
  static auto of(const RMSpropOptions& one) {
    return std::make_tuple(one.lr(), one.alpha(), one.eps(), one.weight_decay(), one.momentum(),
                           one.centered());
  }
};

template <>
struct Fields<LBFGSOptions> {
  static constexpr std::string_view kNames =
      "lr,max_iter,max_eval,tolerance_grad,tolerance_change,history_size,line_search_fn,params";
  static auto of(const LBFGSOptions& one) {
    return std::make_tuple(one.lr(), one.max_iter(), one.max_eval(), one.tolerance_grad(),
                           one.tolerance_change(), one.history_size(), one.line_search_fn());
  }
};

template <class Options>
constexpr std::size_t kFields =
    std::tuple_size_v<decltype(Fields<Options>::of(std::declval<const Options&>()))>;

template <class Options>
bool all_have(const Groups& groups) {
  return !groups.empty() && std::ranges::all_of(groups, [](const OptimizerParamGroup& group) {
    return group.has_options() && dynamic_cast<const Options*>(&group.options()) != nullptr;
  });
}

void write(ArgumentWriter& writer, std::uint16_t index, double value) {
  writer.number(index, value);
}
void write(ArgumentWriter& writer, std::uint16_t index, bool value) {
  writer.boolean(index, value);
}
void write(ArgumentWriter& writer, std::uint16_t index, std::int64_t value) {
  writer.integer(index, value);
}
void write(ArgumentWriter& writer, std::uint16_t index, const std::string& value) {
  writer.string(index, value);
}
void write(ArgumentWriter& writer, std::uint16_t index, const std::tuple<double, double>& value) {
  writer.double_list(
      index, 2, [&](std::size_t k) { return k == 0 ? std::get<0>(value) : std::get<1>(value); });
}
template <class Value>
void write(ArgumentWriter& writer, std::uint16_t index, const std::optional<Value>& value) {
  if (value)
    write(writer, index, *value);
  else
    writer.none(index);
}

/// One value of each group.
template <class At>
void write_list(ArgumentWriter& writer, std::uint16_t index, std::size_t count, double /*value*/,
                At at) {
  writer.double_list(index, count, at);
}
template <class At>
void write_list(ArgumentWriter& writer, std::uint16_t index, std::size_t count, bool /*value*/,
                At at) {
  writer.bool_list(index, count, at);
}
template <class At>
void write_list(ArgumentWriter& writer, std::uint16_t index, std::size_t count,
                std::int64_t /*value*/, At at) {
  writer.int_list(index, count, at);
}
template <class At>
void write_list(ArgumentWriter& writer, std::uint16_t index, std::size_t count,
                const std::tuple<double, double>& /*value*/, At at) {
  writer.double_list(index, 2 * count, [&](std::size_t k) {
    const std::tuple<double, double> pair = at(k / 2);
    return k % 2 == 0 ? std::get<0>(pair) : std::get<1>(pair);
  });
}
/// LBFGS, which alone has options that can be missing, allows no second group.
template <class Value, class At>
void write_list(ArgumentWriter& writer, std::uint16_t index, std::size_t /*count*/,
                const std::optional<Value>& value, At /*at*/) {
  write(writer, index, value);
}

template <class Options, std::size_t kField>
void write_field(ArgumentWriter& writer, const Groups& groups) {
  const auto at = [&](std::size_t k) {
    return std::get<kField>(Fields<Options>::of(static_cast<const Options&>(groups[k].options())));
  };
  const auto first = at(0);
  bool all_equal = true;
  for (std::size_t k = 1; k < groups.size(); ++k) all_equal = all_equal && at(k) == first;
  if (all_equal)
    write(writer, kField, first);
  else
    write_list(writer, kField, groups.size(), first, at);
}

/// As Python prints them, but for whole numbers.
void append(std::pmr::string& words, double value) {
  std::array<char, 32> digits{};
  words.append(digits.begin(), std::to_chars(digits.begin(), digits.end(), value).ptr);
}
void append(std::pmr::string& words, bool value) { words += value ? "True" : "False"; }
void append(std::pmr::string& words, std::int64_t value) {
  std::array<char, 24> digits{};
  words.append(digits.begin(), std::to_chars(digits.begin(), digits.end(), value).ptr);
}
void append(std::pmr::string& words, const std::string& value) { words += value; }
void append(std::pmr::string& words, const std::tuple<double, double>& value) {
  words += '[';
  append(words, std::get<0>(value));
  words += ", ";
  append(words, std::get<1>(value));
  words += ']';
}
template <class Value>
void append(std::pmr::string& words, const std::optional<Value>& value) {
  if (value)
    append(words, *value);
  else
    words += "None";
}

/// A field in a line; where groups disagree, as a list.
template <class Options, std::size_t kField>
void describe_field(const Groups& groups, std::pmr::string& words) {
  const auto at = [&](const OptimizerParamGroup& group) {
    return std::get<kField>(Fields<Options>::of(static_cast<const Options&>(group.options())));
  };
  const bool agree = std::ranges::all_of(
      groups, [&](const OptimizerParamGroup& group) { return at(group) == at(groups.front()); });
  if (!agree) words += '[';
  for (std::size_t i = 0; i < (agree ? 1 : groups.size()); ++i) {
    if (i != 0) words += ", ";
    append(words, at(groups[i]));
  }
  words += agree ? "\n" : "]\n";
}

template <class Options>
void describe_fields(const Groups& groups, std::pmr::string& words) {
  if (!all_have<Options>(groups)) return;
  [&]<std::size_t... kField>(std::index_sequence<kField...>) {
    (describe_field<Options, kField>(groups, words), ...);
  }
  (std::make_index_sequence<kFields<Options>>());
}

template <class Options>
void write_fields(ArgumentWriter& writer, const Groups& groups) {
  if (!all_have<Options>(groups)) return;
  constexpr std::size_t kCount = kFields<Options>;
  [&]<std::size_t... kField>(std::index_sequence<kField...>) {
    (write_field<Options, kField>(writer, groups), ...);
  }
  (std::make_index_sequence<kCount>());
  const auto parameters = [&](std::size_t k) {
    return static_cast<std::int64_t>(groups[k].params().size());
  };
  if (groups.size() == 1)
    write(writer, kCount, parameters(0));
  else
    write_list(writer, kCount, groups.size(), parameters(0), parameters);
}

struct Row {
  std::string_view optimizer_class;
  std::string_view names;
  void (*write)(ArgumentWriter&, const Groups&);
  void (*describe)(const Groups&, std::pmr::string& words);
};

template <class Options>
constexpr Row row(std::string_view optimizer_class) {
  return {optimizer_class, Fields<Options>::kNames, &write_fields<Options>,
          &describe_fields<Options>};
}

constexpr Row kRows[] = {
    row<SGDOptions>("SGD"),         row<AdamOptions>("Adam"),       row<AdamWOptions>("AdamW"),
    row<AdagradOptions>("Adagrad"), row<RMSpropOptions>("RMSprop"), row<LBFGSOptions>("LBFGS"),
};

const Row* find_row(std::string_view optimizer_class) noexcept {
  for (const Row& row : kRows)
    if (row.optimizer_class == optimizer_class) return &row;
  return nullptr;
}

}  // namespace

std::string_view option_names(std::string_view optimizer_class) noexcept {
  const Row* const row = find_row(optimizer_class);
  return row == nullptr ? std::string_view() : row->names;
}

void write_options(Thread& thread, std::string_view optimizer_class,
                   const torch::optim::Optimizer& optimizer) {
  const Row* const row = find_row(optimizer_class);
  if (row == nullptr || optimizer.param_groups().empty()) return;
  ArgumentWriter writer(thread.argument_scratch);
  row->write(writer, optimizer.param_groups());
  thread.arguments.insert(thread.arguments.end(), writer.bytes().begin(), writer.bytes().end());
  note_step_options(optimizer_class, optimizer, writer.bytes());
}

void describe_options(std::string_view optimizer_class, const torch::optim::Optimizer& optimizer,
                      std::pmr::string& words) {
  if (const Row* const row = find_row(optimizer_class); row != nullptr)
    row->describe(optimizer.param_groups(), words);
}

}  // namespace ulpscope::capture
