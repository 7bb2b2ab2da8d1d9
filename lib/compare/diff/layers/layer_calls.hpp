#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/diff/source.hpp"
#include "compare/model/lane_reader.hpp"

namespace ulpscope::comparison {

/// One call of a module that both runs make, and why what belongs to it differs.
struct LayerCall {
  EventPlace place;    ///< of the module event in the reference
  EventPlace partner;  ///< the same in the candidate, once it is known
  EventPlace parent;   ///< the call it runs inside
  std::string root;
  std::string path;
  std::string before;  ///< the module that was compared last before it, in words
  bool has_path = false;
  bool has_inner = false;                 ///< calls of other modules run inside it
  bool gradients_seen = false;            ///< a gradient with respect to an output was recorded
  std::optional<Source> inputs;           ///< an input differs
  std::optional<Source> inside;           ///< something that it or a call inside it left differs
  std::optional<Source> gradients;        ///< a gradient with respect to an output differs
  std::optional<Source> inner_gradients;  ///< one at the boundary of a call inside it
  std::optional<Source> backward;         ///< the finding that its backward parts
};

/// The calls of modules in this step and in the one before.
class LayerCalls {
 public:
  void begin_step();

  /// The call at a place of the reference; null if it is not known.
  [[nodiscard]] LayerCall* find(EventPlace place);
  /// `before`: the module that was compared last, in words.
  LayerCall& add(EventPlace place, EventPlace parent, const Event& module, std::string before);
  /// Calls of a module in this step or, where it has none, of the nearest module around it.
  [[nodiscard]] std::vector<LayerCall*> of_module(const std::string& root, std::string path);

  /// Something inside a call differs, hence inside the calls around it.
  void mark_inside(EventPlace place, const Source& source);
  void mark_inner_gradients(EventPlace place, const Source& source);

 private:
  [[nodiscard]] LayerCall* around(const LayerCall& inner);

  using Key = std::pair<std::uint32_t, std::uint64_t>;

  std::map<Key, LayerCall> calls_;
  std::map<Key, LayerCall> calls_before_;
  std::multimap<std::pair<std::string, std::string>, LayerCall*> by_module_;  ///< of this step
};

}  // namespace ulpscope::comparison
