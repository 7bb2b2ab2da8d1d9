#include "tests/ptx/machine.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace ulpscope::test::ptx;

namespace {

/// A kernel with one parameter, `out`, whose address is in %out; shared memory is `shared`.
Module module_of(const std::string& body) {
  return parse(
      ".version 9.0\n.target sm_75\n.address_size 64\n"
      ".entry kernel(\n.param .u64 out\n)\n{\n"
      ".reg .pred %p<8>;\n.reg .b16 %rs<8>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
      ".reg .f64 %fd<8>;\n.reg .b64 %out;\n.shared .align 16 .b8 shared[64];\n"
      "ld.param.u64 %out, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n" +
      body + "ret;\n}\n");
}

/// What a kernel leaves in 64 numbers, the first 32 of which were set, or its violation.
class Run {
 public:
  Run(const std::string& body, std::uint32_t blocks, std::uint32_t threads, std::uint32_t seed = 1)
      : numbers_(64) {
    const Module module = module_of(body);
    Machine machine(seed);
    machine.memory().add(numbers_.data(), 512, false);
    machine.memory().set_initialised(numbers_.data(), 256);
    const std::uint64_t* const out = numbers_.data();
    try {
      machine.run(module.kernels.at("kernel"), blocks, threads, std::as_bytes(std::span(&out, 1)));
    } catch (const Violation& violation) {
      violation_ = violation.what();
    }
  }
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const { return numbers_[i]; }
  [[nodiscard]] bool is_refused_with(const std::string& text) const {
    return violation_.find(text) != std::string::npos;
  }
  [[nodiscard]] bool passed() const { return violation_.empty(); }

 private:
  std::vector<std::uint64_t> numbers_;
  std::string violation_;
};

/// Whether any of some orders of threads and blocks shows a violation with this text.
bool is_refused(const std::string& body, std::uint32_t blocks, std::uint32_t threads,
                const std::string& text) {
  for (std::uint32_t seed = 0; seed < 20; ++seed)
    if (Run(body, blocks, threads, seed).is_refused_with(text)) return true;
  return false;
}
bool always_passes(const std::string& body, std::uint32_t blocks, std::uint32_t threads) {
  for (std::uint32_t seed = 0; seed < 20; ++seed)
    if (!Run(body, blocks, threads, seed).passed()) return false;
  return true;
}

std::uint64_t result_of(const std::string& body) {
  const Run run(body + "st.global.u64 [%out], %rd7;\n", 1, 1);
  REQUIRE(run.passed());
  return run[0];
}
std::uint64_t result_of_32_bits(const std::string& body) {
  return result_of(body + "cvt.u64.u32 %rd7, %r7;\n");
}

/// Block 1 gives block 0 or whichever comes last a number, as kernels do: `release` and `acquire`
/// are before and after the atomic operation.
std::string hand_over(const std::string& release, const std::string& acquire) {
  return "mul.wide.u32 %rd1, %r1, 8;\nadd.s64 %rd2, %out, %rd1;\nst.global.u64 [%rd2+8], %rd1;\n" +
         release + "atom.global.add.u32 %r2, [%out], 1;\n" + acquire +
         "setp.ne.s32 %p1, %r2, 1;\n@%p1 bra $L_end;\n"
         "ld.global.u64 %rd3, [%out+8];\nld.global.u64 %rd4, [%out+16];\n$L_end:\n";
}

const std::string kOwnShared = "shl.b32 %r2, %r0, 2;\n";    // of each thread
const std::string kOtherShared = "xor.b32 %r3, %r2, 4;\n";  // of its neighbor in the warp
const std::string kStoreOwn = "st.shared.u32 [%r2], %r0;\n";
const std::string kLoadOther = "ld.shared.u32 %r4, [%r3];\n";

}  // namespace

