#include "cli/replay/export_program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/replay/reproduce_source.hpp"
#include "compare/measure/recorded_call.hpp"
#include "compare/model/lane_reader.hpp"
#include "core/argument_codec.hpp"
#include "core/field_reader.hpp"
#include "dump/value_file.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;
using Sizes = std::vector<std::int64_t>;

constexpr std::size_t kMostVariants = 8;
constexpr std::string_view kMark = "// @CALL@\n";

/// A string literal.
std::string string_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\')
      literal += {'\\', letter};
    else if (static_cast<unsigned char>(letter) < ' ' || letter == '?')
      literal += fmt::format("\\{:03o}", static_cast<unsigned char>(letter));
    else
      literal += letter;
  }
  return literal + '"';
}

std::string integer_literal(std::int64_t value) {
  // The smallest number has no literal of its own.
  return value == std::numeric_limits<std::int64_t>::min()
             ? "std::numeric_limits<std::int64_t>::min()"
             : fmt::format("std::int64_t{{{}}}", value);
}

std::string number_literal(double value) {
  if (std::isnan(value)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value))
    return fmt::format("{}std::numeric_limits<double>::infinity()", value < 0 ? "-" : "");
  return fmt::format("{:a}", value);
}

std::string bool_literal(bool value) { return value ? "true" : "false"; }

template <class Read>
std::string list_literal(FieldReader& reader, std::size_t smallest, std::string_view type,
                         Read&& read) {
  const auto count = reader.read<std::uint32_t>();
  std::vector<std::string> elements;
  if (reader.has(count, smallest))
    for (std::uint32_t k = 0; k < count; ++k) elements.push_back(read());
  return fmt::format("c10::List<{}>({{{}}})", type, fmt::join(elements, ", "));
}

/// A GPU is that of the variant, which may be the CPU.
std::string device_literal(FieldReader& reader) {
  constexpr std::uint8_t kCpu = 0;  // c10::DeviceType
  const auto type = reader.read<std::uint8_t>();
  reader.read<std::int8_t>();
  return type == kCpu ? "c10::Device(c10::kCPU)" : "gpu";
}

/// A recorded argument as LibTorch takes it.
std::string argument_literal(ArgumentTag tag, FieldReader& reader) {
  switch (tag) {
    case ArgumentTag::none:
      return "c10::IValue()";
    case ArgumentTag::int_:
      return integer_literal(reader.read<std::int64_t>());
    case ArgumentTag::double_:
      return number_literal(reader.read<double>());
    case ArgumentTag::bool_:
      return bool_literal(reader.read<std::uint8_t>() != 0);
    case ArgumentTag::complex_: {
      const std::string real = number_literal(reader.read<double>());
      return fmt::format("c10::complex<double>({}, {})", real,
                         number_literal(reader.read<double>()));
    }
    case ArgumentTag::string:
      return fmt::format("std::string({})", string_literal(reader.read_string()));
    case ArgumentTag::dtype:
    case ArgumentTag::layout:
    case ArgumentTag::memory_format:
      return integer_literal(reader.read<std::uint8_t>());
    case ArgumentTag::device:
      return device_literal(reader);
    case ArgumentTag::int_list:
      return list_literal(reader, sizeof(std::int64_t), "std::int64_t",
                          [&] { return integer_literal(reader.read<std::int64_t>()); });
    case ArgumentTag::double_list:
      return list_literal(reader, sizeof(double), "double",
                          [&] { return number_literal(reader.read<double>()); });
    case ArgumentTag::bool_list:
      return list_literal(reader, 1, "bool",
                          [&] { return bool_literal(reader.read<std::uint8_t>() != 0); });
    case ArgumentTag::string_list:
      return list_literal(reader, sizeof(std::uint32_t), "std::string",
                          [&] { return string_literal(reader.read_string()); });
    case ArgumentTag::generator:  // the default one, which has its state
      reader.read<std::uint16_t>();
      return "c10::IValue()";
    case ArgumentTag::opaque:
    case ArgumentTag::long_list:
      break;
  }
  throw Error(ErrorCode::usage, "an argument of the op cannot be written as C++");
}

std::string arguments_text(const ReplayRequest& request) {
  std::string text =
      "std::map<std::size_t, c10::IValue> arguments([[maybe_unused]] c10::Device gpu) {\n  return "
      "{\n";
  FieldReader reader(request.arguments);
  while (!reader.at_end()) {
    const auto place = reader.read<std::uint16_t>();
    const auto tag = static_cast<ArgumentTag>(reader.read<std::uint8_t>());
    if (place & kArgumentResult) break;  // results follow arguments
    text += fmt::format("      {{{}, {}}},\n", place, argument_literal(tag, reader));
    if (!reader.good()) throw Error(ErrorCode::corrupt, "The arguments of the op are damaged.");
  }
  return text + "  };\n}\n";
}

