#include "tests/ptx/machine.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

namespace ulpscope::test::ptx {

class Block {
 public:
  Block(Launch& launch, std::uint32_t index)
      : index_(index),
        shared_(launch.kernel.shared_bytes),
        initialised_(launch.kernel.shared_bytes),
        watch_(launch.kernel.shared_bytes, 1) {
    threads_.reserve(launch.threads);
    for (std::uint32_t i = 0; i < launch.threads; ++i)
      threads_.emplace_back(launch, *this, static_cast<std::uint16_t>(i));
    states_.assign(launch.threads, Next::go_on);
    runnable_.resize(launch.threads);
    for (std::uint32_t i = 0; i < launch.threads; ++i) runnable_[i] = i;
  }

  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] bool ended() const { return ended_ == threads_.size(); }

  /// One thread runs for a while: any, the first or the last, which is drawn at each barrier.
  void run(std::mt19937& random) {
    if (runnable_.size() == threads_.size()) turns_ = static_cast<Turns>(random() % 3);
    const std::size_t place = turns_ == Turns::any     ? random() % runnable_.size()
                              : turns_ == Turns::first ? 0
                                                       : runnable_.size() - 1;
    const std::uint32_t thread = runnable_[place];
    Next next = threads_[thread].run();
    // Some threads continue although they need not.
    for (unsigned turns = 1U << random() % 5; turns > 1 && next == Next::let_others; --turns)
      next = threads_[thread].run();
    if (next == Next::let_others) return;
    states_[thread] = next;
    runnable_.erase(runnable_.begin() + static_cast<std::ptrdiff_t>(place));
    if (next == Next::end) ++ended_;
    if (next == Next::await_warp) ++waiting_in_warps_;
    if (waiting_in_warps_ != 0) open_warp_barrier(threads_[thread].warp());
    if (runnable_.empty() && !ended()) open_block_barrier();
  }

  /// Shared memory. Its addresses begin at 0.
  [[nodiscard]] std::byte* reach(std::uint32_t address, std::size_t bytes, std::uint32_t used_bytes,
                                 Access access, const Moment& now, const Known& known) {
    if (address % bytes != 0) throw Violation("misaligned access to shared memory");
    if (address > shared_.size() || bytes > shared_.size() - address)
      throw Violation("access outside of shared memory");
    watch_.access(address, bytes, access, now, known);
    if (access == Access::write)
      initialised_.set(address, bytes);
    else
      initialised_.check(address, bytes, used_bytes);
    return shared_.data() + address;
  }

 private:
  enum class Turns : std::uint8_t { any, first, last };

  void open_warp_barrier(unsigned warp) {
    const std::size_t first = std::size_t{warp} * kWarpThreads;
    const std::size_t end = std::min<std::size_t>(first + kWarpThreads, threads_.size());
    const auto is_here = [&](std::size_t i) {
      return states_[i] == Next::await_warp || states_[i] == Next::end;
    };
    for (std::size_t i = first; i < end; ++i)
      if (!is_here(i)) return;
    for (std::size_t i = first; i < end; ++i) {
      if (states_[i] != Next::await_warp) continue;
      threads_[i].pass_warp_barrier();
      --waiting_in_warps_;
      let_run(i);
    }
  }

  void open_block_barrier() {
    if (ended_ != 0) throw Violation("threads wait for others that have ended");
    Known known;
    bool votes = false;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (states_[i] != Next::await_block) throw Violation("threads wait at different barriers");
      known.add(threads_[i].known());
      votes = votes || threads_[i].has_voted();
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      threads_[i].pass_block_barrier(votes, known);
      let_run(i);
    }
  }

  void let_run(std::size_t thread) {
    const auto number = static_cast<std::uint32_t>(thread);
    states_[thread] = Next::go_on;
    runnable_.insert(std::ranges::upper_bound(runnable_, number), number);
  }

  std::uint32_t index_;
  std::vector<std::byte> shared_;
  Initialised initialised_;
  Watch watch_;
  std::vector<Thread> threads_;
  std::vector<Next> states_;
  std::vector<std::uint32_t> runnable_;  // in order
  Turns turns_ = Turns::any;
  std::size_t ended_ = 0;
  std::size_t waiting_in_warps_ = 0;
};

std::vector<std::uint64_t> RegisterFiles::take(std::uint32_t registers) {
  std::vector<std::uint64_t> file;
  if (!files_.empty()) {
    file = std::move(files_.back());
    files_.pop_back();
  }
  file.resize(registers);
  std::fill_n(file.begin(), std::size_t{kFixedRegisters}, std::uint64_t{0});
  return file;
}

Thread::Thread(Launch& launch, Block& block, std::uint16_t index)
    : launch_(launch),
      block_(block),
      registers_(launch.register_files.take(launch.kernel.registers)) {
  now_.launch = launch.number;
  now_.block = block.index();
  now_.thread = index;
  registers_[kParameters] = reinterpret_cast<std::uint64_t>(launch.parameters.data());
  registers_[kTidX] = index;
  registers_[kNtidX] = launch.threads;
  registers_[kCtaidX] = block.index();
  registers_[kNctaidX] = launch.blocks;
}

