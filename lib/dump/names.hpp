#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ring/message.hpp"
#include "ulpscope/run.hpp"

/// The names a rank's events use: rings count ids each for itself, here every string, op and
/// geometry has one id for all rings of the rank, from 1; 0 is none.
namespace ulpscope::dump {

/// Byte strings, each stored once, numbered from 1.
class Pool {
 public:
  std::uint32_t add(std::string_view bytes);
  [[nodiscard]] std::string_view at(std::uint32_t id) const { return *items_[id - 1]; }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> items_;
};

struct OpName {
  std::uint32_t name;
  std::uint32_t overload;
  std::uint32_t argument_names;
  std::uint32_t return_names;
};

struct GeometryName {
  std::int64_t storage_offset;
  std::uint16_t flags;
  std::uint8_t dtype;
  std::uint8_t device_type;
  std::int8_t device_index;
  std::uint8_t layout;
  std::uint8_t dimensions;
  std::uint8_t has_strides;
};

/// Where in the program an address of a mapped object is, as text; empty if that is not known.
using FrameResolver = std::function<std::string(std::string_view object, std::uint64_t offset)>;

/// Texts of return addresses, each requested once.
class FrameTexts {
 public:
  explicit FrameTexts(FrameResolver resolve = {}) : resolve_(std::move(resolve)) {}

  /// What the resolver says, else "/lib/libfoo.so+0x1234".
  [[nodiscard]] const std::string& text(std::string_view object, std::uint64_t offset);

 private:
  FrameResolver resolve_;
  std::map<std::pair<std::string, std::uint64_t>, std::string> texts_;
};

/// The geometry that a GeometryName and its dimensions describe.
[[nodiscard]] Geometry geometry_of(std::string_view bytes);

struct RankNames {
  FrameTexts frames;
  Pool strings;
  Pool ops;         ///< each an OpName
  Pool geometries;  ///< each a GeometryName, then its dimensions (int64)

  /// Without its overload; empty for 0.
  [[nodiscard]] std::string_view op_text(std::uint32_t id) const;
};

/// The ids of one ring. Definitions come from another process: a bad one is rejected with a reason
/// and changes nothing.
class RingNames {
 public:
  explicit RingNames(RankNames& names) noexcept : names_(names) {}

  /// `message` is a whole StringMessage, OpMessage, GeometryMessage or StackMessage.
  /// @returns why it cannot be right; nothing if it was taken.
  [[nodiscard]] std::optional<std::string> define(std::span<const std::byte> message);

  /// The rank's id; 0 for 0 and for ids never defined.
  [[nodiscard]] std::uint32_t string(std::uint32_t id) const noexcept { return find(strings_, id); }
  [[nodiscard]] std::uint32_t op(std::uint32_t id) const noexcept { return find(ops_, id); }
  [[nodiscard]] std::uint32_t geometry(std::uint32_t id) const noexcept {
    return find(geometries_, id);
  }
  /// The string id of a stack's frames, a line each.
  [[nodiscard]] std::uint32_t stack(std::uint32_t id) const noexcept { return find(stacks_, id); }
  [[nodiscard]] bool has_string(std::uint32_t id) const noexcept {
    return id == 0 || string(id) != 0;
  }
  [[nodiscard]] bool has_op(std::uint32_t id) const noexcept { return id == 0 || op(id) != 0; }
  [[nodiscard]] bool has_geometry(std::uint32_t id) const noexcept {
    return id == 0 || geometry(id) != 0;
  }
  [[nodiscard]] bool has_stack(std::uint32_t id) const noexcept {
    return id == 0 || stack(id) != 0;
  }
  /// Every definition so far, as messages.
  [[nodiscard]] std::span<const std::byte> definitions() const noexcept { return definitions_; }

 private:
  static std::uint32_t find(const std::vector<std::uint32_t>& ids, std::uint32_t id) noexcept {
    return id < ids.size() ? ids[id] : 0;
  }
  std::optional<std::string> set(std::vector<std::uint32_t>& ids, std::uint32_t id,
                                 std::uint32_t rank_id, std::span<const std::byte> message);
  [[nodiscard]] std::uint32_t op_name(std::uint32_t id);
  std::optional<std::string> define_string(std::span<const std::byte> message);
  std::optional<std::string> define_op(std::span<const std::byte> message);
  std::optional<std::string> define_geometry(std::span<const std::byte> message);
  std::optional<std::string> define_stack(std::span<const std::byte> message);

  RankNames& names_;
  std::vector<std::uint32_t> strings_;
  std::vector<std::uint32_t> ops_;
  std::vector<std::uint32_t> geometries_;
  std::vector<std::uint32_t> stacks_;
  std::vector<std::byte> definitions_;
};

}  // namespace ulpscope::dump
