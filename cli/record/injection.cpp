#include "cli/record/injection.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/files.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;
namespace injection = ring::injection;

constexpr std::uint32_t kNotGiven = slot_flag::undefined | slot_flag::no_digest |
                                    slot_flag::uninitialised | slot_flag::wrapped_number |
                                    slot_flag::handle | slot_flag::opaque | slot_flag::overwritten |
                                    slot_flag::scratch | slot_flag::metadata_only;

[[nodiscard]] bool can_be_given(const Slot& slot) {
  const bool is_view = slot.role != Role::input && (slot.flags & slot_flag::view) != 0;
  return (slot.flags & kNotGiven) == 0 && !is_view && slot.geometry != nullptr &&
         slot.geometry->layout == 0 &&
         (slot.geometry->flags & (geometry_flag::conj | geometry_flag::neg)) == 0;
}

/// Events of a lane as they come, and what each of them runs inside.
class OpenEvents {
 public:
  struct Around {
    std::string_view name;  ///< of the innermost event; empty: none
    std::size_t ops = 0;    ///< that enclose it
  };

  [[nodiscard]] Around enter(const Event& event) {
    while (!open_.empty() && open_.back().position != event.parent) open_.pop_back();
    const Around around = open_.empty() ? Around{} : Around{open_.back().name, open_.back().ops};
    const std::size_t is_op = event.kind == EventKind::op ? 1 : 0;
    open_.push_back({event.position, std::string(event.op), around.ops + is_op});
    return around;
  }

 private:
  struct Open {
    std::uint64_t position;
    std::string name;
    std::size_t ops;  ///< itself and those that enclose it
  };
  std::deque<Open> open_;
};

[[nodiscard]] std::uint64_t signature_of(const Event& event, std::string_view around) {
  injection::CallSignature signature;
  signature.add_name(event.op);
  signature.add_name(event.overload);
  signature.add_name(around);
  for (const Slot& slot : event.slots)
    if (slot.role == Role::input && (slot.flags & slot_flag::undefined) == 0 &&
        slot.geometry != nullptr)
      signature.add_tensor(slot.index, slot.element, static_cast<std::int8_t>(slot.geometry->dtype),
                           slot.geometry->sizes);
  return signature.value();
}

/// Goes to where an outermost op is. True if it is the first one in its part of a module's call.
[[nodiscard]] bool enter_place(std::string& place, const Event& event) {
  std::string now;
  if (event.has_module)
    now = fmt::format("{}/{}/{}", static_cast<int>(event.phase), event.root, event.module);
  const bool enters = !now.empty() && now != place;
  place = std::move(now);
  return enters;
}

class FileMaker {
 public:
  FileMaker(const Run& run, std::uint32_t rank, injection::At at)
      : run_(run), rank_(rank), at_(at) {}

  /// False if no bytes of a value are in the run.
  [[nodiscard]] bool write(const fs::path& path) {
    for (const Lane& lane : run_.lanes(rank_))
      for (const bool backward : {false, true}) add(lane, backward);
    const std::uint64_t tables =
        sizeof(injection::Header) + size_of(lanes_) + size_of(calls_) + size_of(values_);
    dump::File file = dump::File::create(path);
    const std::uint64_t end = write_contents(file, tables);
    const injection::Header header{
        .lanes = lanes_.size(), .calls = calls_.size(), .values = values_.size()};
    file.write_at(0, std::as_bytes(std::span(&header, 1)));
    std::uint64_t offset = sizeof header;
    for (const auto& table : {std::as_bytes(std::span(lanes_)), std::as_bytes(std::span(calls_)),
                              std::as_bytes(std::span(values_))}) {
      file.write_at(offset, table);
      offset += table.size();
    }
    file.close();
    return end > tables;
  }

 private:
  template <class T>
  [[nodiscard]] static std::uint64_t size_of(const std::vector<T>& table) {
    return table.size() * sizeof(T);
  }

  void add(const Lane& lane, bool backward) {
    lanes_.push_back(
        {.is_main = lane.role == LaneRole::main ? 1U : 0U, .is_backward = backward ? 1U : 0U});
    OpenEvents open;
    enclosing_.clear();
    std::string place;
    for (std::size_t k = 0; k < run_.block_count(rank_, lane.id); ++k) {
      const Block block = run_.block(rank_, lane.id, k);
      for (const Event& event : block.events) {
        const OpenEvents::Around around = open.enter(event);
        const bool belongs = ((event.flags & event_flag::in_backward) != 0) == backward;
        if (event.kind != EventKind::op || event.op == kInject || !belongs) continue;
        const bool enters = around.ops == 0 && enter_place(place, event);
        add(event, around, enters);
      }
    }
  }