TEST_CASE("every thread of every block runs") {
  const Run run(
      "mov.u32 %r2, %ntid.x;\nmad.lo.s32 %r3, %r1, %r2, %r0;\nmul.wide.u32 %rd1, %r3, 8;\n"
      "add.s64 %rd2, %out, %rd1;\ncvt.u64.u32 %rd3, %r3;\nst.global.u64 [%rd2], %rd3;\n",
      5, 4);
  for (std::uint64_t i = 0; i < 20; ++i) CHECK(run[i] == i);
}

TEST_CASE("guards, branches and labels") {
  CHECK(result_of_32_bits("mov.u32 %r7, 0;\n$L_again:\nadd.s32 %r7, %r7, 3;\n"
                          "setp.lt.u32 %p1, %r7, 10;\n@%p1 bra $L_again;\n"
                          "@!%p1 add.s32 %r7, %r7, 100;\n@%p1 add.s32 %r7, %r7, 1000;\n") == 112);
}

TEST_CASE("numbers are as wide as their type") {
  CHECK(result_of_32_bits("mov.u32 %r2, -1;\nadd.s32 %r7, %r2, 3;\n") == 2);
  CHECK(result_of_32_bits("mov.u16 %rs1, 255;\ncvt.s16.s8 %rs2, %rs1;\ncvt.u32.u16 %r7, %rs2;\n") ==
        0xffff);
  CHECK(result_of("mov.u64 %rd1, -1;\nmul.hi.u64 %rd7, %rd1, %rd1;\n") == ~std::uint64_t{1});
  CHECK(result_of("mov.u32 %r2, -1;\nmul.wide.u32 %rd7, %r2, 16;\n") == 0xffffffff0);
}

TEST_CASE("shifts by the width or more leave nothing") {
  CHECK(result_of_32_bits("mov.u32 %r2, 7;\nshl.b32 %r7, %r2, 32;\n") == 0);
  CHECK(result_of("mov.u64 %rd1, 7;\nshr.u64 %rd7, %rd1, 64;\n") == 0);
  CHECK(result_of("mov.u64 %rd1, -7;\nshr.s64 %rd7, %rd1, 70;\n") == ~std::uint64_t{0});
}

TEST_CASE("bit fields and funnel shifts") {
  CHECK(result_of_32_bits("mov.u32 %r2, 3;\nmov.u32 %r3, -1;\nbfi.b32 %r7, %r2, %r3, 4, 4;\n") ==
        0xffffff3f);
  CHECK(result_of_32_bits(
            "mov.u32 %r2, 0x80000001;\nmov.u32 %r3, 0x70;\nshf.l.wrap.b32 %r7, %r2, %r3, 4;\n") ==
        0x708);
  CHECK(result_of("mov.u64 %rd1, 0xf50;\nbfe.s64 %rd7, %rd1, 4, 4;\n") == 5);
  CHECK(result_of("mov.u64 %rd1, 0xfd0;\nbfe.s64 %rd7, %rd1, 4, 4;\n") == ~std::uint64_t{2});
  CHECK(result_of_32_bits("mov.u32 %r2, 0x44332281;\nmov.u32 %r3, 0x88776655;\n"
                          "prmt.b32 %r7, %r2, %r3, 0x8740;\n") == 0xff885581);
  CHECK(result_of("mov.u32 %r2, 5;\nmov.u32 %r3, 6;\nmov.b64 %rd7, {%r2, %r3};\n") == 0x600000005);
  CHECK(result_of_32_bits("mov.u64 %rd1, 0x600000005;\nmov.b64 {%r6, %r7}, %rd1;\n") == 6);
}

TEST_CASE("comparisons of NaN hold only where they say unordered") {
  const std::string compare =
      "mov.f64 %fd1, 0d7FF8000000000000;\nmov.f64 %fd2, 0d3FF0000000000000;\n";
  CHECK(result_of_32_bits(compare + "setp.lt.f64 %p1, %fd1, %fd2;\nselp.u32 %r7, 1, 0, %p1;\n") ==
        0);
  CHECK(result_of_32_bits(compare + "setp.ltu.f64 %p1, %fd1, %fd2;\nselp.u32 %r7, 1, 0, %p1;\n") ==
        1);
  CHECK(result_of(compare + "max.f64 %fd3, %fd1, %fd2;\nmov.b64 %rd7, %fd3;\n") ==
        std::bit_cast<std::uint64_t>(1.0));
}

