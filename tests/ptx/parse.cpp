#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "tests/ptx/instructions.hpp"
#include "tests/ptx/module.hpp"

namespace ulpscope::test::ptx {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The words of a text, without the empty ones.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words = split(text, ' ');
  std::erase_if(words, [](std::string_view word) { return word.empty(); });
  return words;
}

/// Bytes of a type: the digits at its end.
std::size_t size_of(std::string_view type) {
  const auto digits = type.find_first_of("0123456789");
  if (digits == std::string_view::npos) throw std::runtime_error("no type");
  unsigned bits = 0;
  std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  return bits / 8;
}

std::uint64_t parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const bool is_float = text.starts_with("0d") || text.starts_with("0f");
  const bool is_hex = is_float || text.starts_with("0x");
  const bool is_negative = text.starts_with("-");
  const char* const end = text.data() + text.size();
  const char* const begin = text.data() + (is_hex ? 2 : is_negative ? 1 : 0);
  const auto [stop, error] = std::from_chars(begin, end, number, is_hex ? 16 : 10);
  if (error != std::errc() || stop != end) throw std::runtime_error("no number");
  return is_negative ? -number : number;
}

/// ".shared .align 16 .b8 name[24];" or ".param .u64 name,"; what follows the name is not looked
/// at.
struct Declaration {
  std::string_view name;
  std::size_t alignment;
  std::size_t bytes;
};

Declaration parse_declaration(std::string_view line) {
  auto words = words_of(line.substr(0, line.find_first_of(",;=")));
  words.erase(words.begin());
  Declaration found{};
  if (words.size() > 2 && words[0] == ".align") {
    found.alignment = parse_number(words[1]);
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() != 2) throw std::runtime_error("no declaration");
  const std::size_t size = size_of(words[0]);
  found.alignment = std::max(found.alignment, size);
  const auto bracket = words[1].find('[');
  found.name = words[1].substr(0, bracket);
  found.bytes = size;
  if (bracket != std::string_view::npos)
    found.bytes *= parse_number(words[1].substr(bracket + 1, words[1].find(']') - bracket - 1));
  return found;
}

