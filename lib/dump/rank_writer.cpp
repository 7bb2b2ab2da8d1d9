#include "dump/rank_writer.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "dump/layout.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::dump {
namespace {

constexpr std::uint64_t kTableBytes = 64ULL << 20;
constexpr std::uint64_t kJournalBytes = 256ULL << 20;
constexpr std::size_t kOpenTreeEvents = 131072;
constexpr std::size_t kMostGaps = 1024;
constexpr std::uint32_t kMostDatasets = 16384;  // of layers, in one segment
constexpr std::uint64_t kMostWaiting = 8;       // a share of a segment's contents: an eighth

/// torch.compile's autograd function, whose forward runs without grad mode.
constexpr std::string_view kCompiledFunction = "CompiledFunction";

bool has_parameter(const ring::SlotRow& slot) { return (slot.flags & slot_flag::parameter) != 0; }
bool trains(const ring::SlotRow& slot) { return (slot.flags & slot_flag::requires_grad) != 0; }

/// Who wrote what `slot`, an input of an event in `lane`, reads and trains: kept as one of the
/// latest two.
void note_trained_writer(const ring::SlotRow& slot, std::uint32_t lane, TimelineEvent& event) {
  if (!trains(slot) || slot.writer == kNone || slot.writer_lane != lane) return;
  auto& [latest, before] = event.trained_writers;
  if (slot.writer == latest || slot.writer == before) return;
  if (latest == kNone || slot.writer > latest) {
    before = std::exchange(latest, slot.writer);
  } else if (before == kNone || slot.writer > before) {
    before = slot.writer;
  }
}

bool has_name(const ring::SlotRow& slot) {
  return slot.name != 0 ||
         (slot.flags & (slot_flag::parameter | slot_flag::buffer | slot_flag::gradient)) != 0;
}

/// Of an op: what happens in backward and in optimizers says nothing about where a step begins.
std::vector<MemoryUse> uses_of(const HeldEvent& held, std::uint32_t lane) {
  const ring::EventRow& row = held.row();
  constexpr std::uint32_t kElsewhere = event_flag::in_backward | event_flag::in_optimizer;
  std::vector<MemoryUse> uses;
  if (static_cast<EventKind>(row.kind) != EventKind::op || (row.flags & kElsewhere) != 0)
    return uses;
  uses.reserve(held.slots().size());
  for (const ring::SlotRow& slot : held.slots()) {
    const auto role = static_cast<Role>(slot.role);
    constexpr std::uint32_t kNotRead = slot_flag::metadata_only | slot_flag::overwritten;
    if (slot.storage == kNone || (slot.flags & slot_flag::undefined) != 0) continue;
    uses.push_back({.storage = slot.storage,
                    .writer = slot.writer_lane == lane ? slot.writer : kNone,
                    .geometry = slot.geometry,
                    .is_read = role != Role::output && (slot.flags & kNotRead) == 0,
                    .is_written = role != Role::input,
                    .is_view = role == Role::output && (slot.flags & slot_flag::view) != 0,
                    .is_named = has_name(slot),
                    .trains = trains(slot)});
  }
  return uses;
}

/// @param op of a scope
TimelineEvent summary(const HeldEvent& held, const RingNames& names, std::string_view op,
                      std::uint32_t lane, std::uint32_t root_module) {
  const ring::EventRow& row = held.row();
  TimelineEvent event;
  event.epoch = row.epoch;
  event.position = row.position;
  event.object = row.object;
  event.root = names.string(row.root);
  event.module = names.string(row.module);
  event.flags = row.flags;
  event.depth = row.depth;
  event.kind = static_cast<EventKind>(row.kind);
  event.follows_own_forward =
      event.kind == EventKind::node && row.forward != kNone && row.forward_lane == lane;
  event.is_root_module = event.module != 0 && event.module == root_module;
  bool reads = false;
  bool reads_trained = false;
  bool result_trains = false;
  for (const ring::SlotRow& slot : held.slots()) {
    const auto role = static_cast<Role>(slot.role);
    event.writes_parameter =
        event.writes_parameter || (role == Role::mutated && has_parameter(slot));
    const bool is_trained = role == Role::input && trains(slot);
    reads_trained = reads_trained || is_trained;
    reads = reads || (is_trained && has_parameter(slot));
    if (role == Role::input) note_trained_writer(slot, lane, event);
    result_trains = result_trains || (role != Role::input && trains(slot));
  }
  event.uses_trained_parameter = reads && result_trains;
  const bool is_op = event.kind == EventKind::op;
  event.extends_graph = is_op ? reads_trained && result_trains
                              : event.kind == EventKind::scope && op == kCompiledFunction;
  event.uses = uses_of(held, lane);
  return event;
}

LaneRole role_of(bool is_main, bool is_trainer, bool runs_backward, std::string_view thread_name) {
  if (is_main) return LaneRole::main;
  if (thread_name.starts_with("pt_data")) return LaneRole::worker;
  if (thread_name.starts_with("pt_autograd")) return LaneRole::autograd;
  // A lane that runs backward itself works independently.
  if (is_trainer || runs_backward) return LaneRole::trainer;
  return LaneRole::thread;
}

}  // namespace