TEST_CASE("a vote is the same for all threads of a block") {
  const Run run(
      "setp.eq.s32 %p1, %r0, 3;\nbar.red.or.pred %p2, 0, %p1;\nselp.u64 %rd1, 1, 0, %p2;\n"
      "mul.wide.u32 %rd2, %r0, 8;\nadd.s64 %rd3, %out, %rd2;\nst.global.u64 [%rd3], %rd1;\n",
      1, 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(run[i] == 1);
}

TEST_CASE("memory that was not allocated is not reached") {
  CHECK(Run("ld.global.u64 %rd1, [%out+512];\n", 1, 1).is_refused_with("outside"));
  CHECK(Run("st.global.u64 [%out+-8], %rd1;\n", 1, 1).is_refused_with("outside"));
  CHECK(Run("mov.u32 %r2, 64;\nst.shared.u32 [%r2], %r0;\n", 1, 1).is_refused_with("outside"));
}

TEST_CASE("accesses are aligned to what they access") {
  CHECK(Run("ld.global.u64 %rd1, [%out+4];\n", 1, 1).is_refused_with("misaligned"));
  CHECK(Run("ld.global.v2.u64 {%rd1, %rd2}, [%out+8];\n", 1, 1).is_refused_with("misaligned"));
  CHECK(Run("ld.global.u32 %r2, [%out+4];\n", 1, 1).passed());
}

TEST_CASE("nothing is read that nobody has written") {
  CHECK(Run("ld.global.u64 %rd1, [%out+256];\n", 1, 1).is_refused_with("nobody has written"));
  CHECK(Run("ld.shared.u32 %r2, [shared];\n", 1, 1).is_refused_with("nobody has written"));
  CHECK(Run("st.global.u64 [%out+256], %rd1;\nld.global.u64 %rd1, [%out+256];\n", 1, 1).passed());
}

TEST_CASE("gaps of a structure may hold anything") {
  const std::string load = "mov.u16 %rs1, 1;\nst.shared.u8 [shared], %rs1;\n";
  CHECK(
      Run(load + ".pragma \"used_bytes_mask 1\";\nld.shared.u32 %r2, [shared];\n", 1, 1).passed());
  CHECK(Run(load + "ld.shared.u32 %r2, [shared];\n", 1, 1).is_refused_with("nobody has written"));
}

TEST_CASE("what a thread reads of another one needs a barrier between the two") {
  const std::string begin = kOwnShared + kOtherShared + kStoreOwn;
  CHECK(is_refused(begin + kLoadOther, 1, 8, "nobody has written"));
  CHECK(is_refused("st.shared.u32 [shared], %r0;\n", 1, 8, "writes what thread"));
  CHECK(is_refused(begin + "bar.sync 0;\n" + kLoadOther + kStoreOwn, 1, 8, "writes, in no order"));
  CHECK(always_passes(begin + "bar.sync 0;\n" + kLoadOther + "bar.sync 0;\n" + kStoreOwn, 1, 8));
}

TEST_CASE("a barrier of a warp orders its threads alone") {
  const std::string store = "st.shared.u8 [%r0], %rs1;\nbar.warp.sync -1;\n";
  const std::string of_warp = "xor.b32 %r3, %r0, 1;\nld.shared.u8 %rs2, [%r3];\n";
  const std::string of_other = "xor.b32 %r3, %r0, 32;\nld.shared.u8 %rs2, [%r3];\n";
  CHECK(always_passes(store + of_warp, 1, 64));
  CHECK(is_refused(store + of_other, 1, 64, "reads what thread"));
}

TEST_CASE("what one of many readers still reads is not written") {
  const std::string begin =
      "setp.ne.s32 %p1, %r0, 0;\n@!%p1 st.shared.u32 [shared], %r0;\n"
      "bar.sync 0;\nld.shared.u32 %r2, [shared];\n";
  CHECK(is_refused(begin + "@!%p1 st.shared.u32 [shared], %r0;\n", 1, 64, "reads, in no order"));
  CHECK(is_refused(begin + "bar.warp.sync -1;\n@!%p1 st.shared.u32 [shared], %r0;\n", 1, 64,
                   "reads, in no order"));
  CHECK(always_passes(begin + "bar.sync 0;\n@!%p1 st.shared.u32 [shared], %r0;\n", 1, 64));
}

TEST_CASE("what a block reads of another one needs a fence on both sides") {
  CHECK(always_passes(hand_over("membar.gl;\n", "membar.gl;\n"), 2, 1));
  CHECK(is_refused(hand_over("", "membar.gl;\n"), 2, 1, "reads what thread 0 of block"));
  CHECK(is_refused(hand_over("membar.gl;\n", ""), 2, 1, "reads what thread 0 of block"));
}

TEST_CASE("a fence covers what the block has done before a barrier, and nothing after it") {
  const auto threads = [](const std::string& barrier) {
    return "setp.eq.s32 %p1, %r0, 0;\nmul.wide.u32 %rd1, %r1, 8;\nadd.s64 %rd2, %out, %rd1;\n"
           "@!%p1 st.global.u64 [%rd2+8], %rd1;\n" +
           barrier +
           "@!%p1 bra $L_end;\nmembar.gl;\natom.global.add.u32 %r2, [%out], 1;\nmembar.gl;\n"
           "setp.ne.s32 %p2, %r2, 1;\n@%p2 bra $L_end;\n"
           "ld.global.u64 %rd3, [%out+8];\nld.global.u64 %rd4, [%out+16];\n$L_end:\n";
  };
  CHECK(always_passes(threads("bar.sync 0;\n"), 2, 2));
  CHECK(is_refused(threads(""), 2, 2, "in no order"));
}

TEST_CASE("two blocks do not write the same") {
  CHECK(is_refused("st.global.u64 [%out], %rd1;\n", 2, 1, "writes what thread 0 of block"));
  CHECK(always_passes("atom.global.add.u32 %r2, [%out], 1;\n", 4, 1));
}

TEST_CASE("what a launch has written is not read through the constant cache") {
  CHECK(Run("st.global.u64 [%out], %rd1;\nld.global.nc.u64 %rd2, [%out];\n", 1, 1)
            .is_refused_with("constant cache"));
  CHECK(Run("ld.global.nc.u64 %rd2, [%out];\n", 1, 1).passed());
}

TEST_CASE("a mark for the host comes behind a fence") {
  const std::string store = "st.global.u64 [%out+8], %rd1;\n";
  const std::string publish = "st.volatile.global.u32 [%out], %r0;\n";
  CHECK(Run(store + publish, 1, 1).is_refused_with("without a fence"));
  CHECK(Run(store + "membar.sys;\n" + publish, 1, 1).passed());
}

TEST_CASE("all threads meet at a barrier of the block") {
  CHECK(is_refused("setp.eq.s32 %p1, %r0, 0;\n@%p1 bra $L_end;\nbar.sync 0;\n$L_end:\n", 1, 4,
                   "have ended"));
}

TEST_CASE("what is not known is refused") {
  CHECK_THROWS(module_of("sin.approx.f32 %r1, %r2;\n"));
  CHECK_THROWS(module_of("add.s32 %r1, %r2, %r99;\n"));
  CHECK_THROWS(module_of("bra $L_nowhere;\n"));
  CHECK_THROWS(module_of("bar.sync 1;\n"));
  CHECK_THROWS(module_of("cvta.shared.u64 %rd1, %rd2;\n"));
}
