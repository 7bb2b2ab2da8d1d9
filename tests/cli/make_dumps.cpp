#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "core/argument_writer.hpp"
#include "dump/segment_reader.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/layer_dump.hpp"
#include "ulpscope/digest.hpp"

/// Makes the dumps that the golden tests of the command line read: two training steps of one linear
/// layer and their variations.
namespace {

using namespace ulpscope;
using namespace ulpscope::test;

struct Variation {
  std::string level = "full";
  std::string threads = "1";
  std::string cpu_flags = {};
  double learning_rate = 0.125;
  bool weight_gradient_differs = false;  ///< from step 1 on
  bool extra_op = false;
  bool second_factor = false;  ///< of the product that makes the weight's gradient
  std::string incomplete = {};
  std::string program = "./train";
};

/// Twelve numbers that depend on `seed`, the first `shifted` of them by one ULP more.
std::vector<float> numbers(unsigned seed, std::size_t shifted = 0) {
  std::vector<float> values;
  for (unsigned i = 0; i < 12; ++i) {
    float value = static_cast<float>((seed * 37U + i * 11U) % 64U) / 64.0F - 0.5F;
    if (i < shifted) value = std::nextafter(value, 1.0F);
    values.push_back(value);
  }
  return values;
}

/// Adds tensors with real bytes to the events of one lane.
class Training {
 public:
  Training(const std::filesystem::path& directory, const Variation& variation,
           std::uint32_t rank = 0)
      : variation_(variation), dump_(directory, options(variation), rank), lane_(dump_.lane()) {}

  void run() {
    LaneBuilder& lane = lane_;
    lane.messages.environment(0, "threads.intra_op", variation_.threads);
    lane.messages.environment(0, "torch.version", "2.11.0");
    if (!variation_.cpu_flags.empty()) {
      lane.messages.environment(0, "cpu.flags", variation_.cpu_flags);
    }
    weight_ = numbers(1);
    auto& init = lane.op("aten::uniform_").no_grad().rng(42, 1, 2);
    add(init, Role::mutated, 0, weight_, "self", 10);
    for (unsigned step = 0; step < 2; ++step) train(step);
    auto& left = lane.add(EventKind::outcome, "end of run").no_grad().root("Net").module("");
    left.rng(42, 2, 2);
    add(left, Role::input, 0, weight_, "fc.weight", 10, slot_flag::parameter);
    dump_.finish(variation_.incomplete);
  }

 private:
  using Event = LaneBuilder::EventBuilder;

  static dump::RecordingOptions options(const Variation& variation) {
    dump::RecordingOptions options;
    options.level = variation.level;
    options.command = {variation.program};
    return options;
  }

  void train(unsigned step) {
    LaneBuilder& lane = lane_;
    const std::vector<float> batch = numbers(100 + step);
    auto& copy = lane.op("aten::copy_").no_grad();
    add(copy, Role::mutated, 0, batch, "", 20);

    lane.begin(EventKind::module, "Net").root("Net").module("").module_type("Net").object(1);
    lane.begin(EventKind::module, "Linear")
        .root("Net")
        .module("fc")
        .module_type("Linear")
        .object(2);
    auto& addmm = lane.op("aten::addmm").root("Net").module("fc").module_type("Linear");
    add(addmm, Role::input, 0, batch, "", 20);
    add(addmm, Role::input, 1, weight_, "fc.weight", 10, slot_flag::parameter);
    add(addmm, Role::output, 0, sum(batch, weight_), "", 30 + step);
    lane.end();
    if (variation_.extra_op && step == 1) {
      auto& clone = lane.op("aten::clone").root("Net").module("");
      add(clone, Role::input, 0, batch, "", 20);
      add(clone, Role::output, 0, batch, "", 60);
    }
    lane.end();

    const std::size_t shifted = variation_.weight_gradient_differs && step == 1 ? 5 : 0;
    const std::vector<float> gradient = numbers(200 + step, shifted);
    lane.begin(EventKind::node, "AddmmBackward0").backward();
    auto& mm = lane.op("aten::mm").backward().root("Net").module("fc").module_type("Linear");
    mm.row().op = lane.messages.op("aten::mm", "", "self,mat2");
    add(mm, Role::input, 0, batch, "", 20);
    if (variation_.second_factor) add(mm, Role::input, 1, batch, "", 20);
    add(mm, Role::output, 0, gradient, "", 40 + step);
    lane.end();
    auto& accumulate = lane.add(EventKind::gradient, "AccumulateGrad").backward().root("Net");
    accumulate.module("fc");
    add(accumulate, Role::input, 0, gradient, "fc.weight.grad", 40 + step, slot_flag::gradient);

    lane.begin(EventKind::optimizer, "SGD::step").object(3).no_grad();
    auto& update = lane.op("aten::add_", "Tensor").no_grad();
    update.row().op = lane.messages.op("aten::add_", "Tensor", "self,other,alpha");
    add(update, Role::input, 1, gradient, "fc.weight.grad", 40 + step, slot_flag::gradient);
    weight_ = sum(weight_, gradient, -variation_.learning_rate);
    add(update, Role::mutated, 0, weight_, "fc.weight", 10, slot_flag::parameter);
    std::array<std::byte, 64> buffer{};
    ArgumentWriter arguments(buffer);
    arguments.number(2, -variation_.learning_rate);
    update.arguments({arguments.bytes().begin(), arguments.bytes().end()});
    lane.end();
  }

