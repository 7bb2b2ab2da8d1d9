#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/dump_builder.hpp"
#include "ulpscope/digest.hpp"

// write_values FOLDER SCENARIO VALUES BYTES PER_STEP writes two dumps with all bytes, FOLDER/a and
// FOLDER/b, and their concatenated values, FOLDER/a.f32 and FOLDER/b.f32. Every value is float32 of
// normal distribution and the result of a separate op.

namespace {

using namespace ulpscope;

/// Numbers that are random enough, at a gigabyte a second.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }
  /// The sum of four uniform numbers.
  float normal() {
    const std::uint64_t bits = next();
    std::int32_t sum = -2 * 65535;
    for (unsigned part = 0; part < 64; part += 16)
      sum += static_cast<std::int32_t>(bits >> part & 65535);
    return static_cast<float>(sum) * (1.7320508F / 65536) + static_cast<float>(bits & 255) * 1e-8F;
  }

 private:
  std::uint64_t state_;
};

class Values {
 public:
  Values(const std::filesystem::path& folder, const std::string& name)
      : dump_(folder / name, {.level = "full"}),
        lane_(dump_.lane()),
        raw_(folder / (name + ".f32"), std::ios::binary) {}

  void add(const std::vector<float>& value, bool begins_step) {
    if (begins_step) lane_.add(EventKind::step, "ulpscope::step");
    const auto bytes = std::as_bytes(std::span(value));
    const Digest content = digest(bytes);
    test::TensorSpec spec;
    spec.digest = 1;
    spec.flags = slot_flag::has_content;
    spec.sizes = {static_cast<std::int64_t>(value.size())};
    auto& op = lane_.op("aten::mm").output(spec);
    ring::SlotRow& row = op.slots().back();
    row.digest[0] = content.high;
    row.digest[1] = content.low;
    row.value = content.low;
    lane_.messages.content(content, bytes, std::size_t{1} << 20);
    const bool large = bytes.size() > (std::size_t{1} << 20);
    constexpr int kTogether = 256;
    if (++waiting_ % kTogether == 0 || large) lane_.send();
    raw_.write(reinterpret_cast<const char*>(value.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void finish() { dump_.finish(); }

 private:
  test::DumpBuilder dump_;
  test::LaneBuilder& lane_;
  std::ofstream raw_;
  int waiting_ = 0;
};

/// The candidate's number.
float other(std::string_view scenario, float number, Random& random) {
  auto bits = std::bit_cast<std::uint32_t>(number);
  if (scenario == "sparse") {
    const std::uint64_t drawn = random.next();
    if (drawn % 10000 == 0) bits += 1 + static_cast<std::uint32_t>(drawn >> 32 & 7);
  } else if (scenario == "dense") {
    bits += static_cast<std::uint32_t>(random.next() & 3);
  } else if (scenario == "unrelated") {
    return random.normal();
  }
  return std::bit_cast<float>(bits);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: write_values FOLDER SCENARIO VALUES BYTES PER_STEP\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const std::string_view scenario = argv[2];
  const std::int64_t count = std::atoll(argv[3]);
  const auto elements = static_cast<std::size_t>(std::atoll(argv[4])) / sizeof(float);
  const std::int64_t per_step = std::atoll(argv[5]);
  std::filesystem::create_directories(folder);
  Values a(folder, "a");
  Values b(folder, "b");
  Random random(1);
  Random changes(2);
  std::vector<float> reference(elements);
  std::vector<float> candidate(elements);
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < elements; ++i) {
      reference[i] = random.normal();
      candidate[i] = other(scenario, reference[i], changes);
    }
    a.add(reference, k % per_step == 0);
    b.add(candidate, k % per_step == 0);
  }
  a.finish();
  b.finish();
  return 0;
}