RankWriter::RankWriter(const RecordingOptions& options, std::uint32_t rank, std::uint32_t pid,
                       RankOrigin origin, const std::optional<ContinuedRank>& recovery)
    : options_(options),
      directory_(rank_path(options.directory, rank)),
      rank_(rank),
      pid_(pid),
      origin_(std::move(origin)),
      segment_(recovery ? recovery->segment : 0),
      previous_(recovery ? recovery->previous : Digest{}),
      kept_(options.keep_last, recovery ? recovery->oldest_segment : 0),
      recovering_(recovery.has_value()),
      names_{FrameTexts(options.resolve_frame), {}, {}, {}},
      contents_(directory_, names_, options.content_buffer_bytes, options.keep_last != 0),
      layers_(names_),
      root_module_(names_.strings.add("")) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) {
    throw Error(ErrorCode::io,
                "Cannot create '" + directory_.string() + "': " + error.message() + ".");
  }
  begin_segment();
  if (!recovering_) {
    begin_journal(segment_);
    write_start();
  }
}

RankWriter::~RankWriter() = default;

/// Performs changes of the current segment. Once one has failed, file and memory may disagree, so
/// the segment is never published: its journal remains.
template <class Change>
void RankWriter::change_segment(Change change) {
  segment_is_whole_ = false;
  change();
  segment_is_whole_ = true;
}

void RankWriter::open_lane(std::uint32_t id, bool is_main, std::string_view thread_name) {
  auto& lane = lanes_.try_emplace(id, names_).first->second;
  lane.is_main = is_main;
  lane.thread_name = thread_name;
  using Thread = Timelines::Thread;
  timelines_.open(id, is_main                          ? Thread::main
                      : thread_name.starts_with("pt_") ? Thread::of_library
                                                       : Thread::of_program);
  if (!journal_) return;
  ByteWriter payload;
  payload.put(is_main);
  payload.put_text(thread_name);
  journal_->append(RecordKind::open_lane, id, payload.bytes());
}

void RankWriter::consume(std::uint32_t id, std::span<const std::byte> messages) {
  if (done_ || malformed_ || !segment_is_whole_) return;
  const auto found = lanes_.find(id);
  if (found == lanes_.end()) return stop("it sent events on a lane that was never opened");
  Lane& lane = found->second;
  if (round_ == 0 || lane.advanced != round_) timelines_.advance(id);
  lane.advanced = round_;
  std::shared_ptr<Batch> batch;
  change_segment([&] { batch = take_messages(id, lane, messages); });
  const bool has_messages = batch->size() > sizeof(RecordHeader);
  if (has_messages && journal_) journal_->append_in_place(RecordKind::messages, id, *batch);
  change_segment([&] {
    if (has_messages) process(id, lane, batch, sizeof(RecordHeader));
    place_decided();
    publish_if_due();
  });
}