  void add(const Event& event, const OpenEvents::Around& around, bool enters_module) {
    ++lanes_.back().calls;
    while (!enclosing_.empty() && enclosing_.back().ops >= around.ops) enclosing_.pop_back();
    for (const Enclosing& call : enclosing_) ++calls_[call.number].inside;
    enclosing_.push_back({calls_.size(), around.ops});
    injection::Call call{.signature = signature_of(event, around.name),
                         .first_value = values_.size()};
    const bool gives_results = at_ == injection::At::origins && around.ops == 0;
    const bool gives_inputs =
        at_ == injection::At::op || (at_ == injection::At::module && enters_module);
    if (gives_results) call.flags |= injection::call_flag::gives_results;
    if (gives_inputs) call.flags |= injection::call_flag::gives_inputs;
    if (gives_results || gives_inputs)
      for (const Slot& slot : event.slots)
        if (can_be_given(slot) && (gives_results || slot.role == Role::input)) add(slot);
    call.values = static_cast<std::uint32_t>(values_.size() - call.first_value);
    calls_.push_back(call);
  }

  void add(const Slot& slot) {
    const auto dtype = static_cast<std::int8_t>(slot.geometry->dtype);
    const auto packed = packed_strides(slot.geometry->sizes, slot.geometry->strides);
    values_.push_back({.digest = {slot.digest.high, slot.digest.low},
                       .layout = injection::layout_of(dtype, slot.geometry->sizes, packed),
                       .index = slot.index,
                       .element = slot.element,
                       .role = static_cast<std::uint8_t>(slot.role)});
  }

  /// Each content once. Gives where they end.
  [[nodiscard]] std::uint64_t write_contents(dump::File& file, std::uint64_t offset) {
    struct Stored {
      std::uint64_t offset = 0;
      std::uint64_t bytes = 0;
    };
    std::map<Digest, Stored> stored;
    std::vector<std::byte> piece(std::size_t{1} << 20);
    for (injection::Value& value : values_) {
      const Digest digest{value.digest[0], value.digest[1]};
      const auto [at, added] = stored.try_emplace(digest);
      if (added) {
        if (const auto reader = run_.open_content(rank_, digest)) {
          at->second = {offset, reader->size()};
          for (std::uint64_t left = reader->size(); left > 0;) {
            const auto part = std::span(piece).first(std::min<std::uint64_t>(left, piece.size()));
            reader->read(part);
            file.write_at(offset, part);
            offset += part.size();
            left -= part.size();
          }
        }
      }
      value.offset = at->second.offset;
      value.bytes = at->second.bytes;
    }
    return offset;
  }

  /// A call that encloses the ones that follow.
  struct Enclosing {
    std::size_t number;
    std::size_t ops;  ///< that enclose it
  };

  const Run& run_;
  std::uint32_t rank_;
  injection::At at_;
  std::vector<Enclosing> enclosing_;
  std::vector<injection::Lane> lanes_;
  std::vector<injection::Call> calls_;
  std::vector<injection::Value> values_;
};

/// A new file in the directory for temporary files.
[[nodiscard]] fs::path new_file() {
  std::string name = (fs::temp_directory_path() / "ulpscope-inject-XXXXXX").string();
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0)
    throw Error(ErrorCode::io,
                fmt::format("'{}' has no room for a file", fs::temp_directory_path().string()),
                "TMPDIR names another directory");
  close(descriptor);
  return name;
}

}  // namespace

InjectionFile::InjectionFile(const Run& run, injection::At at) {
  const std::string& dump = run.info().path;
  constexpr const char* kNeedsBytes = "record it with --level full";
  if (run.info().level != "full")
    throw Error(ErrorCode::usage, fmt::format("'{}' holds no bytes that could be given", dump),
                kNeedsBytes);
  const std::vector<std::uint32_t> ranks = run.ranks();
  const auto declared = std::count_if(ranks.begin(), ranks.end(), [&](std::uint32_t rank) {
    return !run.identity(rank).declared.empty();
  });
  if (declared > 1)
    throw Error(
        ErrorCode::usage,
        fmt::format("'{}' is of {} ranks: values are given to a single process", dump, declared),
        fmt::format("choose one with {}@rank=0, and record only that process", dump));
  path_ = new_file();
  try {
    if (FileMaker(run, ranks.front(), at).write(path_)) return;
  } catch (...) {
    remove(path_.c_str());
    throw;
  }
  remove(path_.c_str());
  throw Error(ErrorCode::usage, fmt::format("'{}' holds no bytes that could be given", dump),
              kNeedsBytes);
}

InjectionFile::~InjectionFile() {
  remove(path_.c_str());
  remove((path_.string() + std::string(injection::kTaken)).c_str());
}

}  // namespace ulpscope::cli
