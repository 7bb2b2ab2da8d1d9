#include "capture/filter.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "capture/memory.hpp"
#include "capture/module_names.hpp"
#include "capture/recorder.hpp"

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
};

Filter& filter() {
  static Filter& instance = immortal<Filter>();
  return instance;
}

bool match(const Globs& globs, std::string_view text) {
  if (globs.empty()) return false;
  const Text terminated(text, &process_memory());
  return std::any_of(globs.begin(), globs.end(), [&](const Text& glob) {
    return fnmatch(glob.c_str(), terminated.c_str(), 0) == 0;
  });
}

/// An op goes by its full name or without its namespace.
bool match_op(const Globs& globs, std::string_view name) {
  const std::size_t scope = name.find("::");
  return match(globs, name) ||
         (scope != std::string_view::npos && match(globs, name.substr(scope + 2)));
}

bool match_module(const Globs& globs, std::string_view path) {
  if (globs.empty()) return false;
  for (;;) {
    if (match(globs, path.empty() ? "(root)" : path)) return true;
    if (path.empty()) return false;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string_view::npos) return false;
    path = path.substr(0, dot);
  }
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
}

void begin_filter() {
  filter() = Filter();
  detail::any_filter =
      !filter().modules.empty() || !filter().ops.empty() || !filter().ignore.empty();
}

bool wants_op(Thread& thread, const OpInfo& info) {
  return remembered(thread.wanted_ops, info.index, [&] {
    const std::string_view name = info.name;
    return !match_op(filter().ignore, name) &&
           (filter().ops.empty() || info.kind != EventKind::op || match_op(filter().ops, name));
  });
}

bool wants_module(Thread& thread, std::uint32_t module) {
  return remembered(thread.wanted_modules, module, [&] {
    if (module == 0) return filter().modules.empty();
    const std::string_view path = name_of(module_name(module).path);
    return !match_module(filter().ignore, path) &&
           (filter().modules.empty() || match_module(filter().modules, path));
  });
}

}  // namespace ulpscope::capture
