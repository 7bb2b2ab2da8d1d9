#include "ulpscope/dump_reader.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "dump/empty_dump.hpp"
#include "dump/kept_steps.hpp"
#include "dump/layout.hpp"
#include "dump/rank_identity.hpp"
#include "dump/segment_cache.hpp"
#include "dump/segment_reader.hpp"
#include "dump/selector.hpp"
#include "dump/status.hpp"
#include "dump/thread_creations.hpp"
#include "dump/whole_dump.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope {
namespace {

constexpr std::size_t kSegmentsInMemory = 4;

std::vector<std::string> command_of(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  std::vector<std::string> words;
  if (!parsed.is_array()) return words;
  for (const auto& word : parsed) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

/// Where a block of a lane is stored.
struct BlockPlace {
  std::uint64_t first_position;
  std::uint64_t last_position;
  std::int64_t step;
  std::uint32_t segment;  ///< index into RankIndex::segments
  std::uint32_t block;
};

struct SegmentPlace {
  std::filesystem::path path;
  bool has_contents = false;
  bool has_statistics = false;
};

/// What is kept of a rank besides its segments.
struct RankIndex {
  std::vector<SegmentPlace> segments;
  /// The one that something was last found in: the next request is there or nearby.
  mutable std::atomic<std::size_t> recent = 0;
  std::map<std::uint32_t, Lane> lanes;
  std::map<std::uint32_t, std::vector<BlockPlace>> blocks;
  std::vector<EnvironmentEntry> environment;
  std::int64_t first_kept_step = kSetup;
  dump::RankOrigin origin;
  RankIdentity identity;
  bool finished = false;
};

class DumpRun : public Run {
 public:
  DumpRun(const std::filesystem::path& directory, std::string_view selector)
      : selector_(dump::parse_selector(selector)) {
    info_.path = directory.string();
    // First: what it says about segments applies to those that exist afterwards.
    const auto status = dump::read_status(directory);
    read_status(status);
    std::vector<dump::RankMarks> marks;
    for (auto& files : dump::list_ranks(directory)) {
      if (selector_.takes_rank(files.rank)) marks.push_back(read_rank(std::move(files)));
    }
    check_whole(directory, marks, status);
    if (ranks_.empty()) refuse_empty(directory, marks, status);
    for (const auto& rank : marks) {
      if (!rank.segments.empty()) finish_rank(rank.files);
    }
    name_ranks();
    info_.complete = info_.incomplete_reason.empty();
    info_.ranks = static_cast<std::uint32_t>(ranks_.size());
    info_.steps = steps_.size();
  }

  [[nodiscard]] const RunInfo& info() const override { return info_; }

  [[nodiscard]] std::vector<std::uint32_t> ranks() const override {
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, index] : ranks_) numbers.push_back(number);
    return numbers;
  }

  [[nodiscard]] std::vector<Lane> lanes(std::uint32_t rank) const override {
    std::vector<Lane> lanes;
    for (const auto& [id, lane] : find(rank).lanes) lanes.push_back(lane);
    return lanes;
  }

  [[nodiscard]] RankIdentity identity(std::uint32_t rank) const override {
    return find(rank).identity;
  }

  [[nodiscard]] std::vector<EnvironmentEntry> environment(std::uint32_t rank) const override {
    return find(rank).environment;
  }

  [[nodiscard]] std::size_t block_count(std::uint32_t rank, std::uint32_t lane) const override {
    const auto& blocks = find(rank).blocks;
    const auto found = blocks.find(lane);
    return found == blocks.end() ? 0 : found->second.size();
  }

  [[nodiscard]] Block block(std::uint32_t rank, std::uint32_t lane,
                            std::size_t index) const override {
    const RankIndex& from = find(rank);
    const auto found = from.blocks.find(lane);
    if (found == from.blocks.end() || index >= found->second.size()) {
      throw Error(ErrorCode::usage, "The run has no such block.");
    }
    const BlockPlace& place = found->second[index];
    from.recent = place.segment;
    return cache_.get(from.segments[place.segment].path)->block(place.block);
  }

