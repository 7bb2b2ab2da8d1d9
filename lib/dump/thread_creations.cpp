#include "dump/thread_creations.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace ulpscope::dump {
namespace {

std::optional<std::uint32_t> take_number(std::string_view& text, char end) {
  const std::string_view digits = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), digits.size() + 1));
  std::uint32_t number = 0;
  const char* const last = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), last, number);
  if (read.ec != std::errc{} || read.ptr != last) return std::nullopt;
  return number;
}

std::vector<std::uint32_t> way_of(std::string_view text) {
  std::vector<std::uint32_t> way;
  while (!text.empty()) {
    const auto number = take_number(text, '.');
    if (!number) return {};
    way.push_back(*number);
  }
  return way;
}

}  // namespace

ThreadCreations::ThreadCreations(std::span<const EnvironmentEntry> environment) {
  for (const EnvironmentEntry& entry : environment) {
    if (entry.key != "capture.thread") continue;
    std::string_view text = entry.value;
    const auto lane = take_number(text, ' ');
    const std::string_view way_text = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), way_text.size() + 1));
    std::vector<std::uint32_t> way = way_of(way_text);
    if (lane && !way.empty())
      creations_.try_emplace(*lane, Creation{std::move(way), std::string(text)});
  }
}

bool ThreadCreations::is_earlier(std::uint32_t lane, std::uint32_t other) const {
  const auto one = creations_.find(lane);
  const auto two = creations_.find(other);
  if (one == creations_.end()) return false;
  return two == creations_.end() || one->second.way < two->second.way;
}

std::string_view ThreadCreations::calls(std::uint32_t lane) const {
  const auto found = creations_.find(lane);
  return found == creations_.end() ? std::string_view() : found->second.calls;
}

}  // namespace ulpscope::dump