  static std::vector<float> sum(const std::vector<float>& a, const std::vector<float>& b,
                                double scale = 1) {
    std::vector<float> result;
    for (std::size_t i = 0; i < a.size(); ++i) {
      result.push_back(static_cast<float>(a[i] + scale * b[i]));
    }
    return result;
  }

  void add(Event& event, Role role, std::uint16_t index, const std::vector<float>& values,
           std::string_view name, std::uint64_t storage, std::uint32_t flags = 0) {
    const auto bytes = std::as_bytes(std::span(values));
    const Digest content = digest(bytes);
    TensorSpec spec;
    spec.digest = 1;
    spec.name = name;
    spec.storage = storage;
    spec.sizes = {3, 4};
    spec.flags = flags | (role == Role::input ? slot_flag::verified : 0);
    if (variation_.level == "full") {
      spec.flags |= slot_flag::has_content;
      lane_.messages.content(content, bytes);
    }
    switch (role) {
      case Role::input:
        event.input(spec);
        break;
      case Role::output:
        event.output(spec);
        break;
      case Role::mutated:
        event.mutated(spec);
        break;
    }
    ring::SlotRow& row = event.slots().back();
    row.digest[0] = content.high;
    row.digest[1] = content.low;
    row.value = content.low;
    row.index = index;
  }

  Variation variation_;
  DumpBuilder dump_;
  LaneBuilder& lane_;
  std::vector<float> weight_;
};

/// One step of a network of two layers with values in several dtypes and memory orders.
void make_layers(const std::filesystem::path& directory) {
  dump::RecordingOptions options;
  options.level = "full";
  DumpBuilder dump(directory, options);
  LaneBuilder& lane = dump.lane();
  const auto module = [&](std::string_view path, std::string_view type) -> auto& {
    return lane.add(EventKind::module, type).root("Net").module(path).module_type(type);
  };
  auto& initial = lane.add(EventKind::parameters, "Net").root("Net").module("");
  add_tensor(lane, initial, Role::input, 0, floats({0.5, -0.25}), "fc.weight",
             slot_flag::parameter);
  lane.op("aten::mm").root("Net").module("fc").module_type("Linear");
  auto& fc = module("fc", "Linear");
  add_tensor(lane, fc, Role::input, 0, floats({1, 2, 3, 4, 5, 6, 7, 8, 9, -0.0}));
  Tensor transposed = floats({1, 4, 2, 5, 3, 1e-45F});
  transposed.sizes = {2, 3};
  transposed.strides = {1, 2};
  add_tensor(lane, fc, Role::output, 0, transposed);
  auto& half = module("half", "Cast");
  add_tensor(lane, half, Role::output, 0,
             tensor<std::uint16_t>(Dtype::bfloat16, {3}, {0x3fc0, 0xc000, 0x7f80}));
  add_tensor(lane, half, Role::output, 1, tensor<float>(Dtype::complex64, {1}, {1.5F, -2.0F}));
  auto& gradient = lane.add(EventKind::gradient, "AccumulateGrad").backward().root("Net");
  add_tensor(lane, gradient.module("fc"), Role::output, 0, floats({0.125, 0.25}), "fc.weight.grad",
             slot_flag::gradient);
  lane.add(EventKind::optimizer, "SGD::step").object(1).no_grad();
  dump.finish();
}

/// Statistics without bytes.
void make_statistics(const std::filesystem::path& directory) {
  dump::RecordingOptions options;
  options.level = "stats";
  DumpBuilder dump(directory, options);
  LaneBuilder& lane = dump.lane();
  lane.messages.statistics(digest_number(1), Dtype::float32,
                           {.min = -1.5, .max = 2, .mean = 0.1, .l2 = 3, .elements = 6, .nan = 1});
  auto& op = lane.op("aten::relu").output({.digest = 1});
  op.row().stack = lane.messages.stack({{"/usr/bin/train", 0x4711}, {"/lib/libc.so.6", 0x99}});
  dump.finish();
}

/// Inverts one byte in the middle of a file.
void damage(const std::filesystem::path& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(path) / 2);
  file.seekg(middle);
  const char byte = static_cast<char>(file.get());
  file.seekp(middle);
  file.put(static_cast<char>(~byte));
}