  [[nodiscard]] std::optional<std::vector<std::byte>> content(std::uint32_t rank,
                                                              const Digest& digest) const override {
    return first_found(find(rank), &SegmentPlace::has_contents,
                       [&](const dump::Segment& segment) { return segment.content(digest); });
  }

  [[nodiscard]] std::unique_ptr<ContentReader> open_content(std::uint32_t rank,
                                                            const Digest& digest) const override {
    return first_found(find(rank), &SegmentPlace::has_contents,
                       [&](const dump::Segment& segment) { return segment.open_content(digest); });
  }

  [[nodiscard]] std::optional<std::uint64_t> content_size(std::uint32_t rank,
                                                          const Digest& digest) const override {
    return first_found(find(rank), &SegmentPlace::has_contents,
                       [&](const dump::Segment& segment) { return segment.content_size(digest); });
  }

  [[nodiscard]] std::vector<LayerValue> layer_values(std::uint32_t rank) const override {
    std::vector<LayerValue> values;
    for (const SegmentPlace& place : find(rank).segments) {
      if (!place.has_contents) continue;
      const auto segment = cache_.get(place.path);
      for (const dump::LayerRow& row : segment->tables().layers) {
        if (takes_step(find(rank), row.step)) values.push_back(segment->layer_value(row));
      }
    }
    std::stable_sort(values.begin(), values.end(),
                     [](const LayerValue& a, const LayerValue& b) { return a.path < b.path; });
    return values;
  }

  [[nodiscard]] std::optional<Statistics> statistics(std::uint32_t rank, const Digest& digest,
                                                     Dtype dtype) const override {
    return first_found(
        find(rank), &SegmentPlace::has_statistics,
        [&](const dump::Segment& segment) { return segment.statistics(digest, dtype); });
  }

 private:
  /// Searches the segments that have such entries, from the most recent one outward.
  template <class Ask>
  auto first_found(const RankIndex& rank, bool SegmentPlace::*has, const Ask& ask) const
      -> decltype(ask(std::declval<const dump::Segment&>())) {
    const std::size_t start = rank.recent;
    const std::size_t count = rank.segments.size();
    for (std::size_t distance = 0; distance < count; ++distance) {
      for (const std::size_t at : {start + distance, start - distance}) {
        if (at >= count || !(rank.segments[at].*has)) continue;
        if (auto found = ask(*cache_.get(rank.segments[at].path))) {
          rank.recent = at;
          return found;
        }
        if (distance == 0) break;
      }
    }
    return {};
  }

