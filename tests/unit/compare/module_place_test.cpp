#include "compare/model/place.hpp"
#include "tests/unit/compare/report_of.hpp"

using namespace ulpscope;
using namespace ulpscope::test;

namespace {

/// The root's forward: calls of modules by path, and "op" for the op in question, which produces
/// different bits in the candidate.
[[nodiscard]] Finding finding_in(const std::vector<std::string_view>& forward) {
  const Report report = report_of([&](RunBuilder& run, bool changed) {
    run.step(0).phase(Phase::forward);
    const Tensor x = run.data(labelled("x"));
    run.call(
        "",
        [&](EventBuilder&) {
          for (const std::string_view part : forward) {
            if (part == "op")
              run.op("aten::gelu").in(x).out(labelled(changed ? "b" : "a"));
            else
              run.call(part, [&](EventBuilder&) { run.op("aten::mm").in(x).out(labelled("y")); });
          }
        },
        "Net");
  });
  REQUIRE(report.findings.size() == 1);
  return report.findings.front();
}

}  // namespace

TEST_SUITE("module place") {
  TEST_CASE("an op between calls of one module's children stands in that module's forward") {
    const Finding finding =
        finding_in({"blocks.0.attention.qkv", "op", "blocks.0.attention.proj", "norm"});
    CHECK(finding.module == "blocks.0.attention");
    CHECK_FALSE(finding.between.has_value());
  }

  TEST_CASE("the module's forward may have been called before") {
    const Finding finding = finding_in({"a.q", "a.p", "a.q", "op", "a.p"});
    CHECK(finding.module == "a");
  }

  TEST_CASE("where the forward may have ended and begun again, the neighbours are named") {
    for (const std::vector<std::string_view>& forward :
         {std::vector<std::string_view>{"a.q", "a.p", "op", "a.q", "a.p"},
          std::vector<std::string_view>{"a.q", "op", "a.q"}}) {
      const Finding finding = finding_in(forward);
      CHECK_FALSE(finding.module.has_value());
      REQUIRE(finding.between.has_value());
      CHECK(finding.between->candidate == "a.q");
    }
  }

  TEST_CASE("between modules that may be inlined the op is in the call around them, between both") {
    for (const std::vector<std::string_view>& forward :
         {std::vector<std::string_view>{"embedding", "op", "encoder.norm"},
          std::vector<std::string_view>{"blocks.0.fc", "op", "blocks.1.norm"}}) {
      const Finding finding = finding_in(forward);
      CHECK(finding.module == "");
      REQUIRE(finding.between.has_value());
      CHECK(finding.between->reference == forward[0]);
      CHECK(finding.between->candidate == forward[2]);
    }
  }

  TEST_CASE("a module that shows its calls has no ops outside of them") {
    const Finding finding = finding_in({"block", "block.fc1", "op", "block.fc2"});
    CHECK(finding.module == "");
    CHECK(finding.between.has_value());
  }

  TEST_CASE("between the children of the call around it nothing is left open") {
    const Finding finding = finding_in({"fc1", "op", "fc2"});
    CHECK(finding.module == "");
    CHECK_FALSE(finding.between.has_value());
  }

  TEST_CASE("a backward op is placed where its forward op is") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      std::uint64_t forward = 0;
      run.call(
          "",
          [&](EventBuilder&) {
            run.call("a.q", [&](EventBuilder& call) { call.in(x); });
            forward = run.next_position();
            run.op("aten::gelu").in(x).out(labelled("y"));
            run.call("a.p", [&](EventBuilder& call) { call.in(x); });
          },
          "Net");
      run.backward(true);
      run.node("GeluBackward0", forward,
               [&] { run.op("aten::gelu_backward").in(x).out(labelled(changed ? "b" : "a")); });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].forward_op == "aten::gelu");
    CHECK(report.findings[0].module == "a");
  }

  TEST_CASE("where in the program the op was called") {
    const Report report = report_of([](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      const Tensor x = run.data(labelled("x"));
      run.composite("aten::linear", [&](EventBuilder& outer) {
        outer.in(x).stack("net.cpp:41 Net::forward\ntrain.cpp:7 main\n");
        return run.op("aten::addmm").in(x).out(labelled(changed ? "b" : "a"));
      });
    });
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].op == "aten::addmm");
    CHECK(report.findings[0].where == "net.cpp:41");
    CHECK(report.findings[0].file.empty());
  }

  TEST_CASE("behind a call are the text of its line and the directory of its file") {
    struct Case {
      const char* stack;
      const char* place;
      const char* source;
      const char* file;
    };
    for (const Case& one :
         {Case{"net.py:4 f", "net.py:4", "", ""},
          Case{"net.py:4 f\tx = y z", "net.py:4", "x = y z", ""},
          Case{"net.py:4 f\tx = y\tsrc/nets", "net.py:4", "x = y", "src/nets/net.py"},
          Case{"net.py:4 f\tx = y\t.", "net.py:4", "x = y", "net.py"},
          Case{"net.cpp:4 f(int)\t\tsrc\nmain.cpp:1 main\t\t.", "net.cpp:4", "", "src/net.cpp"},
          Case{"any.h:4 torch::f\t\tinclude\nmain.cpp:1 main\t\t.", "main.cpp:1", "", "main.cpp"},
          Case{"net.cpp:4\t\tsrc", "net.cpp:4", "", "src/net.cpp"}, Case{"", "", "", ""}}) {
      CAPTURE(one.stack);
      const auto line = comparison::place_in_program(one.stack);
      CHECK(line.place == one.place);
      CHECK(line.source == one.source);
      CHECK(line.file == one.file);
    }
  }
}
