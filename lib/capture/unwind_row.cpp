#include "capture/unwind_row.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

// Since glibc 2.35; the symbol is weak so that older ones still load what contains this.
extern "C" __attribute__((weak)) int _dl_find_object(void*, dl_find_object*) noexcept;

namespace ulpscope::capture {
namespace {

constexpr std::uint8_t kPcRelative4 = 0x1b;    // DW_EH_PE_pcrel | DW_EH_PE_sdata4
constexpr std::uint8_t kDataRelative4 = 0x3b;  // DW_EH_PE_datarel | DW_EH_PE_sdata4
constexpr std::uint8_t kUnsigned4 = 0x03;      // DW_EH_PE_udata4
constexpr std::uint8_t kPcRelativeIndirect4 = 0x9b;

constexpr unsigned kFramePointer = 6;
constexpr unsigned kStackPointer = 7;
constexpr unsigned kReturnAddress = 16;
constexpr std::size_t kRegisters = 17;

/// Reads what a linker and a compiler wrote.
class Bytes {
 public:
  Bytes(const std::byte* at, const std::byte* end) : at_(at), end_(end) {}

  [[nodiscard]] bool done() const noexcept { return at_ >= end_; }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] const std::byte* at() const noexcept { return at_; }
  [[nodiscard]] const std::byte* end() const noexcept { return end_; }

  template <class Number>
  Number get() noexcept {
    Number number{};
    if (static_cast<std::size_t>(end_ - at_) < sizeof number) {
      ok_ = false;
      at_ = end_;
      return number;
    }
    std::memcpy(&number, at_, sizeof number);
    at_ += sizeof number;
    return number;
  }

  std::uint64_t uleb() noexcept {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      const auto byte = get<std::uint8_t>();
      number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return number;
    }
    ok_ = false;
    return 0;
  }

