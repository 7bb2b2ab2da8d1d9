#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/event_builder.hpp"
#include "tests/support/memory_run.hpp"
#include "tests/support/values.hpp"
#include "ulpscope/run.hpp"

/// Runs without a dump: a program is described op by op, and the builder keeps the dataflow
/// (storages, writes, writers, generator states) as a recorder would.
namespace ulpscope::test {

namespace detail {

struct Storage {
  std::vector<std::byte> bytes;
  std::string name;
  std::uint32_t flags = 0;  ///< slot_flag: parameter, buffer, gradient
  std::uint32_t writes = 0;
  std::uint64_t writer = kNone;
  std::uint32_t writer_lane = 0;
  bool uninitialised = false;
  bool changed = false;
};

}  // namespace detail

class RunBuilder {
 public:
  RunBuilder();
  RunBuilder(const RunBuilder&) = delete;
  RunBuilder& operator=(const RunBuilder&) = delete;
  ~RunBuilder();

  RunBuilder& step(std::int64_t number);
  RunBuilder& phase(Phase phase);
  /// Events come from this lane from now on.
  RunBuilder& lane(LaneRole role, std::uint32_t ordinal, const std::string& thread = "thread",
                   const std::string& created_by = {});
  /// The thread of this lane has this name.
  RunBuilder& thread_name(const std::string& name);
  RunBuilder& backward(bool on);
  RunBuilder& threads(std::uint16_t count);
  RunBuilder& seed(std::uint64_t number);
  /// The generator is moved by something that is not recorded.
  RunBuilder& draw_unseen(std::uint64_t count);
  /// Numbers drawn since the seed was set.
  [[nodiscard]] std::uint64_t drawn() const noexcept { return drawn_; }
  /// A text that changes with a tensor's bytes.
  [[nodiscard]] std::string content_words(const Tensor& tensor) const;
  RunBuilder& environment(std::string key, std::string value);
  RunBuilder& incomplete(std::string reason);
  RunBuilder& exit_code(int code);
  RunBuilder& command(std::vector<std::string> words);
  /// From now on the bytes of all values are recorded too.
  RunBuilder& keep_content();
  RunBuilder& split_blocks(std::size_t events);
  /// Inputs are not digested again at the read.
  RunBuilder& without_verification();
  /// Modules from now on are those of this root.
  RunBuilder& root(std::string name);
  /// The program updates its parameters itself.
  RunBuilder& without_optimizer();
  RunBuilder& rank(std::uint32_t number);

  /// A tensor that no recorded op made.
  Tensor data(const Values& values);
  Tensor parameter(std::string name, const Values& values);
  Tensor buffer(std::string name, const Values& values);
  /// The tensor seen through other sizes, strides and offset (in elements).
  [[nodiscard]] Tensor view(const Tensor& of, std::vector<std::int64_t> sizes,
                            std::vector<std::int64_t> strides, std::int64_t offset = 0) const;
  void name_storage(const Tensor& tensor, std::string name, std::uint32_t flags);
  /// The program writes without the recorder seeing it. The next read is flagged as changed unless
  /// it is `unnoticed`, as if a recorder never saw that view of the memory before.
  void overwrite(const Tensor& tensor, const Values& values, bool unnoticed = false);

  EventBuilder op(std::string_view name);
  /// An event that is not an op.
  EventBuilder event(EventKind kind, std::string_view name);
  /// An op that calls others: `body` gets it while it is open and returns the tensor that the op
  /// returns.
  Tensor composite(std::string_view name, const std::function<Tensor(EventBuilder&)>& body);
  /// Ops in `body` run inside this scope.
  void scope(EventKind kind, std::string_view name, const std::function<void()>& body);
  void module(std::string_view path, const std::function<void()>& body,
              std::string_view type = "Linear");
  /// A module whose outputs are recorded with its end.
  void module_with_output(std::string_view path, const std::function<Tensor()>& body,
                          std::string_view type = "Linear");
  /// The call of a module, with what crosses its boundary; returns its position.
  std::uint64_t call(std::string_view path, const std::function<void(EventBuilder&)>& body,
                     std::string_view type = "Linear");
  /// What else is recorded of a module: an output or a gradient of its call at `forward`.
  EventBuilder of_module(EventKind kind, std::string_view path, std::uint64_t forward,
                         std::string_view type = "Linear");
  /// A parameter's gradient has been accumulated.
  Tensor gradient(const std::string& name, const Values& values, std::string_view path);
  /// The root's current parameters and buffers.
  void parameters(const std::vector<Tensor>& tensors);
  /// `forward` is the position of an op of this lane, or of a different one.
  void node(std::string_view name, std::uint64_t forward, const std::function<void()>& body,
            std::optional<std::uint32_t> lane = {}, const std::optional<Tensor>& gradient = {});

  /// Memory that is live when the run ends, with the content that it has then; `freed` was released
  /// after the last op, without another look at it.
  void leaves(const std::vector<Tensor>& tensors, const std::vector<Tensor>& freed = {});
  /// What the run left when it ended was not recorded.
  RunBuilder& without_outcomes();

  /// The program has begun that many steps, recorded or not.
  void steps_in_run(std::uint64_t steps);

  /// The position that the next event of this lane takes.
  [[nodiscard]] std::uint64_t next_position() const;

  /// The finished run; the builder is empty afterwards.
  [[nodiscard]] std::unique_ptr<MemoryRun> build();

 private:
  friend class EventBuilder;

  struct ModuleOfEvent {
    std::string_view path, type;
  };
  EventBuilder begin(EventKind kind, std::string_view name);
  EventBuilder begin(EventKind kind, std::string_view name, const ModuleOfEvent& module,
                     std::uint64_t forward);
  Tensor make(const Values& values, std::string name, std::uint32_t flags);
  /// Writes numbers, given in the view's logical order, into the view's elements.
  void store(const Tensor& tensor, const Values& values);
  [[nodiscard]] Digest state(std::uint64_t drawn) const;

  std::unique_ptr<MemoryRun> run_;
  std::map<std::uint64_t, detail::Storage> storages_;
  std::uint64_t next_storage_ = 1;
  std::vector<std::pair<std::string, std::string>> modules_;
  bool records_outcomes_ = true;  ///< at the end of the main lane, if none were given
  std::int64_t step_ = kSetup;
  Phase phase_ = Phase::forward;
  std::uint32_t lane_ = 0;
  std::uint16_t threads_ = 1;
  std::uint64_t seed_ = 42;
  std::uint64_t drawn_ = 0;
  std::map<std::uint64_t, std::uint64_t> drawn_from_own_;  ///< by generator
  bool backward_ = false;
  bool keep_content_ = false;
  bool verify_ = true;
  bool has_optimizer_ = true;
  std::string root_ = "Net";
};

}  // namespace ulpscope::test
