#include "compare/report/checks/epochs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "compare/model/words.hpp"
#include "core/counts.hpp"

namespace ulpscope::comparison {
namespace {

using Span = std::span<const Batch>;

constexpr std::size_t kEpochsShown = 8;

[[nodiscard]] std::string range_words(Span batches) {
  return steps_words({{batches.front().step, batches.back().step}});
}

/// The batches of each epoch.
[[nodiscard]] std::vector<Span> split(const Epochs& epochs, const std::vector<Batch>& batches) {
  std::vector<Span> parts;
  const auto at = [&](std::int64_t step) {
    return std::lower_bound(
        batches.begin(), batches.end(), step,
        [](const Batch& batch, std::int64_t value) { return batch.step < value; });
  };
  for (std::size_t i = 0; i < epochs.begins.size(); ++i) {
    const auto begin = at(epochs.begins[i]);
    const auto end = i + 1 < epochs.begins.size() ? at(epochs.begins[i + 1]) : batches.end();
    if (begin != end) parts.emplace_back(begin, end);
  }
  return parts;
}

[[nodiscard]] bool same_content(const Batch& a, const Batch& b) {
  return a.content != 0 && a.content == b.content;
}

[[nodiscard]] bool all_alike(const std::vector<Batch>& batches) {
  return std::all_of(batches.begin(), batches.end(),
                     [&](const Batch& one) { return same_content(one, batches.front()); });
}

[[nodiscard]] bool any_read(const std::vector<Batch>& batches) {
  return std::any_of(batches.begin(), batches.end(),
                     [](const Batch& batch) { return batch.content != 0; });
}

/// After how many steps the batches begin again in the same order; nothing if they never do.
/// Two batches in a row at least must return.
[[nodiscard]] std::optional<std::size_t> period_of(const std::vector<Batch>& batches) {
  for (std::size_t period = 2; period + 2 <= batches.size(); ++period) {
    const bool returns = std::equal(batches.begin() + static_cast<std::ptrdiff_t>(period),
                                    batches.end(), batches.begin(), same_content);
    if (returns) return period;
  }
  return std::nullopt;
}

[[nodiscard]] std::string how_known(const Epochs& epochs) {
  return epochs.source == Epochs::Source::notes ? "as the program notes them"
                                                : "from the orders of samples that were drawn";
}

constexpr std::string_view kCannotTell =
    "no order of samples was drawn by a recorded op and the program calls no note(\"epoch\", ...)";

}  // namespace

void OrderCollector::see(const Lane& lane, const Block& block) {
  if (lane.id != lane_ || block.step != step_) has_trained_ = false;
  lane_ = lane.id;
  step_ = block.step;
  for (const Event& event : block.events) {
    has_trained_ = has_trained_ || event.phase == Phase::optimizer;
    const bool outside = event.phase == Phase::setup || event.phase == Phase::data;
    if (event.op != "aten::randperm" || !outside || event.slots.empty()) continue;
    const Slot& result = event.slots.back();
    if (result.geometry == nullptr || result.geometry->sizes.size() != 1) continue;
    const bool is_own = event.flags & event_flag::explicit_generator;
    const DrawnOrder order{std::max<std::int64_t>(block.step + (has_trained_ ? 1 : 0), 0),
                           result.geometry->sizes.front(), is_own && left_ == event.rng.before};
    left_ = is_own ? std::optional(event.rng.after) : std::nullopt;
    if (orders_.empty() || orders_.back().step != order.step) orders_.push_back(order);
    orders_.back().samples = order.samples;
  }
}

Epochs epochs_of(const std::vector<EnvironmentEntry>& environment,
                 const std::vector<DrawnOrder>& orders, const std::vector<Batch>& batches) {
  Epochs epochs;
  const auto add = [&](std::int64_t step) {
    if (epochs.begins.empty() || epochs.begins.back() < step) epochs.begins.push_back(step);
  };
  for (const EnvironmentEntry& entry : environment)
    if (entry.key == "note.epoch") add(std::max<std::int64_t>(entry.step, 0));
  if (!epochs.begins.empty()) {
    epochs.source = Epochs::Source::notes;
    return epochs;
  }
  // An order of at most as many samples as a batch shuffles the batch.
  std::int64_t most = 0;
  for (const Batch& batch : batches) most = std::max(most, batch.samples.value_or(0));
  // RandomSampler draws one more order than it uses from a generator that it makes for each epoch.
  const bool made_again = std::ranges::count(orders, false, &DrawnOrder::goes_on) > 1;
  for (const DrawnOrder& order : orders)
    if (order.samples > most && !(made_again && order.goes_on)) add(order.step);
  if (!epochs.begins.empty()) epochs.source = Epochs::Source::orders;
  return epochs;
}

Check check_epochs(const Epochs& epochs, const std::vector<Batch>& batches) {
  Check check{"epochs", Check::Result::ok, {}, {}};
  const auto parts = split(epochs, batches);
  if (parts.empty()) {
    check.result = Check::Result::unseen;
    check.text = fmt::format("cannot determine where epochs begin: {}", kCannotTell);
    return check;
  }
  std::vector<std::string> lengths;
  for (const Span& part : parts) lengths.push_back(std::to_string(part.size()));
  check.text = fmt::format(
      "{} of {} {} ({})", core::counted(parts.size(), "epoch"), listed(lengths, kEpochsShown),
      parts.size() == 1 && parts.front().size() == 1 ? "step" : "steps", how_known(epochs));
  const bool even = std::all_of(parts.begin(), parts.end(), [&](const Span& part) {
    return part.size() == parts.front().size();
  });
  if (!even) {
    check.result = Check::Result::look;
    check.text += parts.back().size() < parts.front().size() ? ": the last one is shorter"
                                                             : ": not all have as many";
  }
  return check;
}

Check check_order(const Epochs& epochs, const std::vector<Batch>& batches) {
  Check check{"order", Check::Result::ok, {}, {}};
  if (!any_read(batches)) {
    check.result = Check::Result::unseen;
    check.text = "no training step reads data from outside of its own computation";
    return check;
  }
  if (batches.size() > 1 && all_alike(batches)) {
    check.text = "every step trains on the same data";
    return check;
  }
  const auto parts = split(epochs, batches);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t common = std::min(parts[i - 1].size(), parts[i].size());
    if (common < 2 || !std::equal(parts[i].begin(), parts[i].begin() + common, parts[i - 1].begin(),
                                  same_content))
      continue;
    check.result = Check::Result::look;
    check.details.push_back(
        fmt::format("{} read what {} read", range_words(parts[i]), range_words(parts[i - 1])));
  }
  if (const auto period = period_of(batches); parts.size() < 2 && period) {
    check.result = Check::Result::look;
    check.details.push_back(
        fmt::format("{} read what {} read", range_words(Span(batches).subspan(*period)),
                    range_words(Span(batches).first(std::min(*period, batches.size() - *period)))));
  }
  check.text = check.result == Check::Result::look
                   ? "an epoch has the same batches in the same order as the one before: nothing "
                     "shuffles them, or the sampler begins every epoch from one seed"
                   : "no epoch repeats the one before";
  if (check.result == Check::Result::ok && parts.size() < 2)
    check.text = "the batches do not begin again";
  return check;
}

