#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <numeric>

#include "dump/layout.hpp"
#include "dump/recovery.hpp"
#include "dump/segment_reader.hpp"
#include "dump/verify.hpp"
#include "tests/support/dump_builder.hpp"
#include "tests/support/layer_dump.hpp"
#include "tests/support/segment_contents.hpp"
#include "ulpscope/dump_reader.hpp"

using namespace ulpscope;
using test::add_tensor;
using test::DumpBuilder;
using test::floats;
using test::LaneBuilder;
using test::TempDir;
using test::Tensor;

namespace {

std::map<std::string, LayerValue> layers_of(const TempDir& dir) {
  std::map<std::string, LayerValue> layers;
  for (LayerValue& value : open_dump(dir.path())->layer_values(0))
    layers.emplace(value.path, std::move(value));
  return layers;
}

/// All paths, a line each.
std::string paths_of(const TempDir& dir) {
  std::string paths;
  for (const auto& [path, value] : layers_of(dir)) paths += path + "\n";
  return paths;
}

std::vector<float> numbers_at(const TempDir& dir, const std::string& path) {
  const auto layers = layers_of(dir);
  REQUIRE_MESSAGE(layers.contains(path), path);
  const auto bytes = open_dump(dir.path())->content(0, layers.at(path).digest);
  REQUIRE(bytes);
  std::vector<float> numbers(bytes->size() / sizeof(float));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes->data(), bytes->size());
  return numbers;
}

LaneBuilder::EventBuilder& module(LaneBuilder& lane, std::string_view path,
                                  std::string_view root = "Net") {
  return lane.add(EventKind::module, "Layer").root(root).module(path).object(1);
}

/// A forward of "fc" that begins a step.
void forward(LaneBuilder& lane, float number) {
  lane.op("aten::mm").root("Net").module("fc");
  add_tensor(lane, module(lane, "fc"), Role::output, 0, floats({number}));
}

void optimizer_step(LaneBuilder& lane) {
  lane.add(EventKind::optimizer, "SGD::step").object(9).no_grad();
  lane.send();
}

