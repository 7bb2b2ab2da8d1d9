#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/model/lane_reader.hpp"
#include "compare/model/scene.hpp"
#include "compare/model/side.hpp"
#include "compare/model/window.hpp"

namespace ulpscope::comparison {

/// A thread that may take its work from where others do, whoever comes first, or what the main one
/// does of that.
[[nodiscard]] bool shares_work(const Lane& lane) noexcept;

/// "main", "autograd", "worker 0", "thread 3".
[[nodiscard]] std::string lane_name(const Lane& lane);

/// The same as reports say it of an event: backward is "autograd", whichever thread ran it.
[[nodiscard]] std::string lane_words(const Lane& lane, const Event& event);

/// Place of that lane among the lanes of one position: main, autograd, workers, other threads.
[[nodiscard]] std::uint8_t lane_order(const Lane& lane, const Event& event) noexcept;

/// A line of the program.
struct ProgramLine {
  std::string place;   ///< "train.cpp:41"; empty: not known
  std::string source;  ///< "loss.backward()"; empty: not known
  std::string file;    ///< "src/train.cpp", from where recording was started; empty: not known
};

/// A call of a stack.
struct StackCall {
  ProgramLine line;
  std::string function;  ///< "main"; empty: not known
};
/// Innermost first.
[[nodiscard]] std::vector<StackCall> stack_calls(std::string_view stack);

/// The innermost call of a stack outside LibTorch and the standard library; if there are only their
/// calls, the innermost.
[[nodiscard]] ProgramLine place_in_program(std::string_view stack);

/// Names of the ops and autograd nodes that an event runs inside, outermost first.
[[nodiscard]] std::vector<std::string> callers(const Window& window, std::uint32_t event);

/// Names of the ops that an event calls directly.
[[nodiscard]] std::vector<std::string> inner_names(const Window& window, std::uint32_t event);

/// The name of a tensor: its own, else the schema's.
[[nodiscard]] std::string tensor_name(const Event& event, const Slot& slot);

/// The module of an event: its own or that of what it runs inside or, in backward, that of the
/// forward op.
struct ModuleName {
  bool known = false;
  std::string root;
  std::string path;
  std::string type;
  /// The calls of modules before and after, if the path is only the call around them.
  std::optional<Both<std::string>> between;
};
[[nodiscard]] ModuleName module_of(const Scene& scene, Side side, std::uint32_t event);

/// The node around an event that names the forward op it belongs to; kNoIndex if there is none.
[[nodiscard]] std::uint32_t linked_node(const Window& window, std::uint32_t event);

/// Position of the forward op that the backward node around an event belongs to; none if there is
/// no such op.
[[nodiscard]] EventPlace forward_place(const Window& window, std::uint32_t event);

/// That forward op; an empty event pointer if there is none.
[[nodiscard]] HeldEvent forward_of(const Scene& scene, Side side, std::uint32_t event);

/// Names of the nearest modules before and after an event; empty if there are none.
[[nodiscard]] Both<std::string> neighbours_by_module(const Window& window, std::uint32_t at);

/// The innermost call of the program that is known around an event or, in backward, around its
/// forward op.
[[nodiscard]] ProgramLine program_line(const Scene& scene, Side side, std::uint32_t event);

}  // namespace ulpscope::comparison
