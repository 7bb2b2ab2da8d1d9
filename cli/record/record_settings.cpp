#include "cli/record/record_settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "cli/options/option_values.hpp"
#include "ring/layout.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::uint64_t kEnd = ~std::uint64_t{0};

std::optional<std::uint64_t> step(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

StepRange step_range(const std::string& source, const std::string& value) {
  if (value == "setup") return {1, 0};
  const std::string_view text = value;
  const std::size_t dash = text.find('-');
  const auto first = step(text.substr(0, dash));
  const std::string_view end = dash == text.npos ? text : text.substr(dash + 1);
  const auto last = end.empty() && dash != text.npos ? kEnd : step(end);
  if (!first || !last) {
    throw Error(ErrorCode::usage, fmt::format("{} takes steps, not '{}'", source, value),
                "write 0-19, 5, 5- or setup");
  }
  if (*last < *first) {
    throw Error(ErrorCode::usage, fmt::format("{} {} ends before it begins", source, value),
                "write the smaller step first: 0-19");
  }
  return {*first, *last};
}

std::uint64_t step_count(const ring::Settings& settings) {
  if (settings.last_step == kEnd || settings.last_step < settings.first_step) return 0;
  return settings.last_step - settings.first_step + 1;
}

std::string glob(const std::string& source, const std::string& value) {
  if (value.empty() || value.find('\n') != std::string::npos) {
    const bool of_ops = source.ends_with("ops") || source.ends_with("OPS");
    throw Error(
        ErrorCode::usage,
        fmt::format("{} takes a glob{}", source, value.empty() ? ", not ''" : " on one line"),
        fmt::format("give it as {} '{}'", source, of_ops ? "aten::*norm*" : "layer1.*"));
  }
  return value;
}

void add_glob(ring::Text<512>& list, const std::string& source, const std::string& value) {
  const std::string lines = list.view().empty()
                                ? glob(source, value)
                                : fmt::format("{}\n{}", list.view(), glob(source, value));
  if (!list.fits(lines)) {
    throw Error(ErrorCode::usage, fmt::format("the globs of {} are longer than 511 bytes", source),
                "use fewer and shorter ones, with * for what differs");
  }
  list.set(lines);
}

void set_flag(ring::Settings& settings, const std::string& source, const std::string& value) {
  const std::size_t equals = value.find('=');
  const std::string name = value.substr(0, equals);
  const std::string state = equals == std::string::npos ? "" : value.substr(equals + 1);
  const bool known =
      (name == "mkldnn" || name == "deterministic") && (state == "on" || state == "off");
  if (!known) {
    throw Error(ErrorCode::usage, fmt::format("{} cannot set '{}'", source, value),
                "it takes mkldnn=on, mkldnn=off, deterministic=on and deterministic=off");
  }
  (name == "mkldnn" ? settings.mkldnn : settings.deterministic) =
      static_cast<std::int8_t>(state == "on");
}

std::uint64_t ring_bytes(const std::string& source, const std::string& value) {
  const std::uint64_t bytes = size_in_bytes(source, value);
  if (bytes < ring::kSmallestRing || bytes > ring::kLargestRing) {
    throw Error(ErrorCode::usage, fmt::format("{} is between 64K and 1G, not {}", source, value),
                "without it the size follows from the level");
  }
  return bytes;
}

std::uint32_t at_least_one(const std::string& source, const std::string& value,
                           const std::string& hint) {
  const auto number = step(value);
  if (!number || *number == 0 || *number > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorCode::usage,
                fmt::format("{} takes a whole number from 1 on, not '{}'", source, value), hint);
  }
  return static_cast<std::uint32_t>(*number);
}

std::uint64_t some_bytes(const std::string& source, const std::string& value,
                         const std::string& hint) {
  const std::uint64_t bytes = size_in_bytes(source, value);
  if (bytes == 0) {
    throw Error(ErrorCode::usage, fmt::format("{} must be more than 0", source), hint);
  }
  return bytes;
}

void refuse_contradictions(const RecordOptions& options) {
  const ring::Settings& settings = options.settings;
  const bool layers = settings.capture == ring::CaptureScope::layers;
  if (layers && !settings.ops.view().empty()) {
    throw Error(ErrorCode::usage,
                "--capture layers records no ops, so --ops cannot choose among them",
                "leave out one of the two, or choose modules with --modules");
  }
  if (layers && settings.kernels != 0) {
    throw Error(ErrorCode::usage,
                "--capture layers records no ops, so there are none to launch kernels",
                "leave out one of the two");
  }
  const bool chooses_bytes = settings.first_full_step > 0 || settings.last_full_step != kEnd ||
                             !settings.full_ops.view().empty();
  if (chooses_bytes && settings.level != ring::Level::full) {
    throw Error(ErrorCode::usage,
                "--full-steps and --full-ops choose whose bytes are kept, which only --level full "
                "does",
                "add --level full, or leave them out");
  }
  if (options.max_bytes != 0 && settings.level != ring::Level::full) {
    throw Error(ErrorCode::usage,
                "--max-bytes bounds the bytes of values, which only --level full keeps",
                "add --level full, or leave out --max-bytes");
  }
}

void refuse_partial_injection(const ring::Settings& settings) {
  const bool selects = settings.first_step > 0 || !settings.modules.view().empty() ||
                       !settings.ops.view().empty() || !settings.ignore.view().empty();
  if (!selects && settings.capture == ring::CaptureScope::ops) return;
  throw Error(ErrorCode::usage,
              "--inject finds ops by their order, so all of them from the first step on are needed",
              "leave out --capture layers, --modules, --ops and --ignore, and begin --steps at 0");
}

}  // namespace ulpscope::cli
