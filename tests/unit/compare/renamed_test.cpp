#include "compare/model/renamed_run.hpp"
#include "tests/unit/compare/report_of.hpp"
#include "ulpscope/error.hpp"

using namespace ulpscope;
using namespace ulpscope::comparison;
using namespace ulpscope::test;

namespace {

/// Two blocks of two modules; only layers are recorded.
void layers(RunBuilder& run, const std::string& block, const std::string& inner,
            const std::string& tag = {}) {
  run.step(0).phase(Phase::forward);
  Tensor x = run.data(labelled("x"));
  for (int k = 0; k < 2; ++k) {
    const std::string path = block + "." + std::to_string(k);
    const Tensor weight = run.parameter(path + "." + inner + ".weight", labelled("w"));
    run.call(path, [&](EventBuilder& outer) {
      outer.in(x);
      run.call(path + "." + inner, [&](EventBuilder& call) {
        x = call.in(x).out(labelled("y" + std::to_string(k) + (k == 1 ? tag : "")));
      });
      x = outer.out(labelled("z" + std::to_string(k) + (k == 1 ? tag : "")));
    });
    run.parameters({weight});
  }
}

[[nodiscard]] CompareOptions with(std::vector<ModuleRename> renames) {
  CompareOptions options;
  options.renames = std::move(renames);
  return options;
}

}  // namespace

TEST_SUITE("renamed modules") {
  TEST_CASE("a star stands for one part of a path, and modules inside follow") {
    CHECK(rename("blocks.3.attention.q.weight", "blocks.*.attention", "encoder.*.attn") ==
          "encoder.3.attn.q.weight");
    CHECK(rename("blocks.3", "blocks.*", "encoder.*") == "encoder.3");
    CHECK(rename("a1b.x2", "a*b.x*", "*.*") == "1.2");
    CHECK(rename("net", "net", "model.net") == "model.net");
    CHECK_FALSE(rename("network.0", "net", "x"));
    CHECK_FALSE(rename("blocks.3.4", "blocks.*.attention", "x.*"));
    CHECK_FALSE(rename("blocks", "blocks.*", "x.*"));
  }

  TEST_CASE("renamed modules are aligned and go by the reference's names") {
    const auto reference = [](RunBuilder& run) { layers(run, "encoder", "attn"); };
    const auto candidate = [](RunBuilder& run) { layers(run, "blocks", "attention"); };
    const auto changed = [](RunBuilder& run) { layers(run, "blocks", "attention", "'"); };
    const std::vector<ModuleRename> map{{"encoder.*.attn", "blocks.*.attention"},
                                        {"encoder", "blocks"}};
    const Report same = report_of(reference, candidate, with(map));
    CHECK(same.verdict == Verdict::identical);
    CHECK(same.coverage.aligned == 6);
    CHECK(same.coverage.only_reference == 0);

    const Report parted = report_of(reference, changed, with(map));
    REQUIRE(parted.findings.size() == 1);
    CHECK(parted.findings[0].kind == FindingKind::origin);
    CHECK(parted.findings[0].module == "encoder.1.attn");
  }

  TEST_CASE("a parameter is compared with the one that has its name in the map") {
    const auto program = [](RunBuilder& run, bool changed) {
      const std::string tag = changed ? "'" : "";
      run.step(0).phase(Phase::forward);
      const Tensor weight =
          run.parameter(changed ? "new.weight" : "old.weight", labelled("w" + tag));
      run.parameters({weight});
      run.call(changed ? "new" : "old", [&](EventBuilder& call) {
        call.in(run.data(labelled("x"))).out(labelled("y" + tag));
      });
    };
    CHECK(report_of(program).findings.at(0).kind == FindingKind::origin);
    const Report report = report_of(program, with({{"old", "new"}}));
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::parameter);
    CHECK(report.findings[0].tensors.at(0).name == "old.weight");
  }

  TEST_CASE("ops of renamed modules are aligned too") {
    const auto program = [](RunBuilder& run, bool changed) {
      run.step(0).phase(Phase::forward);
      Tensor x = run.data(labelled("x"));
      for (int k = 0; k < 20; ++k)
        run.module((changed ? "b." : "a.") + std::to_string(k),
                   [&] { x = run.op("aten::mm").in(x).out(labelled("y" + std::to_string(k))); });
    };
    const Report report = report_of(program, with({{"a", "b"}}));
    CHECK(report.verdict == Verdict::identical);
    CHECK(report.coverage.aligned == 40);
    CHECK_FALSE(has(report.coverage.unseen.back(), "fits"));
  }

  TEST_CASE("the first line that fits counts, and one that fits nothing is told") {
    const auto run = [](RunBuilder& builder) { layers(builder, "encoder", "attn"); };
    const Report report =
        report_of(run, run, with({{"encoder", "encoder"}, {"other.*", "encoder.*"}}));
    CHECK(report.verdict == Verdict::identical);
    REQUIRE(!report.coverage.unseen.empty());
    CHECK(report.coverage.unseen.back() == "no module of the candidate fits other.* -> encoder.*");
  }

  TEST_CASE("a rename that cannot be carried out is refused") {
    const auto run = [](RunBuilder& builder) { layers(builder, "encoder", "attn"); };
    CHECK_THROWS_AS(report_of(run, run, with({{"a.*", "b"}})), Error);
  }
}