void RankWriter::close_lane(std::uint32_t id) {
  const auto found = lanes_.find(id);
  if (found == lanes_.end() || found->second.closed || !segment_is_whole_) return;
  Lane& lane = found->second;
  lane.closed = true;
  if (round_ == 0)
    end_lane(id, lane);
  else
    closing_.push_back(id);
  if (journal_) journal_->append(RecordKind::close_lane, id, {});
}

void RankWriter::end_round() {
  ++round_;
  for (const std::uint32_t id : std::exchange(closing_, {})) end_lane(id, lanes_.at(id));
}

void RankWriter::end_lane(std::uint32_t id, Lane& lane) {
  change_segment([&] {
    contents_.close_lane(id);
    timelines_.advance(id);
    order_tree(id, lane, true);
    timelines_.close(id);
    place_decided();
  });
}

void RankWriter::finish(std::string_view reason) {
  if (done_ || !segment_is_whole_) return;
  change_segment([&] {
    for (auto& [id, lane] : lanes_) {
      contents_.close_lane(id);
      timelines_.advance(id);
      order_tree(id, lane, true);
    }
    timelines_.finish();
    place_decided();
    place_settings(true);
    for (auto& [id, lane] : lanes_) {
      place_late(id, lane, true);
      close_block(id, lane);
    }
    publish(true, reason.empty() ? std::string_view(stopped_) : reason);
  });
  done_ = true;
}

RecordingCounts RankWriter::counts() const noexcept {
  RecordingCounts counts = counts_;
  counts.bytes += contents_.received_bytes();
  const auto begun = static_cast<std::int64_t>(timelines_.steps());
  const std::int64_t first = std::max<std::int64_t>({options_.first_step, kept_.first_step(), 0});
  const std::int64_t end = options_.last_step < begun ? options_.last_step + 1 : begun;
  counts.steps = static_cast<std::uint64_t>(std::max<std::int64_t>(end - first, 0));
  counts.first_step = kept_.first_step();
  counts.events -= kept_.let_go().events;
  counts.values -= kept_.let_go().values;
  return counts;
}

/// Invalid input: what came before it is kept, what comes after is ignored.
void RankWriter::stop(std::string_view what) {
  if (done_ || malformed_) return;
  malformed_ = true;
  stopped_ = "Recording of process " + std::to_string(pid_) + " stopped because " +
             std::string(what) + ".";
  notices_.push_back({true, stopped_});
}

/// Copies the messages into a batch, contents excepted, which go to the segment at once. Space for
/// the journal's record header comes first.
std::shared_ptr<Batch> RankWriter::take_messages(std::uint32_t id, Lane& lane,
                                                 std::span<const std::byte> messages) {
  auto batch = std::make_shared<Batch>();
  batch->resize(sizeof(RecordHeader));
  while (!messages.empty() && !malformed_) {
    ByteReader reader(messages);
    const auto header = reader.get<ring::MessageHeader>();
    if (!reader.ok() || header.size < sizeof header || header.size % 8 != 0 ||
        header.size > messages.size()) {
      stop("it sent a message with a wrong size");
      break;
    }
    const auto message = messages.first(header.size);
    messages = messages.subspan(header.size);
    if (header.kind == ring::MessageKind::content) {
      if (!contents_.take(id, message)) stop("it sent a content that does not add up");
      lane.content_bytes += message.size();
      continue;
    }
    const std::size_t at = batch->size();
    if (at == sizeof(RecordHeader)) batch->reserve(at + message.size() + messages.size());
    batch->insert(batch->end(), message.begin(), message.end());
    std::memcpy(batch->data() + at, &header, sizeof header);
  }
  return batch;
}