std::size_t aligned(std::size_t offset, std::size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

class Parser {
 public:
  Module parse(std::string_view text) {
    std::uint32_t number = 0;
    for (std::string_view line : split(text, '\n')) {
      ++number;
      line = trimmed(line.substr(0, line.find("//")));
      if (line.empty() || line.front() == '\0') continue;
      try {
        line_ = number;
        kernel_ == nullptr ? parse_outside(line) : parse_inside(line);
      } catch (const std::runtime_error& error) {
        throw std::runtime_error("PTX, line " + std::to_string(number) + ": " + error.what() +
                                 ": " + std::string(line));
      }
    }
    return std::move(module_);
  }

 private:
  /// Registers and addresses by name, of one pair of braces.
  using Names = std::map<std::string, Operand, std::less<>>;

  void parse_outside(std::string_view line) {
    if (line.starts_with(".version") || line.starts_with(".target") ||
        line.starts_with(".address_size"))
      return;
    if (const auto entry = line.find(".entry "); entry != std::string_view::npos)
      return begin_kernel(trimmed(line.substr(entry + 7, line.find('(') - entry - 7)));
    if (line.starts_with(".const") || line.starts_with(".global")) return add_variable(line);
    throw std::runtime_error("not known");
  }

  void add_variable(std::string_view line) {
    const auto equals = line.find('=');
    const Declaration declared = parse_declaration(line);
    Variable variable{declared.bytes, std::make_unique<std::byte[]>(declared.bytes)};
    if (equals != std::string_view::npos) {
      const auto begin = line.find('{') + 1;
      std::size_t place = 0;
      for (const auto number : split(line.substr(begin, line.find('}') - begin), ','))
        variable.contents[place++] = static_cast<std::byte>(parse_number(number));
    }
    outside_[std::string(declared.name)] = {
        kZero, reinterpret_cast<std::uint64_t>(variable.contents.get())};
    module_.variables.insert_or_assign(std::string(declared.name), std::move(variable));
  }

  void begin_kernel(std::string_view name) {
    kernel_ = &module_.kernels[std::string(name)];
    labels_.clear();
    jumps_.clear();
    scopes_ = {outside_,
               {{"%tid.x", {kTidX}},
                {"%ntid.x", {kNtidX}},
                {"%ctaid.x", {kCtaidX}},
                {"%nctaid.x", {kNctaidX}}}};
    depth_ = 0;
  }

  void parse_inside(std::string_view line) {
    if (line == "{") {
      if (depth_++ > 0) scopes_.emplace_back();
    } else if (line == "}") {
      if (--depth_ > 0)
        scopes_.pop_back();
      else
        end_kernel();
    } else if (line.starts_with(".param")) {
      add_parameter(line);
    } else if (line.starts_with(".reg")) {
      add_registers(line);
    } else if (line.starts_with(".shared")) {
      add_shared(line);
    } else if (line.ends_with(":")) {
      labels_[std::string(line.substr(0, line.size() - 1))] =
          static_cast<std::uint32_t>(kernel_->code.size());
    } else if (line.starts_with(kUsedBytes)) {
      const auto number = line.substr(kUsedBytes.size());
      used_bytes_ = static_cast<std::uint32_t>(parse_number(number.substr(0, number.find('"'))));
    } else if (line.ends_with(";") && line.front() != '.') {
      kernel_->code.push_back(parse_instruction(line.substr(0, line.size() - 1)));
    } else if (line != ")" && !is_hint(line)) {
      throw std::runtime_error("not known");
    }
  }

  void end_kernel() {
    for (const auto& [instruction, label] : jumps_) {
      const auto target = labels_.find(label);
      if (target == labels_.end()) throw std::runtime_error("no label " + label);
      kernel_->code[instruction].target = target->second;
    }
    kernel_ = nullptr;
  }

  void add_parameter(std::string_view line) {
    const Declaration declared = parse_declaration(line);
    const std::size_t offset = aligned(kernel_->parameter_bytes, declared.alignment);
    scopes_.back()[std::string(declared.name)] = {kParameters, offset};
    kernel_->parameters.push_back({offset, declared.bytes});
    kernel_->parameter_bytes = offset + declared.bytes;
  }

  void add_shared(std::string_view line) {
    const Declaration declared = parse_declaration(line);
    const std::size_t offset = aligned(kernel_->shared_bytes, declared.alignment);
    scopes_.back()[std::string(declared.name)] = {kZero, offset};
    kernel_->shared_bytes = offset + declared.bytes;
  }

  /// ".reg .b32 %r<24>;" declares %r0 to %r23, ".reg .pred %p1;" one.
  void add_registers(std::string_view line) {
    std::string text(line.substr(0, line.find(';')));
    std::ranges::replace(text, '\t', ' ');
    const auto words = words_of(text);
    if (words.size() != 3) throw std::runtime_error("no register");
    const std::string_view name = words[2];
    const auto bracket = name.find('<');
    if (bracket == std::string_view::npos) {
      scopes_.back()[std::string(name)] = {kernel_->registers++};
      return;
    }
    const std::string stem(name.substr(0, bracket));
    const std::uint64_t count = parse_number(name.substr(bracket + 1, name.size() - bracket - 2));
    for (std::uint64_t i = 0; i < count; ++i)
      scopes_.back()[stem + std::to_string(i)] = {kernel_->registers++};
  }

  /// What changes nothing that a kernel does.
  static bool is_hint(std::string_view line) {
    return line.starts_with(".maxntid") || line.starts_with(".minnctapersm") ||
           line.starts_with(".pragma");
  }

  Instruction parse_instruction(std::string_view line) {
    Instruction instruction;
    instruction.line = line_;
    instruction.used_bytes = std::exchange(used_bytes_, ~0U);
    const auto opcode_end = [&] { return std::min(line.find_first_of(" \t"), line.size()); };
    if (line.starts_with("@")) {
      instruction.guard_negated = line[1] == '!';
      const std::size_t begin = instruction.guard_negated ? 2 : 1;
      instruction.guard = find(line.substr(begin, opcode_end() - begin)).index;
      line = trimmed(line.substr(opcode_end()));
    }
    const std::string name = parse_opcode(line.substr(0, opcode_end()), instruction);
    std::string operands(trimmed(line.substr(opcode_end())));
    instruction.execute = find_instruction(name);
    if (instruction.execute == nullptr) throw std::runtime_error("no instruction " + name);
    if (name == "bra" || name == "bra.uni") {
      jumps_.emplace_back(kernel_->code.size(), operands);
      return instruction;
    }
    // The halves of 64 bits: results, if they come first.
    if (name == "mov.b64" && operands.starts_with("{")) instruction.vector = 2;
    std::erase_if(operands, [](char c) { return std::strchr("{}[] \t", c) != nullptr; });
    if (!operands.empty())
      for (const std::string_view operand : split(operands, ','))
        instruction.operands.push_back(parse_operand(operand));
    refuse_other_barriers(name, instruction);
    return instruction;
  }

  /// Which threads take part is not checked: all must.
  static void refuse_other_barriers(const std::string& name, const Instruction& instruction) {
    const auto is = [&](std::size_t place, std::uint32_t number) {
      return instruction.operands.at(place).index == kZero &&
             static_cast<std::uint32_t>(instruction.operands[place].addend) == number;
    };
    if ((name == "bar.sync" && (instruction.operands.size() != 1 || !is(0, 0))) ||
        (name == "bar.red.or.pred" && (instruction.operands.size() != 3 || !is(1, 0))) ||
        (name == "bar.warp.sync" && !is(0, 0xffffffff)))
      throw std::runtime_error("a barrier of some threads");
  }

  /// The rest of an opcode, without what the instruction itself then specifies.
  static std::string parse_opcode(std::string_view opcode, Instruction& instruction) {
    static const std::map<std::string_view, Space> spaces{{"global", Space::global},
                                                          {"shared", Space::shared},
                                                          {"param", Space::parameters},
                                                          {"const", Space::constant}};
    const auto parts = split(opcode, '.');
    const bool is_access = parts[0] == "ld" || parts[0] == "st";
    if (is_access) instruction.bytes = static_cast<std::uint8_t>(size_of(parts.back()));
    if (is_access && parts.back().front() == 's' && parts[0] == "ld")
      throw std::runtime_error("a load that extends a sign");
    std::string name(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (const auto space = spaces.find(parts[i]); space != spaces.end())
        instruction.space = space->second;
      else if (parts[i] == "v2" || parts[i] == "v4")
        instruction.vector = parts[i] == "v2" ? 2 : 4;
      else if (parts[i] == "nc")
        instruction.constant_cache = true;
      else if (parts[i] == "volatile")
        instruction.is_volatile = true;
      else if (!is_access || (parts[i] != "cg" && i + 1 != parts.size()))
        name.append(1, '.').append(parts[i]);
    }
    if (parts[0] == "cvta" && instruction.space == Space::shared)
      throw std::runtime_error("a generic address of shared memory");
    return name;
  }

  Operand parse_operand(std::string_view text) const {
    const auto plus = text.find('+');
    const std::string_view base = text.substr(0, plus);
    Operand operand = base.find_first_of("%_$abcdefghijklmnopqrstuvwxyz") == 0
                          ? find(base)
                          : Operand{kZero, parse_number(base)};
    if (plus != std::string_view::npos) operand.addend += parse_number(text.substr(plus + 1));
    return operand;
  }

  Operand find(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return found->second;
    throw std::runtime_error("no " + std::string(name));
  }

  /// What nvcc says about the following load, if a structure has gaps.
  static constexpr std::string_view kUsedBytes = ".pragma \"used_bytes_mask ";

  Module module_;
  Names outside_;
  Kernel* kernel_ = nullptr;
  std::vector<Names> scopes_;
  int depth_ = 0;
  std::map<std::string, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;
  std::uint32_t line_ = 0;
  std::uint32_t used_bytes_ = ~0U;
};

}  // namespace

Module parse(std::string_view ptx) { return Parser().parse(ptx); }

}  // namespace ulpscope::test::ptx
