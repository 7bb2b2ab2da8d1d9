#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/ptx/memory.hpp"
#include "tests/ptx/module.hpp"

/// Executes kernels on the CPU, one thread at a time in a random order: threads are
/// switched at barriers, fences and atomic operations, and several blocks run at once.
namespace ulpscope::test::ptx {

class Block;

/// Registers of threads, used again: those of a large kernel take 200 KB a thread.
class RegisterFiles {
 public:
  /// With the fixed registers as 0; what the others hold is not said.
  [[nodiscard]] std::vector<std::uint64_t> take(std::uint32_t registers);
  void give_back(std::vector<std::uint64_t> file) { files_.push_back(std::move(file)); }

 private:
  std::vector<std::vector<std::uint64_t>> files_;
};

/// What threads of a launch have in common.
struct Launch {
  Memory& memory;
  const Kernel& kernel;
  std::uint32_t number;
  std::uint32_t blocks;
  std::uint32_t threads;
  std::span<const std::byte> parameters;
  RegisterFiles& register_files;
  /// What readers of an atomic's result rely on: what was visible where it was written.
  std::map<std::uint64_t, Known> released;
};

/// One thread of a block, and what an instruction does to it.
class Thread {
 public:
  Thread(Launch& launch, Block& block, std::uint16_t index);
  Thread(Thread&&) noexcept = default;
  ~Thread();

  /// Runs until something must be waited for, or others may come first.
  Next run();

  template <class T>
  [[nodiscard]] T get(const Operand& operand) const;
  template <class T>
  void set(const Operand& operand, T value);

  void jump(std::uint32_t target) { next_ = target; }
  void load(const Instruction& instruction);
  void store(const Instruction& instruction);
  /// The memory that an atomic operation changes, after what orders it.
  [[nodiscard]] void* atomic(const Instruction& instruction, std::size_t bytes);
  void fence();

  /// bar.red.or.pred: this thread's vote, and where the result goes.
  void vote(bool yes, const Operand& result);
  [[nodiscard]] bool has_voted() const { return vote_; }
  void pass_block_barrier(bool votes, const Known& known);
  void pass_warp_barrier() { ++now_.warp_barriers; }

  [[nodiscard]] const Known& known() const { return known_; }
  [[nodiscard]] unsigned warp() const { return now_.warp(); }
  [[nodiscard]] std::string place() const;

 private:
  [[nodiscard]] std::byte* reach(const Instruction& instruction, const Operand& address,
                                 std::size_t bytes, Access access);

  Launch& launch_;
  Block& block_;
  std::vector<std::uint64_t> registers_;
  std::uint32_t next_ = 0;
  Moment now_;
  Known known_;
  Known before_fence_;  // what atomic operations have brought since the last fence
  Known released_;      // what was known at the last fence
  bool has_unfenced_writes_ = false;
  bool vote_ = false;
  const Operand* vote_result_ = nullptr;
};

/// Runs a kernel.
class Machine {
 public:
  explicit Machine(std::uint32_t seed) : random_(seed) {}

  [[nodiscard]] Memory& memory() { return memory_; }

  /// Lets kernels reach the variables of a module, which must outlive the machine's runs.
  void load(const Module& module);

  /// @throws Violation for what a kernel must not do, with the place where it did.
  void run(const Kernel& kernel, std::uint32_t blocks, std::uint32_t threads,
           std::span<const std::byte> parameters);

 private:
  Memory memory_;
  RegisterFiles register_files_;
  std::mt19937 random_;
  std::uint32_t launches_ = 0;
};

template <class T>
T Thread::get(const Operand& operand) const {
  const std::uint64_t bits = registers_[operand.index] + operand.addend;
  T value;
  static_assert(sizeof value <= sizeof bits);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
void Thread::set(const Operand& operand, T value) {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  registers_[operand.index] = bits;
}

}  // namespace ulpscope::test::ptx