TEST_SUITE("the layer tree") {
  TEST_CASE("module inputs and outputs stand under step, direction, module and call") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.level = "full"});
    auto& lane = dump.lane();
    lane.op("aten::empty");
    for (float step = 0; step < 2; ++step) {
      auto& call = module(lane, "layer1.conv1");
      add_tensor(lane, call, Role::input, 0, floats({step, 1}));
      add_tensor(lane, call, Role::output, 0, floats({step, 2}));
      add_tensor(lane, module(lane, "layer1.conv1"), Role::output, 0, floats({step, 3}));
      add_tensor(lane, module(lane, ""), Role::output, 0, floats({step, 4}));
      optimizer_step(lane);
    }
    dump.finish();
    CHECK(paths_of(dir) ==
          "steps/000000/forward/(root)/0/output.0\n"
          "steps/000000/forward/layer1.conv1/0/input.0\n"
          "steps/000000/forward/layer1.conv1/0/output.0\n"
          "steps/000000/forward/layer1.conv1/1/output.0\n"
          "steps/000001/forward/(root)/0/output.0\n"
          "steps/000001/forward/layer1.conv1/0/input.0\n"
          "steps/000001/forward/layer1.conv1/0/output.0\n"
          "steps/000001/forward/layer1.conv1/1/output.0\n");
    CHECK(numbers_at(dir, "steps/000001/forward/layer1.conv1/1/output.0") ==
          std::vector<float>{1, 3});
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("later outputs and gradients belong to the call they name") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    module(lane, "fc");
    auto& call = module(lane, "fc");
    const std::uint64_t position = call.position();
    lane.op("aten::relu").root("Net").module("fc");
    auto& late = lane.add(EventKind::module_output, "Layer").root("Net").module("fc");
    late.forward(position);
    add_tensor(lane, late, Role::output, 2, floats({5}));
    auto& gradient = lane.add(EventKind::module_gradient, "Layer").root("Net").module("fc");
    gradient.forward(position).backward();
    add_tensor(lane, gradient, Role::input, 0, floats({6}));
    add_tensor(lane, gradient, Role::output, 1, floats({7}));
    optimizer_step(lane);
    dump.finish();
    CHECK(paths_of(dir) ==
          "steps/000000/backward/fc/1/grad_input.1\n"
          "steps/000000/backward/fc/1/grad_output.0\n"
          "steps/000000/forward/fc/1/output.2\n");
  }

  TEST_CASE("of a gradient accumulated more than once the last one has the plain name") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    for (float i = 0; i < 3; ++i) {
      auto& event = lane.add(EventKind::gradient, "AccumulateGrad").backward().root("Net");
      add_tensor(lane, event, Role::output, 0, floats({i}), "fc.weight.grad", slot_flag::gradient);
    }
    optimizer_step(lane);
    dump.finish();
    CHECK(layers_of(dir).size() == 3);
    CHECK(numbers_at(dir, "steps/000000/backward/fc.weight.grad") == std::vector<float>{2});
    CHECK(numbers_at(dir, "steps/000000/backward/fc.weight.grad@0") == std::vector<float>{0});
    CHECK(numbers_at(dir, "steps/000000/backward/fc.weight.grad@1") == std::vector<float>{1});
  }

  TEST_CASE("parameters stand where they were before the first forward and after each step") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    const auto parameters = [&](float number) {
      auto& event = lane.add(EventKind::parameters, "Net").no_grad().root("Net").module("");
      add_tensor(lane, event, Role::input, 0, floats({number}), "fc.weight", slot_flag::parameter);
    };
    parameters(1);
    for (float step = 0; step < 2; ++step) {
      forward(lane, step);
      lane.op("aten::mm").backward();
      lane.add(EventKind::optimizer, "SGD::step").object(9).no_grad();
      parameters(20 + step);
      parameters(30 + step);
      lane.send();
    }
    dump.finish();
    CHECK(numbers_at(dir, "setup/parameters/fc.weight") == std::vector<float>{1});
    CHECK(numbers_at(dir, "steps/000000/optimizer/fc.weight") == std::vector<float>{30});
    CHECK(numbers_at(dir, "steps/000001/optimizer/fc.weight") == std::vector<float>{31});
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("what a module reads of its parameters is no entry") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    auto& call = module(lane, "fc");
    add_tensor(lane, call, Role::input, 0, floats({1}), "fc.weight", slot_flag::parameter);
    add_tensor(lane, call, Role::input, 1, floats({2}), "fc.steps", slot_flag::buffer);
    dump.finish();
    CHECK(paths_of(dir).empty());
  }

  TEST_CASE("elements of a list, evaluation, setup and further roots have names of their own") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    add_tensor(lane, module(lane, "warm").no_grad(), Role::output, 0, floats({1}));
    lane.op("aten::mm").root("Net").module("fc");
    auto& call = module(lane, "cat");
    add_tensor(lane, call, Role::input, 1, floats({2}));
    add_tensor(lane, call, Role::input, 1, floats({3})).element = 1;
    add_tensor(lane, module(lane, "conv1", "Critic"), Role::output, 0, floats({4}));
    add_tensor(lane, module(lane, "", "Critic"), Role::output, 0, floats({5}));
    add_tensor(lane, module(lane, "fc").no_grad(), Role::output, 0, floats({6}));
    optimizer_step(lane);
    dump.finish();
    CHECK(paths_of(dir) ==
          "setup/forward/warm/0/output.0\n"
          "steps/000000/eval/fc/0/output.0\n"
          "steps/000000/forward/Critic::(root)/0/output.0\n"
          "steps/000000/forward/Critic::conv1/0/output.0\n"
          "steps/000000/forward/cat/0/input.1.0\n"
          "steps/000000/forward/cat/0/input.1.1\n");
  }

  TEST_CASE("names that would lead elsewhere in the file are escaped") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    float number = 0;
    for (const char* name : {"a/b", ".", "..", "50%", "/content/index"})
      add_tensor(lane, module(lane, name), Role::output, 0, floats({++number}));
    dump.finish();
    CHECK(paths_of(dir) ==
          "steps/000000/forward/%2E%2E/0/output.0\n"
          "steps/000000/forward/%2E/0/output.0\n"
          "steps/000000/forward/%2Fcontent%2Findex/0/output.0\n"
          "steps/000000/forward/50%25/0/output.0\n"
          "steps/000000/forward/a%2Fb/0/output.0\n");
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("a name that HDF5 refuses costs the name, not the value") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    for (const std::string name : {"fc.weight", "fc.weight/0"}) {
      auto& event = lane.add(EventKind::gradient, "AccumulateGrad").backward().root("Net");
      add_tensor(lane, event, Role::output, 0, floats({1}), name, slot_flag::gradient);
    }
    add_tensor(lane, module(lane, std::string(100'000, 'x')), Role::output, 0, floats({2}));
    dump.finish();
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
    CHECK(layers_of(dir).size() == 3);
  }

  TEST_CASE("a value in another memory order is shown in row-major order, and kept as it was") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    Tensor transposed = floats({1, 4, 2, 5, 3, 6});
    transposed.sizes = {2, 3};
    transposed.strides = {1, 2};
    add_tensor(lane, module(lane, "t"), Role::output, 0, transposed);
    Tensor expanded = floats({7, 8});
    expanded.sizes = {3, 2};
    expanded.strides = {0, 1};
    add_tensor(lane, module(lane, "e"), Role::output, 0, expanded);
    dump.finish();
    CHECK(numbers_at(dir, "steps/000000/forward/t/0/output.0") ==
          std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(numbers_at(dir, "steps/000000/forward/e/0/output.0") ==
          std::vector<float>{7, 8, 7, 8, 7, 8});
    CHECK(open_dump(dir.path())->content(0, digest(transposed.bytes)) == transposed.bytes);
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("equal values of a segment are stored once, another shape or dtype apart") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    const Tensor value = floats({1, 2, 3, 4});
    Tensor square = value;
    square.sizes = {2, 2};
    Tensor integers = value;
    integers.dtype = Dtype::int32;
    for (const Tensor& tensor : {value, value, square, integers, value})
      add_tensor(lane, module(lane, "fc"), Role::output, 0, tensor);
    dump.finish();
    const auto segment = dump::Segment::open(dump::segment_path(dump::rank_path(dir.path(), 0), 0));
    CHECK(segment->tables().layers.size() == 5);
    CHECK(segment->tables().contents.size() == 3);
  }

  TEST_CASE("contents that were written before a layer asked for them are copied into its tree") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.content_buffer_bytes = 0, .segment_steps = 1});
    auto& lane = dump.lane();
    for (float step = 0; step < 4; ++step) {
      forward(lane, step);
      optimizer_step(lane);
    }
    dump.finish();
    CHECK(layers_of(dir).size() == 4);
    CHECK(numbers_at(dir, "steps/000003/forward/fc/0/output.0") == std::vector<float>{3});
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("of what layers compute little is stored twice, however large a step is") {
    const TempDir dir;
    DumpBuilder dump(dir.path(),
                     {.level = "full", .segment_bytes = 100, .content_buffer_bytes = 200});
    auto& lane = dump.lane();
    for (float step = 0; step < 6; ++step) {
      for (float call = 0; call < 20; ++call) {
        lane.op("aten::mm").root("Net").module("fc");
        add_tensor(lane, module(lane, "fc"), Role::output, 0, floats({step, call, 1, 2}));
        lane.send();
      }
      optimizer_step(lane);
    }
    dump.finish();
    const auto contents = test::contents_of_segments(dir.path());
    CHECK(contents.size() >= 4);
    CHECK(std::accumulate(contents.begin(), contents.end(), std::size_t{0}) <= 120 + 120 / 8);
    CHECK(layers_of(dir).size() == 120);
  }

  TEST_CASE("a thread that sends nothing more holds no segment up") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.level = "full", .segment_bytes = 1000});
    auto& lane = dump.lane();
    auto& idle = dump.lane("idle");
    for (float step = 0; step < 6; ++step) {
      forward(lane, step);
      add_tensor(lane, module(lane, "fc"), Role::output, 0, floats(std::vector(500, step)));
      optimizer_step(lane);
      if (step > 0) continue;
      idle.op("aten::relu");
      idle.send();
    }
    CHECK(dump::list_ranks(dir.path()).at(0).segments.size() >= 1);
  }

  TEST_CASE("values too large to wait in memory become datasets where they were written") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.content_buffer_bytes = 4096});
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    std::vector<Tensor> values;
    for (std::size_t i = 0; i < 60; ++i) {
      const std::size_t size = 1 + (i * 7919) % 100'000;
      values.push_back(floats(std::vector<float>(size, static_cast<float>(i))));
      lane.messages.content(digest(values.back().bytes), values.back().bytes);
      lane.send();
      if (i % 3 == 0) {  // requested later than others that came after it
        const Tensor& earlier = values[(i * 31) % values.size()];
        add_tensor(lane, module(lane, "fc"), Role::output, 0, earlier);
      }
    }
    dump.finish();
    const auto segment = dump::Segment::open(dump::segment_path(dump::rank_path(dir.path(), 0), 0));
    CHECK(segment->tables().contents.size() == 60);
    CHECK(segment->tables().layers.size() == 20);
    for (const Tensor& value : values) CHECK(segment->content(digest(value.bytes)) == value.bytes);
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("slots whose bytes do not fit their shape are left out") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    Tensor wrong = floats({1, 2});
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{3}, {-1}, {1LL << 62, 1LL << 62}, {0}, {0, 1LL << 62}}) {
      wrong.sizes = sizes;
      add_tensor(lane, module(lane, "fc"), Role::output, 0, wrong);
    }
    wrong.sizes = {1LL << 40, 2};
    wrong.strides = {0, 1};
    add_tensor(lane, module(lane, "fc"), Role::output, 0, wrong);
    wrong = floats({1, 2});
    wrong.dtype = static_cast<Dtype>(77);
    add_tensor(lane, module(lane, "fc"), Role::output, 0, wrong);
    dump.finish();
    CHECK(dump.recording.stopped().empty());
    CHECK(paths_of(dir).empty());
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("a scalar and a value without elements are datasets too") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    lane.op("aten::mm").root("Net").module("fc");
    Tensor scalar = floats({2.5});
    scalar.sizes = {};
    Tensor empty = floats({});
    empty.sizes = {0, 7};
    add_tensor(lane, module(lane, "scalar"), Role::output, 0, scalar);
    add_tensor(lane, module(lane, "empty"), Role::output, 0, empty);
    dump.finish();
    CHECK(layers_of(dir).size() == 2);
    CHECK(numbers_at(dir, "steps/000000/forward/empty/0/output.0").empty());
  }

  TEST_CASE("a byte changed in a value of the tree is found") {
    const TempDir dir;
    DumpBuilder dump(dir.path());
    auto& lane = dump.lane();
    forward(lane, 1);
    dump.finish();
    const auto path = dump::segment_path(dump::rank_path(dir.path(), 0), 0);
    const auto offset = dump::Segment::open(path)->tables().contents.at(0).offset;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put('\x7f');
    file.close();
    const auto problems = dump::verify(dir.path()).problems;
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].find("does not have that digest") != std::string::npos);
  }

  TEST_CASE("a recording that is killed leaves published values, and its events come back") {
    const TempDir dir;
    {
      DumpBuilder dump(dir.path(), {.segment_steps = 2});
      auto& lane = dump.lane();
      for (float step = 0; step < 8; ++step) {
        forward(lane, step);
        optimizer_step(lane);
      }
    }
    dump::recover(dir.path());
    CHECK(numbers_at(dir, "steps/000000/forward/fc/0/output.0") == std::vector<float>{0});
    CHECK(open_dump(dir.path())->info().steps == 8);
    CHECK(dump::verify(dir.path()).problems == std::vector<std::string>{});
  }

  TEST_CASE("what is outside the window of steps has no entries, and counts go on") {
    const TempDir dir;
    DumpBuilder dump(dir.path(), {.first_step = 1, .last_step = 1});
    auto& lane = dump.lane();
    for (float step = 0; step < 3; ++step) {
      forward(lane, step);
      forward(lane, step + 10);
      optimizer_step(lane);
    }
    dump.finish();
    CHECK(paths_of(dir) ==

          "steps/000001/forward/fc/0/output.0\n"
          "steps/000001/forward/fc/1/output.0\n");
  }
}

}  // namespace
