#include "capture/filter.hpp"

#include <algorithm>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "capture/memory.hpp"
#include "capture/module_names.hpp"
#include "capture/recorder.hpp"
#include "capture/step_window.hpp"
#include "core/glob.hpp"

namespace ulpscope::capture {
namespace {

using Text = std::pmr::string;
using Globs = std::pmr::vector<Text>;

Globs globs_of(std::string_view lines) {
  Globs globs(&process_memory());
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    if (!line.empty()) globs.emplace_back(line);
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
  return globs;
}

struct Filter {
  Globs modules = globs_of(settings().modules.view());
  Globs ops = globs_of(settings().ops.view());
  Globs ignore = globs_of(settings().ignore.view());
  Globs full_ops = globs_of(settings().full_ops.view());
};

Filter& filter() {
  static Filter& instance = immortal<Filter>();
  return instance;
}

bool fits_op(const Globs& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const Text& glob) { return core::glob_match_op(glob, name); });
}

bool fits_module(const Globs& globs, std::string_view path) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const Text& glob) { return core::glob_match_module(glob, path); });
}

enum Answer : std::uint8_t { unknown, wanted, unwanted };

template <class Decide>
bool remembered(std::pmr::vector<std::uint8_t>& answers, std::uint32_t number, Decide&& decide) {
  if (answers.size() <= number) answers.resize(number + 1, unknown);
  if (answers[number] == unknown) answers[number] = decide() ? wanted : unwanted;
  return answers[number] == wanted;
}

}  // namespace

namespace detail {
bool any_filter = false;
bool any_full_op_filter = false;
}  // namespace detail

void begin_filter() {
  filter() = Filter();
  detail::any_filter =
      !filter().modules.empty() || !filter().ops.empty() || !filter().ignore.empty();
  detail::any_full_op_filter = !filter().full_ops.empty();
}

bool is_full_op(Thread& thread, const OpInfo& info) {
  return remembered(thread.full_ops, info.index,
                    [&] { return fits_op(filter().full_ops, info.name); });
}

bool keeps_bytes(const Thread& thread) noexcept {
  return settings().level == ring::Level::full && in_full_steps() &&
         (thread.in_full_op || !detail::any_full_op_filter);
}

bool wants_op(Thread& thread, const OpInfo& info) {
  return remembered(thread.wanted_ops, info.index, [&] {
    const std::string_view name = info.name;
    return !fits_op(filter().ignore, name) &&
           (filter().ops.empty() || info.kind != EventKind::op || fits_op(filter().ops, name));
  });
}

bool wants_module(Thread& thread, std::uint32_t module) {
  return remembered(thread.wanted_modules, module, [&] {
    if (module == 0) return filter().modules.empty();
    const std::string_view path = name_of(module_name(module).path);
    return !fits_module(filter().ignore, path) &&
           (filter().modules.empty() || fits_module(filter().modules, path));
  });
}

}  // namespace ulpscope::capture