Check check_batches(const Epochs& epochs, const std::vector<Batch>& batches) {
  Check check{"batches", Check::Result::ok, {}, {}};
  if (!any_read(batches)) {
    check.result = Check::Result::unseen;
    check.text = "no training step reads data from outside of its own computation";
    return check;
  }
  auto parts = split(epochs, batches);
  const bool known = !parts.empty();
  if (!known) {
    // What starts again in the same order is a new epoch.
    const std::size_t length = period_of(batches).value_or(batches.size());
    parts = {Span(batches).first(length)};
  }
  std::uint64_t twins = 0;
  for (const Span& part : parts) {
    std::unordered_map<std::uint64_t, std::int64_t> first;
    for (const Batch& batch : part) {
      const auto [at, added] = first.try_emplace(batch.content, batch.step);
      if (added || batch.content == 0) continue;
      if (++twins <= kEpochsShown)
        check.details.push_back(
            fmt::format("step {} trains on what step {} had", batch.step, at->second));
    }
  }
  if (twins == 0 || (batches.size() > 1 && all_alike(batches))) {
    check.details.clear();
    check.text =
        twins == 0 ? "no batch comes twice in an epoch" : "every step trains on the same data";
    return check;
  }
  check.result = Check::Result::look;
  check.text = fmt::format("{} again{}: workers that were seeded alike make the same content",
                           twins == 1 ? "a batch comes" : fmt::format("{} batches come", twins),
                           known ? " in the same epoch" : ", and not as a new epoch would");
  if (twins > kEpochsShown)
    check.details.push_back(fmt::format("and {} more", twins - kEpochsShown));
  return check;
}

}  // namespace ulpscope::comparison