std::string dataset_of(const ReplayTensor& input) {
  return fmt::format("input.{}.{}", input.index, input.element);
}

std::string inputs_text(const ReplayRequest& request) {
  std::string text = "const std::vector<Input> kInputs = {\n";
  for (const ReplayTensor& input : request.inputs) {
    const std::string dataset = !input.defined        ? "nullptr"
                                : input.bytes.empty() ? "\"\""
                                                      : string_literal(dataset_of(input));
    text +=
        fmt::format("    {{{}, {}, {}, static_cast<at::ScalarType>({}), {{{}}}, {}, {}, {}}},\n",
                    input.index, input.element, dataset,
                    input.defined ? static_cast<int>(input.dtype) : 6, fmt::join(input.sizes, ", "),
                    input.requires_grad, input.wrapped_number, input.gpu != ReplayTensor::kOnCpu);
  }
  return text + "};\n";
}

std::string results_text(const std::vector<const Slot*>& results) {
  std::string text = "const std::vector<Result> kResults = {\n";
  for (const Slot* slot : results) {
    std::uint64_t elements = 1;
    for (const std::int64_t size : slot->geometry->sizes)
      elements *= static_cast<std::uint64_t>(size);
    text += fmt::format("    {{{}, {}, {}, {}, {}}},\n", slot->role == Role::mutated, slot->index,
                        slot->element, element_size(slot->geometry->dtype), elements);
  }
  return text + "};\n";
}

Sizes strides_in_order(const Sizes& sizes, const std::vector<std::size_t>& order) {
  Sizes strides(sizes.size());
  std::int64_t step = 1;
  for (const std::size_t dimension : order) {
    strides[dimension] = step;
    step *= sizes[dimension];
  }
  return strides;
}

/// How an input lies in memory under given conditions.
std::string layout_text(const ReplayTensor& input, const ReplayConditions& conditions) {
  if (!input.defined) return "{{}, 0}";
  std::vector<std::size_t> order;  // from the innermost dimension on
  for (std::size_t d = input.sizes.size(); d-- > 0;) order.push_back(d);
  const bool channels_last = conditions.layout == TensorLayout::channels_last &&
                             (input.sizes.size() == 4 || input.sizes.size() == 5);
  if (channels_last) {
    order.pop_back();
    order.pop_back();
    order.insert(order.begin(), 1);
    order.push_back(0);
  }
  if (channels_last || conditions.layout == TensorLayout::contiguous)
    return fmt::format("{{{{{}}}, 0}}", fmt::join(strides_in_order(input.sizes, order), ", "));
  return fmt::format("{{{{{}}}, {}}}", fmt::join(input.memory_strides, ", "),
                     conditions.alignment.value_or(input.alignment));
}

/// Variables of a start that have a value there or in the base.
std::string environment_text(const ReplayStart& start, const ReplayStart& base) {
  std::vector<std::string> pairs;
  const auto last = [](const ReplayStart& of, const std::string& name) {
    std::optional<std::string> value;
    for (const ReplayStart::Variable& one : of.environment)
      if (one.name == name) value = one.value;
    return value;
  };
  std::vector<std::string> done;
  for (const ReplayStart::Variable& one : start.environment) {
    if (std::find(done.begin(), done.end(), one.name) != done.end()) continue;
    done.push_back(one.name);
    const auto value = last(start, one.name);
    if (!value && !last(base, one.name)) continue;
    pairs.push_back(fmt::format("{{{}, {}}}", string_literal(one.name),
                                value ? string_literal(*value) : "nullptr"));
  }
  return fmt::format("{{{}}}", fmt::join(pairs, ", "));
}

