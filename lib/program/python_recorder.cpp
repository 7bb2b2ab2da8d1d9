/// A Recorder for `ulpscope.record()` of the Python package, by ctypes: plain functions of plain
/// types. None throws.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "preload/capture_library.h"
#include "ulpscope/error.hpp"
#include "ulpscope/ulpscope.hpp"

#define ULPSCOPE_FOR_PYTHON extern "C" __attribute__((visibility("default")))

namespace ulpscope::program {
namespace {

using Take = void (*)(RecorderOptions& options, std::string_view value);

[[noreturn]] void refuse(std::string_view value, std::string_view known) {
  throw Error(ErrorCode::usage, "'" + std::string(value) + "' is none of " + std::string(known));
}

template <class Number>
Number number_in(std::string_view value) {
  Number number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size())
    throw Error(ErrorCode::usage, "'" + std::string(value) + "' is no number");
  return number;
}

void take_level(RecorderOptions& options, std::string_view value) {
  constexpr std::array kLevels{std::pair(std::string_view("digest"), Level::digest),
                               std::pair(std::string_view("stats"), Level::stats),
                               std::pair(std::string_view("full"), Level::full)};
  const auto* const found = std::find_if(kLevels.begin(), kLevels.end(),
                                         [&](const auto& level) { return level.first == value; });
  if (found == kLevels.end()) refuse(value, "digest, stats, full");
  options.level = found->second;
}

void take_capture(RecorderOptions& options, std::string_view value) {
  if (value != "ops" && value != "layers") refuse(value, "ops, layers");
  options.capture = value == "ops" ? Capture::ops : Capture::layers;
}

void take_verify(RecorderOptions& options, std::string_view value) {
  if (value != "full" && value != "off") refuse(value, "full, off");
  options.verify = value == "full" ? Verify::full : Verify::off;
}

constexpr std::array<std::pair<std::string_view, Take>, 13> kOptions{{
    {"level", take_level},
    {"capture", take_capture},
    {"verify", take_verify},
    {"steps", [](RecorderOptions& to, std::string_view value) { to.steps = value; }},
    {"modules",
     [](RecorderOptions& to, std::string_view value) { to.modules.emplace_back(value); }},
    {"ops", [](RecorderOptions& to, std::string_view value) { to.ops.emplace_back(value); }},
    {"ignore", [](RecorderOptions& to, std::string_view value) { to.ignore.emplace_back(value); }},
    {"redact", [](RecorderOptions& to, std::string_view value) { to.redact.emplace_back(value); }},
    {"stacks", [](RecorderOptions& to, std::string_view) { to.stacks = true; }},
    {"kernels", [](RecorderOptions& to, std::string_view) { to.kernels = true; }},
    {"force", [](RecorderOptions& to, std::string_view) { to.force = true; }},
    {"max_bytes", [](RecorderOptions& to,
                     std::string_view value) { to.max_bytes = number_in<std::uint64_t>(value); }},
    {"keep_last", [](RecorderOptions& to,
                     std::string_view value) { to.keep_last = number_in<std::uint32_t>(value); }},
}};

/// @param options "NAME=VALUE"; several of a list.
RecorderOptions options_of(std::span<const char* const> options) {
  RecorderOptions result;
  for (const std::string_view option : options) {
    const std::size_t name_size = std::min(option.find('='), option.size());
    const std::string_view name = option.substr(0, name_size);
    const auto* const known = std::find_if(kOptions.begin(), kOptions.end(),
                                           [&](const auto& one) { return one.first == name; });
    if (known == kOptions.end() || name_size == option.size())
      throw Error(ErrorCode::usage, "there is no option '" + std::string(option) + "'");
    known->second(result, option.substr(name_size + 1));
  }
  return result;
}

}  // namespace
}  // namespace ulpscope::program

/// Begins to record this process. @return null if that is not possible, with the reason in
/// `message`, which has `room` bytes.
ULPSCOPE_FOR_PYTHON ulpscope::Recorder* ulpscope_recorder_begin(const char* directory,
                                                                const char* const* options,
                                                                std::size_t count, char* message,
                                                                std::size_t room) {
  try {
    return new ulpscope::Recorder(directory, ulpscope::program::options_of({options, count}));
  } catch (const std::exception& error) {
    std::strncpy(message, error.what(), room - 1);
    message[room - 1] = '\0';
    return nullptr;
  }
}

/// The folder of the dump, valid until the end.
ULPSCOPE_FOR_PYTHON const char* ulpscope_recorder_directory(const ulpscope::Recorder* recorder) {
  return recorder->directory().c_str();
}

/// The handle of the capture library that records.
ULPSCOPE_FOR_PYTHON void* ulpscope_recorder_library() { return ulpscope_mapped_capture(); }

/// Returns when the dump is complete. To be called without the interpreter's lock.
ULPSCOPE_FOR_PYTHON void ulpscope_recorder_end(ulpscope::Recorder* recorder) { delete recorder; }
