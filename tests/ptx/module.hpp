#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// PTX text (PTX ISA 9.0) in executable form: the part of it that the kernels of lib/device use.
/// Anything else is rejected.
namespace ulpscope::test::ptx {

class Thread;
struct Instruction;

/// Registers of every kernel, whatever it declares.
enum FixedRegister : std::uint32_t {
  kZero,        // always 0
  kParameters,  // where the launch's parameters are
  kTidX,
  kNtidX,
  kCtaidX,
  kNctaidX,
  kFixedRegisters,
};

/// A register, a number (added to the register that is 0), or an address: a register and an offset.
struct Operand {
  std::uint32_t index = kZero;
  std::uint64_t addend = 0;
};

enum class Space : std::uint8_t { generic, global, shared, parameters, constant };

/// What a thread does after an instruction.
enum class Next : std::uint8_t {
  go_on,
  let_others,   // another thread may come first
  await_block,  // bar.sync, bar.red
  await_warp,   // bar.warp.sync
  end,
};

struct Instruction {
  Next (*execute)(Thread&, const Instruction&) = nullptr;
  std::vector<Operand> operands;  // results first; those of a vector follow each other
  std::uint32_t guard = kZero;    // a predicate; kZero: none
  bool guard_negated = false;
  Space space = Space::generic;
  std::uint8_t bytes = 0;   // of one element in memory
  std::uint8_t vector = 1;  // elements
  bool constant_cache = false;
  bool is_volatile = false;
  std::uint32_t used_bytes = ~0U;  // of a load: a bit for each byte that is used
  std::uint32_t target = 0;        // of a branch
  std::uint32_t line = 0;
};

struct Parameter {
  std::size_t offset;
  std::size_t bytes;
};

struct Kernel {
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t shared_bytes = 0;
  std::uint32_t registers = kFixedRegisters;
  std::vector<Instruction> code;
};

/// An array of the module, in constant or global memory.
struct Variable {
  std::size_t bytes;
  std::unique_ptr<std::byte[]> contents;
};

struct Module {
  std::map<std::string, Variable, std::less<>> variables;
  std::map<std::string, Kernel, std::less<>> kernels;
};

/// @throws std::runtime_error with the line that is not known.
[[nodiscard]] Module parse(std::string_view ptx);

}  // namespace ulpscope::test::ptx