void RankWriter::process(std::uint32_t id, Lane& lane, const std::shared_ptr<const Batch>& batch,
                         std::size_t at) {
  while (at < batch->size()) {
    const auto rest = std::span(*batch).subspan(at);
    const auto header = ByteReader(rest).get<ring::MessageHeader>();
    const auto message = rest.first(header.size);
    switch (header.kind) {
      case ring::MessageKind::string:
      case ring::MessageKind::op:
      case ring::MessageKind::geometry:
      case ring::MessageKind::stack:
        if (const auto reason = lane.names.define(message)) return stop(*reason);
        break;
      case ring::MessageKind::event:
        if (!take_event(id, lane, HeldEvent(batch, at), message.size())) {
          return stop("it sent an event that does not add up");
        }
        break;
      case ring::MessageKind::environment:
        if (!take_setting(lane, message)) return stop("it sent a setting that does not add up");
        break;
      case ring::MessageKind::notice:
        if (!take_notice(message)) return stop("it sent a notice that does not add up");
        break;
      case ring::MessageKind::statistics:
        if (!statistics_.take(message)) return stop("it sent statistics that do not add up");
        break;
      default:
        return stop("it sent a message of an unknown kind");
    }
    at += header.size;
  }
}

bool RankWriter::take_event(std::uint32_t id, Lane& lane, HeldEvent event,
                            std::size_t message_bytes) {
  if (!is_sound(lane.names, event, message_bytes)) return false;
  make_recent_datasets(lane, event);
  const bool tree_ends = event.row().depth == 0;
  lane.ends_with_outcomes = static_cast<EventKind>(event.row().kind) == EventKind::outcome;
  if (lane.open_tree.empty()) lane.tree_content_bytes = lane.content_bytes;
  lane.open_tree.push_back(std::move(event));
  if (tree_ends || lane.open_tree.size() >= kOpenTreeEvents) order_tree(id, lane, tree_ends);
  return true;
}

/// While its bytes are still in memory: when the step of the event is known they may not be.
void RankWriter::make_recent_datasets(const Lane& lane, const HeldEvent& event) {
  if (!is_layer_event(event)) return;
  for (const ring::SlotRow& slot : event.slots()) {
    if (!is_layer_slot(event, slot)) continue;
    static_cast<void>(contents_.recent_dataset({slot.digest[0], slot.digest[1]},
                                               lane.names.geometry(slot.geometry)));
  }
}

bool RankWriter::take_setting(const Lane& lane, std::span<const std::byte> message) {
  ByteReader reader(message);
  const auto head = reader.get<ring::EnvironmentMessage>();
  const auto value = reader.get_bytes(head.length);
  const auto key = lane.names.string(head.key);
  if (!reader.ok() || key == 0) return false;
  waiting_settings_.push_back(
      {head.epoch, kSetup, std::string(names_.strings.at(key)), std::string(text_of(value))});
  return true;
}

bool RankWriter::has_setting(std::string_view key) const {
  const auto has = [&](const std::vector<Setting>& settings) {
    return std::any_of(settings.begin(), settings.end(),
                       [&](const Setting& setting) { return setting.key == key; });
  };
  return has(settings_) || has(waiting_settings_);
}

bool RankWriter::ends_with_outcomes() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& entry) {
    return entry.second.is_main && entry.second.ends_with_outcomes;
  });
}

std::vector<std::string> RankWriter::notices() const {
  std::vector<std::string> texts;
  for (const Notice& notice : notices_)
    if (!notice.fatal) texts.push_back(notice.text);
  return texts;
}

bool RankWriter::take_notice(std::span<const std::byte> message) {
  ByteReader reader(message);
  const auto head = reader.get<ring::NoticeMessage>();
  const auto text = reader.get_bytes(head.length);
  if (!reader.ok()) return false;
  notices_.push_back({head.fatal != 0, std::string(text_of(text))});
  if (head.fatal != 0 && stopped_.empty()) stopped_ = notices_.back().text;
  return true;
}

/// Puts the events of a tree in the order in which they began. A tree that grows too large is
/// split: the events around it are entered later, where they left a gap.
void RankWriter::order_tree(std::uint32_t id, Lane& lane, bool complete) {
  auto& tree = lane.open_tree;
  sort_by_position(tree);
  lane.tree_was_cut = lane.tree_was_cut || !complete;
  for (HeldEvent& event : tree) {
    const std::uint64_t position = event.row().position;
    if (position < lane.next_position) {
      lane.late.push_back(std::move(event));
      continue;
    }
    const bool after_gap = lane.tree_was_cut && position > lane.next_position;
    enter(id, lane, {std::move(event), after_gap, lane.tree_content_bytes});
  }
  tree.clear();
  if (complete) lane.tree_was_cut = false;
}