Thread::~Thread() { launch_.register_files.give_back(std::move(registers_)); }

Next Thread::run() {
  try {
    while (true) {
      const Instruction& instruction = launch_.kernel.code.at(next_++);
      if (instruction.guard != kZero &&
          (registers_[instruction.guard] != 0) == instruction.guard_negated)
        continue;
      if (const Next next = instruction.execute(*this, instruction); next != Next::go_on)
        return next;
    }
  } catch (const Violation& violation) {
    throw Violation(place() + " " + violation.what());
  }
}

std::string Thread::place() const {
  return "thread " + std::to_string(now_.thread) + " of block " + std::to_string(now_.block) +
         ", line " + std::to_string(launch_.kernel.code.at(next_ - 1).line) + ":";
}

std::byte* Thread::reach(const Instruction& instruction, const Operand& address, std::size_t bytes,
                         Access access) {
  now_.atomic = access == Access::atomic;
  if (instruction.space == Space::shared)
    return block_.reach(get<std::uint32_t>(address), bytes, instruction.used_bytes, access, now_,
                        known_);
  const auto at = get<std::uint64_t>(address);
  if (access == Access::write) {
    if (instruction.is_volatile && has_unfenced_writes_)
      throw Violation("publishes what it has written without a fence");
    has_unfenced_writes_ = true;
  }
  launch_.memory.access(at, bytes, instruction.used_bytes, access, now_, known_);
  return reinterpret_cast<std::byte*>(at);
}

void Thread::load(const Instruction& instruction) {
  const Access access = instruction.constant_cache ? Access::read_constant : Access::read;
  const std::size_t bytes = instruction.bytes;
  const std::byte* from =
      reach(instruction, instruction.operands.back(), bytes * instruction.vector, access);
  for (unsigned i = 0; i < instruction.vector; ++i) {
    std::uint64_t element = 0;
    std::memcpy(&element, from + i * bytes, bytes);
    set(instruction.operands[i], element);
  }
}

void Thread::store(const Instruction& instruction) {
  const std::size_t bytes = instruction.bytes;
  std::byte* const to =
      reach(instruction, instruction.operands.front(), bytes * instruction.vector, Access::write);
  for (unsigned i = 0; i < instruction.vector; ++i) {
    const auto element = get<std::uint64_t>(instruction.operands[i + 1]);
    std::memcpy(to + i * bytes, &element, bytes);
  }
}

void* Thread::atomic(const Instruction& instruction, std::size_t bytes) {
  void* const memory = reach(instruction, instruction.operands[1], bytes, Access::atomic);
  if (instruction.space == Space::shared) return memory;
  Known& here = launch_.released[reinterpret_cast<std::uint64_t>(memory)];
  before_fence_.add(here);
  here.add(released_);
  return memory;
}

void Thread::fence() {
  known_.add(before_fence_);
  released_ = known_;
  released_.add_fence(now_);
  ++now_.fences;
  has_unfenced_writes_ = false;
}

void Thread::vote(bool yes, const Operand& result) {
  vote_ = yes;
  vote_result_ = &result;
}

void Thread::pass_block_barrier(bool votes, const Known& known) {
  ++now_.barriers;
  known_ = known;
  if (vote_result_ != nullptr) set(*vote_result_, std::uint64_t{votes});
  vote_result_ = nullptr;
  vote_ = false;
}

void Machine::load(const Module& module) {
  for (const auto& [name, variable] : module.variables)
    memory_.add(variable.contents.get(), variable.bytes, true);
}

void Machine::run(const Kernel& kernel, std::uint32_t blocks, std::uint32_t threads,
                  std::span<const std::byte> parameters) {
  static constexpr std::size_t kUnderWay = 3;
  if (parameters.size() != kernel.parameter_bytes)
    throw Violation("a launch with parameters of another size");
  const Reachable reachable(memory_, parameters);
  Launch launch{memory_, kernel, ++launches_, blocks, threads, parameters, register_files_, {}};
  std::vector<std::uint32_t> order(blocks);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::shuffle(order, random_);
  std::vector<std::unique_ptr<Block>> under_way;
  while (!order.empty() || !under_way.empty()) {
    for (; !order.empty() && under_way.size() < kUnderWay; order.pop_back())
      under_way.push_back(std::make_unique<Block>(launch, order.back()));
    const std::size_t place = random_() % under_way.size();
    // Some blocks come far before others come on at all.
    for (unsigned turns = 1U << random_() % 15; turns > 0 && !under_way[place]->ended(); --turns)
      under_way[place]->run(random_);
    if (under_way[place]->ended())
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

}  // namespace ulpscope::test::ptx