  std::int64_t sleb() noexcept {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      const auto byte = get<std::uint8_t>();
      number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0) number |= ~std::uint64_t{0} << (shift + 7);
      return static_cast<std::int64_t>(number);
    }
    ok_ = false;
    return 0;
  }

  Bytes take(std::uint64_t count) noexcept {
    if (count > static_cast<std::size_t>(end_ - at_)) {
      ok_ = false;
      count = 0;
    }
    const std::byte* begin = at_;
    at_ += count;
    return {begin, at_};
  }

  std::string_view text() noexcept {
    const auto* begin = reinterpret_cast<const char*>(at_);
    while (ok_ && get<std::uint8_t>() != 0) {
    }
    return {begin, static_cast<std::size_t>(reinterpret_cast<const char*>(at_) - begin - 1)};
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

/// An entry of .eh_frame after its length; nothing for one in the 64-bit form.
std::optional<Bytes> entry(const std::byte* at) noexcept {
  std::uint32_t length = 0;
  std::memcpy(&length, at, sizeof length);
  if (length == 0 || length == 0xffffffff) return std::nullopt;
  return Bytes(at + sizeof length, at + sizeof length + length);
}

/// What the functions of one entry have in common (a CIE).
struct Common {
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
  bool has_augmentation = false;
  Bytes instructions{nullptr, nullptr};
};

std::optional<Common> read_common(const std::byte* at) noexcept {
  auto in = entry(at);
  if (!in || in->get<std::uint32_t>() != 0) return std::nullopt;
  const auto version = in->get<std::uint8_t>();
  const std::string_view augmentation = in->text();
  Common common;
  common.code_factor = in->uleb();
  common.data_factor = in->sleb();
  const std::uint64_t return_register = version == 1 ? in->get<std::uint8_t>() : in->uleb();
  if ((version != 1 && version != 3) || return_register != kReturnAddress) return std::nullopt;
  if (!augmentation.empty()) {
    if (augmentation.front() != 'z') return std::nullopt;
    common.has_augmentation = true;
    Bytes data = in->take(in->uleb());
    for (const char letter : augmentation.substr(1)) {
      if (letter == 'R') {
        if (data.get<std::uint8_t>() != kPcRelative4) return std::nullopt;
      } else if (letter == 'P') {
        const auto encoding = data.get<std::uint8_t>();
        if (encoding != kPcRelative4 && encoding != kPcRelativeIndirect4) return std::nullopt;
        data.get<std::uint32_t>();
      } else if (letter == 'L') {
        data.get<std::uint8_t>();
      } else {
        return std::nullopt;  // a signal's frame, among others
      }
    }
    if (!data.ok()) return std::nullopt;
  }
  if (!in->ok()) return std::nullopt;
  common.instructions = Bytes(in->at(), in->end());
  return common;
}

/// Where the entry of the function at `address` is, by the sorted table of .eh_frame_hdr.
const std::byte* function_entry(const std::byte* header, std::uintptr_t address,
                                bool& supported) noexcept {
  std::array<std::uint8_t, 4> form{};
  std::memcpy(form.data(), header, form.size());
  supported =
      form[0] == 1 && form[1] == kPcRelative4 && form[2] == kUnsigned4 && form[3] == kDataRelative4;
  if (!supported) return nullptr;
  std::uint32_t count = 0;
  std::memcpy(&count, header + 8, sizeof count);
  struct Row {
    std::int32_t begin;
    std::int32_t entry;
  };
  const auto* rows = reinterpret_cast<const Row*>(header + 12);
  const auto wanted = static_cast<std::int64_t>(address - reinterpret_cast<std::uintptr_t>(header));
  const Row* after =
      std::upper_bound(rows, rows + count, wanted,
                       [](std::int64_t offset, const Row& row) { return offset < row.begin; });
  return after == rows ? nullptr : header + std::prev(after)->entry;
}

/// The machine that call frame instructions are for.
class Machine {
 public:
  Machine(const Common& common, std::uintptr_t begin, std::uintptr_t address)
      : common_(common), at_(begin), address_(address) {}

  /// False if an instruction is not supported.
  bool run(Bytes in, bool initial) noexcept {
    while (!in.done() && in.ok()) {
      const auto code = in.get<std::uint8_t>();
      const std::uint64_t low = code & 0x3f;
      switch (code & 0xc0) {
        case 0x40:  // DW_CFA_advance_loc
          if (!advance(low)) return true;
          continue;
        case 0x80:  // DW_CFA_offset
          save(low, static_cast<std::int64_t>(in.uleb()) * common_.data_factor);
          continue;
        case 0xc0:  // DW_CFA_restore
          restore(low);
          continue;
        default:
          break;
      }
      if (!run_long(code, in)) return ended_;
    }
    if (initial) initial_ = state_;
    return in.ok();
  }

  [[nodiscard]] UnwindRow row() const noexcept {
    UnwindRow row;
    const Rule& back = state_.rules[kReturnAddress];
    if (back.kind == Rule::Kind::undefined) {
      row.kind = UnwindRow::Kind::outermost;
    } else if (back.kind != Rule::Kind::end || back.offset != -8 || !state_.known) {
      return row;
    } else {
      row.kind = UnwindRow::Kind::step;
    }
    row.base = state_.base;
    row.offset = static_cast<std::int32_t>(state_.offset);
    for (std::size_t i = 0; i < UnwindRow::kPreserved.size(); ++i) {
      const Rule& rule = state_.rules[UnwindRow::kPreserved[i]];
      const auto offset = static_cast<std::int32_t>(rule.offset);
      if (rule.kind == Rule::Kind::end) row.saved[i] = {UnwindRow::Place::end, offset};
      if (rule.kind == Rule::Kind::frame_pointer)
        row.saved[i] = {UnwindRow::Place::frame_pointer, offset};
      if (rule.kind == Rule::Kind::unsupported) row.kind = UnwindRow::Kind::unsupported;
    }
    return row;
  }

 private:
  struct Rule {
    enum class Kind : std::uint8_t { same, undefined, end, frame_pointer, unsupported };
    Kind kind = Kind::same;
    std::int64_t offset = 0;
  };
  struct State {
    std::array<Rule, kRegisters> rules;
    UnwindRow::Base base = UnwindRow::Base::stack_pointer;
    std::int64_t offset = 0;
    bool known = false;  ///< the end is described in a supported form
  };
  static constexpr std::size_t kMostRemembered = 8;

  /// False, and the end of the work, if the next rows belong to later addresses.
  bool advance(std::uint64_t delta) noexcept {
    at_ += delta * common_.code_factor;
    ended_ = at_ > address_;
    return !ended_;
  }

  void set(std::uint64_t number, Rule rule) noexcept {
    if (number < kRegisters) state_.rules[number] = rule;
  }
  void save(std::uint64_t number, std::int64_t offset) noexcept {
    set(number, {Rule::Kind::end, offset});
  }
  void restore(std::uint64_t number) noexcept {
    if (number < kRegisters) state_.rules[number] = initial_.rules[number];
  }
  void set_end(std::uint64_t number, std::int64_t offset) noexcept {
    state_.known = number == kStackPointer || number == kFramePointer;
    state_.base =
        number == kFramePointer ? UnwindRow::Base::frame_pointer : UnwindRow::Base::stack_pointer;
    state_.offset = offset;
  }

  /// A location that is an offset from the frame pointer (DW_OP_breg6), and whether the word there
  /// is meant rather than its address: how functions that realign their stack say it.
  struct FromFramePointer {
    bool fits = false;
    bool word = false;
    std::int64_t offset = 0;
  };
  static FromFramePointer expression(Bytes in) noexcept {
    constexpr std::uint8_t kBreg6 = 0x76;
    constexpr std::uint8_t kDeref = 0x06;
    FromFramePointer found;
    if (in.get<std::uint8_t>() != kBreg6) return found;
    found.offset = in.sleb();
    if (!in.done()) found.word = in.get<std::uint8_t>() == kDeref;
    found.fits = in.ok() && in.done();
    return found;
  }

  bool run_long(std::uint8_t code, Bytes& in) noexcept {
    switch (code) {
      case 0x00:  // DW_CFA_nop
        return true;
      case 0x02:  // DW_CFA_advance_loc1
        return advance(in.get<std::uint8_t>());
      case 0x03:  // DW_CFA_advance_loc2
        return advance(in.get<std::uint16_t>());
      case 0x04:  // DW_CFA_advance_loc4
        return advance(in.get<std::uint32_t>());
      case 0x05: {  // DW_CFA_offset_extended
        const std::uint64_t number = in.uleb();
        save(number, static_cast<std::int64_t>(in.uleb()) * common_.data_factor);
        return true;
      }
      case 0x06:  // DW_CFA_restore_extended
        restore(in.uleb());
        return true;
      case 0x07:  // DW_CFA_undefined
        set(in.uleb(), {Rule::Kind::undefined, 0});
        return true;
      case 0x08:  // DW_CFA_same_value
        set(in.uleb(), {Rule::Kind::same, 0});
        return true;
      case 0x0a:  // DW_CFA_remember_state
        if (remembered_count_ == kMostRemembered) return false;
        remembered_[remembered_count_++] = state_;
        return true;
      case 0x0b:  // DW_CFA_restore_state
        if (remembered_count_ == 0) return false;
        state_ = remembered_[--remembered_count_];
        return true;
      case 0x0c: {  // DW_CFA_def_cfa
        const std::uint64_t number = in.uleb();
        set_end(number, static_cast<std::int64_t>(in.uleb()));
        return true;
      }
      case 0x0d:  // DW_CFA_def_cfa_register
        set_end(in.uleb(), state_.offset);
        return true;
      case 0x0e:  // DW_CFA_def_cfa_offset
        state_.offset = static_cast<std::int64_t>(in.uleb());
        return true;
      case 0x0f: {  // DW_CFA_def_cfa_expression
        const FromFramePointer end = expression(in.take(in.uleb()));
        state_.known = end.fits && end.word;
        state_.base = UnwindRow::Base::frame_pointer_word;
        state_.offset = end.offset;
        return true;
      }
      case 0x10: {  // DW_CFA_expression
        const std::uint64_t number = in.uleb();
        const FromFramePointer place = expression(in.take(in.uleb()));
        const bool fits = place.fits && !place.word;
        set(number, {fits ? Rule::Kind::frame_pointer : Rule::Kind::unsupported, place.offset});
        return true;
      }
      case 0x11: {  // DW_CFA_offset_extended_sf
        const std::uint64_t number = in.uleb();
        save(number, in.sleb() * common_.data_factor);
        return true;
      }
      case 0x12: {  // DW_CFA_def_cfa_sf
        const std::uint64_t number = in.uleb();
        set_end(number, in.sleb() * common_.data_factor);
        return true;
      }
      case 0x13:  // DW_CFA_def_cfa_offset_sf
        state_.offset = in.sleb() * common_.data_factor;
        return true;
      case 0x2e:  // DW_CFA_GNU_args_size
        in.uleb();
        return true;
      default:
        return false;
    }
  }

  const Common& common_;
  std::uintptr_t at_;
  std::uintptr_t address_;
  bool ended_ = false;
  State state_;
  State initial_;
  std::array<State, kMostRemembered> remembered_;
  std::size_t remembered_count_ = 0;
};

/// What is said of the function that an address lies in.
struct Function {
  Common common;
  std::uintptr_t begin = 0;
  Bytes rest;  ///< behind its address and size
};

/// @param kind the row's, where there is no such function
std::optional<Function> function_at(std::uintptr_t address, UnwindRow::Kind& kind) noexcept {
  kind = UnwindRow::Kind::unsupported;
  dl_find_object object{};
  if (_dl_find_object == nullptr) return {};
  kind = UnwindRow::Kind::unknown;
  if (_dl_find_object(reinterpret_cast<void*>(address), &object) != 0 ||
      object.dlfo_eh_frame == nullptr)
    return {};
  bool supported = false;
  const std::byte* at =
      function_entry(static_cast<const std::byte*>(object.dlfo_eh_frame), address, supported);
  if (supported && at == nullptr) return {};

  kind = UnwindRow::Kind::unsupported;
  if (!supported) return {};
  auto in = entry(at);
  if (!in) return {};
  const std::byte* field = in->at();
  const auto common = read_common(field - in->get<std::uint32_t>());
  if (!common) return {};
  field = in->at();
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(field) +
                               static_cast<std::uintptr_t>(in->get<std::int32_t>());
  const auto size = in->get<std::uint32_t>();
  kind = UnwindRow::Kind::unknown;
  if (address < begin || address - begin >= size) return {};
  return Function{*common, begin, *in};
}

}  // namespace

UnwindRow unwind_row(std::uintptr_t address) noexcept {
  UnwindRow row;
  auto function = function_at(address, row.kind);
  if (!function) return row;
  Bytes& in = function->rest;
  if (function->common.has_augmentation) in.take(in.uleb());
  Machine machine(function->common, function->begin, address);
  if (!machine.run(function->common.instructions, true) || !in.ok() ||
      !machine.run(Bytes(in.at(), in.end()), false))
    return {};
  return machine.row();
}

std::uintptr_t function_begin(std::uintptr_t address) noexcept {
  UnwindRow::Kind kind{};
  const auto function = function_at(address, kind);
  return function ? function->begin : 0;
}

}  // namespace ulpscope::capture