void RankWriter::enter(std::uint32_t id, Lane& lane, Ordered event) {
  const ring::EventRow& row = event.event.row();
  lane.next_position = row.position + 1;
  lane.runs_backward =
      lane.runs_backward || (row.depth == 0 && (row.flags & event_flag::in_backward) != 0);
  const bool is_scope = static_cast<EventKind>(row.kind) == EventKind::scope;
  const std::string_view op = is_scope ? names_.op_text(lane.names.op(row.op)) : std::string_view();
  timelines_.add(id, summary(event.event, lane.names, op, id, root_module_));
  lane.ordered.push_back(std::move(event));
}

void RankWriter::place_decided() {
  for (const Placement& placement : timelines_.take()) {
    place(placement.lane, lanes_.at(placement.lane), placement.step, placement.phase);
  }
  for (auto& [id, lane] : lanes_) {
    if (!lane.late.empty()) place_late(id, lane, false);
  }
  place_settings(false);
}

void RankWriter::place(std::uint32_t id, Lane& lane, std::int64_t step, Phase phase) {
  Ordered next = std::move(lane.ordered.front());
  lane.ordered.pop_front();
  const ring::EventRow& row = next.event.row();
  const std::uint64_t position = row.position;
  // The main thread may begin a step while another one is in the middle of an op: the whole op
  // belongs to the step that it began in.
  const bool inside_op = lane.op_depth && row.depth > *lane.op_depth && !next.after_gap;
  if (!inside_op)
    lane.op_depth = row.kind == static_cast<std::uint8_t>(EventKind::op) ? std::optional(row.depth)
                                                                         : std::nullopt;
  if (inside_op && !lane.is_main && !timelines_.is_trainer(id)) {
    step = lane.step;
    phase = lane.phase;
  }
  const bool far = position - lane.placed_position >= kVariable - 1;
  if (step != lane.step || lane.block.size() >= kBlockEvents || next.after_gap || far) {
    close_block(id, lane);
  }
  if (next.after_gap) {
    lane.gaps.push_back({lane.placed_position, position - 1, lane.step, lane.phase});
    if (lane.gaps.size() > kMostGaps) lane.gaps.erase(lane.gaps.begin());
  }
  if (step != lane.step) passed_step_ = std::max(passed_step_, lane.step);
  lane.step = step;
  lane.phase = phase;
  lane.placed_position = position + 1;
  lane.block.push_back({std::move(next.event), phase});
  layers_.note(id, step, lane.names, lane.block.back());
}

/// Enters events that ended after events inside them were placed, each as a separate block.
void RankWriter::place_late(std::uint32_t id, Lane& lane, bool last_chance) {
  std::vector<HeldEvent> waiting;
  for (HeldEvent& event : lane.late) {
    const std::uint64_t position = event.row().position;
    const auto gap = std::find_if(lane.gaps.begin(), lane.gaps.end(), [&](const Gap& candidate) {
      return candidate.first <= position && position <= candidate.last;
    });
    if (gap == lane.gaps.end()) {
      if (!last_chance) waiting.push_back(std::move(event));
      continue;
    }
    const Gap found = *gap;
    lane.gaps.erase(gap);
    if (found.first < position) {
      lane.gaps.push_back({found.first, position - 1, found.step, found.phase});
    }
    if (position < found.last) {
      lane.gaps.push_back({position + 1, found.last, found.step, found.phase});
    }
    const PlacedEvent placed{std::move(event), found.phase};
    layers_.note(id, found.step, lane.names, placed);
    add_block(id, lane, found.step, std::span(&placed, 1));
  }
  lane.late = std::move(waiting);
}

void RankWriter::close_block(std::uint32_t id, Lane& lane) {
  if (lane.block.empty()) return;
  add_block(id, lane, lane.step, lane.block);
  lane.block.clear();
}