std::string variant_text(const ReplayVariant& variant, const ReplayRequest& request,
                         const ReplayStart& base) {
  const ReplayConditions& conditions = variant.conditions;
  std::vector<std::string> layouts;
  for (std::size_t k = 0; k < request.inputs.size(); ++k)
    layouts.push_back(
        layout_text(k < variant.inputs.size() ? variant.inputs[k] : request.inputs[k], conditions));
  std::vector<std::string> precisions;
  for (const std::string& precision : conditions.mkldnn_precision)
    precisions.push_back(string_literal(precision));
  return fmt::format(
      "    {{{}, {}, {}, {}, {}, {}, {}, {{{}}}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},\n     "
      "{{{}}}}},\n",
      string_literal(variant.words), environment_text(variant.start, base),
      std::max(conditions.threads, 1), conditions.deterministic, conditions.fill_uninitialized,
      conditions.mkldnn, string_literal(conditions.matmul_precision), fmt::join(precisions, ", "),
      conditions.grad_mode, conditions.inference_mode, conditions.autocast,
      conditions.on_gpu == conditions.autocast_other ? "at::kBFloat16" : "at::kHalf",
      conditions.flush_denormal, conditions.on_gpu, conditions.cudnn, conditions.cudnn_benchmark,
      conditions.cudnn_deterministic, conditions.cudnn_tf32, fmt::join(layouts, ", "));
}

/// The base as it was recorded, then what gives other bits: what gives the other run's first.
std::vector<const ReplayVariant*> variants_that_matter(const ReplayReport& report) {
  std::vector<const ReplayVariant*> chosen;
  if (report.variants.empty()) return chosen;
  chosen.push_back(&report.variants.front());
  const bool has_single_factor =
      report.factor != ReplayFactor::none && report.factor != ReplayFactor::other_run;
  const auto add = [&](bool named) {
    for (const ReplayVariant& variant : report.variants) {
      const bool is_named = variant.same_as[1 - report.base].value_or(0) > 0;
      const bool is_change =
          variant.factor != ReplayFactor::none && variant.factor != ReplayFactor::rows;
      if (is_named != named || !is_change || !variant.failure.empty()) continue;
      if (variant.factor == ReplayFactor::other_run && has_single_factor) continue;
      if (variant.same_as[report.base].value_or(variant.repeats) == variant.repeats) continue;
      if (chosen.size() < kMostVariants) chosen.push_back(&variant);
    }
  };
  add(true);
  add(false);
  return chosen;
}

void write_text(const fs::path& file, std::string_view text) {
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out)
    throw Error(ErrorCode::io, fmt::format("'{}' could not be written: {}", file.string(),
                                           std::generic_category().message(errno)));
}

void write_inputs(const fs::path& file, const ReplayRequest& request) {
  dump::ValueFile out(file);
  for (const ReplayTensor& input : request.inputs) {
    if (!input.defined || input.bytes.empty()) continue;
    const ReplayTensor ordered = comparison::in_row_major_order(input);
    out.add(dataset_of(input), ordered.dtype, ordered.sizes, ordered.bytes);
  }
  if (const auto& state = request.generator; !state.empty())
    out.add("generator", Dtype::uint8, std::array{static_cast<std::int64_t>(state.size())}, state);
  out.close();
}

void make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    throw Error(ErrorCode::io,
                fmt::format("'{}' could not be made: {}", directory.string(), error.message()));
  if (!fs::is_empty(directory, error))
    throw Error(ErrorCode::usage, fmt::format("there is something in '{}'", directory.string()),
                "--export takes a new directory, or an empty one");
}

}  // namespace

void export_program(const fs::path& directory, const Run& run, const ReplayReport& report) {
  const RecordedPlace& place = report.runs.at(report.base).place;
  const auto held = comparison::find_event(run, place.rank, {place.lane, place.position});
  const comparison::RecordedCall call = comparison::recorded_call(run, place.rank, *held.event);
  const std::vector<const ReplayVariant*> variants = variants_that_matter(report);
  if (!call.failure.empty() || variants.empty())
    throw Error(ErrorCode::usage, fmt::format("nothing to export: {}", report.summary));
  std::string text = fmt::format(
      "const char* const kOp = {};\nconst char* const kOverload = {};\nconstexpr int kRepeats = "
      "{};\nconstexpr bool kDraws = {};\n\n",
      string_literal(call.request.op), string_literal(call.request.overload),
      variants.front()->repeats, !call.request.generator.empty());
  text += inputs_text(call.request) + "\n" + results_text(call.results) + "\n" +
          arguments_text(call.request) + "\nconst std::vector<Variant> kVariants = {\n";
  for (const ReplayVariant* variant : variants)
    text += variant_text(*variant, call.request, variants.front()->start);
  text += "};\n";
  std::string source = kReproduceSource;
  source.replace(source.find(kMark), kMark.size(), text);

  make_directory(directory);
  write_inputs(directory / "inputs.h5", call.request);
  write_text(directory / "reproduce.cpp",
             fmt::format("// {}: {}\n\n{}", report.op, report.summary, source));
  write_text(directory / "CMakeLists.txt", kReproduceBuild);
}

}  // namespace ulpscope::cli
