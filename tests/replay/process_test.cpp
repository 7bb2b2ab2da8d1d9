#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>

#include "replay/replay_process.hpp"

using namespace ulpscope;

namespace {

ReplayRequest request(const std::string& op, std::size_t bytes = 8) {
  ReplayRequest request;
  request.op = op;
  ReplayTensor& tensor = request.inputs.emplace_back();
  tensor.dtype = Dtype::uint8;
  tensor.sizes = {static_cast<std::int64_t>(bytes)};
  tensor.strides = {1};
  tensor.bytes.assign(bytes, std::byte{42});
  return request;
}

}  // namespace

TEST_SUITE("replay process") {
  TEST_CASE("answers come in order, large ones too") {
    replay::ReplayProcess process(FAULTY_REPLAYER);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{64} << 20}) {
      const ReplayAnswer answer = process.replay(request("test::echo", bytes));
      CHECK(answer.failure.empty());
      REQUIRE(answer.results.size() == 1);
      CHECK(answer.results[0].bytes.size() == bytes);
    }
  }

  TEST_CASE("an op that ends the process fails alone") {
    for (const char* op :
         {"test::dies", "test::leaves", "test::endless", "test::cut", "test::nonsense"}) {
      CAPTURE(op);
      replay::ReplayProcess process(FAULTY_REPLAYER);
      CHECK_FALSE(process.replay(request(op)).failure.empty());
      CHECK(process.replay(request("test::echo")).failure.empty());
    }
  }

  TEST_CASE("a program that the loader cannot start lacks LibTorch") {
    replay::ReplayProcess process(FAULTY_REPLAYER);
    CHECK(process.replay(request("test::not_loaded")).failure ==
          "the program that executes ops finds no LibTorch: LD_LIBRARY_PATH can name the folder of "
          "libtorch_cpu.so");
  }

  TEST_CASE("a program that ends again and again is not started for ever") {
    replay::ReplayProcess process(FAULTY_REPLAYER);
    for (int i = 0; i < 40; ++i) CHECK_FALSE(process.replay(request("test::dies")).failure.empty());
    CHECK(process.replay(request("test::echo")).failure ==
          "the program that executes ops cannot be started");
  }

  TEST_CASE("an op that does not end is given up") {
    ReplayStart start;
    start.patience = std::chrono::seconds(1);
    replay::ReplayProcess process(FAULTY_REPLAYER, start);
    CHECK(process.replay(request("test::waits")).failure == "the op took too long: more than 1 s");
    CHECK(process.replay(request("test::echo")).failure.empty());
  }

  TEST_CASE("variables and libraries are those of its start") {
    ::setenv("REPLAY_TEST_VARIABLE", "the caller's", 1);
    CHECK(replay::ReplayProcess(FAULTY_REPLAYER).replay(request("test::variable")).failure ==
          "the caller's");
    ReplayStart start;
    start.environment = {{"REPLAY_TEST_VARIABLE", "first"}, {"REPLAY_TEST_VARIABLE", "last"}};
    start.libraries = {"one.so", "two.so"};
    replay::ReplayProcess process(FAULTY_REPLAYER, start);
    CHECK(process.replay(request("test::variable")).failure == "last");
    CHECK(process.replay(request("test::libraries")).failure == "one.so two.so ");
    start.environment.push_back({"REPLAY_TEST_VARIABLE", std::nullopt});
    CHECK(replay::ReplayProcess(FAULTY_REPLAYER, start).replay(request("test::variable")).failure ==
          "nothing");
    ::unsetenv("REPLAY_TEST_VARIABLE");
  }

  TEST_CASE("a program that is not there is a failure") {
    replay::ReplayProcess process("/nowhere/replayer");
    CHECK(process.replay(request("test::echo")).failure ==
          "the program that executes ops cannot be started");
  }
}