void RankWriter::add_block(std::uint32_t id, Lane& lane, std::int64_t step,
                           std::span<const PlacedEvent> events) {
  if (!is_written(step)) return;
  lane.events += events.size();
  builder_->add_block(id, step, lane.names, events);
  counts_.events += events.size();
  const std::uint64_t values = builder_->tables().blocks.back().values;
  counts_.values += values;
  kept_.count(step, {.events = events.size(), .values = values});
  for (const PlacedEvent& placed : events) {
    add_layers(id, lane, step, placed);
    const ring::EventRow& row = placed.event.row();
    if ((row.flags & event_flag::seeded) != 0)
      contents_.require({row.rng_before[0], row.rng_before[1]});
    for (const ring::SlotRow& slot : placed.event.slots()) {
      require_statistics(lane, slot);
      if ((slot.flags & slot_flag::has_content) != 0) {
        contents_.require({slot.digest[0], slot.digest[1]});
      }
    }
  }
}

void RankWriter::add_layers(std::uint32_t id, const Lane& lane, std::int64_t step,
                            const PlacedEvent& placed) {
  if (!contents_.holds_any()) return;
  for (const auto& entry : layers_.entries(id, step, lane.names, placed)) {
    const std::uint32_t geometry = lane.names.geometry(entry.slot->geometry);
    const auto dataset =
        contents_.dataset({entry.slot->digest[0], entry.slot->digest[1]}, geometry);
    if (!dataset) continue;
    links_.add(entry.path, entry.is_gradient, step, builder_->geometry(geometry), *dataset);
  }
}

void RankWriter::require_statistics(const Lane& lane, const ring::SlotRow& slot) {
  const auto geometry = lane.names.geometry(slot.geometry);
  if (statistics_.empty() || geometry == 0 || (slot.flags & slot_flag::no_digest) != 0) return;
  const auto name = ByteReader(bytes_of(names_.geometries.at(geometry))).get<GeometryName>();
  statistics_.require({{slot.digest[0], slot.digest[1]}, static_cast<Dtype>(name.dtype)},
                      builder_->tables().statistics);
}

/// A setting holds from the step on in which it was sent; one that does not change is kept once.
void RankWriter::place_settings(bool all) {
  std::vector<Setting> waiting;
  for (Setting& setting : waiting_settings_) {
    if (!all && !timelines_.is_decided(setting.epoch)) {
      waiting.push_back(std::move(setting));
      continue;
    }
    const auto before =
        std::find_if(settings_.rbegin(), settings_.rend(),
                     [&](const Setting& other) { return other.key == setting.key; });
    if (before != settings_.rend() && before->value == setting.value) continue;
    setting.step = timelines_.step_at(setting.epoch);
    settings_.push_back(std::move(setting));
  }
  waiting_settings_ = std::move(waiting);
}

/// Bytes of contents, about, that a lane sent with or after its first event whose step is not
/// known.
std::uint64_t RankWriter::waiting_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [id, lane] : lanes_) {
    if (!lane.ordered.empty())
      bytes += lane.content_bytes - lane.ordered.front().content_bytes;
    else if (!lane.open_tree.empty())
      bytes += lane.content_bytes - lane.tree_content_bytes;
  }
  return bytes;
}

/// A content whose event is in a later segment is written once more if a layer computed it.
bool RankWriter::has_enough_contents() const {
  const std::uint64_t bytes = contents_.segment_bytes();
  return bytes >= options_.segment_bytes && waiting_bytes() <= bytes / kMostWaiting;
}

void RankWriter::publish_if_due() {
  if (recovering_ || contents_.is_receiving()) return;
  const auto passed = [&](std::uint32_t steps) {
    return steps > 0 && passed_step_ - published_step_ >= static_cast<std::int64_t>(steps);
  };
  const std::chrono::seconds seconds(options_.segment_seconds);
  const bool time_due = seconds.count() > 0 && Clock::now() - published_at_ >= seconds;
  const bool contents_due = has_enough_contents();
  if (contents_due) {
    for (auto& [id, lane] : lanes_) close_block(id, lane);
  }
  if (passed(options_.segment_steps) || passed(kept_.steps_per_segment()) || time_due ||
      contents_due || writer_->values() >= kMostDatasets ||
      builder_->tables().bytes() >= kTableBytes || journal_->bytes() >= kJournalBytes) {
    publish(false, {});
  }
}