  const RankIndex& find(std::uint32_t rank) const {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) {
      throw Error(ErrorCode::usage, "The run has no rank " + std::to_string(rank) + ".");
    }
    return found->second;
  }

  [[nodiscard]] bool takes_step(const RankIndex& rank, std::int64_t step) const {
    return step >= rank.first_kept_step && selector_.takes_step(step);
  }

  void note_incomplete(std::string reason) {
    if (info_.incomplete_reason.empty()) info_.incomplete_reason = std::move(reason);
  }

  void read_status(const std::optional<dump::Status>& status) {
    if (!status) {
      note_incomplete("Its status.json is missing or damaged, so nobody says that it is complete.");
      return;
    }
    info_.command = status->command;
    info_.level = status->level;
    if (selector_.ranks.empty() && !selector_.first_step) info_.exit_code = status->exit_code;
    if (!status->complete) {
      note_incomplete(status->reason.empty() ? "The recording was not ended in order."
                                             : status->reason);
    }
  }

  /// Whether the files belong together, before they are used.
  void check_whole(const std::filesystem::path& directory, std::span<const dump::RankMarks> marks,
                   std::optional<dump::Status> status) {
    if (status) {
      std::erase_if(status->ranks,
                    [this](std::uint32_t rank) { return !selector_.takes_rank(rank); });
    }
    const dump::WholeDump whole = dump::check_whole(marks, status);
    if (!whole.foreign.empty()) {
      throw Error(ErrorCode::corrupt,
                  "'" + directory.string() + "' is damaged: " + whole.foreign.front(),
                  "Run `ulpscope verify` on the dump to see what else does not fit.");
    }
    for (const std::string& missing : whole.missing) note_incomplete(missing);
  }

  dump::RankMarks read_rank(dump::RankFiles listed) {
    dump::RankMarks marks{std::move(listed), {}};
    const dump::RankFiles& files = marks.files;
    if (files.segments.empty()) return marks;
    RankIndex& rank = ranks_[files.rank];
    const auto newest = cache_.get(dump::segment_path(files.directory, files.segments.back()));
    const dump::SegmentAttributes last = newest->attributes();
    rank.first_kept_step = last.first_kept_step;
    rank.origin = last.origin;
    rank.finished = last.finished;
    info_.steps_in_run = std::max(info_.steps_in_run, last.steps);
    for (const std::uint32_t number : files.segments) {
      const auto segment = cache_.get(dump::segment_path(files.directory, number));
      marks.segments.push_back(dump::mark_of(*segment, number));
      read_segment(*segment, rank);
      rank.segments.push_back({dump::segment_path(files.directory, number),
                               !segment->tables().contents.empty(),
                               !segment->tables().statistics.empty()});
    }
    return marks;
  }

  void finish_rank(const dump::RankFiles& files) {
    RankIndex& rank = ranks_[files.rank];
    if (files.live_journal()) {
      note_incomplete("The recording of rank " + std::to_string(files.rank) +
                      " was killed; `ulpscope recover` brings back its last events.");
    } else if (!rank.finished) {
      note_incomplete("The recording of rank " + std::to_string(files.rank) +
                      " was not ended in order.");
    }
    sort_blocks(files, rank);
    if (rank.first_kept_step != kSetup) {
      info_.notes.push_back(dump::not_kept(files.rank, rank.first_kept_step));
    }
    number_lanes(rank);
    std::stable_sort(rank.environment.begin(), rank.environment.end(),
                     [](const EnvironmentEntry& a, const EnvironmentEntry& b) {
                       return std::tie(a.step, a.key) < std::tie(b.step, b.key);
                     });
  }

  void read_segment(const dump::Segment& segment, RankIndex& rank) {
    const dump::Tables& tables = segment.tables();
    const auto& attributes = segment.attributes();
    if (info_.level.empty()) info_.level = attributes.level;
    if (info_.command.empty()) info_.command = command_of(attributes.command);
    if (!attributes.incomplete_reason.empty()) note_incomplete(attributes.incomplete_reason);
    for (const auto& notice : tables.notices) {
      const std::string_view text = segment.string(notice.text);
      if (notice.fatal != 0) {
        note_incomplete(std::string(text));
      } else if (std::find(info_.notes.begin(), info_.notes.end(), text) == info_.notes.end()) {
        info_.notes.emplace_back(text);  // every segment repeats those before it
      }
    }
    for (const auto& row : tables.lanes) {
      Lane& lane = rank.lanes[row.lane];
      lane.id = row.lane;
      lane.role = static_cast<LaneRole>(row.role);
      lane.thread_name = segment.string(row.thread_name);
    }
    // In the order in which they were set; every segment repeats those before it.
    for (std::size_t i = rank.environment.size(); i < tables.environment.size(); ++i) {
      const auto& row = tables.environment[i];
      rank.environment.push_back(
          {row.step, std::string(segment.string(row.key)), std::string(segment.string(row.value))});
    }
    for (std::size_t i = 0; i < tables.blocks.size(); ++i) {
      const dump::BlockRow& row = tables.blocks[i];
      if (!takes_step(rank, row.step)) continue;
      rank.blocks[row.lane].push_back({row.first_position, row.last_position, row.step,
                                       static_cast<std::uint32_t>(rank.segments.size()),
                                       static_cast<std::uint32_t>(i)});
      rank.lanes[row.lane].id = row.lane;
      rank.lanes[row.lane].events += row.events;
      info_.events += row.events;
      info_.values += row.values;
      if (row.step != kSetup) steps_.insert(row.step);
    }
  }

  /// An event that ended long after events inside it were written is in a block after theirs.
  static void sort_blocks(const dump::RankFiles& files, RankIndex& rank) {
    for (auto& [lane, blocks] : rank.blocks) {
      std::sort(blocks.begin(), blocks.end(), [](const BlockPlace& a, const BlockPlace& b) {
        return a.first_position < b.first_position;
      });
      for (std::size_t i = 1; i < blocks.size(); ++i) {
        if (blocks[i].first_position <= blocks[i - 1].last_position ||
            blocks[i].step < blocks[i - 1].step) {
          throw Error(ErrorCode::corrupt,
                      "The segments in '" + files.directory.string() +
                          "' do not fit together: their events overlap.",
                      "Were segments of two recordings mixed?");
        }
      }
    }
  }

  void name_ranks() {
    std::vector<dump::NumberedOrigin> origins;
    for (const auto& [number, rank] : ranks_) origins.push_back({number, rank.origin});
    std::vector<RankIdentity> identities = dump::identify(origins);
    auto next = identities.begin();
    for (auto& [number, rank] : ranks_) rank.identity = std::move(*next++);
  }

  /// In the order in which their threads were created; those for which it is unknown follow in the
  /// order of their first events.
  static void number_lanes(RankIndex& rank) {
    const dump::ThreadCreations creations(rank.environment);
    std::vector<Lane*> lanes;
    for (auto& [id, lane] : rank.lanes) lanes.push_back(&lane);
    std::stable_sort(lanes.begin(), lanes.end(), [&](const Lane* a, const Lane* b) {
      return creations.is_earlier(a->id, b->id);
    });
    std::map<LaneRole, std::uint32_t> ordinals;
    for (Lane* lane : lanes) {
      lane->ordinal = ordinals[lane->role]++;
      lane->created_by = creations.calls(lane->id);
    }
  }

  [[noreturn]] void refuse_empty(const std::filesystem::path& directory,
                                 std::span<const dump::RankMarks> ranks,
                                 const std::optional<dump::Status>& status) const {
    const std::string name = "'" + directory.string() + "'";
    if (!selector_.ranks.empty() && ranks.empty()) {
      throw Error(ErrorCode::usage, name + " has no rank that was selected.");
    }
    const bool lost = std::any_of(ranks.begin(), ranks.end(), [](const dump::RankMarks& rank) {
      return rank.files.lost_segment().has_value();
    });
    if (lost || (status && status->recorded && !status->ranks.empty())) {
      throw Error(ErrorCode::incomplete,
                  name + " has lost all that was recorded: " + info_.incomplete_reason);
    }
    if (status) {
      if (const auto why = dump::why_empty(ranks, *status))
        throw Error(ErrorCode::incomplete, name + " is empty, nothing was recorded: " + *why);
    }
    const bool journals = std::any_of(
        ranks.begin(), ranks.end(), [](const auto& rank) { return !rank.files.journals.empty(); });
    if (journals) {
      throw Error(ErrorCode::incomplete, name + " holds a journal but no published segment.",
                  "Run `ulpscope recover " + directory.string() + "` to bring its events back.");
    }
    throw Error(ErrorCode::not_a_dump, name + " is not a dump.",
                "A dump is the directory that `ulpscope record -o` wrote.");
  }

  dump::Selector selector_;
  RunInfo info_;
  std::map<std::uint32_t, RankIndex> ranks_;
  std::set<std::int64_t> steps_;
  mutable dump::SegmentCache cache_{kSegmentsInMemory};
};

}  // namespace

std::unique_ptr<Run> open_dump(const std::filesystem::path& directory, std::string_view selector) {
  return std::make_unique<DumpRun>(directory, selector);
}

}  // namespace ulpscope