/// Inverts a byte of a value's content.
void damage_content(const std::filesystem::path& segment, const std::vector<float>& value) {
  const Digest wanted = digest(std::as_bytes(std::span(value)));
  const auto opened = dump::Segment::open(segment);
  for (const dump::ContentRow& row : opened->tables().contents) {
    if (row.digest != wanted) continue;
    std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(row.offset));
    file.put('\x7f');
  }
}

/// Runs of five ranks each: two equal ones, one whose ranks diverge in several ways, and one with
/// damaged bytes of a differing value.
void make_ranks(const std::filesystem::path& directory) {
  const Variation apart{.threads = "2", .weight_gradient_differs = true};
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    Training(directory / "ranks", {}, rank).run();
    Variation other;
    if (rank == 1 || rank == 4) other = apart;
    if (rank == 2) other.extra_op = true;
    if (rank == 3) other.learning_rate = 0.25;
    Training(directory / "ranks_apart", other, rank).run();
    Training(directory / "ranks_damaged", rank > 1 ? apart : Variation{}, rank).run();
  }
  damage_content(directory / "ranks_damaged" / "rank0003" / "segment-000000.h5", numbers(201, 5));
}

/// Tolerance files, valid and invalid.
void make_tolerances(const std::filesystem::path& directory) {
  const std::string sound =
      "[[rule]]\nop = \"aten::m?\"\nmodule = \"fc\"\nmax_ulp = 64\n"
      "reason = \"a sum over two threads\"\n\n[[rule]]\nop = \"aten::conv*\"\nrtol = 1e-5\n";
  std::ofstream(directory / "tolerance.toml")
      << sound
      << "\n[[rule]]\nmodule = \"*\"\nmax_ulp = 64\natol = 1e-6\n\n[[rule]]\natol = 1e-6\n";
  std::ofstream(directory / "expired.toml")
      << "[[rule]]\nmax_ulp = 64\nexpires = 2020-02-29\n\n[[rule]]\nop = \"aten::conv*\"\nrtol = "
         "1e-5\n";
  std::ofstream(directory / "unknown_key.toml") << "[[rule]]\nop = \"aten::mm\"\nmax_upl = 64\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_dumps DIRECTORY\n";
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);

  Training(directory / "reference", {}).run();
  Training(directory / "same", {}).run();
  Training(directory / "threads", {.threads = "2", .weight_gradient_differs = true}).run();
  Training(directory / "digests", {.level = "digest"}).run();
  Training(directory / "digests_threads",
           {.level = "digest", .threads = "2", .weight_gradient_differs = true})
      .run();
  Training(directory / "rate", {.learning_rate = 0.25}).run();
  Training(directory / "other_program", {.program = "./evaluate"}).run();
  Training(directory / "other_cpu",
           {.cpu_flags = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr avx avx2"})
      .run();
  Training(directory / "factors", {.second_factor = true}).run();
  Training(directory / "factors_threads",
           {.threads = "2", .weight_gradient_differs = true, .second_factor = true})
      .run();
  Training(directory / "extra", {.extra_op = true}).run();
  Training(directory / "killed", {.incomplete = "process 7 was ended by signal 9 (SIGKILL)"}).run();
  Training(directory / "damaged", {}).run();
  damage(directory / "damaged" / "rank0000" / "segment-000000.h5");
  make_ranks(directory);
  make_layers(directory / "layers");
  make_statistics(directory / "statistics");
  std::filesystem::create_directory(directory / "maps");
  std::ofstream(directory / "maps" / "unused") << "encoder.* -> blocks.*  # of another model\n";
  std::ofstream(directory / "maps" / "wrong") << "# renamed\nencoder.* blocks.*\n";
  std::filesystem::create_directory(directory / "empty");
  std::ofstream(directory / "text.txt") << "not a dump\n";
  make_tolerances(directory);
  return 0;
}