/// Settings, notices and lanes are in every segment, so that losing one segment loses none of them.
void RankWriter::fill_carried_tables() {
  Tables& tables = builder_->tables();
  const auto string = [&](std::string_view text) {
    return builder_->string(names_.strings.add(text));
  };
  for (const Setting& setting : settings_) {
    tables.environment.push_back({setting.step, string(setting.key), string(setting.value)});
  }
  for (const Notice& notice : notices_) {
    tables.notices.push_back({notice.fatal ? 1U : 0U, string(notice.text)});
  }
  for (const auto& [id, lane] : lanes_) {
    const auto role =
        role_of(lane.is_main, timelines_.is_trainer(id), lane.runs_backward, lane.thread_name);
    tables.lanes.push_back(
        {lane.events, id, string(lane.thread_name), static_cast<std::uint64_t>(role)});
  }
}

std::int64_t RankWriter::newest_step() const noexcept {
  std::int64_t newest = passed_step_;
  for (const auto& [id, lane] : lanes_) newest = std::max(newest, lane.step);
  return std::min(newest, options_.last_step);
}

void RankWriter::publish(bool finished, std::string_view reason) {
  fill_carried_tables();
  SegmentAttributes attributes;
  attributes.creator = options_.creator;
  attributes.level = options_.level;
  attributes.command = nlohmann::json(options_.command)
                           .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  attributes.rank = rank_;
  attributes.pid = pid_;
  attributes.origin = origin_;
  attributes.segment = segment_;
  attributes.run = options_.run;
  attributes.previous = previous_;
  attributes.first_step = builder_->first_step();
  attributes.last_step = builder_->last_step();
  attributes.steps = timelines_.steps();
  for (const BlockRow& block : builder_->tables().blocks) {
    attributes.events += block.events;
    attributes.values += block.values;
  }
  attributes.finished = finished;
  attributes.incomplete_reason = reason;
  const auto done_with =
      kept_.publish(segment_, attributes.last_step, finished ? newest_step() : passed_step_);
  attributes.oldest_segment = kept_.oldest_segment();
  attributes.first_kept_step = kept_.first_step();
  contents_.end_segment(segment_);
  std::vector<SegmentWriter::Link> links;
  links_.fill(builder_->tables(), links);
  previous_ = writer_->complete(builder_->tables(), links, attributes);

  // The next journal must be whole before the segment is published: from then on it is the one
  // that counts.
  if (finished) {
    journal_.reset();
  } else {
    begin_journal(segment_ + 1);
  }
  ++segment_;
  if (journal_) {
    write_start();
    write_checkpoint();
  }
  writer_->publish();
  last_ = {rank_, segment_ - 1, previous_};
  ++counts_.segments;
  published_step_ = passed_step_;
  published_at_ = Clock::now();
  remove_files(segment_ - 1, done_with);
  begin_segment();
}

/// After what takes their place was published.
void RankWriter::remove_files(std::uint32_t journal, const std::vector<std::uint32_t>& segments) {
  std::error_code ignored;
  if (!recovering_) std::filesystem::remove(journal_path(directory_, journal), ignored);
  for (const std::uint32_t segment : segments) {
    std::filesystem::remove(segment_path(directory_, segment), ignored);
    contents_.forget_segment(segment);
    --counts_.segments;
  }
}

void RankWriter::begin_segment() {
  builder_ = std::make_unique<SegmentBuilder>(names_);
  statistics_.begin_segment();
  writer_ = std::make_unique<SegmentWriter>(segment_path(directory_, segment_));
  contents_.begin_segment(*writer_, builder_->tables().contents);
  links_.clear();
}

void RankWriter::begin_journal(std::uint32_t segment) {
  journal_.emplace(journal_path(directory_, segment));
}

}  // namespace ulpscope::dump
