#include "dump/journal_start.hpp"
#include "dump/rank_writer.hpp"

/// The beginning of a journal, written and read: what a replay must know to continue from there.
namespace ulpscope::dump {

void RankWriter::write_start() {
  const JournalStart start{.run = options_.run,
                           .previous = previous_,
                           .rank = rank_,
                           .pid = pid_,
                           .segment = segment_,
                           .level = options_.level,
                           .creator = options_.creator,
                           .command = options_.command,
                           .first_step = options_.first_step,
                           .last_step = options_.last_step,
                           .origin = origin_};
  journal_->append(RecordKind::start, 0, encode(start));
}

/// What a replay must know to continue from here: names, the state of the timeline, and the events
/// that no segment holds yet.
void RankWriter::write_checkpoint() {
  for (const auto& [id, lane] : lanes_) {
    ByteWriter opened;
    opened.put(lane.is_main);
    opened.put_text(lane.thread_name);
    journal_->append(RecordKind::open_lane, id, opened.bytes());
    if (!lane.names.definitions().empty()) {
      journal_->append(RecordKind::messages, id, lane.names.definitions());
    }
  }
  journal_->append(RecordKind::state, 0, save_state());
  const auto statistics = statistics_.unpublished();
  if (!statistics.empty()) {
    journal_->append(RecordKind::messages, lanes_.begin()->first, statistics);
  }
  for (const auto& [id, lane] : lanes_) {
    ByteWriter placed;
    for (const PlacedEvent& event : lane.block) {
      placed.put(static_cast<std::uint64_t>(event.phase));
      placed.put_bytes(event.event.message());
    }
    if (!lane.block.empty()) journal_->append(RecordKind::placed, id, placed.bytes());
    ByteWriter ordered;
    for (const Ordered& event : lane.ordered) {
      ordered.put(std::uint64_t{event.after_gap});
      ordered.put_bytes(event.event.message());
    }
    if (!lane.ordered.empty()) journal_->append(RecordKind::ordered, id, ordered.bytes());
    ByteWriter open;
    for (const HeldEvent& event : lane.late) open.put_bytes(event.message());
    for (const HeldEvent& event : lane.open_tree) open.put_bytes(event.message());
    if (!open.bytes().empty()) journal_->append(RecordKind::messages, id, open.bytes());
    if (lane.closed) journal_->append(RecordKind::close_lane, id, {});
  }
}

std::vector<std::byte> RankWriter::save_state() const {
  ByteWriter out;
  const auto timeline = timelines_.save();
  out.put(static_cast<std::uint64_t>(timeline.size()));
  out.put_bytes(timeline);
  out.put(counts_);
  out.put(passed_step_);
  for (const auto* settings : {&settings_, &waiting_settings_}) {
    out.put(static_cast<std::uint64_t>(settings->size()));
    for (const Setting& setting : *settings) {
      out.put(setting.epoch);
      out.put(setting.step);
      out.put_text(setting.key);
      out.put_text(setting.value);
    }
  }
  out.put(static_cast<std::uint64_t>(notices_.size()));
  for (const Notice& notice : notices_) {
    out.put(notice.fatal);
    out.put_text(notice.text);
  }
  const auto layers = layers_.save();
  out.put(static_cast<std::uint64_t>(layers.size()));
  out.put_bytes(layers);
  out.put_text(stopped_);
  out.put(malformed_);
  out.put(static_cast<std::uint64_t>(lanes_.size()));
  for (const auto& [id, lane] : lanes_) {
    out.put(id);
    out.put(lane.runs_backward);
    out.put(lane.tree_was_cut);
    out.put(lane.next_position);
    out.put(lane.step);
    out.put(lane.phase);
    out.put(lane.placed_position);
    out.put(lane.events);
    out.put(static_cast<std::uint64_t>(lane.gaps.size()));
    for (const Gap& gap : lane.gaps) {
      out.put(gap.first);
      out.put(gap.last);
      out.put(gap.step);
      out.put(gap.phase);
    }
  }
  return {out.bytes().begin(), out.bytes().end()};
}

bool RankWriter::restore_state(std::span<const std::byte> saved) {
  ByteReader in(saved);
  if (!timelines_.restore(in.get_bytes(in.get<std::uint64_t>()))) return false;
  counts_ = in.get<RecordingCounts>();
  passed_step_ = in.get_step();
  for (auto* settings : {&settings_, &waiting_settings_}) {
    for (auto count = in.get<std::uint64_t>(); count > 0 && in.ok(); --count) {
      Setting setting;
      setting.epoch = in.get<std::uint64_t>();
      setting.step = in.get_step();
      setting.key = in.get_text();
      setting.value = in.get_text();
      settings->push_back(std::move(setting));
    }
  }
  for (auto count = in.get<std::uint64_t>(); count > 0 && in.ok(); --count) {
    const bool fatal = in.get<bool>();
    notices_.push_back({fatal, std::string(in.get_text())});
  }
  if (!layers_.restore(in.get_bytes(in.get<std::uint64_t>()))) return false;
  stopped_ = in.get_text();
  malformed_ = in.get<bool>();
  for (auto count = in.get<std::uint64_t>(); count > 0 && in.ok(); --count) {
    const auto found = lanes_.find(in.get<std::uint32_t>());
    if (found == lanes_.end()) return false;
    Lane& lane = found->second;
    lane.runs_backward = in.get<bool>();
    lane.tree_was_cut = in.get<bool>();
    lane.next_position = in.get<std::uint64_t>();
    lane.step = in.get_step();
    lane.phase = in.get_up_to(Phase::eval);
    lane.placed_position = in.get<std::uint64_t>();
    lane.events = in.get<std::uint64_t>();
    for (auto gaps = in.get<std::uint64_t>(); gaps > 0 && in.ok(); --gaps) {
      Gap& gap = lane.gaps.emplace_back();
      gap.first = in.get<std::uint64_t>();
      gap.last = in.get<std::uint64_t>();
      gap.step = in.get_step();
      gap.phase = in.get_up_to(Phase::eval);
    }
  }
  return in.ok();
}

void RankWriter::restore(const Record& record) {
  switch (record.kind) {
    case RecordKind::state:
      if (!restore_state(record.payload)) stop("the journal's state does not add up");
      return;
    case RecordKind::ordered:
    case RecordKind::placed:
      return restore_events(record.lane, record);
    default:
      return;
  }
}

void RankWriter::restore_events(std::uint32_t id, const Record& record) {
  const auto found = lanes_.find(id);
  if (found == lanes_.end()) return stop("the journal's lanes do not add up");
  Lane& lane = found->second;
  const auto batch = std::make_shared<const Batch>(record.payload.begin(), record.payload.end());
  for (std::size_t at = 0; at < batch->size();) {
    ByteReader reader(std::span<const std::byte>(*batch).subspan(at));
    const auto note = reader.get<std::uint64_t>();
    const auto left = reader.left();
    const auto header = reader.get<ring::MessageHeader>();
    HeldEvent event(batch, at + sizeof note);
    if (!reader.ok() || header.size > left || header.size % 8 != 0 ||
        !is_sound(lane.names, event, header.size) ||
        note > static_cast<std::uint64_t>(Phase::eval)) {
      return stop("the journal's events do not add up");
    }
    at += sizeof note + header.size;
    if (record.kind == RecordKind::placed) {
      lane.block.push_back({std::move(event), static_cast<Phase>(note)});
      layers_.note(id, lane.step, lane.names, lane.block.back());
    } else {
      enter(id, lane, {std::move(event), note != 0, lane.content_bytes});
    }
  }
}

}  // namespace ulpscope::dump
